//! Reads the fields of an expression.

use std::ops::Range;

use crate::error::{CronError, CronProblem};
use crate::field::Field;
use crate::part::{Days, Extent, Part};

/// A piece of the expression, with its place.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'t> {
    pub(crate) text: &'t str,
    pub(crate) start: usize,
}

impl<'t> Piece<'t> {
    pub(crate) fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// Splits at each occurrence of a separator. Each result has its own place in the expression.
    fn split(self, separator: impl Fn(char) -> bool) -> impl Iterator<Item = Piece<'t>> {
        let top = self.text.as_ptr().addr();
        self.text
            .split(separator)
            .map(move |text| Piece { text, start: self.start + (text.as_ptr().addr() - top) })
    }

    /// Splits at the first occurrence of a character. Neither piece contains this occurrence.
    fn split_once(self, separator: char) -> Option<(Piece<'t>, Piece<'t>)> {
        let (before, after) = self.text.split_once(separator)?;
        let at = self.start + before.len() + separator.len_utf8();
        Some((Piece { text: before, start: self.start }, Piece { text: after, start: at }))
    }

    fn fails(self, problem: CronProblem) -> CronError {
        CronError::new(self.span(), problem)
    }
}

/// Splits an expression at white space.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let whole = Piece { text, start: 0 };
    whole.split(|c| c.is_ascii_whitespace()).filter(|piece| !piece.text.is_empty()).collect()
}

/// Reads a field as a list of values, ranges and steps.
pub(crate) fn parts(field: Field, piece: Piece<'_>) -> Result<Vec<Part>, CronError> {
    if piece.text == "?" {
        return Err(piece.fails(CronProblem::QuestionMark(field)).help_with("write `*`".to_owned()));
    }
    let parts: Vec<Part> =
        piece.split(|c| c == ',').map(|element| part(field, element)).collect::<Result<_, _>>()?;
    Ok(if parts.contains(&Part::EVERY) { vec![Part::EVERY] } else { parts })
}

fn part(field: Field, piece: Piece<'_>) -> Result<Part, CronError> {
    if piece.text.is_empty() {
        let help = "write values with one comma between them, such as `1,15`".to_owned();
        return Err(piece.fails(CronProblem::EmptyElement).help_with(help));
    }
    let (extent, step) = match piece.split_once('/') {
        Some((extent, step)) => (extent, Some((step, step_of(field, step)?))),
        None => (piece, None),
    };
    let extent = match extent.text {
        "*" | "" => Extent::Every,
        _ => match extent.split_once('-').filter(|(first, _)| !first.text.is_empty()) {
            Some((first, last)) => range(field, extent, value(field, first)?, value(field, last)?)?,
            None => Extent::Single(value(field, extent)?),
        },
    };
    let step = match (extent, step) {
        // As in Quartz, `5/0` means `5`. A step of 0 after `*` or a range is an error.
        (Extent::Single(_), Some((_, 0))) => None,
        (_, Some((piece, 0))) => return Err(step_range(field, piece)),
        (Extent::Single(_), Some((_, step))) => Some(step),
        (_, step) => step.map(|(_, step)| step).filter(|step| *step > 1),
    };
    Ok(Part { extent, step })
}

fn range(field: Field, piece: Piece<'_>, first: u16, last: u16) -> Result<Extent, CronError> {
    if field == Field::Year && last < first {
        let help = format!("write `{last}-{first}`");
        return Err(piece.fails(CronProblem::YearsDown { first, last }).help_with(help));
    }
    Ok(Extent::Range(first, last))
}

fn step_of(field: Field, piece: Piece<'_>) -> Result<u16, CronError> {
    if !is_number(piece.text) {
        return Err(piece.fails(CronProblem::NoStep(piece.text.to_owned())));
    }
    number(piece.text).filter(|step| *step <= field.largest_step()).ok_or_else(|| step_range(field, piece))
}

fn step_range(field: Field, piece: Piece<'_>) -> CronError {
    let step = piece.text.to_owned();
    piece.fails(CronProblem::StepRange { field, step, largest: field.largest_step() })
}

/// Reads a number or a name.
fn value(field: Field, piece: Piece<'_>) -> Result<u16, CronError> {
    let text = piece.text;
    if is_number(text) {
        return number(text).filter(|value| field.takes(*value)).ok_or_else(|| {
            let problem = CronProblem::OutOfRange { field, value: text.to_owned() };
            piece.fails(problem).help_with(range_help(field, text))
        });
    }
    let named = |name: &&str| text.len() == 3 && name[..3].eq_ignore_ascii_case(text);
    match (*field.range().start()..).zip(field.names()).find(|(_, name)| named(name)) {
        Some((value, _)) => Ok(value),
        None => Err(no_value(field, piece)),
    }
}

/// Returns the remedy for a number that only other cron implementations allow, such as 0 for Sunday.
fn range_help(field: Field, text: &str) -> Option<String> {
    match (field, text) {
        (Field::DayOfWeek, "0") => Some("Sunday is 1 or `SUN`".to_owned()),
        (Field::Second | Field::Minute, "60") => Some("write 0".to_owned()),
        (Field::Hour, "24") => Some("midnight is 0".to_owned()),
        _ => None,
    }
}

fn no_value(field: Field, piece: Piece<'_>) -> CronError {
    let text = piece.text;
    let help = match text.to_ascii_uppercase().as_bytes() {
        b"?" => Some("`?` stands alone in its field".to_owned()),
        [b'L', ..] | [.., b'L' | b'W'] | [.., b'#', _]
            if field.names().is_empty() && field != Field::DayOfMonth =>
        {
            Some("`L`, `W` and `#` select days".to_owned())
        }
        [.., b'W'] if field == Field::DayOfWeek => {
            Some("`W` stands in the field for the day of the month".to_owned())
        }
        _ => nearest(field, text),
    };
    piece.fails(CronProblem::NoValue { field, text: text.to_owned() }).help_with(help)
}

/// Returns the advice to write the three-letter name that is nearest to an invalid text. For example, the advice
/// is `MON` for the misspelling `mno`, and also for the full name `monday`. Returns `None` if no name is near.
fn nearest(field: Field, text: &str) -> Option<String> {
    let distance = |name: &str| {
        let (name, text) = (name.to_ascii_lowercase(), text.to_ascii_lowercase());
        strsim::osa_distance(&name, &text).min(strsim::osa_distance(&name[..3], &text))
    };
    let (distance, name) = field.names().iter().map(|name| (distance(name), name)).min()?;
    (distance <= 1).then(|| format!("write `{}`", name[..3].to_uppercase()))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok()
}

/// Reads the field for the days of the month. Returns `None` for `?`.
pub(crate) fn days_of_month(piece: Piece<'_>) -> Result<Option<Days>, CronError> {
    let field = Field::DayOfMonth;
    if piece.text == "?" {
        return Ok(None);
    }
    if let Some(element) =
        piece.split(|c| c == ',').find(|element| element.text.contains(['L', 'l', 'W', 'w']))
    {
        alone(element, piece)?;
        return special_day(element).map(Some);
    }
    Ok(Some(match parts(field, piece)? {
        parts if parts == [Part::EVERY] => Days::Every,
        parts => Days::OfMonth(parts),
    }))
}

/// Reads `L`, `L-3`, `LW`, `L-3W` or `15W`.
fn special_day(piece: Piece<'_>) -> Result<Days, CronError> {
    let upper = piece.text.to_ascii_uppercase();
    let (rest, weekday) = upper.strip_suffix('W').map_or((upper.as_str(), false), |rest| (rest, true));
    if let Some(offset) = rest.strip_prefix('L') {
        let before = match offset.strip_prefix('-') {
            None if offset.is_empty() => Some(0),
            Some(digits) if is_number(digits) => match number(digits).filter(|before| *before <= 30) {
                Some(before) => Some(before),
                None => return Err(piece.fails(CronProblem::LastOffset(digits.to_owned()))),
            },
            _ => None,
        };
        if let Some(before) = before {
            return Ok(Days::Last { before, weekday });
        }
    } else if weekday && is_number(rest) {
        let day = Piece { text: &piece.text[..rest.len()], start: piece.start };
        return value(Field::DayOfMonth, day).map(Days::NearestWeekday);
    }
    let help = "the special days are `L`, `L-3`, `LW`, `L-3W` and `15W`".to_owned();
    let problem = CronProblem::NoValue { field: Field::DayOfMonth, text: piece.text.to_owned() };
    Err(piece.fails(problem).help_with(help))
}

/// Reads the field for the days of the week. Returns `None` for `?`.
pub(crate) fn days_of_week(piece: Piece<'_>) -> Result<Option<Days>, CronError> {
    let field = Field::DayOfWeek;
    if piece.text == "?" {
        return Ok(None);
    }
    if let Some(element) = piece.split(|c| c == ',').find(|element| element.text.contains('#')) {
        alone(element, piece)?;
        let Some((day, nth)) = element.split_once('#') else { return Ok(None) };
        return match number(nth.text).filter(|number| is_number(nth.text) && (1..=5).contains(number)) {
            Some(nth) => Ok(Some(Days::NthOfWeek { day: value(field, day)?, nth })),
            None => Err(nth.fails(CronProblem::Nth(nth.text.to_owned()))),
        };
    }
    if let Some(element) = piece.split(|c| c == ',').find(|element| element.text.ends_with(['L', 'l'])) {
        alone(element, piece)?;
        let day = Piece { text: &element.text[..element.text.len() - 1], start: element.start };
        return Ok(Some(match day.text {
            "" => Days::OfWeek(vec![Part::single(*field.range().end())]),
            _ => Days::LastOfWeek(value(field, day)?),
        }));
    }
    Ok(Some(match parts(field, piece)? {
        parts if parts == [Part::EVERY] => Days::Every,
        parts => Days::OfWeek(parts),
    }))
}

/// Checks that `element` is the only element in the list of `field`. Callers pass an element that can't be combined
/// with others, such as `L` (the last day of the month).
fn alone(element: Piece<'_>, field: Piece<'_>) -> Result<(), CronError> {
    if element.text.len() == field.text.len() {
        return Ok(());
    }
    let help = "write one expression for each, and schedule both".to_owned();
    Err(element.fails(CronProblem::NotAlone(element.text.to_owned())).help_with(help))
}
