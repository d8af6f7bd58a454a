//! Tests explanations and canonical forms.

use rstest::rstest;
use windlass_cron::CronExpression;

#[rstest]
#[case("* * * * * ?", "every second")]
#[case("0/30 * * * * ? *", "every 30 seconds")]
#[case("0 * * * * ?", "every minute")]
#[case("0 0/5 * * * ? *", "every 5 minutes")]
#[case("0 0/7 * * * ?", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of each hour")]
#[case("0 0 * * * ?", "every hour")]
#[case("0 0 */2 * * ?", "every 2 hours")]
#[case("0 0 9-17 * * ?", "on the hour, from 09:00 to 17:59")]
#[case("0 0 12 * * ?", "at 12:00, every day")]
#[case("15 10,44 14 ? 3 WED", "at 14:10:15 and 14:44:15, on Wednesday, in March")]
#[case("0 0/5 14 * * ?", "every 5 minutes, from 14:00 to 14:59")]
#[case("0 0/30 9,14-16 * * ?", "every 30 minutes, in hours 9 and 14 to 16")]
#[case("0/30 59 1 * * ?", "every 30 seconds, in minute 59, from 01:00 to 01:59")]
#[case("5 * * * * ?", "at second 5 of each minute")]
#[case("0 15 10 ? * MON-FRI", "at 10:15, Monday to Friday")]
#[case("0 15 10 ? * L", "at 10:15, on Saturday")]
#[case("0 15 10 15 * ?", "at 10:15, on day 15 of the month")]
#[case("0 15 10 1/10 * ?", "at 10:15, on days 1, 11, 21 and 31 of the month")]
#[case("0 15 10 L * ?", "at 10:15, on the last day of the month")]
#[case("0 15 10 L-1 * ?", "at 10:15, 1 day before the last day of the month")]
#[case("0 15 10 LW * ?", "at 10:15, on the last weekday of the month")]
#[case(
    "0 15 10 L-2W * ?",
    "at 10:15, on the weekday nearest to the day 2 days before the last day of the month"
)]
#[case("0 15 10 15W * ?", "at 10:15, on the weekday nearest to day 15 of the month")]
#[case("0 15 10 ? * 6L 2026-2030", "at 10:15, on the last Friday of the month, from 2026 to 2030")]
#[case("0 15 10 ? * 6#3", "at 10:15, on the third Friday of the month")]
#[case("0 0 0 1 1/3 ? 2026", "at 00:00, on day 1 of the month, in January, April, July and October, in 2026")]
#[case(
    "0 0 0 * NOV-FEB ? 2026/12",
    "at 00:00, each day, in November to February, in every 12th year from 2026"
)]
#[case("0 0 0 * * ? 1960", "never, because no date from 1970 to 2199 matches")]
#[case("0 0 0 30 2 ?", "never, because no date from 1970 to 2199 matches")]
fn explains(#[case] expression: &str, #[case] explanation: &str) {
    assert_eq!(CronExpression::parse(expression).unwrap().explain(), explanation);
}

#[rstest]
#[case("0/30 * * * * ? *", "0/30 * * * * ?")]
#[case("  0\t0 0 ? * *  ", "0 0 0 * * ?")]
#[case("0 0 0 ? jan-3 2-fri 2026", "0 0 0 ? JAN-MAR MON-FRI 2026")]
#[case("/5 */1 0-23/1 l-0 * ?", "*/5 * 0-23 L * ?")]
#[case("0/0 0 0 l-3w * ?", "0 0 0 L-3W * ?")]
#[case("0 0 0 ? * 6#3", "0 0 0 ? * FRI#3")]
#[case("0 0 0 ? * fril", "0 0 0 ? * FRIL")]
#[case("0 0 0 ? * L", "0 0 0 ? * SAT")]
#[case("5,* 0 0 007W * ?", "* 0 0 7W * ?")]
fn has_a_canonical_form(#[case] expression: &str, #[case] canonical: &str) {
    let parsed = CronExpression::parse(expression).unwrap();
    assert_eq!(parsed.to_string(), canonical);
    assert_eq!(CronExpression::parse(canonical), Ok(parsed));
}
