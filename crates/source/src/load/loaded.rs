//! The results of loading a text: documents and diagnostics.

use crate::{Diagnostics, Node};

/// The result of [`load`](super::load()).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Loaded {
    /// The documents. They are incomplete if `diagnostics` has errors. A text of only spaces and comments has
    /// no document.
    pub documents: Vec<Node>,
    /// Diagnostics, in the order of the text.
    pub diagnostics: Diagnostics,
}

/// The result of [`load_one`](super::load_one).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct LoadedOne {
    /// The document. It is incomplete if `diagnostics` has errors. It is absent if the text contains no
    /// document, which is not reported as an error.
    pub root: Option<Node>,
    /// Diagnostics, in the order of the text.
    pub diagnostics: Diagnostics,
}

impl LoadedOne {
    /// Returns the document and the warnings, or all diagnostics if one of them is an error.
    ///
    /// # Errors
    /// All diagnostics, if one of them is an error.
    pub fn into_result(self) -> Result<(Option<Node>, Diagnostics), Diagnostics> {
        if self.diagnostics.has_errors() { Err(self.diagnostics) } else { Ok((self.root, self.diagnostics)) }
    }
}
