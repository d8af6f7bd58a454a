//! Every recorded stdout of real scripts, parsed by the reader.

use std::path::{Path, PathBuf};

use windlass_executor::Captured;
use windlass_script::Output;

/// Returns the folder of `WINDLASS_CORPUS`, or the default one beside the workspace.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where the corpus is")]
fn corpus() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    std::env::var_os("WINDLASS_CORPUS").map_or_else(beside, PathBuf::from)
}

/// Tells whether a file is an output of `invoke.py`, which is an envelope around updates.
fn is_envelope(name: &str) -> bool {
    name.contains("-invoke-")
}

#[test]
fn corpus_of_recorded_outputs() {
    let folder = corpus().join("tonomi/traffic");
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.ends_with(".out.yaml"))
        .collect();
    names.sort();
    if names.is_empty() {
        println!("SKIPPED: there is no corpus at {}; set WINDLASS_CORPUS", folder.display());
        return;
    }
    let (mut passed, mut excluded, mut failed) = (0, 0, Vec::new());
    for name in names {
        if is_envelope(&name) {
            excluded += 1;
            continue;
        }
        match problems(&folder.join(&name)) {
            problems if problems.is_empty() => passed += 1,
            problems => failed.push(format!("{name}\n{problems}")),
        }
    }
    println!(
        "corpus_of_recorded_outputs: {passed} passed, {} failed, {excluded} excluded (envelopes of invoke.py)",
        failed.len()
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Returns the problems that the reader finds in an output of a real script.
fn problems(path: &Path) -> String {
    let stdout = Captured::whole(std::fs::read(path).unwrap());
    let problems = match Output::read("stdout", &stdout) {
        Ok(output) => output.instances.into_iter().filter_map(|said| said.update.err()).flatten().collect(),
        Err(problems) => problems,
    };
    problems.iter().map(|problem| format!("    {problem}\n")).collect::<Vec<_>>().concat()
}
