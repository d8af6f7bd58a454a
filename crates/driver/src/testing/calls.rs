//! Test cases for the answers of a driver to calls, and for the characteristics of actions that a driver declares.

use std::time::Duration;

use serde_json::Value;
use windlass_model::instance::shape;
use windlass_model::instance_report::natural_id_problem;
use windlass_update_ops::Update;

use super::{Subject, titles};
use crate::{Call, Report};

/// The package of each call has no errors. The driver declares the characteristics of the call's action, and a
/// second request returns the same characteristics.
#[expect(clippy::unused_async, reason = "all cases have one form")]
pub async fn checked_and_declared(subject: &Subject) {
    let driver = &subject.driver;
    for call in &subject.calls {
        let title = titles(std::slice::from_ref(call));
        let problems = driver.check(&call.package);
        let errors: Vec<String> = problems
            .iter()
            .map(|problem| &problem.diagnostic)
            .filter(|problem| problem.is_error())
            .map(ToString::to_string)
            .collect();
        assert!(errors.is_empty(), "the package of {title} has errors: {errors:?}");
        let nature = driver.nature(&call.package, &call.action);
        assert!(nature.is_some(), "the driver declares no call for {title}");
        assert_eq!(nature, driver.nature(&call.package, &call.action), "the declaration of {title}");
        assert!(nature.is_some_and(|nature| nature.timeout > Duration::ZERO), "{title} has no time");
    }
}

/// The driver returns exactly one answer if it performs one call, and exactly one answer if it observes one call.
pub async fn one_answer_each(subject: &Subject) {
    for call in &subject.calls {
        let call = std::slice::from_ref(call);
        subject.perform(call, &subject.trial()).await;
        subject.observe(call, &subject.trial()).await;
    }
}

/// The updates of each report and of each checkpoint can be applied to the instance document.
pub async fn updates_can_be_applied(subject: &Subject) {
    for call in &subject.calls {
        let trial = subject.trial();
        let answer = subject.perform_one(call, &trial).await;
        let mut call = call.clone();
        for (at, checkpoint) in &trial.log().checkpoints {
            assert_eq!(*at, 0, "a checkpoint of {} belongs to another call", titles(&[call.clone()]));
            apply(&mut call, checkpoint);
        }
        if let Ok(report) = answer {
            apply(&mut call, &report);
        }
    }
}

/// Applies a report to a call as the engine does: sets the natural id and the private state of the call, and updates
/// the instance document of the call.
pub(super) fn apply(call: &mut Call, report: &Report) {
    let title = titles(std::slice::from_ref(call));
    if let Some(natural) = &report.natural {
        let problem = natural_id_problem(natural);
        assert!(problem.is_none(), "the natural id {natural:?} that {title} reports is invalid: {problem:?}");
        call.natural = Some(natural.clone());
    }
    if let Some(private) = &report.private {
        call.private.value = private.clone();
    }
    if report.updates == Value::Null {
        return;
    }
    let parsed = Update::parse(&report.updates, shape())
        .unwrap_or_else(|error| panic!("the updates of {title} can't be read: {error:?}"));
    let applied = parsed.update.apply(&mut call.document);
    assert!(applied.is_ok(), "the updates of {title} can't be applied: {applied:?}");
}
