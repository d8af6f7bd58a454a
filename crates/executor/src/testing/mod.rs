//! The conformance suite: the requirements on a [`Runtime`], as tests for any implementation.
//!
//! The tests of a runtime call [`conformance_tests!`](crate::conformance_tests) with a function that creates
//! a [`Subject`]. Each case becomes a test of its own:
//!
//! ```
//! use std::sync::Arc;
//! use windlass_executor::{Job, Runtime, testing::Subject};
//! # use windlass_executor::{Capabilities, Events, Found, JobId, Outcome, Owner, RuntimeError};
//! # struct MyRuntime;
//! # #[async_trait::async_trait]
//! # impl Runtime for MyRuntime {
//! #     fn kind(&self) -> &str { "mine" }
//! #     fn capabilities(&self) -> Capabilities { Capabilities::none() }
//! #     async fn submit(&self, _: &JobId, _: &Job) -> Result<(), RuntimeError> { Ok(()) }
//! #     async fn find(&self, _: &JobId) -> Result<Found, RuntimeError> { Ok(Found::Never) }
//! #     async fn events(&self, id: &JobId) -> Result<Events, RuntimeError> { Err(RuntimeError::UnknownJob { id: id.clone() }) }
//! #     async fn wait(&self, id: &JobId) -> Result<Outcome, RuntimeError> { Err(RuntimeError::UnknownJob { id: id.clone() }) }
//! #     async fn cancel(&self, _: &JobId, _: std::time::Duration) -> Result<(), RuntimeError> { Ok(()) }
//! #     async fn remove(&self, _: &JobId) -> Result<(), RuntimeError> { Ok(()) }
//! #     async fn list(&self, _: &Owner) -> Result<Vec<JobId>, RuntimeError> { Ok(vec![]) }
//! # }
//!
//! /// Runs one case. The runtime adds its own steps before and after it, such as a search for leftovers.
//! async fn check(case: &str, run: impl AsyncFnOnce(&Subject)) {
//!     let subject = Subject::new(Arc::new(MyRuntime), case, Job::command("sh"));
//!     subject.check(run).await;
//! }
//!
//! windlass_executor::conformance_tests!(check);
//! ```
//!
//! The cases need only a POSIX shell with the usual small tools, and `setsid`. If a case needs an optional
//! [capability](crate::Capability) that a runtime lacks, the runtime must refuse the job with the error
//! `Unsupported`.
//!
//! [`Leftovers`](leftovers::Leftovers) compares the objects on the host before and after a case.

pub mod ends;
pub mod extremes;
pub mod files;
pub mod leftovers;
pub mod life;
pub mod streams;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::timeout;

use crate::{Capability, End, Events, Job, JobEvent, JobId, Outcome, Owner, Runtime, RuntimeError, WorkPath};

/// Maximum time of a test case. Many cases start processes that sleep for ten minutes, and that the runtime must end.
/// If the runtime waits for such a process instead, the case exceeds this limit and fails. Otherwise, even a busy host
/// needs far less time.
pub const CASE_LIMIT: Duration = Duration::from_secs(300);

/// Maximum time that a case allows for an operation of the runtime, such as the end of a job. In some cases, a job
/// leaves a process that sleeps for ten minutes. If the runtime waits for the end of this process, the operation
/// takes longer than this limit and the case fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit of jobs that never end on their own. The cases with such jobs test the end of a job at its time
/// limit. The limit is long enough for the first output of the job on a busy machine.
const LONG_ENOUGH_TO_BEGIN: Duration = Duration::from_millis(1500);

/// A runtime under test, and a template for its jobs.
pub struct Subject {
    runtime: Arc<dyn Runtime>,
    name: String,
    template: Job,
    next: AtomicU64,
}

impl Subject {
    /// Creates a subject. The ids of its jobs, and their owner, are derived from `name`. `name` consists of
    /// lower-case letters, digits, hyphens and underscores. Cases that run concurrently need different names.
    /// `template` contains everything that each job needs on this runtime, such as an image.
    pub fn new(runtime: Arc<dyn Runtime>, name: &str, template: Job) -> Self {
        Self { runtime, name: name.replace('_', "-"), template, next: AtomicU64::new(0) }
    }

    /// Runs a case within the time limit [`CASE_LIMIT`].
    ///
    /// # Panics
    /// When the case fails, or takes too long.
    pub async fn check(&self, case: impl AsyncFnOnce(&Self)) {
        let in_time = timeout(CASE_LIMIT, case(self)).await.is_ok();
        assert!(in_time, "the case takes longer than {CASE_LIMIT:?}");
    }

    fn runtime(&self) -> &dyn Runtime {
        &*self.runtime
    }

    /// Returns an id that was not used before.
    fn id(&self) -> JobId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name: String = self.name.chars().take(50).collect();
        format!("{name}-{number}").parse().expect("the name of a case makes a job id")
    }

    fn owner(&self) -> Owner {
        format!("conformance/{}", self.name).parse().expect("the name of a case makes an owner")
    }

    fn command(&self, program: &str) -> Job {
        let mut job = self.template.clone().owner(self.owner());
        program.clone_into(&mut job.program);
        job
    }

    /// Creates a job that runs `sh -c SCRIPT`.
    fn sh(&self, script: &str) -> Job {
        self.command("sh").arg("-c").arg(script)
    }

    /// Runs a job to its end and removes it.
    async fn run(&self, job: Job) -> Outcome {
        self.runtime().run(&self.id(), &job).await.expect("the job runs")
    }

    /// Runs a job that must succeed, and returns its output.
    async fn printed(&self, job: Job) -> String {
        let outcome = self.run(job).await;
        assert_eq!(outcome.end, End::Exited(0), "stderr: {}", outcome.stderr.text());
        outcome.stdout.text()
    }

    /// Tells whether the runtime has this capability. If the runtime lacks it, checks that the runtime
    /// refuses `job`, and that its error names the capability.
    async fn can(&self, capability: Capability, job: Job) -> bool {
        if self.runtime().capabilities().has(capability) {
            return true;
        }
        let id = self.id();
        match self.runtime().submit(&id, &job).await {
            Err(RuntimeError::Unsupported { missing, .. }) => {
                assert!(missing.contains(&capability), "{missing:?}");
            }
            other => panic!("expected a refusal for want of {capability}, got {other:?}"),
        }
        assert_eq!(self.runtime().find(&id).await.expect("find answers"), crate::Found::Never);
        false
    }

    async fn submit(&self, job: Job) -> JobId {
        let id = self.id();
        self.runtime().submit(&id, &job).await.expect("the job is taken");
        id
    }

    /// Submits a job, and waits for its first output.
    async fn submit_and_see(&self, job: Job) -> JobId {
        let id = self.submit(job).await;
        let mut events = self.events(&id).await;
        while let Some(event) = events.next().await {
            if matches!(event, JobEvent::Output { .. }) {
                return id;
            }
        }
        panic!("the job ended without having printed anything");
    }

    async fn events(&self, id: &JobId) -> Events {
        self.runtime().events(id).await.expect("the job is known")
    }

    async fn wait(&self, id: &JobId) -> Outcome {
        self.runtime().wait(id).await.expect("the job is known")
    }

    async fn remove(&self, id: &JobId) {
        self.runtime().remove(id).await.expect("a job that has ended can be removed");
    }
}

/// Parses a path inside the working folder.
fn path(text: &str) -> WorkPath {
    text.parse().expect("the suite's own paths are well-formed")
}

/// Generates a test for every case of the suite. `$check` is a function that takes the name of a case and the
/// case itself (see [`testing`](crate::testing)). The calling crate needs tokio with its macros.
#[macro_export]
macro_rules! conformance_tests {
    ($check:path) => {
        $crate::conformance_tests! { $check;
            ends {
                exit_codes signalled missing_command missing_interpreter not_executable no_format
                timeout_ends_all_processes timeout_is_graceful unsupported_is_refused every_exit_code
                missing_image
            }
            extremes {
                endless_output stderr_flood fork_bomb processes_are_limited memory_is_limited
                memory_of_all_is_limited processor_time_is_limited temporary_folder_is_flooded
            }
            files {
                environment_is_cleared folders_of_a_job files_are_placed outputs_are_brought_back
                outputs_of_a_failed_job volumes_outlive_jobs large_files odd_names device_node output_limits output_folders
                output_folders_gone
            }
            life {
                submitted_twice_runs_once found_at_each_stage removed_leaves_nothing running_is_not_removed
                cancelled_while_running cancelled_at_once cancelled_when_over listed_by_owner many_at_once
                unknown_is_said cancelled_at_any_moment cancelled_in_a_crowd
            }
            streams {
                echo unread_input ignored_input large_input large_echo closed_early flood silent garbage stderr_apart leftover_holds_output
                events_in_order events_of_the_past unread_events_stall_nobody
            }
        }
    };
    ($check:path; $($module:ident { $($case:ident)* })*) => {
        $($(
            #[tokio::test]
            async fn $case() {
                $check(stringify!($case), $crate::testing::$module::$case).await;
            }
        )*)*
    };
}
