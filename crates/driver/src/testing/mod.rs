//! The conformance suite: the requirements on a [`Driver`], as tests for any implementation.
//!
//! A driver's own tests call [`conformance_tests!`](crate::conformance_tests) with a function that creates a
//! [`Subject`]. Each case of the suite becomes a separate test:
//!
//! ```
//! use windlass_driver::noop::Noop;
//! use windlass_driver::testing::{Subject, sample};
//! use windlass_driver::{Binding, Bindings, Driver, Package};
//! use windlass_model::{Action, Transition};
//!
//! /// Runs one case. A driver with jobs also opens its runtime here.
//! async fn check(run: impl AsyncFnOnce(&Subject)) {
//!     let binding = Binding {
//!         driver: Noop.kind(),
//!         infrastructure: vec!["*".to_owned()],
//!         properties: [("effect".to_owned(), "once".into())].into(),
//!     };
//!     let bindings = Bindings {
//!         transitions: [(Transition::Install, Vec::new())].into(),
//!         default: vec![binding],
//!         ..Bindings::default()
//!     };
//!     let package = Package::new("resource::data::1.0".parse().expect("a name"), bindings, Vec::new());
//!     let call = sample::call(package, Action::Transition(Transition::Install), 1);
//!     Subject::new(Noop, vec![call]).check(run).await; // `.on(runtime)` for a driver that runs jobs
//! }
//!
//! windlass_driver::conformance_tests!(check);
//! ```
//!
//! A case may perform a call several times, and the jobs of the call may run each time. So each call of the subject
//! must always give the same answer. The subject should contain the following calls, as far as the driver supports
//! them:
//!
//! - a call with several jobs;
//! - a call with a checkpoint;
//! - a call that publishes a sensitive property;
//! - two calls of one [batch](crate::Nature::batch), for different instances. If a call of the subject has a batch key,
//!   the suite requires two such calls.
//!
//! | module | requirement |
//! |---|---|
//! | [`calls`] | each call has a valid package and gets one answer, and the updates and the natural id in the answer are valid |
//! | [`replay`] | a repeated call requests the same jobs, and recorded jobs give the same answer |
//! | [`lost`] | if a job is lost or did not run, the call fails with the unchanged failure of the job |
//! | [`checkpoints`] | if windlass dies after a checkpoint, the repeated call resumes from the checkpoint |
//! | [`batches`] | calls of one batch get the same answers as single calls |
//! | [`cancellation`] | if a job of a call is cancelled, the call ends soon and requests no further job |
//! | [`secrets`] | no secret is in a log, a failure or a job, except in the input of a job |
//!
//! [`Faulty`] is a driver that violates the contract. For example, the driver panics. The tests of the engine check
//! that only the calls of this driver then fail.

#![expect(clippy::missing_panics_doc, reason = "a panic is how a case fails")]

pub mod batches;
pub mod calls;
pub mod cancellation;
pub mod checkpoints;
mod faulty;
pub mod lost;
pub mod replay;
pub mod sample;
pub mod secrets;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_executor::Runtime;

use crate::{Call, Driver, Failure, Observed, Report};

pub use self::faulty::{Fault, Faulty};
use self::trial::Trial;

/// Maximum time of a case, which is far more than any case needs.
pub const CASE_LIMIT: Duration = Duration::from_secs(300);

/// A driver under test, and calls to it.
pub struct Subject {
    driver: Arc<dyn Driver>,
    runtime: Option<Arc<dyn Runtime>>,
    calls: Vec<Call>,
}

impl Subject {
    /// Creates a subject for a driver without jobs. Each call must always give the same answer.
    pub fn new(driver: impl Driver + 'static, calls: Vec<Call>) -> Self {
        Self { driver: Arc::new(driver), runtime: None, calls }
    }

    /// Sets the runtime that runs the jobs of the driver. At least one call of the subject must then request a job.
    #[must_use]
    pub fn on(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Runs a case within the time limit.
    ///
    /// # Panics
    /// When the case fails or takes too long, or when the subject has no call.
    pub async fn check(&self, case: impl AsyncFnOnce(&Self)) {
        assert!(!self.calls.is_empty(), "the subject has no call");
        let in_time = timeout(CASE_LIMIT, case(self)).await.is_ok();
        assert!(in_time, "the case takes longer than {CASE_LIMIT:?}");
    }

    fn trial(&self) -> Trial<'_> {
        Trial::new(self.runtime.as_deref())
    }

    /// Performs calls. Panics if the driver does not return one answer for each call.
    async fn perform(&self, calls: &[Call], trial: &Trial<'_>) -> Vec<Result<Report, Failure>> {
        let answers = self.driver.perform(trial, calls).await;
        assert_eq!(answers.len(), calls.len(), "the number of answers of {}", titles(calls));
        answers
    }

    async fn perform_one(&self, call: &Call, trial: &Trial<'_>) -> Result<Report, Failure> {
        self.perform(std::slice::from_ref(call), trial).await.remove(0)
    }

    /// Observes calls. Panics if the driver does not return one answer for each call.
    async fn observe(&self, calls: &[Call], trial: &Trial<'_>) -> Vec<Result<Observed, Failure>> {
        let answers = self.driver.observe(trial, calls).await;
        assert_eq!(answers.len(), calls.len(), "the number of observations of {}", titles(calls));
        answers
    }

    /// Groups the calls of the subject into batches, as the engine may do. Returns the batches that contain at
    /// least two calls.
    ///
    /// # Panics
    /// When the driver declares batches, but no two calls belong to one batch.
    fn batches(&self) -> Vec<Vec<Call>> {
        let mut batches: Vec<(String, Vec<Call>)> = Vec::new();
        for call in &self.calls {
            let nature = self.driver.nature(&call.package, &call.action);
            let Some(key) = nature.and_then(|nature| nature.batch) else { continue };
            let fits = |(other, calls): &&mut (String, Vec<Call>)| {
                let first = &calls[0];
                *other == key
                    && first.action == call.action
                    && first.package.digest() == call.package.digest()
                    && first.binding == call.binding
                    && first.location == call.location
                    && calls.iter().all(|other| other.instance != call.instance)
            };
            match batches.iter_mut().find(fits) {
                Some((_, calls)) => calls.push(call.clone()),
                None => batches.push((key, vec![call.clone()])),
            }
        }
        let is_declared = !batches.is_empty();
        let several: Vec<_> = batches.into_iter().map(|(_, calls)| calls).filter(|b| b.len() > 1).collect();
        assert!(!is_declared || !several.is_empty(), "the subject has no two calls of one batch");
        several
    }
}

/// Returns a text with the element and the action of each call, for messages: `shop__db Install, shop__web Install`.
fn titles(calls: &[Call]) -> String {
    let titles: Vec<String> = calls.iter().map(|call| format!("{} {}", call.element, call.action)).collect();
    titles.join(", ")
}

/// Generates a test for every case of the suite. `$check` is a function that takes a case and runs it with a
/// [`Subject`](crate::testing::Subject). The calling crate needs tokio with its macros.
#[macro_export]
macro_rules! conformance_tests {
    ($check:path) => {
        $crate::conformance_tests! { $check;
            calls { checked_and_declared one_answer_each updates_can_be_applied }
            replay { recorded_jobs_are_not_run resumed_after_any_job }
            lost { lost_jobs_are_passed_on jobs_that_did_not_run_are_passed_on }
            checkpoints { resumed_after_a_checkpoint a_lost_checkpoint_is_passed_on }
            batches { performed_as_if_alone observed_as_if_alone a_lost_job_answers_every_call }
            cancellation { ends_soon_while_performing ends_soon_while_observing }
            secrets { not_in_jobs not_in_reports published_ones_are_hidden }
        }
    };
    ($check:path; $($module:ident { $($case:ident)* })*) => {
        $($(
            #[tokio::test]
            async fn $case() {
                $check($crate::testing::$module::$case).await;
            }
        )*)*
    };
}
