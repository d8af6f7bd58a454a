//! Tests how many nodes of a document a pass visits.

use std::fmt::Write as _;

use windlass_source::Source;
use windlass_spiff::{Engine, Limits};

/// Processes a template with at most `steps` steps.
fn within(steps: u64, template: &str) -> Result<String, String> {
    let engine = Engine::new().with_limits(Limits { steps, ..Limits::default() });
    let result = engine.process_texts(&Source::new("t.yml", template), &[]);
    result.map(|result| result.to_yaml()).map_err(|error| error.to_string())
}

fn chain(length: usize, link: impl Fn(usize) -> String) -> String {
    (1..length).fold("n00000: 1\n".to_owned(), |mut text, at| {
        let _ = writeln!(text, "n{at:05}: (( {} ))", link(at));
        text
    })
}

#[test]
fn a_chain_of_references_takes_linear_steps() {
    let length = 5_000;
    let result = within(200_000, &chain(length, |at| format!("n{:05} + 1", at - 1)));
    assert_eq!(result.expect("a result").lines().last(), Some("n04999: 5000"));
}

#[test]
fn a_chain_against_the_order_of_names_takes_linear_steps() {
    let length = 5_000;
    let links = chain(length, |at| if at + 1 == length { "7".into() } else { format!("n{:05} + 1", at + 1) });
    assert_eq!(within(200_000, &links).expect("a result").lines().nth(1), Some("n00001: 5005"));
}

#[test]
fn a_chain_in_a_failing_map_takes_linear_steps() {
    let length = 1_000;
    let links = chain(length, |at| if at == 1 { "nowhere".into() } else { format!("n{:05} + 1", at - 1) });
    let nested = links.lines().fold("a:\n  b:\n".to_owned(), |text, line| text + "    " + line + "\n");
    let message = within(200_000, &nested).expect_err("a failure");
    assert!(message.contains("\ta.b.n00999\t()\t-'n00998' unresolved"), "{message}");
}

#[test]
fn the_number_of_passes_stays_limited() {
    let engine = Engine::new().with_limits(Limits { passes: 50, ..Limits::default() });
    let template = Source::new("t.yml", chain(100, |at| format!("n{:05} + 1", at - 1)));
    let error = engine.process_texts(&template, &[]).expect_err("a limit").to_string();
    assert!(error.contains("limit of 50 passes exceeded"), "{error}");
}
