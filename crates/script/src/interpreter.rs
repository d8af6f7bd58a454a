//! The interpreters that the first lines of scripts name.

use windlass_driver::{Location, NeededProgram, Package, PackageProblem};
use windlass_model::Action;
use windlass_source::Diagnostic;

use crate::binding::KIND;
use crate::check::{shebang_problem, source};
use crate::codes;
use crate::role::Role;
use crate::scripts::{self, ScriptFile};

/// The key for the program that starts the scripts at a location. Without this key, windlass starts the scripts itself.
const ADAPTER: &str = "adapter";

/// Returns the interpreters of the scripts that run at a location. The list is empty if an adapter of the location's
/// image starts the scripts.
pub(crate) fn programs(package: &Package, location: &Location) -> Vec<NeededProgram> {
    if location.scripting.contains_key(ADAPTER) {
        return Vec::new();
    }
    let bindings = package.bindings();
    let is_own = |action: &Action| {
        let chosen = bindings.find(action, &location.infrastructure);
        chosen.is_some_and(|binding| binding.driver.as_str() == KIND)
    };
    let own: Vec<Action> = bindings.actions().filter(is_own).collect();
    let candidates = |action: &Action| {
        let role = Role::of(package, action);
        role.map(|role| scripts::candidates(package, action, &role)).unwrap_or_default()
    };
    let mut used: Vec<ScriptFile<'_>> = own.iter().flat_map(candidates).collect();
    used.extend(scripts::health_check(package).filter(|_| !own.is_empty()));
    used.sort_by_key(|script| script.path);
    used.dedup();
    used.into_iter().flat_map(needed).collect()
}

/// Returns the programs that the first line of a script names. If the [check](crate::check) refuses this line, the list
/// is empty.
fn needed(script: ScriptFile<'_>) -> Vec<NeededProgram> {
    let Some(file) = script.file.filter(|file| shebang_problem(&file.content).is_none()) else {
        return Vec::new();
    };
    let text = source(script.path, file);
    let line = text.line(1).unwrap_or_default();
    let problem = |program: &str| {
        let message =
            format!("the script `{}` needs `{program}`, and this machine has no such program", script.name());
        let help = if program.contains(' ') {
            format!(
                "write `#!/usr/bin/env -S {program}`: without `-S`, the whole text is the name of a program"
            )
        } else {
            "install the program, or let the location use a runtime with an image that contains it".to_owned()
        };
        PackageProblem::from(
            Diagnostic::warning(codes::PROGRAM_MISSING, message).at(text.place(line)).help(help),
        )
    };
    let named = named(text.slice(line)).into_iter();
    named.map(|program| NeededProgram { program: program.to_owned(), problem: problem(program) }).collect()
}

/// Returns the interpreter of a first line. If the interpreter is `env`, also returns the program that `env` starts.
fn named(line: &str) -> Vec<&str> {
    let Some(command) = line.strip_prefix("#!").map(str::trim) else { return Vec::new() };
    let (path, argument) = command.split_once([' ', '\t']).unwrap_or((command, ""));
    let started = if path.ends_with("/env") { started_by_env(argument.trim()) } else { None };
    [Some(path), started].into_iter().flatten().collect()
}

/// Returns the program that `env` starts. The kernel passes the whole rest of the line to `env` as one argument. With
/// the option `-S`, `env` splits the argument into words, and the program is the first word without `=`. Without `-S`,
/// the whole argument is the program. Returns `None` if there is no program, or if its text has syntax that the
/// function does not interpret. Such syntax is another option, an assignment, a quote, a backslash or a `$`.
fn started_by_env(argument: &str) -> Option<&str> {
    let program = match argument.strip_prefix("-S") {
        Some(words) => words.split_whitespace().find(|word| !word.contains('='))?,
        None => argument,
    };
    let is_other =
        program.is_empty() || program.starts_with('-') || program.contains(['=', '"', '\'', '\\', '$']);
    (!is_other).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_names_its_interpreter() {
        for (line, expected) in [
            ("#!/bin/sh", "/bin/sh"),
            ("#! /bin/sh -eu", "/bin/sh"),
            ("#!/usr/bin/env python3", "/usr/bin/env python3"),
            ("#!/usr/bin/env -S A=1 python3 -u", "/usr/bin/env python3"),
            ("#!/usr/bin/env -Sdeno run", "/usr/bin/env deno"),
            ("#!/usr/bin/env python3 -u", "/usr/bin/env python3 -u"),
            ("#!/usr/bin/env -i sh", "/usr/bin/env"),
            ("#!/usr/bin/env A=1", "/usr/bin/env"),
            ("echo", ""),
        ] {
            assert_eq!(named(line).join(" "), expected, "{line}");
        }
    }
}
