//! The answers that replace scripts in a simulation, and the choice of the answer for a run of a script.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_driver::Call;
use windlass_model::{Action, CommandId, Transition};
use windlass_update_ops::Update;

use super::cast::Cast;

/// A kind of script.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Script {
    Launch,
    Destroy,
    HealthCheck,
    Reconfigure,
    Discover,
    /// The script of a command. The field contains the id of the command in the manifest, such as `control.reboot`.
    Command(String),
}

impl Script {
    /// Returns the name of the kind of script, for the summary.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Destroy => "destroy",
            Self::HealthCheck => "health-check",
            Self::Reconfigure => "reconfigure",
            Self::Discover => "discover",
            Self::Command(_) => "command",
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(pin) => f.write_str(pin),
            other => f.write_str(other.word()),
        }
    }
}

/// The part of the simulated time in which an answer applies. All times are counted from the beginning of the
/// simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Window {
    pub(super) from: Duration,
    pub(super) until: Option<Duration>,
    /// A period and a duration, such as `(6 h, 10 min)`: the answer applies in the first 10 minutes of every 6 hours.
    /// The first period begins at `from`. `None` if the answer applies from `from` until `until` without a break.
    pub(super) cycle: Option<(Duration, Duration)>,
}

impl Window {
    fn has(self, time: Duration) -> bool {
        let Some(since) = time.checked_sub(self.from) else { return false };
        let is_before_end = self.until.is_none_or(|until| time < until);
        let is_in_cycle =
            |(period, part): (Duration, Duration)| since.as_millis() % period.as_millis() < part.as_millis();
        is_before_end && self.cycle.is_none_or(is_in_cycle)
    }
}

/// An answer about one instance.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Instance {
    /// The natural id that a launch returns. The default is the name of the application.
    pub(super) id: Option<String>,
    /// The update that the script prints about the instance. By default, the script prints an update that reports
    /// success.
    pub(super) update: Option<Value>,
    /// The results of a command. In an answer to a health check, they are the results of the oldest open command.
    pub(super) results: Option<Vec<Value>>,
}

/// The content of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Says {
    Instance(Instance),
    /// All instances that a discovery finds, by natural id.
    Instances(Map<String, Value>),
    /// The whole output of the script.
    Stdout(String),
    /// The script fails, with this message on stderr.
    Fail(String),
}

/// An answer, and the runs to which it applies.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) script: Script,
    /// The position of the application's title in [`Cast::titles`]; `None` for all titles.
    pub(super) title: Option<usize>,
    /// The names or natural ids of the applications to which the answer applies; `None` for all applications.
    pub(super) applications: Option<BTreeSet<String>>,
    pub(super) window: Window,
    /// The virtual duration of the script.
    pub(super) takes: Duration,
    pub(super) says: Says,
    /// If the answer is an update of a health check, the list contains the parsed update for each entry of
    /// [`Cast::titles`], in the same order. If the update does not fit the instance documents of an entry, the parsed
    /// update for this entry is `None`.
    ///
    /// The list is empty for any other answer. The list is also empty if the update contains a placeholder such as
    /// `<name>`, because each use of the answer then gives a different update. See [`Rule::new`].
    pub(super) parsed: Vec<Option<Update>>,
}

/// A placeholder in the file of answers. windlass replaces it by the name of the application.
const NAME: &str = "<name>";

/// A placeholder in the file of answers. windlass replaces it by the natural id of the instance. If the instance has no
/// natural id, a launch uses the name of the application, and any other call uses the instance id.
const ID: &str = "<id>";

/// A placeholder in the file of answers. windlass replaces it by the instance id.
const INSTANCE_ID: &str = "<instance id>";

/// A placeholder in the file of answers. windlass replaces it by the id of the command that the call executes. In a
/// health check, windlass uses the id of the oldest open command.
const COMMAND_ID: &str = "<command id>";

impl Rule {
    /// Prepares a rule for use. If the rule answers every health check with the same update, the function parses this
    /// update in advance. Any other rule is returned unchanged.
    pub(super) fn new(cast: &Cast, rule: Self) -> Self {
        let Says::Instance(instance) = &rule.says else { return rule };
        if rule.script != Script::HealthCheck || instance.results.is_some() {
            return rule;
        }
        let update = instance.update.clone().unwrap_or_else(|| success(&Script::HealthCheck));
        if depends_on_call(&update) {
            return rule;
        }
        let parse = |title: &super::cast::Title| {
            Update::parse(&update, &title.compiled.shape).ok().map(|parsed| parsed.update)
        };
        let parsed = cast.titles.iter().map(parse).collect();
        Self { parsed, ..rule }
    }

    /// Returns the default rule for health checks. It applies if the file of answers contains no answer to the health
    /// check. By this rule, the health check reports that the instance is active.
    pub(super) fn standard(cast: &Cast) -> Self {
        let (script, says) = (Script::HealthCheck, Says::Instance(Instance::default()));
        let (window, takes, parsed) = (Window::default(), Duration::ZERO, Vec::new());
        Self::new(cast, Self { script, title: None, applications: None, window, takes, says, parsed })
    }

    /// Returns an update with its placeholders replaced by sample values.
    pub(super) fn sample(update: &Value) -> Value {
        replaced(update, &|text| {
            let text = text.replace(COMMAND_ID, "c1").replace(INSTANCE_ID, "i1");
            text.replace(NAME, "name").replace(ID, "id")
        })
    }

    /// Tells whether the answer applies to an instance. An answer to a health check can contain results of
    /// commands, or the placeholder `<command id>`. Such an answer applies only while the instance has an open
    /// command.
    fn fits(&self, subject: Subject<'_>) -> bool {
        let is_named = |names: &BTreeSet<String>| {
            names.contains(subject.name) || subject.natural.is_some_and(|natural| names.contains(natural))
        };
        let needs_command = self.script == Script::HealthCheck
            && match &self.says {
                Says::Instance(Instance { results: Some(_), .. }) => true,
                Says::Instance(Instance { update: Some(update), .. }) => has_word(update, COMMAND_ID),
                Says::Stdout(text) => text.contains(COMMAND_ID),
                _ => false,
            };
        self.applications.as_ref().is_none_or(is_named) && (!needs_command || subject.has_open_command)
    }
}

/// The instance for which a script is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
    pub(super) natural: Option<&'a str>,
    pub(super) has_open_command: bool,
}

impl<'a> Subject<'a> {
    /// Describes the instance of a call. `name` is the name of the application to which the instance belongs.
    pub(super) fn of(call: &'a Call, name: &'a str) -> Self {
        Self { name, natural: call.natural.as_deref(), has_open_command: !call.open_commands.is_empty() }
    }
}

/// The answers that replace the outputs of scripts in a simulation, in the order in which a file lists them. If several
/// answers apply to a run of a script, the simulation uses the first one.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Rule>);

impl Rules {
    /// Returns the positions of the answers for `script` that apply at `time`. `time` is counted from the beginning of
    /// the simulation.
    ///
    /// `title` is the position of the script's application in [`Cast::titles`]. Answers for other titles are left
    /// out. If `title` is `None`, no answer is left out because of its title.
    pub(super) fn active(&self, script: &Script, title: Option<usize>, time: Duration) -> Vec<usize> {
        let is_active = |rule: &Rule| {
            rule.script == *script
                && rule.title.is_none_or(|of| title.is_none_or(|title| of == title))
                && rule.window.has(time)
        };
        (0..self.0.len()).filter(|at| is_active(&self.0[*at])).collect()
    }

    /// Returns the position of the first answer that applies to the instance `subject`. `active` contains the
    /// positions of the answers to search.
    pub(super) fn first(&self, active: &[usize], subject: Subject<'_>) -> Option<usize> {
        active.iter().copied().find(|at| self.0[*at].fits(subject))
    }

    pub(super) fn get(&self, at: usize) -> &Rule {
        &self.0[at]
    }
}

impl Extend<Rule> for Rules {
    fn extend<I: IntoIterator<Item = Rule>>(&mut self, rules: I) {
        self.0.extend(rules);
    }
}

/// Returns the update by which a script reports success.
pub(super) fn success(script: &Script) -> Value {
    let flags =
        |active: bool| json!({"status": {"flags": {"active": active, "converging": false, "failed": false}}});
    match script {
        Script::Launch | Script::HealthCheck => flags(true),
        Script::Destroy => flags(false),
        _ => json!({}),
    }
}

/// Returns an update with its placeholders replaced by the values of a call.
pub(super) fn of_call(update: &Value, call: &Call, name: &str) -> Value {
    replaced(update, &|text| text_of_call(text, call, name))
}

/// Returns a text with its placeholders replaced by the values of a call.
pub(super) fn text_of_call(text: &str, call: &Call, name: &str) -> String {
    let is_launch = call.action == Action::Transition(Transition::Install);
    let id = call.natural.as_deref().unwrap_or(if is_launch { name } else { call.instance.as_str() });
    let text = text.replace(NAME, name).replace(ID, id).replace(INSTANCE_ID, call.instance.as_str());
    text.replace(COMMAND_ID, command_of(call).as_str())
}

/// Returns the id of the command that a call executes. For a health check, returns the oldest open command.
pub(super) fn command_of(call: &Call) -> CommandId {
    let open = call.open_commands.first().filter(|_| !matches!(call.action, Action::Command(_)));
    open.map_or_else(|| CommandId::of(&call.id), |command| command.id.clone())
}

fn depends_on_call(update: &Value) -> bool {
    [NAME, ID, INSTANCE_ID, COMMAND_ID].iter().any(|word| has_word(update, word))
}

fn has_word(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.contains(word),
        Value::Array(items) => items.iter().any(|item| has_word(item, word)),
        Value::Object(entries) => {
            entries.iter().any(|(key, value)| key.contains(word) || has_word(value, word))
        }
        _ => false,
    }
}

fn replaced(value: &Value, replace: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => replace(text).into(),
        Value::Array(items) => items.iter().map(|item| replaced(item, replace)).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (replace(key), replaced(value, replace))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_window_has_a_begin_an_end_and_periods() {
        let window = Window { from: MINUTE, until: Some(10 * MINUTE), cycle: Some((3 * MINUTE, MINUTE)) };
        let fits: Vec<u32> = (0..12).filter(|minute| window.has(*minute * MINUTE)).collect();
        assert_eq!(fits, [1, 4, 7]);
        assert!(Window::default().has(Duration::ZERO));
    }

    #[test]
    fn words_of_a_call_are_found_in_keys_and_values() {
        assert!(depends_on_call(&json!({"$pushAll": {"commands.<command id>": []}})));
        assert!(depends_on_call(&json!({"name": ["<id>"]})));
        assert!(!depends_on_call(&json!({"name": "id"})));
        assert_eq!(Rule::sample(&json!({"<name>": "<instance id>"})), json!({"name": "i1"}));
    }
}
