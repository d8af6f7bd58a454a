//! Writes nodes as YAML, byte for byte as the Go program spiff++ does.
//!
//! The layout is that of libyaml. Each level is indented by two columns, but a list is not indented below its
//! key. Lines are folded at spaces after column 80. The Go program also has rules of its own for quotes, and
//! escapes all non-ASCII characters. No available emitter combines these rules, so this module contains its
//! own emitter.

use base64::Engine as _;
use windlass_source::SpiffScalar;

use crate::value::{Node, Value, number};

/// Column after which lines are folded.
const WIDTH: usize = 80;
/// Maximum length in bytes of a key that is written without `? `.
const SIMPLE_KEY: usize = 128;

/// Returns the value of a node as YAML, with a line break at the end.
///
/// ```
/// use windlass_spiff::value::{Node, Value};
/// use windlass_spiff::yaml::to_yaml;
///
/// let value = Value::map([("list", Value::list(["yes".into(), "Gruß".into()])), ("text", "a\nb".into())]);
/// assert_eq!(to_yaml(&Node::new(value)), "list:\n- \"yes\"\n- \"Gru\\xDF\"\ntext: |-\n  a\n  b\n");
/// ```
pub fn to_yaml(node: &Node) -> String {
    value_to_yaml(node.value())
}

/// Returns a value as YAML, with a line break at the end.
pub fn value_to_yaml(value: &Value) -> String {
    let mut writer =
        Writer { out: String::new(), column: 0, indent: None, after_blank: true, at_indent: true };
    writer.value(value, Context::Root);
    writer.indent = None;
    writer.new_line();
    writer.out
}

/// The role of a value in the document: the root, an entry of a list, the key of a field, or the value of a field. A
/// key after `? ` counts as the value of a field.
#[derive(Clone, Copy, PartialEq)]
enum Context {
    Root,
    Item,
    Key,
    Field,
}

struct Writer {
    out: String,
    column: usize,
    indent: Option<usize>,
    /// Whether the current line is empty or contains only indentation. If not, the writer puts a space before the next
    /// value.
    after_blank: bool,
    /// Whether the current line contains only indentation and signs such as `-`.
    at_indent: bool,
}

impl Writer {
    fn value(&mut self, value: &Value, context: Context) {
        match value {
            Value::List(items) if !items.is_empty() => self.list(items, context),
            Value::Map(map) if !map.is_empty() => self.map(map),
            Value::List(_) => self.bare("[]"),
            Value::Map(_) => self.bare("{}"),
            Value::Template(template) => self.value(template.original().value(), context),
            Value::Undefined | Value::Null => self.bare("null"),
            Value::Bool(value) => self.bare(if *value { "true" } else { "false" }),
            Value::Int(value) => self.bare(&value.to_string()),
            Value::Float(value) => self.bare(&float(*value)),
            Value::String(text) => self.text(text, context),
            Value::Bytes(bytes) => {
                let text = base64::engine::general_purpose::STANDARD.encode(bytes);
                self.bare(&format!("!!binary {text}"));
            }
            Value::Lambda(lambda) => self.text(&format!("(( {} ))", lambda.source()), context),
            Value::Expression(expression) => self.text(&format!("(( {} ))", expression.text()), context),
        }
    }

    fn list(&mut self, items: &[Node], context: Context) {
        let outer = self.indent;
        // A list below a key is not indented.
        if context != Context::Field || self.at_indent {
            self.deeper();
        }
        for item in items {
            self.new_line();
            self.indicator("-", true);
            self.value(item, Context::Item);
        }
        self.indent = outer;
    }

    fn map(&mut self, map: &crate::value::Map) {
        let outer = self.indent;
        self.deeper();
        for (key, value) in map {
            self.new_line();
            if simple(key) {
                self.text(key, Context::Key);
                self.put(':');
                self.after_blank = false;
                self.at_indent = false;
            } else {
                self.indicator("?", true);
                self.text(key, Context::Field);
                self.new_line();
                self.indicator(":", true);
            }
            self.value(value, Context::Field);
        }
        self.indent = outer;
    }

    fn deeper(&mut self) {
        self.indent = Some(self.indent.map_or(0, |indent| indent + 2));
    }

    /// Writes a scalar without quotes.
    fn bare(&mut self, text: &str) {
        self.separate();
        self.write(text);
        self.at_indent = false;
        self.after_blank = false;
    }

    fn text(&mut self, text: &str, context: Context) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(2, |indent| indent + 2));
        let traits = Traits::of(text);
        let key = context == Context::Key;
        match notation(text, traits, key) {
            Notation::Plain => self.plain(text, !key),
            Notation::Single => self.single(text, !key),
            Notation::Double => self.double(text, !key),
            Notation::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, fold: bool) {
        self.separate();
        self.after_blank = false;
        self.at_indent = false;
        let mut blank_before = false;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let blank = character == ' ';
            if blank && fold && !blank_before && self.column > WIDTH && characters.peek() != Some(&' ') {
                self.new_line();
            } else {
                self.put(character);
            }
            if !blank {
                self.at_indent = false;
            }
            blank_before = blank;
        }
        self.after_blank = false;
        self.at_indent = false;
    }

    fn single(&mut self, text: &str, fold: bool) {
        self.separate();
        self.put('\'');
        let last = text.chars().count().saturating_sub(1);
        let mut blank_before = false;
        let mut characters = text.chars().enumerate().peekable();
        while let Some((at, character)) = characters.next() {
            let blank = character == ' ';
            let next_blank = characters.peek().is_some_and(|(_, next)| *next == ' ');
            if blank && fold && !blank_before && self.column > WIDTH && at != 0 && at != last && !next_blank {
                self.new_line();
            } else {
                if character == '\'' {
                    self.put('\'');
                }
                self.put(character);
            }
            blank_before = blank;
        }
        self.put('\'');
        self.after_blank = false;
        self.at_indent = false;
    }

    fn double(&mut self, text: &str, fold: bool) {
        self.separate();
        self.put('"');
        let last = text.chars().count().saturating_sub(1);
        let mut blank_before = false;
        let mut characters = text.chars().enumerate().peekable();
        while let Some((at, character)) = characters.next() {
            if character == ' ' {
                if fold && !blank_before && self.column > WIDTH && at != 0 && at != last {
                    self.new_line();
                    if characters.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                blank_before = true;
                continue;
            }
            blank_before = false;
            match escape(character) {
                Some(escape) => self.write(&escape),
                None => self.put(character),
            }
        }
        self.put('"');
        self.after_blank = false;
        self.at_indent = false;
    }

    fn literal(&mut self, text: &str) {
        self.separate();
        self.put('|');
        if text.starts_with([' ', '\n']) {
            self.put('2');
        }
        self.put(if text.ends_with('\n') { '+' } else { '-' });
        self.line_break();
        self.after_blank = true;
        self.at_indent = true;
        let mut fresh = true;
        for character in text.chars() {
            if character == '\n' {
                self.line_break();
                self.at_indent = true;
                fresh = true;
            } else {
                if fresh {
                    self.new_line();
                }
                self.put(character);
                self.at_indent = false;
                fresh = false;
            }
        }
    }

    fn indicator(&mut self, indicator: &str, at_indent: bool) {
        self.separate();
        self.write(indicator);
        self.after_blank = false;
        self.at_indent = self.at_indent && at_indent;
    }

    /// Writes a space, if the last output and the next value must be separated.
    fn separate(&mut self) {
        if !self.after_blank {
            self.put(' ');
        }
    }

    /// Moves to a new line, and writes the indentation. If the current line is still empty, the method stays
    /// on it.
    fn new_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.at_indent || self.column > indent || (self.column == indent && !self.after_blank) {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.after_blank = true;
        self.at_indent = true;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }
}

/// The notation of a text: without quotes, in single quotes, in double quotes, or as a block of lines after `|`.
#[derive(Clone, Copy, PartialEq)]
enum Notation {
    Plain,
    Single,
    Double,
    Literal,
}

fn notation(text: &str, traits: Traits, key: bool) -> Notation {
    // Without quotes, the text would be read as another value, such as a date.
    if !matches!(SpiffScalar::plain(text), SpiffScalar::Text(read) if read == text) {
        return Notation::Double;
    }
    if traits.lines {
        return if traits.block && !key { Notation::Literal } else { Notation::Double };
    }
    match traits {
        Traits { plain: true, .. } => Notation::Plain,
        Traits { single: true, .. } => Notation::Single,
        _ => Notation::Double,
    }
}

/// Tells whether a key is written without `? `.
fn simple(key: &str) -> bool {
    key.len() <= SIMPLE_KEY && !key.contains('\n')
}

/// Facts about a text: whether it has several lines, and in which notations it can be written.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts about one text")]
struct Traits {
    lines: bool,
    plain: bool,
    single: bool,
    block: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        let indicators = text.starts_with("---") || text.starts_with("...") || has_indicators(text);
        let lines = text.contains('\n');
        let edge = |c: char| matches!(c, ' ' | '\n');
        let at_edge = text.starts_with(edge) || text.ends_with(edge);
        let special = text.chars().any(|c| escaped(c) && c != '\n' && c != '"' && c != '\\');
        let blank_break = text.contains(" \n");
        let break_blank = text.contains("\n ");
        let hard = special || blank_break;
        Self {
            lines,
            plain: !(hard || indicators || at_edge || lines || break_blank),
            single: !(hard || break_blank),
            block: !(hard || text.ends_with(' ')),
        }
    }
}

/// Tells whether a text contains characters that have a meaning in YAML outside of quotes.
fn has_indicators(text: &str) -> bool {
    let blank = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let found = match (before, character) {
            (
                None,
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                | '`',
            ) => true,
            (None, '?' | '-') | (_, ':') => blank(next),
            (Some(before), '#') => blank(Some(before)),
            _ => false,
        };
        if found {
            return true;
        }
        before = Some(character);
    }
    false
}

/// Tells whether a character must be escaped in double quotes.
fn escaped(character: char) -> bool {
    !matches!(character, ' '..='~') || matches!(character, '"' | '\\')
}

fn escape(character: char) -> Option<String> {
    if !escaped(character) {
        return None;
    }
    let code = u32::from(character);
    Some(match character {
        '\0' => "\\0".into(),
        '\u{7}' => "\\a".into(),
        '\u{8}' => "\\b".into(),
        '\t' => "\\t".into(),
        '\n' => "\\n".into(),
        '\u{b}' => "\\v".into(),
        '\u{c}' => "\\f".into(),
        '\r' => "\\r".into(),
        '\u{1b}' => "\\e".into(),
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\u{85}' => "\\N".into(),
        '\u{a0}' => "\\_".into(),
        '\u{2028}' => "\\L".into(),
        '\u{2029}' => "\\P".into(),
        _ if code <= 0xff => format!("\\x{code:02X}"),
        _ if code <= 0xffff => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    })
}

fn float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+.inf" } else { "-.inf" }.into();
    }
    number::float_text(value)
}
