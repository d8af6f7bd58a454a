//! A simulated application: its instance document, its commands, and its open call.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use windlass_driver::{Call, OpenCommand, Report, texts};
use windlass_model::instance::{InstanceView, LogEntry, Status, clear_complaint};
use windlass_model::instance_changes::document_changes;
use windlass_model::instance_report::{Accepted, accept};
use windlass_model::pins::{PinType, Pins};
use windlass_model::record::{CommandRecord, Failure};
use windlass_model::{Action, AssemblyName, CommandId, Timestamp};
use windlass_secret::Redactor;

use super::cast::{Cast, Title, Values};
use super::rules::Script;

/// A simulated application, whose records are kept in memory.
pub(super) struct Application {
    pub(super) name: AssemblyName,
    /// The position of the application's title in [`Cast::titles`].
    pub(super) title: usize,
    /// The parameters with which the application was launched.
    pub(super) parameters: BTreeMap<String, Value>,
    /// The next call of the application's health check. The call contains the present values of the
    /// application's records.
    pub(super) check: Call,
    pub(super) document: Value,
    pub(super) stage: Stage,
    /// The last failure of a health check. A health check that works resets the field to `None`. A successful call of
    /// the application also resets the field. A failed launch or removal resets the field too, because the application
    /// then gets no more health checks.
    pub(super) failed_check: Option<Failure>,
    /// The commands that have not ended, by their ids.
    pub(super) commands: BTreeMap<CommandId, CommandRecord>,
    /// The [number](super::machine::CheckAnswer::number) of the last answer to a health check, if this answer changed
    /// no record. A later answer with the same number would change nothing either, so the simulation does not apply it.
    /// If a command is open, the simulation applies every answer. [`touch`](Self::touch) resets the field to `None`.
    pub(super) unchanged_by: Option<usize>,
    /// The number of changes of the application's records. If the number has changed since a health check read the
    /// records, the simulation drops the result of this health check.
    pub(super) revision: u64,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// The application runs, and only health checks run for it.
    Up,
    /// A call of the application is open.
    Busy(Box<OpenCall>),
    /// The launch or the removal has failed: `launch failed` or `removal failed`.
    Failed(&'static str),
}

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) action: Action,
    pub(super) script: Script,
    pub(super) call: Call,
    pub(super) started: Timestamp,
    pub(super) timeout: Duration,
    pub(super) is_observable: bool,
    pub(super) polls: u32,
    /// Whether no report of the call has been applied yet.
    pub(super) is_unheard: bool,
    /// The values that the application gets if this call succeeds. Only a reconfiguration has such values; `None` for
    /// any other call.
    pub(super) values: Option<Values>,
}

/// The log entries that a report has caused, and whether the report has changed the application.
pub(super) struct Applied {
    /// The log entries that the script wrote.
    pub(super) log: Vec<LogEntry>,
    /// Log entries about the results of commands.
    pub(super) results: Vec<LogEntry>,
    /// Log entries about changes of the instance document, such as a new status.
    pub(super) changes: Vec<LogEntry>,
    /// Whether the instance document or the natural id has changed.
    pub(super) has_changed: bool,
}

impl Application {
    pub(super) fn status(&self) -> Status {
        InstanceView::new(&self.document).status()
    }

    /// Applies a report to the application. The engine and this method apply updates by the same function, [`accept`].
    /// Returns log entries. Secrets are masked in [`Applied::results`] and [`Applied::changes`].
    ///
    /// # Errors
    /// Returns a failure if the updates of the report are not valid for the instance document. In this case, the
    /// application has not changed.
    pub(super) fn apply(
        &mut self,
        title: &Title,
        report: Report,
        now: Timestamp,
    ) -> Result<Applied, Failure> {
        let mut after = self.document.clone();
        let is_open = |id: &CommandId| self.commands.contains_key(id);
        let Accepted { mut log, results } =
            accept(&mut after, &report.updates, &title.compiled.shape, is_open)?;
        log.extend(report.log);
        let results = self.take_results(title, results, now);
        let natural = report.natural.or_else(|| self.check.natural.clone());
        let has_changed = after != self.document || natural != self.check.natural;
        let mut changes = Vec::new();
        if has_changed {
            let redactor = self.redactor(title, &after);
            changes = document_changes(&self.document, &after);
            for entry in &mut changes {
                entry.message = redactor.mask_str(&entry.message);
            }
            self.check.natural = natural;
            self.replace(after);
        }
        Ok(Applied { log, results, changes, has_changed })
    }

    /// Sets the instance document. The next health check gets a copy of the document in which the flags `failed` and
    /// `converging` of the status are reset.
    pub(super) fn replace(&mut self, document: Value) {
        self.check.document.clone_from(&document);
        clear_complaint(&mut self.check.document);
        self.document = document;
        self.touch();
    }

    /// Increments `revision` and sets `unchanged_by` to `None`, because the records of the application have
    /// changed.
    pub(super) fn touch(&mut self) {
        self.revision += 1;
        self.unchanged_by = None;
    }

    /// Adds a command whose results are awaited.
    pub(super) fn open_command(&mut self, record: CommandRecord) {
        self.commands.insert(record.id.clone(), record);
        self.note_commands();
    }

    /// Removes the commands that have ended. Writes the ids of the other commands into the call of the next health
    /// check.
    pub(super) fn note_commands(&mut self) {
        self.commands.retain(|_, record| !record.state.is_final());
        let open = self.commands.keys().map(|id| OpenCommand { id: id.clone(), secrets: Vec::new() });
        self.check.open_commands = open.collect();
        self.touch();
    }

    fn take_results(
        &mut self,
        title: &Title,
        results: Vec<(CommandId, Vec<Value>)>,
        now: Timestamp,
    ) -> Vec<LogEntry> {
        if results.is_empty() {
            return Vec::new();
        }
        let mut log = Vec::new();
        for (id, values) in results {
            if let Some(record) = self.commands.get_mut(&id) {
                let signature = title.compiled.package.pins().and_then(|pins| pins.command(&record.command));
                for value in values {
                    let is_taken = !record.state.is_final();
                    let misfits = signature.filter(|_| is_taken).map(|of| record.misfits(&value, of));
                    log.extend(record.take_results([value], now));
                    log.extend(misfits.into_iter().flatten());
                }
            }
        }
        let redactor = Redactor::new(self.check.secrets());
        for entry in &mut log {
            entry.message = redactor.mask_str(&entry.message);
        }
        self.note_commands();
        log
    }

    /// Returns a redactor that masks the application's secrets. The values of sensitive signals also count as
    /// secrets, both in the current instance document and in the new document `after`.
    fn redactor(&self, title: &Title, after: &Value) -> Redactor {
        let sensitive = title.compiled.package.pins().map(sensitive_signals).unwrap_or_default();
        let published = |document: &Value| -> Vec<String> {
            let signals = InstanceView::new(document).signals();
            let secret =
                signals.filter(|(interface, pin, _)| sensitive.contains(&format!("{interface}.{pin}")));
            secret.flat_map(|(.., value)| texts(value)).collect()
        };
        Redactor::new(
            self.check.secrets().into_iter().chain(published(&self.document)).chain(published(after)),
        )
    }
}

/// Returns the ids of all signals that are marked as sensitive. An id is `INTERFACE.PIN`, such as `compute.ip`.
fn sensitive_signals(pins: &Pins) -> BTreeSet<String> {
    let signals =
        pins.iter().filter(|(_, pin)| pin.sensitive && matches!(pin.kind, PinType::PublishSignal(_)));
    signals.map(|(id, _)| id.to_string()).collect()
}

/// Tells whether an application's manifest has a health check.
pub(super) fn is_checked(cast: &Cast, application: &Application) -> bool {
    cast.titles[application.title].compiled.is_checked()
}
