//! The instance document: the fields that drivers may change, and a read-only view of it.
//!
//! A driver never writes the document itself. The report of a driver contains updates of the document. The engine
//! checks each update against the *shape* of the document ([`shape`]), which is the list of the fields and their types:
//!
//! ```text
//! instanceId: <instance id>
//! name: <text>
//! status: {flags: {active, converging, failed}, message}
//! interfaces:
//!   <interface>:
//!     signals: {<pin>: <any value>}
//!     status: {flags: {active, converging, failed}, message}
//! components: <tree of references>          a reference is a map with `mapping` and `key`
//! activityLog: [{severity, message, data}]  append only
//! commands: {<command id>: [<result>]}      append only
//! ```
//!
//! A script that launches an instance reports `instanceId`: the instance id that windlass has passed to the script. The
//! signals of the interface `properties` are the output properties of the instance. The signals of the interface
//! `metrics` are the values of metrics. If an interface has no status, the status of the instance also applies to the
//! interface.
//!
//! ```
//! use serde_json::json;
//! use windlass_model::instance::{InstanceView, shape};
//! use windlass_update_ops::Update;
//!
//! let update = Update::parse(&json!({
//!     "$set": {"status.flags.active": true},
//!     "interfaces": {"properties": {"signals": {"publicIp": "203.0.113.1"}}},
//! }), shape()).expect("the update fits the shape").update;
//!
//! let mut document = json!({});
//! update.apply(&mut document).expect("a checked update applies");
//! let view = InstanceView::new(&document);
//! assert!(view.status().active);
//! assert_eq!(view.output("publicIp"), Some(&json!("203.0.113.1")));
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_update_ops::{Keys, Node, Op, Operator, Shape, Update};

use crate::pins::{Name, Pin, PinType, Pins};
use crate::record::Severity;
use crate::sorted::members;

/// The name of the interface whose signals are the output properties. A signal is a named value that an
/// instance reports. Each signal belongs to an interface.
pub const OUTPUTS: &str = "properties";

/// The name of the interface whose signals are the values of metrics. A signal has the name of its metric.
pub const METRICS: &str = "metrics";

static SHAPE: LazyLock<Shape> = LazyLock::new(|| document(Node::map(Keys::any(), interface(signals()))));

/// Returns the shape of an instance document: the list of its fields, with their types. The parameter `interfaces`
/// is the type of the field `interfaces`. For an application, this type depends on the pins of the application.
fn document(interfaces: Node) -> Shape {
    let no_unset = "it always has a value: `$set` it";
    let tree = Node::recursive(|tree| {
        let reference =
            Node::record([("mapping", Node::text().required()), ("key", Node::text().required())]);
        Node::record([("reference", reference), ("components", Node::map(Keys::any(), tree))])
    });
    let append_only = "it only grows: use `$pushAll`";
    Shape::new([
        ("instanceId", Node::text().deny(Operator::Unset, no_unset)),
        ("name", Node::text().deny(Operator::Unset, no_unset)),
        ("status", status_node().deny(Operator::Unset, no_unset)),
        ("interfaces", interfaces),
        ("components", Node::map(Keys::any(), tree)),
        ("activityLog", Node::list().deny(Operator::Set, append_only).deny(Operator::Unset, append_only)),
        (
            "commands",
            Node::map(
                Keys::any(),
                Node::list().deny(Operator::Set, append_only).deny(Operator::Unset, append_only),
            )
            .deny(Operator::Set, append_only)
            .deny(Operator::Unset, append_only),
        ),
    ])
}

fn interface(signals: Node) -> Node {
    Node::record([("signals", signals), ("status", status_node())])
}

fn signals() -> Node {
    Node::map(Keys::any(), Node::opaque())
}

fn status_node() -> Node {
    let flag = || {
        let words = [("yes", true), ("on", true), ("no", false), ("off", false)];
        words
            .into_iter()
            .fold(Node::boolean().defaults_to(false), |node, (word, value)| node.spelled(word, value))
    };
    let flags = Node::record([("active", flag()), ("converging", flag()), ("failed", flag())])
        .deny(Operator::Unset, "flags always have a value: `$set` them");
    Node::record([("flags", flags), ("message", Node::text())])
}

/// Returns the shape of an instance document: the fields that the document may have, and the types of these fields.
/// This shape permits any names of interfaces and signals. For an application, [`shape_of`] returns a stricter
/// shape.
pub fn shape() -> &'static Shape {
    &SHAPE
}

/// Returns the shape of the instance document of an application: the fields that the document may have, and
/// the types of these fields.
///
/// For each pin of the type `publish-signal`, the shape has one signal. The pin determines the interface, the
/// name and the value type of the signal. Null means no value, and is valid for every type.
pub fn shape_of(pins: &Pins) -> Shape {
    let of_interface = |(name, pins): (&Name, &BTreeMap<Name, Pin>)| {
        let signal = |(name, pin): (&Name, &Pin)| match &pin.kind {
            PinType::PublishSignal(kind) => {
                let (expected, kind) = (format!("a value of type `{kind}`"), kind.clone());
                let fits = move |value: &Value| kind.fit(value).is_ok();
                Some((name.as_str().to_owned(), Node::opaque().matching(expected, fits)))
            }
            _ => None,
        };
        let signals: Vec<(String, Node)> = pins.iter().filter_map(signal).collect();
        let signals = Node::record(signals.iter().map(|(name, node)| (name.as_str(), node.clone())));
        (name.as_str().to_owned(), interface(signals))
    };
    let interfaces: Vec<(String, Node)> = pins.0.iter().map(of_interface).collect();
    document(Node::record(interfaces.iter().map(|(name, node)| (name.as_str(), node.clone()))))
}

/// The status of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// Whether the instance does its work.
    pub active: bool,
    /// Whether the instance is still changing towards its desired state.
    pub converging: bool,
    /// Whether the driver reports a failure of the instance. An instance can be active and failed at the same time.
    /// Such an instance is degraded.
    pub failed: bool,
    /// A message about the status.
    pub message: Option<String>,
}

impl Status {
    /// Returns one word for the status.
    pub fn word(&self) -> &'static str {
        match (self.converging, self.active, self.failed) {
            (true, _, _) => "converging",
            (_, true, true) => "degraded",
            (_, true, false) => "active",
            (_, false, true) => "failed",
            (_, false, false) => "-",
        }
    }
}

/// A read-only view of an instance document.
#[derive(Debug, Clone, Copy)]
pub struct InstanceView<'a>(&'a Value);

impl<'a> InstanceView<'a> {
    /// Creates a view of a document.
    pub fn new(document: &'a Value) -> Self {
        Self(document)
    }

    /// Returns the status of the whole instance.
    pub fn status(self) -> Status {
        let status = &self.0["status"];
        let flag = |name: &str| status["flags"][name].as_bool().unwrap_or(false);
        Status {
            active: flag("active"),
            converging: flag("converging"),
            failed: flag("failed"),
            message: status["message"].as_str().map(str::to_owned),
        }
    }

    /// Returns the value of an output property.
    pub fn output(self, property: &str) -> Option<&'a Value> {
        self.outputs()?.get(property)
    }

    /// Returns all output properties.
    pub fn outputs(self) -> Option<&'a Map<String, Value>> {
        self.0["interfaces"][OUTPUTS]["signals"].as_object()
    }

    /// Returns the value of the output property `name`, for example `url`. If the instance has no such output property,
    /// the method takes `name` as the id of a signal, and returns the value of this signal. For example, `compute.ip`
    /// is the signal `ip` of the interface `compute`.
    pub fn property(self, name: &str) -> Option<&'a Value> {
        self.output(name).or_else(|| {
            let (interface, pin) = name.split_once('.')?;
            self.0["interfaces"][interface]["signals"].get(pin)
        })
    }

    /// Returns the signals of all interfaces. Each item consists of the name of the interface, the name of the
    /// signal in this interface, and the value of the signal.
    pub fn signals(self) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
        let interfaces = self.0["interfaces"].as_object().into_iter().flat_map(members);
        interfaces.flat_map(|(interface, of)| {
            let signals = of["signals"].as_object().into_iter().flat_map(members);
            signals.map(move |(pin, value)| (interface.as_str(), pin.as_str(), value))
        })
    }

    /// Returns the values of metrics, by metric name.
    pub fn metrics(self) -> Option<&'a Map<String, Value>> {
        self.0["interfaces"][METRICS]["signals"].as_object()
    }
}

/// An entry of an activity log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The severity of the entry.
    pub severity: Severity,
    /// The message, which may have several lines.
    pub message: String,
    /// JSON data that belongs to the message, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl LogEntry {
    /// Creates an entry without data.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self { severity, message: message.into(), data: None }
    }
}

/// Takes the entries of the activity log out of an update, and returns the rest of the update and the
/// entries. The store keeps the entries as events, not in the document.
///
/// If the field `message` of an entry is missing or is not text, the function returns a message about this error in
/// place of the entry.
pub fn take_log(update: Update) -> (Update, Vec<LogEntry>) {
    let Ok(path) = "activityLog".parse() else { return (update, Vec::new()) };
    let (log, rest) = update.partition(|at| *at == path);
    let entries = match log.get(&path) {
        Some(Op::Append(entries)) => entries.iter().map(log_entry).collect(),
        _ => Vec::new(),
    };
    (rest, entries)
}

fn log_entry(entry: &Value) -> LogEntry {
    match entry["message"].as_str() {
        Some(message) => LogEntry {
            severity: entry["severity"].as_str().map(Severity::from_word).unwrap_or_default(),
            message: message.to_owned(),
            data: entry.get("data").filter(|data| !data.is_null()).cloned(),
        },
        None => LogEntry::new(Severity::Error, "a log entry without a text `message` is ignored"),
    }
}

/// Resets the flags `failed` and `converging` of the status in a document. If one of them was set, the function
/// also removes the message of the status. The engine calls this function for a new driver call. Flags from before
/// the call then can't be mistaken for the result of the call.
pub fn clear_complaint(document: &mut Value) {
    let Some(status) = document.get_mut("status").and_then(Value::as_object_mut) else { return };
    let flags = status.get_mut("flags").and_then(Value::as_object_mut);
    let taken = flags.into_iter().flatten().filter(|(name, value)| {
        matches!(name.as_str(), "failed" | "converging") && **value == Value::Bool(true)
    });
    if taken.map(|(_, value)| *value = Value::Bool(false)).count() > 0 {
        status.remove("message");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The values of the flags `active`, `converging` and `failed` in an update.
    type Flags = [Option<bool>; 3];

    /// An update of the status. The operators of updates are `$set`, which writes values at paths, and `$unset`,
    /// which removes the values at paths.
    #[derive(Debug, Clone)]
    enum Write {
        /// `{$set: {status: {flags: …, message: …}}}`: replaces the flags and the message.
        Plain(Option<Flags>, Option<String>),
        /// `{$set: {status.flags: {…}}}`: replaces all flags, and keeps the message.
        Flags(Flags),
        /// `{$set: {status.flags.active: …, status.message: …}}`: changes only the flags and the message that are
        /// `Some`.
        Paths(Flags, Option<String>),
        /// `{$unset: {status.message: null}}`: removes the message.
        NoMessage,
    }

    fn writes() -> impl Strategy<Value = Vec<Write>> {
        let flags = || prop::array::uniform3(any::<Option<bool>>());
        let message = || prop::option::of("[a-z]{0,3}");
        let write = prop_oneof![
            (prop::option::of(flags()), message()).prop_map(|(flags, message)| Write::Plain(flags, message)),
            flags().prop_map(Write::Flags),
            (flags(), message()).prop_map(|(flags, message)| Write::Paths(flags, message)),
            Just(Write::NoMessage),
        ];
        prop::collection::vec(write, 1..8)
    }

    fn named(flags: Flags) -> Map<String, Value> {
        let flags = ["active", "converging", "failed"].into_iter().zip(flags);
        flags.filter_map(|(name, flag)| Some((name.to_owned(), flag?.into()))).collect()
    }

    /// Returns the JSON of an update. The update changes the status at the path `at`. This status belongs to
    /// the instance or to an interface.
    fn wire(write: &Write, at: &str) -> Value {
        let path = |below: &str| format!("{at}.{below}");
        match write.clone() {
            Write::Plain(flags, message) => {
                let mut status = Map::new();
                status.extend(flags.map(|flags| ("flags".to_owned(), named(flags).into())));
                status.extend(message.map(|message| ("message".to_owned(), message.into())));
                json!({"$set": {at: status}})
            }
            Write::Flags(flags) => json!({"$set": {path("flags"): named(flags)}}),
            Write::Paths(flags, message) => {
                let flags = named(flags).into_iter();
                let mut paths: Map<_, _> =
                    flags.map(|(name, flag)| (path(&format!("flags.{name}")), flag)).collect();
                paths.extend(message.map(|message| (path("message"), message.into())));
                json!({ "$set": paths })
            }
            Write::NoMessage => json!({"$unset": {path("message"): null}}),
        }
    }

    /// Changes `status` in the way that the protocol prescribes for the update `write`.
    fn apply(status: &mut Status, write: &Write) {
        let Status { active, converging, failed, message } = status;
        let set = |flags: Flags, others: Option<bool>| {
            for (flag, written) in [active, converging, failed].into_iter().zip(flags) {
                *flag = written.or(others).unwrap_or(*flag);
            }
        };
        match write {
            Write::Plain(flags, said) => {
                set(flags.unwrap_or_default(), Some(false));
                message.clone_from(said);
            }
            Write::Flags(flags) => set(*flags, Some(false)),
            Write::Paths(flags, said) => {
                set(*flags, None);
                if said.is_some() {
                    message.clone_from(said);
                }
            }
            Write::NoMessage => *message = None,
        }
    }

    proptest! {
        /// An update of the path `status` replaces the whole status. An update of a longer path, such as
        /// `status.flags`, changes only the field at this path. A flag that was never written is false. All
        /// of this also applies to the status of an interface, which is independent of the status of the
        /// instance.
        #[test]
        fn a_status_is_what_updates_have_written(writes in writes(), others in writes()) {
            let (mut document, mut status) = (json!({}), Status::default());
            let interface = "interfaces.web.status";
            for write in &others {
                parse(&wire(write, interface)).unwrap().apply(&mut document).unwrap();
            }
            let before = document["interfaces"].clone();
            for write in &writes {
                parse(&wire(write, "status")).unwrap().apply(&mut document).unwrap();
                apply(&mut status, write);
                prop_assert_eq!(InstanceView::new(&document).status(), status.clone());
            }
            prop_assert_eq!(&document["interfaces"], &before);
            let mut of_interface = Status::default();
            for write in &others {
                apply(&mut of_interface, write);
            }
            prop_assert_eq!(InstanceView::new(&before["web"]).status(), of_interface);
        }

        /// A status has a word that describes the status. If the flag `converging` is set, the word is
        /// `converging`. Otherwise, the flags `active` and `failed` determine the word. If both of these flags are
        /// set, the word is `degraded`.
        #[test]
        fn the_word_of_a_status(flags in prop::array::uniform3(any::<bool>()), message: Option<String>) {
            let [active, converging, failed] = flags;
            let word = Status { active, converging, failed, message }.word();
            prop_assert_eq!(word == "-", flags == [false; 3]);
            prop_assert_eq!(word == "converging", converging);
            prop_assert_eq!(word == "active" || word == "degraded", active && !converging);
            prop_assert_eq!(word == "failed" || word == "degraded", failed && !converging);
        }
    }

    fn parse(wire: &Value) -> Result<Update, Vec<String>> {
        Update::parse(wire, shape())
            .map(|parsed| parsed.update)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_plain_status_replaces_the_whole_status() {
        let mut document = json!({"status": {"flags": {"active": true, "converging": false, "failed": true}, "message": "x"}});
        let update = parse(&json!({"status": {"flags": {"active": true}}})).unwrap();
        update.apply(&mut document).unwrap();
        assert_eq!(
            InstanceView::new(&document).status(),
            Status { active: true, converging: false, failed: false, message: None }
        );
    }

    #[test]
    fn the_log_only_grows() {
        assert!(parse(&json!({"activityLog": []})).is_err());
        assert!(parse(&json!({"$unset": {"commands.c1": null}})).is_err());
        let update = parse(&json!({"$pushAll": {"activityLog": [
            {"severity": "eRRor", "message": "disk", "data": {"free": 0}},
            {"message": "fine", "data": null},
            {"severity": "info"},
        ]}, "name": "web"}))
        .unwrap();
        let (rest, log) = take_log(update);
        assert_eq!(rest.to_value(), json!({"name": "web"}));
        assert_eq!(
            log.iter().map(|e| e.data.clone()).collect::<Vec<_>>(),
            [Some(json!({"free": 0})), None, None]
        );
        let log: Vec<_> = log.iter().map(|e| format!("{} {}", e.severity, e.message)).collect();
        assert_eq!(log, ["ERROR disk", "INFO fine", "ERROR a log entry without a text `message` is ignored"]);
    }

    #[test]
    fn flags_and_references_are_checked() {
        assert!(parse(&json!({"$unset": {"status.flags.active": null}})).is_err());
        assert!(parse(&json!({"components": {"vm": {"reference": {"key": "i-1"}}}})).is_err());
        assert!(
            parse(&json!({"components": {"web": {"components": {"vm": {
                "reference": {"mapping": "vms.vm-by-id", "key": "i-1"}
            }}}}}))
            .is_ok()
        );
        assert!(parse(&json!({"stauts": {}})).is_err());
    }

    #[test]
    fn an_application_publishes_the_signals_of_its_pins() {
        let pins = json!({
            "compute": {"ip": {"type": {"publish-signal": "string"}}, "cpus": {"type": {"publish-signal": "int"}}},
            "control": {"reboot": {"type": {"receive-command": {"arguments": {}, "results": {}}}}},
        });
        let shape = shape_of(&serde_json::from_value(pins).unwrap());
        let said = |wire: Value| match Update::parse(&wire, &shape) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        };
        let signals = |signals: Value| json!({"interfaces": {"compute": {"signals": signals}}});
        assert_eq!(said(signals(json!({"ip": "203.0.113.1", "cpus": 2}))), Vec::<String>::new());
        assert_eq!(said(json!({"$unset": {"interfaces.compute.signals.ip": null}})), Vec::<String>::new());
        let status = json!({"interfaces": {"control": {"status": {"flags": {"failed": true}}}}});
        assert_eq!(said(status), Vec::<String>::new());
        for (wire, expected) in [
            (
                signals(json!({"cpus": "two"})),
                "`interfaces.compute.signals.cpus`: expected a value of type `int`",
            ),
            (signals(json!({"pi": 1})), "`interfaces.compute.signals.pi`: no such path"),
            (
                json!({"$set": {"interfaces.control.signals.reboot": 1}}),
                "`interfaces.control.signals.reboot`: no",
            ),
            (
                json!({"$set": {"interfaces.computed.signals.ip": "x"}}),
                "`interfaces.computed.signals.ip`: no",
            ),
        ] {
            let found = said(wire);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_property_is_an_output_or_a_signal() {
        let document = json!({"interfaces": {
            "properties": {"signals": {"url": "u"}}, "compute": {"signals": {"ip": "i"}},
        }});
        let view = InstanceView::new(&document);
        assert_eq!(view.property("url"), Some(&json!("u")));
        assert_eq!(view.property("compute.ip"), Some(&json!("i")));
        assert_eq!(view.property("compute.cpus"), None);
        let signals: Vec<_> =
            view.signals().map(|(interface, pin, _)| format!("{interface}.{pin}")).collect();
        assert_eq!(signals, ["compute.ip", "properties.url"]);
    }

    #[test]
    fn status_words() {
        let status = |active, converging, failed| Status { active, converging, failed, message: None }.word();
        assert_eq!(status(true, false, false), "active");
        assert_eq!(status(true, false, true), "degraded");
        assert_eq!(status(false, true, true), "converging");
        assert_eq!(status(false, false, true), "failed");
        assert_eq!(status(false, false, false), "-");
    }
}
