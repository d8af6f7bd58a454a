//! Types of pins and of values.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};

use super::name::Name;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ValueType {
    /// The type `string`.
    String,
    /// `int`: a whole number of 64 bits.
    Int,
    /// The type `double`.
    Double,
    /// The type `bool`.
    Bool,
    /// The type `object`: any value.
    Object,
    /// `bytes`: text in base64.
    Bytes,
    /// `unit`: present or absent, without a value.
    Unit,
    /// The type `list<T>`.
    List(Box<ValueType>),
    /// The type `map<K, V>`. The short form `map<V>` means `map<string, V>`.
    Map(Box<ValueType>, Box<ValueType>),
    /// The type `record<T name, …>`.
    Record(Record),
}

/// The names and types of the fields of a record. Two records with the same fields in a different order are
/// equal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Record(pub IndexMap<Name, ValueType>);

/// Writes the fields sorted by name, so equal records have equal texts. The digest of a package depends on the text.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.iter().collect::<BTreeMap<_, _>>().serialize(serializer)
    }
}

/// The names and types of the values that a command takes and returns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Signature {
    /// The name and the type of each argument.
    pub arguments: Record,
    /// The name and the type of each value in an intermediate result. A command may report intermediate results while
    /// it runs. None if the command declares no intermediate results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Record>,
    /// The name and the type of each value in the final result, which ends the command.
    pub results: Record,
}

/// The type of a pin: its direction and its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PinType {
    /// A value that is given at launch or by the manifest.
    Configuration(ValueType),
    /// A value that the component publishes.
    PublishSignal(ValueType),
    /// A value that the component reads from another component.
    ConsumeSignal(ValueType),
    /// A command that the component executes.
    ReceiveCommand(Signature),
    /// A command that the component calls on another component.
    SendCommand(Signature),
}

impl PinType {
    /// The words of the five kinds of pins.
    pub const KINDS: [&str; 5] =
        ["configuration", "publish-signal", "consume-signal", "receive-command", "send-command"];

    /// Returns the word for the kind of the pin, such as `publish-signal`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configuration(_) => "configuration",
            Self::PublishSignal(_) => "publish-signal",
            Self::ConsumeSignal(_) => "consume-signal",
            Self::ReceiveCommand(_) => "receive-command",
            Self::SendCommand(_) => "send-command",
        }
    }

    /// Returns the type of a configuration pin's value; none for pins of other kinds.
    pub fn as_configuration(&self) -> Option<&ValueType> {
        match self {
            Self::Configuration(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the signature of a command that the component executes or calls; none for pins of other kinds.
    pub fn as_command(&self) -> Option<&Signature> {
        match self {
            Self::ReceiveCommand(signature) | Self::SendCommand(signature) => Some(signature),
            _ => None,
        }
    }

    /// Tells whether the types of two connected pins, `self` and `other`, are equal. Returns `None` if the kinds of
    /// the pins do not fit.
    ///
    /// The kinds fit if one pin publishes a signal, and the other pin consumes a signal. They also fit if one pin
    /// sends a command, and the other pin receives a command.
    pub fn joins(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::PublishSignal(one), Self::ConsumeSignal(other))
            | (Self::ConsumeSignal(one), Self::PublishSignal(other)) => Some(one == other),
            (Self::ReceiveCommand(one), Self::SendCommand(other))
            | (Self::SendCommand(one), Self::ReceiveCommand(other)) => Some(one == other),
            _ => None,
        }
    }
}

impl ValueType {
    /// The names of the types without parameters. A type with parameters is, for example, `list<T>`.
    pub const WORDS: [&str; 7] = ["string", "int", "double", "bool", "object", "bytes", "unit"];

    /// Returns the type `map<string, string>`, which some built-in pins have. For example, the pin `factory.instances`
    /// of a factory has this type. A key is the natural id of an instance (its id outside of windlass, such as
    /// `i-123`). The value is the name of the application that manages the instance.
    pub fn map_of_strings() -> Self {
        Self::Map(Box::new(Self::String), Box::new(Self::String))
    }

    /// Returns the type with the name `word`, for example `int`. Returns `None` if [`WORDS`](Self::WORDS) does
    /// not contain `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "string" => Self::String,
            "int" => Self::Int,
            "double" => Self::Double,
            "bool" => Self::Bool,
            "object" => Self::Object,
            "bytes" => Self::Bytes,
            "unit" => Self::Unit,
            _ => return None,
        })
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String => f.write_str("string"),
            Self::Int => f.write_str("int"),
            Self::Double => f.write_str("double"),
            Self::Bool => f.write_str("bool"),
            Self::Object => f.write_str("object"),
            Self::Bytes => f.write_str("bytes"),
            Self::Unit => f.write_str("unit"),
            Self::List(item) => write!(f, "list<{item}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Self::Record(record) => write!(f, "record<{record}>"),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, kind)) in self.0.iter().enumerate() {
            write!(f, "{}{kind} {name}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments.to_string();
        f.write_str(&arguments)?;
        let sections = self
            .progress
            .iter()
            .chain((self.progress.is_some() || !self.results.0.is_empty()).then_some(&self.results));
        for (at, section) in sections.enumerate() {
            let space = if at == 0 && arguments.is_empty() { "" } else { " " };
            write!(f, "{space}=>")?;
            if !section.0.is_empty() {
                write!(f, " {section}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for PinType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(value) | Self::PublishSignal(value) | Self::ConsumeSignal(value) => {
                write!(f, "{}({value})", self.kind())
            }
            Self::ReceiveCommand(signature) | Self::SendCommand(signature) => {
                write!(f, "{}({signature})", self.kind())
            }
        }
    }
}
