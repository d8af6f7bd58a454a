//! Results of a plain discovery script: one JSON object on each line of stdout.

use serde_json::{Map, Value};
use windlass_driver::contract::{Found, Query};
use windlass_executor::Captured;
use windlass_source::Diagnostic;

use crate::codes;
use crate::discover::fits;
use crate::natural;
use crate::output::too_much;

/// Reads the lines of a script's output, such as `{"id": "vm-17", "address": "10.0.0.5"}`, and returns one instance
/// for each line. All entries except `id` are properties. Leaves out an instance if [`fits`] finds that
/// a property differs from the value that `query` requests.
///
/// # Errors
/// All problems of the output.
pub(crate) fn found(script: &str, stdout: &Captured, query: &Query) -> Result<Vec<Found>, Vec<Diagnostic>> {
    let Some(bytes) = stdout.complete() else { return Err(vec![too_much(stdout)]) };
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let mut all = Vec::new();
    let mut problems = Vec::new();
    for (at, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        match instance(line) {
            Ok(found) => all.push(found),
            Err(why) => {
                let message = format!("line {} of `{script}` {why}", at + 1);
                let help = r#"print one line such as {"id": "vm-17", "name": "web"} for each instance"#;
                problems.push(Diagnostic::error(codes::FOUND_LINE, message).help(help));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    all.retain(|found| fits(found, query));
    Ok(all)
}

fn instance(line: &[u8]) -> Result<Found, String> {
    let mut entries: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| format!("is no JSON object: {error}"))?;
    match entries.remove("id") {
        Some(Value::String(natural)) if natural::is_valid(&natural) => {
            Ok(Found::new(natural, entries.into_iter().collect()))
        }
        Some(Value::String(natural)) if !natural.is_empty() => {
            Err("has an `id` that is too long or contains a control character".to_owned())
        }
        _ => Err("has no text `id`".to_owned()),
    }
}
