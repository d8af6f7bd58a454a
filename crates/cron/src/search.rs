//! Finds fire times on a calendar without time zones.

use jiff::civil::{Date, DateTime, Time};

use crate::expression::CronExpression;
use crate::part::Days;

impl CronExpression {
    /// Tells whether the expression selects no date of the calendar. For example, `0 0 0 30 2 ?` never fires, because
    /// February has no day 30.
    pub fn never_fires(&self) -> bool {
        self.first_from(Date::constant(1970, 1, 1).at(0, 0, 0, 0)).is_none()
    }

    /// Returns the first fire time at or after `from`. The fraction of a second in `from` is ignored.
    ///
    /// Returns `None` if there is no such time up to the year 2199. The search looks at each month at most once, so it
    /// always ends.
    pub(crate) fn first_from(&self, from: DateTime) -> Option<DateTime> {
        let date = from.date();
        if self.days_of(date.year(), date.month()) >> date.day() & 1 == 1
            && let Some(time) = self.time_from(from.time())
        {
            return Some(date.to_datetime(time));
        }
        Some(self.date_from(date.tomorrow().ok()?)?.to_datetime(self.time_from(Time::midnight())?))
    }

    /// Returns the first selected time of day at or after `from`.
    fn time_from(&self, from: Time) -> Option<Time> {
        let values = &self.values;
        let (hour, minute, second) = (from.hour(), from.minute(), from.second());
        let least = |bits| first_bit(bits, 0);
        if values.hours >> hour & 1 == 1 {
            if values.minutes >> minute & 1 == 1
                && let Some(second) = first_bit(values.seconds, second)
            {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = first_bit(values.minutes, minute + 1) {
                return Time::new(hour, minute, least(values.seconds)?, 0).ok();
            }
        }
        let hour = first_bit(values.hours, hour + 1)?;
        Time::new(hour, least(values.minutes)?, least(values.seconds)?, 0).ok()
    }

    /// Returns the first selected date at or after `from`.
    fn date_from(&self, from: Date) -> Option<Date> {
        let years = &self.values.years;
        let first = years.partition_point(|year| i32::from(*year) < i32::from(from.year()));
        for year in &years[first..] {
            let year = i16::try_from(*year).ok()?;
            let (mut month, mut day) = if year == from.year() { (from.month(), from.day()) } else { (1, 1) };
            while let Some(found) = first_bit(self.values.months, month) {
                if found != month {
                    (month, day) = (found, 1);
                }
                if let Some(day) = first_bit(self.days_of(year, month), day) {
                    return Date::new(year, month, day).ok();
                }
                (month, day) = (month + 1, 1);
            }
        }
        None
    }

    /// Returns the selected days of a month as bits. If the year or the month is not selected, no bit is set.
    fn days_of(&self, year: i16, month: i8) -> u64 {
        let is_selected = self.values.months >> month & 1 == 1
            && u16::try_from(year).is_ok_and(|year| self.values.years.binary_search(&year).is_ok());
        let Some(first) = Date::new(year, month, 1).ok().filter(|_| is_selected) else { return 0 };
        Month { length: first.days_in_month(), weekday: first.weekday().to_sunday_zero_offset() }
            .days(&self.days, self.values.days)
    }
}

/// Returns the smallest member of a set of numbers that is `from` or greater. Bit `n` of `bits` stands for the
/// number `n`.
fn first_bit(bits: u64, from: i8) -> Option<i8> {
    let left = bits >> from;
    (left != 0).then(|| from + i8::try_from(left.trailing_zeros()).unwrap_or(0))
}

#[derive(Clone, Copy)]
struct Month {
    /// The number of days in the month.
    length: i8,
    /// The weekday of the first day: 0 is Sunday.
    weekday: i8,
}

impl Month {
    /// Returns the days that a rule selects, as bits. `values` are the days of the month or of the week that
    /// the rule lists, also as bits.
    fn days(self, rule: &Days, values: u64) -> u64 {
        let all = (1 << (self.length + 1)) - 2;
        let day = match *rule {
            Days::Every => return all,
            Days::OfMonth(_) => return values & all,
            Days::OfWeek(_) => {
                // Bit 0 of `week` is Sunday. Six copies of the week are shifted so that they begin with the
                // weekday of the first day of the month.
                let week = values >> 1;
                let weeks = (0..6).fold(0, |weeks, n| weeks | week << (7 * n));
                return weeks >> self.weekday << 1 & all;
            }
            Days::Last { before, weekday } => {
                let day = self.length - i8::try_from(before).unwrap_or(i8::MAX);
                if weekday { self.nearest_weekday(day) } else { Some(day) }
            }
            Days::NearestWeekday(day) => self.nearest_weekday(i8::try_from(day).unwrap_or(i8::MAX)),
            Days::LastOfWeek(day) => {
                let first = self.first(day);
                Some(first + (self.length - first) / 7 * 7)
            }
            Days::NthOfWeek { day, nth } => Some(self.first(day) + 7 * (i8::try_from(nth).unwrap_or(0) - 1)),
        };
        day.filter(|day| (1..=self.length).contains(day)).map_or(0, |day| 1 << day)
    }

    /// Returns the first day of the month with the weekday `day`, where 1 means Sunday.
    fn first(self, day: u16) -> i8 {
        let day = i8::try_from(day).unwrap_or(1) - 1;
        (day - self.weekday).rem_euclid(7) + 1
    }

    /// Returns the day from Monday to Friday of this month that is nearest to `day`; none if the month has no
    /// day `day`.
    fn nearest_weekday(self, day: i8) -> Option<i8> {
        if !(1..=self.length).contains(&day) {
            return None;
        }
        Some(match (self.weekday + day - 1) % 7 {
            0 if day == self.length => day - 2,
            0 => day + 1,
            6 if day == 1 => day + 2,
            6 => day - 1,
            _ => day,
        })
    }
}
