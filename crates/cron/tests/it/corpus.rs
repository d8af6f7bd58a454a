//! Compares the fire times that this crate computes with those that Quartz 2.3.2 computed. The times of Quartz are in
//! the corpus.
//!
//! The folder of the corpus is `$WINDLASS_CORPUS`, or `../shared/corpus` beside the workspace. The test prints
//! `name: N passed, N failed, N excluded (reason)`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use windlass_cron::{CronExpression, Zone};

use crate::fires;

/// Prints a line, also from a test that passes.
#[expect(clippy::explicit_write, reason = "the harness captures `eprintln!` of tests that pass")]
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").unwrap();
}

/// Returns the corpus folder of expressions. If the folder is missing, prints that the test was skipped, and returns
/// `None`.
#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
fn folder() -> Option<PathBuf> {
    let given = std::env::var_os("WINDLASS_CORPUS").map(PathBuf::from);
    let demanded = given.is_some();
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = given.unwrap_or_else(beside).join("tonomi/cron");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!demanded, "WINDLASS_CORPUS is set, and {} is no folder", folder.display());
    say(&format!("SKIPPED: no corpus at {}; set WINDLASS_CORPUS", folder.display()));
    None
}

/// The year in which the recorded fire times of Quartz end. Quartz searches for fire times only in the hundred years
/// after the day of the recording.
const QUARTZ_ENDS: &str = "2126";

/// Returns why a class of cases is not compared: quirks of Quartz that the crate's page lists.
fn excluded(class: &str) -> Option<&'static str> {
    Some(match class {
        "core" | "dst" | "zero-step" | "L-offset-edge" | "crashy-reject" => return None,
        "lax-parse" => "malformed expressions that Quartz accepts",
        "extra-field-ignored" => "with an eighth field, which Quartz ignores",
        "W-beyond-short-month" => "with `nW` in months without day n, where Quartz is irregular",
        _ => "of an unknown class",
    })
}

#[test]
fn corpus_quartz() {
    let Some(folder) = folder() else { return };
    let (mut passed, mut failed) = (0, vec![]);
    let mut excluded_cases: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [expression, start, count, zone, verdict, times, class] = columns[..] else {
                panic!("seven columns: {line}")
            };
            if let Some(reason) = excluded(class) {
                *excluded_cases.entry(reason).or_default() += 1;
                continue;
            }
            let found = match (verdict, CronExpression::parse(expression)) {
                ("ERR", Err(_)) => Ok(()),
                ("ERR", Ok(expression)) => Err(format!("accepted as {expression}")),
                (_, Err(errors)) => Err(format!("{errors:?}")),
                (_, Ok(_)) => {
                    let zone: Zone = zone.parse().unwrap();
                    let found = fires(expression, &zone, start, count.parse().unwrap());
                    let expected: Vec<&str> = times.split(',').filter(|time| !time.is_empty()).collect();
                    let (same, later) = found.split_at(expected.len().min(found.len()));
                    let is_later = later.iter().all(|time| time.as_str() >= QUARTZ_ENDS);
                    if same == expected && is_later { Ok(()) } else { Err(format!("found {found:?}")) }
                }
            };
            match found {
                Ok(()) => passed += 1,
                Err(why) => failed.push(format!("{line}\n  {why}")),
            }
        }
    }
    let reasons: Vec<_> = excluded_cases.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    let excluded: usize = excluded_cases.values().sum();
    say(&format!(
        "quartz: {passed} passed, {} failed, {excluded} excluded ({})",
        failed.len(),
        reasons.join("; ")
    ));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 0, "the folder is there, and no case was found");
}
