//! Finds out in advance whether a job of the process runtime finds a program.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

use crate::process::staging::PATH;

/// Tells whether a job finds a program on this machine. `program` is an absolute path, or a name that the job looks up
/// in its variable `PATH`. `environment` contains the variables that the job sets itself.
///
/// If the answer depends on the working folder of the job, the function returns `true`.
pub fn finds_program(program: &str, environment: &BTreeMap<String, String>) -> bool {
    if program.contains('/') {
        let path = Path::new(program);
        return !path.is_absolute() || may_be_run(path);
    }
    let path = environment.get("PATH").map_or(PATH, String::as_str);
    path.split(':').map(Path::new).any(|folder| !folder.is_absolute() || may_be_run(&folder.join(program)))
}

fn may_be_run(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
