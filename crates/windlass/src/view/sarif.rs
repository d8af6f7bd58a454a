//! Check results as SARIF 2.1.0, the exchange format for results of static analyses.
//!
//! Lines and columns start at 1. Columns count UTF-16 code units. This is the default of SARIF, and the
//! output also states it. Each fix of a diagnostic becomes a `fix` with replacements.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use windlass_source::{Code, CodeInfo, Diagnostic, Fix, Label, Place, Severity, Source, Span};

use crate::check::CheckView;
use crate::explain::codes;

/// The URL of the format's JSON Schema.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Converts the result of a check into one SARIF run. The list `rules` of the run contains the codes that
/// occur, each with its explanation.
pub fn sarif(view: &CheckView) -> Value {
    let mut numbers: BTreeMap<Code, usize> = view.diagnostics.iter().map(|found| (found.code, 0)).collect();
    for (number, place) in numbers.values_mut().enumerate() {
        *place = number;
    }
    let infos: BTreeMap<Code, &CodeInfo> = codes().into_iter().map(|info| (info.code, info)).collect();
    let rules: Vec<Value> = numbers.keys().map(|code| rule(*code, infos.get(code).copied())).collect();
    let results: Vec<Value> =
        view.diagnostics.iter().map(|found| result(found, numbers[&found.code])).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "windlass",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    })
}

fn rule(code: Code, info: Option<&CodeInfo>) -> Value {
    let mut rule = json!({"id": code.as_str()});
    if let Some(info) = info {
        rule["shortDescription"] = json!({"text": info.title});
        rule["help"] = json!({"text": info.explanation, "markdown": info.explanation});
    }
    rule
}

fn result(found: &Diagnostic, rule: usize) -> Value {
    let level = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut message = found.message.clone();
    if let Some(help) = &found.help {
        let _ = write!(message, "\n{help}");
    }
    let mut result = json!({
        "ruleId": found.code.as_str(),
        "ruleIndex": rule,
        "level": level,
        "message": {"text": message},
        "locations": found.primary.iter().map(location).collect::<Vec<_>>(),
    });
    // SARIF requires related locations to be unique.
    let mut related: Vec<Value> = Vec::new();
    for location in found.related.iter().map(location) {
        if !related.contains(&location) {
            related.push(location);
        }
    }
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    let fixes = found.place().map(|place| found.fixes.iter().map(|made| fix(place.source(), made)).collect());
    if let Some(fixes) = fixes.filter(|_| !found.fixes.is_empty()) {
        result["fixes"] = fixes;
    }
    result
}

fn location(label: &Label) -> Value {
    let mut location = json!({"physicalLocation": {
        "artifactLocation": artifact(label.place.source()),
        "region": region(&label.place),
    }});
    if !label.text.is_empty() {
        location["message"] = json!({"text": label.text});
    }
    location
}

fn fix(source: &std::sync::Arc<Source>, made: &Fix) -> Value {
    let replacement = |edit: &windlass_source::Edit| {
        json!({
            "deletedRegion": region(&source.place(edit.span)),
            "insertedContent": {"text": edit.replacement},
        })
    };
    json!({
        "description": {"text": made.description},
        "artifactChanges": [{
            "artifactLocation": artifact(source),
            "replacements": made.edits.iter().map(replacement).collect::<Vec<_>>(),
        }],
    })
}

fn artifact(source: &Source) -> Value {
    json!({"uri": uri(source.name())})
}

/// Converts a path to a URI. The URI is relative to the working folder, or absolute if the path leads out of
/// it.
fn uri(name: &str) -> String {
    let path = Path::new(name);
    let leaves = path.components().any(|part| part == std::path::Component::ParentDir);
    let real = if leaves { path.canonicalize().ok() } else { None };
    let name = real.as_deref().and_then(Path::to_str).unwrap_or(name);
    let mut uri = if name.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'@' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

fn region(place: &Place) -> Value {
    let (start_line, start_column) = utf16(place.source(), place.span().start);
    let (end_line, end_column) = utf16(place.source(), place.span().end);
    json!({
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
    })
}

/// Returns the line and the column of an offset, with the column in UTF-16 code units.
fn utf16(source: &Source, offset: u32) -> (usize, usize) {
    let line = source.position(offset).line;
    let start = source.line(line).unwrap_or_default().start;
    let before = source.slice(Span::new(start, offset));
    let units: usize = before.chars().filter(|&c| c != '\u{feff}').map(char::len_utf16).sum();
    (line, units + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units() {
        let source = Source::new("a.yaml", "\u{feff}# 😀é x\nb: c\n");
        let at = |text: &str| u32::try_from(source.text().find(text).expect("it is there")).expect("short");
        assert_eq!(utf16(&source, at("x")), (1, 7));
        assert_eq!(utf16(&source, at("c\n")), (2, 4));
    }

    #[test]
    fn paths_are_percent_encoded() {
        assert_eq!(uri("a b/ü#.yaml"), "a%20b/%C3%BC%23.yaml");
        assert_eq!(uri("/srv/a.yaml"), "file:///srv/a.yaml");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }
}
