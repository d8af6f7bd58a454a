//! Notes about the container engines that may hold jobs of a project. A command queries only the engines that a
//! note names.
//!
//! Each connection of a windlass program to an engine is a client with an id. Before a program submits its first
//! job to an engine, it writes a note with the name of the engine and the client id. When the program disconnects
//! and has left no jobs on the engine, it removes the note. So a note remains while the program runs, after the
//! program was killed, and after it has left jobs running.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use windlass_source::files::{self, MAX_SIZE};

/// The name of the folder with the notes. A note is a file which records that a client uses a container engine.
const FOLDER: &str = "clients";

/// The file in which an earlier version of windlass stored the names of engines, one on each line. The folder
/// [`FOLDER`] replaces this file. The earlier version never removed lines.
const FORMER: &str = "engines";

/// Maximum number of attempts to write a note while other processes remove the folder.
const TRIES: u32 = 10;

/// The notes of a project. Each note records that a client uses a container engine. A client is the connection of one
/// windlass program to an engine.
#[derive(Debug, Clone)]
pub(crate) struct Notes {
    folder: PathBuf,
    former: PathBuf,
}

/// A note that this process has written: it records that this process uses a container engine. The file of the
/// note is locked while this value exists.
#[derive(Debug)]
pub(crate) struct Note {
    path: PathBuf,
    _lock: File,
}

/// A note that was read from its file. The note records that a client uses a container engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    /// The name of the container engine: a value of the key `engine` in a location.
    pub(crate) engine: String,
    /// The id of the client. `None` if the note comes from the file [`FORMER`] of an earlier windlass version: that
    /// file contains no client ids.
    pub(crate) client: Option<String>,
}

impl Notes {
    pub(crate) fn new(state: &Path) -> Self {
        Self { folder: state.join(FOLDER), former: state.join(FORMER) }
    }

    /// Returns the path of the folder with the notes. Messages show this path.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a note for the client with the id `client`. The note names the container engine `engine`, which the
    /// client uses.
    pub(crate) fn add(&self, engine: &str, client: &str) -> io::Result<Note> {
        for _ in 1..TRIES {
            match self.try_to_add(engine, client) {
                // Another process removed the folder in the meantime.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                added => return added,
            }
        }
        self.try_to_add(engine, client)
    }

    fn try_to_add(&self, engine: &str, client: &str) -> io::Result<Note> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let path = self.folder.join(client);
        // The lock on the file shows that its client still runs. If the file had its final name before it is
        // locked, another program could conclude that the client has ended.
        let fresh = self.folder.join(format!(".{client}"));
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.lock()?;
        file.write_all(engine.as_bytes())?;
        fs::rename(&fresh, &path)?;
        Ok(Note { path, _lock: file })
    }

    /// Lists all notes about the use of container engines. The lines of the file [`FORMER`] also count as notes, and
    /// come first.
    pub(crate) fn all(&self) -> io::Result<Vec<Noted>> {
        let mut all: Vec<Noted> = self.former()?;
        for client in self.clients()? {
            let engine = match files::read_text(&self.folder.join(&client), MAX_SIZE) {
                Ok(engine) => engine,
                // The client has disconnected from the engine in the meantime.
                Err(error) if error.is_missing() => continue,
                Err(error) => return Err(error.into()),
            };
            all.push(Noted { engine, client: Some(client) });
        }
        Ok(all)
    }

    fn clients(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        let mut names: Vec<String> = names.filter_map(io::Result::transpose).collect::<io::Result<_>>()?;
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        Ok(names)
    }

    fn former(&self) -> io::Result<Vec<Noted>> {
        let text = match files::read_text(&self.former, MAX_SIZE) {
            Ok(text) => text,
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(|line| Noted { engine: line.to_owned(), client: None }).collect())
    }

    /// Removes the note `noted`, unless the client of the note still runs.
    ///
    /// A note from the file [`FORMER`] is a line with the name of an engine, and names no client. Together with
    /// such a note, the method removes all other lines with the name of the same engine.
    ///
    /// The caller must make sure that the engine contains no job of the client, because later commands find such a
    /// job only by the note.
    pub(crate) fn remove(&self, noted: &Noted) -> io::Result<()> {
        if let Some(client) = &noted.client {
            return remove_unlocked(&self.folder.join(client));
        }
        let rest: Vec<String> =
            self.former()?.into_iter().map(|it| it.engine).filter(|it| *it != noted.engine).collect();
        if rest.is_empty() {
            return if_there(fs::remove_file(&self.former));
        }
        let fresh = self.former.with_extension("new");
        fs::write(&fresh, rest.join("\n") + "\n")?;
        fs::rename(fresh, &self.former)
    }

    /// Removes unfinished notes of killed clients. Then removes the folder if it is empty.
    pub(crate) fn tidy(&self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                remove_unlocked(&entry.path())?;
            }
        }
        let _in_use = fs::remove_dir(&self.folder);
        Ok(())
    }
}

impl Note {
    /// Removes this note. The caller must know that no job of this process is left on the engine.
    pub(crate) fn remove(self) -> io::Result<()> {
        if_there(fs::remove_file(&self.path))
    }
}

fn remove_unlocked(path: &Path) -> io::Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    match file.try_lock() {
        Ok(()) => if_there(fs::remove_file(path)),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn if_there(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(engine: &str, client: Option<&str>) -> Noted {
        Noted { engine: engine.to_owned(), client: client.map(str::to_owned) }
    }

    #[test]
    fn a_note_stays_until_its_client_has_parted() {
        let dir = tempfile::tempdir().unwrap();
        let notes = Notes::new(dir.path());
        assert_eq!(notes.all().unwrap(), []);
        let one = notes.add("podman", "1a").unwrap();
        let other = notes.add("docker", "2b").unwrap();
        let all = [noted("podman", Some("1a")), noted("docker", Some("2b"))];
        assert_eq!(notes.all().unwrap(), all);
        // Other processes can't remove the note of a running client.
        notes.remove(&all[0]).unwrap();
        assert_eq!(notes.all().unwrap(), all);
        // Dropping the note unlocks its file, like the death of the client.
        drop(one);
        assert_eq!(notes.all().unwrap(), all);
        notes.remove(&all[0]).unwrap();
        other.remove().unwrap();
        fs::write(dir.path().join("clients/.3c"), "").unwrap();
        notes.tidy().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn notes_of_a_version_before_are_read_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("engines"), "docker\npodman\n").unwrap();
        let notes = Notes::new(dir.path());
        assert_eq!(notes.all().unwrap(), [noted("docker", None), noted("podman", None)]);
        notes.remove(&noted("docker", None)).unwrap();
        assert_eq!(notes.all().unwrap(), [noted("podman", None)]);
        notes.remove(&noted("podman", None)).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
