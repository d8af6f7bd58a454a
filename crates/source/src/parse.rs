//! Converts a [`Node`] to a typed document, and finds the [`Node`] at a path.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::misfit::{Misfit, Unknown};
use crate::reader::Reader;
use crate::{Diagnostic, Fix, Key, Kind, Node, Reading, Source, codes, listed, suggest, suggest_unique};

/// The result of [`Node::locate`]: the node at the end of a JSON pointer such as `/ports/0/name`.
#[derive(Clone, Copy, Debug)]
pub struct Located<'n> {
    /// The node to which the pointer leads. If this node does not exist, the last existing node on the way to it.
    pub node: &'n Node,
    /// Key of the node; none for the root and for an item of a sequence.
    pub key: Option<&'n Key>,
    /// Whether all nodes of the pointer exist.
    pub complete: bool,
}

impl Node {
    /// Finds the node at the end of a JSON pointer (`/composition/web/quantity`, `/ports/0`). If this node does not
    /// exist, the result contains the last existing node on the way to it.
    ///
    /// ```
    /// use windlass_source::{LoadOptions, Source, load_one};
    ///
    /// let source = Source::new("a.yaml", "ports:\n  - name: http\n");
    /// let root = load_one(&source, &LoadOptions::default()).root.unwrap();
    /// let found = root.locate("/ports/0/name");
    /// assert!(found.complete);
    /// assert_eq!(source.place(found.node.span()).to_string(), "a.yaml:2:11");
    /// ```
    pub fn locate(&self, pointer: &str) -> Located<'_> {
        let mut found = Located { node: self, key: None, complete: true };
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            if !found.step(&step) {
                break;
            }
        }
        found
    }

    /// Returns the node of a JSON pointer, if it exists.
    pub fn at_pointer(&self, pointer: &str) -> Option<&Node> {
        Some(self.locate(pointer)).filter(|found| found.complete).map(|found| found.node)
    }

    /// Deserialises the node as a typed document.
    ///
    /// # Errors
    /// One diagnostic. Either it has the place of the value that doesn't match its type
    /// ([`codes::WRONG_TYPE`]). Or it has the place of an unknown key, and names the nearest known key
    /// ([`codes::UNKNOWN_KEY`]).
    pub fn parse<T: DeserializeOwned>(
        &self,
        source: &Arc<Source>,
        reading: Reading,
    ) -> Result<T, Box<Diagnostic>> {
        serde_path_to_error::deserialize(Reader { node: self, reading })
            .map_err(|error| Box::new(self.misfit(source, &error)))
    }

    fn misfit(&self, source: &Arc<Source>, error: &serde_path_to_error::Error<Misfit>) -> Diagnostic {
        let mut found = Located { node: self, key: None, complete: true };
        for segment in error.path() {
            let stepped = match segment {
                serde_path_to_error::Segment::Seq { index } => found.step(&index.to_string()),
                serde_path_to_error::Segment::Map { key } => found.step(key),
                _ => true,
            };
            if !stepped {
                break;
            }
        }
        let Misfit { message, unknown } = error.inner();
        match unknown {
            Some(unknown) => unknown_name(source, found, unknown, message),
            None => Diagnostic::error(codes::WRONG_TYPE, message).at(source.place(found.node.span())),
        }
    }
}

fn unknown_name(source: &Arc<Source>, found: Located<'_>, unknown: &Unknown, message: &str) -> Diagnostic {
    let entry =
        found.node.as_mapping().filter(|_| unknown.is_key).and_then(|mapping| mapping.entry(&unknown.name));
    let key = entry.map(|entry| &entry.key).or(found.key.filter(|_| unknown.is_key));
    let span = key.map_or(found.node.span(), Key::span);
    let code = if unknown.is_key { codes::UNKNOWN_KEY } else { codes::WRONG_TYPE };
    let diagnostic = Diagnostic::error(code, message).at(source.place(span));
    let known = || unknown.known.iter().copied();
    match (suggest_unique(&unknown.name, known()), suggest(&unknown.name, known())) {
        (Some(near), _) => diagnostic.help(format!("did you mean `{near}`?")).fix(Fix::replace(
            format!("write `{near}`"),
            span,
            near,
        )),
        (None, Some(near)) => diagnostic.help(format!("did you mean `{near}`?")),
        (None, None) => diagnostic.help(format!("known are {}", listed(unknown.known))),
    }
}

impl Located<'_> {
    fn step(&mut self, step: &str) -> bool {
        let next = match self.node.kind() {
            Kind::Sequence(items) => {
                step.parse().ok().and_then(|at: usize| items.get(at)).map(|node| (node, None))
            }
            Kind::Mapping(mapping) => mapping.entry(step).map(|entry| (&entry.value, Some(&entry.key))),
            Kind::Scalar(_) => None,
        };
        match next {
            Some((node, key)) => (self.node, self.key) = (node, key),
            None => self.complete = false,
        }
        self.complete
    }
}
