//! The files of an output folder, and their encoding as one sequence of bytes.
//!
//! The build script also compiles this file into the programs that run inside containers. These programs have
//! only the standard library.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// Maximum number of files in an output folder.
pub(crate) const MAX_FILES: usize = 1000;

/// Maximum number of bytes that the encoded form of a file has in addition to its content.
const MAX_HEAD: u64 = 2048;

/// The name and the state of an entry of an output folder. In the name, `�` replaces bytes that are not UTF-8.
pub(crate) type NamedFile = (String, FileState);

/// The result of reading one entry of an output folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileState {
    Content(Vec<u8>),
    /// The file is larger than the unused part of the folder's size limit. The number is the size of the file in
    /// bytes.
    TooLarge(u64),
    /// The entry is a folder, link, device, pipe or socket.
    NotAFile,
    /// The file could not be read, for this reason.
    Unreadable(String),
}

/// The reason why the files of a folder can't be listed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlisted {
    Missing,
    /// The path of the folder contains a symbolic link, which may lead out of the working folder.
    Outside,
    NotAFolder,
    /// The folder can't be read, for this reason.
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

/// Reads the files directly in the folder `path` of the working folder `work`, sorted by name. The contents of all
/// returned files together have at most `max_bytes` bytes. The function follows no links.
///
/// The function first checks the type of a file, and then opens the file. Callers use this function only after all
/// processes of the job have ended. So no process can replace the file by a link in between.
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
    // Opening a device or a pipe can have side effects, so the file type is checked before the file is
    // opened.
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

/// Returns the maximum length of the encoded form of a folder. The files of the folder contain at most `max_bytes`
/// bytes in total.
pub(crate) fn max_encoded(max_bytes: u64) -> u64 {
    max_bytes.saturating_add(MAX_FILES as u64 * MAX_HEAD)
}

/// Encodes files as a sequence of bytes. The fields of a file are:
///
/// - its kind (one byte)
/// - its size, if its state is [`FileState::TooLarge`]; otherwise 0
/// - the length of its name, and the name
/// - the length of its content, and the content (of an unreadable file: an error text)
///
/// The size and the lengths have eight bytes each and are little-endian.
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

/// Decodes the output of [`encode`]. Returns `None` if the bytes don't have the format of this output.
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
