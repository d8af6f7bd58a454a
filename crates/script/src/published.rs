//! What a script publishes that is secret, found in whatever it printed.
//!
//! Failures show lines of an answer that can't be used, and what a failed job printed is kept; both must not show a token
//! that stands in it. So this looks by the names of the sensitive properties alone, at any depth, and also in a text that
//! is no YAML: too much is masked rather than too little.

use std::collections::BTreeSet;

use windlass_driver::texts;
use windlass_executor::Captured;
use windlass_model::PropertyName;
use windlass_source::{Kind, LoadOptions, Node, Reading, Source, load_one};

/// Returns the texts of all values that are printed below one of these names, or below a path that ends with it.
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
    found.retain(|secret| !secret.is_empty());
    found
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

/// Tells whether a key is a name, or a path such as `interfaces.properties.signals.token` that ends with it.
fn is_or_ends_with(key: &str, name: &str) -> bool {
    key.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Returns what follows a name and a colon in a text that can't be read: up to the closing quote, else to what ends a plain
/// scalar on its line.
fn after(text: &str, name: &str) -> Vec<String> {
    let value = |(at, _): (usize, &str)| {
        let rest = text[at + name.len()..].trim_start_matches(['"', '\'']).trim_start_matches(' ');
        let rest = rest.strip_prefix(':')?.trim_start_matches(' ');
        let line = rest.lines().next()?;
        let quoted = |quote: char| Some(line.strip_prefix(quote)?.split(quote).next()?.to_owned());
        let plain = || line.split([',', '}']).next().map(|value| value.trim().to_owned());
        quoted('"').or_else(|| quoted('\'')).or_else(plain)
    };
    text.match_indices(name).filter_map(value).collect()
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
    fn is_found_in_what_is_no_yaml() {
        for (stdout, expected) in [
            ("made it\ninstances:\n  i: {signals: {token: hunter2, url: x}}\n", "hunter2"),
            ("made it\ninstances:\n  \"token\" : \"hunter, 2\"}\n", "hunter, 2"),
            ("made it\ninstances:\n  token: 'it {is'\n", "it {is"),
            ("made it\ninstances:\n  token: é\u{fffd} \n", "é\u{fffd}"),
        ] {
            assert_eq!(found(stdout), [expected], "{stdout}");
        }
    }
}
