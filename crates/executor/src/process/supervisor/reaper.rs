//! Reaps all children of the supervisor. The status of a job's main process is forwarded to the job's task.
//! The status of an orphan is ignored.

use std::{cell::RefCell, collections::HashMap, io, rc::Rc};

use rustix::process::{WaitOptions, WaitStatus, wait};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

/// Reaps children. If a task waits for a child, sends the exit status of the child to this task. The map contains
/// the senders by the process ids of the children. A child keeps its id until it is reaped, and only this type
/// reaps. So an id always names one child.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reaper(Rc<RefCell<HashMap<i32, oneshot::Sender<WaitStatus>>>>);

impl Reaper {
    /// Returns a receiver that gets the exit status of a child when the child has ended. The caller must not await
    /// between the start of the child and this call.
    pub(crate) fn status_of(&self, pid: i32) -> oneshot::Receiver<WaitStatus> {
        let (sender, receiver) = oneshot::channel();
        self.0.borrow_mut().insert(pid, sender);
        receiver
    }

    /// Reaps ended children forever.
    pub(crate) async fn run(self, mut children: Signal) {
        while children.recv().await.is_some() {
            self.reap();
        }
    }

    fn reap(&self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(waiting) = self.0.borrow_mut().remove(&pid.as_raw_nonzero().get()) {
                let _job_is_over = waiting.send(status);
            }
        }
    }
}

/// Starts to listen for the end of children. The supervisor calls this function before it starts the first
/// child.
pub(crate) fn children() -> io::Result<Signal> {
    signal(SignalKind::child())
}
