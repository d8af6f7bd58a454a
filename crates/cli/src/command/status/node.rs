//! The status of one part, or of several similar parts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use windlass::engine::monitor::MOST_HEALS;
use windlass::model::assembly::{Action, ElementKind, Referent};
use windlass::model::record::Failure;
use windlass::model::{InstanceId, State, Timestamp, Transition};
use windlass::view::status::ElementView;

use super::super::process::text;
use crate::alike;
use crate::output::{
    BAD, DIM, ODD, age, brief, elapsed, ending, indent, one_line, print, say, state_style, styled,
};

/// A group of parts that share a line: one part, or several parts that are similar. Parts are similar if the function
/// [`likeness`] returns the same key for them.
pub(super) struct Alike<'v> {
    now: Timestamp,
    first: &'v ElementView,
    all: &'v [&'v ElementView],
    /// Whether the parts belong to launched applications.
    is_application: bool,
}

impl<'v> Alike<'v> {
    /// Creates the group. `all` must not be empty.
    pub(super) fn new(now: Timestamp, all: &'v [&'v ElementView], is_application: bool) -> Self {
        Self { now, first: all[0], all, is_application }
    }

    /// Returns the text that follows the name of the group in its line: the state, and notes such as the age of
    /// the state.
    pub(super) fn said(&self) -> String {
        let first = self.first;
        let state = match first.kind {
            ElementKind::Reference => styled(DIM, exists(first.referent.as_ref())),
            _ => self.state(),
        };
        let in_transition =
            first.running.as_ref().is_some_and(|running| matches!(running.action, Action::Transition(_)));
        // During a transition, only the duration of the transition is shown. The age of the previous state
        // could be mistaken for this duration.
        let since = self.all.iter().filter(|_| !in_transition).filter_map(|part| part.since);
        let since: Vec<Timestamp> = since.collect();
        let mut notes: Vec<String> = Vec::new();
        // A stopped part keeps its last status in the records, so `active` may be outdated.
        let is_stale = first.status.as_deref() == Some("active") && first.state != State::Active;
        notes.extend(first.status.clone().filter(|_| !is_stale));
        notes.extend((!since.is_empty()).then(|| ages(self.now, since)));
        notes.extend(first.protected.then(|| "protected".to_owned()));
        let message = first.message.as_deref().filter(|message| !message.trim().is_empty());
        notes.extend(message.map(|message| brief(&self.of_all(message))));
        let notes =
            if notes.is_empty() { String::new() } else { format!(" {}", styled(DIM, notes.join(", "))) };
        format!("{state}{notes}")
    }

    /// Returns the text for the state of the group. If a transition runs, the text names the transition in place of
    /// the state. If an operation or a command runs, the text contains the state and the running action.
    fn state(&self) -> String {
        let first = self.first;
        let state = match absent_of(first) {
            // `Absent` alone would hide the parts that exist.
            (absent, all) if first.state == State::Absent && absent < all => {
                styled(ODD, format!("{absent} of {all} Absent"))
            }
            _ => styled(state_style(first.state), first.state),
        };
        let Some(running) = &first.running else { return state };
        let since = self.all.iter().filter_map(|part| part.running.as_ref()).map(|running| running.since);
        let oldest = since.min().unwrap_or(running.since);
        let during = format!("{} ({})", doing(&running.action), elapsed(self.now, oldest));
        match running.action {
            Action::Transition(_) => styled(ODD, during),
            _ => format!("{state} {}", styled(ODD, during)),
        }
    }

    /// Prints further lines below the line of the group: outputs, failures, and notes about values and repairs. Each
    /// line begins with `below`, the text that continues the branches of the tree.
    pub(super) fn print_more(&self, below: &str) {
        let mut outputs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (output, value) in self.all.iter().flat_map(|part| &part.outputs) {
            outputs.entry(output).or_default().insert(text(value));
        }
        for (output, values) in outputs {
            let value = match values.first() {
                Some(value) if values.len() == 1 => value.clone(),
                _ => format!("({} values)", values.len()),
            };
            say!("{below}  {}", styled(DIM, format!("{output}: {value}")));
        }
        if self.first.left_alone {
            let why = format!(
                "{MOST_HEALS} heals did not repair it; no policy heals it until its health check succeeds"
            );
            say!("{below}  {}", styled(BAD, why));
        }
        if self.first.values_in_doubt {
            let why = format!(
                "its last Reconfigure did not succeed, so its values are uncertain; {} applies them again",
                self.reconfigures_again()
            );
            say!("{below}  {}", styled(BAD, why));
        }
        if let Some(failure) = &self.first.failure {
            say!("{below}  {}", styled(BAD, one_line(&self.of_all(&failure.to_string()))));
            if let Some(detail) = &failure.detail {
                print(&indent(&self.detail(detail), &format!("{below}  | ")));
            }
        }
    }

    /// Returns the command that applies the values of the group again.
    fn reconfigures_again(&self) -> String {
        match self.all {
            _ if !self.is_application => "the next `up`".to_owned(),
            [only] => format!("`windlass retry {}`", only.name.assembly()),
            _ => "`windlass retry NAME`".to_owned(),
        }
    }

    /// Converts `text`, a text about the first part, to a text about the whole group. If the group has several
    /// parts, stars replace the node numbers and ids of the first part in the text.
    fn of_all(&self, text: &str) -> String {
        if self.all.len() == 1 { text.to_owned() } else { nameless(self.first, text) }
    }

    /// Converts `detail`, the script output of the first part, to a text about the whole group. If the outputs of all
    /// parts differ only in node numbers and ids, stars replace the numbers and ids in the output. Otherwise, the
    /// returned text begins with the name of the first part.
    fn detail(&self, detail: &str) -> String {
        let own = |part: &&ElementView| Some(nameless(part, part.failure.as_ref()?.detail.as_deref()?));
        let first = own(&self.first);
        if self.all.iter().all(|part| own(part) == first) {
            return ending(&self.of_all(detail));
        }
        format!("{}: {}", self.first.name.local(), ending(detail))
    }
}

/// Returns how many resources in a part are Absent, and how many resources the part has.
fn absent_of(part: &ElementView) -> (usize, usize) {
    let own = usize::from(part.kind == ElementKind::Resource);
    let absent = if part.state == State::Absent { own } else { 0 };
    part.components.iter().map(absent_of).fold((absent, own), |sum, of| (sum.0 + of.0, sum.1 + of.1))
}

/// Returns the words for a running action.
fn doing(action: &Action) -> String {
    let Action::Transition(transition) = action else { return format!("running {action}") };
    let word = match transition {
        Transition::Create => "Creating",
        Transition::Install => "Installing",
        Transition::Configure => "Configuring",
        Transition::Start => "Starting",
        Transition::Integrity => "Checking",
        Transition::Reconfigure => "Reconfiguring",
        Transition::Stop => "Stopping",
        Transition::Uninstall => "Uninstalling",
        Transition::Delete => "Deleting",
        Transition::Adopt => "Adopting",
        _ => return format!("running {action}"),
    };
    word.to_owned()
}

/// Tells whether a part or one of its inner parts is unhealthy. A part is unhealthy if its last step failed,
/// its values are in doubt, or policies no longer heal it.
pub(super) fn has_failed(part: &ElementView) -> bool {
    part.failure.is_some()
        || part.left_alone
        || part.values_in_doubt
        || part.components.iter().any(has_failed)
}

/// Returns a key that is equal for similar parts. The key contains the kind, state, status, messages and failures
/// of a part and of its inner parts. It omits the part's name, all outputs and all times. In the output of failed
/// scripts, `#` replaces each number.
pub(super) fn likeness(part: &ElementView) -> String {
    let mut likeness = String::new();
    let failure =
        part.failure.as_ref().map(|failure| (nameless(part, &failure.message), detail(part, failure)));
    let message = part.message.as_deref().map(|message| nameless(part, message));
    let what = (
        part.kind,
        &part.descriptor,
        part.state,
        &part.status,
        &part.referent,
        part.left_alone,
        part.values_in_doubt,
        part.protected,
        part.running.as_ref().map(|running| &running.action),
    );
    let _ = write!(likeness, "{what:?}{message:?}{failure:?}");
    for inside in &part.components {
        let name = inside.name.local().rsplit("__").next().unwrap_or_default();
        let _ = write!(likeness, "{{{name}: {}}}", self::likeness(inside));
    }
    likeness
}

/// Returns the output of a failed script, without names, ids and numbers, which probably differ between
/// nodes.
fn detail(part: &ElementView, failure: &Failure) -> Option<String> {
    let detail = nameless(part, failure.detail.as_deref()?);
    let mut without = String::new();
    for c in detail.chars() {
        match c.is_ascii_digit() {
            true if without.ends_with('#') => {}
            true => without.push('#'),
            false => without.push(c),
        }
    }
    Some(without)
}

/// Replaces the ids of `part`, and the node numbers in its name, by `*`.
fn nameless(part: &ElementView, text: &str) -> String {
    let mut text = alike::nameless(text, &part.name);
    for id in part.id.iter().map(InstanceId::as_str).chain(part.natural.as_deref()) {
        // A short id or a number is not replaced, because it may be an ordinary word of the text.
        if id.len() > 3 && id.contains(|c: char| !c.is_ascii_digit()) {
            text = alike::replace_name(&text, id, "*");
        }
    }
    text
}

/// Formats the ages of some events: the age of the latest event, and the age of the first.
pub(super) fn ages(now: Timestamp, since: impl IntoIterator<Item = Timestamp>) -> String {
    let since: BTreeSet<Timestamp> = since.into_iter().collect();
    let Some((first, last)) = since.first().zip(since.last()) else { return String::new() };
    let (longest, shortest) = (age(now, *first), age(now, *last));
    if longest == shortest { longest } else { format!("{shortest} to {longest}") }
}

/// Describes the thing to which a reference is bound: `is the assembly NAME` or `exists, found as ID`. For an entry of
/// the list `existing` in `windlass.yaml`, and for `None`, the text is `exists`.
fn exists(referent: Option<&Referent>) -> String {
    match referent {
        Some(Referent::Assembly(name)) => format!("is the assembly {name}"),
        Some(Referent::Found(id)) => format!("exists, found as {id}"),
        _ => "exists".to_owned(),
    }
}
