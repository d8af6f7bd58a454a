//! Numbers and durations as arguments, with errors in plain words.

use std::time::Duration;

/// Parses a whole number.
pub(crate) fn whole(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u32::MAX))
}

/// Parses a number of at least one.
pub(crate) fn counted(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("expected a whole number from 1 to {}", u16::MAX))
}

/// Parses a number of bytes: `1000`, `64KiB`, `64MiB`, `1GiB`.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("K", 10), ("M", 20), ("G", 30)];
    let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    // A size must fit 32 bits, like all positions in a text.
    let bytes = number.trim().parse::<u32>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes @ 1..) => Ok(bytes as usize),
        _ => Err("expected a number of bytes below 4GiB, such as `64MiB`".to_owned()),
    }
}

/// Parses a duration with one or several units, including days: `90m`, `1h30m`, `7d`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    windlass::model::clock::duration(text)
        .ok_or_else(|| "expected a time such as 30s, 90m, 1h30m or 1d".to_owned())
}

/// Parses a time in seconds: `30`, `30s`, `5m` or `1h`.
pub(crate) fn seconds(text: &str) -> Result<u32, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let seconds = factor.and_then(|factor| number.parse::<u32>().ok()?.checked_mul(factor));
    seconds.ok_or_else(|| "expected a number of seconds, or a time such as 30s, 5m or 1h".to_owned())
}

/// Parses a duration of more than zero: a number with a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("expected a number with a unit, such as 500ms, 30s, 10m or 1h".to_owned()),
    };
    let time =
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(millis)).filter(|time| *time > 0);
    time.map(Duration::from_millis).ok_or_else(|| "expected a time of more than zero, such as 30s".to_owned())
}
