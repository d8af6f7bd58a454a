//! Detection of secret values in any output of a script.
//!
//! Failures show lines of an invalid answer, and the output of a failed job is stored. Neither may contain a
//! secret. So this module searches for the names of sensitive properties at any depth, even in a text that is
//! not valid YAML. In doubt, the module counts a text as secret.

use std::collections::BTreeSet;

use windlass_driver::texts;
use windlass_executor::Captured;
use windlass_model::PropertyName;
use windlass_source::{Kind, LoadOptions, Node, Reading, Source, load_one};

/// Returns the texts of all sensitive values in an output. `sensitive` contains the names of the sensitive
/// properties. A value is sensitive if its key is such a name, or is a path that ends with such a name, for
/// example `interfaces.properties.signals.token`.
pub(crate) fn secrets(stdout: &Captured, sensitive: &BTreeSet<PropertyName>) -> Vec<String> {
    let mut found = Vec::new();
    if sensitive.is_empty() || stdout.total() == 0 {
        return found;
    }
    let text = stdout.text();
    let read = Source::from_bytes("stdout", text.clone().into_bytes())
        .map(|source| load_one(&source, &LoadOptions::default()));
    match read {
        Ok(read) if !read.diagnostics.has_errors() => {
            read.root.iter().for_each(|root| below(root, sensitive, &mut found));
        }
        _ => sensitive.iter().for_each(|name| found.extend(after(&text, name.as_str()))),
    }
    if stdout.omitted() > 0 {
        found = found.iter().flat_map(|secret| halves(secret)).collect();
    }
    found.retain(|secret| !secret.is_empty());
    found
}

/// Returns the parts of a secret that was found in the captured output of a script.
///
/// From a long output, the runtime captures only the beginning and the end. The text of such an output contains a
/// marker in the middle, such as `[… 5000 bytes left out …]`. A secret may begin before the marker, and end after the
/// marker. In this case, the secret contains the marker, and the function returns two parts: the text before the
/// marker, and the text after the marker. Otherwise, the function returns the whole secret.
fn halves(secret: &str) -> Vec<String> {
    let parts = secret
        .split_once("[… ")
        .and_then(|(head, rest)| Some((head, rest.split_once(" bytes left out …]")?.1)));
    match parts {
        Some((head, tail)) => vec![head.to_owned(), tail.to_owned()],
        None => vec![secret.to_owned()],
    }
}

fn below(node: &Node, sensitive: &BTreeSet<PropertyName>, found: &mut Vec<String>) {
    match node.kind() {
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| below(item, sensitive, found)),
        Kind::Mapping(mapping) => {
            for entry in mapping {
                let key = entry.key.text();
                if sensitive.iter().any(|name| is_or_ends_with(key, name.as_str())) {
                    found.extend(texts(&entry.value.to_value(Reading::Script)));
                } else {
                    below(&entry.value, sensitive, found);
                }
            }
        }
    }
}

/// Tells whether `key` equals `name`, or is a path that ends with `name`. For example, the path
/// `interfaces.properties.signals.token` ends with the name `token`.
fn is_or_ends_with(key: &str, name: &str) -> bool {
    key.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Returns the values that follow a name and a colon in a text that is not valid YAML. In the line of the name, a
/// quoted value ends at its closing quote. A plain scalar ends at the end of this line, at a comma, or at `}`. Quoted
/// values are returned in raw and in decoded form. The function also returns the lines below the name that are
/// indented deeper than the line of the name.
fn after(text: &str, name: &str) -> Vec<String> {
    let values = |(at, _): (usize, &str)| {
        let rest = text[at + name.len()..].trim_start_matches(['"', '\'']).trim_start_matches(' ');
        let rest = rest.strip_prefix(':')?.trim_start_matches(' ');
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let first = match rest.chars().next()? {
            '"' => double_quoted(&rest[1..]),
            '\'' => single_quoted(&rest[1..]),
            '|' | '>' => Vec::new(),
            _ => {
                let line = rest.lines().next().unwrap_or_default();
                line.split([',', '}']).next().map(|value| value.trim().to_owned()).into_iter().collect()
            }
        };
        Some(first.into_iter().chain(deeper(rest, indentation(&text[line..]))))
    };
    text.match_indices(name).filter_map(values).flatten().collect()
}

/// Reads the lines below the first line of `text`, up to the first line that is not indented deeper than `indent`.
/// Blank lines do not end the search. The dashes of lists, and quotes around a line, are removed.
///
/// The result contains, in this order:
///
/// - all lines as one text, joined by line breaks
/// - all lines as one text, joined by spaces
/// - each line alone
fn deeper(text: &str, indent: usize) -> Vec<String> {
    let below = text.lines().skip(1);
    let lines: Vec<&str> = below
        .take_while(|line| line.trim().is_empty() || indentation(line) > indent)
        .map(|line| line.trim().trim_start_matches("- ").trim_matches(['"', '\'']))
        .collect();
    let joined = [lines.join("\n"), lines.join(" ")];
    joined.into_iter().chain(lines.iter().map(|line| (*line).to_owned())).collect()
}

/// Returns the number of spaces at the beginning of a text.
fn indentation(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// Returns the content of a string in double quotes, first in decoded and then in raw form. If the content can't be
/// decoded, returns only the raw form.
///
/// `text` begins after the opening quote. The content ends at the closing quote, or at the end of the line.
fn double_quoted(text: &str) -> Vec<String> {
    let mut is_escaped = false;
    let end = text.find(|c: char| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let written = text[..end.unwrap_or(text.len())].lines().next().unwrap_or_default();
    let meant = serde_json::from_str::<String>(&format!("\"{written}\"")).ok();
    meant.into_iter().chain([written.to_owned()]).collect()
}

/// Returns the content of a string in single quotes, in decoded and in raw form. `text` begins after the opening
/// quote. If the line contains no closing quote, returns the rest of the line in raw form only.
fn single_quoted(text: &str) -> Vec<String> {
    let line = text.lines().next().unwrap_or_default();
    let mut end = 0;
    while let Some(found) = line[end..].find('\'') {
        end += found;
        if !line[end + 1..].starts_with('\'') {
            return vec![line[..end].replace("''", "'"), line[..end].to_owned()];
        }
        end += 2;
    }
    vec![line.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(stdout: &str) -> Vec<String> {
        let sensitive = ["token", "keys"].map(|name| name.parse().unwrap()).into();
        secrets(&Captured::whole(stdout.as_bytes().to_vec()), &sensitive)
    }

    #[test]
    fn is_found_wherever_an_answer_has_it() {
        for (stdout, expected) in [
            ("instances: {i: {interfaces: {properties: {signals: {token: hunter2}}}}}", &["hunter2"][..]),
            ("instances: {i: {$set: {interfaces.properties.signals.token: hunter2}}}", &["hunter2"]),
            ("a: [{token: 'one'}, {keys: {first: two, port: 4711, on: true}}]", &["one", "two", "4711"]),
            ("token: |\n  two\n  lines\n", &["two\nlines\n"]),
            ("{tokens: 1, a_token: 2, token: '', token2: 3}", &[]),
            ("a: {token: null}", &[]),
        ] {
            assert_eq!(found(stdout), expected, "{stdout}");
        }
    }

    #[test]
    fn both_ends_are_found_of_one_that_was_cut() {
        let sensitive = ["token"].map(|name| name.parse().unwrap()).into();
        let cut = Captured::new(*b"i: {token: hunter", *b"dor, url: x}", 1_000);
        assert_eq!(secrets(&cut, &sensitive), ["hunter", "dor"]);
    }

    #[test]
    fn is_found_in_what_is_no_yaml() {
        for (stdout, expected) in [
            ("made it\ninstances:\n  i: {signals: {token: hunter2, url: x}}\n", "hunter2"),
            ("made it\ninstances:\n  \"token\" : \"hunter, 2\"}\n", "hunter, 2"),
            ("made it\ninstances:\n  token: 'it {is'\n", "it {is"),
            ("made it\ninstances:\n  token: é\u{fffd} \n", "é\u{fffd}"),
        ] {
            assert!(found(stdout).iter().any(|found| found == expected), "{stdout}");
        }
    }

    #[test]
    fn is_found_as_it_is_meant_in_what_is_no_yaml() {
        for (stdout, expected) in [
            (r#"} "token": "a\"b\\c\u00e9", x"#, "a\"b\\cé"),
            ("} token: 'it''s', x", "it's"),
            ("}\n  token: |\n    two\n    lines\n  url: x\n", "two\nlines"),
            ("} token: \"never closed\nurl: x", "never closed"),
            ("}\ntoken:\n  hunter2\nurl: x", "hunter2"),
            ("}\ntoken:\n  - one\n  - 'hunter2'\nurl: x", "hunter2"),
            ("}\ntoken: two\n  words\nurl: x", "words"),
            ("}\n  token: '-----BEGIN\n\n    hunter2'\n  url: x", "hunter2"),
        ] {
            assert!(found(stdout).iter().any(|found| found == expected), "{stdout}: {:?}", found(stdout));
            assert!(!found(stdout).iter().any(|found| found.contains("url")), "{stdout}");
        }
    }
}
