//! A cron expression: the parts of each field, and the values that the field selects.

use std::fmt;
use std::str::FromStr;

use crate::error::{CronError, CronProblem};
use crate::field::Field;
use crate::parse::{Piece, days_of_month, days_of_week, parts, pieces};
use crate::part::{Days, Listed, Part};

/// A Quartz cron expression: `0 0/5 * * * ? *` fires every five minutes.
///
/// An expression has six or seven fields, separated by white space: second, minute, hour, day of the month,
/// month, day of the week, and optionally the year. A field is a list of elements, separated by commas. An
/// element is `*` (all values), a value, a range `a-b`, or one of these with a step `/s`. `a/s` selects every
/// `s`th value from `a` to the largest value of the field. `*/s` and `/s` start at the smallest value of the
/// field. A range with a step, `a-b/s`, ends at `b`. A range may wrap: `22-2` contains the hours 22, 23, 0, 1
/// and 2. A range of years may not wrap. The names of months and days of the week have three letters, in any
/// letter case.
///
/// Exactly one of the two fields for days is `?`. The day of the month may also be one of these forms:
///
/// - `L`: the last day of the month.
/// - `L-3`: the day three days before the last day.
/// - `15W`: the weekday nearest to day 15.
/// - `LW` or `L-3W`: the weekday nearest to the day `L` or `L-3`.
///
/// A weekday here is a day from Monday to Friday, and the nearest weekday is always in the same month. The day
/// of the week may also be one of these forms:
///
/// - `6L` or `FRIL`: the last Friday of the month.
/// - `6#3` or `FRI#3`: the third Friday of the month.
/// - `L`: each Saturday.
///
/// An expression is displayed in a canonical form, and parsing this form returns an equal expression. The
/// form contains names for months and days of the week, and omits a year that is `*`.
///
/// ```
/// use windlass_cron::CronExpression;
///
/// let expression: CronExpression = "0 15 10 ? * 2-6 *".parse()?;
/// assert_eq!(expression.to_string(), "0 15 10 ? * MON-FRI");
/// assert_eq!(expression.explain(), "at 10:15, Monday to Friday");
/// # Ok::<(), windlass_cron::CronError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronExpression {
    pub(crate) seconds: Vec<Part>,
    pub(crate) minutes: Vec<Part>,
    pub(crate) hours: Vec<Part>,
    pub(crate) days: Days,
    pub(crate) months: Vec<Part>,
    pub(crate) years: Vec<Part>,
    pub(crate) values: Values,
}

/// The selected values of each field, as sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    /// The seconds: bit `n` stands for second `n`. The fields `minutes`, `hours`, `days` and `months` use bits in the
    /// same way.
    pub(crate) seconds: u64,
    pub(crate) minutes: u64,
    pub(crate) hours: u64,
    /// The listed days. If the rule is [`Days::OfMonth`], these are days of the month. If it is [`Days::OfWeek`],
    /// these are days of the week. All other variants of [`Days`] list no days, so no bit is set.
    pub(crate) days: u64,
    pub(crate) months: u64,
    /// The selected years, sorted.
    pub(crate) years: Vec<u16>,
}

impl CronExpression {
    /// Parses an expression, and reports all errors at once.
    ///
    /// # Errors
    /// Returns at least one error, sorted by place. If the number of fields is wrong, the list contains only
    /// this error.
    pub fn parse(text: &str) -> Result<Self, Vec<CronError>> {
        let pieces = pieces(text);
        let Some((&[second, minute, hour, day, month, weekday], year @ ([] | [_]))) =
            pieces.split_first_chunk()
        else {
            return Err(vec![wrong_count(text, &pieces)]);
        };
        let mut errors = vec![];
        let mut list = |field, piece| {
            parts(field, piece).unwrap_or_else(|error| {
                errors.push(error);
                vec![]
            })
        };
        let seconds = list(Field::Second, second);
        let minutes = list(Field::Minute, minute);
        let hours = list(Field::Hour, hour);
        let months = list(Field::Month, month);
        let years = year.first().map_or_else(|| vec![Part::EVERY], |year| list(Field::Year, *year));
        let days = match (days_of_month(day), days_of_week(weekday)) {
            (Ok(Some(days)), Ok(None)) | (Ok(None), Ok(Some(days))) => Some(days),
            (Ok(_), Ok(_)) => {
                errors.push(wrong_days(&pieces, day, weekday));
                None
            }
            (month, week) => {
                errors.extend([month.err(), week.err()].into_iter().flatten());
                None
            }
        };
        errors.sort_by_key(|error| error.span.start);
        match days {
            Some(days) if errors.is_empty() => {
                let values = Values::default();
                Ok(Self { seconds, minutes, hours, days, months, years, values }.with_values())
            }
            _ => Err(errors),
        }
    }

    /// Tells whether the expression may fire more than once within a minute.
    pub fn is_under_a_minute(&self) -> bool {
        self.values.seconds.count_ones() > 1
    }

    /// Fills [`values`](Self::values), the set of selected values of each field.
    fn with_values(mut self) -> Self {
        let mut years: Vec<u16> = self.years.iter().flat_map(|part| part.values(Field::Year)).collect();
        years.sort_unstable();
        years.dedup();
        self.values = Values {
            seconds: bits(Field::Second, &self.seconds),
            minutes: bits(Field::Minute, &self.minutes),
            hours: bits(Field::Hour, &self.hours),
            days: match &self.days {
                Days::OfMonth(parts) => bits(Field::DayOfMonth, parts),
                Days::OfWeek(parts) => bits(Field::DayOfWeek, parts),
                _ => 0,
            },
            months: bits(Field::Month, &self.months),
            years,
        };
        self
    }
}

fn bits(field: Field, parts: &[Part]) -> u64 {
    parts.iter().flat_map(|part| part.values(field)).fold(0, |bits, value| bits | 1 << value)
}

fn wrong_count(text: &str, pieces: &[Piece<'_>]) -> CronError {
    let nickname = pieces.first().filter(|first| first.text.starts_with('@'));
    if let Some(nickname) = nickname {
        let help = match nickname.text.to_ascii_lowercase().as_str() {
            "@yearly" | "@annually" => "write `0 0 0 1 1 ?`",
            "@monthly" => "write `0 0 0 1 * ?`",
            "@weekly" => "write `0 0 0 ? * SUN`",
            "@daily" | "@midnight" => "write `0 0 0 * * ?`",
            "@hourly" => "write `0 0 * * * ?`",
            _ => "each fifth minute is `0 0/5 * * * ?`",
        };
        let problem = CronProblem::Nickname(nickname.text.to_owned());
        return CronError::new(nickname.span(), problem).help_with(help.to_owned());
    }
    let found = pieces.len();
    let span = match pieces.get(7..) {
        Some([first, ..]) => first.start..text.trim_ascii_end().len(),
        _ => text.len()..text.len(),
    };
    let fields =
        "the fields are second, minute, hour, day of the month, month, day of the week, and optionally year";
    let help = match unix(pieces) {
        Some(expression) => format!("other crons begin with the minute: write `{expression}`"),
        None => fields.to_owned(),
    };
    CronError::new(span, CronProblem::FieldCount { found }).help_with(help)
}

/// Converts an expression of five fields, as other cron implementations use it, to an expression of Quartz. Returns
/// `None` if the days of the expression may have another meaning in Quartz, or if the result is not valid.
fn unix(pieces: &[Piece<'_>]) -> Option<String> {
    let &[minute, hour, day, month, weekday] = pieces else { return None };
    let (day, weekday) = match (day.text, weekday.text) {
        (day, "*") => (day, "?"),
        ("*", weekday) if !weekday.contains(|c: char| c.is_ascii_digit()) => ("?", weekday),
        _ => return None,
    };
    let text = format!("0 {} {} {day} {} {weekday}", minute.text, hour.text, month.text);
    CronExpression::parse(&text).is_ok().then_some(text)
}

/// Returns the error for an expression in which both fields for days are `?`, or neither of the two fields is
/// `?`.
fn wrong_days(pieces: &[Piece<'_>], day: Piece<'_>, weekday: Piece<'_>) -> CronError {
    let rewritten = |at: usize, with: &str| {
        let mut words: Vec<&str> = pieces.iter().map(|piece| piece.text).collect();
        words[at] = with;
        format!("write `{}`", words.join(" "))
    };
    let help = match (day.text, weekday.text) {
        ("?", _) => rewritten(3, "*"),
        (_, "*") => rewritten(5, "?"),
        ("*", _) => rewritten(3, "?"),
        _ => "no expression selects by both: write one for each, and schedule both".to_owned(),
    };
    CronError::new(day.start..weekday.span().end, CronProblem::DayFields).help_with(help)
}

impl FromStr for CronExpression {
    type Err = CronError;

    /// Parses an expression. [`CronExpression::parse`] reports all errors.
    ///
    /// # Errors
    /// Returns the first error.
    fn from_str(text: &str) -> Result<Self, CronError> {
        Self::parse(text).map_err(|mut errors| errors.swap_remove(0))
    }
}

impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {} {} {}",
            Listed(Field::Second, &self.seconds),
            Listed(Field::Minute, &self.minutes),
            Listed(Field::Hour, &self.hours),
            self.days.of_month(),
            Listed(Field::Month, &self.months),
            self.days.of_week(),
        )?;
        if self.years == [Part::EVERY] { Ok(()) } else { write!(f, " {}", Listed(Field::Year, &self.years)) }
    }
}
