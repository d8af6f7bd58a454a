//! Parsers of the texts of pins, such as `configuration(string)` and `bind(vm#compute.ip)`, and of the sides
//! of bindings, such as `main#result`.
//!
//! Each parser reads the whole text. It reports the first mistake, with the byte range of the mistake.

use std::ops::Range;
use std::str::FromStr;

use indexmap::IndexMap;
use thiserror::Error;
use windlass_model::pins::{Name, PinType, Record, Signature, ValueType, is_name_char};

use crate::name::ComponentPath;

/// Maximum nesting depth of a value type.
pub const MAX_TYPE_DEPTH: usize = 32;

/// The error of a parser in this module: the first mistake in the text, and its place in the text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct GrammarError {
    /// The byte range of the mistake in the text. The range is empty if the text ends too early, as in `bind(vm#a.b`.
    pub range: Range<usize>,
    /// The kind of the mistake.
    pub problem: GrammarProblem,
}

/// The kind of a mistake that a parser in this module finds, such as an unknown word in place of a type.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GrammarProblem {
    /// Another token was expected.
    #[error("expected {expected} here, and found {found}")]
    Expected {
        /// The token that was expected.
        expected: &'static str,
        /// The token in the text, or `the end`.
        found: String,
    },
    /// The word before the first parenthesis is not a kind of pin.
    #[error("there is no pin of the kind `{0}`")]
    Kind(String),
    /// The word is not a type.
    #[error("there is no type `{0}`")]
    Type(String),
    /// A record contains two fields of the same name.
    #[error("`{0}` is declared twice")]
    Twice(Name),
    /// A type is nested deeper than [`MAX_TYPE_DEPTH`].
    #[error("the type is nested deeper than {MAX_TYPE_DEPTH} levels")]
    Depth,
}

/// The text after the name of a pin. If a component declares the pin, the text is the type of the pin, such as
/// `configuration(string)`. If a composition exposes pins of the components inside it, the text lists these pins,
/// as in `bind(vm#compute.ip)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinText {
    /// The type of a declared pin, such as `configuration(string)`.
    Declared(PinType),
    /// The exposed pins: the entries of `bind(…)`, each with its byte range in the text.
    Bind(Vec<(PinRef, Range<usize>)>),
}

/// The text in `bind(…)` for one pin of a component, such as `vm#compute.ip`, or for all pins of an interface,
/// such as `vm#compute.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinRef {
    /// Path of the component that has the pin. The path is relative to the composition that exposes the pin.
    pub component: ComponentPath,
    /// Name of the interface.
    pub interface: Name,
    /// Name of the pin; `None` for `*`.
    pub pin: Option<Name>,
}

impl std::fmt::Display for PinRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pin = self.pin.as_ref().map_or("*", Name::as_str);
        write!(f, "{}#{}.{pin}", self.component, self.interface)
    }
}

/// One side of a binding: a component, or one of its interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Path of the component in the composition that contains the binding. The path is relative to this composition.
    pub component: ComponentPath,
    /// Name of the interface; `None` for all interfaces.
    pub interface: Option<Name>,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.interface {
            Some(interface) => write!(f, "{}#{interface}", self.component),
            None => write!(f, "{}", self.component),
        }
    }
}

impl FromStr for PinText {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let mut parser = Parser::new(text);
        let pin = parser.pin()?;
        parser.end()?;
        Ok(pin)
    }
}

impl FromStr for Target {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let mut parser = Parser::new(text);
        let component = parser.path()?;
        let interface = if parser.take("#") { Some(parser.name("an interface")?.0) } else { None };
        parser.end()?;
        Ok(Self { component, interface })
    }
}

/// Parses a value type, such as `map<string, int>`.
///
/// # Errors
/// Returns the first mistake, with its place in the text.
pub fn value_type(text: &str) -> Result<ValueType, GrammarError> {
    let mut parser = Parser::new(text);
    let kind = parser.value_type(0)?;
    parser.end()?;
    Ok(kind)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let mut parser = Self { text, at: 0 };
        parser.blanks();
        parser
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Consumes a token, and the blanks after it. Returns false and consumes nothing if another token is
    /// next.
    fn take(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
            self.blanks();
        }
        is_next
    }

    /// Returns the byte range of the next token, for messages. The token is a word or a single character.
    fn next(&self) -> Range<usize> {
        let rest = self.rest();
        let word = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        self.at..self.at + length
    }

    fn expected(&self, expected: &'static str) -> GrammarError {
        let range = self.next();
        let found = match &self.text[range.clone()] {
            "" => "the end".to_owned(),
            token => format!("`{}`", token.chars().take(50).collect::<String>()),
        };
        GrammarError { range, problem: GrammarProblem::Expected { expected, found } }
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), GrammarError> {
        if self.take(token) { Ok(()) } else { Err(self.expected(expected)) }
    }

    fn end(&self) -> Result<(), GrammarError> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.expected("the end")) }
    }

    fn name(&mut self, expected: &'static str) -> Result<(Name, Range<usize>), GrammarError> {
        let range = self.next();
        let name = self.text[range.clone()].parse().map_err(|_| self.expected(expected))?;
        self.at = range.end;
        self.blanks();
        Ok((name, range))
    }

    fn pin(&mut self) -> Result<PinText, GrammarError> {
        let (word, range) = self.name("a kind of pin, such as `configuration(string)`,")?;
        let kind = word.as_str();
        if kind != "bind" && !PinType::KINDS.contains(&kind) {
            return Err(GrammarError { range, problem: GrammarProblem::Kind(kind.to_owned()) });
        }
        self.expect("(", "`(`")?;
        let pin = match kind {
            "bind" => PinText::Bind(self.references()?),
            "configuration" => PinText::Declared(PinType::Configuration(self.value_type(0)?)),
            "publish-signal" => PinText::Declared(PinType::PublishSignal(self.value_type(0)?)),
            "consume-signal" => PinText::Declared(PinType::ConsumeSignal(self.value_type(0)?)),
            "receive-command" => PinText::Declared(PinType::ReceiveCommand(self.signature()?)),
            _ => PinText::Declared(PinType::SendCommand(self.signature()?)),
        };
        self.expect(")", "`)`")?;
        Ok(pin)
    }

    fn references(&mut self) -> Result<Vec<(PinRef, Range<usize>)>, GrammarError> {
        let mut found = Vec::new();
        loop {
            let start = self.at;
            let component = self.path()?;
            self.expect("#", "`#` and an interface")?;
            let (interface, _) = self.name("an interface")?;
            self.expect(".", "`.` and a pin")?;
            let pin = if self.take("*") { None } else { Some(self.name("a pin or `*`")?.0) };
            let end = start + self.text[start..self.at].trim_end().len();
            found.push((PinRef { component, interface, pin }, start..end));
            if !self.take(",") {
                return Ok(found);
            }
        }
    }

    fn path(&mut self) -> Result<ComponentPath, GrammarError> {
        let mut path = vec![self.name("a component")?.0];
        while self.take(".") {
            path.push(self.name("a component")?.0);
        }
        Ok(ComponentPath(path))
    }

    fn signature(&mut self) -> Result<Signature, GrammarError> {
        let arguments = self.record(0, ")")?;
        if !self.take("=>") {
            return Ok(Signature { arguments, ..Signature::default() });
        }
        let results = self.record(0, ")")?;
        if !self.take("=>") {
            return Ok(Signature { arguments, progress: None, results });
        }
        Ok(Signature { arguments, progress: Some(results), results: self.record(0, ")")? })
    }

    /// Parses the fields of a record. The record ends before the token `close` or `=>`. The method does not consume
    /// this token.
    fn record(&mut self, depth: usize, close: &str) -> Result<Record, GrammarError> {
        let mut fields = IndexMap::new();
        if self.rest().starts_with(close) || self.rest().starts_with("=>") {
            return Ok(Record(fields));
        }
        loop {
            let kind = self.value_type(depth)?;
            let (name, range) = self.name("a name")?;
            if fields.insert(name.clone(), kind).is_some() {
                return Err(GrammarError { range, problem: GrammarProblem::Twice(name) });
            }
            if !self.take(",") {
                return Ok(Record(fields));
            }
        }
    }

    fn value_type(&mut self, depth: usize) -> Result<ValueType, GrammarError> {
        let (word, range) = self.name("a type")?;
        if depth == MAX_TYPE_DEPTH {
            return Err(GrammarError { range, problem: GrammarProblem::Depth });
        }
        if let Some(simple) = ValueType::from_word(word.as_str()) {
            return Ok(simple);
        }
        if !["list", "map", "record"].contains(&word.as_str()) {
            return Err(GrammarError { range, problem: GrammarProblem::Type(word.to_string()) });
        }
        self.expect("<", "`<`")?;
        let found = match word.as_str() {
            "list" => ValueType::List(Box::new(self.value_type(depth + 1)?)),
            "map" => {
                let first = Box::new(self.value_type(depth + 1)?);
                if self.take(",") {
                    ValueType::Map(first, Box::new(self.value_type(depth + 1)?))
                } else {
                    ValueType::Map(Box::new(ValueType::String), first)
                }
            }
            _ => ValueType::Record(self.record(depth + 1, ">")?),
        };
        self.expect(">", "`>`")?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("configuration(string)", "configuration(string)")]
    #[case::spaces(" publish-signal ( map < string , object > ) ", "publish-signal(map<string, object>)")]
    #[case::one_argument_map("consume-signal(map<object>)", "consume-signal(map<string, object>)")]
    #[case::nested(
        "configuration(list<map<string,list<int>>>)",
        "configuration(list<map<string, list<int>>>)"
    )]
    #[case::record("configuration(record<int a, record<> b>)", "configuration(record<int a, record<> b>)")]
    #[case::no_arguments("receive-command()", "receive-command()")]
    #[case::results_only("receive-command(=> string own)", "receive-command(=> string own)")]
    #[case::arguments(
        "send-command(string filename, bytes payload)",
        "send-command(string filename, bytes payload)"
    )]
    #[case::results("receive-command(string id=>object key )", "receive-command(string id => object key)")]
    #[case::three(
        "receive-command(object request => object status => object status)",
        "receive-command(object request => object status => object status)"
    )]
    #[case::empty_sections("receive-command(=>=>)", "receive-command(=> =>)")]
    fn pin_types_print_as_they_read(#[case] text: &str, #[case] printed: &str) {
        let read = |text: &str| match text.parse::<PinText>() {
            Ok(PinText::Declared(kind)) => kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(read(text).to_string(), printed);
        assert_eq!(read(printed), read(text));
    }

    #[rstest]
    #[case::kind("configration(string)", 0..12, "there is no pin of the kind `configration`")]
    #[case::kind_of_type("string", 0..6, "there is no pin of the kind `string`")]
    #[case::type_name("configuration(str)", 14..17, "there is no type `str`")]
    #[case::no_type("configuration()", 14..15, "expected a type here, and found `)`")]
    #[case::open("configuration(list<string)", 25..26, "expected `>` here, and found `)`")]
    #[case::end("bind(vm#a.b", 11..11, "expected `)` here, and found the end")]
    #[case::no_interface("bind(vm.a.b)", 11..12, "expected `#` and an interface here, and found `)`")]
    #[case::twice("receive-command(int a, string a)", 30..31, "`a` is declared twice")]
    #[case::four_sections("receive-command(=>=>=>)", 20..21, "expected `)` here, and found `=`")]
    #[case::more("receive-command() x", 18..19, "expected the end here, and found `x`")]
    #[case::empty("", 0..0, "expected a kind of pin, such as `configuration(string)`, here, and found the end")]
    fn mistakes_have_a_place(#[case] text: &str, #[case] range: Range<usize>, #[case] message: &str) {
        let error = text.parse::<PinText>().unwrap_err();
        assert_eq!((error.range.clone(), error.to_string().as_str()), (range, message));
    }

    #[test]
    fn a_type_has_limited_depth() {
        let nested =
            |depth: usize| format!("configuration({}int{})", "list<".repeat(depth), ">".repeat(depth));
        assert!(nested(MAX_TYPE_DEPTH - 1).parse::<PinText>().is_ok());
        let error = nested(1_000_000).parse::<PinText>().unwrap_err();
        assert_eq!(error.problem, GrammarProblem::Depth);
    }

    #[test]
    fn binds_have_the_places_of_their_pins() {
        let Ok(PinText::Bind(pins)) = "bind( a#i.p , main.b#j.* )".parse() else { panic!("it is a bind") };
        let shown: Vec<String> =
            pins.iter().map(|(pin, range)| format!("{pin} {}..{}", range.start, range.end)).collect();
        assert_eq!(shown, ["a#i.p 6..11", "main.b#j.* 14..24"]);
    }

    #[test]
    fn targets_name_a_component_or_an_interface() {
        for text in ["vm", "main.workflow", "vm#compute"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert!("vm#compute.ip".parse::<Target>().is_err());
    }

    #[test]
    fn the_order_of_arguments_has_no_meaning() {
        let signature = |text: &str| match text.parse() {
            Ok(PinText::Declared(kind)) => kind,
            other => panic!("{other:?}"),
        };
        let one: PinType = signature("receive-command(int a, string b)");
        assert_eq!(one.joins(&signature("send-command(string b, int a)")), Some(true));
        assert_eq!(one.joins(&signature("send-command(string b)")), Some(false));
        assert_eq!(one.joins(&signature("receive-command(int a, string b)")), None);
    }
}
