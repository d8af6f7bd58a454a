//! Lists, ends and reaps all processes of the container except this program, which is process 1.

use std::{collections::HashSet, io, sync::mpsc::Sender};

use crate::{left_behind, life::Event, process_list, sys};

/// The processes to which SIGTERM was sent. They are identified by id and name, since an id may be reused.
#[derive(Default)]
pub(crate) struct Terminated(HashSet<(i32, String)>);

impl Terminated {
    /// Sends SIGTERM to every process that has not received SIGTERM yet.
    pub(crate) fn terminate_all(&mut self) {
        self.terminate(|_parent| true);
    }

    /// Sends SIGTERM to new orphans: processes whose parent has ended, and that have not received SIGTERM yet. A
    /// process with a living parent gets no signal, because its parent may have started it for the cleanup.
    pub(crate) fn terminate_orphans(&mut self) {
        self.terminate(|parent| parent == 1);
    }

    fn terminate(&mut self, wanted: impl Fn(i32) -> bool) {
        for process in process_list::others() {
            if wanted(process.parent) && self.0.insert((process.pid, process.name)) {
                sys::send(process.pid, sys::SIGTERM);
            }
        }
    }
}

/// Returns the names of the other living processes of this container, sorted and without duplicates. Returns at most
/// [`LEFT_BEHIND`](left_behind::LEFT_BEHIND) names.
pub(crate) fn names() -> Vec<String> {
    left_behind::reported(process_list::others().into_iter().map(|process| process.name))
}

/// Kills all other processes of this container. This program is the first process of the container. A signal that
/// it sends to the id -1 reaches all processes except itself.
pub(crate) fn kill_all_others() {
    sys::send(-1, sys::SIGKILL);
}

/// Reaps all ended processes, including orphans, which the first process inherits.
pub(crate) fn reap(events: &Sender<Event>) {
    loop {
        let sent = match sys::wait_for_any() {
            Ok((pid, status)) => events.send(Event::Reaped { pid, status }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(_) => {
                let _over = events.send(Event::Alone);
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
