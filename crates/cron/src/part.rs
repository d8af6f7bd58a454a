//! The parts of a field: values, ranges and steps, and the rules for days.

use std::fmt;

use crate::field::Field;

/// One element of a field's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) extent: Extent,
    /// The step, at least 1. Without a step, all values of the extent are selected.
    pub(crate) step: Option<u16>,
}

/// The values that a part covers. The step of the part selects some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All values of the field: `*`.
    Every,
    /// One value. If the part has a step: all values from this value to the largest value of the field.
    Single(u16),
    /// All values from the first to the second, both included. The range wraps if the second value is
    /// smaller.
    Range(u16, u16),
}

impl Part {
    /// The part `*`. A list that contains this part selects all values of the field.
    pub(crate) const EVERY: Self = Self { extent: Extent::Every, step: None };

    pub(crate) fn single(value: u16) -> Self {
        Self { extent: Extent::Single(value), step: None }
    }

    /// Returns the values of `field` that this part selects. The first returned value is the one at which the
    /// part begins: 22 for the hours `22-3`. Years outside the range of the field are left out.
    pub(crate) fn values(self, field: Field) -> impl Iterator<Item = u16> {
        let (min, max) = field.range().into_inner();
        let size = max - min + 1;
        let (first, last) = match (self.extent, self.step) {
            (Extent::Every, _) => (min, max),
            (Extent::Single(value), None) => (value, value),
            (Extent::Single(value), Some(_)) => (value, max),
            (Extent::Range(first, last), _) if last < first => (first, last + size),
            (Extent::Range(first, last), _) => (first, last),
        };
        let values = (first..=last).step_by(usize::from(self.step.unwrap_or(1).max(1)));
        let wrapped = move |value| if field == Field::Year { value } else { (value - min) % size + min };
        values.map(wrapped).filter(move |value| field.range().contains(value))
    }
}

/// The rule that selects the days: the fields for days of the month and of the week together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Days {
    /// Each day. The two fields for days are `*` and `?`, in any order.
    Every,
    /// Days of the month, such as `1,15`.
    OfMonth(Vec<Part>),
    /// `L`, `L-3`, `LW` or `L-3W`: a day that is counted back from the last day of the month. `before` is the number of
    /// days to count back, such as 3 for `L-3`. If `weekday` is true (`W`), the selected day is the day from Monday
    /// to Friday that is nearest to the counted day.
    Last { before: u16, weekday: bool },
    /// `15W`: the day from Monday to Friday that is nearest to this day of the month.
    NearestWeekday(u16),
    /// Days of the week, such as `MON-FRI`.
    OfWeek(Vec<Part>),
    /// `FRIL`: the last occurrence of this day of the week in the month.
    LastOfWeek(u16),
    /// `FRI#3`: the nth occurrence of this day of the week in the month.
    NthOfWeek { day: u16, nth: u16 },
}

/// The parts of a field, displayed as in an expression: `MON-FRI`, `0/30`, `1,15`.
pub(crate) struct Listed<'p>(pub(crate) Field, pub(crate) &'p [Part]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.1.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match part.extent {
                Extent::Every => f.write_str("*")?,
                Extent::Single(value) => Spelled(self.0, value).fmt(f)?,
                Extent::Range(first, last) => {
                    write!(f, "{}-{}", Spelled(self.0, first), Spelled(self.0, last))?;
                }
            }
            if let Some(step) = part.step {
                write!(f, "/{step}")?;
            }
        }
        Ok(())
    }
}

/// A value, displayed as in an expression: as a name of three capital letters, or as a number.
pub(crate) struct Spelled(pub(crate) Field, pub(crate) u16);

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.name_of(self.1) {
            Some(name) => f.write_str(&name[..3].to_uppercase()),
            None => write!(f, "{}", self.1),
        }
    }
}

impl Days {
    /// Returns the text of the field for the days of the month.
    pub(crate) fn of_month(&self) -> String {
        match self {
            Self::Every => "*".to_owned(),
            Self::OfMonth(parts) => Listed(Field::DayOfMonth, parts).to_string(),
            Self::Last { before, weekday } => {
                let before = if *before == 0 { String::new() } else { format!("-{before}") };
                format!("L{before}{}", if *weekday { "W" } else { "" })
            }
            Self::NearestWeekday(day) => format!("{day}W"),
            Self::OfWeek(_) | Self::LastOfWeek(_) | Self::NthOfWeek { .. } => "?".to_owned(),
        }
    }

    /// Returns the text of the field for the days of the week.
    pub(crate) fn of_week(&self) -> String {
        let field = Field::DayOfWeek;
        match self {
            Self::OfWeek(parts) => Listed(field, parts).to_string(),
            Self::LastOfWeek(day) => format!("{}L", Spelled(field, *day)),
            Self::NthOfWeek { day, nth } => format!("{}#{nth}", Spelled(field, *day)),
            _ => "?".to_owned(),
        }
    }
}
