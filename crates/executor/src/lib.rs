//! Runs jobs on runtimes: submits a job, finds it again after a crash, waits for its end, cancels it, and
//! collects its output.
//!
//! A **job** is a command with everything it needs: input, files, variables, limits. A **runtime** is a place
//! where jobs run: this host, or a container engine (Docker or Podman). This crate doesn't know the purpose
//! of a job. It guarantees that a job runs at most once, and that it ends in one of a few defined ways
//! ([`End`]). If the process that submitted the job is killed, the next process can still find the job.
//!
//! # The life of one job
//! The jobs of the process runtime are children of a supervisor. The supervisor is a second process of the
//! program that submits the jobs. In this example, the program starts the second process with the argument
//! `--supervise-jobs`, and the first lines of `main` check for this argument.
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
//! # Vocabulary
//! - [`Job`]: a command, with [`Content`] for its stdin and for its files at [`WorkPath`]s, its [`Limits`],
//!   its [`Network`], and its [`Volume`]s.
//! - [`Runtime`]: the trait of all runtimes. Its [`Capabilities`] list the optional features that a runtime
//!   has. The runtime refuses a job that needs any other optional feature.
//! - [`JobId`]: the name of a job. The caller chooses the id before it submits the job.
//! - [`Owner`]: the name of a group of jobs.
//! - [`Events`]: the activity of a running job, as [`JobEvent`]s.
//! - [`Outcome`]: the [`End`] of a job, its captured streams ([`Captured`]), and its output files
//!   ([`Output`]).
//! - [`Found`]: the state of a job that this process or an earlier process submitted.
//!
//! # Modules and features
//! Each runtime is a Cargo feature. All features except `testing` are on by default. Without features, the
//! crate contains only the types above and the trait `Runtime`, for crates that describe jobs and read their
//! outcomes. The crate then depends on no Docker client and no archive format, and uses only the channels of
//! tokio.
//!
//! | module | feature | content |
//! |---|---|---|
//! | `process` | `process` | a runtime that runs jobs as processes of this host |
//! | `sandbox` | `sandbox` | a runtime that runs jobs in namespaces of this host, in an image |
//! | `docker` | `docker` | a runtime that runs each job in a container of Docker or Podman |
//! | `pool` | `docker` | a runtime that runs jobs in warm containers where possible |
//! | `runner` | `docker` | the program that runs jobs inside a warm container |
//! | `image` | `image` | a store of images that needs no container engine, and a builder of small images |
//! | `testing` | `testing` | the conformance suite that every runtime passes |
//!
//! The feature `sandbox` includes `process` and `image`. The feature `docker` includes `image`.

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
#[cfg(feature = "process")]
#[expect(
    unsafe_code,
    reason = "the file declares a system call, because the programs in containers have only the standard library"
)]
mod output_file;
#[cfg(feature = "docker")]
pub mod pool;
#[cfg(feature = "process")]
pub mod process;
// The programs inside containers use this module. Here it is only tested.
#[cfg(all(test, feature = "docker"))]
mod process_list;
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
