//! Tests messages, places and advice.

use std::fmt::Write as _;

use insta::assert_snapshot;
use rstest::rstest;
use windlass_cron::CronExpression;

/// Writes the errors under their places.
fn drawn(text: &str) -> String {
    let mut out = format!("{text}\n");
    for error in CronExpression::parse(text).unwrap_err() {
        let span = error.span();
        let marks = "^".repeat(span.len().max(1));
        writeln!(out, "{:indent$}{marks} {error}", "", indent = span.start).unwrap();
        if let Some(help) = error.help() {
            writeln!(out, "{:indent$}{help}", "", indent = span.start).unwrap();
        }
    }
    out
}

#[test]
fn all_are_reported_at_once() {
    assert_snapshot!(drawn("60 0/61 25 32 JANN MONDAY 20x"), @r"
    60 0/61 25 32 JANN MONDAY 20x
    ^^ 60 is no second: expected 0 to 59
    write 0
         ^^ the step 61 is outside of 1 to 59, the steps of a minute
            ^^ 25 is no hour: expected 0 to 23
               ^^ 32 is no day of the month: expected 1 to 31
                  ^^^^ `JANN` is no month
                  write `JAN`
                       ^^^^^^ `MONDAY` is no day of the week
                       write `MON`
                              ^^^ `20x` is no year
    ");
}

#[rstest]
#[case::unix("0/5 * * * *", "other crons begin with the minute: write `0 0/5 * * * ?`")]
#[case::unix_weekday("0 9 * * mon-fri", "other crons begin with the minute: write `0 0 9 ? * mon-fri`")]
#[case::daily("@daily", "write `0 0 0 * * ?`")]
#[case::every("@every 5m", "each fifth minute is `0 0/5 * * * ?`")]
#[case::both_days("0 0 0 * * *", "write `0 0 0 * * ?`")]
#[case::day_and_any_weekday("0 0 0 1 * *", "write `0 0 0 1 * ?`")]
#[case::weekday_and_any_day("0 0 0 * * FRI", "write `0 0 0 ? * FRI`")]
#[case::no_days("0 0 0 ? * ?", "write `0 0 0 * * ?`")]
#[case::two_rules("0 0 0 1 * FRI", "no expression selects by both: write one for each, and schedule both")]
#[case::sunday("0 0 0 ? * 0", "Sunday is 1 or `SUN`")]
#[case::midnight("0 0 24 * * ?", "midnight is 0")]
#[case::long_name("0 0 0 ? * Thursday", "write `THU`")]
#[case::misspelt("0 0 0 1 Noc ?", "write `NOV`")]
#[case::commas("1,,2 * * * * ?", "write values with one comma between them, such as `1,15`")]
#[case::question_mark("? * * * * ?", "write `*`")]
#[case::question_mark_in_a_list("0 0 0 ?,3 * ?", "`?` stands alone in its field")]
#[case::years("0 0 0 1 1 ? 2030-2020", "write `2020-2030`")]
#[case::list_with_last("0 0 0 1,L * ?", "write one expression for each, and schedule both")]
#[case::list_with_nearest("0 0 0 1W,15W * ?", "write one expression for each, and schedule both")]
#[case::special("0 0 0 L5 * ?", "the special days are `L`, `L-3`, `LW`, `L-3W` and `15W`")]
#[case::weekday_of_the_week("0 0 0 ? * 2W", "`W` stands in the field for the day of the month")]
#[case::no_days_here("0 0 L * * ?", "`L`, `W` and `#` select days")]
fn advises(#[case] text: &str, #[case] help: &str) {
    let errors = CronExpression::parse(text).unwrap_err();
    assert_eq!(errors[0].help(), Some(help), "{errors:?}");
}

/// Advice that contains an expression contains a valid one.
#[rstest]
#[case("0/5 * * * *")]
#[case("@yearly")]
#[case("@monthly")]
#[case("@weekly")]
#[case("@hourly")]
#[case("@other")]
#[case("0 0 0 * * FRI")]
fn advice_is_valid(#[case] text: &str) {
    let errors = CronExpression::parse(text).unwrap_err();
    let advised = errors[0].help().and_then(|help| help.split('`').nth(1)).unwrap();
    CronExpression::parse(advised).unwrap();
}

#[rstest]
#[case::too_few("0 0", "expected 6 or 7 fields, found 2", 3..3)]
#[case::too_many("0 0 0 * * ? * more words ", "expected 6 or 7 fields, found 9", 14..24)]
#[case::step("5/ * * * * ?", "expected a whole number after `/`, found ``", 2..2)]
#[case::two_steps("1/2/3 * * * * ?", "expected a whole number after `/`, found `2/3`", 2..5)]
#[case::large_step("0 0/60 * * * ?", "the step 60 is outside of 1 to 59, the steps of a minute", 4..6)]
#[case::no_step("1-5/0 * * * * ?", "the step 0 is outside of 1 to 59, the steps of a second", 4..5)]
#[case::huge("99999999999999999999 * * * * ?", "99999999999999999999 is no second: expected 0 to 59", 0..20)]
#[case::negative("-5 * * * * ?", "`-5` is no second", 0..2)]
#[case::open_range("0 5- * * * ?", "`` is no minute", 4..4)]
#[case::offset("0 0 0 L-31 * ?", "the offset 31 from the last day is outside of 0 to 30", 6..10)]
#[case::nth("0 0 0 ? * FRI#6", "expected a number from 1 to 5 after `#`, found `6`", 14..15)]
#[case::no_nth("0 0 0 ? * 6#", "expected a number from 1 to 5 after `#`, found ``", 12..12)]
#[case::several_nth("0 0 0 ? * 2#1,4#2", "`2#1` can't be combined with other days", 10..13)]
#[case::day_fields("0 0 0 1 * FRI", "exactly one of day of the month and day of the week must be `?`", 6..13)]
#[case::other_script("0 0 0 ? * Ä", "`Ä` is no day of the week", 10..12)]
fn has_a_place(#[case] text: &str, #[case] message: &str, #[case] span: std::ops::Range<usize>) {
    let errors = CronExpression::parse(text).unwrap_err();
    assert_eq!((errors[0].to_string().as_str(), errors[0].span()), (message, span));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(text.parse::<CronExpression>(), Err(errors[0].clone()));
}
