//! Tests time zones: gaps, repeated hours, names, and times as text.

use rstest::rstest;
use windlass_cron::Zone;

use crate::{fires, utc};

#[rstest]
#[case::gap_is_skipped("0 30 2 * * ?", "Europe/Berlin", "2026-03-28T12:00:00Z", &["2026-03-30T00:30:00Z"])]
#[case::end_of_the_gap("0 0 3 * * ?", "Europe/Berlin", "2026-03-28T12:00:00Z", &["2026-03-29T01:00:00Z"])]
#[case::each_second_of_the_gap("* * 2-3 * * ?", "Europe/Berlin", "2026-03-29T00:59:59Z", &["2026-03-29T01:00:00Z"])]
#[case::second_pass("0 30 2 * * ?", "Europe/Berlin", "2026-10-24T12:00:00Z", &["2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"])]
#[case::during_the_first_pass("0 0/20 * * * ?", "Europe/Berlin", "2026-10-25T00:10:00Z", &["2026-10-25T01:00:00Z", "2026-10-25T01:20:00Z"])]
#[case::skipped_day("0 0 12 * * ?", "Pacific/Apia", "2011-12-29T23:00:00Z", &["2011-12-30T22:00:00Z"])]
#[case::rules("0 0 2 * * ?", "EST5EDT,M3.2.0,M11.1.0", "2026-03-08T05:00:00Z", &["2026-03-09T06:00:00Z"])]
#[case::any_case("0 0 0 * * ?", "asia/kolkata", "2026-01-01T00:00:00Z", &["2026-01-01T18:30:00Z"])]
fn fires_at(#[case] expression: &str, #[case] zone: &str, #[case] after: &str, #[case] expected: &[&str]) {
    let zone: Zone = zone.parse().unwrap();
    assert_eq!(fires(expression, &zone, after, expected.len()), expected);
}

#[rstest]
#[case("UTC", "2026-07-01T08:15:30Z", "2026-07-01T08:15:30Z")]
#[case("UTC", "2026-07-01T10:15:30+02:00", "2026-07-01T08:15:30Z")]
#[case("Europe/Berlin", "2026-07-01T08:15:30Z", "2026-07-01T10:15:30+02:00")]
#[case("Europe/Berlin", "2026-07-01T08:15", "2026-07-01T08:15:00+02:00")]
#[case("Europe/Berlin", "2026-07-01", "2026-07-01T00:00:00+02:00")]
#[case::skipped("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T03:30:00+02:00")]
#[case::repeated("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T02:30:00+02:00")]
fn reads_and_displays_times(#[case] zone: &str, #[case] text: &str, #[case] displayed: &str) {
    let zone: Zone = zone.parse().unwrap();
    let time = zone.time(text).unwrap();
    assert_eq!(zone.display(time).to_string(), displayed);
    assert_eq!(zone.time(displayed), Ok(time));
}

#[test]
fn refuses_others() {
    let error = "Europe/Berlni".parse::<Zone>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no time zone `Europe/Berlni`: expected a name of the IANA database, such as `UTC` or `Europe/Berlin`"
    );
    for text in ["", "noon", "2026-02-30", "26-01-01"] {
        let error = Zone::UTC.time(text).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("`{text}` is no time: expected one such as")),
            "{error}"
        );
    }
    assert_eq!(Zone::UTC.display(utc("2026-01-01T00:00:00.9Z")).to_string(), "2026-01-01T00:00:00Z");
}
