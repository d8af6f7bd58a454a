//! Explains expressions in English.

use crate::expression::CronExpression;
use crate::field::Field;
use crate::part::{Days, Extent, Part};

impl CronExpression {
    /// Explains the expression in English: `every 5 minutes, from 14:00 to 14:59, Monday to Friday`.
    pub fn explain(&self) -> String {
        if self.never_fires() {
            return "never, because no date from 1970 to 2199 matches".to_owned();
        }
        let mut phrases = self.time_of_day();
        let is_clock = phrases.first().is_some_and(|phrase| phrase.starts_with("at") && phrase.contains(':'));
        let days = days(&self.days);
        match days {
            Some(days) => phrases.push(days),
            None if is_clock && self.months == [Part::EVERY] => phrases.push("every day".to_owned()),
            None if is_clock => phrases.push("each day".to_owned()),
            None => {}
        }
        if self.months != [Part::EVERY] {
            phrases.push(format!("in {}", listed(Field::Month, &self.months)));
        }
        if self.years != [Part::EVERY] {
            phrases.push(years(&self.years));
        }
        phrases.join(", ")
    }

    fn time_of_day(&self) -> Vec<String> {
        if let Some(times) = self.clock_times() {
            return vec![format!("at {}", joined(&times))];
        }
        let zero = [Part::single(0)];
        let (seconds, minutes) = (self.seconds != zero, self.minutes != zero);
        let every_hour = self.hours == [Part::EVERY];
        let mut phrases = vec![];
        if seconds {
            phrases.push(pace(Field::Second, &self.seconds));
        }
        match (seconds, self.minutes.as_slice()) {
            (true, [Part::EVERY]) => {}
            (true, parts) => phrases.push(format!("in {}", counted(Field::Minute, parts))),
            (false, parts) if minutes => phrases.push(pace(Field::Minute, parts)),
            (false, _) => return vec![pace(Field::Hour, &self.hours)],
        }
        if !every_hour {
            phrases.push(hours(&self.hours));
        }
        phrases
    }

    /// Returns the times of the day, such as `14:00`. Returns `None` if there are more than six times. Also
    /// returns `None` if the hours, minutes or seconds contain a range or a step.
    fn clock_times(&self) -> Option<Vec<String>> {
        let values = |parts: &[Part]| -> Option<Vec<u16>> { parts.iter().map(|part| part.value()).collect() };
        let hours = values(&self.hours)?;
        let minutes = values(&self.minutes)?;
        let seconds = values(&self.seconds)?;
        let exact = seconds != [0];
        let mut times = vec![];
        for hour in &hours {
            for minute in &minutes {
                for second in &seconds {
                    times.push(if exact {
                        format!("{hour:02}:{minute:02}:{second:02}")
                    } else {
                        format!("{hour:02}:{minute:02}")
                    });
                }
            }
        }
        times.sort();
        times.dedup();
        (times.len() <= 6).then_some(times)
    }
}

impl Part {
    /// Returns the value of a part that covers only one value; none for any other part.
    fn value(self) -> Option<u16> {
        match self {
            Self { extent: Extent::Single(value), step: None } => Some(value),
            _ => None,
        }
    }
}

/// Describes the selected seconds, minutes or hours: `every 5 minutes`, `at minutes 10 and 44 of each hour`.
/// `field` must be one of these three fields.
fn pace(field: Field, parts: &[Part]) -> String {
    let size = field.range().end() + 1;
    match *parts {
        [Part::EVERY] => format!("every {field}"),
        [Part { extent: Extent::Every | Extent::Single(0), step: Some(step) }]
            if size.is_multiple_of(step) =>
        {
            match step {
                1 => format!("every {field}"),
                _ => format!("every {step} {field}s"),
            }
        }
        _ if field == Field::Hour => format!("on the hour, {}", hours(parts)),
        _ => {
            let whole = if field == Field::Second { Field::Minute } else { Field::Hour };
            format!("at {} of each {whole}", counted(field, parts))
        }
    }
}

/// Describes the hours of a day: `from 09:00 to 17:59`, `in hours 9 and 14 to 16`.
fn hours(parts: &[Part]) -> String {
    match *parts {
        [Part { extent: Extent::Single(hour), step: None }] => format!("from {hour:02}:00 to {hour:02}:59"),
        [Part { extent: Extent::Range(first, last), step: None }] => {
            format!("from {first:02}:00 to {last:02}:59")
        }
        _ => format!("in {}", counted(Field::Hour, parts)),
    }
}

/// Describes the days; `None` if each day is selected.
fn days(rule: &Days) -> Option<String> {
    let nearest = "the weekday nearest to";
    let name = |day: u16| Field::DayOfWeek.name_of(day).unwrap_or_default();
    Some(match rule {
        Days::Every => return None,
        Days::OfMonth(parts) => format!("on {} of the month", counted(Field::DayOfMonth, parts)),
        Days::Last { before: 0, weekday: false } => "on the last day of the month".to_owned(),
        Days::Last { before: 0, weekday: true } => "on the last weekday of the month".to_owned(),
        Days::Last { before, weekday: false } => {
            format!("{} before the last day of the month", number_of_days(*before))
        }
        Days::Last { before, weekday: true } => {
            format!("on {nearest} the day {} before the last day of the month", number_of_days(*before))
        }
        Days::NearestWeekday(day) => format!("on {nearest} day {day} of the month"),
        Days::OfWeek(parts) => match parts.as_slice() {
            [Part { extent: Extent::Range(..), step: None }] => listed(Field::DayOfWeek, parts),
            _ => format!("on {}", listed(Field::DayOfWeek, parts)),
        },
        Days::LastOfWeek(day) => format!("on the last {} of the month", name(*day)),
        Days::NthOfWeek { day, nth } => format!("on the {} {} of the month", ordinal(*nth), name(*day)),
    })
}

fn years(parts: &[Part]) -> String {
    match *parts {
        [Part { extent: Extent::Range(first, last), step: None }] => format!("from {first} to {last}"),
        _ => format!("in {}", listed(Field::Year, parts)),
    }
}

/// Describes the selected values of a field, with the field's name before them: `minutes 10 and 44`,
/// `minute 5`.
fn counted(field: Field, parts: &[Part]) -> String {
    let noun = if field == Field::DayOfMonth { "day".to_owned() } else { field.to_string() };
    match *parts {
        [part] if part.value().is_some() => format!("{noun} {}", listed(field, parts)),
        [Part { extent: Extent::Range(..), step: None }] => format!("{noun}s {}", listed(field, parts)),
        _ if parts.iter().all(|part| part.step.is_none()) => format!("{noun}s {}", listed(field, parts)),
        _ => format!("{noun}s {}", joined(&all(field, parts))),
    }
}

/// Lists the selected values of a field: `Monday, Wednesday and Friday`, `9 to 17 and 20`. A part with a
/// step is shown as the values that it selects, except in the field of years.
fn listed(field: Field, parts: &[Part]) -> String {
    let mut words = vec![];
    for part in parts {
        match part {
            Part { extent: Extent::Range(first, last), step: None } => {
                words.push(format!("{} to {}", word(field, *first), word(field, *last)));
            }
            Part { extent: Extent::Single(first), step: Some(step) } if field == Field::Year => {
                words.push(format!("every {} year from {first}", ordinal(*step)));
            }
            Part { extent: Extent::Range(first, last), step: Some(step) } if field == Field::Year => {
                words.push(format!("every {} year from {first} to {last}", ordinal(*step)));
            }
            Part { extent: Extent::Every, step: Some(step) } if field == Field::Year => {
                words.push(format!("every {} year from {}", ordinal(*step), field.range().start()));
            }
            part => words.extend(part.values(field).map(|value| word(field, value))),
        }
    }
    let mut seen = vec![];
    words.retain(|word| {
        let is_new = !seen.contains(word);
        seen.push(word.clone());
        is_new
    });
    joined(&words)
}

/// Returns the selected values of a field as texts, sorted and without repetitions: `1`, `16`, `31`.
fn all(field: Field, parts: &[Part]) -> Vec<String> {
    let mut values: Vec<u16> = parts.iter().flat_map(|part| part.values(field)).collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|value| word(field, value)).collect()
}

fn word(field: Field, value: u16) -> String {
    field.name_of(value).map_or_else(|| value.to_string(), str::to_owned)
}

fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [word] => word.clone(),
        [words @ .., last] => format!("{} and {last}", words.join(", ")),
    }
}

fn number_of_days(count: u16) -> String {
    if count == 1 { "1 day".to_owned() } else { format!("{count} days") }
}

fn ordinal(n: u16) -> String {
    let small = ["first", "second", "third", "fourth", "fifth"];
    match (small.get(usize::from(n).wrapping_sub(1)), n % 10, n % 100) {
        (Some(word), ..) => (*word).to_owned(),
        (_, 1, tens) if tens != 11 => format!("{n}st"),
        (_, 2, tens) if tens != 12 => format!("{n}nd"),
        (_, 3, tens) if tens != 13 => format!("{n}rd"),
        _ => format!("{n}th"),
    }
}
