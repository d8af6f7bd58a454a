//! Errors of cron expressions.

use std::fmt;
use std::ops::Range;

use crate::field::Field;

/// An error in a cron expression, with its place in the text.
///
/// The `Display` text contains neither the place nor the help. The methods [`span`](CronError::span) and
/// [`help`](CronError::help) return these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronError {
    pub(crate) span: Range<usize>,
    pub(crate) problem: CronProblem,
    pub(crate) help: Option<String>,
}

impl CronError {
    pub(crate) fn new(span: Range<usize>, problem: CronProblem) -> Self {
        Self { span, problem, help: None }
    }

    pub(crate) fn help_with(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    /// Returns the place of the error in the expression, as a range of bytes. If something is missing at this
    /// place, the range is empty. The bounds of the range are always character boundaries.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the kind of the error.
    pub fn problem(&self) -> &CronProblem {
        &self.problem
    }

    /// Returns a remedy in a few words, such as "write `*`". Returns `None` if no remedy is known.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for CronError {}

/// The kind of a [`CronError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CronProblem {
    /// The expression has fewer than six fields, or more than seven.
    #[error("expected 6 or 7 fields, found {found}")]
    FieldCount {
        /// The number of fields.
        found: usize,
    },
    /// A nickname that other cron implementations read, such as `@daily`.
    #[error("`{0}` is no Quartz expression")]
    Nickname(String),
    /// An element of a list is empty.
    #[error("an element of the list is empty")]
    EmptyElement,
    /// A text is not a valid value of its field.
    #[error("`{text}` is no {field}")]
    NoValue {
        /// The field of the expression.
        field: Field,
        /// The text as written.
        text: String,
    },
    /// A number is outside of the range of its field.
    #[error("{value} is no {field}: expected {} to {}", .field.range().start(), .field.range().end())]
    OutOfRange {
        /// The field of the expression.
        field: Field,
        /// The number as written.
        value: String,
    },
    /// `/` is not followed by a whole number.
    #[error("expected a whole number after `/`, found `{0}`")]
    NoStep(String),
    /// The step is 0, or larger than the largest step of the field.
    #[error("the step {step} is outside of 1 to {largest}, the steps of a {field}")]
    StepRange {
        /// The field of the expression.
        field: Field,
        /// The step as written.
        step: String,
        /// The largest step that the field allows.
        largest: u16,
    },
    /// A range of years ends before it starts. In other fields, such a range wraps.
    #[error("the years from {first} to {last} count down, and years do not wrap")]
    YearsDown {
        /// The first year of the range.
        first: u16,
        /// The last year of the range.
        last: u16,
    },
    /// `?` stands in a field other than the two fields for days.
    #[error("`?` is permitted for the day of the month and the day of the week only, not for the {0}")]
    QuestionMark(Field),
    /// Both fields for days contain a value, or both are `?`. Exactly one of the two fields must be `?`.
    #[error("exactly one of day of the month and day of the week must be `?`")]
    DayFields,
    /// A list of days contains a form that must stand alone, such as `L` (the last day).
    #[error("`{0}` can't be combined with other days")]
    NotAlone(String),
    /// The offset from the last day of the month is outside of the range 0 to 30.
    #[error("the offset {0} from the last day is outside of 0 to 30")]
    LastOffset(String),
    /// The number after `#` is outside of the range 1 to 5.
    #[error("expected a number from 1 to 5 after `#`, found `{0}`")]
    Nth(String),
}
