//! The results of loading: documents with diagnostics.

use crate::{Diagnostics, Node};

/// The result of [`load`](super::load()).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Loaded {
    /// Documents; incomplete if `diagnostics` has errors. Empty for a text of only spaces and comments.
    pub documents: Vec<Node>,
    /// Diagnostics, in the order of the text.
    pub diagnostics: Diagnostics,
}

/// The result of [`load_one`](super::load_one).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LoadedOne {
    /// Document; incomplete if `diagnostics` has errors. Absent when the text contains no document, which is
    /// not reported as an error.
    pub root: Option<Node>,
    /// Diagnostics, in the order of the text.
    pub diagnostics: Diagnostics,
}

impl LoadedOne {
    /// Returns the document and the warnings, or all diagnostics if one of them is an error.
    ///
    /// # Errors
    /// The diagnostics, when they include errors.
    pub fn into_result(self) -> Result<(Option<Node>, Diagnostics), Diagnostics> {
        if self.diagnostics.has_errors() { Err(self.diagnostics) } else { Ok((self.root, self.diagnostics)) }
    }
}
