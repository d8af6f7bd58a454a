//! An application in memory: its document, its commands, and the call that is open.

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

/// An application.
pub(super) struct Application {
    pub(super) name: AssemblyName,
    /// The position of its title in the cast.
    pub(super) title: usize,
    /// The values that it was launched with.
    pub(super) parameters: BTreeMap<String, Value>,
    /// The call of its health check, with the present records.
    pub(super) check: Call,
    pub(super) document: Value,
    pub(super) stage: Stage,
    /// The recorded failure of its launch or its last health check.
    pub(super) failure: Option<Failure>,
    /// The commands that have not ended.
    pub(super) commands: BTreeMap<CommandId, CommandRecord>,
    /// The number of the answer that was applied without effect, if the records have not changed since.
    pub(super) unchanged_by: Option<usize>,
    /// The number of changes of its records. A result of a check that read an older revision is dropped.
    pub(super) revision: u64,
}

/// The stage of an application.
#[derive(Debug)]
pub(super) enum Stage {
    /// Only health checks run for it.
    Up,
    /// A call is open.
    Busy(Box<OpenCall>),
    /// Its launch or its removal has failed: `launch failed` or `removal failed`.
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
    /// Whether no report has been applied yet.
    pub(super) is_unheard: bool,
    /// The values after a reconfiguration.
    pub(super) values: Option<Values>,
}

/// The effect of a report.
pub(super) struct Applied {
    /// The entries of the script.
    pub(super) log: Vec<LogEntry>,
    /// The results of commands.
    pub(super) results: Vec<LogEntry>,
    /// The changes of the document.
    pub(super) changes: Vec<LogEntry>,
    /// Whether the document or the natural id has changed.
    pub(super) has_changed: bool,
}

impl Application {
    pub(super) fn status(&self) -> Status {
        InstanceView::new(&self.document).status()
    }

    /// Applies a report with the same function as the engine. Values of sensitive pins are masked in the
    /// result.
    ///
    /// # Errors
    /// The failure of a report that does not fit. Nothing has changed then.
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
        let results = self.take_results(results, now);
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

    /// Replaces the document.
    pub(super) fn replace(&mut self, document: Value) {
        self.check.document.clone_from(&document);
        clear_complaint(&mut self.check.document);
        self.document = document;
        self.touch();
    }

    /// Notes a change of its records.
    pub(super) fn touch(&mut self) {
        self.revision += 1;
        self.unchanged_by = None;
    }

    /// Adds a command that awaits results.
    pub(super) fn open_command(&mut self, record: CommandRecord) {
        self.commands.insert(record.id.clone(), record);
        self.note_commands();
    }

    /// Drops the commands that have ended, and passes the open ones to the health check.
    pub(super) fn note_commands(&mut self) {
        self.commands.retain(|_, record| !record.state.is_final());
        let open = self.commands.keys().map(|id| OpenCommand { id: id.clone(), secrets: Vec::new() });
        self.check.open_commands = open.collect();
        self.touch();
    }

    fn take_results(&mut self, results: Vec<(CommandId, Vec<Value>)>, now: Timestamp) -> Vec<LogEntry> {
        if results.is_empty() {
            return Vec::new();
        }
        let mut log = Vec::new();
        for (id, values) in results {
            if let Some(record) = self.commands.get_mut(&id) {
                log.extend(record.take_results(values, now));
            }
        }
        let redactor = Redactor::new(self.check.secrets());
        for entry in &mut log {
            entry.message = redactor.mask_str(&entry.message);
        }
        self.note_commands();
        log
    }

    /// Returns a redactor of its secrets, including the sensitive signals of its document and of `after`.
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

/// Returns the ids of signals whose values are secrets.
fn sensitive_signals(pins: &Pins) -> BTreeSet<String> {
    let signals =
        pins.iter().filter(|(_, pin)| pin.sensitive && matches!(pin.kind, PinType::PublishSignal(_)));
    signals.map(|(id, _)| id.to_string()).collect()
}

/// Tells whether an application has a health check.
pub(super) fn is_checked(cast: &Cast, application: &Application) -> bool {
    cast.titles[application.title].compiled.is_checked()
}
