//! The key that seals a store's secrets, and the file of the key.
//!
//! The file contains one line of 64 hexadecimal digits, and only its owner may read it. windlass creates the
//! file only together with the store. If the key file of an existing store is missing, no new key is created.
//! The records of this store can still be read, but its secrets can't.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use windlass_model::id::{Entropy, StoreId};
use windlass_secret::{SealError, SealingKey, SealingKeyError, SecretRef, Sensitive};
use windlass_source::{Code, files};

use crate::codes;

/// The source of the key that seals the secrets of a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum KeySource {
    /// A file. If it is missing, it is created together with a new store.
    File(PathBuf),
    /// A text, for example from an environment variable. The store uses this text as the key, and never creates a key
    /// of its own.
    Text {
        /// The content of a key file.
        text: Sensitive<String>,
        /// The source of the text, as messages name it, for example `` `DEMO_KEY` ``.
        origin: String,
    },
}

/// A problem with the key of a store, for example a missing key file, or a key that belongs to another store.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The store exists, but its key file does not.
    #[error(
        "the key `{}` of the store is missing, so the store's secrets can't be opened; restore it from a backup or from a machine that shares the store",
        path.display()
    )]
    Missing {
        /// The path at which the file was expected.
        path: PathBuf,
    },
    /// Other users may read or write the key file.
    #[error("the key `{}` is accessible to others (mode {mode:04o}); run `chmod 600 {}`", path.display(), path.display())]
    TooOpen {
        /// The path of the key file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The content of the key file, or the text in [`KeySource::Text`], is not a key.
    #[error("{origin} holds no key: {reason}")]
    Malformed {
        /// The source of the content, as the message names it. Examples are `` the file `a.key` `` for a key file,
        /// and `` `DEMO_KEY` `` for a text from an environment variable.
        origin: String,
        /// The reason why the content is not a key. The reason does not quote the content.
        reason: SealingKeyError,
    },
    /// The key is not the one that the store was created with.
    #[error(
        "{key} is not the key that the store `{}` was created with; restore that key from a backup, or from a machine that shares the store",
        path.display()
    )]
    Wrong {
        /// The source of the wrong key, as the message names it, for example `` the file `a.key` ``.
        key: String,
        /// The file or the address of the store.
        path: PathBuf,
    },
    /// A secret can't be opened with the store's key.
    #[error(
        "the secret `{}` is damaged or was sealed with another key; restore the store and its key from a backup",
        secret.id()
    )]
    Unopened {
        /// The secret that can't be opened.
        secret: SecretRef,
        /// The reason why the secret can't be opened.
        source: SealError,
    },
    /// A value can't be sealed or opened, because the store has no key.
    #[error("the sealed value {value} is needed, and {problem}")]
    Needed {
        /// The needed value, as the message names it, for example `` `password` of `shop__db` ``. If no known
        /// property contains the value, the message names the id of the secret.
        value: String,
        /// The reason why the store has no key.
        problem: Box<KeyError>,
    },
    /// The key file can't be read or created.
    #[error("can't {action} the key `{}`", path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The path of the key file.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
}

impl KeyError {
    /// Tells whether the user has provided no key, or a key that can't be used. Other failures, such as a
    /// damaged secret, give `false`.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::TooOpen { .. } | Self::Malformed { .. } | Self::Wrong { .. } => true,
            Self::Needed { problem, .. } => problem.is_input(),
            Self::Unopened { .. } | Self::Io { .. } => false,
        }
    }

    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Missing { .. } => codes::KEY_MISSING,
            Self::TooOpen { .. } => codes::KEY_TOO_OPEN,
            Self::Malformed { .. } => codes::KEY_MALFORMED,
            Self::Wrong { .. } => codes::KEY_WRONG,
            Self::Unopened { .. } => codes::SECRET_UNOPENED,
            Self::Needed { problem, .. } => problem.code(),
            Self::Io { .. } => codes::KEY_IO,
        }
    }
}

impl KeySource {
    /// Reads the key. If the key file is missing and `create` is true, creates the key file first.
    ///
    /// # Errors
    /// [`KeyError::TooOpen`] for a file that other users may read, [`KeyError::Missing`] for a missing file
    /// if `create` is false, [`KeyError::Malformed`] for content that is not a key.
    pub fn obtain(&self, create: bool, entropy: &dyn Entropy) -> Result<SealingKey, KeyError> {
        match self {
            Self::Text { text, origin } => parse(text.expose(), origin),
            Self::File(path) => {
                if create {
                    sweep(path);
                }
                match read(path)? {
                    Some(key) => Ok(key),
                    None if create => make(path, entropy),
                    None => Err(KeyError::Missing { path: path.clone() }),
                }
            }
        }
    }
}

/// Writes the source of the key as messages name it, for example `` the file `a.key` ``.
impl std::fmt::Display for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "the file `{}`", path.display()),
            Self::Text { origin, .. } => f.write_str(origin),
        }
    }
}

fn parse(text: &str, origin: &str) -> Result<SealingKey, KeyError> {
    text.parse().map_err(|reason| KeyError::Malformed { origin: origin.to_owned(), reason })
}

fn read(path: &Path) -> Result<Option<SealingKey>, KeyError> {
    let file = match files::open(path) {
        Ok((file, _)) => file,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(io_error("open", path, error.into())),
    };
    let mode = file.metadata().map_err(|error| io_error("look at", path, error))?.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::TooOpen { path: path.to_owned(), mode });
    }
    let bytes = files::read_from(file, MOST).map_err(|error| io_error("read", path, error.into()))?;
    let text = Sensitive::new(files::text(bytes).map_err(|error| io_error("read", path, error.into()))?);
    parse(text.expose(), &format!("the file `{}`", path.display())).map(Some)
}

/// Maximum size of a key file in bytes. Every key is shorter.
const MOST: usize = 4096;

/// Creates the key file. The content is written to another file, the draft, which is then linked to `path`.
/// So no program reads an incomplete key file. If two programs create the key file at the same time, both use
/// the key of the first one.
fn make(path: &Path, entropy: &dyn Entropy) -> Result<SealingKey, KeyError> {
    let key = SealingKey::generate(|bytes| {
        entropy.fill(bytes);
        Ok::<_, KeyError>(())
    })?;
    let draft = path.with_extension(format!("{}{DRAFT}", StoreId::random(entropy)));
    let file = write(&draft, key.to_line().expose()).map_err(|error| io_error("make", &draft, error))?;
    let linked = std::fs::hard_link(&draft, path);
    std::fs::remove_file(&draft).map_err(|error| io_error("remove", &draft, error))?;
    drop(file);
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(io_error("make", path, error)),
        _ => read(path)?.ok_or_else(|| KeyError::Missing { path: path.to_owned() }),
    }
}

/// The end of the name of each draft. A draft is a key file that [`make`] has not linked to its final path yet.
const DRAFT: &str = ".new";

/// Creates the file `path` as the draft of a key file, and writes `line` to the draft. The line contains the key.
/// Returns the open draft with a lock. The lock shows other programs that the draft is in use. Closing the draft
/// releases the lock.
fn write(path: &Path, line: &str) -> io::Result<File> {
    loop {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.lock()?;
        // Another program removed the draft before the lock was taken, so the draft is created again.
        if file.metadata()?.nlink() == 0 {
            continue;
        }
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        return Ok(file);
    }
}

/// Removes the left-over drafts of the key file `path`. A program that is killed in [`make`] leaves its draft behind.
/// Files that can't be removed stay.
fn sweep(path: &Path) {
    let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { return };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_draft = |name: &str| {
        let id = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(DRAFT));
        id.is_some_and(|id| id.len() == 8 && id.parse::<StoreId>().is_ok())
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_draft)) {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file {
            continue;
        }
        let Ok(draft) = File::open(entry.path()) else { continue };
        // The lock is held until the draft is removed. If the program that created the draft waits for this lock,
        // it notices the removal, and creates its draft again. If `draft` has no link in the file system, another
        // program has already removed it. The path may then belong to a new draft, which must stay.
        let is_left = draft.try_lock().is_ok() && draft.metadata().is_ok_and(|found| found.nlink() > 0);
        if is_left {
            let _stays = std::fs::remove_file(entry.path());
        }
        drop(draft);
    }
}

fn io_error(action: &'static str, path: &Path, error: io::Error) -> KeyError {
    KeyError::Io { action, path: path.to_owned(), source: Arc::new(error) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::CountingEntropy;

    fn in_folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        (folder, path)
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let (folder, path) = in_folder();
        let source = KeySource::File(path.clone());
        let made = source.obtain(true, &CountingEntropy::seeded(1)).unwrap();
        let found = source.obtain(true, &CountingEntropy::seeded(2)).unwrap();
        assert_eq!(made.to_line().expose(), found.to_line().expose());
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
        assert_eq!(folder.path().read_dir().unwrap().count(), 1, "no draft is left behind");
    }

    #[test]
    fn a_draft_that_a_kill_has_left_is_swept_and_one_in_use_is_not() {
        let (folder, path) = in_folder();
        let source = KeySource::File(path.clone());
        source.obtain(true, &CountingEntropy::seeded(1)).unwrap();
        let draft = |seed| {
            let id = StoreId::random(&CountingEntropy::seeded(seed));
            path.with_extension(format!("{id}{DRAFT}"))
        };
        drop(write(&draft(2), "left").unwrap());
        let in_use = write(&draft(3), "in use").unwrap();
        std::fs::write(folder.path().join("key.mine.new"), "mine").unwrap();
        source.obtain(true, &CountingEntropy::seeded(4)).unwrap();
        assert!(!draft(2).exists() && draft(3).exists() && folder.path().join("key.mine.new").exists());
        drop(in_use);
        source.obtain(true, &CountingEntropy::seeded(4)).unwrap();
        assert!(!draft(3).exists());
    }

    #[test]
    fn a_draft_in_use_is_never_swept_by_others_at_any_moment() {
        let (_folder, path) = in_folder();
        let ended = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                        sweep(&path);
                    }
                });
            }
            let lost = (0..300).filter(|seed| {
                let id = StoreId::random(&CountingEntropy::seeded(*seed));
                let draft = path.with_extension(format!("{id}{DRAFT}"));
                let in_use = write(&draft, "in use").unwrap();
                let is_lost = std::fs::remove_file(&draft).is_err();
                drop(in_use);
                is_lost
            });
            let lost = lost.count();
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(lost, 0);
        });
    }

    #[test]
    fn the_first_of_two_creators_wins() {
        let (_folder, path) = in_folder();
        let first = make(&path, &CountingEntropy::seeded(1)).unwrap();
        let second = make(&path, &CountingEntropy::seeded(2)).unwrap();
        assert_eq!(first.to_line().expose(), second.to_line().expose());
    }

    #[test]
    fn a_key_that_others_may_read_is_refused_with_the_remedy() {
        let (_folder, path) = in_folder();
        let source = KeySource::File(path.clone());
        source.obtain(true, &CountingEntropy::default()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = source.obtain(false, &CountingEntropy::default()).unwrap_err();
        let message = error.to_string().replace(&path.display().to_string(), "KEY");
        insta::assert_snapshot!(message, @"the key `KEY` is accessible to others (mode 0640); run `chmod 600 KEY`");
    }

    #[test]
    fn a_missing_key_is_made_for_a_new_store_alone() {
        let (_folder, path) = in_folder();
        let error = KeySource::File(path.clone()).obtain(false, &CountingEntropy::default()).unwrap_err();
        assert!(matches!(error, KeyError::Missing { .. }), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_text_that_is_no_key_is_not_repeated() {
        let text = Sensitive::from("hunter2".to_owned());
        let source = KeySource::Text { text, origin: "`DEMO_KEY`".into() };
        let error = source.obtain(true, &CountingEntropy::default()).unwrap_err().to_string();
        insta::assert_snapshot!(error, @"`DEMO_KEY` holds no key: a sealing key is 64 hexadecimal digits, or 44 characters of base64 (32 bytes)");
    }
}
