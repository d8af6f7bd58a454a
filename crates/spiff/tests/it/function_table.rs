//! Tests that the page of functions is complete. A doc test of the page checks its examples.

use std::collections::BTreeSet;

use windlass_spiff::functions::Registry;

const PAGE: &str = include_str!("../../docs/functions.md");

/// Returns the names of functions in the first column of the tables with examples.
fn described() -> BTreeSet<&'static str> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `") && line.ends_with("` |"));
    let examples = rows.filter(|line| line.contains("` → `"));
    let forms = examples.flat_map(|line| line[2..].split(" | ").next().unwrap_or_default().split("`, `"));
    forms.map(|form| form.trim_matches('`')).map(|form| form.split('(').next().unwrap_or(form)).collect()
}

#[test]
fn every_function_is_on_the_page() {
    let intrinsic = ["catch", "defined", "optional", "require", "stub", "sync", "valid"];
    let registry = Registry::standard();
    let known: BTreeSet<&str> = registry.names().chain(intrinsic).collect();
    assert_eq!(described(), known);
}
