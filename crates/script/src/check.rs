//! Checks of a package before any of its scripts runs.

use windlass_driver::{Binding, Package, PackageProblem};
use windlass_executor::WorkPath;
use windlass_model::record::PackageFile;
use windlass_model::{Action, Transition};
use windlass_source::{Diagnostic, Place, Source, Span, suggest};

use crate::binding::{KIND, actions};
use crate::codes;
use crate::role::Role;
use crate::scripts::{self, FOLDER, SCRIPTS, ScriptFile};
use crate::settings::{SettingError, Settings, Timeouts};

/// Returns all problems of a package that concern this driver.
///
/// If a file is wrong, the problem has a place, which names the file by its path in the package. If the
/// descriptor is wrong, the problem names the wrong declaration.
pub(crate) fn check(package: &Package) -> Vec<PackageProblem> {
    let mut problems = Vec::new();
    let mut served = Vec::new();
    for (action, binding) in actions(package) {
        let Some(role) = Role::of(package, &action) else { continue };
        let files = scripts::candidates(package, &action, &role);
        problems.extend(check_files(package, &action, &role, &files));
        problems.extend(check_settings(package, &action, &role, binding));
        served.extend(files);
    }
    problems.extend(check_queries(package));
    if package.pins().is_none() {
        problems.extend(check_unused(package, &served).into_iter().map(PackageProblem::from));
    }
    served.extend(scripts::health_check(package));
    served.extend(scripts::discovery(package));
    served.sort_by_key(|script| script.path);
    served.dedup();
    let of_scripts = served.into_iter().flat_map(check_script);
    let of_paths = package.files_below(FOLDER).filter_map(|(path, file)| check_path(path, file));
    problems.extend(of_scripts.chain(of_paths).map(PackageProblem::from));
    problems.dedup();
    problems
}

/// Checks that a resource with `queries` has a discovery script.
fn check_queries(package: &Package) -> Vec<PackageProblem> {
    let own = package.bindings().queries.iter().filter(|binding| binding.driver.as_str() == KIND);
    let mut problems = Vec::new();
    for binding in own {
        if scripts::discovery(package).is_none() {
            let message = format!("`{}` has `queries`, and no script for them", package.name());
            let help = format!("add `{FOLDER}/{SCRIPTS}/discover`, with any extension");
            let missing = Diagnostic::error(codes::SCRIPT_MISSING, message).help(help);
            problems.push(PackageProblem::from(missing).in_queries());
        }
        let (_, errors) = Settings::read(&Role::Discover, binding, Timeouts::default());
        problems.extend(errors.iter().map(|error| setting(package, None, error)));
    }
    problems
}

fn check_files(
    package: &Package,
    action: &Action,
    role: &Role,
    files: &[ScriptFile<'_>],
) -> Option<PackageProblem> {
    match files {
        [_] => None,
        [] => Some(PackageProblem::from(missing(package, action, role)).in_action(action.clone())),
        [first, second, ..] => {
            let message = format!(
                "`{}` and `{}` of `{}` both serve {action}",
                first.name(),
                second.name(),
                package.name()
            );
            let ambiguous = Diagnostic::error(codes::SCRIPT_AMBIGUOUS, message)
                .at(beginning(*second))
                .related(beginning(*first), "the other one")
                .help("remove or rename one of them");
            Some(ambiguous.into())
        }
    }
}

fn missing(package: &Package, action: &Action, role: &Role) -> Diagnostic {
    let wanted: Vec<_> = std::iter::once(action.as_str()).chain(role.names().iter().copied()).collect();
    let named: Vec<_> = wanted.iter().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "`{}` declares {action}, and `{FOLDER}/{SCRIPTS}` has no script {} for it",
        package.name(),
        named.join(" or ")
    );
    let near = wanted.iter().find_map(|name| near(package, name));
    Diagnostic::error(codes::SCRIPT_MISSING, message).help(match near {
        Some(near) => format!("there is `{near}`: did you mean that?"),
        None => format!("add `{FOLDER}/{SCRIPTS}/{action}.sh`, or remove {action} from the descriptor"),
    })
}

/// Finds the script whose name is most similar to `wanted`, for the help "did you mean that?". `wanted` is the name,
/// without extension, of a missing script. Returns the file name of the found script; `None` if no name is similar.
fn near<'p>(package: &'p Package, wanted: &str) -> Option<&'p str> {
    // A script named after another action serves that action: `Uninstall` is not a misspelled `Install`.
    let taken = |stem: &str| actions(package).any(|(action, _)| action.as_str() == stem);
    let free = scripts::scripts(package).map(|script| script.stem()).filter(|stem| !taken(stem));
    let stem = suggest(wanted, free)?;
    scripts::scripts(package).find(|script| script.stem() == stem).map(|script| script.name())
}

fn check_settings(package: &Package, action: &Action, role: &Role, binding: &Binding) -> Vec<PackageProblem> {
    let (_, errors) = Settings::read(role, binding, Timeouts::default());
    // The binding of a default driver serves several actions, so it is checked only with the first of them.
    let shared = actions(package).find(|(_, other)| std::ptr::eq(*other, binding));
    if shared.is_some_and(|(first, _)| first != *action) {
        return Vec::new();
    }
    errors.into_iter().map(|error| setting(package, Some(action), &error)).collect()
}

fn setting(package: &Package, action: Option<&Action>, error: &SettingError) -> PackageProblem {
    let problem = Diagnostic::error(codes::DRIVER_PROPERTY, format!("in `{}`: {error}", package.name()));
    PackageProblem::from(problem).in_property(action.cloned(), error.key())
}

fn check_unused(package: &Package, served: &[ScriptFile<'_>]) -> Vec<Diagnostic> {
    let is_transition = |name: &str| name.parse::<Transition>().is_ok();
    let kinds = [Role::Launch, Role::Destroy, Role::Reconfigure];
    let is_kind = |name: &str| kinds.iter().any(|role| role.names().contains(&name));
    let unused = scripts::scripts(package)
        .filter(|script| is_transition(script.stem()) || is_kind(script.stem()))
        .filter(|script| !served.contains(script) && scripts::health_check(package) != Some(*script));
    unused
        .map(|script| {
            let message = format!(
                "`{}` is never run: nothing that `{}` declares leads to it",
                script.name(),
                package.name()
            );
            Diagnostic::warning(codes::UNUSED_SCRIPT, message)
                .at(beginning(script))
                .help("declare the transition in the descriptor, or remove the file")
        })
        .collect()
}

fn check_script(script: ScriptFile<'_>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let Some(file) = script.file else { return Vec::new() };
    if !file.executable {
        problems.push(
            Diagnostic::error(
                codes::NOT_EXECUTABLE,
                format!("the script `{}` has no run bit", script.name()),
            )
            .at(beginning(script))
            .help(format!("chmod +x {FOLDER}/{}", script.path)),
        );
    }
    problems.extend(check_shebang(script.path, file));
    problems
}

/// Checks that the first line of a script names an interpreter. A binary program needs no such line.
fn check_shebang(path: &str, file: &PackageFile) -> Option<Diagnostic> {
    let content = &file.content;
    if content.starts_with(b"\x7fELF") {
        return None;
    }
    let (problem, help) = shebang_problem(content)?;
    let source = source(path, file);
    let line = source.line(1).unwrap_or_default();
    let name = ScriptFile { path, file: Some(file) }.name();
    Some(
        Diagnostic::error(codes::BAD_SHEBANG, format!("the script `{name}` {problem}"))
            .at(source.place(line))
            .help(help),
    )
}

/// Returns the problem of the first line of a script, and its remedy.
pub(crate) fn shebang_problem(content: &[u8]) -> Option<(&'static str, &'static str)> {
    let line = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let begin = "begin the file with `#!/bin/sh`, or with the interpreter that it is written for";
    if content.starts_with(b"\xef\xbb\xbf") {
        return Some((
            "begins with a byte-order mark",
            "save the file without one: `#!` must be its first bytes",
        ));
    }
    let Some(interpreter) = line.strip_prefix(b"#!") else {
        return Some(("does not name its interpreter", begin));
    };
    if line.ends_with(b"\r") {
        return Some((
            "ends its first line with a carriage return",
            r"save the file with Unix line ends, such as with `sed -i 's/\r$//' FILE`",
        ));
    }
    let absolute = interpreter.trim_ascii().starts_with(b"/");
    (!absolute).then_some(("does not name its interpreter by an absolute path", begin))
}

fn check_path(path: &str, file: &PackageFile) -> Option<Diagnostic> {
    let error = path.parse::<WorkPath>().err()?;
    Some(
        Diagnostic::error(codes::FILE_PATH, format!("`{FOLDER}/{path}` can't be placed: {error}"))
            .at(source(path, file).place(Span::empty(0))),
    )
}

fn beginning(script: ScriptFile<'_>) -> Place {
    let source = match script.file {
        Some(file) => source(script.path, file),
        None => Source::new(script.path, ""),
    };
    source.place(Span::empty(0))
}

/// Returns a file of a package as a source, named by its path in the package.
pub(crate) fn source(path: &str, file: &PackageFile) -> std::sync::Arc<Source> {
    Source::new(format!("{FOLDER}/{path}"), String::from_utf8_lossy(&file.content))
}
