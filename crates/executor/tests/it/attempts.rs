//! Runs the program `tests/bin/attempts.rs` as a job in each isolating runtime. The program attempts to break the
//! isolation, and the attempts must fail.
//!
//! `docs/security.md` lists the attempts. The tests check that the list contains exactly the attempts of the program.

use std::{
    collections::BTreeSet,
    ffi::CString,
    fs,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use windlass_executor::{End, Job, JobId, Runtime};

/// The program, compiled statically.
pub(crate) static PROGRAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    if let Some(folder) = given() {
        return fs::read(folder.join("attempts")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("attempts");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bin/attempts.rs");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "-C", "target-feature=+crt-static", "-C", "strip=symbols"])
        .arg("-o")
        .args([&program, &source])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    fs::read(program).unwrap()
});

/// Returns the folder with the test programs, for tests that were restarted as another user. That user has no
/// compiler.
pub(crate) fn given() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "tests that start themselves have no other way to tell")]
    std::env::var_os("WINDLASS_TEST_FOLDER").map(PathBuf::from)
}

/// The things on the host that a job tries to reach.
pub(crate) struct Host {
    folder: tempfile::TempDir,
    port: TcpListener,
    _socket: UnixListener,
    name: String,
}

impl Host {
    pub(crate) fn new() -> Self {
        let name = format!("windlass-attempts-{}", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "hunter2").unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = SocketAddr::from_abstract_name(format!("{name}-{}", port.local_addr().unwrap().port()));
        let socket = UnixListener::bind_addr(&address.unwrap()).unwrap();
        add_key(&name);
        Self { folder, port, _socket: socket, name }
    }

    /// Returns the job that runs the attempts.
    pub(crate) fn job(&self) -> Job {
        let port = self.port.local_addr().unwrap().port().to_string();
        let socket = format!("{}-{port}", self.name);
        let folder = self.folder.path().display().to_string();
        Job::command("./attempts").script("attempts".parse().unwrap(), PROGRAM.as_slice()).args([
            folder,
            std::process::id().to_string(),
            port,
            socket,
            self.name.clone(),
        ])
    }
}

/// Adds a key to the session keyring of the user who runs the tests.
fn add_key(name: &str) {
    const SESSION: libc::c_int = -3;
    let name = CString::new(name).unwrap();
    #[expect(unsafe_code, reason = "there are no safe keyrings")]
    // SAFETY: the arguments are two C strings, and bytes with their length.
    let key = unsafe {
        libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            name.as_ptr(),
            c"hunter2".as_ptr(),
            7usize,
            SESSION,
        )
    };
    assert!(key > 0, "a key can't be added: {}", std::io::Error::last_os_error());
}

/// Attempts that the profile of an engine may allow.
pub(crate) const OF_ENGINES: [&str; 4] = ["socket-vsock", "socket-ciphers", "socket-qualcomm", "io-uring"];

/// Attempts that Podman's profile may allow: the attempts of [`OF_ENGINES`], and additional ones. The kernel confines
/// the additional attempts to a namespace of the job's own.
pub(crate) const OF_PODMAN: [&str; 8] = [
    "socket-vsock",
    "socket-ciphers",
    "socket-qualcomm",
    "io-uring",
    "new-user-namespace",
    "new-user-namespace-by-clone",
    "new-user-namespace-by-clone3",
    "mount-by-parts",
];

/// Runs the program. Returns the names of all attempts, and of those that succeeded.
async fn tried(runtime: &dyn Runtime, host: &Host, id: &JobId, of: &Job) -> (BTreeSet<String>, Vec<String>) {
    let mut job = host.job();
    job.image.clone_from(&of.image);
    job.user = of.user;
    let outcome = runtime.run(id, &job).await.unwrap();
    let text = outcome.stdout.text();
    assert_eq!(outcome.end, End::Exited(0), "{text}\n{}", outcome.stderr.text());
    assert!(text.ends_with("done\n"), "{text}");
    let name = |line: &str| line.split([' ', ':']).nth(1).unwrap_or_default().to_owned();
    let all = text.lines().filter(|line| *line != "done").map(name).collect();
    let broken = text.lines().filter(|line| line.starts_with("BROKEN")).map(str::to_owned).collect();
    (all, broken)
}

/// Asserts that all attempts fail, except those in `but_for`.
pub(crate) async fn are_held(runtime: &dyn Runtime, id: &JobId, of: &Job, but_for: &[&str]) {
    let host = Host::new();
    let (all, broken) = tried(runtime, &host, id, of).await;
    assert!(all.len() > 60, "{all:?}");
    are_promised(&all);
    let unexpected: Vec<&String> = broken
        .iter()
        .filter(|line| !but_for.iter().any(|name| line.starts_with(&format!("BROKEN {name}:"))))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

/// Asserts that `docs/security.md` lists exactly the attempts of the program.
fn are_promised(all: &BTreeSet<String>) {
    let page = include_str!("../../../../docs/security.md");
    let table = page.split("## Attacks from inside a job").nth(1).unwrap().split("\n## ").next().unwrap();
    let names = table.lines().filter(|line| line.starts_with("| `")).flat_map(|line| {
        let first = line.split('|').nth(1).unwrap_or_default();
        first.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(names.collect::<BTreeSet<_>>(), *all);
}
