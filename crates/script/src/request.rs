//! Parsing of the input documents of scripts, as this driver and other programs write them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_model::Transition;
use windlass_source::{
    Diagnostic, Diagnostics, Entry, LoadOptions, Mapping, Node, Reading, Source, Span, Spanned, did_you_mean,
    listed, load_one,
};

use crate::codes;
use crate::keys::{
    ARGUMENTS, COMMANDS, CONFIGURATION, INPUT, INSTANCE, INSTANCES, LAUNCH, LAUNCH_INSTANCES, SCRIPT,
    TRANSITION,
};

/// Values by their names, each with the place of its name.
pub type Values = BTreeMap<String, Spanned<Value>>;

/// The input document of a script.
#[derive(Debug, Clone)]
pub struct Request {
    /// The source of the text, for messages.
    pub source: Arc<Source>,
    /// The path of the script, if an adapter such as `/invoke.py` runs the script. `None` for a script that runs
    /// without an adapter.
    pub program: Option<String>,
    /// The configuration at the top of the document. For a resource, the configuration contains the properties of the
    /// location. For an application, the configuration contains the values of the application's factory.
    pub configuration: Values,
    /// The instances that the request is about.
    pub instances: Requested,
    /// The transition that the script must perform, such as Start; `None` if the document names no transition. windlass
    /// writes a transition only for scripts with the role [`Step`](crate::Role::Step).
    pub transition: Option<Transition>,
}

/// The instances that an input document names.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Requested {
    /// The instances to launch, by their instance ids.
    Launch(LaunchKey, BTreeMap<String, RequestedInstance>),
    /// Existing instances, by their natural ids.
    Existing(BTreeMap<String, RequestedInstance>),
    /// No instances: the script searches for them.
    Discover,
}

/// In the input document of a launch script, the key that contains the instances to launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchKey {
    /// The key `launch`.
    Launch,
    /// The key `launch-instances`, the former name of the key `launch`. Old scripts read only the former name.
    LaunchInstances,
    /// Both `launch` and `launch-instances`, with the same instances.
    Both,
}

/// The entry of one instance in the input document of a script.
#[derive(Debug, Clone)]
pub struct RequestedInstance {
    /// The place of the instance's id in the document.
    pub span: Span,
    /// The configuration of the instance; `None` if the entry of the instance has no key `configuration`. If the key
    /// has the value null, the configuration is empty.
    pub configuration: Option<Values>,
    /// The commands of the instance, by their command ids.
    pub commands: BTreeMap<String, RequestedCommand>,
}

/// A command that the script must perform on an instance.
#[derive(Debug, Clone)]
pub struct RequestedCommand {
    /// The name of the interface that declares the command. For an operation of a resource, the name is
    /// `operations`.
    pub interface: String,
    /// The name of the pin that declares the command. For an operation of a resource, the name of the operation.
    pub pin: String,
    /// The arguments of the command.
    pub arguments: Values,
}

impl Request {
    /// Tells whether a document is meant as the input of a script. The keys of the document decide.
    pub fn is_request(root: &Node) -> bool {
        let has = |key: &&str| root.get(key).is_some();
        INPUT.iter().any(has) || [SCRIPT, ARGUMENTS].iter().all(has)
    }

    /// Parses the text of an input document. An empty text is the input of a discovery script without configuration.
    ///
    /// ```
    /// use windlass_script::{Request, Requested};
    ///
    /// let text = "configuration: {location.region: eu-1}\ninstances: {i-1: null}\n";
    /// let request = Request::read("input.yaml", text)?;
    /// let Requested::Existing(instances) = &request.instances else { panic!("it names an instance") };
    /// assert!(instances["i-1"].configuration.is_none());
    ///
    /// let problems = Request::read("input.yaml", "configuration: {}\ninstanses: {i-1: null}\n").unwrap_err();
    /// let problem = problems.iter().next().unwrap();
    /// assert_eq!(problem.to_string(), "input.yaml:2:1: error[WL0429]: the input of a script has no key `instanses`");
    /// assert_eq!(problem.help.as_deref(), Some("did you mean `instances`?"));
    /// # Ok::<(), windlass_source::Diagnostics>(())
    /// ```
    ///
    /// # Errors
    /// All problems of the document, with their places.
    pub fn read(name: &str, text: impl Into<String>) -> Result<Self, Diagnostics> {
        let source = Source::new(name, text.into());
        let (root, _) = load_one(&source, &LoadOptions::default()).into_result()?;
        Self::of_root(&source, root.as_ref())
    }

    /// Converts a parsed document to a request.
    ///
    /// # Errors
    /// All problems of the document, with their places.
    pub fn of_root(source: &Arc<Source>, root: Option<&Node>) -> Result<Self, Diagnostics> {
        let mut reader = Reader { source, problems: Diagnostics::new() };
        let root = root.filter(|root| !root.is_null());
        let request = match root.and_then(|root| root.get(SCRIPT)) {
            Some(_) => reader.adapted(root),
            None => reader.document(root, None),
        };
        if reader.problems.has_errors() { Err(reader.problems) } else { Ok(request) }
    }

    /// Returns the input document in the form in which this driver writes it. The document always has the key
    /// `configuration`, and its value is never null.
    pub fn to_value(&self) -> Value {
        let mut document = Map::new();
        document.insert(CONFIGURATION.to_owned(), written(&self.configuration));
        let all = |instances: &BTreeMap<String, RequestedInstance>| -> Value {
            instances.iter().map(|(id, instance)| (id.clone(), instance.to_value())).collect()
        };
        match &self.instances {
            Requested::Launch(key, instances) => {
                let (launch, old) = (*key != LaunchKey::LaunchInstances, *key != LaunchKey::Launch);
                let keys = [(LAUNCH, launch), (LAUNCH_INSTANCES, old)];
                for (key, _) in keys.into_iter().filter(|(_, is_there)| *is_there) {
                    document.insert(key.to_owned(), all(instances));
                }
            }
            Requested::Existing(instances) => drop(document.insert(INSTANCES.to_owned(), all(instances))),
            Requested::Discover => {}
        }
        if let Some(transition) = self.transition {
            document.insert(TRANSITION.to_owned(), transition.as_str().into());
        }
        match &self.program {
            Some(program) => json!({ SCRIPT: program, ARGUMENTS: document }),
            None => document.into(),
        }
    }
}

impl RequestedInstance {
    fn to_value(&self) -> Value {
        let mut instance = Map::new();
        if let Some(configuration) = &self.configuration {
            instance.insert(CONFIGURATION.to_owned(), written(configuration));
        }
        if !self.commands.is_empty() {
            let command =
                |of: &RequestedCommand| json!({ &of.interface: { &of.pin: written(&of.arguments) } });
            let commands: Value = self.commands.iter().map(|(id, of)| (id.clone(), command(of))).collect();
            instance.insert(COMMANDS.to_owned(), commands);
        }
        if instance.is_empty() { Value::Null } else { instance.into() }
    }
}

fn written(values: &Values) -> Value {
    values.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect()
}

struct Reader<'s> {
    source: &'s Arc<Source>,
    problems: Diagnostics,
}

impl Reader<'_> {
    fn wrong(&mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(codes::BAD_REQUEST, message).at(self.source.place(span))
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>, help: &str) {
        let problem = self.wrong(span, message).help(help);
        self.problems.push(problem);
    }

    /// Reads the input document of an adapter, which is a program that runs the script. In this document, the key
    /// `script` contains the path of the script, and the key `arguments` contains the input document of the script.
    fn adapted(&mut self, root: Option<&Node>) -> Request {
        let top = root.and_then(|root| self.mapping(root, "a request to an adapter"));
        self.known(top, "a request to an adapter", &[SCRIPT, ARGUMENTS]);
        let program = top.and_then(|top| top.get(SCRIPT));
        let name = program.and_then(Node::as_str).map(str::to_owned);
        if let (Some(program), None) = (program, &name) {
            let found = program.describe();
            self.refuse(program.span(), format!("`{SCRIPT}` is a path, and this is {found}"), "write a path");
        }
        let arguments = top.and_then(|top| top.get(ARGUMENTS)).filter(|arguments| !arguments.is_null());
        self.document(arguments, name)
    }

    fn document(&mut self, root: Option<&Node>, program: Option<String>) -> Request {
        let top = root.and_then(|root| self.mapping(root, "the input of a script"));
        self.known(top, "the input of a script", &INPUT);
        let configuration = top.and_then(|top| top.entry(CONFIGURATION));
        let configuration = configuration.map(|entry| self.values(entry)).unwrap_or_default();
        let instances = self.instances(top);
        let transition = top.and_then(|top| top.get(TRANSITION)).and_then(|node| self.transition(node));
        Request { source: self.source.clone(), program, configuration, instances, transition }
    }

    fn instances(&mut self, top: Option<&Mapping>) -> Requested {
        let entry = |key: &str| top.and_then(|top| top.entry(key));
        let (launch, old, existing) = (entry(LAUNCH), entry(LAUNCH_INSTANCES), entry(INSTANCES));
        if let (Some(launch), Some(existing)) = (launch.or(old), existing) {
            let message = format!("a launch has no `{INSTANCES}` beside `{}`", launch.key.text());
            let help = "ids of instances to launch are below `launch`, and those of others below `instances`";
            self.refuse(existing.key.span(), message, help);
        }
        if let (Some(launch), Some(old)) = (launch, old)
            && launch.value.to_value(Reading::Script) != old.value.to_value(Reading::Script)
        {
            let message = format!("`{LAUNCH_INSTANCES}` differs from `{LAUNCH}`");
            self.refuse(old.key.span(), message, "repeat the same requests, or omit one of the keys");
        }
        let key = match (launch, old) {
            (Some(_), None) => LaunchKey::Launch,
            (None, _) => LaunchKey::LaunchInstances,
            (Some(_), Some(_)) => LaunchKey::Both,
        };
        match (launch.or(old), existing) {
            (Some(requests), _) => Requested::Launch(key, self.ids(requests, &[CONFIGURATION])),
            (None, Some(existing)) => Requested::Existing(self.ids(existing, &INSTANCE)),
            (None, None) => Requested::Discover,
        }
    }

    /// Reads the value of `entry`, which is a mapping from ids to instances. `known` lists the keys that the
    /// document may contain for an instance.
    fn ids(&mut self, entry: &Entry, known: &[&str]) -> BTreeMap<String, RequestedInstance> {
        let ids = self.optional(&entry.value, &format!("`{}`", entry.key.text()));
        let ids = ids.map(Mapping::entries).unwrap_or_default();
        ids.iter().map(|entry| (entry.key.text().to_owned(), self.instance(entry, known))).collect()
    }

    fn instance(&mut self, entry: &Entry, known: &[&str]) -> RequestedInstance {
        let name = format!("instance `{}`", entry.key.text());
        let fields = self.optional(&entry.value, &name);
        self.known(fields, &name, known);
        let of = |key: &str| fields.and_then(|fields| fields.entry(key));
        let configuration = of(CONFIGURATION).map(|entry| self.values(entry));
        let commands = of(COMMANDS).and_then(|entry| self.optional(&entry.value, "`commands`"));
        let commands = commands.map(Mapping::entries).unwrap_or_default();
        let commands = commands
            .iter()
            .filter_map(|entry| Some((entry.key.text().to_owned(), self.command(entry)?)))
            .collect();
        RequestedInstance { span: entry.key.span(), configuration, commands }
    }

    /// Reads a command from an entry of the document.
    ///
    /// For an application, the entry has the form `<command id>: {<interface>: {<pin>: {<argument>: …}}}`. The pin is
    /// the entry of the manifest that declares the command. The interface is the group of pins that contains this pin.
    ///
    /// For a resource, the entry has the form `<command id>: {operations: {<name>: {<argument>: …}}}`. `<name>`
    /// is an operation or a command of the resource.
    fn command(&mut self, entry: &Entry) -> Option<RequestedCommand> {
        let interface = self.only(entry, "an interface")?;
        let pin = self.only(interface, "a pin")?;
        Some(RequestedCommand {
            interface: interface.key.text().to_owned(),
            pin: pin.key.text().to_owned(),
            arguments: self.values(pin),
        })
    }

    /// Returns the inner entry of `entry`. The value of `entry` must be a mapping with exactly one entry, for
    /// example the only pin of an interface. For any other value, the method reports a problem and returns `None`.
    /// `what` describes the expected value in the problem, for example `a pin`.
    fn only<'n>(&mut self, entry: &'n Entry, what: &str) -> Option<&'n Entry> {
        let entries = entry.value.as_mapping().map(Mapping::entries).unwrap_or_default();
        if let [only] = entries {
            return Some(only);
        }
        let found = match entries.len() {
            0 => entry.value.describe().to_owned(),
            count => format!("a mapping of {count} keys"),
        };
        let message = format!("`{}` has {what}, and this is {found}", entry.key.text());
        let help = "write `<command id>: {<interface>: {<pin>: {<argument>: …}}}`";
        self.refuse(entry.key.span(), message, help);
        None
    }

    fn transition(&mut self, node: &Node) -> Option<Transition> {
        let word = node.as_str().unwrap_or_default();
        let found = word.parse().ok();
        if found.is_none() {
            let names = Transition::ALL.map(Transition::as_str);
            let problem = self.wrong(node.span(), format!("there is no transition `{word}`"));
            let problem = did_you_mean(problem, word, names);
            let all = format!("there are {}", listed(&names));
            let problem = if problem.help.is_some() { problem } else { problem.help(all) };
            self.problems.push(problem);
        }
        found
    }

    fn values(&mut self, entry: &Entry) -> Values {
        let values = self.optional(&entry.value, &format!("`{}`", entry.key.text()));
        let values = values.map(Mapping::entries).unwrap_or_default();
        let value = |entry: &Entry| {
            let value = Spanned { value: entry.value.to_value(Reading::Script), span: entry.key.span() };
            (entry.key.text().to_owned(), value)
        };
        values.iter().map(value).collect()
    }

    fn optional<'n>(&mut self, node: &'n Node, name: &str) -> Option<&'n Mapping> {
        if node.is_null() { None } else { self.mapping(node, name) }
    }

    fn mapping<'n>(&mut self, node: &'n Node, name: &str) -> Option<&'n Mapping> {
        let mapping = node.as_mapping();
        if mapping.is_none() {
            let message = format!("{name} is a mapping, and this is {}", node.describe());
            self.refuse(node.span(), message, "`windlass schema script-input` describes the document");
        }
        mapping
    }

    /// Reports the unknown keys of a mapping.
    fn known(&mut self, mapping: Option<&Mapping>, name: &str, known: &[&str]) {
        for entry in mapping.map(Mapping::entries).unwrap_or_default() {
            let key = entry.key.text();
            if known.contains(&key) {
                continue;
            }
            let problem = self.wrong(entry.key.span(), format!("{name} has no key `{key}`"));
            let problem = did_you_mean(problem, key, known.iter().copied());
            let all = format!("it has {}", listed(known));
            let problem = if problem.help.is_some() { problem } else { problem.help(all) };
            self.problems.push(problem);
        }
    }
}
