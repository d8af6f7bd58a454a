//! The fields of an expression.

use std::fmt;
use std::ops::RangeInclusive;

/// A field of an expression. The variants are in the order in which the fields are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The second, 0 to 59.
    Second,
    /// The minute, 0 to 59.
    Minute,
    /// The hour, 0 to 23.
    Hour,
    /// The day of the month, 1 to 31.
    DayOfMonth,
    /// The month, 1 to 12, or JAN to DEC.
    Month,
    /// The day of the week, 1 to 7, or SUN to SAT: 1 is Sunday.
    DayOfWeek,
    /// The year. Only this field may be left out. As in Quartz, the field accepts the years 0 to 9999. But an
    /// expression fires only in the years 1970 to 2199.
    Year,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Field {
    /// All fields, in the order in which they are written.
    pub const ALL: [Self; 7] =
        [Self::Second, Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek, Self::Year];

    /// Returns the values that a fire time can have in this field, such as 0 to 59 for minutes.
    pub fn range(self) -> RangeInclusive<u16> {
        match self {
            Self::Second | Self::Minute => 0..=59,
            Self::Hour => 0..=23,
            Self::DayOfMonth => 1..=31,
            Self::Month => 1..=12,
            Self::DayOfWeek => 1..=7,
            Self::Year => 1970..=2199,
        }
    }

    /// Tells whether an expression may contain `value` in this field. The field for years accepts 0 to 9999,
    /// although an expression fires only in the years 1970 to 2199.
    pub(crate) fn takes(self, value: u16) -> bool {
        self.range().contains(&value) || (self == Self::Year && value <= 9999)
    }

    /// Returns the largest permitted step. As in Quartz, this is the largest value of the field, such as 59 for seconds
    /// and 12 for months. For years, the largest step is 229, the distance from 1970 to 2199.
    pub(crate) fn largest_step(self) -> u16 {
        match self {
            Self::Year => self.range().end() - self.range().start(),
            _ => *self.range().end(),
        }
    }

    /// Returns the full English names of the values in order, such as `January`. The list is empty if the values
    /// have no names. In expressions, each name is shortened to its first three letters, such as `JAN`.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &MONTHS,
            Self::DayOfWeek => &WEEKDAYS,
            _ => &[],
        }
    }

    /// Returns the English name of a value; none if the value has no name.
    pub(crate) fn name_of(self, value: u16) -> Option<&'static str> {
        self.names().get(usize::from(value.checked_sub(*self.range().start())?)).copied()
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of the month",
            Self::Month => "month",
            Self::DayOfWeek => "day of the week",
            Self::Year => "year",
        })
    }
}
