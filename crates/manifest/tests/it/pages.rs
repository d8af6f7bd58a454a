//! Tests the page of every code. Its example gets exactly that code, and a fixed example is free of it.

use std::collections::BTreeSet;

use windlass_manifest::{Published, check, check_pairs, codes, read};
use windlass_source::{CodeInfo, Diagnostics, Source, apply_fixes};

use crate::support::{fixture, said};

/// Returns the first block of YAML of a page.
fn example(info: &CodeInfo) -> Option<&'static str> {
    let (_, rest) = info.explanation.split_once("```yaml\n")?;
    rest.split_once("```").map(|(example, _)| example)
}

/// Codes whose pages have no example: a limit, and problems of a launch.
const WITHOUT: [&str; 3] = ["WL0618", "WL0640", "WL0641"];

/// Returns the diagnostics of an example. Those of several manifests are published as `Disk`, beside the
/// example manifests `VM` and `VM Factory`.
fn found(code: &str, text: &str) -> Diagnostics {
    let source = Source::new("example.yaml", text);
    let alone = said(&source);
    if ![codes::NO_COUNTERPART.as_str(), codes::WRONG_COUNTERPART.as_str()].contains(&code) {
        return alone;
    }
    assert_eq!(alone.to_string(), "");
    let texts =
        [("Disk", text.to_owned()), ("VM", fixture("vm.yaml")), ("VM Factory", fixture("vm-factory.yaml"))];
    let manifests: Vec<_> = texts
        .iter()
        .map(|(title, text)| (*title, read(&Source::new(*title, text.clone())).manifest.unwrap()))
        .collect();
    let roles: Vec<_> = manifests.iter().map(|(_, manifest)| check(manifest).role.unwrap()).collect();
    let published = manifests.iter().zip(&roles);
    let published: Vec<_> =
        published.map(|((title, manifest), role)| Published { title, manifest, role }).collect();
    check_pairs(&published)
}

#[test]
fn every_page_has_an_example_that_gets_its_code_and_no_other() {
    let mut wrong = Vec::new();
    for info in codes::CODES {
        let code = info.code.as_str();
        let Some(text) = example(info) else {
            if !WITHOUT.contains(&code) {
                wrong.push(format!("{code}: no example"));
            }
            continue;
        };
        let diagnostics = found(code, text);
        let codes: BTreeSet<&str> = diagnostics.iter().map(|said| said.code.as_str()).collect();
        if codes != BTreeSet::from([code]) {
            wrong.push(format!("{code}: the example gets {diagnostics}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_fix_of_an_example_repairs_it() {
    let mut fixed = Vec::new();
    for info in codes::CODES {
        let Some(text) = example(info) else { continue };
        let code = info.code.as_str();
        let before = found(code, text);
        if before.fixes().next().is_none() {
            continue;
        }
        let repaired = apply_fixes(text, before.fixes());
        let left = found(code, &repaired);
        assert!(left.iter().all(|left| left.code != info.code), "{code}: {left}{repaired}");
        fixed.push(code);
    }
    // A missing entry shows that a fix is no longer offered.
    assert_eq!(fixed, ["WL0602", "WL0611", "WL0628", "WL0634"]);
}
