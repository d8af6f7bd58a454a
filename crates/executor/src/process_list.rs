//! Lists the living processes of a container, except this process.
//!
//! The build script compiles this file into the programs that run inside containers. These programs have only the
//! standard library.

use std::fs;

/// A living process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    pub(crate) name: String,
}

/// Lists all living processes of this PID namespace except this process.
pub(crate) fn others() -> Vec<Process> {
    let me = own_id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|pid| *pid != me).filter_map(read).collect()
}

/// Returns the id of this process.
pub(crate) fn own_id() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

fn read(pid: i32) -> Option<Process> {
    parse(pid, &String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Parses `/proc/<pid>/stat`: `pid (name) state ppid pgrp session …`. The name may contain any characters, including
/// spaces and parentheses. Returns `None` for a process that has ended.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (name, fields) = stat.split_once(" (")?.1.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process { pid, parent, session, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn living_processes_are_read_whatever_their_name_is() {
        let expected = Process { pid: 7, parent: 3, session: 5, name: "(a) (b) c".to_owned() };
        assert_eq!(parse(7, "7 ((a) (b) c) S 3 4 5 0 -1"), Some(expected));
        assert_eq!(parse(7, "7 (a) Z 3 4 5 0 -1"), None);
        assert!(others().iter().all(|process| process.pid != own_id()));
    }
}
