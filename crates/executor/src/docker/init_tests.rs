//! Tests the program `docker/init` without a container engine: `bwrap` makes it the first process of a sandbox.

use std::{fs, io::Write, os::unix::fs::PermissionsExt, path::Path, process::Stdio, time::Duration};

use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use super::{input::Input, tools::PROGRAM};
use crate::Job;

/// Maximum time of a job in a test. It is longer than the ten seconds after which `docker/init` gives up a process that
/// it can't kill.
const LIMIT: Duration = Duration::from_secs(120);

/// A seccomp filter that lets the system call `openat2` fail with EPERM. Each row is a `struct sock_filter`.
const NO_OPENAT2: [(u16, u8, u8, u32); 4] = [
    // Load the number of the call.
    (0x20, 0, 0, 0),
    (0x15, 0, 1, 437),
    // SECCOMP_RET_ERRNO with EPERM.
    (0x06, 0, 0, 0x0005_0001),
    // SECCOMP_RET_ALLOW.
    (0x06, 0, 0, 0x7fff_0000),
];

/// Runs a job with the program `docker/init` as the first process of a sandbox. Returns the lines that `docker/init`
/// prints. `options` are additional options of `bwrap`. With the option `--seccomp 9`, `bwrap` installs the seccomp
/// filter `filter`.
async fn report(job: &Job, filter: &[u8], options: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let (root, program, rules) =
        (dir.path().join("root"), dir.path().join("init"), dir.path().join("filter"));
    fs::create_dir(&root).unwrap();
    fs::write(&rules, filter).unwrap();
    let mut file = fs::File::create(&program).unwrap();
    file.write_all(PROGRAM).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o755)).unwrap();
    drop(file);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut command = Command::new("sh");
    command.args(["-c", "exec bwrap \"$@\" /init 9< \"$0\"", &text(&rules)]);
    command.args(["--die-with-parent", "--unshare-pid", "--as-pid-1", "--ro-bind", "/usr", "/usr"]);
    for link in ["bin", "lib", "lib64"] {
        command.args(["--symlink", &format!("usr/{link}"), &format!("/{link}")]);
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    command.args(["--bind", &text(&root), "/windlass", "--ro-bind", &text(&program), "/init"]);
    command.args(options).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    Input::new(&"job".parse().unwrap(), job, &[]).write(&mut stdin).await.unwrap();
    stdin.flush().await.unwrap();
    let output = timeout(LIMIT, child.wait_with_output()).await.expect("the job does not end").unwrap();
    drop(stdin);
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Tells whether a test can't run here. Prints the reason.
fn is_skipped() -> bool {
    let mut bwrap = std::process::Command::new("bwrap");
    bwrap.args(["--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]);
    let is_usable = bwrap.output().is_ok_and(|output| output.status.success());
    let missing = match () {
        () if PROGRAM.is_empty() => "the program was not built",
        () if !rustix::process::geteuid().is_root() => "it needs root",
        () if !is_usable => "it needs bubblewrap: apt-get install bubblewrap",
        () => return false,
    };
    println!("SKIPPED: {missing}");
    true
}

#[tokio::test]
async fn outputs_are_read_where_openat2_is_refused() {
    if is_skipped() {
        return;
    }
    let rule = |(code, yes, no, value): (u16, u8, u8, u32)| {
        [&code.to_ne_bytes()[..], &[yes, no], &value.to_ne_bytes()[..]].concat()
    };
    let filter: Vec<u8> = NO_OPENAT2.into_iter().flat_map(rule).collect();
    let job = Job::command("sh").args(["-c", "echo four > out; ln -s /etc/passwd away"]);
    let job = ["out", "away", "missing"]
        .into_iter()
        .fold(job, |job, name| job.output(name, name.parse().unwrap(), 100));
    let report = report(&job, &filter, &["--seccomp", "9"]).await;
    let outputs: Vec<_> = report.iter().filter(|line| line.starts_with(['F', 'f'])).collect();
    assert_eq!(outputs, ["F 0 content", "f Zm91cgo=", "F 1 outside", "F 2 missing"]);
}

#[tokio::test]
async fn a_job_ends_even_if_its_main_process_cannot_be_killed() {
    if is_skipped() {
        return;
    }
    // The program has no right to kill the processes of another user.
    let script = "trap '' TERM; echo started; while :; do sleep 600; done";
    let job = Job::command("setpriv").args(["--reuid", "65534", "--clear-groups", "sh", "-c", script]);
    let mut job = job.timeout(Duration::from_millis(500));
    job.limits.grace = Duration::from_millis(100);
    let report = report(&job, &[], &["--cap-drop", "CAP_KILL"]).await;
    assert!(report.iter().any(|line| line == "o c3RhcnRlZAo="), "{report:?}");
    let last = report.last().unwrap();
    assert!(last.starts_with("X ") && last.ends_with(" 8 0 timeout"), "{last}");
}
