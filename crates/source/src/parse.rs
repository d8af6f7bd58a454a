//! From a [`Node`] to a typed document, with errors at their place; and from a path back to a [`Node`].

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::{Diagnostic, Key, Kind, Node, Reading, Source, codes, suggest};

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub struct Located<'n> {
    /// The node, or the innermost one on the way.
    pub node: &'n Node,
    /// The key under which it stands, unless it is an item or the root.
    pub key: Option<&'n Key>,
    /// Whether the whole path was found.
    pub complete: bool,
}

impl Node {
    /// Follows a JSON pointer (`/composition/web/quantity`, `/ports/0`) as far as it leads.
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

    /// The node a JSON pointer leads to.
    pub fn at_pointer(&self, pointer: &str) -> Option<&Node> {
        Some(self.locate(pointer)).filter(|found| found.complete).map(|found| found.node)
    }

    /// Reads the node as a typed document.
    ///
    /// # Errors
    /// One diagnostic with the place of the value that doesn't fit ([`codes::WRONG_TYPE`]), or of the key that is
    /// unknown ([`codes::UNKNOWN_KEY`], with the nearest known one).
    pub fn parse<T: DeserializeOwned>(
        &self,
        source: &Arc<Source>,
        reading: Reading,
    ) -> Result<T, Box<Diagnostic>> {
        serde_path_to_error::deserialize(self.to_value(reading))
            .map_err(|error| Box::new(self.misfit(source, &error)))
    }

    fn misfit(
        &self,
        source: &Arc<Source>,
        error: &serde_path_to_error::Error<serde_json::Error>,
    ) -> Diagnostic {
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
        let message = error.inner().to_string();
        let mut names = message.split('`').skip(1).step_by(2);
        let unknown = message.starts_with("unknown field").then(|| names.next()).flatten();
        let Some(name) = unknown else {
            return Diagnostic::error(codes::WRONG_TYPE, message.clone()).at(source.place(found.node.span()));
        };
        let entry = found.node.as_mapping().and_then(|mapping| mapping.entry(name));
        let key = entry.map(|entry| &entry.key).or(found.key);
        let span = key.map_or(found.node.span(), Key::span);
        let mut diagnostic =
            Diagnostic::error(codes::UNKNOWN_KEY, format!("unknown key `{name}`")).at(source.place(span));
        if let Some(near) = suggest(name, names) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        diagnostic
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
