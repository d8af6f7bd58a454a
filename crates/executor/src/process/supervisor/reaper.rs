//! Reaps every child: the main processes of jobs, whose status is handed on, and orphans, whose is of no interest.

use std::{cell::RefCell, collections::HashMap, io, rc::Rc};

use rustix::process::{WaitOptions, WaitStatus, wait};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

/// Who waits for which process. No number is forgotten and no number is used twice: a child keeps its number until
/// it is reaped, that is here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reaper(Rc<RefCell<HashMap<i32, oneshot::Sender<WaitStatus>>>>);

impl Reaper {
    /// Asks for the status of a child. To be called before anything is awaited after its start.
    pub(crate) fn status_of(&self, pid: i32) -> oneshot::Receiver<WaitStatus> {
        let (sender, receiver) = oneshot::channel();
        self.0.borrow_mut().insert(pid, sender);
        receiver
    }

    /// Reaps for ever.
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

/// Starts to listen for the end of children. To be called before the first is started.
pub(crate) fn children() -> io::Result<Signal> {
    signal(SignalKind::child())
}
