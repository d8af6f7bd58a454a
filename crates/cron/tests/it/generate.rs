//! Generates expressions together with a slow, independent rule that tells which local times they match.

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime};
use proptest::collection::vec;
use proptest::prelude::*;

/// An expression with its rules.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) text: String,
    time: [BTreeSet<i64>; 3],
    days: DayRule,
    months: BTreeSet<i64>,
    years: BTreeSet<i64>,
}

/// A rule for days. It is written independently of the code of the crate, so the tests can compare the two.
#[derive(Clone, Debug)]
enum DayRule {
    OfMonth(BTreeSet<i64>),
    Before(i8, bool),
    Nearest(i8),
    OfWeek(BTreeSet<i64>),
    Last(i64),
    Nth(i64, i8),
}

impl Case {
    /// Tells whether something fires on a date.
    pub(crate) fn has_date(&self, date: Date) -> bool {
        self.months.contains(&i64::from(date.month()))
            && self.years.contains(&i64::from(date.year()))
            && self.days.has(date)
    }

    /// Tells whether something fires in the minute of a local time.
    pub(crate) fn has_minute(&self, time: DateTime) -> bool {
        let [_, minutes, hours] = &self.time;
        minutes.contains(&time.minute().into())
            && hours.contains(&time.hour().into())
            && self.has_date(time.date())
    }

    /// Tells whether a local time is a fire time.
    pub(crate) fn has(&self, time: DateTime) -> bool {
        self.time[0].contains(&time.second().into()) && self.has_minute(time)
    }
}

impl DayRule {
    fn has(&self, date: Date) -> bool {
        match self {
            Self::OfMonth(days) => days.contains(&i64::from(date.day())),
            Self::Before(n, false) => date.days_in_month() - n == date.day(),
            Self::Before(n, true) => nearest_weekday(date, date.days_in_month() - n) == Some(date.day()),
            Self::Nearest(day) => nearest_weekday(date, *day) == Some(date.day()),
            Self::OfWeek(days) => days.contains(&weekday(date)),
            Self::Last(day) => weekday(date) == *day && date.day() + 7 > date.days_in_month(),
            Self::Nth(day, nth) => weekday(date) == *day && (date.day() - 1) / 7 + 1 == *nth,
        }
    }
}

fn weekday(date: Date) -> i64 {
    i64::from(date.weekday().to_sunday_one_offset())
}

/// Finds the nearest day from Monday to Friday by looking at all days of the month.
fn nearest_weekday(date: Date, day: i8) -> Option<i8> {
    let mut in_month = 1..=date.days_in_month();
    let at = |day| date.with().day(day).build().unwrap();
    let is_weekday = |day: &i8| (2..=6).contains(&weekday(at(*day)));
    in_month
        .contains(&day)
        .then(|| in_month.by_ref().filter(is_weekday).min_by_key(|other| (other - day).abs()))?
}

/// Generates a field of numbers, as text and as a set.
fn field(min: i64, max: i64, names: &'static [&'static str]) -> BoxedStrategy<(String, BTreeSet<i64>)> {
    let size = max - min + 1;
    let spelled = move |value: i64, named: bool| {
        let name = usize::try_from(value - min).ok().and_then(|at| names.get(at)).filter(|_| named);
        name.map_or_else(|| value.to_string(), |name| (*name).to_owned())
    };
    let count = move |first: i64, last: i64, step: i64| -> BTreeSet<i64> {
        let mut values = BTreeSet::new();
        let mut value = first;
        while value <= last {
            values.insert(if value > max { value - size } else { value });
            value += step;
        }
        values
    };
    let wrapped = move |first, last| if last < first { last + size } else { last };
    let value = min..=max;
    let step = 1..=(max - 1).min(20);
    let element = prop_oneof![
        4 => (value.clone(), any::<bool>()).prop_map(move |(v, n)| (spelled(v, n), BTreeSet::from([v]))),
        2 => (value.clone(), value.clone(), any::<bool>()).prop_map(move |(a, b, n)| {
            (format!("{}-{}", spelled(a, n), spelled(b, n)), count(a, wrapped(a, b), 1))
        }),
        1 => (value.clone(), value.clone(), step.clone())
            .prop_map(move |(a, b, s)| (format!("{a}-{b}/{s}"), count(a, wrapped(a, b), s))),
        2 => (value, step.clone()).prop_map(move |(a, s)| (format!("{a}/{s}"), count(a, max, s))),
        1 => (step, any::<bool>())
            .prop_map(move |(s, star)| (format!("{}/{s}", if star { "*" } else { "" }), count(min, max, s))),
    ];
    let list = vec(element, 1..4).prop_map(|elements| {
        let text: Vec<_> = elements.iter().map(|(text, _)| text.clone()).collect();
        (text.join(","), elements.into_iter().flat_map(|(_, values)| values).collect())
    });
    prop_oneof![2 => Just(("*".to_owned(), (min..=max).collect())), 5 => list].boxed()
}

const MONTHS: &[&str] = &["JAN", "feb", "Mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: &[&str] = &["SUN", "mon", "Tue", "WED", "THU", "FRI", "SAT"];

/// Generates the two fields for days, with their rule.
fn days() -> impl Strategy<Value = (String, String, DayRule)> {
    let of_month = |text: String, rule| (text, "?".to_owned(), rule);
    let of_week = |text: String, rule| ("?".to_owned(), text, rule);
    let last = (0..=30_i8, any::<bool>()).prop_map(|(n, weekday)| {
        let offset = if n == 0 { String::new() } else { format!("-{n}") };
        (format!("L{offset}{}", if weekday { "W" } else { "" }), DayRule::Before(n, weekday))
    });
    prop_oneof![
        3 => field(1, 31, &[]).prop_map(move |(text, days)| of_month(text, DayRule::OfMonth(days))),
        1 => last.prop_map(move |(text, rule)| of_month(text, rule)),
        1 => (1..=31_i8).prop_map(move |day| of_month(format!("{day}W"), DayRule::Nearest(day))),
        3 => field(1, 7, WEEKDAYS).prop_map(move |(text, days)| of_week(text, DayRule::OfWeek(days))),
        1 => (1..=7_i64).prop_map(move |day| of_week(format!("{day}L"), DayRule::Last(day))),
        1 => (1..=7_i64, 1..=5_i8)
            .prop_map(move |(day, nth)| of_week(format!("{day}#{nth}"), DayRule::Nth(day, nth))),
    ]
}

fn years() -> impl Strategy<Value = (String, BTreeSet<i64>)> {
    let all = || (1970..2200).collect::<BTreeSet<i64>>();
    prop_oneof![
        4 => Just((String::new(), all())),
        1 => Just((" *".to_owned(), all())),
        1 => (2020..2035_i64, 0..5_i64).prop_map(|(a, n)| (format!(" {a}-{}", a + n), (a..=a + n).collect())),
        1 => (2020..2035_usize, 1..5_usize)
            .prop_map(|(a, s)| (format!(" {a}/{s}"), (2020..2200).skip(a - 2020).step_by(s).collect())),
    ]
}

/// Generates valid cron expressions.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let time = [field(0, 59, &[]), field(0, 59, &[]), field(0, 23, &[])];
    (time, days(), field(1, 12, MONTHS), years()).prop_map(
        |([second, minute, hour], (day, weekday, days), (month, months), (year, years))| Case {
            text: format!("{} {} {} {day} {month} {weekday}{year}", second.0, minute.0, hour.0),
            time: [second.1, minute.1, hour.1],
            days,
            months,
            years,
        },
    )
}
