//! Paths of nodes in a document.

use std::sync::Arc;

/// The steps of a path. For example, `a.[0].b` has the steps `a`, `[0]` and `b`. An empty first step means
/// that the path begins at the root of the document.
pub type Path = Arc<[Arc<str>]>;

/// Splits the text of a reference at its dots and before its brackets. If `leading` is true, a dot at the
/// start of the text becomes an empty step.
pub(crate) fn steps(text: &str, leading: bool) -> Vec<Arc<str>> {
    let mut path: Vec<Arc<str>> = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '.' => {
                if at > start || (leading && path.is_empty()) {
                    path.push(Arc::from(&text[start..at]));
                }
                start = at + 1;
            }
            '[' => {
                if at > start {
                    path.push(Arc::from(&text[start..at]));
                }
                start = at;
            }
            _ => {}
        }
    }
    if start < text.len() {
        path.push(Arc::from(&text[start..]));
    }
    path
}

/// A path. Paths with the same first steps can share these steps in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(Option<Arc<Step>>);

#[derive(Debug)]
struct Step {
    name: Arc<str>,
    before: Steps,
    length: usize,
}

impl Steps {
    pub(crate) fn from_path(path: &[Arc<str>]) -> Self {
        path.iter().fold(Self::default(), |steps, name| steps.then(name.clone()))
    }

    pub(crate) fn then(&self, name: Arc<str>) -> Self {
        Self(Some(Arc::new(Step { name, before: self.clone(), length: self.len() + 1 })))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |step| step.length)
    }

    pub(crate) fn to_vec(&self) -> Vec<Arc<str>> {
        let mut path = Vec::with_capacity(self.len());
        let mut here = self;
        while let Some(step) = &here.0 {
            path.push(step.name.clone());
            here = &step.before;
        }
        path.reverse();
        path
    }

    /// Returns the path as text, such as `a.b`.
    pub(crate) fn text(&self) -> String {
        self.to_vec().join(".")
    }

    /// Tells whether two paths are the same object in memory.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    fn same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || (a.name == b.name && a.before.same(&b.before)),
            _ => false,
        }
    }
}

impl PartialEq for Steps {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.same(other)
    }
}
