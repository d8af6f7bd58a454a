//! The file of answers of a simulation. An answer replaces the output of a script. The file also contains
//! actions: intents of simulated operators.
//!
//! ```yaml
//! version: 1
//! actions:
//! - {at: 1h, launch: VM, count: 2}
//! - {at: 2h, command: control.reboot, application: vm, arguments: {force: true}}
//! - {at: 3h, reconfigure: vm, values: {configuration.instance-type: m3.large}}
//! - {at: 4h, destroy: vm}
//! answers:
//! - {script: health-check, applications: [vm-2], from: 1h, until: 2h, fail: connection refused}
//! - {script: control.reboot, takes: 90s, results: []}
//! - {script: discover, from: 6h, instances: {i-100: {name: found}}}
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use windlass_model::AssemblyName;
use windlass_model::clock::duration;
use windlass_model::resolve::text_of;
use windlass_source::{Diagnostic, Diagnostics, Key, LoadOptions, Node, Reading, Source, Span, load_one};

use super::cast::Cast;
use super::codes;
use super::rules::{Instance, Rule, Rules, Says, Script, Window};
use crate::error::Error;

/// The value of the key `version` that each file of answers must have.
const VERSION: u32 = 1;

/// An action of an operator, at a time of the simulation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Action {
    /// The time since the beginning of the simulation.
    pub(super) at: Duration,
    pub(super) what: Intent,
}

/// A request of a simulated operator.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Intent {
    /// Launches instances of an application. `title` is the position of the application in [`Cast::titles`].
    Launch { title: usize, count: u16 },
    /// Destroys an application. This request is also possible after the launch of the application has failed.
    Destroy(AssemblyName),
    /// Changes values of configuration pins.
    Reconfigure(AssemblyName, BTreeMap<String, Value>),
    /// Calls a command of an application. `command` is the id under which the application exposes the command.
    Command { application: AssemblyName, command: String, arguments: BTreeMap<String, Value> },
}

/// The content of a file of answers.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) actions: Vec<Action>,
    pub(super) rules: Rules,
    /// Warnings about actions that never happen, because the simulation ends before their times.
    pub(super) warnings: Diagnostics,
}

/// The text of a duration, or of a time since the beginning of the simulation. The beginning itself is
/// written as the number `0`.
struct TimeText(String);

impl<'de> Deserialize<'de> for TimeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(text_of(&value)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(default)]
    actions: Vec<ActionEntry>,
    #[serde(default)]
    answers: Vec<AnswerEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionEntry {
    at: TimeText,
    launch: Option<String>,
    count: Option<u16>,
    destroy: Option<AssemblyName>,
    reconfigure: Option<AssemblyName>,
    values: Option<BTreeMap<String, Value>>,
    command: Option<String>,
    application: Option<AssemblyName>,
    arguments: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerEntry {
    script: String,
    title: Option<String>,
    applications: Option<BTreeSet<String>>,
    from: Option<TimeText>,
    until: Option<TimeText>,
    every: Option<TimeText>,
    #[serde(rename = "for")]
    lasting: Option<TimeText>,
    takes: Option<TimeText>,
    id: Option<String>,
    update: Option<Map<String, Value>>,
    results: Option<Vec<Value>>,
    instances: Option<Map<String, Value>>,
    stdout: Option<String>,
    fail: Option<String>,
}

impl Answers {
    /// Reads the file of answers of a simulation. Its answers replace the outputs of scripts. The file also
    /// contains actions of simulated operators. The answers and the actions can refer to the manifests in `cast`.
    /// The simulation ends after `duration`.
    ///
    /// # Errors
    /// Returns all problems of the file's entries, with their places.
    pub(super) fn read(file: &Path, cast: &Cast, duration: Duration) -> Result<Self, Error> {
        let one = |problem: Box<Diagnostic>| Error::Input(vec![*problem].into());
        let source = windlass_project::disk::source(file).map_err(one)?;
        let (root, _) = load_one(&source, &LoadOptions::default()).into_result().map_err(Error::Input)?;
        let Some(root) = root.filter(|root| !root.is_null()) else {
            let problem = Diagnostic::error(codes::BAD_ANSWERS, "the file of answers is empty");
            return Err(one(Box::new(problem.help("begin it with `version: 1`"))));
        };
        let content: File = root.parse(&source, Reading::Script).map_err(one)?;
        let mut reader = Reader { source: &source, root: &root, cast, problems: Vec::new() };
        if content.version != VERSION {
            let message = format!("the file of answers has version {}", content.version);
            reader.refuse("/version", message, "this windlass reads version 1");
        }
        let mut answers = Self::default();
        for (at, entry) in content.actions.into_iter().enumerate() {
            let pointer = format!("/actions/{at}");
            let Some(action) = reader.action(&pointer, entry) else { continue };
            if action.at > duration {
                answers.warnings.push(reader.too_late(&pointer));
            }
            answers.actions.push(action);
        }
        for (at, entry) in content.answers.into_iter().enumerate() {
            answers.rules.extend(reader.rule(&format!("/answers/{at}"), entry));
        }
        if reader.problems.is_empty() {
            Ok(answers)
        } else {
            Err(Error::Input(Diagnostics::from(reader.problems)))
        }
    }
}

/// A converter from the entries of a file of answers to [`Action`]s and [`Rule`]s. It collects the problems of all
/// entries.
struct Reader<'r> {
    source: &'r Arc<Source>,
    root: &'r Node,
    cast: &'r Cast,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// Adds a problem of the value at a JSON pointer.
    fn refuse(&mut self, pointer: &str, message: impl Into<String>, help: impl Into<String>) {
        self.add(self.root.locate(pointer).node.span(), message.into(), help.into());
    }

    /// Returns the warning about an action at a time after the end of the simulation. `pointer` is the JSON pointer of
    /// this action.
    fn too_late(&self, pointer: &str) -> Diagnostic {
        let message = "the simulation ends before this action, so the action has no effect";
        let at = self.root.locate(&format!("{pointer}/at")).node.span();
        let warning = Diagnostic::warning(codes::TOO_LATE, message).at(self.source.place(at));
        warning.help("choose an earlier time, or simulate a longer time with `--for`")
    }

    /// Adds a problem of the key at a JSON pointer.
    fn refuse_key(&mut self, pointer: &str, message: impl Into<String>, help: impl Into<String>) {
        let found = self.root.locate(pointer);
        self.add(found.key.map_or(found.node.span(), Key::span), message.into(), help.into());
    }

    fn add(&mut self, span: Span, message: String, help: String) {
        let problem = Diagnostic::error(codes::BAD_ANSWERS, message);
        self.problems.push(problem.at(self.source.place(span)).help(help));
    }

    fn time(&mut self, pointer: &str, text: Option<&TimeText>) -> Option<Duration> {
        let TimeText(text) = text?;
        let time = if text == "0" { Some(Duration::ZERO) } else { duration(text) };
        if time.is_none() {
            self.refuse(
                pointer,
                format!("`{text}` is no time"),
                "write a time such as `30s`, `10m`, `1h30m` or `1d`",
            );
        }
        time
    }

    fn title(&mut self, pointer: &str, text: &str) -> Option<usize> {
        let found = self.cast.title(text);
        if found.is_none() {
            let known: Vec<String> =
                self.cast.titles.iter().map(|one| format!("`{}`", one.published.title)).collect();
            let help = format!("the applications are {}", known.join(", "));
            self.refuse(pointer, format!("there is no application `{text}`"), help);
        }
        found
    }

    fn action(&mut self, at: &str, entry: ActionEntry) -> Option<Action> {
        let time = self.time(&format!("{at}/at"), Some(&entry.at));
        let intents = [
            entry.launch.is_some(),
            entry.destroy.is_some(),
            entry.reconfigure.is_some(),
            entry.command.is_some(),
        ];
        if intents.iter().filter(|is_given| **is_given).count() != 1 {
            let help = "write one of `launch`, `destroy`, `reconfigure` and `command`";
            self.refuse(at, "an action is one intent", help);
            return None;
        }
        let strays = [
            (entry.count.is_some() && entry.launch.is_none(), "count", "launch"),
            (entry.values.is_some() && entry.reconfigure.is_none(), "values", "reconfigure"),
            (entry.arguments.is_some() && entry.command.is_none(), "arguments", "command"),
            (entry.application.is_some() && entry.command.is_none(), "application", "command"),
        ];
        for (_, key, of) in strays.into_iter().filter(|(is_stray, ..)| *is_stray) {
            self.refuse_key(&format!("{at}/{key}"), format!("`{key}` belongs to `{of}`"), "remove it");
        }
        let what = match (entry.launch, entry.destroy, entry.reconfigure, entry.command) {
            (Some(title), ..) => {
                let title = self.title(&format!("{at}/launch"), &title)?;
                Intent::Launch { title, count: entry.count.unwrap_or(1) }
            }
            (_, Some(name), ..) => Intent::Destroy(name),
            (_, _, Some(name), _) => Intent::Reconfigure(name, entry.values.unwrap_or_default()),
            (.., command) => {
                let Some(application) = entry.application else {
                    self.refuse(at, "the command has no application", "add `application: NAME`");
                    return None;
                };
                let arguments = entry.arguments.unwrap_or_default();
                Intent::Command { application, command: command.unwrap_or_default(), arguments }
            }
        };
        Some(Action { at: time?, what })
    }

    fn rule(&mut self, at: &str, entry: AnswerEntry) -> Option<Rule> {
        let script = self.script(at, &entry.script)?;
        let title = match &entry.title {
            Some(title) => Some(self.title(&format!("{at}/title"), title)?),
            None => None,
        };
        let window = self.window(at, &entry);
        let takes = self.time(&format!("{at}/takes"), entry.takes.as_ref()).unwrap_or_default();
        self.refuse_strays(at, &entry, &script);
        let says = match (entry.fail, entry.stdout, entry.instances) {
            (Some(why), ..) => Says::Fail(why),
            (_, Some(text), _) => Says::Stdout(text),
            (_, _, Some(instances)) => {
                for (id, update) in &instances {
                    self.fits(&format!("{at}/instances/{id}"), update, None);
                }
                Says::Instances(instances)
            }
            _ => {
                let update = entry.update.map(Value::Object);
                if let Some(update) = &update {
                    self.fits(&format!("{at}/update"), update, title);
                }
                Says::Instance(Instance { id: entry.id, update, results: entry.results })
            }
        };
        let applications = entry.applications;
        Some(Rule::new(
            self.cast,
            Rule { script, title, applications, window, takes, says, parsed: Vec::new() },
        ))
    }

    fn script(&mut self, at: &str, text: &str) -> Option<Script> {
        let commands =
            self.cast.titles.iter().flat_map(|one| one.compiled.package.bindings().commands.keys());
        let commands: BTreeSet<String> = commands.cloned().collect();
        let script = match text {
            "launch" => Script::Launch,
            "destroy" => Script::Destroy,
            "health-check" => Script::HealthCheck,
            "reconfigure" => Script::Reconfigure,
            "discover" => Script::Discover,
            command if commands.contains(command) => Script::Command(command.to_owned()),
            _ => {
                let known = ["launch", "destroy", "health-check", "reconfigure", "discover"];
                let known = known.into_iter().map(str::to_owned).chain(commands);
                let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
                let help = format!("the scripts are {}", known.join(", "));
                self.refuse(&format!("{at}/script"), format!("there is no script `{text}`"), help);
                return None;
            }
        };
        Some(script)
    }

    fn window(&mut self, at: &str, entry: &AnswerEntry) -> Window {
        let mut time = |key: &str, text: &Option<TimeText>| self.time(&format!("{at}/{key}"), text.as_ref());
        let (from, until) = (time("from", &entry.from), time("until", &entry.until));
        let (every, lasting) = (time("every", &entry.every), time("for", &entry.lasting));
        if every.is_some() != lasting.is_some() {
            self.refuse(at, "`every` and `for` belong together", "write both, as `every: 1h` and `for: 5m`");
        }
        if every.is_some_and(|every| every.as_millis() == 0) {
            let help = "write a period such as `1h`, or remove `every` and `for`";
            self.refuse(&format!("{at}/every"), "a period of 0 has no length", help);
        }
        Window { from: from.unwrap_or_default(), until, cycle: every.zip(lasting) }
    }

    /// Reports the keys of an answer that are not allowed for the answer's script. Also reports an answer with more
    /// than one kind of content. The kinds are data, a text and a failure.
    fn refuse_strays(&mut self, at: &str, entry: &AnswerEntry, script: &Script) {
        let is_discovery = *script == Script::Discover;
        let takes_results = matches!(script, Script::HealthCheck | Script::Command(_));
        let strays = [
            (entry.instances.is_some() && !is_discovery, "instances", "`discover`"),
            (entry.update.is_some() && is_discovery, "update", "scripts of one application"),
            (entry.applications.is_some() && is_discovery, "applications", "scripts of applications"),
            (entry.id.is_some() && *script != Script::Launch, "id", "`launch`"),
            (entry.results.is_some() && !takes_results, "results", "commands and `health-check`"),
        ];
        for (_, key, of) in strays.into_iter().filter(|(is_stray, ..)| *is_stray) {
            self.refuse_key(&format!("{at}/{key}"), format!("`{key}` belongs to {of}"), "remove it");
        }
        let data = entry.update.is_some()
            || entry.results.is_some()
            || entry.instances.is_some()
            || entry.id.is_some();
        let kinds = [data, entry.stdout.is_some(), entry.fail.is_some()];
        if kinds.iter().filter(|is_given| **is_given).count() > 1 {
            let help = "keep one of them: data, `stdout` or `fail`";
            self.refuse(at, "an answer is data, a text or a failure", help);
        }
    }

    /// Checks that an update fits the instances of an application. `title` is the position of the
    /// application in [`Cast::titles`]. If `title` is `None`, the update must fit the instances of at least
    /// one application.
    fn fits(&mut self, pointer: &str, update: &Value, title: Option<usize>) {
        let update = Rule::sample(update);
        let titles: Vec<usize> = title.map_or_else(|| (0..self.cast.titles.len()).collect(), |one| vec![one]);
        let tried = titles.into_iter().map(|title| {
            let shape = &self.cast.titles[title].compiled.shape;
            windlass_update_ops::Update::parse(&update, shape).err()
        });
        let tried: Vec<_> = tried.collect();
        if tried.iter().any(Option::is_none) {
            return;
        }
        for error in tried.into_iter().flatten().next().into_iter().flatten() {
            let pointer = format!("{pointer}{}", error.place);
            let help = error.help().map_or_else(
                || "scripts with such an answer are written as `stdout`".to_owned(),
                |help| help.clone(),
            );
            self.refuse_key(&pointer, format!("the update can't be used: {error}"), help);
        }
    }
}
