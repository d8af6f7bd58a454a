//! The environment of one test: a project folder with copies of fixtures, a home folder, and the trace of the
//! project's scripts.

use std::{
    cell::Cell,
    ffi::OsString,
    fmt::Write as _,
    fs::{self, File, Permissions},
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    normal,
    proc::{self, Process},
    run::{Run, Running},
};

/// Maximum time that a test waits for a condition.
const LIMIT: Duration = Duration::from_secs(60);

/// The root of the repository.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The body of a script that answers, and then waits until the test writes the file `go` into the volume `state`.
pub(crate) const GATE: &str = r#"answer; until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done"#;

/// A project in a temporary folder. When it is dropped, none of its processes may still run.
pub(crate) struct TestEnv {
    root: TempDir,
    runs: Cell<usize>,
    /// Additional environment variables of all commands.
    variables: Vec<(&'static str, OsString)>,
}

impl TestEnv {
    /// Creates an empty project folder without a `windlass.yaml`.
    pub(crate) fn bare() -> Self {
        let root = tempfile::Builder::new().prefix("windlass-it-").tempdir().unwrap();
        for folder in ["project", "home", "out"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root, runs: Cell::new(0), variables: Vec::new() }
    }

    /// Sets an environment variable of all commands.
    pub(crate) fn with_variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Creates a project with a copy of the `windlass.yaml` of the repository. The location in the copy also has the
    /// property `trace`: the path of the file to which scripts write the trace.
    pub(crate) fn new() -> Self {
        let env = Self::bare();
        env.location("");
        env
    }

    /// Returns a project in which `h_bta` is up, with an empty trace.
    pub(crate) fn up() -> Self {
        let env = Self::with("h_bta");
        env.ok(&["up", "h_bta"]);
        env.clear_trace();
        env
    }

    /// Creates a project with a copy of an assembly from the fixtures.
    pub(crate) fn with(assembly: &str) -> Self {
        let env = Self::new();
        copy(&Path::new(REPOSITORY).join("fixtures/assemblies").join(assembly), &env.path(assembly));
        env
    }

    /// Writes the project's `windlass.yaml`: a copy of the repository's file, with additional properties of
    /// the location, one per line.
    pub(crate) fn location(&self, properties: &str) {
        let file = fs::read_to_string(Path::new(REPOSITORY).join("windlass.yaml")).unwrap();
        let (head, tail) = file.split_once("    runtime: process\n").unwrap();
        let mut text = format!("{head}    runtime: process\n    properties:\n");
        for line in
            [format!("trace: {}", self.trace_file().display()).as_str()].into_iter().chain(properties.lines())
        {
            writeln!(text, "      {line}").unwrap();
        }
        self.write("windlass.yaml", text + tail);
    }

    /// Writes the project's `windlass.yaml`: a copy of the repository's file, with other lines instead of
    /// `runtime: process`.
    pub(crate) fn runtime(&self, lines: &[&str]) {
        let file = fs::read_to_string(Path::new(REPOSITORY).join("windlass.yaml")).unwrap();
        let (head, tail) = file.split_once("    runtime: process\n").unwrap();
        let lines = lines.join("\n    ");
        self.write("windlass.yaml", format!("{head}    {lines}\n{tail}"));
    }

    /// Returns a path in the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join("project").join(path)
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes an executable file of the project.
    pub(crate) fn script(&self, path: &str, text: impl AsRef<[u8]>) {
        self.write(path, text);
        fs::set_permissions(self.path(path), Permissions::from_mode(0o755)).unwrap();
    }

    /// Replaces a text in a file of the project.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        fs::write(self.path(path), text.replace(from, to)).unwrap();
    }

    /// Reads a file of the project.
    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Lists the files of the project, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let root = self.path("");
        let mut found: Vec<String> = walk(&root)
            .into_iter()
            .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        found.sort();
        found
    }

    /// Returns the home folder of this project's user.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn trace_file(&self) -> PathBuf {
        self.root.path().join("trace")
    }

    /// Returns the lines that scripts have written to the trace so far.
    pub(crate) fn trace(&self) -> Vec<String> {
        let text = fs::read_to_string(self.trace_file()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the lines of the trace, except the lines of health checks.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.trace().into_iter().filter(|line| !line.starts_with("Integrity")).collect()
    }

    /// Clears the trace.
    pub(crate) fn clear_trace(&self) {
        fs::write(self.trace_file(), "").unwrap();
    }

    /// Runs `windlass` in the project's folder until it exits.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_in("", args)
    }

    /// Runs `windlass` in a folder of the project until it exits.
    pub(crate) fn run_in(&self, folder: &str, args: &[&str]) -> Run {
        let mut command = self.command(args);
        command.current_dir(self.path(folder));
        self.start(command).end()
    }

    /// Runs `windlass` with a text on its standard input.
    pub(crate) fn run_with(&self, args: &[&str], stdin: &str) -> Run {
        let file = self.root.path().join("stdin");
        fs::write(&file, stdin).unwrap();
        let mut command = self.command(args);
        command.stdin(File::open(file).unwrap());
        self.start(command).end()
    }

    /// Runs `windlass`, which must exit with code 0.
    pub(crate) fn ok(&self, args: &[&str]) -> Run {
        let run = self.run(args);
        assert_eq!(run.code(), Some(0), "windlass {}\n{run}", args.join(" "));
        run
    }

    /// Runs `windlass --format json`, which must exit with code 0. Returns its output.
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        self.ok(&args).json()
    }

    /// Runs `windlass`, which must refuse the arguments: exit code 2, empty standard output, no file created
    /// or removed. Returns the message.
    pub(crate) fn refuses(&self, args: &[&str]) -> String {
        self.refused(self.command(args))
    }

    /// Runs a command that must be refused, as [`refuses`](Self::refuses) does. Returns the message.
    pub(crate) fn refused(&self, command: Command) -> String {
        // SQLite removes its two helper files when the last connection closes. A program that exits earlier leaves
        // them to the next program.
        let is_kept = |file: &String| !file.ends_with("-wal") && !file.ends_with("-shm");
        let files = || -> Vec<String> { self.files().into_iter().filter(is_kept).collect() };
        let before = files();
        let run = self.start(command).end();
        assert_eq!((run.code(), run.stdout.as_str()), (Some(2), ""), "{run}");
        assert_eq!(files(), before, "{run}");
        self.normal().text(&run.stderr)
    }

    /// Starts `windlass` in the project's folder.
    pub(crate) fn spawn(&self, args: &[&str]) -> Running {
        self.start(self.command(args))
    }

    /// Starts a command that was created by [`command`](Self::command).
    pub(crate) fn start(&self, mut command: Command) -> Running {
        let number = self.runs.get();
        self.runs.set(number + 1);
        let file = |stream: &str| self.root.path().join("out").join(format!("{number}.{stream}"));
        let (stdout, stderr) = (file("stdout"), file("stderr"));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Running::new(command.spawn().unwrap(), stdout, stderr, self.normal())
    }

    /// Creates the command `windlass` with the environment of the project.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        self.settle(&mut command);
        command.args(args);
        command
    }

    /// Sets the environment of the project for a command.
    pub(crate) fn settle(&self, command: &mut Command) {
        command.env_clear().stdin(Stdio::null()).current_dir(self.path(""));
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", self.root.path().join("home")).env("LANG", "C.UTF-8").env("NO_COLOR", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// Returns the normalization that makes texts of this project independent of machine and time.
    pub(crate) fn normal(&self) -> normal::Normal {
        normal::Normal::new(&self.path("").canonicalize().unwrap())
    }

    /// Lists the processes that belong to this project.
    pub(crate) fn processes(&self) -> Vec<Process> {
        proc::below(self.root.path())
    }

    /// Runs a command until the trace of the scripts equals `begun`. Then kills the command and its supervisors, and
    /// waits until no script runs.
    pub(crate) fn cut_when(&self, args: &[&str], begun: &[&str]) {
        let command = self.spawn(args);
        until("the script has begun", || self.trace() == begun);
        command.kill();
        self.processes().iter().filter(|process| process.is_supervisor()).for_each(Process::kill);
        self.is_quiet();
    }

    /// Waits until no process of this project runs any more.
    pub(crate) fn is_quiet(&self) {
        until("nothing runs any more", || self.processes().is_empty());
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.processes().iter().for_each(Process::kill);
        } else {
            self.is_quiet();
        }
    }
}

/// Prints a line even if the output of passing tests is captured.
pub(crate) fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Polls until a condition holds.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}
