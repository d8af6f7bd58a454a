//! Evaluation of values that read each other, and of texts that are joined from values.
//!
//! The [`Resolver`](super::Resolver) evaluates the properties of a topology. Other crates evaluate values
//! before a topology exists. The resolver and these crates use the traversal and the limits of this module.

use super::answer::{Resolved, text_of};
use super::error::{MAX_VALUE, ResolveError};

/// A graph of values that read each other. An implementation stores the state of each value. A value is *new*
/// at first. A value is *open* while the values that it reads are evaluated. A value is *answered* when the
/// implementation has stored its result or an error.
pub trait ValueGraph {
    /// The key that identifies a value.
    type Key: Clone;
    /// An error that ends the evaluation.
    type Error;

    /// Begins the evaluation of a value, and returns the state of the value.
    ///
    /// If the evaluation of the value has begun already, the implementation changes nothing. If it has not begun, the
    /// implementation does one of two things:
    ///
    /// - It computes and stores the result at once.
    /// - It marks the value as *open*, and calls `read` for each value that the open value reads, in the order of
    ///   evaluation.
    fn enter(&mut self, key: &Self::Key, read: impl FnMut(Self::Key)) -> Entered;

    /// Completes the evaluation of a value that [`enter`](Self::enter) has begun: computes and stores the result or
    /// an error.
    ///
    /// The values that this value reads are usually complete already. Such a value may be incomplete only if it is in
    /// a cycle with this value.
    fn leave(&mut self, key: &Self::Key);

    /// Handles a cycle of values that read each other. `open` contains the keys of the values whose evaluation is not
    /// complete. Each of these values reads the next one. The last value reads the value with the key `again`. This
    /// read closes the cycle, because `again` is also in `open`. If the method returns `Ok`, the evaluation continues
    /// without this read.
    ///
    /// # Errors
    ///
    /// An error ends the evaluation. The open values are not computed then.
    fn cycle<'k>(
        &mut self,
        open: impl Iterator<Item = &'k Self::Key> + Clone,
        again: &'k Self::Key,
    ) -> Result<(), Self::Error>
    where
        Self::Key: 'k;
}

/// The state of a value when a traversal reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The evaluation of the value is complete.
    Answered,
    /// The evaluation of the value begins now.
    Opened,
    /// The evaluation of the value has begun already, but is not complete. So the value reads itself, directly or
    /// through other values.
    Cycle,
}

/// The stack of an evaluation. Later evaluations reuse its memory.
#[derive(Debug)]
pub struct Visits<K>(Vec<Visit<K>>);

/// A pending action on the stack of an evaluation. The traversal executes the topmost action first.
#[derive(Debug)]
enum Visit<K> {
    /// Calls [`ValueGraph::enter`] for the value with this key.
    Enter(K),
    /// Calls [`ValueGraph::leave`] for the value with this key.
    Leave(K),
}

impl<K> Visit<K> {
    /// Returns the key of the value if the value is open. A value is open if its evaluation has begun, but is
    /// not complete.
    fn open(&self) -> Option<&K> {
        match self {
            Self::Leave(key) => Some(key),
            Self::Enter(_) => None,
        }
    }
}

impl<K> Default for Visits<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Evaluates the value `root`. The function first evaluates all values that `root` reads, directly or through other
/// values. The traversal is depth first. Its stack is on the heap, so chains of references can have any length.
///
/// # Errors
///
/// The error that [`ValueGraph::cycle`] returns if values read each other in a cycle. An error in a single value does
/// not end the evaluation: the graph stores this error.
pub fn evaluate<G: ValueGraph>(
    graph: &mut G,
    Visits(visits): &mut Visits<G::Key>,
    root: G::Key,
) -> Result<(), G::Error> {
    visits.push(Visit::Enter(root));
    while let Some(visit) = visits.pop() {
        let key = match visit {
            Visit::Enter(key) => key,
            Visit::Leave(key) => {
                graph.leave(&key);
                continue;
            }
        };
        let first = visits.len() + 1;
        visits.push(Visit::Leave(key.clone()));
        match graph.enter(&key, |read| visits.push(Visit::Enter(read))) {
            Entered::Opened => visits[first..].reverse(),
            Entered::Answered => visits.truncate(first - 1),
            Entered::Cycle => {
                visits.truncate(first - 1);
                if let Err(error) = graph.cycle(visits.iter().filter_map(Visit::open), &key) {
                    visits.clear();
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Text that is joined from values. The text is sensitive if one of the values is sensitive. The size of the
/// text is limited. Without a limit, a text could double with each value of a chain, if each value contained
/// the previous value twice.
#[derive(Debug)]
pub struct Joined {
    text: String,
    sensitive: bool,
    limit: usize,
}

impl Default for Joined {
    /// Creates an empty text. The text can grow to [`MAX_VALUE`] bytes.
    fn default() -> Self {
        Self::with_limit(MAX_VALUE)
    }
}

impl Joined {
    /// Creates an empty text. The text can grow to `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { text: String::new(), sensitive: false, limit }
    }

    /// Appends a text.
    ///
    /// # Errors
    ///
    /// [`ResolveError::TooLong`] if the joined text would exceed the limit.
    pub fn push(&mut self, text: &str, sensitive: bool) -> Result<(), ResolveError> {
        if self.text.len() + text.len() > self.limit {
            return Err(ResolveError::TooLong { limit: self.limit });
        }
        self.text.push_str(text);
        self.sensitive |= sensitive;
        Ok(())
    }

    /// Appends a value, in the form of [`text_of`].
    ///
    /// # Errors
    ///
    /// As for [`push`](Self::push).
    pub fn push_value(&mut self, value: &Resolved) -> Result<(), ResolveError> {
        match value.value.as_str() {
            Some(text) => self.push(text, value.sensitive),
            None => self.push(&text_of(&value.value), value.sensitive),
        }
    }

    /// Tells whether one of the joined values is sensitive.
    pub fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// Returns the joined text.
    pub fn into_text(self) -> String {
        self.text
    }
}

impl From<Joined> for Resolved {
    fn from(joined: Joined) -> Self {
        Self { value: joined.text.into(), sensitive: joined.sensitive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_no_more_than_its_limit_and_the_error_names_it() {
        let mut text = Joined::with_limit(1024);
        text.push(&"x".repeat(1000), false).unwrap();
        text.push(&"x".repeat(24), true).unwrap();
        let error = text.push("x", false).unwrap_err();
        assert_eq!(error.to_string(), "the value would have more than 1 KiB, with all that it reads");
        assert!(text.is_sensitive());
        assert_eq!(text.into_text().len(), 1024);
        let error = Joined::default().push(&"x".repeat(MAX_VALUE + 1), false).unwrap_err();
        assert_eq!(error.to_string(), "the value would have more than 4 MiB, with all that it reads");
    }
}
