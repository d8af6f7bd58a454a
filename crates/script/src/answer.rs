//! Reads the answer for the instance of a call from the output of the call's script.

use std::collections::BTreeSet;

use windlass_driver::{Call, Report};
use windlass_model::instance::{InstanceView, LogEntry, OUTPUTS, take_log};
use windlass_model::record::Severity;
use windlass_model::{Action, CommandId};
use windlass_source::{Diagnostic, Place};
use windlass_update_ops::{Op, Update};

use crate::codes;
use crate::failure::Reporter;
use crate::input;
use crate::natural;
use crate::output::{Output, Said};
use crate::role::Role;
use crate::status::{StatusSaid, said_of};

/// The answer of a script to a call: the changes and the status of the call's instance.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The changes that the script reported. The [verdict](crate::verdict) decides whether the instance has settled:
    /// whether it has reached the requested state.
    pub(crate) report: Report,
    /// The status of the instance after the script's updates; `None` if the script reported no status.
    pub(crate) status: Option<StatusSaid>,
    /// Whether the output of the script has no entry for the instance.
    pub(crate) is_missing: bool,
}

/// The context for reading the output of a call's script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printed<'a> {
    pub(crate) role: &'a Role,
    /// The call that the script serves.
    pub(crate) call: &'a Call,
    /// The natural ids of all instances in the input document. For a launch, this field is not used.
    pub(crate) asked: &'a BTreeSet<&'a str>,
    /// Whether the answer contains warnings about instances that are in the output but not in the input document. If
    /// one script runs for several calls, only one answer contains these warnings.
    pub(crate) notes_others: bool,
}

/// The instances in an output. The first element is the instance of the call, if the output names this instance.
/// The second element contains all other instances.
type Sorted<'o> = (Option<&'o Said>, Vec<&'o Said>);

impl Printed<'_> {
    /// Reads the answer for the instance of the call.
    ///
    /// # Errors
    /// All violations of the protocol. If there is a violation, the caller gets no data from the output.
    pub(crate) fn read(self, output: &Output) -> Result<Answer, Vec<Diagnostic>> {
        let (wanted, others) = match self.role {
            Role::Launch => self.launched(output)?,
            _ => self.named(output),
        };
        let mut notes = if self.notes_others { not_asked(output, &others) } else { Vec::new() };
        let Some(said) = wanted else {
            return Ok(Answer { is_missing: true, ..answer(None, Update::new(), &notes, self.call) });
        };
        notes.extend(said.notices.iter().cloned());
        let place = output.source.place(said.span);
        if *self.role == Role::Launch
            && let Some(problem) = natural::problem(&said.id)
        {
            return Err(vec![problem.at(place)]);
        }
        let update = self.checked_id(said, &place)?;
        let update = self.without_strange_commands(said, update, &place, &mut notes);
        notes.extend(self.lost_outputs(said, &update, &place));
        Ok(answer(self.natural(said), update, &notes, self.call))
    }

    /// Returns the natural id of an instance that a launch script has created. The id is returned even if the rest of
    /// the answer violates the protocol. Returns `None` if the output names no such instance, or if the script is no
    /// launch script.
    pub(crate) fn launched_id(self, output: &Output) -> Option<String> {
        let (launched, _) = self.launched(output).ok().filter(|_| *self.role == Role::Launch)?;
        launched.map(|said| said.id.clone()).filter(|id| natural::is_valid(id))
    }

    /// Returns the natural id of the instance; `None` if the instance has no natural id.
    ///
    /// Only a launch script chooses a natural id. If the instance has none, the script's output contains the instance
    /// id instead. The method does not return this instance id.
    fn natural(&self, said: &Said) -> Option<String> {
        let known = *self.role == Role::Launch || self.call.natural.is_some();
        known.then(|| said.id.clone())
    }

    /// Finds the instance of the call in the output of a script that is not a launch script. Such an output names the
    /// instance by its natural id. If the instance has no natural id, the output names the instance by its instance id.
    ///
    /// If `notes_others` is true, the result also contains the instances that are in the output, but not in the input
    /// document.
    fn named<'o>(&self, output: &'o Output) -> Sorted<'o> {
        let wanted = output.find(input::natural(self.call));
        // If one script runs for several calls, only one of the calls looks at all instances.
        let all = output.instances.iter().filter(|_| self.notes_others);
        (wanted, all.filter(|said| !self.asked.contains(said.id.as_str())).collect())
    }

    /// Finds the instance of the call in the output of a launch script. This is the instance whose field
    /// `instanceId` equals the instance id of the call.
    fn launched<'o>(&self, output: &'o Output) -> Result<Sorted<'o>, Vec<Diagnostic>> {
        let requested = self.call.instance.as_str();
        let (answers, others): (Vec<_>, Vec<_>) =
            output.instances.iter().partition(|said| said.instance_id.as_deref() == Some(requested));
        match answers[..] {
            [answer] => Ok((Some(answer), others)),
            [first, second, ..] => Err(vec![twice(output, requested, first, second)]),
            [] => Err(self.unanswered(output)),
        }
    }

    fn unanswered(&self, output: &Output) -> Vec<Diagnostic> {
        if output.instances.is_empty() {
            let message = format!("the output has no entry for the instance `{}`", self.call.instance);
            let help = "name it as `instanceId` of the instance that was launched";
            return vec![Diagnostic::error(codes::NOT_ANSWERED, message).help(help)];
        }
        output.instances.iter().flat_map(|said| self.why_no_answer(output, said)).collect()
    }

    fn why_no_answer(&self, output: &Output, said: &Said) -> Vec<Diagnostic> {
        let (code, message) = match (&said.update, &said.instance_id) {
            (Err(wrong), _) => return wrong.clone(),
            (_, None) => (codes::NOT_ANSWERED, format!("the instance `{}` has no `instanceId`", said.id)),
            (_, Some(id)) => (
                codes::INSTANCE_ID,
                format!("the instance `{}` answers `{id}`, which was not requested", said.id),
            ),
        };
        let help = format!("write `instanceId: {}`", self.call.instance);
        vec![Diagnostic::error(code, message).at(output.source.place(said.span)).help(help)]
    }

    /// Returns the update of the instance. Fails if the update sets the field `instanceId` to an id that is not the
    /// instance id of the call.
    ///
    /// A launch script must set `instanceId`. All other scripts may omit `instanceId`.
    fn checked_id(&self, said: &Said, place: &Place) -> Result<Update, Vec<Diagnostic>> {
        let own = self.call.instance.as_str();
        let update = said.update.clone()?;
        match &said.instance_id {
            Some(id) if id != own => {
                let message =
                    format!("the instance `{}` belongs to `{own}` and can't be given to `{id}`", said.id);
                let help = "omit `instanceId`: only launch scripts use it";
                Err(vec![Diagnostic::error(codes::INSTANCE_ID, message).at(place.clone()).help(help)])
            }
            _ => Ok(update),
        }
    }

    /// Warns if an update removes all output properties of the instance by replacing a field above them, such as
    /// `interfaces`.
    ///
    /// The new value of such a field replaces everything below the field. For example, a health check prints a value
    /// of `interfaces` that contains only a metric. This value removes the output properties, which other instances
    /// may read. With `$set`, the health check would change the metric alone.
    fn lost_outputs(&self, said: &Said, update: &Update, place: &Place) -> Option<Diagnostic> {
        if *self.role == Role::Launch {
            return None;
        }
        let outputs = format!("interfaces.{OUTPUTS}.signals.");
        let field = update.iter().find_map(|(path, operation)| {
            let is_above = outputs.starts_with(&format!("{path}."));
            (is_above && matches!(operation, Op::Replace(_))).then(|| path.to_string())
        })?;
        let mut after = self.call.document.clone();
        update.apply(&mut after).ok()?;
        let before = InstanceView::new(&self.call.document).outputs().filter(|before| !before.is_empty())?;
        if InstanceView::new(&after).outputs().is_some_and(|after| !after.is_empty()) {
            return None;
        }
        let gone: Vec<String> = before.keys().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "instance `{}`: `{field}` replaced everything below it and removed the published outputs {}; \
             `$set: {{interfaces.metrics.signals.<name>: …}}` changes one signal alone",
            said.id,
            gone.join(", ")
        );
        Some(Diagnostic::warning(codes::NOTICE, message).at(place.clone()))
    }

    /// Removes results of unexpected commands from `update`. An expected command is the command of this call, or an
    /// open command of the instance: a command that has not ended. For each removed result, adds a warning with the
    /// path of the result to `notes`.
    fn without_strange_commands(
        &self,
        said: &Said,
        update: Update,
        place: &Place,
        notes: &mut Vec<Diagnostic>,
    ) -> Update {
        let is_command = matches!(self.call.action, Action::Command(_) | Action::Operation(_));
        let own = is_command.then(|| input::command_id(self.call));
        let open = self.call.open_commands.iter().map(|command| &command.id);
        let known: BTreeSet<&str> = own.iter().chain(open).map(CommandId::as_str).collect();
        let (strange, update) = update.partition(|path| {
            let mut keys = path.keys();
            keys.next() == Some("commands") && keys.next().is_none_or(|id| !known.contains(id))
        });
        notes.extend(strange.paths().map(|path| {
            let message = format!(
                "instance `{}`: results pushed to `{path}` are ignored: no such command awaits them",
                said.id
            );
            Diagnostic::warning(codes::UNKNOWN_COMMAND, message).at(place.clone())
        }));
        update
    }
}

/// Converts an update to the [`Answer`] of a script. The log of the answer's report begins with `notes`. The log
/// entries of the update follow.
pub(crate) fn answer(natural: Option<String>, update: Update, notes: &[Diagnostic], call: &Call) -> Answer {
    let status = said_of(&update, &call.document);
    let (rest, log) = take_log(update);
    let log = notes.iter().map(entry).chain(log).collect();
    let updates = if rest.is_empty() { serde_json::Value::Null } else { rest.to_value() };
    Answer { report: Report { natural, updates, log, ..Report::settled() }, status, is_missing: false }
}

impl Answer {
    /// Adds a warning about processes that the script left running. These processes were stopped when the
    /// script ended.
    pub(crate) fn with_left_behind(mut self, script: &str, names: &[String]) -> Self {
        if !names.is_empty() {
            let message = format!(
                "`{script}` left processes running in the background: `{}`. They were stopped with it; see \
                 \"When a script ends\" in docs/scripts.md",
                names.join("`, `")
            );
            self.report.log.insert(0, LogEntry::new(Severity::Warning, message));
        }
        self
    }

    /// Masks the script's messages. The updates stay unchanged, because the engine seals the secrets in them.
    pub(crate) fn masked(mut self, reporter: &Reporter) -> Self {
        for entry in &mut self.report.log {
            entry.message = reporter.mask(&entry.message);
            entry.data.iter_mut().for_each(|data| reporter.mask_value(data));
        }
        if let Some(message) = self.status.as_mut().and_then(|said| said.status.message.as_mut()) {
            *message = reporter.mask(message);
        }
        self
    }
}

fn twice(output: &Output, requested: &str, first: &Said, second: &Said) -> Diagnostic {
    let message = format!("`{}` and `{}` both answer `{requested}`", first.id, second.id);
    Diagnostic::error(codes::INSTANCE_ID, message)
        .at(output.source.place(second.span))
        .related(output.source.place(first.span), "the other one")
        .help("launch one instance for each request")
}

/// Returns warnings about instances that are in the output but not in the input document. The first instances get one
/// warning each, and one more warning contains the number of the remaining instances.
fn not_asked(output: &Output, others: &[&Said]) -> Vec<Diagnostic> {
    /// Maximum number of instances that get one warning each.
    const NAMED: usize = 10;
    let note = |said: &&Said, message| {
        Diagnostic::warning(codes::NOT_ASKED, message).at(output.source.place(said.span))
    };
    let named = others.iter().take(NAMED).map(|said| {
        note(said, format!("the instance `{}` was not requested: its updates are ignored", said.id))
    });
    let rest = others.get(NAMED).map(|said| {
        let more = others.len() - NAMED;
        note(said, format!("{more} more instances were not requested: their updates are ignored"))
    });
    named.chain(rest).collect()
}

fn entry(note: &Diagnostic) -> LogEntry {
    let place = note.place().map(|place| format!("{place}: ")).unwrap_or_default();
    LogEntry::new(Severity::Warning, format!("{place}{}", note.message))
}
