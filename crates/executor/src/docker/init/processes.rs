//! The other processes of the container: asked to end, killed, collected when they have ended.

use std::{
    collections::{BTreeSet, HashSet},
    fs, io,
    sync::mpsc::Sender,
};

use crate::{life::Event, sys};

/// Who was asked to end, by number and by name: a number may be given to somebody else meanwhile.
#[derive(Default)]
pub(crate) struct Asked(HashSet<(i32, String)>);

impl Asked {
    /// Sends SIGTERM to everybody who has not had it.
    pub(crate) fn ask_all(&mut self) {
        self.ask(|_parent| true);
    }

    /// Sends SIGTERM to orphans who have not had it, and to nobody else: what a process starts after it was asked is left
    /// alone, since it may be what it needs to clean up.
    pub(crate) fn ask_orphans(&mut self) {
        self.ask(|parent| parent == Some("1"));
    }

    fn ask(&mut self, wanted: impl Fn(Option<&str>) -> bool) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
            // `PID (NAME) STATE PARENT …`, and a name may have parentheses and spaces.
            let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
            if pid != 1 && wanted(rest.split(' ').nth(1)) && self.0.insert((pid, name.to_owned())) {
                sys::send(pid, sys::SIGTERM);
            }
        }
    }
}

/// Returns the names of the others in this container that have not ended, each once.
pub(crate) fn names() -> BTreeSet<String> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let named = numbers.filter(|pid| *pid != 1).filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (before, rest) = stat.rsplit_once(") ")?;
        let is_dead = rest.starts_with(['Z', 'X']);
        (!is_dead).then(|| before.split_once(" (").map(|(_, name)| name.to_owned()))?
    });
    named.collect()
}

/// Kills everybody else in this container: for its first process, -1 is all but itself.
pub(crate) fn kill_all_others() {
    sys::send(-1, sys::SIGKILL);
}

/// Collects whoever ends: orphans of this container come to its first process.
pub(crate) fn reap(events: &Sender<Event>) {
    loop {
        let told = match sys::wait_for_any() {
            Ok((pid, status)) => events.send(Event::Reaped { pid, status }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(_) => {
                let _over = events.send(Event::Alone);
                return;
            }
        };
        if told.is_err() {
            return;
        }
    }
}
