//! Tests that the conformance suite accepts a correct driver, and detects each violation of the contract.

use windlass_driver::testing::Subject;

use crate::place::Place;
use crate::two_step::{Slip, TwoStep, calls};

async fn check_with(slip: Slip, case: impl AsyncFnOnce(&Subject)) {
    let place = Place::new();
    Subject::new(TwoStep(slip), calls()).on(place.runtime.clone()).check(case).await;
}

mod a_correct_driver {
    use windlass_driver::testing::Subject;

    async fn check(case: impl AsyncFnOnce(&Subject)) {
        super::check_with(super::Slip::Nothing, case).await;
    }

    windlass_driver::conformance_tests!(check);
}

/// Defines a test for each violation. Each entry contains the name of the test, the violation, the case of the suite
/// that must fail, and a part of the panic message.
macro_rules! detected {
    ($($test:ident: $slip:ident by $module:ident::$case:ident, $message:literal;)+) => {
        $(
            #[tokio::test]
            #[should_panic(expected = $message)]
            async fn $test() {
                check_with(Slip::$slip, windlass_driver::testing::$module::$case).await;
            }
        )+
    };
}

detected! {
    no_time_for_an_action: NoTime by calls::checked_and_declared, "has no time";
    updates_with_an_unknown_command: BadUpdates by calls::updates_can_be_applied, "can't be read";
    a_job_with_another_name: OtherName by replay::recorded_jobs_are_not_run, "the names of the jobs";
    the_time_in_a_job: TimeInJob by replay::resumed_after_any_job, "differs when it is repeated";
    a_lost_job_that_has_failed: LostIsFailed by lost::lost_jobs_are_passed_on, "has no outcome";
    a_job_that_did_not_run_and_failed: NotRunIsFailed by lost::jobs_that_did_not_run_are_passed_on, "has no outcome";
    a_second_instance: CreatesAgain by checkpoints::resumed_after_a_checkpoint, "ran another job: `create-another`";
    an_ignored_checkpoint: IgnoresCheckpoint by checkpoints::a_lost_checkpoint_is_passed_on, "was not recorded";
    answers_in_another_order: Reversed by batches::performed_as_if_alone, "in a batch, and alone";
    one_answer_for_all: OneForAll by batches::a_lost_job_answers_every_call, "the number of answers";
    a_stop_that_is_ignored: RunsOn by cancellation::ends_soon_while_performing, "after the stop";
    a_secret_in_a_job: SecretInJob by secrets::not_in_jobs, "a secret is in the job";
    a_secret_in_the_data_of_a_log: SecretInData by secrets::not_in_reports, "a secret is in the answer";
    a_secret_in_a_log: SecretInLog by secrets::not_in_reports, "a secret is in the answer";
    a_published_secret_that_is_not_hidden: Unhidden by secrets::published_ones_are_hidden, "without hiding it";
}

/// The subject has a runtime for jobs, but none of its calls requests a job. The suite must fail, because its cases
/// about jobs would test nothing.
#[tokio::test]
#[should_panic(expected = "no call of the subject requests a job")]
async fn a_subject_without_jobs() {
    let place = Place::new();
    let mut calls = calls();
    let binding = windlass_driver::Binding {
        driver: "noop".parse().unwrap(),
        properties: [("effect".to_owned(), "once".into())].into(),
        ..calls[0].binding.clone()
    };
    calls[0].binding = binding;
    let subject = Subject::new(windlass_driver::noop::Noop, calls).on(place.runtime.clone());
    subject.check(windlass_driver::testing::replay::recorded_jobs_are_not_run).await;
}
