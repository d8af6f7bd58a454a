//! The state that all jobs of a supervisor share.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use tokio::sync::{Notify, mpsc};

use crate::{
    JobId,
    process::{
        memory::Memory,
        supervisor::{
            groups::Groups, handle::Handle, members::MainProcesses, prewarmed::PrewarmedSandboxes,
            pump::ReadBuffer, reaper::Reaper, sandbox::SandboxFactory,
        },
        wire::Reply,
    },
};

/// The state that all jobs of a supervisor share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) reaper: Reaper,
    pub(crate) mains: MainProcesses,
    pub(crate) jobs: RefCell<HashMap<JobId, Handle>>,
    /// Notified when a job has ended.
    pub(crate) over: Notify,
    pub(crate) replies: mpsc::Sender<Reply>,
    /// Buffer into which all pumps read output.
    pub(crate) buffer: ReadBuffer,
    pub(crate) sandboxes: Rc<SandboxFactory>,
    pub(crate) prewarmed: Rc<PrewarmedSandboxes>,
    pub(crate) groups: Groups,
    /// Storage in memory for the stdout and stderr of jobs, if they are short.
    pub(crate) memory: Memory,
}

impl Context {
    /// Sends a reply to the owner (the process that submits the jobs). If the owner is dead, the reply is
    /// dropped.
    pub(crate) async fn send(&self, reply: Reply) {
        let _gone = self.replies.send(reply).await;
    }

    /// Sends a reply to the owner (the process that submits the jobs). If the queue of replies is full, the
    /// reply is dropped.
    pub(crate) fn try_send(&self, reply: Reply) {
        let _gone_or_slow = self.replies.try_send(reply);
    }
}
