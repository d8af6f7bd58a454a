//! Lists, ends and reaps all processes of the container except this program, which is process 1.

use std::{collections::HashSet, fs, io, sync::mpsc::Sender};

use crate::{left_behind, life::Event, sys};

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
        self.terminate(|parent| parent == Some("1"));
    }

    fn terminate(&mut self, wanted: impl Fn(Option<&str>) -> bool) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
            // `PID (NAME) STATE PARENT …`, where a name may contain parentheses and spaces.
            let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
            if pid != 1 && wanted(rest.split(' ').nth(1)) && self.0.insert((pid, name.to_owned())) {
                sys::send(pid, sys::SIGTERM);
            }
        }
    }
}

/// Returns the names of the other living processes of this container, sorted and without duplicates. Returns at most
/// [`LEFT_BEHIND`](left_behind::LEFT_BEHIND) names.
pub(crate) fn names() -> Vec<String> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let named = numbers.filter(|pid| *pid != 1).filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (before, rest) = stat.rsplit_once(") ")?;
        let is_dead = rest.starts_with(['Z', 'X']);
        (!is_dead).then(|| before.split_once(" (").map(|(_, name)| name.to_owned()))?
    });
    left_behind::reported(named)
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
