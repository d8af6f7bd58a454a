//! A driver that violates the contract.

use std::time::Duration;

use async_trait::async_trait;
use windlass_executor::Job;
use windlass_model::Action;
use windlass_model::name::DriverKind;
use windlass_model::record::Effect;

use crate::{Call, Context, Driver, Failure, Found, Nature, Observation, Observed, Package, Query, Report};

/// A violation of the contract between the engine and a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The driver panics.
    Panics,
    /// The driver returns no result for a call of the engine.
    NoAnswer,
    /// The driver returns two results for one call of the engine.
    TwoAnswers,
}

impl Fault {
    /// All faults of drivers.
    pub const ALL: [Self; 3] = [Self::Panics, Self::NoAnswer, Self::TwoAnswers];
}

/// A driver of the kind `faulty`, for tests of the engine. The driver violates the contract of drivers in one way,
/// which is called its [`Fault`]. If the driver was created by [`performing`](Self::performing), the method
/// `perform` has the fault. If the driver was created by [`looking`](Self::looking), the methods `observe` and
/// `discover` have the fault.
///
/// The driver runs one job for each performed call. All actions are observable, and have the effect [`Effect::Once`]: a
/// second execution may do harm.
#[derive(Debug, Clone, Copy)]
pub struct Faulty {
    performing: Option<Fault>,
    looking: Option<Fault>,
}

impl Faulty {
    /// Creates a driver that violates the contract when it performs a call. The driver runs the job of the call.
    /// After the job, the driver commits the given fault: for example, it panics.
    pub fn performing(fault: Fault) -> Self {
        Self { performing: Some(fault), looking: None }
    }

    /// Creates a driver that commits the given fault when it observes instances or searches for instances.
    pub fn looking(fault: Fault) -> Self {
        Self { performing: None, looking: Some(fault) }
    }
}

/// Returns the results for one call: only `answer`, or a wrong number of results if the driver has a fault.
///
/// # Panics
/// When the fault is [`Fault::Panics`].
fn answers<T: Clone>(fault: Option<Fault>, answer: T) -> Vec<T> {
    match fault {
        None => vec![answer],
        Some(Fault::Panics) => panic!("this driver is faulty"),
        Some(Fault::NoAnswer) => Vec::new(),
        Some(Fault::TwoAnswers) => vec![answer.clone(), answer],
    }
}

#[async_trait]
impl Driver for Faulty {
    fn kind(&self) -> DriverKind {
        "faulty".parse().expect("a driver's kind is a word")
    }

    fn family(&self) -> &'static str {
        "faulty"
    }

    fn check(&self, _: &Package) -> Vec<crate::PackageProblem> {
        Vec::new()
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        let timeout = Duration::from_secs(60);
        Some(Nature { effect: Effect::Once, observable: true, batch: None, timeout, names: false })
    }

    async fn perform(&self, context: &dyn Context, _: &[Call]) -> Vec<Result<Report, Failure>> {
        let ran = context.job("run", Job::command("true")).await;
        answers(self.performing, ran.map(|_| Report::settled()).map_err(Failure::from))
    }

    async fn observe(&self, _: &dyn Context, _: &[Call]) -> Vec<Result<Observed, Failure>> {
        let reached = Observed { observation: Observation::Reached, report: Report::settled() };
        answers(self.looking, Ok(reached))
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        let found = Found::new("one", [].into());
        Ok(answers(self.looking, found))
    }
}
