//! Tests fire times in UTC.

use rstest::rstest;
use windlass_cron::{CronExpression, Zone};

use crate::{fires, utc};

#[rstest]
#[case::leap_days("0 0 0 29 2 ?", "2096-01-01", &["2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z"])]
#[case::fifth_monday_of_a_leap_february("0 0 0 ? 2 2#5", "2020-01-01", &["2044-02-29T00:00:00Z"])]
#[case::last_day_of_february("0 0 0 L 2 ?", "2023-01-01", &["2023-02-28T00:00:00Z", "2024-02-29T00:00:00Z"])]
#[case::weekday_in_the_month("0 0 0 1W 8 ?", "2026-01-01", &["2026-08-03T00:00:00Z"])]
#[case::last_weekday("0 0 0 LW 1-5 ?", "2026-01-01", &["2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z", "2026-03-31T00:00:00Z"])]
#[case::short_months_are_skipped("0 0 0 31 * ?", "2026-01-31", &["2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"])]
#[case::short_months_have_no_nearest_weekday("0 0 0 31W * ?", "2026-02-01", &["2026-03-31T00:00:00Z", "2026-05-29T00:00:00Z"])]
#[case::offset_beyond_a_month("0 0 0 L-30 * ?", "2026-01-02", &["2026-03-01T00:00:00Z"])]
#[case::end_of_a_year("59 59 23 * * ?", "2026-12-31T23:59:58Z", &["2026-12-31T23:59:59Z", "2027-01-01T23:59:59Z"])]
#[case::exactly_at_a_fire_time("0 0 12 * * ?", "2026-01-01T12:00:00Z", &["2026-01-02T12:00:00Z"])]
#[case::a_fraction_later("* * * * * ?", "2026-01-01T12:00:00.999Z", &["2026-01-01T12:00:01Z"])]
#[case::before_the_epoch("0 0 0 * * ?", "1901-05-05", &["1970-01-01T00:00:00Z"])]
#[case::last_year("0 0 0 1 1 ?", "2198-06-01", &["2199-01-01T00:00:00Z"])]
fn fires_at(#[case] expression: &str, #[case] after: &str, #[case] expected: &[&str]) {
    let found = fires(expression, &Zone::UTC, after, expected.len());
    assert_eq!(found, expected);
}

/// The search ends, also where it finds nothing.
#[rstest]
#[case::thirtieth_of_february("0 0 0 30 2 ?", "1970-01-01")]
#[case::past_year("0 0 0 * * ? 2020", "2021-01-01")]
#[case::no_leap_year("* * * 29 2 ? 2100", "2026-01-01")]
#[case::year_before_all("0 0 0 1 1 ? 1969", "1960-01-01")]
#[case::after_all_years("* * * * * ?", "2199-12-31T23:59:59Z")]
#[case::end_of_time("* * * * * ?", "9999-12-30T22:00:00Z")]
fn never_fires(#[case] expression: &str, #[case] after: &str) {
    let expression = CronExpression::parse(expression).unwrap();
    assert_eq!(expression.next(utc(after)), None);
    let berlin: Zone = "CET-1CEST,M3.5.0,M10.5.0/3".parse().unwrap();
    assert_eq!(expression.next_in(&berlin, utc(after)), None);
}

/// If all dates of an expression are in the past, the expression has fired, so the result is `false`. The result is
/// `true` only if none of its dates exists in the calendar, for example 30 February.
#[rstest]
#[case("0 0 0 30 2 ?", true)]
#[case("* * * 29 2 ? 2100", true)]
#[case("* * * ? 2 2#5 2100-2199", false)]
#[case("0 0 0 29 2 ? 2000", false)]
#[case("0 0 0 * * ? 2020", false)]
fn is_told_to_never_fire(#[case] expression: &str, #[case] expected: bool) {
    assert_eq!(CronExpression::parse(expression).unwrap().never_fires(), expected);
}
