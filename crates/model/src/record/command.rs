//! Commands that a person called, and their results.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Severity;
use crate::clock::Timestamp;
use crate::id::{CommandId, ProcessId};
use crate::instance::LogEntry;
use crate::name::{CommandName, ElementName};
use crate::pins::Signature;

/// The key that marks an intermediate result.
const INTERMEDIATE: &str = "$intermediate";

/// The record of a command that a person called.
///
/// A process executes the call. Results of the command may arrive after this process has ended. The store keeps the
/// record as a document of the assembly. The arguments of the command are not in this document. The store keeps the
/// arguments as an encrypted secret until the command ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The id of the command, by which scripts report results.
    pub id: CommandId,
    /// The element whose command was called.
    pub element: ElementName,
    /// The name of the command.
    pub command: CommandName,
    /// The process that executed the call.
    pub process: ProcessId,
    /// The time of the call.
    pub started: Timestamp,
    /// The time until which a health check may report results of the command. `None` if only the call of the command
    /// can report them.
    pub deadline: Option<Timestamp>,
    /// The state of the command.
    pub state: CommandState,
    /// The results, with the intermediate ones first. Secrets in the results are masked.
    pub results: Vec<Value>,
    /// The time at which the command ended; none before the end.
    pub ended: Option<Timestamp>,
}

impl CommandRecord {
    /// Records that the command has ended at the time `now`. `state` is the final state of the command.
    pub fn end(&mut self, state: CommandState, now: Timestamp) {
        (self.state, self.ended) = (state, Some(now));
    }

    /// Tells whether the command is overdue: still open, although the deadline for its results has passed. An
    /// open command without a deadline also counts as overdue.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.state == CommandState::Open && self.deadline.is_none_or(|deadline| deadline < now)
    }

    /// Records that the call of the command has succeeded. The command stays open if its final result may
    /// arrive later.
    pub fn call_succeeded(&mut self, now: Timestamp) {
        if self.deadline.is_some_and(|deadline| deadline > now) {
            self.state = CommandState::Open;
        } else {
            self.end(CommandState::Completed, now);
        }
    }

    /// Records that the command has ended without a final result, because its deadline for results has passed. Returns
    /// the entry for the activity log.
    pub fn expire(&mut self, now: Timestamp) -> LogEntry {
        let message = format!("command `{}` ({}): no final result arrived in time", self.command, self.id);
        let mut entry = LogEntry::new(Severity::Warning, message);
        entry.data = Some(json!({"command": self.id, "pin": self.command, "state": "expired"}));
        self.end(CommandState::Expired, now);
        entry
    }

    /// Adds results to the record. The caller has already masked the secrets in the results. The first result that
    /// is not intermediate ends the command, and later results are ignored. Returns the entries for the activity
    /// log.
    pub fn take_results(
        &mut self,
        results: impl IntoIterator<Item = Value>,
        now: Timestamp,
    ) -> Vec<LogEntry> {
        let mut log = Vec::new();
        for result in results {
            if self.state.is_final() {
                let message = format!(
                    "command `{}` ({}): a result after the final one is ignored",
                    self.command, self.id
                );
                log.push(LogEntry::new(Severity::Warning, message));
                continue;
            }
            log.push(self.entry(&result));
            if !Self::is_intermediate(&result) {
                self.end(CommandState::Completed, now);
            }
            self.results.push(result);
        }
        log
    }

    /// Returns a warning for each field of a result that contradicts the declaration of the command. `signature` is this
    /// declaration. A field contradicts it if the field is not declared, or if its value does not have the declared type.
    pub fn misfits(&self, result: &Value, signature: &Signature) -> Vec<LogEntry> {
        let is_progress = Self::is_intermediate(result);
        let declared = if is_progress { signature.progress.as_ref() } else { Some(&signature.results) };
        let Some(declared) = declared else { return Vec::new() };
        let misfit = |(name, value): (&String, &Value)| match declared.0.get(name.as_str()) {
            None => Some(format!("the field `{name}` of the result is not declared by the manifest")),
            Some(kind) => {
                let misfit = kind.fit(value).err()?;
                Some(format!("the field `{name}` of the result has a wrong type: {misfit}"))
            }
        };
        let no_map = (!result.is_object()).then(|| "the result is not a map of fields".to_owned());
        let found = Self::fields(result).filter_map(misfit).chain(no_map);
        let warning = |what| {
            LogEntry::new(Severity::Warning, format!("command `{}` ({}): {what}", self.command, self.id))
        };
        found.map(warning).collect()
    }

    fn entry(&self, result: &Value) -> LogEntry {
        let text = |(name, value): (&String, &Value)| match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        };
        let fields: Vec<String> = Self::fields(result).map(text).collect();
        let what = match (Self::is_intermediate(result), fields.is_empty()) {
            (true, _) => format!("progress: {}", fields.join(", ")),
            (false, true) => "finished".to_owned(),
            (false, false) => format!("result: {}", fields.join(", ")),
        };
        let message = format!("command `{}` ({}): {what}", self.command, self.id);
        let mut entry = LogEntry::new(Severity::Info, message);
        entry.data = Some(json!({"command": self.id, "pin": self.command, "result": result}));
        entry
    }

    /// Tells whether a result is intermediate. After an intermediate result, more results of its command may follow.
    pub fn is_intermediate(result: &Value) -> bool {
        result[INTERMEDIATE] == true
    }

    /// Returns the fields of a result, without the field that marks an intermediate result.
    pub fn fields(result: &Value) -> impl Iterator<Item = (&String, &Value)> {
        result.as_object().into_iter().flatten().filter(|(name, _)| *name != INTERMEDIATE)
    }
}

/// The state of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CommandState {
    /// The call of the command runs.
    Running,
    /// The call of the command has succeeded, and the final result is awaited.
    Open,
    /// The final result has arrived, or the call has succeeded and no more results can arrive.
    Completed,
    /// The call of the command has failed.
    Failed(String),
    /// The final result did not arrive in time.
    Expired,
}

impl CommandState {
    /// Tells whether no further result is accepted.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Running | Self::Open)
    }
}
