//! Jobs on runtimes: submit, look up after a crash, wait, cancel, and collect the output.
//!
//! A **job** is a command with everything it needs: input, files, variables, limits. A **runtime** is a place
//! where jobs run: processes of this host, containers of an engine, pods of a cluster. This crate doesn't
//! know the purpose of a job. It guarantees that a job runs at most once and ends in one of a few defined
//! ways. A job also stays findable when the process that submitted it is killed.
//!
//! # The life of one job
//! The jobs of the process runtime are children of a supervisor. The supervisor is the same program, started
//! a second time. The first lines of `main` decide which of the two runs.
//!
//! ```standalone_crate
//! use std::{env, error::Error, process::ExitCode, time::Duration};
//!
//! use windlass_executor::{
//!     End, Found, Job, JobId, Output, Runtime,
//!     process::{ProcessRuntime, SupervisorCommand, supervise},
//! };
//!
//! fn main() -> ExitCode {
//!     if env::args_os().nth(1).is_some_and(|first| first == "--supervise-jobs") {
//!         return supervise();
//!     }
//!     install().expect("the host runs a shell script");
//!     ExitCode::SUCCESS
//! }
//!
//! #[tokio::main]
//! async fn install() -> Result<(), Box<dyn Error>> {
//!     let dir = tempfile::tempdir()?;
//!     let supervisor = SupervisorCommand::this_program(["--supervise-jobs"]);
//!     let runtime = ProcessRuntime::open(dir.path().join("jobs"), supervisor)?;
//!
//!     // The command, its files and input, its outputs and its time limit.
//!     let job = Job::command("./scripts/Install.sh")
//!         .script("scripts/Install.sh".parse()?, "#!/bin/sh\nread name; echo \"installing $name\"; echo 42 > port")
//!         .stdin("demo\n")
//!         .output("port", "port".parse()?, 100)
//!         .timeout(Duration::from_secs(60));
//!
//!     // The caller chooses the id and records it before it submits the job. After a crash the id is sufficient.
//!     let id: JobId = "demo-install-1".parse()?;
//!     assert_eq!(runtime.find(&id).await?, Found::Never);
//!     runtime.submit(&id, &job).await?;
//!     runtime.submit(&id, &job).await?; // in doubt, again: it runs once
//!
//!     let outcome = runtime.wait(&id).await?;
//!     assert_eq!(outcome.end, End::Exited(0));
//!     assert_eq!(outcome.stdout.text(), "installing demo\n");
//!     assert_eq!(outcome.outputs["port"], Output::Content(b"42\n".to_vec()));
//!
//!     // A caller removes the job after it has stored the outcome.
//!     runtime.remove(&id).await?;
//!     runtime.close().await?;
//!     Ok(())
//! }
//! ```
//!
//! # Vocabulary, in the order of the data flow
//! - [`Job`]: the command, with [`Content`] for its stdin and its files at [`WorkPath`]s, its [`Limits`], its
//!   [`Network`], its [`Volume`]s.
//! - [`Runtime`]: the trait. [`Capabilities`] list the optional features of a runtime; a job that needs a
//!   missing one is refused.
//! - [`JobId`]: the job's name, known before it is submitted; [`Owner`]: the name of the submitter that the
//!   job belongs to.
//! - [`Events`]: the activity of a running job, as [`JobEvent`]s.
//! - [`Outcome`]: how it [`End`]ed, its captured streams ([`Captured`]), its output files ([`Output`]).
//! - [`Found`]: the state of a job that this process or an earlier one submitted.
//!
//! # Modules and features
//! Each runtime is a feature; all but `testing` are on by default. Without features the crate has the types
//! above and the trait, for crates that describe jobs and read their outcomes. It then depends on no engine
//! client and no archive format, and uses only the channels of tokio.
//!
//! | module | feature | content |
//! |---|---|---|
//! | `process` | `process` | the runtime of this host: jobs are processes |
//! | `sandbox` | `sandbox` | the runtime of this host for images: namespaces and a read-only root, without a daemon |
//! | `docker` | `docker` | the runtime of an engine, Docker or Podman: a container for each job |
//! | `pool` | `docker` | warm containers in front of a runtime of fresh ones, for short jobs |
//! | `runner` | `docker` | the runner program inside warm containers |
//! | `image` | `image` | images without an engine: a store, and a builder of small ones |
//! | `testing` | `testing` | the conformance suite that every runtime passes |
//!
//! `sandbox` includes `process` and `image`. `docker` includes `image`.

#[cfg(feature = "process")]
mod bwrap;
mod bytes;
mod capabilities;
mod capability;
mod captured;
#[cfg(feature = "process")]
mod cgroup;
mod clock;
#[cfg(feature = "process")]
mod confine;
mod content;
mod digest;
#[cfg(feature = "docker")]
pub mod docker;
mod error;
mod event;
#[cfg(any(feature = "process", feature = "image"))]
mod file_tree;
#[cfg(any(feature = "process", feature = "docker"))]
#[cfg_attr(
    not(all(test, feature = "process", feature = "docker")),
    expect(
        dead_code,
        reason = "other parts are used by the programs inside containers, or by the other feature"
    )
)]
mod folder_content;
mod id;
#[cfg(feature = "image")]
pub mod image;
mod isolation;
mod job;
#[cfg(any(feature = "process", feature = "docker"))]
mod left_behind;
mod limits;
mod outcome;
#[cfg(feature = "docker")]
pub mod pool;
#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "process")]
mod refusal;
#[cfg(feature = "docker")]
pub mod runner;
mod runtime;
#[cfg(feature = "sandbox")]
pub mod sandbox;
#[cfg(feature = "testing")]
pub mod testing;
mod work_path;

pub use crate::{
    capabilities::Capabilities,
    capability::Capability,
    captured::Captured,
    clock::Timestamp,
    content::Content,
    digest::{Digest, DigestError},
    error::RuntimeError,
    event::{EventSender, Events, JobEvent, Stream},
    id::{JobId, NameError, Owner, VolumeName},
    isolation::{Isolation, Pull, Root},
    job::{
        InputFile, Job, JobError, JobProblem, Network, OnOwnerDeath, OutputKind, OutputRequest, User, Volume,
    },
    limits::{BoundError, Bounds, Limits},
    outcome::{End, Outcome, Output, StartFailure},
    runtime::{Found, Runtime},
    work_path::{WorkPath, WorkPathError, WorkPathProblem},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
