//! The files of an output folder, as one sequence of bytes.
//!
//! This file is compiled several times, into this crate and into the programs inside containers, which have
//! only the standard library.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// Maximum number of files in an output folder.
pub(crate) const MAX_FILES: usize = 1000;

/// Maximum number of bytes that the encoded form adds to the content of each file.
const MAX_HEAD: u64 = 2048;

/// A file of a folder, by its name. Invalid bytes of the name are replaced.
pub(crate) type NamedFile = (String, FileState);

/// The result of a file in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileState {
    /// The content of the file.
    Content(Vec<u8>),
    /// The file has this many bytes, which is more than what is left of the folder's limit.
    TooLarge(u64),
    /// The entry is a folder, link, device, pipe or socket.
    NotAFile,
    /// The file could not be read, for this reason.
    Unreadable(String),
}

/// The reason why a folder can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlisted {
    /// The folder does not exist.
    Missing,
    /// The path contains a link.
    Outside,
    /// The path is no folder.
    NotAFolder,
    /// The folder can't be read for the given reason.
    Unreadable(String),
}

impl From<io::Error> for Unlisted {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::NotADirectory => Self::NotAFolder,
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// Reads the files directly in a folder, sorted by name. Their contents have at most `max_bytes` in total. Links
/// are not followed. No process of the job is left that could change the folder meanwhile.
pub(crate) fn read(work: &Path, path: &Path, max_bytes: u64) -> Result<Vec<NamedFile>, Unlisted> {
    let folder = work.canonicalize()?.join(path);
    if folder.canonicalize()? != folder {
        return Err(Unlisted::Outside);
    }
    let entries = fs::read_dir(&folder)?.take(MAX_FILES + 1).collect::<io::Result<Vec<_>>>()?;
    if entries.len() > MAX_FILES {
        return Err(Unlisted::Unreadable(format!("it has more than {MAX_FILES} files")));
    }
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    let mut left = max_bytes;
    let mut files = Vec::new();
    for path in paths {
        let state = state(&path, left).unwrap_or_else(|error| FileState::Unreadable(error.to_string()));
        if let FileState::Content(bytes) = &state {
            left -= bytes.len() as u64;
        }
        files.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), state));
    }
    Ok(files)
}

fn state(path: &Path, left: u64) -> io::Result<FileState> {
    // Opening a device or a pipe can have side effects, so the file type is checked before it is opened.
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Ok(FileState::NotAFile);
    }
    if found.len() > left {
        return Ok(FileState::TooLarge(found.len()));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(left).read_to_end(&mut bytes)?;
    Ok(FileState::Content(bytes))
}

/// Returns the maximum length of the encoded form of a folder whose contents have at most `max_bytes`.
pub(crate) fn max_encoded(max_bytes: u64) -> u64 {
    max_bytes.saturating_add(MAX_FILES as u64 * MAX_HEAD)
}

/// Encodes files: for each a kind, a number, a name, and a content or text, both with their length. Numbers are
/// little-endian.
pub(crate) fn encode(files: &[NamedFile]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, state) in files {
        let (kind, number, bytes): (u8, u64, &[u8]) = match state {
            FileState::Content(bytes) => (0, 0, bytes),
            FileState::TooLarge(bytes) => (1, *bytes, b""),
            FileState::NotAFile => (2, 0, b""),
            FileState::Unreadable(why) => (3, 0, why.as_bytes()),
        };
        out.push(kind);
        out.extend(number.to_le_bytes());
        for part in [name.as_bytes(), bytes] {
            out.extend((part.len() as u64).to_le_bytes());
            out.extend(part);
        }
    }
    out
}

/// Decodes the output of [`encode`]. `None` if the bytes do not have its format.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Vec<NamedFile>> {
    let mut files = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        bytes = rest;
        let number = number(&mut bytes)?;
        let name = String::from_utf8(part(&mut bytes)?.to_vec()).ok()?;
        let content = part(&mut bytes)?;
        let state = match kind {
            0 => FileState::Content(content.to_vec()),
            1 => FileState::TooLarge(number),
            2 => FileState::NotAFile,
            3 => FileState::Unreadable(String::from_utf8_lossy(content).into_owned()),
            _ => return None,
        };
        files.push((name, state));
    }
    Some(files)
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

fn part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<NamedFile> {
        vec![
            ("a".to_owned(), FileState::Content(vec![0, 255])),
            ("é".to_owned(), FileState::TooLarge(u64::MAX)),
            ("empty".to_owned(), FileState::Content(Vec::new())),
            ("pipe".to_owned(), FileState::NotAFile),
            ("x".to_owned(), FileState::Unreadable("why".to_owned())),
        ]
    }

    #[test]
    fn files_survive_encoding() {
        assert_eq!(decode(&encode(&files())), Some(files()));
        assert_eq!(decode(b""), Some(Vec::new()));
    }

    #[test]
    fn every_cut_form_is_refused() {
        let one = encode(&files()[..1]);
        assert!((1..one.len()).all(|at| decode(&one[..at]).is_none()));
        assert_eq!(decode(&[9; 40]), None);
    }
}
