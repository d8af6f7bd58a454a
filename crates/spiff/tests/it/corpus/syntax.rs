//! Compares how this crate and the original parse and print expressions: which texts are expressions, their printed
//! form, and error messages.

use std::collections::BTreeMap;

use windlass_spiff::syntax::{Place, embedded, parse};
use windlass_spiff::value::Node;
use windlass_spiff::{Engine, SpiffError};

use super::{Outcome, Tally, cases, id, text};

/// Returns the printed form of an expression, or the error message of a text that doesn't parse.
fn printed(expr: &str) -> Result<String, String> {
    parse(expr, &Place::default()).map(|expr| expr.to_string()).map_err(|error| error.to_string())
}

#[test]
fn corpus_parse_golden() {
    let mut tally = Tally::default();
    for case in cases("spiff_parse_golden.jsonl") {
        let expr = text(&case, "expr").unwrap();
        let found = printed(expr);
        let outcome = if case.get("spiff_panics").is_some() {
            match found {
                // The original crashes. The test demands an error.
                Err(_) => Outcome::Passed,
                Ok(text) => Outcome::Failed(format!("parsed as {text}")),
            }
        } else if !expr.is_ascii() {
            // The original can't read these expressions. An option makes the engine refuse them too.
            let engine = Engine::new().with_ascii_only();
            match engine.evaluate(expr, &Node::default()) {
                Err(SpiffError::Syntax(error))
                    if Some(error.to_string().as_str()) == text(&case, "error") =>
                {
                    Outcome::Passed
                }
                _ => Outcome::Excluded("the original can't read characters beyond ASCII".into()),
            }
        } else {
            let wanted = match text(&case, "error") {
                Some(error) => Err(error.to_owned()),
                None => Ok(text(&case, "printed").unwrap().to_owned()),
            };
            Outcome::equal(&found, &wanted)
        };
        tally.add(id(&case), &[], outcome);
    }
    tally.finish("spiff parse and print");
}

#[test]
fn corpus_syntax_cases() {
    let oracle: BTreeMap<String, String> = cases("spiff_oracle.jsonl")
        .iter()
        .filter_map(|case| Some((id(case).to_owned(), text(case, "printed")?.to_owned())))
        .collect();
    let mut tally = Tally::default();
    for case in cases("spiff_cases.jsonl") {
        let kind = text(&case, "kind").unwrap();
        let outcome = match kind {
            "parse" => {
                let wanted = oracle.get(id(&case)).cloned();
                Outcome::equal(&printed(text(&case, "expr").unwrap()).ok(), &wanted)
            }
            "stringify" => {
                let wanted = text(&case, "expected").unwrap();
                Outcome::equal(&printed(wanted), &Ok(wanted.to_owned()))
            }
            "interpolate" => {
                let source = text(&case, "source").unwrap();
                let found = embedded::interpolation(source)
                    .map_or_else(|| source.to_owned(), |inner| format!("(( {inner} ))"));
                Outcome::equal(&found.as_str(), &text(&case, "expected").unwrap())
            }
            "unescape" => {
                let found = embedded::unescape(text(&case, "source").unwrap(), true);
                Outcome::equal(&&*found, &text(&case, "expected").unwrap())
            }
            _ => continue,
        };
        tally.add(id(&case), &[kind], outcome);
    }
    tally.finish("spiff syntax");
}
