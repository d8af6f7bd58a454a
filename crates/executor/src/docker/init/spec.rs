//! Reads a job from the standard input of this program. Writes the files of the job, and the content of the job's
//! stdin, to disk.

use std::{
    fs::{DirBuilder, OpenOptions, Permissions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{ROOT, WORK, sys};

/// The description of a job, without the content of its files and of its stdin. This content is already on disk:
/// [`read`](Self::read) stores it there while it reads the description.
#[derive(Default)]
pub(crate) struct Spec {
    pub(crate) argv: Vec<Vec<u8>>,
    /// Environment variables of the job, as `NAME=value`.
    pub(crate) env: Vec<Vec<u8>>,
    pub(crate) timeout: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub(crate) grace: Duration,
    /// Number of bytes of stdout and of stderr that the outcome keeps.
    pub(crate) keep: [u64; 2],
    /// The storage limit of each stream: the maximum number of bytes that are reported while the job runs. If the entry
    /// of the stream in `keep` is larger, that entry is the limit. Of the bytes beyond the limit, only the last ones
    /// are reported, after the end of the job.
    pub(crate) spill: u64,
    /// Whether the job continues when its client has gone.
    pub(crate) must_finish: bool,
    /// Whether the job has a stdin. If so, the file at [`stdin_path`] contains the stdin until the job starts.
    pub(crate) has_stdin: bool,
    /// Maximum number of open files of each process of the job.
    pub(crate) open_files: Option<u64>,
    /// The requested outputs. The index of an output in this list is the number of the output in the report (line
    /// `F` in `main.rs`).
    pub(crate) outputs: Vec<Output>,
}

/// A requested output.
pub(crate) struct Output {
    /// Maximum size in bytes.
    pub(crate) max: u64,
    /// Path relative to the working folder.
    pub(crate) path: PathBuf,
    pub(crate) is_folder: bool,
}

/// Returns the path of the file in which the stdin of the job is stored until the job starts.
pub(crate) fn stdin_path() -> PathBuf {
    Path::new(ROOT).join("stdin")
}

impl Spec {
    /// Reads a job, and stores its files and stdin. Returns `None` when the input ends before the description
    /// of the job is complete.
    pub(crate) fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        sys::set_umask();
        let mut spec = Self::default();
        // If the folder can't be created, the error is reported only after the whole description was read.
        let work = make_folder(Path::new(WORK)).map_err(|error| at(Path::new(WORK), &error));
        let mut next_file: Option<(u32, PathBuf)> = None;
        loop {
            let mut head = [0; 9];
            match input.read_exact(&mut head) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                read => read?,
            }
            let length = u64::from_le_bytes(head[1..].try_into().expect("eight bytes"));
            match head[0] {
                b'c' => {
                    let (mode, path) = next_file.take().ok_or_else(|| odd("a content without a file"))?;
                    store(&path, mode, input.take(length))?;
                }
                b'i' => {
                    spec.has_stdin = true;
                    store(&stdin_path(), 0o600, input.take(length))?;
                }
                kind => {
                    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
                    input.read_exact(&mut bytes)?;
                    match kind {
                        b'a' => spec.argv.push(bytes),
                        b'e' => spec.env.push(bytes),
                        b'n' => spec.limits(&text(bytes)?)?,
                        b'd' => spec.open_files = Some(text(bytes)?.parse().map_err(io::Error::other)?),
                        b'f' => next_file = Some(file(&text(bytes)?)?),
                        b'o' => spec.outputs.push(output(&text(bytes)?, false)?),
                        b'F' => {
                            let output = output(&text(bytes)?, true)?;
                            let folder = Path::new(WORK).join(&output.path);
                            make_folder(&folder).map_err(|error| at(&folder, &error))?;
                            spec.outputs.push(output);
                        }
                        b'.' => return work.map(|()| Some(spec)),
                        _ => return Err(odd("an unknown record")),
                    }
                }
            }
        }
    }

    /// Parses the content of a record `n`, which contains the limits of the job (see `main.rs`), and stores the
    /// limits in `self`.
    fn limits(&mut self, line: &str) -> io::Result<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let [timeout, grace, stdout, stderr, spill, on_owner_death] = words[..] else {
            return Err(odd("other numbers"));
        };
        let number = |word: &str| word.parse::<u64>().map_err(io::Error::other);
        self.timeout = Duration::from_millis(number(timeout)?);
        self.grace = Duration::from_millis(number(grace)?);
        self.keep = [number(stdout)?, number(stderr)?];
        self.spill = number(spill)?;
        self.must_finish = on_owner_death == "finish";
        Ok(())
    }
}

/// Parses the content of a record `f`, which describes an input file of the job (see `main.rs`). Returns the
/// mode and the absolute path of the file.
fn file(line: &str) -> io::Result<(u32, PathBuf)> {
    let (mode, path) = line.split_once(' ').ok_or_else(|| odd("a file without a path"))?;
    Ok((u32::from_str_radix(mode, 8).map_err(io::Error::other)?, Path::new(WORK).join(path)))
}

/// Parses the content of a record `o`, which requests an output file, or of a record `F`, which requests an output
/// folder (see `main.rs`).
fn output(line: &str, is_folder: bool) -> io::Result<Output> {
    let (max, path) = line.split_once(' ').ok_or_else(|| odd("an output without a path"))?;
    Ok(Output { max: max.parse().map_err(io::Error::other)?, path: path.into(), is_folder })
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn odd(what: &str) -> io::Error {
    io::Error::other(format!("the description of the job has {what}"))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("can't write `{}`: {error}", path.display()))
}

/// Writes a file, and creates missing parent folders.
fn store(path: &Path, mode: u32, content: impl Read) -> io::Result<()> {
    write(path, mode, content).map_err(|error| at(path, &error))
}

fn write(path: &Path, mode: u32, mut content: impl Read) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        make_folder(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    io::copy(&mut content, &mut file)?;
    file.set_permissions(Permissions::from_mode(mode))
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
