//! Reading and replacing files. Every error names the path in the form of [`shown`].

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use windlass_source::files::{self, MAX_SIZE, ReadError};
use windlass_source::{Diagnostic, Source};

use crate::codes;
use crate::output::{Draft, Mode};

/// Replaces the whole text of a file atomically, and keeps the file's mode. `before` is the text that the file must
/// contain now.
///
/// # Errors
/// Returns an error in each of these cases:
///
/// - The file is missing, is a link, or has several hard links. The new file replaces the old one by a rename, which
///   affects only one name of a file.
/// - The text of the file is not `before`, because another program has changed the file.
/// - The file can't be written.
pub fn replace(path: &Path, before: &str, after: &str) -> Result<(), Box<Diagnostic>> {
    let refuse = |why: &str, help: &str| {
        let message = format!("`{}` is not changed: {why}", shown(path));
        Err(Box::new(Diagnostic::error(codes::NOT_REPLACED, message).help(help)))
    };
    let metadata = path.symlink_metadata().map_err(|error| unreadable(path, &error))?;
    if metadata.is_symlink() {
        let target = path.canonicalize().map_or_else(|_| "another file".to_owned(), |to| shown(&to));
        return refuse(&format!("it is a link to `{target}`"), "name that file");
    }
    if metadata.nlink() > 1 {
        return refuse(
            "it has several names (hard links), which would become different files",
            "copy it first",
        );
    }
    if files::read(path, before.len()).ok().as_deref() != Some(before.as_bytes()) {
        return refuse("another program has changed it in the meantime", "run the same command again");
    }
    let write = || Draft::new(path, after.as_bytes(), Mode::Exact(metadata.permissions()))?.replace(path);
    write().or_else(|error: io::Error| refuse(&files::in_words(&error), "make its folder writable"))
}

/// Reads the text of a file. The name of the source is the path as [`shown`] formats it.
///
/// # Errors
/// Returns an error if the file does not exist, is not a regular file, can't be read, has more than [`MAX_SIZE`] bytes,
/// or is not UTF-8.
pub fn source(path: &Path) -> Result<Arc<Source>, Box<Diagnostic>> {
    source_within(path, MAX_SIZE)
}

/// Reads the text of a file as [`source`] does, but with a size limit of `limit` bytes.
///
/// # Errors
/// The errors of [`source`].
pub fn source_within(path: &Path, limit: usize) -> Result<Arc<Source>, Box<Diagnostic>> {
    let bytes = files::read(path, limit).map_err(|error| refused(&shown(path), path, error))?;
    Source::from_bytes_with_limit(shown(path), bytes, limit)
}

/// Returns the diagnostic for a file that can't be read because of `error`. `shown` is the path in the form for
/// display.
fn refused(shown: &str, path: &Path, error: ReadError) -> Box<Diagnostic> {
    Box::new(match error {
        ReadError::Io(error) => return unreadable(path, &error),
        ReadError::Folder => {
            Diagnostic::error(codes::UNREADABLE, format!("`{shown}` is a folder, but a file is expected"))
        }
        ReadError::TooLarge { .. } => too_large(shown, &error),
        _ => Diagnostic::error(codes::UNREADABLE, format!("`{shown}` can't be read: {error}")),
    })
}

/// Returns the diagnostic for a text that is too long. `what` names the text.
pub fn too_large(what: &str, error: &ReadError) -> Diagnostic {
    let fragment = error.to_string();
    let fragment = fragment.strip_prefix("it ").unwrap_or(&fragment);
    Diagnostic::error(codes::TOO_LARGE, format!("`{what}` {fragment}"))
        .help("name another file, or raise the limit, such as `--max-size 64MiB`")
}

/// Formats a path for display: without `.` components, and relative to the working folder if that is shorter.
pub fn shown(path: &Path) -> String {
    let clean = without_dots(path);
    let relative = std::env::current_dir().ok().filter(|_| clean.is_absolute());
    let relative = relative.and_then(|folder| relative_to(&folder, &clean));
    let path = relative.unwrap_or(clean);
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}

/// Removes `.` components. `..` stays, because the component before it may be a link.
fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

/// Returns the form of `path` that is relative to `folder`. Returns `None` if the relative form does not have fewer
/// components than `path`. Also returns `None` if `path` and `folder` share only the root of the file system.
fn relative_to(folder: &Path, path: &Path) -> Option<PathBuf> {
    let shared = folder.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let ups = folder.components().count() - shared;
    let down: PathBuf = path.components().skip(shared).collect();
    let way: PathBuf = std::iter::repeat_n(Component::ParentDir, ups).collect();
    (shared > 1).then(|| way.join(down)).filter(|way| way.components().count() < path.components().count())
}

/// Returns the diagnostic for a file or folder that can't be read because of `error`. If the path does not exist, the
/// diagnostic suggests a similar name in the same folder.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Box<Diagnostic> {
    let shown = shown(path);
    Box::new(match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => {
            let target = path.read_link().unwrap_or_default();
            let message = format!("`{shown}` is a link to `{}`, which is not there", target.display());
            Diagnostic::error(codes::NO_SUCH_FILE, message)
        }
        io::ErrorKind::NotFound => {
            let diagnostic =
                Diagnostic::error(codes::NO_SUCH_FILE, format!("there is no file or folder `{shown}`"));
            match nearest_sibling(path) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic,
            }
        }
        io::ErrorKind::IsADirectory => {
            Diagnostic::error(codes::UNREADABLE, format!("`{shown}` is a folder, but a file is expected"))
        }
        _ => Diagnostic::error(
            codes::UNREADABLE,
            format!("`{shown}` can't be read: {}", files::in_words(error)),
        ),
    })
}

/// Returns the paths of all entries of a folder, sorted.
///
/// # Errors
/// Returns an error if the folder can't be read to its end. The function then does not return the entries that it
/// has read, because this list would be incomplete.
pub(crate) fn entries_in(folder: &Path) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    sorted(folder, entries.map(|entry| Ok(entry?.path())))
}

fn sorted(
    folder: &Path,
    entries: impl Iterator<Item = io::Result<PathBuf>>,
) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    let mut paths: Vec<PathBuf> =
        entries.collect::<Result<_, _>>().map_err(|error| unreadable(folder, &error))?;
    paths.sort();
    Ok(paths)
}

/// Finds a file with a similar name in the same folder.
fn nearest_sibling(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut names: Vec<String> =
        fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let near = windlass_source::suggest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(shown(&folder.join(near)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_from_the_working_folder() {
        let way = |from: &str, to: &str| {
            relative_to(from.as_ref(), to.as_ref()).map(|path| path.display().to_string())
        };
        assert_eq!(way("/home/a/p", "/home/a/p/x/y").as_deref(), Some("x/y"));
        assert_eq!(way("/home/a/p/x", "/home/a/p/windlass.yaml").as_deref(), Some("../windlass.yaml"));
        assert_eq!(way("/home/a", "/home/a").as_deref(), Some(""));
        assert_eq!(way("/home/a", "/tmp/x"), None);
        assert_eq!(way("/srv/a/b/c/d", "/srv/x"), None);
    }

    #[test]
    fn a_folder_that_is_read_in_part_is_unreadable() {
        let entries = || ["packages/b", "packages/a"].map(|path| Ok(PathBuf::from(path))).into_iter();
        let folder = Path::new("packages");
        assert_eq!(sorted(folder, entries()).unwrap(), [folder.join("a"), folder.join("b")]);
        let problem = io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error());
        let diagnostic = sorted(folder, entries().chain([Err(problem)])).unwrap_err();
        assert_eq!(diagnostic.code, codes::UNREADABLE);
        assert!(diagnostic.message.starts_with("`packages` can't be read: "), "{diagnostic}");
    }

    #[test]
    fn needless_dots_are_left_out() {
        assert_eq!(shown(Path::new("./a/./b")), "a/b");
        assert_eq!(shown(Path::new(".")), ".");
        assert_eq!(shown(Path::new("../a")), "../a");
    }
}
