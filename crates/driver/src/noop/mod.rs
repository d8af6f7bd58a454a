//! The driver `noop`, which runs no jobs.
//!
//! This driver is for parts that are only data, for parts that exist only for relationships, and for benchmarks.
//!
//! If a descriptor sets no properties of this driver, the engine never calls the driver. The engine then only
//! records the new state of a part. Two driver properties cause calls:
//!
//! ```yaml
//! default-driver:
//!   noop:
//!     properties:
//!       effect: repeatable       # or `once`: both values cause a call for each declared action
//!       outputs:                 # properties to publish when the part is created
//!         address: given-address # <output property>: <input property>
//! ```
//!
//! If the driver property `effect` is set, the engine calls this driver like any other driver. The engine records
//! each call, and recovers the call after a crash. So a benchmark can measure the overhead of the engine and the
//! store. A call takes no time, so the driver property `timeout` has no effect.
//!
//! If the driver property `outputs` is set, the part publishes values of its input properties as output
//! properties. The call for the transition Create publishes the values. If the resource does not declare Create
//! for this driver, the call for the transition Install publishes the values.
//!
//! If only `outputs` is set, the engine makes only the call that publishes the values. This call has the effect
//! `repeatable`. If an input property is secret, the output property is also secret, because the engine seals
//! every value that contains a secret.

mod settings;

use async_trait::async_trait;
use serde_json::Value;
use std::time::Duration;
use windlass_model::name::DriverKind;
use windlass_model::record::{Effect, Failure, FailureKind};
use windlass_model::{Action, PropertyName, Transition};
use windlass_source::Diagnostic;

use self::settings::{SettingError, Settings};
use crate::call::{Call, Observation, Observed, Report};
use crate::codes;
use crate::contract::{Context, Driver, Found, Nature, Query};
use crate::keys::Setting;
use crate::package::{Binding, Package};
use crate::problem::PackageProblem;

const KIND: &str = "noop";

/// A driver that answers every call at once and runs no job. The [module](self) describes its driver properties.
#[derive(Debug, Clone, Copy, Default)]
pub struct Noop;

#[async_trait]
impl Driver for Noop {
    fn kind(&self) -> DriverKind {
        KIND.parse().expect("a driver's kind is a word")
    }

    fn family(&self) -> &'static str {
        KIND
    }

    fn properties(&self) -> Vec<Setting> {
        settings::described()
    }

    fn check(&self, package: &Package) -> Vec<PackageProblem> {
        check(package)
    }

    fn nature(&self, package: &Package, action: &Action) -> Option<Nature> {
        let (settings, _) = Settings::read(binding(package, action)?);
        let publishes = !settings.outputs.is_empty() && publishing(package).as_ref() == Some(action);
        let effect = settings.common.effect.or_else(|| publishes.then_some(Effect::Repeatable))?;
        let timeout = settings.common.timeout.unwrap_or(Duration::from_secs(60));
        // All calls have the same batch key. So the engine observes all calls with the same action, package and
        // location together.
        let batch = Some("noop".to_owned());
        Some(Nature { effect, observable: true, batch, timeout, names: false })
    }

    /// Tells whether both packages publish the same outputs. If the outputs differ, a part publishes the new outputs
    /// only when windlass creates the part again.
    fn keeps(&self, old: &Package, new: &Package) -> bool {
        outputs(old) == outputs(new)
    }

    /// Returns an empty list, because no action uses a file of the package: this driver reads no files.
    fn users(&self, _: &Package, _: &str) -> Option<Vec<Action>> {
        Some(Vec::new())
    }

    async fn perform(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        calls.iter().map(report).collect()
    }

    async fn observe(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        let reached = |report| Observed { observation: Observation::Reached, report };
        calls.iter().map(|call| report(call).map(reached)).collect()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        Ok(Vec::new())
    }
}

/// Returns the report of a call. It contains the outputs if the call's action publishes outputs.
fn report(call: &Call) -> Result<Report, Failure> {
    let mut report = Report::settled();
    if publishing(&call.package).as_ref() == Some(&call.action) {
        let (settings, _) = Settings::read(&call.binding);
        for (output, input) in &settings.outputs {
            report = report.publish(output.as_str(), value_of(call, output, input)?);
        }
    }
    Ok(report)
}

/// Returns the value of the input that provides an output.
fn value_of(call: &Call, output: &PropertyName, input: &PropertyName) -> Result<Value, Failure> {
    let value = call.properties.get(input).ok_or_else(|| {
        let message = format!("`{output}` is taken from its property `{input}`, which has no value");
        Failure::new(FailureKind::Refused, message)
    })?;
    Ok(value.value.clone())
}

/// Returns the outputs that a package publishes, each with the input that provides its value.
fn outputs(package: &Package) -> Vec<(PropertyName, PropertyName)> {
    let publishing = publishing(package).and_then(|action| binding(package, &action));
    publishing.map(|binding| Settings::read(binding).0.outputs).unwrap_or_default()
}

/// Returns the action that publishes the outputs: the first of Create and Install for which the package chooses this
/// driver.
fn publishing(package: &Package) -> Option<Action> {
    let makes = [Transition::Create, Transition::Install].map(Action::Transition);
    makes.into_iter().find(|action| binding(package, action).is_some())
}

/// Returns the first binding of this driver for an action.
fn binding<'p>(package: &'p Package, action: &Action) -> Option<&'p Binding> {
    package.bindings().of_driver(KIND, action)
}

/// Returns all problems in a package's settings for this driver. Each binding is checked once.
fn check(package: &Package) -> Vec<PackageProblem> {
    let mut seen: Vec<&Binding> = Vec::new();
    let mut problems = Vec::new();
    let published = publishing(package).and_then(|action| binding(package, &action));
    for action in package.bindings().actions() {
        let Some(binding) = binding(package, &action) else { continue };
        if seen.iter().any(|other| std::ptr::eq(*other, binding)) {
            continue;
        }
        seen.push(binding);
        let (settings, errors) = Settings::read(binding);
        problems.extend(errors.iter().map(|error| {
            PackageProblem::from(problem(package, error)).in_property(Some(action.clone()), error.key())
        }));
        if !settings.outputs.is_empty() && !published.is_some_and(|other| std::ptr::eq(other, binding)) {
            problems.push(PackageProblem::from(unpublished(package)).in_property(Some(action), "outputs"));
        }
    }
    problems
}

fn problem(package: &Package, error: &SettingError) -> Diagnostic {
    Diagnostic::error(codes::NOOP_VALUE, format!("in `{}`: {error}", package.name()))
}

fn unpublished(package: &Package) -> Diagnostic {
    let message =
        format!("in `{}`: these `outputs` of the driver `noop` are never published", package.name());
    Diagnostic::warning(codes::NOOP_UNPUBLISHED, message).help(
        "they are published at Create, or at Install where there is no Create: declare one of them for it",
    )
}

#[cfg(test)]
mod tests;
