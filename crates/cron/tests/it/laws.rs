//! Tests laws of expressions against a slow, independent rule.

use std::time::SystemTime;

use jiff::civil::date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use proptest::prelude::*;
use windlass_cron::{CronExpression, Zone};

use crate::generate::{Case, case};

/// Returns the first fire time after a time. The function tries one day after another up to the end of 2199. On a
/// matching day, the function tries the seconds of each matching minute.
fn counted(case: &Case, after: Timestamp) -> Option<Timestamp> {
    let start = after.to_zoned(TimeZone::UTC).datetime();
    let mut day = start.date();
    while day <= date(2199, 12, 31) {
        if case.has_date(day) {
            let first =
                if day == start.date() { start.checked_add(1.second()).unwrap() } else { day.at(0, 0, 0, 0) };
            let mut time = first;
            while time.date() == day {
                if case.has(time) {
                    return Some(time.to_zoned(TimeZone::UTC).unwrap().timestamp());
                }
                let step = if case.has_minute(time) { 1 } else { 60 - i64::from(time.second()) };
                time = time.checked_add(step.seconds()).unwrap();
            }
        }
        day = day.tomorrow().unwrap();
    }
    None
}

/// Generates times from 2000 to 2033.
fn time() -> impl Strategy<Value = Timestamp> {
    (946_684_800_i64..2_000_000_000).prop_map(|second| Timestamp::from_second(second).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The next fire time must be the first matching time after the given time.
    #[test]
    fn next_is_the_first(case in case(), after in time()) {
        let expression = CronExpression::parse(&case.text).unwrap();
        let next = expression.next(after.into()).map(|next| Timestamp::try_from(next).unwrap());
        prop_assert_eq!(next, counted(&case, after));
        if let Some(next) = next {
            prop_assert!(next > after);
            prop_assert!(case.has(next.to_zoned(TimeZone::UTC).datetime()));
        }
    }

    /// If a time is between two consecutive fire times, its next fire time is the second one.
    #[test]
    fn next_is_monotonic(case in case(), after in time(), more in 0..100_000_i64) {
        let expression = CronExpression::parse(&case.text).unwrap();
        let later = after.checked_add(more.seconds()).unwrap();
        let (first, second) = (expression.next(after.into()), expression.next(later.into()));
        match first {
            Some(first) if first > SystemTime::from(later) => prop_assert_eq!(second, Some(first)),
            Some(first) => prop_assert!(second.is_none_or(|second| second > first)),
            None => prop_assert_eq!(second, None),
        }
    }

    /// In a zone, the fire times are the matching local times. If a clock change repeats an hour, only the second pass
    /// of the hour has fire times.
    #[test]
    fn zones_repeat_and_skip(case in case(), at in 0..6_usize, near in -200_000..20_000_i64) {
        let (name, transition) = [
            ("America/New_York", "2026-03-08T07:00:00Z"),
            ("America/New_York", "2026-11-01T06:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
            ("Pacific/Apia", "2011-12-30T10:00:00Z"),
            ("America/Sao_Paulo", "2016-10-16T03:00:00Z"),
        ][at];
        let zone = TimeZone::get(name).unwrap();
        let after = transition.parse::<Timestamp>().unwrap().checked_add(near.seconds()).unwrap();
        let expression = CronExpression::parse(&case.text).unwrap();
        let next = expression.next_in(&name.parse().unwrap(), after.into());
        let next = next.map(|next| Timestamp::try_from(next).unwrap());
        let is_fire = |time: Timestamp| {
            let local = zone.to_datetime(time);
            case.has(local) && zone.to_ambiguous_timestamp(local).later().unwrap() == time
        };
        let limit = after.checked_add(72.hours()).unwrap();
        let (mut by_hand, mut second) = (None, after.as_second() + 1);
        while by_hand.is_none() && second <= limit.as_second() {
            let time = Timestamp::from_second(second).unwrap();
            by_hand = Some(time).filter(|time| is_fire(*time));
            // All offsets of these zones are whole minutes.
            second += if case.has_minute(zone.to_datetime(time)) { 1 } else { 60 - second % 60 };
        }
        prop_assert_eq!(next.filter(|next| *next <= limit), by_hand);
        if let Some(next) = next {
            prop_assert!(next > after && is_fire(next));
        }
    }

    /// The canonical form parses to the same expression.
    #[test]
    fn round_trip(case in case()) {
        let expression = CronExpression::parse(&case.text).unwrap();
        let text = expression.to_string();
        let again = CronExpression::parse(&text).unwrap();
        prop_assert_eq!(again.to_string(), text);
        prop_assert_eq!(again, expression);
    }

    /// Each valid expression has an explanation without holes.
    #[test]
    fn explanation_is_complete(case in case()) {
        let explanation = CronExpression::parse(&case.text).unwrap().explain();
        prop_assert!(!explanation.is_empty());
        prop_assert!(!explanation.contains("  ") && !explanation.contains(", ,"), "{}", explanation);
    }

    /// windlass must accept or refuse any text without a panic. If windlass refuses a text, the place of each error
    /// must lie within the text.
    #[test]
    fn any_text_is_read(text in prop_oneof![
        "[0-9*/,?LW#A-Z@ \\-]{0,40}",
        "[0-9*/,?LW# -]{1,5}( [0-9*/,?LW#A-Zäé-]{1,6}){5,6}",
        "\\PC{0,60}",
    ], after in time()) {
        match CronExpression::parse(&text) {
            Ok(expression) => {
                let _ = (expression.next(after.into()), expression.explain());
                prop_assert_eq!(CronExpression::parse(&expression.to_string()), Ok(expression));
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                prop_assert!(errors.is_sorted_by_key(|error| error.span().start));
                for error in errors {
                    prop_assert!(text.get(error.span()).is_some(), "{:?}", error);
                }
            }
        }
    }

    /// An arbitrary name of a zone must not cause a panic.
    #[test]
    fn any_zone_is_read(name in "\\PC{0,20}") {
        if let Ok(zone) = name.parse::<Zone>() {
            let _ = zone.time(&name);
        }
    }
}
