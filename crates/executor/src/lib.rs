//! Jobs on runtimes: submit, find again, wait, cancel, bring back the output.

mod bytes;
mod capability;
mod captured;
mod clock;
mod content;
mod event;
mod id;
mod job;
mod limits;
mod outcome;
pub mod process;
mod runtime;
#[cfg(feature = "testing")]
pub mod testing;
mod work_path;

pub use crate::{
    capability::{Capabilities, Capability},
    captured::Captured,
    clock::Timestamp,
    content::Content,
    event::{EventSender, Events, JobEvent, Stream},
    id::{JobId, NameError, Owner, VolumeName},
    job::{InputFile, Job, JobError, JobProblem, Network, OnOwnerDeath, OutputRequest, User, Volume},
    limits::Limits,
    outcome::{End, Outcome, Output, StartFailure},
    runtime::{Found, Runtime, RuntimeError},
    work_path::{WorkPath, WorkPathError, WorkPathProblem},
};
