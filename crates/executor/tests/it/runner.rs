//! The runner's mode for one job, as the first process of a container would be: here as a child of the test.

use std::{
    fs,
    io::Read,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_executor::runner::{
    self,
    protocol::{Ending, How, OutputSpec, OutputState, Spec},
};

use crate::place::{blocking_until, files};

/// A folder with a runner in it, and one with a job.
struct Folder(TempDir);

fn script(text: &str) -> Spec {
    Spec {
        mark: "job".to_owned(),
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), text.to_owned()],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        timeout_ms: 600_000,
        grace_ms: 600_000,
        spill: [1 << 20, 1 << 20],
        keep: [100, 100],
        ..Spec::default()
    }
}

impl Folder {
    fn new(spec: &Spec) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("job")).unwrap();
        fs::write(dir.path().join("job/job"), spec.to_file()).unwrap();
        let program = runner::program().expect("the runner was built: is there a static C library?");
        fs::write(dir.path().join("runner"), program).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.path().join("runner"), mode).unwrap();
        Self(dir)
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("job")
    }

    fn start(&self) -> Child {
        let mut command = Command::new(self.0.path().join("runner"));
        command.arg("init").arg(self.path()).env_clear().stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Another test may just be forking while the file was written.
        loop {
            match command.spawn() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                child => return child.unwrap(),
            }
        }
    }

    /// Runs it to its end: its exit code, what was attached heard, the outcome.
    fn run(&self) -> (i32, [String; 2], Ending) {
        let output = self.start().wait_with_output().unwrap();
        let heard = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.into_raw() >> 8, heard, self.outcome())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn outcome(&self) -> Ending {
        Ending::from_file(&fs::read(self.path().join("outcome")).unwrap()).unwrap()
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn wait_for(file: &Path) {
    blocking_until("the job has begun", || fs::read(file).is_ok_and(|bytes| !bytes.is_empty()));
}

#[test]
fn a_job_leaves_its_streams_its_outcome_and_its_exit_code() {
    let mut spec = script("cat; echo err >&2; echo 42 > out; [ \"$PWD\" = \"$HOME\" ] || echo lost; exit 7");
    spec.stdin = 1;
    spec.outputs = vec![
        OutputSpec { path: "out".to_owned(), max_bytes: 10 },
        OutputSpec { path: "none".to_owned(), max_bytes: 10 },
    ];
    let folder = Folder::new(&spec);
    fs::write(folder.path().join("stdin"), "hello\n").unwrap();
    let (code, heard, outcome) = folder.run();
    assert_eq!((code, outcome.how), (7, How::Exited(7)));
    assert_eq!(heard, ["hello\n", "err\n"]);
    assert_eq!([folder.read("stdout"), folder.read("stderr")], heard);
    assert_eq!(outcome.totals, [6, 4]);
    assert_eq!(outcome.outputs, [OutputState::Content(3), OutputState::Missing]);
    assert_eq!(folder.read("work/out"), "42\n");
    assert!(!folder.path().join("stdin").exists(), "what it was given doesn't stay");
}

#[test]
fn a_flood_is_bounded_and_its_end_is_kept() {
    let mut spec = script("head -c 3000000 /dev/zero | tr '\\000' x; printf last");
    spec.spill = [1000, 1000];
    let folder = Folder::new(&spec);
    let (_, heard, outcome) = folder.run();
    assert_eq!(outcome.totals, [3_000_004, 0]);
    assert_eq!((folder.read("stdout").len(), folder.read("stdout.tail").len()), (1000, 100));
    assert!(folder.read("stdout.tail").ends_with("xxlast"));
    assert_eq!(heard[0].len(), 1000);
}

#[test]
fn nobody_who_listens_is_no_reason_to_stop() {
    let folder = Folder::new(&script("head -c 3000000 /dev/zero | tr '\\000' x; exit 3"));
    let mut child = folder.start();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(folder.outcome().totals, [3_000_000, 0]);
    assert_eq!(folder.read("stdout").len(), 1 << 20);
}

#[test]
fn time_over_ends_all_of_it() {
    let mut spec = script("trap '' TERM; setsid sleep 601 & echo $!; while :; do sleep 601; done");
    (spec.timeout_ms, spec.grace_ms) = (200, 100);
    let folder = Folder::new(&spec);
    let (code, heard, outcome) = folder.run();
    assert_eq!((code, outcome.how), (125, How::TimedOut));
    assert!(!Path::new(&format!("/proc/{}", heard[0].trim())).exists());
}

#[test]
fn a_polite_signal_asks_and_the_other_ends() {
    let polite = script("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done");
    let folder = Folder::new(&polite);
    let mut child = folder.start();
    wait_for(&folder.path().join("stdout"));
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert_eq!((folder.outcome().how, folder.read("stdout").as_str()), (How::Cancelled, "ready\nbye\n"));

    let deaf = script("trap '' TERM; echo ready; while :; do sleep 600; done");
    let folder = Folder::new(&deaf);
    let mut child = folder.start();
    wait_for(&folder.path().join("stdout"));
    signal(&child, Signal::TERM);
    std::thread::sleep(Duration::from_millis(50));
    assert!(child.try_wait().unwrap().is_none(), "it has all the time");
    signal(&child, Signal::USR1);
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert_eq!(folder.outcome().how, How::Cancelled);
}

#[test]
fn what_can_not_be_started_is_told_apart() {
    let mut spec = script("");
    for (program, how) in [
        ("no-such-program", How::NotFound),
        ("./none", How::NotFound),
        ("./script", How::InterpreterNotFound("/no/such/interpreter".to_owned())),
        ("/etc", How::NotExecutable("it is a folder".to_owned())),
    ] {
        program.clone_into(&mut spec.program);
        let folder = Folder::new(&spec);
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::write(folder.path().join("work/script"), "#!/no/such/interpreter\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path().join("work/script"), mode).unwrap();
        let (code, _, outcome) = folder.run();
        assert_eq!((code, outcome.how, outcome.started_ms), (125, how, None), "{program}");
    }
}

#[test]
fn without_a_job_it_says_so() {
    let folder = Folder::new(&script(""));
    fs::write(folder.path().join("job"), "nonsense").unwrap();
    let mut child = folder.start();
    assert_eq!(child.wait().unwrap().code(), Some(125));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(
        said,
        "windlass-runner: what was received is not of this protocol: it is of another version\n"
    );
    assert_eq!(files(&folder.path()).len(), 1);
}
