//! Compares the results of this crate with those of the original, case by case.
//!
//! The folder with the cases is `$WINDLASS_CORPUS`, or `../shared/corpus` beside the workspace.

mod process;
mod random;
mod syntax;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// Prints a line, also from a test that passes.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("standard error is open");
}

/// Returns the cases of a corpus file, which contains one JSON object a line. If the file is missing, prints that the
/// test was skipped.
#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
fn cases(name: &str) -> Vec<Json> {
    let given = std::env::var_os("WINDLASS_CORPUS").map(PathBuf::from);
    let demanded = given.is_some();
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let file = given.unwrap_or_else(beside).join("spiff").join(name);
    let Ok(text) = fs::read_to_string(&file) else {
        assert!(!demanded, "WINDLASS_CORPUS is set, and there is no {}", file.display());
        say(&format!("SKIPPED: no corpus at {}; set WINDLASS_CORPUS", file.display()));
        return Vec::new();
    };
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

/// Returns a string of a case.
fn text<'c>(case: &'c Json, key: &str) -> Option<&'c str> {
    case.get(key).and_then(Json::as_str)
}

fn id(case: &Json) -> &str {
    text(case, "id").unwrap_or("?")
}

/// Result of a case.
enum Outcome {
    Passed,
    Failed(String),
    /// The results differ only by this deviation, which the page `docs/deviations.md` lists. The test has checked that
    /// nothing else differs.
    Deviates(String),
    /// Excluded for this reason.
    Excluded(String),
}

impl Outcome {
    fn equal<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T) -> Self {
        if found == wanted {
            Self::Passed
        } else {
            Self::Failed(format!("found  {found:?}\n  wanted {wanted:?}"))
        }
    }
}

/// Counts of results, by feature and in total.
#[derive(Default)]
struct Tally {
    features: BTreeMap<String, [usize; 4]>,
    failures: Vec<String>,
    exclusions: Vec<String>,
    deviations: BTreeMap<String, usize>,
    all: [usize; 4],
}

impl Tally {
    fn add(&mut self, id: &str, features: &[&str], outcome: Outcome) {
        let column = match outcome {
            Outcome::Passed => 0,
            Outcome::Failed(why) => {
                self.failures.push(format!("{id}: {why}"));
                1
            }
            Outcome::Deviates(why) => {
                *self.deviations.entry(why).or_default() += 1;
                2
            }
            Outcome::Excluded(why) => {
                self.exclusions.push(format!("{id}: {why}"));
                3
            }
        };
        self.all[column] += 1;
        for feature in features {
            self.features.entry((*feature).to_owned()).or_default()[column] += 1;
        }
    }

    /// Prints the table, and fails on any failure.
    fn finish(self, name: &str) {
        for (feature, [passed, failed, deviating, excluded]) in &self.features {
            say(&format!(
                "  {feature:<28} {passed:>5} passed {failed:>4} failed {excluded:>4} excluded {deviating:>4} deviate"
            ));
        }
        for (why, count) in &self.deviations {
            say(&format!("  {count} deviate: {why}"));
        }
        for exclusion in &self.exclusions {
            say(&format!("  excluded {exclusion}"));
        }
        let [passed, failed, deviating, excluded] = self.all;
        let deviating = if deviating > 0 { format!(", {deviating} deviate") } else { String::new() };
        say(&format!("{name}: {passed} passed, {failed} failed, {excluded} excluded{deviating}"));
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}
