//! Tests hostile documents. No document takes much time or memory before it is accepted or refused.
//!
//! Some documents are generated from rules, others are mutations of the repository's examples. Each document
//! is read, checked, composed and resolved under a limit of processor time and memory. In a release build the
//! limit is 1 s and 256 MB, for documents up to 16 MB. In a debug build the documents have a twentieth of the
//! size, and the limit is 10 s.
//!
//! The environment variable `WINDLASS_HOSTILE_CASES` sets the number of mutations, and `WINDLASS_FUZZ_SEED`
//! sets the first seed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::format_collect, reason = "texts of tests are put together once")]

mod bombs;
mod harness;
mod mutation;

use std::path::Path;

use bombs::BOMBS;
use harness::{Limit, SCALE, cases, in_child, measured, seed};

#[test]
fn bombs_are_refused_in_time() {
    let names: Vec<&str> = BOMBS.iter().map(|bomb| bomb.name).collect();
    in_child("bombs_are_refused_in_time", &names, |name| {
        let bomb = BOMBS.iter().find(|bomb| bomb.name == name).unwrap();
        let text = (bomb.text)(SCALE);
        measured(|| (bomb.act)(&text))
    });
}

#[test]
fn mutations_are_refused_in_time() {
    let fixtures = fixtures(&["assembly", "resource"]);
    assert!(fixtures.len() >= 4, "{} fixtures", fixtures.len());
    let mut random = mutation::Random::new(seed());
    for case in 0..cases() {
        let text = mutation::mutated(&fixtures, &mut random);
        let limit = Limit::of_case();
        bombs::check_all(&text);
        limit.hold(&format!("case {case} of seed {}", seed()), &text);
    }
}

/// Returns the texts of those files in the folder of examples and in its subfolders whose file names begin with one of
/// `names`.
fn fixtures(names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")];
    while let Some(folder) = open.pop() {
        let mut inside: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        inside.sort();
        for path in inside {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if names.iter().any(|begin| name.starts_with(begin)) {
                found.extend(std::fs::read_to_string(&path));
            }
        }
    }
    found
}
