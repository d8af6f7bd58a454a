//! A job: the command to run, its input, and its limits.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{Content, Isolation, Limits, Owner, VolumeName, WorkPath};

/// A command with its input, its limits, and its outputs (the files that the runtime reads after the job has
/// ended).
///
/// A job doesn't name a runtime. Its builder methods set the values that differ from the defaults:
///
/// ```
/// use std::time::Duration;
/// use windlass_executor::Job;
///
/// let job = Job::command("./scripts/Install.sh")
///     .arg("--verbose")
///     .env("REGION", "eu-1")
///     .script("scripts/Install.sh".parse()?, "#!/bin/sh\ncat > result\n")
///     .stdin("size: 3\n")
///     .output("result", "result".parse()?, 64 * 1024)
///     .timeout(Duration::from_secs(30));
/// assert!(job.check().is_ok());
/// # Ok::<(), windlass_executor::WorkPathError>(())
/// ```
///
/// # Environment
/// A job inherits no variables. It gets `PATH` (the usual system folders), `HOME` (its working folder),
/// `TMPDIR`, `LANG=C.UTF-8`, `WINDLASS_JOB` (which marks its processes), and one `WINDLASS_VOLUME_<NAME>` per
/// volume. [`env`](Job::env) adds or overrides variables, but their names must not start with `WINDLASS_`.
/// [`path_env`](Job::path_env) can set a name that starts with `WINDLASS_`, except `WINDLASS_JOB` and names that
/// start with `WINDLASS_VOLUME_`. Other processes can read the environment of a job, so a secret belongs in stdin or in
/// a file.
///
/// # Serialised form
/// serde writes a job for logs and journals. It writes only the length of each [`Content`], so a job can't be
/// restored from the written form.
#[derive(Debug, Clone, Serialize)]
#[must_use = "a job does nothing until it is submitted to a runtime"]
#[non_exhaustive]
pub struct Job {
    /// Program to run: a path relative to the working folder (`./run.sh`, `scripts/run.sh`), an absolute
    /// path, or a name without `/` that is looked up in `PATH`.
    pub program: String,
    /// The arguments, without the program's own name.
    pub args: Vec<String>,
    /// Image whose file system is the root of the job. Only runtimes with the capability
    /// [`Image`](crate::Capability::Image) accept an image.
    pub image: Option<String>,
    /// Environment variables, by name. They extend or override the variables that every job gets.
    pub env: BTreeMap<String, String>,
    /// Environment variables whose values are paths, by name. In this map, each path is relative to the working
    /// folder. The job gets the path as an absolute path.
    pub path_env: BTreeMap<String, WorkPath>,
    /// Content of the job's standard input. The job doesn't have to read it.
    pub stdin: Content,
    /// Files that the runtime places in the working folder before the job starts.
    pub files: Vec<InputFile>,
    /// Files and folders whose content the runtime puts into the outcome of the job.
    pub outputs: Vec<OutputRequest>,
    /// Resource limits.
    pub limits: Limits,
    /// Network of the job.
    pub network: Network,
    /// User that the job runs as. If the user is `None`, the runtime chooses a user.
    pub user: Option<User>,
    /// Relaxations of the isolation, on runtimes that isolate jobs.
    pub isolation: Isolation,
    /// Folders that outlive the job.
    pub volumes: Vec<Volume>,
    /// Labels for people and tools. The runtime stores them with the job.
    pub labels: BTreeMap<String, String>,
    /// Owner of the job. An owner is the name of a group of jobs. For example, all jobs of a windlass project have
    /// the same owner.
    pub owner: Owner,
    /// Action of the runtime when the process that submitted the job dies.
    pub on_owner_death: OnOwnerDeath,
    /// Whether no other job may run in the same container, neither earlier nor later. Callers set this field
    /// for jobs with secrets, and for untrusted code. Otherwise, a later job in the same container could see
    /// traces of an earlier job, such as System V shared memory. A pool gives such a job a fresh container. All
    /// other runtimes ignore the field, because each of their jobs gets a container, a sandbox or processes of
    /// its own.
    pub alone: bool,
}

/// A file that the runtime places in the working folder before the job starts. The runtime creates missing
/// parent folders.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InputFile {
    /// Path of the file.
    pub path: WorkPath,
    /// Permission bits, such as `0o755`.
    pub mode: u32,
    /// Content of the file.
    pub content: Content,
}

/// A request to put the content of a file or folder into the outcome of a job. The runtime reads the file or folder
/// when the job has ended, even if the job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutputRequest {
    /// Name of the output in [`Outcome::outputs`](crate::Outcome::outputs).
    pub name: String,
    /// Path of the file or folder. The job writes the file, or the files in the folder.
    pub path: WorkPath,
    /// Maximum size in bytes: of the file, or of all files in the folder together. If a file is too large,
    /// the outcome contains its size and no part of its content.
    pub max_bytes: u64,
    /// Whether the output is a file or a folder.
    #[serde(default, skip_serializing_if = "OutputKind::is_file")]
    pub kind: OutputKind,
}

/// The kind of an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputKind {
    /// A single file.
    #[default]
    File,
    /// All files directly in a folder. The runtime creates the folder before the job starts.
    Folder,
}

impl OutputKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_file(&self) -> bool {
        *self == Self::File
    }
}

/// A folder that outlives its jobs. Jobs of one owner on one runtime see the same folder if their volumes have the
/// same name. In the docker runtime, jobs of different owners see different folders. In the runtimes `process` and
/// `sandbox`, jobs of all owners see the same folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Volume {
    /// Name of the volume. The job's variable `WINDLASS_VOLUME_<NAME>` contains the path of the volume.
    /// `<NAME>` is the name in upper case, with `_` for each `-`.
    pub name: VolumeName,
    /// Mount point, on runtimes where a job has a file system of its own.
    pub path: String,
}

impl Volume {
    /// Returns the name of the variable that holds the path of the volume.
    pub fn variable(&self) -> String {
        format!("WINDLASS_VOLUME_{}", self.name.as_str().to_ascii_uppercase().replace('-', "_"))
    }
}

/// The network a job sees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Network {
    /// The runtime's default: no network in a container or sandbox, the host's network for a process.
    #[default]
    Default,
    /// The job has no network.
    None,
    /// The default bridge network of the container engine.
    Bridge,
    /// The job uses the host's own network.
    Host,
    /// A network of the container engine. The text is the name of the network.
    Named(String),
}

/// The user that a job runs as. The user is a number, because one name can have different numbers on the host
/// and in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct User {
    /// The number of the user.
    pub uid: u32,
    /// The number of the group. If the number is `None`, the runtime chooses the group.
    pub gid: Option<u32>,
}

impl User {
    /// Creates a user from numbers.
    pub fn new(uid: u32, gid: Option<u32>) -> Self {
        Self { uid, gid }
    }
}

/// The action of the runtime when the process that submitted a job dies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnOwnerDeath {
    /// The runtime kills the job. Callers choose `Kill` for a job that they will repeat and that must not run
    /// at the same time as its repetition.
    #[default]
    Kill,
    /// The job runs to its end, and the runtime keeps its outcome. Callers choose `Finish` for work that must
    /// not be done twice.
    Finish,
}

impl Job {
    /// Creates a job that runs `program`.
    pub fn command(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            image: None,
            env: BTreeMap::new(),
            path_env: BTreeMap::new(),
            stdin: Content::default(),
            files: Vec::new(),
            outputs: Vec::new(),
            limits: Limits::default(),
            network: Network::default(),
            user: None,
            isolation: Isolation::default(),
            volumes: Vec::new(),
            labels: BTreeMap::new(),
            owner: Owner::default(),
            on_owner_death: OnOwnerDeath::default(),
            alone: false,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the image to run in.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Sets one variable of the environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets one variable to the absolute path of a file or folder in the working folder. The path is valid
    /// for the job, for example inside its container. The name of the variable may start with `WINDLASS_`,
    /// but `WINDLASS_JOB` and names that start with `WINDLASS_VOLUME_` are reserved.
    pub fn path_env(mut self, name: impl Into<String>, path: WorkPath) -> Self {
        self.path_env.insert(name.into(), path);
        self
    }

    /// Sets the content of the job's standard input.
    pub fn stdin(mut self, stdin: impl Into<Content>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Adds an input file that only the user of the job may read and write (mode 0600).
    pub fn file(self, path: WorkPath, content: impl Into<Content>) -> Self {
        self.file_with_mode(path, 0o600, content)
    }

    /// Adds an executable input file that only the user of the job may access (mode 0700).
    pub fn script(self, path: WorkPath, content: impl Into<Content>) -> Self {
        self.file_with_mode(path, 0o700, content)
    }

    /// Adds an input file with the permission bits `mode`.
    pub fn file_with_mode(mut self, path: WorkPath, mode: u32, content: impl Into<Content>) -> Self {
        self.files.push(InputFile { path, mode, content: content.into() });
        self
    }

    /// Requests the content of a file as the output `name`. The file may have at most `max_bytes`.
    pub fn output(mut self, name: impl Into<String>, path: WorkPath, max_bytes: u64) -> Self {
        self.outputs.push(OutputRequest { name: name.into(), path, max_bytes, kind: OutputKind::File });
        self
    }

    /// Requests all files directly in a folder as the output `name`. The runtime creates the folder before the job
    /// starts.
    ///
    /// The contents of the files may have `max_bytes` in total. The runtime reads the files in the order of their
    /// names. If a file is larger than the unused rest of `max_bytes`, the output contains the size of the file instead
    /// of its content ([`TooLarge`](crate::Output::TooLarge)). A subfolder, a link, or a special file such as a pipe is
    /// [`NotAFile`](crate::Output::NotAFile). If the folder has more than 1000 entries, the whole output is
    /// [`Unreadable`](crate::Output::Unreadable).
    pub fn output_folder(mut self, name: impl Into<String>, path: WorkPath, max_bytes: u64) -> Self {
        self.outputs.push(OutputRequest { name: name.into(), path, max_bytes, kind: OutputKind::Folder });
        self
    }

    /// Sets the maximum run time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.timeout = timeout;
        self
    }

    /// Sets all resource limits of the job.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the network of the job.
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets the user that the job runs as.
    pub fn user(mut self, user: User) -> Self {
        self.user = Some(user);
        self
    }

    /// Sets the relaxations of the isolation.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Adds a volume. If the job has a file system of its own, the volume is mounted there at `path`.
    pub fn volume(mut self, name: VolumeName, path: impl Into<String>) -> Self {
        self.volumes.push(Volume { name, path: path.into() });
        self
    }

    /// Adds one label.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Sets the owner of the job.
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// Sets what the runtime does with the job when the process that submitted the job dies.
    pub fn on_owner_death(mut self, on_owner_death: OnOwnerDeath) -> Self {
        self.on_owner_death = on_owner_death;
        self
    }

    /// Sets the field [`alone`](Job#structfield.alone): no other job runs in the same container, neither
    /// earlier nor later.
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Checks the rules that the types of the fields don't guarantee. For example, no argument may contain a
    /// NUL byte, and no two outputs may have the same name.
    ///
    /// # Errors
    /// [`JobError`] lists all problems.
    pub fn check(&self) -> Result<(), JobError> {
        let mut problems = Vec::new();
        check_command(self, &mut problems);
        check_env(self, &mut problems);
        check_paths(self, &mut problems);
        let is_odd = |name: &&String| {
            name.is_empty()
                || name.starts_with("CAP_")
                || !name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        };
        let odd = self.isolation.capabilities.iter().filter(is_odd);
        problems.extend(odd.map(|name| JobProblem::KernelCapability { name: name.clone() }));
        if problems.is_empty() { Ok(()) } else { Err(JobError { problems }) }
    }
}

/// The error of an invalid job. It lists the problems of the job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct JobError {
    /// The problems of the job. The list is never empty.
    pub problems: Vec<JobProblem>,
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.problems.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

/// One problem of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobProblem {
    /// The program's name is empty.
    #[error("the program is empty")]
    NoProgram,
    /// The program, an argument or a variable contains a NUL byte, which can't be passed to a process.
    #[error("{place} contains a NUL byte")]
    Nul {
        /// Text that tells the user which part of the job contains the NUL byte, such as `argument 2`.
        place: String,
    },
    /// The name of a variable is empty or contains `=` or a NUL byte.
    #[error("`{name}` can't be the name of a variable")]
    VariableName {
        /// The name as given.
        name: String,
    },
    /// The name of a variable is reserved for the runtime.
    #[error("the variable `{name}` is set by the runtime: names that start with `WINDLASS_` are taken")]
    ReservedVariable {
        /// The name as given.
        name: String,
    },
    /// A variable is set twice: to a text, and to a path in the working folder.
    #[error("the variable `{name}` is set twice")]
    VariableTwice {
        /// The name of the variable.
        name: String,
    },
    /// The path of an input file conflicts with the path of another input file or of a requested output folder. Two
    /// paths conflict if they are equal, or if a file would also have to be a folder. For example, the input file
    /// `a` conflicts with another input file `a` or `a/b`, and with an output folder `a` or `a/b`.
    #[error("a file can't be placed at `{path}`: another file conflicts with it")]
    FileTwice {
        /// The path that conflicts with the path of an input file.
        path: WorkPath,
    },
    /// The mode of a file has a bit that is not a permission, such as set-user-id.
    #[error("the file `{path}` has the mode {mode:o}, which is more than permissions (777)")]
    Mode {
        /// The path of the file.
        path: WorkPath,
        /// The mode of the file.
        mode: u32,
    },
    /// Two outputs have the same name.
    #[error("two outputs are called `{name}`")]
    OutputTwice {
        /// The name of both outputs.
        name: String,
    },
    /// The name of a kernel capability is malformed.
    #[error("`{name}` can't be a capability: expected upper-case letters without `CAP_`, such as NET_ADMIN")]
    KernelCapability {
        /// The name as given.
        name: String,
    },
    /// The job names no image, and containers need one.
    #[error("it has no image, and containers need one: set it in the job or in its location")]
    NoImage,
    /// The path of a volume is not absolute, or is reserved for the runtime.
    #[error(
        "the volume `{name}` can't be at `{path}`: expected an absolute path other than /, /tmp and /windlass"
    )]
    VolumePath {
        /// The name of the volume.
        name: VolumeName,
        /// The path as given.
        path: String,
    },
    /// The path of a volume is reserved for the runtime, or is below a reserved path.
    #[error("the volume `{name}` can't be at `{path}`: `{reserved}` is reserved for the runtime")]
    ReservedVolumePath {
        /// The name of the volume.
        name: VolumeName,
        /// The path as given.
        path: String,
        /// The reserved path.
        reserved: &'static str,
    },
    /// Two volumes have the same name.
    #[error("the volume `{name}` is declared twice")]
    VolumeTwice {
        /// The name of both volumes.
        name: VolumeName,
    },
}

fn check_command(job: &Job, problems: &mut Vec<JobProblem>) {
    if job.program.is_empty() {
        problems.push(JobProblem::NoProgram);
    }
    if job.program.contains('\0') {
        problems.push(JobProblem::Nul { place: "the program".to_owned() });
    }
    for (index, _) in job.args.iter().enumerate().filter(|(_, arg)| arg.contains('\0')) {
        problems.push(JobProblem::Nul { place: format!("argument {}", index + 1) });
    }
}

fn check_env(job: &Job, problems: &mut Vec<JobProblem>) {
    for (name, value) in &job.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            problems.push(JobProblem::VariableName { name: name.clone() });
        } else if name.starts_with("WINDLASS_") {
            problems.push(JobProblem::ReservedVariable { name: name.clone() });
        }
        if value.contains('\0') {
            problems.push(JobProblem::Nul { place: format!("the variable `{name}`") });
        }
    }
    for name in job.path_env.keys() {
        if name.is_empty() || name.contains(['=', '\0']) {
            problems.push(JobProblem::VariableName { name: name.clone() });
        } else if name == "WINDLASS_JOB" || name.starts_with("WINDLASS_VOLUME_") {
            problems.push(JobProblem::ReservedVariable { name: name.clone() });
        } else if job.env.contains_key(name) {
            problems.push(JobProblem::VariableTwice { name: name.clone() });
        }
    }
}

fn check_paths(job: &Job, problems: &mut Vec<JobProblem>) {
    for file in &job.files {
        if file.mode & !0o777 != 0 {
            problems.push(JobProblem::Mode { path: file.path.clone(), mode: file.mode });
        }
    }
    let paths: BTreeSet<_> = job.files.iter().map(|file| file.path.as_str()).collect();
    let below_another = |path: &WorkPath| path.parents().any(|parent| paths.contains(parent));
    let folders =
        job.outputs.iter().filter(|output| output.kind == OutputKind::Folder).map(|output| &output.path);
    let blocked = folders.filter(|path| paths.contains(path.as_str()) || below_another(path));
    let below = job.files.iter().map(|file| &file.path).filter(|path| below_another(path));
    let twice = repeated(job.files.iter().map(|file| &file.path)).chain(below).chain(blocked);
    problems.extend(twice.map(|path| JobProblem::FileTwice { path: path.clone() }));
    let twice = repeated(job.outputs.iter().map(|output| &output.name));
    problems.extend(twice.map(|name| JobProblem::OutputTwice { name: name.clone() }));
    let twice = repeated(job.volumes.iter().map(|volume| &volume.name));
    problems.extend(twice.map(|name| JobProblem::VolumeTwice { name: name.clone() }));
}

/// Yields each item that equals an earlier item.
fn repeated<T: Ord + Copy>(items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let mut seen = BTreeSet::new();
    items.filter(move |item| !seen.insert(*item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_command_is_well_formed() {
        assert!(Job::command("true").check().is_ok());
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let path: WorkPath = "a".parse().unwrap();
        let job = Job::command("")
            .arg("x\0")
            .env("A=B", "1")
            .env("WINDLASS_JOB", "me")
            .env("C", "\0")
            .file(path.clone(), "")
            .file_with_mode(path.clone(), 0o4755, "")
            .output("o", path.clone(), 1)
            .output("o", path, 1)
            .volume("state".parse().unwrap(), "/a")
            .volume("state".parse().unwrap(), "/b")
            .path_env("WINDLASS_JOB", "in".parse().unwrap())
            .path_env("C", "in".parse().unwrap());
        assert_eq!(job.check().unwrap_err().problems.len(), 11);
    }

    #[test]
    fn a_file_where_another_needs_a_folder_is_reported() {
        let job = Job::command("true")
            .file("a".parse().unwrap(), "")
            .file("a-b".parse().unwrap(), "")
            .file("a/b".parse().unwrap(), "");
        assert_eq!(
            job.check().unwrap_err().to_string(),
            "a file can't be placed at `a/b`: another file conflicts with it"
        );
    }

    #[test]
    fn a_record_holds_no_content() {
        let job = Job::command("sh").stdin("hunter2").file("key".parse().unwrap(), "hunter2");
        let record = serde_json::to_string(&job).unwrap();
        assert!(!record.contains("hunter2"), "{record}");
        assert!(!format!("{job:?}").contains("hunter2"));
    }

    #[test]
    fn a_volumes_variable_is_upper_case() {
        let job = Job::command("true").volume("my-state".parse().unwrap(), "/state");
        assert_eq!(job.volumes[0].variable(), "WINDLASS_VOLUME_MY_STATE");
    }
}
