//! Functions of semantic versions.

use super::argument::{Outcome, done, fail, quoted, texts};
use super::constraint::Constraint;
use super::lists::sorted;
use super::version::Version;
use super::{FunctionError, Host, Registry};
use crate::value::{Node, Value};

pub(super) fn register(registry: &mut Registry) {
    // The error messages of the function `semver` contain the name `semverprerelease`. The Go program spiff++ has
    // the same messages.
    get(registry, "semver", "semverprerelease", |version| version.to_string().into());
    get(registry, "semvermajor", "semvermajor", |version| number(version.major));
    get(registry, "semverminor", "semverminor", |version| number(version.minor));
    get(registry, "semverpatch", "semverpatch", |version| number(version.patch));
    get(registry, "semverincmajor", "semverincmajor", |version| version.next_major().original().into());
    get(registry, "semverincminor", "semverincminor", |version| version.next_minor().original().into());
    get(registry, "semverincpatch", "semverincpatch", |version| version.next_patch().original().into());
    get_or_set(registry, "semverprerelease", |version| version.prerelease.into(), Version::with_prerelease);
    get_or_set(registry, "semvermetadata", |version| version.metadata.into(), Version::with_metadata);
    get_or_set(
        registry,
        "semverrelease",
        |version| version.release().original().into(),
        |version, new| {
            Version::parse(new)?.with_metadata(&version.metadata)?.with_prerelease(&version.prerelease)
        },
    );
    registry.add("semvercmp", compare).add("semversort", sort).add("semvermatch", matches);
    registry.add("semvervalidate", validate);
}

fn number(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Parses an argument of the function `name` as a version. Error messages contain `name`.
pub(super) fn version(name: &str, argument: &Value) -> Result<Version, FunctionError> {
    let Some(text) = argument.as_str() else {
        fail!("{name} requires one string argument, but got {}", argument.type_name());
    };
    Version::parse(text).map_err(|error| FunctionError::failed(format!("{name}: {}: {error}", quoted(text))))
}

fn get(registry: &mut Registry, name: &'static str, shown: &'static str, get: fn(Version) -> Value) {
    registry.add(name, move |_: &mut dyn Host, arguments: &[Node]| match arguments {
        [argument] => done(get(version(shown, argument)?)),
        _ => fail!("{shown} requires one semver argument"),
    });
}

type Setter = fn(Version, &str) -> Result<Version, &'static str>;

fn get_or_set(registry: &mut Registry, name: &'static str, get: fn(Version) -> Value, set: Setter) {
    registry.add(name, move |_: &mut dyn Host, arguments: &[Node]| match arguments {
        [argument] => done(get(version(name, argument)?)),
        [argument, new] => {
            let version = version(name, argument)?;
            let part = name.trim_start_matches("semver");
            let Some(new) = new.as_str() else {
                fail!("{name}: {part} requires string, but got {}", new.type_name());
            };
            match set(version, new) {
                Ok(version) => done(version.original()),
                Err(error) => fail!("{name}: invalid {part} {}: {error}", quoted(new)),
            }
        }
        [] => fail!("{name} requires one semver argument"),
        _ => fail!("{name} requires one semver argument and an optional value"),
    });
}

fn compare(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [a, b] = arguments else { fail!("semvercmp requires two arguments") };
    let (a, b) = (version("semvercmp", a)?, version("semvercmp", b)?);
    done(a.compare(&b) as i64)
}

fn sort(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let arguments = match arguments {
        [only] => only.as_list().unwrap_or(arguments),
        _ => arguments,
    };
    let versions: Result<Vec<Version>, _> = arguments.iter().map(|node| version("semvercmp", node)).collect();
    let sorted = sorted(&versions?, |a, b| host.spend(1).map(|()| a.compare(b).is_lt()))?;
    done(texts(sorted.iter().map(Version::original)))
}

/// Parses an argument of the function `name` as a constraint. `at` is the index of the constraint among the constraints
/// of the call. Error messages contain `name` and `at`.
fn constraint(name: &str, at: usize, argument: &Value) -> Result<Constraint, FunctionError> {
    let Some(text) = argument.as_str() else { fail!("{name}: constraint argument {at} must be string") };
    Constraint::parse(text).map_err(|error| {
        FunctionError::failed(format!("{name}: invalid constraint {}[{at}]: {error}", quoted(text)))
    })
}

fn matches(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [first, constraints @ ..] = arguments else { fail!("semvermatch requires at least one argument") };
    let version = version("semvermatch", first)?;
    for (at, argument) in constraints.iter().enumerate() {
        if !constraint("semvermatch", at, argument)?.matches(&version) {
            return done(false);
        }
    }
    done(true)
}

fn validate(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    const NAME: &str = "semvervalidate";
    let [first, constraints @ ..] = arguments else { fail!("{NAME} requires at least one arguments") };
    let shown = first.as_str().map_or_else(|| super::argument::shown(first), quoted);
    let wrap = |error: FunctionError| FunctionError::failed(format!("{NAME}: {shown}: {error}"));
    let version = version(NAME, first).map_err(wrap)?;
    if let Err(problem) = fits(NAME, &version, constraints).map_err(wrap)? {
        fail!("{NAME}: {shown}: {problem}");
    }
    Ok(first.clone())
}

/// Checks that a version meets all constraints. If the version fails a constraint, the result is
/// `Ok(Err(reasons))`. If a constraint is invalid, the result is `Err`.
pub(super) fn fits(
    name: &str,
    version: &Version,
    constraints: &[Node],
) -> Result<Result<(), String>, FunctionError> {
    for (at, argument) in constraints.iter().enumerate() {
        let problems = constraint(name, at, argument)?.problems(version);
        if !problems.is_empty() {
            return Ok(Err(format!("[{}]", problems.join(" "))));
        }
    }
    Ok(Ok(()))
}
