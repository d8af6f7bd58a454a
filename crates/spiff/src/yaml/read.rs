//! Converts YAML text to nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use windlass_source::{
    Diagnostic, Diagnostics, DuplicateKeys, Key, Kind, LoadOptions, MergeKeys, Node as Tree, Place, Scalar,
    Source, SpiffScalar, Style, load,
};

use crate::value::{Map, Node, Value, number};

/// The reason why a text is no valid document.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not valid YAML.
    #[error("yaml: {}", .0.message())]
    Syntax(Box<Problem>),
    /// A key of a map has a type other than text, for example boolean.
    #[error("map key must be a string: {key}")]
    Key {
        /// The key, in the form in which the message of this error shows the key. An example is `true`.
        key: String,
        /// Place of the key.
        place: Place,
    },
    /// The text contains only comments.
    #[error("Expected document start at line 1, column 0")]
    OnlyComments,
    /// The text contains more than one document, but only one is expected.
    #[error("multi document not possible")]
    MultipleDocuments,
    /// A tab indents a line that is not inside of brackets.
    #[error("yaml: a tab can't indent at {place}")]
    Tab {
        /// Place of the character after the tab.
        place: Place,
    },
    /// A character beyond the Basic Multilingual Plane is written as two `\u` escapes.
    #[error("yaml: two escapes for one character at {place}: write the character, or `\\U` and eight digits")]
    Surrogates {
        /// Place of the text with the escapes.
        place: Place,
    },
    /// A `!!binary` value is not valid base64.
    #[error("{place}: invalid base64 in a binary value")]
    Binary {
        /// Place of the value.
        place: Place,
    },
}

/// All syntax errors of a text.
#[derive(Clone, Debug)]
pub struct Problem(Diagnostics);

impl Problem {
    /// Returns the errors, with their places.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.0
    }

    fn message(&self) -> String {
        self.0
            .iter()
            .find(|d| d.severity == windlass_source::Severity::Error)
            .map_or_else(String::new, one_line)
    }
}

/// Formats a diagnostic in one line, with line and column.
fn one_line(diagnostic: &Diagnostic) -> String {
    match diagnostic.place() {
        Some(place) => {
            format!("{} at line {}, column {}", diagnostic.message, place.start().line, place.start().column)
        }
        None => diagnostic.message.clone(),
    }
}

/// Reads a text that contains one document. If the text is blank, the document is null.
///
/// ```
/// use windlass_source::Source;
/// use windlass_spiff::yaml::{read_document, to_yaml};
///
/// let node = read_document(&Source::new("a.yaml", "b: 010\na: [on, '1']\n"))?;
/// assert_eq!(to_yaml(&node), "a:\n- true\n- \"1\"\nb: 8\n");
/// # Ok::<(), windlass_spiff::yaml::ReadError>(())
/// ```
///
/// # Errors
/// See [`ReadError`].
pub fn read_document(source: &Arc<Source>) -> Result<Node, ReadError> {
    let mut documents = read_documents(source)?;
    match documents.len() {
        0 | 1 => Ok(documents.pop().unwrap_or_default()),
        _ => Err(ReadError::MultipleDocuments),
    }
}

/// Reads all documents of a text. The result contains at least one document.
///
/// # Errors
/// See [`ReadError`].
pub fn read_documents(source: &Arc<Source>) -> Result<Vec<Node>, ReadError> {
    let loaded = load(source, &load_options());
    if loaded.diagnostics.has_errors() {
        return Err(ReadError::Syntax(Box::new(Problem(loaded.diagnostics))));
    }
    let name: Arc<str> = source.name().into();
    let reader = Reader { source, name };
    if loaded.documents.is_empty() {
        let blank = source.text().trim_start_matches('\u{feff}').trim().is_empty();
        return if blank { Ok(vec![reader.node(Value::Null)]) } else { Err(ReadError::OnlyComments) };
    }
    loaded.documents.into_iter().map(|tree| reader.read(tree, false)).collect()
}

/// Returns the options by which [`windlass_source`] parses a document.
pub(crate) fn load_options() -> LoadOptions {
    LoadOptions {
        duplicate_keys: DuplicateKeys::LastWins,
        merge_keys: MergeKeys::Keep,
        ..LoadOptions::default()
    }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    name: Arc<str>,
}

impl Reader<'_> {
    fn read(&self, tree: Tree, in_flow: bool) -> Result<Node, ReadError> {
        let span = tree.span();
        let flow = in_flow || self.source.slice(span).starts_with(['{', '[']) && tree.as_scalar().is_none();
        if !in_flow {
            self.refuse_tab(&tree)?;
        }
        self.refuse_surrogates(&tree)?;
        let tag = tree.tag().map(str::to_owned);
        let value = match tree.into_kind() {
            Kind::Scalar(scalar) => match SpiffScalar::read(&scalar, tag.as_deref()) {
                SpiffScalar::Binary(text) => {
                    let text: String = text.split_ascii_whitespace().collect();
                    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                    Value::Bytes(
                        bytes.map_err(|_| ReadError::Binary { place: self.source.place(span) })?.into(),
                    )
                }
                scalar => plain(scalar),
            },
            Kind::Sequence(items) => {
                let items: Result<Vec<Node>, _> =
                    items.into_vec().into_iter().map(|item| self.read(item, flow)).collect();
                Value::from(items?)
            }
            Kind::Mapping(mapping) => {
                let mut map: Map = BTreeMap::new();
                for entry in mapping.into_entries() {
                    let key = self.key(&entry.key)?;
                    map.insert(key, self.read(entry.value, flow)?);
                }
                Value::from(map)
            }
        };
        Ok(self.node(value))
    }

    /// Returns an error if a tab indents the node. The method is called only for nodes outside of brackets. The Go
    /// program spiff++ refuses the same tabs, but `windlass_source` accepts them.
    fn refuse_tab(&self, tree: &Tree) -> Result<(), ReadError> {
        if matches!(tree.as_scalar().map(Scalar::style), Some(Style::Literal | Style::Folded))
            || tree.span().is_empty()
        {
            return Ok(());
        }
        let start = tree.span().start as usize;
        let line = self.source.text()[..start].rfind('\n').map_or(0, |at| at + 1);
        let before = &self.source.text()[line..start];
        let indentation = before.len() - before.trim_start_matches([' ', '\t']).len();
        if before[..indentation].contains('\t') {
            return Err(ReadError::Tab { place: self.source.place(tree.span()) });
        }
        Ok(())
    }

    /// Refuses a character that is written as two `\u` escapes (a surrogate pair), which the Go program
    /// spiff++ does not support.
    fn refuse_surrogates(&self, tree: &Tree) -> Result<(), ReadError> {
        let Some(scalar) = tree.as_scalar().filter(|scalar| scalar.style() == Style::DoubleQuoted) else {
            return Ok(());
        };
        let pair = |text: &str| {
            text.match_indices("\\u").any(|(at, _)| {
                matches!(
                    text.as_bytes().get(at + 2..at + 4),
                    Some([b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])
                )
            })
        };
        if scalar.text().chars().any(|c| c > '\u{ffff}') && pair(self.source.slice(tree.span())) {
            return Err(ReadError::Surrogates { place: self.source.place(tree.span()) });
        }
        Ok(())
    }

    fn node(&self, value: Value) -> Node {
        Node::new(value).with_source(Arc::clone(&self.name))
    }

    fn key(&self, key: &Key) -> Result<Arc<str>, ReadError> {
        let shown = match SpiffScalar::read(&Scalar::new(key.text(), key.style()), None) {
            SpiffScalar::Text(text) => return Ok(text.into()),
            SpiffScalar::Null => "<nil>".to_owned(),
            SpiffScalar::Bool(value) => value.to_string(),
            SpiffScalar::Int(value) => value.to_string(),
            SpiffScalar::Float(value) => number::float_text(value),
            SpiffScalar::Binary(text) => text,
        };
        Err(ReadError::Key { key: shown, place: self.source.place(key.span()) })
    }
}

fn plain(scalar: SpiffScalar) -> Value {
    match scalar {
        SpiffScalar::Null => Value::Null,
        SpiffScalar::Bool(value) => Value::Bool(value),
        SpiffScalar::Int(value) => Value::Int(value),
        SpiffScalar::Float(value) => Value::Float(value),
        SpiffScalar::Text(text) | SpiffScalar::Binary(text) => Value::from(text),
    }
}
