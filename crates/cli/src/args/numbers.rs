//! Numbers as arguments, with errors in plain words.

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
    // Positions in a text have 32 bits.
    let bytes = number.trim().parse::<u32>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes @ 1..) => Ok(bytes as usize),
        _ => Err("expected a number of bytes below 4GiB, such as `64MiB`".to_owned()),
    }
}
