//! Emits data as YAML that all readers interpret in the same way.
//!
//! The emitter of a YAML library quotes only the text that the parser of that library could misread. So such
//! an emitter writes `yes`, `22:22`, `010` and dates without quotes. PyYAML then reads them as booleans, numbers
//! and dates.
//! This emitter writes ambiguous text in double quotes, which YAML 1.1 and 1.2 both read as text.

mod notation;

use serde_json::{Number, Value};

pub use notation::quote;

/// The format of [`emit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitStyle {
    /// Block style in which each text has double quotes, except keys that are plain words. So no YAML reader takes a
    /// text for a boolean or a number.
    #[default]
    Block,
    /// The style `Block` with a leading line `---`.
    Document,
    /// Block style with few quotes, for people.
    ///
    /// - A text has no quotes if every reader reads it as the same text.
    /// - The texts `true` and `false`, and whole numbers such as `12`, have no quotes either. A reader must therefore
    ///   read them as texts, as [`Reading::Text`](crate::Reading::Text) does.
    /// - Other ambiguous texts, such as `yes` and `010`, have quotes.
    /// - A text of several lines is a literal block.
    Text,
}

/// A tree that [`emit`] writes. It is JSON data, or data in which mappings have an order and nodes have
/// comments.
pub trait Tree: Sized {
    /// Returns the content of this node.
    fn content(&self) -> Content<'_, Self>;

    /// Returns the comment of this node, without `#`. [`emit`] writes the comment at the end of the node's first line.
    ///
    /// If this node is a non-empty list or mapping, [`emit`] writes the comment only if the node is the value of a key.
    fn comment(&self) -> Option<&str> {
        None
    }
}

/// The content of a [`Tree`] node.
#[derive(Clone, Debug)]
pub enum Content<'t, T> {
    /// The node is null.
    Null,
    /// The node is a boolean.
    Bool(bool),
    /// The node is a number.
    Number(&'t Number),
    /// The node is a text.
    Text(&'t str),
    /// The node is a list.
    List(&'t [T]),
    /// A mapping, in the order of output.
    Map(Vec<(&'t str, &'t T)>),
}

impl Tree for Value {
    /// Returns the content. The keys of a map are sorted by their bytes.
    fn content(&self) -> Content<'_, Self> {
        match self {
            Self::Null => Content::Null,
            Self::Bool(value) => Content::Bool(*value),
            Self::Number(number) => Content::Number(number),
            Self::String(text) => Content::Text(text),
            Self::Array(items) => Content::List(items),
            Self::Object(map) => {
                let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
                entries.sort_by_key(|&(key, _)| key);
                Content::Map(entries)
            }
        }
    }
}

/// Writes data as YAML. Readers of YAML 1.1 (such as PyYAML) and readers of YAML 1.2 get the same data from the
/// written text.
///
/// Each entry has a line of its own, and nested entries are indented by two spaces. Empty collections are
/// written as `{}` and `[]`. The text ends with a line break. [`EmitStyle`] decides the notation of text. The
/// keys of JSON data are sorted, so equal data gives equal bytes.
///
/// ```
/// use serde_json::json;
/// use windlass_source::{EmitStyle, emit};
///
/// let data = json!({"ports": [8080, 1e10], "on": "yes", "image": {"tag": "1.10"}, "run": "a\nb\n"});
/// let expected = r#"image:
///   tag: "1.10"
/// "on": "yes"
/// ports:
///   - 8080
///   - 10000000000.0
/// run: "a\nb\n"
/// "#;
/// assert_eq!(emit(&data, EmitStyle::Block), expected);
///
/// let data = json!({"type": "resource::web::1.0", "labels": {}, "run": "a\nb\n", "version": "1.10"});
/// let expected = r#"labels: {}
/// run: |
///   a
///   b
/// type: resource::web::1.0
/// version: "1.10"
/// "#;
/// assert_eq!(emit(&data, EmitStyle::Text), expected);
/// ```
pub fn emit<T: Tree>(tree: &T, style: EmitStyle) -> String {
    let mut out = Out { text: String::new(), style };
    if style == EmitStyle::Document {
        out.text.push_str("---\n");
    }
    match tree.content() {
        Content::List(items) if !items.is_empty() => out.list(items, 0, false),
        Content::Map(entries) if !entries.is_empty() => out.map(&entries, 0, false),
        // The lines of a block scalar are indented, even if the scalar is the whole document.
        leaf => out.leaf(tree, &leaf, 1),
    }
    out.text
}

struct Out {
    text: String,
    style: EmitStyle,
}

/// Maximum length in bytes of a key that is written as `key: value`. A longer key has a line of its own, which
/// begins with `? `. YAML requires this notation for keys of more than 1024 characters.
const LONGEST_SIMPLE_KEY: usize = 1000;

impl Out {
    /// Writes the items of a list, each after a `- `. `depth` is the level of indentation.
    ///
    /// `inline` is true if the current line already ends with the `- ` of an outer list. The first item then follows on
    /// this line.
    fn list<T: Tree>(&mut self, items: &[T], depth: usize, mut inline: bool) {
        for item in items {
            self.indent(depth, &mut inline);
            self.text.push_str("- ");
            match item.content() {
                Content::List(items) if !items.is_empty() => self.list(items, depth + 1, true),
                Content::Map(entries) if !entries.is_empty() => self.map(&entries, depth + 1, true),
                leaf => self.leaf(item, &leaf, depth + 1),
            }
        }
    }

    /// Writes the entries of a mapping. `depth` is the level of indentation.
    ///
    /// `inline` is true if the current line already ends with the `- ` of a list. The first entry then follows on this
    /// line.
    fn map<T: Tree>(&mut self, entries: &[(&str, &T)], depth: usize, mut inline: bool) {
        for (key, value) in entries {
            self.indent(depth, &mut inline);
            self.key(key, depth);
            self.text.push(':');
            match value.content() {
                Content::List(items) if !items.is_empty() => {
                    self.end_line(*value);
                    self.list(items, depth + 1, false);
                }
                Content::Map(entries) if !entries.is_empty() => {
                    self.end_line(*value);
                    self.map(&entries, depth + 1, false);
                }
                leaf => {
                    self.text.push(' ');
                    self.leaf(*value, &leaf, depth + 1);
                }
            }
        }
    }

    fn key(&mut self, key: &str, depth: usize) {
        let start = self.text.len();
        let is_plain = match self.style {
            EmitStyle::Text => notation::is_plain(key),
            EmitStyle::Block | EmitStyle::Document => notation::is_safe(key),
        };
        if is_plain {
            self.text.push_str(key);
        } else {
            notation::string(&mut self.text, key);
        }
        if self.text.len() - start > LONGEST_SIMPLE_KEY {
            self.text.insert_str(start, "? ");
            self.text.push('\n');
            self.indent(depth, &mut false);
        }
    }

    /// Writes a scalar or an empty collection. If the scalar is written as a block, `depth` is the level of
    /// indentation of its lines.
    fn leaf<T: Tree>(&mut self, node: &T, content: &Content<'_, T>, depth: usize) {
        let for_people = self.style == EmitStyle::Text;
        match content {
            Content::Null => self.text.push_str("null"),
            Content::Bool(value) => self.text.push_str(if *value { "true" } else { "false" }),
            Content::Number(number) => notation::number(&mut self.text, number),
            Content::List(_) => self.text.push_str("[]"),
            Content::Map(_) => self.text.push_str("{}"),
            Content::Text(text) if for_people && notation::is_plain(text) => self.text.push_str(text),
            Content::Text(text) if for_people && notation::is_block(text) => {
                return self.block(node, text, depth);
            }
            Content::Text(text) => notation::string(&mut self.text, text),
        }
        self.end_line(node);
    }

    fn block<T: Tree>(&mut self, node: &T, text: &str, depth: usize) {
        self.text.push_str(if text.ends_with('\n') { "|" } else { "|-" });
        self.end_line(node);
        for line in text.lines() {
            if !line.is_empty() {
                self.indent(depth, &mut false);
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    /// Writes the comment of a node, if it has one, and ends the line.
    fn end_line<T: Tree>(&mut self, node: &T) {
        if let Some(comment) = node.comment() {
            self.text.push_str("  # ");
            // The comment must stay on one line, so line breaks and control characters are replaced.
            self.text.extend(comment.chars().map(|c| if notation::needs_escape(c) { ' ' } else { c }));
        }
        self.text.push('\n');
    }

    fn indent(&mut self, depth: usize, inline: &mut bool) {
        if !std::mem::replace(inline, false) {
            self.text.extend(std::iter::repeat_n("  ", depth));
        }
    }
}
