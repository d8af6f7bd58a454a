//! The access of templates to the outside world: files, commands, addresses and environment variables.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windlass_source::files::{self, ReadError};

/// A function that fetches a URL.
pub type Fetch = Arc<dyn Fn(&str) -> io::Result<Vec<u8>> + Send + Sync>;
/// A clock that returns the time since 1970.
pub type Now = Arc<dyn Fn() -> Duration + Send + Sync>;
/// A source of randomness that fills a buffer.
pub type Random = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// Maximum number of bytes that are read from a file.
const LARGEST: usize = 64 * 1024 * 1024;

/// A kind of access that a caller can grant to templates. By default, nothing is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Capability {
    /// Reading files below granted folders.
    Read,
    /// Writing files below granted folders.
    Write,
    /// Running commands.
    Exec,
    /// Fetching `http:` and `https:` URLs.
    Http,
    /// Reading environment variables.
    Env,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Http => "http",
            Self::Env => "env",
        })
    }
}

/// An access that was not granted, or that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// The caller has granted no access of this kind.
    #[error("no OS operations supported in this execution environment")]
    NotGranted(Capability),
    /// The caller has granted this kind of access, but not for this file or folder.
    #[error("`{path}` is outside of the folders granted for {capability}")]
    Outside {
        /// The kind of access: [`Capability::Read`] or [`Capability::Write`]. Only these two kinds of access are
        /// granted for folders.
        capability: Capability,
        /// The file or folder.
        path: String,
    },
    /// The operating system reported an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A run of a command: the command with its arguments, and its input.
type Run = (Vec<String>, Option<Vec<u8>>);

/// The access of templates to the outside world: files, commands, addresses and environment variables. By
/// default, nothing is granted.
///
/// ```
/// use windlass_spiff::Outside;
///
/// let outside = Outside::none().allow_read("templates");
/// assert!(!outside.is_closed());
/// ```
#[derive(Clone)]
pub struct Outside {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    exec: bool,
    fetch: Option<Fetch>,
    variables: Option<Arc<BTreeMap<String, String>>>,
    key: Option<String>,
    now: Now,
    random: Random,
    temporary: Arc<Mutex<Vec<PathBuf>>>,
    outputs: Arc<Mutex<HashMap<Run, Vec<u8>>>>,
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside")
            .field("read", &self.read)
            .field("write", &self.write)
            .field("exec", &self.exec)
            .finish_non_exhaustive()
    }
}

impl Default for Outside {
    fn default() -> Self {
        Self::none()
    }
}

impl Outside {
    /// Creates an `Outside` that grants no access. Its clock always returns the start of 1970. It has no random bytes, so
    /// functions that need random bytes fail. [`with_clock`](Self::with_clock) and [`with_random`](Self::with_random)
    /// add a clock and random bytes.
    pub fn none() -> Self {
        Self {
            read: Vec::new(),
            write: Vec::new(),
            exec: false,
            fetch: None,
            variables: None,
            key: None,
            now: Arc::new(|| Duration::ZERO),
            random: Arc::new(|bytes| bytes.fill(0)),
            temporary: Arc::default(),
            outputs: Arc::default(),
        }
    }

    /// Allows reading files below a folder.
    pub fn allow_read(mut self, folder: impl Into<PathBuf>) -> Self {
        self.read.push(folder.into());
        self
    }

    /// Allows writing files below a folder.
    pub fn allow_write(mut self, folder: impl Into<PathBuf>) -> Self {
        self.write.push(folder.into());
        self
    }

    /// Allows running commands: `exec` and `pipe`.
    pub fn allow_exec(mut self) -> Self {
        self.exec = true;
        self
    }

    /// Allows fetching URLs. The engine calls `fetch` to fetch a URL.
    pub fn allow_http(mut self, fetch: Fetch) -> Self {
        self.fetch = Some(fetch);
        self
    }

    /// Allows reading these environment variables.
    pub fn allow_env(mut self, variables: BTreeMap<String, String>) -> Self {
        self.variables = Some(Arc::new(variables));
        self
    }

    /// Sets the key that `encrypt` and `decrypt` use if a call contains no key.
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the clock that templates read.
    pub fn with_clock(mut self, now: Now) -> Self {
        self.now = now;
        self
    }

    /// Sets the source of randomness.
    pub fn with_random(mut self, random: Random) -> Self {
        self.random = random;
        self
    }

    /// Tells whether templates can neither read files nor run commands nor fetch URLs. If so, the expression `sync`
    /// does not wait for changes outside of the document.
    pub fn is_closed(&self) -> bool {
        self.read.is_empty() && !self.exec && self.fetch.is_none()
    }

    /// Returns the absolute path of a file, with all symbolic links resolved. Returns `None` if templates may not
    /// read the file.
    pub(crate) fn resolve(&self, path: &str) -> Option<String> {
        let granted = self.granted(Capability::Read, path).ok()?;
        Some(granted.canonicalize().ok()?.to_string_lossy().into_owned())
    }

    /// Checks that a file is below a folder that is granted for `capability`. Returns the path of the file, with
    /// all symbolic links resolved. The caller opens the file by this path. So a symbolic link that is changed
    /// after this check has no effect.
    fn granted(&self, capability: Capability, path: &str) -> Result<PathBuf, Denied> {
        let folders = if capability == Capability::Write { &self.write } else { &self.read };
        if folders.is_empty() {
            return Err(Denied::NotGranted(capability));
        }
        let outside = || Denied::Outside { capability, path: path.to_owned() };
        let wanted = PathBuf::from(path);
        if wanted.components().any(|part| part == Component::ParentDir) && !wanted.exists() {
            return Err(outside());
        }
        let real = real_path(&wanted)?;
        let below = |folder: &PathBuf| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            folder.canonicalize().is_ok_and(|folder| real.starts_with(folder))
        };
        if folders.iter().any(below) { Ok(real) } else { Err(outside()) }
    }

    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, Denied> {
        if path.starts_with("http:") || path.starts_with("https:") {
            let fetch = self.fetch.as_ref().ok_or(Denied::NotGranted(Capability::Http))?;
            return Ok(fetch(path)?);
        }
        let file = self.granted(Capability::Read, path)?;
        match files::read(&file, LARGEST) {
            Err(ReadError::TooLarge { limit }) => {
                Err(io::Error::other(format!("{path} is larger than {limit} bytes")).into())
            }
            read => Ok(read.map_err(io::Error::from)?),
        }
    }

    pub(crate) fn write(&self, path: &str, content: &[u8], mode: u32) -> Result<(), Denied> {
        let file = self.granted(Capability::Write, path)?;
        write_file(&file, content, mode)?;
        Ok(())
    }

    pub(crate) fn make_folder(&self, path: &str, mode: u32) -> Result<(), Denied> {
        let folder = self.granted(Capability::Write, path)?;
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        builder.create(folder)?;
        Ok(())
    }

    pub(crate) fn temporary_file(&self, content: &[u8], mode: u32) -> Result<String, Denied> {
        if self.write.is_empty() {
            return Err(Denied::NotGranted(Capability::Write));
        }
        let mut name = [0_u8; 8];
        (self.random)(&mut name);
        let name = u64::from_be_bytes(name);
        let mut files = self.temporary.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.write[0].join(format!("spiff-{name:016x}-{}", files.len()));
        write_file(&file, content, mode)?;
        files.push(file.clone());
        Ok(file.to_string_lossy().into_owned())
    }

    /// Removes the files that templates have created by `tempfile`.
    pub(crate) fn clean(&self) {
        for file in self.temporary.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // If a file is already removed, that is no error.
            let _ = std::fs::remove_file(file);
        }
    }

    pub(crate) fn list(&self, folder: &str) -> Result<Vec<(String, bool)>, Denied> {
        let folder = self.granted(Capability::Read, folder)?;
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let is_folder = entry.path().is_dir();
            entries.push((entry.file_name().to_string_lossy().into_owned(), is_folder));
        }
        entries.sort();
        Ok(entries)
    }

    pub(crate) fn exists(&self, path: &Path) -> Result<Option<bool>, Denied> {
        let path = self.granted(Capability::Read, &path.to_string_lossy())?;
        Ok(path.metadata().ok().map(|about| about.is_dir()))
    }

    pub(crate) fn run(
        &self,
        command: &[String],
        input: Option<&[u8]>,
        cached: bool,
    ) -> Result<Vec<u8>, Denied> {
        if !self.exec {
            return Err(Denied::NotGranted(Capability::Exec));
        }
        let key = (command.to_vec(), input.map(<[u8]>::to_vec));
        if cached && let Some(output) = self.outputs.lock().unwrap_or_else(PoisonError::into_inner).get(&key)
        {
            return Ok(output.clone());
        }
        let output = run(command, input)?;
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner).insert(key, output.clone());
        Ok(output)
    }

    pub(crate) fn variable(&self, name: &str) -> Result<Option<String>, Denied> {
        let variables = self.variables.as_ref().ok_or(Denied::NotGranted(Capability::Env))?;
        Ok(variables.get(name).cloned())
    }

    pub(crate) fn key(&self) -> Option<String> {
        self.key.clone()
    }

    pub(crate) fn now(&self) -> Duration {
        (self.now)()
    }

    pub(crate) fn random(&self, bytes: &mut [u8]) {
        (self.random)(bytes);
    }
}

/// Returns the absolute path without symbolic links. The last parts of the path need not exist.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut here = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_path_buf() };
    loop {
        match here.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            Err(error) => {
                let Some(name) = here.file_name() else { return Err(error) };
                if here.is_symlink() {
                    return Err(error);
                }
                missing.push(name.to_owned());
                here = match here.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
                    _ => PathBuf::from("."),
                };
            }
        }
    }
}

fn write_file(file: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    options.open(file)?.write_all(content)
}

fn run(command: &[String], input: Option<&[u8]>) -> io::Result<Vec<u8>> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("no command"));
    };
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let output = std::thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // If the command does not read its input, that is no error.
            scope.spawn(move || stdin.write_all(input).ok());
        }
        child.wait_with_output()
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{}: {}", output.status, errors.trim_end())))
}
