//! Ranges in the names of hosts: `web[01:03]`, `db-[a:c]`, `node[0:10:2]`. A port may follow a name: `web[01:03]:2222`.

/// Splits a pattern of host names into the pattern without a port, and the port. Brackets may enclose the pattern, as
/// in `[fe80::1]:22`.
///
/// As Ansible does, the function looks for a port in the brackets, too. A port in the brackets has precedence over a
/// port behind the brackets. So `[1:3]:22` is the host `1` with the port 3, and the port 22 is ignored.
pub(super) fn split_port(pattern: &str) -> (&str, Option<&str>) {
    if let Some((names, outer)) = bracketed(pattern) {
        let (names, inner) = split_plain_port(names);
        return (names, inner.or(Some(outer)));
    }
    split_plain_port(pattern)
}

fn split_plain_port(pattern: &str) -> (&str, Option<&str>) {
    match pattern.rsplit_once(':') {
        Some((names, port)) if is_port(port) && may_precede_port(names) => (names, Some(port)),
        _ => (pattern, None),
    }
}

/// Splits a pattern such as `[fe80::1]:22` into the text in the outer brackets, and the port.
fn bracketed(pattern: &str) -> Option<(&str, &str)> {
    let (names, port) = pattern.strip_prefix('[')?.rsplit_once("]:")?;
    let mut depth = 0_i32;
    let is_balanced = names.chars().all(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        depth >= 0
    });
    (is_port(port) && !names.is_empty() && is_balanced && depth == 0).then_some((names, port))
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Tells whether the colon that follows `pattern` may separate a host name from a port. The result is `false` in two
/// cases:
///
/// - `pattern` contains another colon outside of ranges, as an IPv6 address does.
/// - A range in `pattern` is not closed. The colon that follows `pattern` is then a part of this range.
fn may_precede_port(pattern: &str) -> bool {
    let mut inside = false;
    for c in pattern.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            ':' if !inside => return false,
            _ => {}
        }
    }
    !inside
}

/// Returns the host names that a pattern stands for.
///
/// # Errors
/// Returns an error if the pattern is invalid, or if its ranges stand for more than `most` names. The error is a text
/// such as "has a range without `]`". The caller writes the pattern in front of the text.
pub(super) fn expanded(pattern: &str, most: usize) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((range, behind)) = after.split_once(']') else {
            return Err("has a range without `]`".to_owned());
        };
        let values = values(range, most)?;
        if names.len().saturating_mul(values.len()) > most {
            return Err("stands for too many hosts".to_owned());
        }
        names = names
            .iter()
            .flat_map(|name| values.iter().map(move |value| format!("{name}{before}{value}")))
            .collect();
        rest = behind;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// Returns the values of a range, which has the form `first:last` or `first:last:step`. `first` and `last` are either
/// two numbers or two letters. A missing `first` means 0.
///
/// # Errors
/// Returns an error if the range is invalid, or if a range of numbers has more than `most` values. For the
/// form of the error, see [`expanded`].
fn values(range: &str, most: usize) -> Result<Vec<String>, String> {
    let wrong = || format!("has `[{range}]`, which is no range such as `[01:03]` or `[a:c]`");
    let parts: Vec<&str> = range.split(':').collect();
    let (first, last, step) = match parts[..] {
        [first, last] => (first, last, 1),
        [first, last, step] => {
            (first, last, step.parse::<usize>().ok().filter(|step| *step > 0).ok_or_else(wrong)?)
        }
        _ => return Err(wrong()),
    };
    let backwards = || format!("has `[{range}]`, a range that ends before it begins");
    let first = if first.is_empty() { "0" } else { first };
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    };
    if let (Some(first), Some(last)) = (letter(first), letter(last)) {
        if last < first {
            return Err(backwards());
        }
        return Ok((first..=last).step_by(step).map(|letter| char::from(letter).to_string()).collect());
    }
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<usize>().ok())?;
    let (Some(from), Some(to)) = (number(first), number(last)) else { return Err(wrong()) };
    let width = if first.starts_with('0') && first.len() > 1 { first.len() } else { 0 };
    if to < from {
        return Err(backwards());
    }
    if to.saturating_sub(from) / step >= most {
        return Err("stands for too many hosts".to_owned());
    }
    Ok((from..=to).step_by(step).map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none("web1", "web1")]
    #[case::numbers("web[9:11].lan", "web9.lan web10.lan web11.lan")]
    #[case::zeros("web[01:03]", "web01 web02 web03")]
    #[case::letters("db-[a:c]", "db-a db-b db-c")]
    #[case::steps("n[0:10:5]", "n0 n5 n10")]
    #[case::from_zero("n[:1]", "n0 n1")]
    #[case::two("r[1:2]n[a:b]", "r1na r1nb r2na r2nb")]
    #[case::backwards("n[3:1]", "error: has `[3:1]`, a range that ends before it begins")]
    #[case::letters_backwards("n[a:Z]", "error: has `[a:Z]`, a range that ends before it begins")]
    #[case::open("n[1:2", "error: has a range without `]`")]
    #[case::words("n[one:two]", "error: has `[one:two]`, which is no range such as `[01:03]` or `[a:c]`")]
    #[case::no_step("n[1:2:0]", "error: has `[1:2:0]`, which is no range such as `[01:03]` or `[a:c]`")]
    #[case::many("n[1:99][1:99]", "error: stands for too many hosts")]
    #[case::huge("n[0:99999999999]", "error: stands for too many hosts")]
    fn ranges(#[case] pattern: &str, #[case] expected: &str) {
        let shown = match expanded(pattern, 100) {
            Ok(names) => names.join(" "),
            Err(problem) => format!("error: {problem}"),
        };
        assert_eq!(shown, expected);
    }
}
