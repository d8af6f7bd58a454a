//! Tests expressions: by tables, by laws, and by fire times that Quartz computed.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod corpus;
mod errors;
mod explain;
mod generate;
mod laws;
mod times;
mod zones;

use std::time::SystemTime;

use windlass_cron::{CronExpression, Zone};

/// Returns a time in UTC.
fn utc(text: &str) -> SystemTime {
    Zone::UTC.time(text).unwrap()
}

/// Returns the next fire times in UTC.
fn fires(expression: &str, zone: &Zone, after: &str, count: usize) -> Vec<String> {
    let expression: CronExpression =
        expression.parse().unwrap_or_else(|error| panic!("{expression}: {error}"));
    let mut times = vec![];
    let mut after = utc(after);
    while times.len() < count
        && let Some(next) = expression.next_in(zone, after)
    {
        times.push(Zone::UTC.display(next).to_string());
        after = next;
    }
    times
}
