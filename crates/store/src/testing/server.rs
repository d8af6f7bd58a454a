//! A PostgreSQL server for tests. The first test that needs the server starts it. The server ends with the
//! test program.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A server that listens on a socket in its own folder, and ends with the test program.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    is_encrypted: bool,
}

/// The certificate and the key of a server, in PEM format.
#[derive(Debug, Clone, Copy)]
pub struct Certificate<'a> {
    /// The certificate in PEM format.
    pub certificate: &'a str,
    /// The private key of the certificate.
    pub key: &'a str,
}

impl Server {
    /// Returns the shared server of this test program, and starts it at the first call. Returns `None` if
    /// PostgreSQL is not installed.
    ///
    /// # Panics
    /// If the server does not start, or if PostgreSQL is not installed although `WINDLASS_REQUIRE_POSTGRES`
    /// is set.
    pub fn get() -> Option<&'static Self> {
        static SERVER: OnceLock<Option<Server>> = OnceLock::new();
        SERVER.get_or_init(|| Self::start("", None)).as_ref()
    }

    /// Starts a separate server. Returns `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    /// If the server does not start, or if PostgreSQL is not installed although `WINDLASS_REQUIRE_POSTGRES`
    /// is set.
    pub fn own() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self::start(&format!("-{}", NEXT.fetch_add(1, Ordering::SeqCst)), None)
    }

    /// Starts a separate server that also listens on 127.0.0.1. On this address, the server accepts only
    /// encrypted connections. Returns `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    /// If the server does not start, or if PostgreSQL is not installed although `WINDLASS_REQUIRE_POSTGRES`
    /// is set.
    pub fn encrypted(certificate: Certificate<'_>) -> Option<Self> {
        Self::start("-tls", Some(certificate))
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of the server's socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a server in a folder whose name ends with `kind`.
    fn start(kind: &str, certificate: Option<Certificate<'_>>) -> Option<Self> {
        let Some(programs) = programs() else {
            let required = std::env::vars().any(|(name, _)| name == "WINDLASS_REQUIRE_POSTGRES");
            assert!(!required, "PostgreSQL is required, and neither `initdb` nor `postgres` is installed");
            return None;
        };
        // The path must be short enough for a Unix socket.
        let folder = std::env::temp_dir().join(format!("windlass-postgres-{}{kind}", std::process::id()));
        std::fs::create_dir(&folder).expect("a temporary folder can be made");
        let data = folder.join("data");
        give_away(&folder);
        let port = if certificate.is_some() { free_port() } else { 5432 };
        let made = as_user(&programs.join("initdb"))
            .args(["--auth=trust", "--username=windlass", "--no-sync", "--encoding=UTF8", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .status()
            .expect("initdb can be run");
        assert!(made.success(), "initdb: {made}");
        if let Some(certificate) = certificate {
            certificate.install(&data);
        }
        let server = Self { programs, folder, port, is_encrypted: certificate.is_some() };
        server.serve();
        Some(server)
    }

    /// Stops the server at once, like a failure of its machine. The connections break, and the data stays on
    /// the disk.
    ///
    /// # Panics
    /// If the server does not run.
    pub fn stop(&self) {
        let file = self.folder.join("data/postmaster.pid");
        let text = std::fs::read_to_string(file).expect("a server that runs has written its process down");
        let pid = text.lines().next().expect("the first line is the process");
        let ended = Command::new("kill").args(["-QUIT", pid]).status().expect("`kill` can be run");
        assert!(ended.success(), "kill: {ended}");
        // The server's parent shell waits for something else, so the stopped server remains as a zombie.
        let status = Path::new("/proc").join(pid).join("status");
        let has_ended = || std::fs::read_to_string(&status).map_or(true, |text| text.contains("State:\tZ"));
        wait_until("the server ends", has_ended);
    }

    /// Starts the server again on the same data.
    ///
    /// # Panics
    /// If the server does not start.
    pub fn start_again(&self) {
        self.serve();
    }

    /// Executes SQL statements as the owner of the database, with the program `psql`.
    ///
    /// # Panics
    /// If the server rejects a statement.
    pub fn execute(&self, sql: &str) {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", sql]);
        let ended = psql.stdin(Stdio::null()).status().expect("psql can be run");
        assert!(ended.success(), "psql: {ended}");
    }

    /// Starts the server program, and waits until it listens.
    fn serve(&self) {
        let mut server = as_user(&self.programs.join("postgres"));
        server.arg("-D").arg(self.folder.join("data")).arg("-k").arg(&self.folder);
        server.arg("-p").arg(self.port.to_string());
        server.args(["-c", "max_connections=400", "-c", "log_min_messages=fatal"]);
        if self.is_encrypted {
            server.args(["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"]);
        } else {
            server.args(["-c", "listen_addresses="]);
        }
        let mut child = die_with_us(&server, &self.folder);
        wait_until("the server listens", || {
            assert!(child.try_wait().expect("a child can be asked after").is_none(), "the server has ended");
            let mut asks = Command::new(self.programs.join("pg_isready"));
            asks.arg("-q").arg("-h").arg(&self.folder).arg("-p").arg(self.port.to_string());
            asks.status().is_ok_and(|answer| answer.success())
        });
        // The child's stdin must stay open as long as this program runs.
        std::mem::forget(child);
    }

    /// Returns the address of the server's database `postgres`.
    pub fn url(&self) -> String {
        format!("host={} port={} user=windlass dbname=postgres", self.folder.display(), self.port)
    }
}

impl Certificate<'_> {
    /// Installs the certificate and the access rules in the server's data folder. The server then accepts only
    /// encrypted connections over the network. Connections through the Unix socket need no encryption.
    fn install(self, data: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        let access = "local all all trust\nhostssl all guarded 127.0.0.1/32 scram-sha-256\nhostssl all all 127.0.0.1/32 trust\n";
        let files = [("server.crt", self.certificate), ("server.key", self.key), ("pg_hba.conf", access)];
        for (file, text) in files {
            let file = data.join(file);
            std::fs::write(&file, text).expect("the server's folder can be written");
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&file, private).expect("the owner may say who reads a file");
            give_away(&file);
        }
    }
}

fn free_port() -> u16 {
    let any = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
    any.local_addr().expect("it has an address").port()
}

/// Returns the folder that contains the PostgreSQL programs `initdb`, `postgres`, `pg_isready` and `psql`. The function
/// searches the folders in `PATH`, and the folders `/usr/lib/postgresql/VERSION/bin`. If several folders contain all
/// four programs, the function returns the last of these folders in alphabetical order. Returns `None` if no folder
/// contains them.
fn programs() -> Option<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|version| version.path().join("bin")).collect();
    folders.sort();
    #[expect(clippy::disallowed_methods, reason = "a test looks where programs are")]
    let path = std::env::var("PATH").unwrap_or_default();
    let needed = ["initdb", "postgres", "pg_isready", "psql"];
    let has_all = |at: &PathBuf| needed.iter().all(|program| at.join(program).is_file());
    path.split(':').map(PathBuf::from).chain(folders).filter(has_all).max()
}

/// Returns a command that runs as `nobody` when the tests run as root, because the server refuses to run as
/// root.
fn as_user(program: &Path) -> Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(program);
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    command.current_dir("/").stdin(Stdio::null());
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn give_away(folder: &Path) {
    if is_root() {
        std::os::unix::fs::chown(folder, Some(65_534), Some(65_534)).expect("root may give a folder away");
    }
}

/// Starts a server under a shell that stops the server when this program ends for any reason.
fn die_with_us(server: &Command, folder: &Path) -> Child {
    let mut line: Vec<String> = vec![server.get_program().to_string_lossy().into_owned()];
    line.extend(server.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    let mut shell = as_user(Path::new("/bin/sh"));
    // `read` returns when the other end of the pipe is closed. SIGINT requests a fast shutdown of the server.
    let script = r#""$@" >/dev/null 2>log & server=$!; read gone; kill -INT $server 2>/dev/null; wait $server; cd / && rm -rf "$0""#;
    shell.args(["-c", script]).arg(folder).args(line).current_dir(folder).stdin(Stdio::piped());
    shell.spawn().expect("a shell can be started")
}

fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    let pause = || std::thread::sleep(Duration::from_millis(20));
    let mut tries = std::iter::repeat_with(is_so).take(1500);
    assert!(
        tries.any(|is_so| is_so || {
            pause();
            false
        }),
        "{what} in 30 seconds"
    );
}
