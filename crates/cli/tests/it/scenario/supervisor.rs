//! A supervisor of server processes, which outlive the scripts that start them.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::env::{TestEnv, until};

/// A supervisor of servers. It answers requests that scripts write to the named pipe `control` of the volume
/// `run`.
///
/// A request is a line: the path of a named pipe for the answer, and one of these texts.
///
/// | request | answer |
/// |---|---|
/// | `address` | an unused address |
/// | `start ID ROLE NAME ADDRESS ARGUMENTS` | `up` when the server answers, `failed` if it has ended |
/// | `stop ID` | an empty text when the server has ended |
/// | `is-up ID` | `yes` or `no` |
pub(super) struct Supervisor {
    shared: Arc<Shared>,
    control: File,
}

struct Shared {
    servers: Mutex<HashMap<String, Child>>,
    folder: PathBuf,
    python: String,
    addresses: AtomicU16,
}

impl Supervisor {
    /// Tells whether this host has the programs that the servers and scripts need.
    pub(super) fn can_run() -> bool {
        python().is_some() && Path::new("/usr/bin/curl").exists()
    }

    pub(super) fn start(env: &TestEnv) -> Self {
        let folder = env.path(".windlass/volumes/run");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("server.py"), include_str!("server.py")).unwrap();
        let control = folder.join("control");
        assert!(Command::new("mkfifo").arg(&control).status().unwrap().success());
        // The pipe is also opened for writing, so that reading it does not end when a script closes it.
        let control = OpenOptions::new().read(true).write(true).open(control).unwrap();
        let shared = Arc::new(Shared {
            servers: Mutex::default(),
            folder,
            python: python().unwrap(),
            addresses: AtomicU16::new(0),
        });
        let (lines, serving) = (BufReader::new(control.try_clone().unwrap()), Arc::clone(&shared));
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok).take_while(|line| line != "end") {
                let shared = Arc::clone(&serving);
                thread::spawn(move || shared.serve(&line));
            }
        });
        Self { shared, control }
    }

    /// Kills all servers, and returns their number.
    pub(super) fn kill_all(&self) -> usize {
        let servers = std::mem::take(&mut *self.shared.servers.lock().unwrap());
        let count = servers.len();
        servers.into_values().for_each(kill);
        count
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.control.write_all(b"end\n");
        self.kill_all();
    }
}

impl Shared {
    fn serve(&self, line: &str) {
        let (pipe, request) = line.split_once(' ').unwrap();
        let answer = self.answer(request);
        // If the script was killed, the pipe for the answer has no reader.
        if let Ok(mut pipe) = OpenOptions::new().write(true).open(pipe) {
            let _ = pipe.write_all(answer.as_bytes());
        }
    }

    fn answer(&self, request: &str) -> String {
        let (verb, rest) = request.split_once(' ').unwrap_or((request, ""));
        match verb {
            // Each test process uses other addresses, and each server gets a new address.
            "address" => {
                let [high, low] = self.addresses.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                let own = std::process::id() % 250 + 1;
                format!("127.{own}.{high}.{}:20080", low + 1)
            }
            "start" => self.start(rest).to_owned(),
            "stop" => {
                let server = self.servers.lock().unwrap().remove(rest);
                server.into_iter().for_each(kill);
                String::new()
            }
            "is-up" => {
                let mut servers = self.servers.lock().unwrap();
                let is_up = servers.get_mut(rest).is_some_and(|server| server.try_wait().unwrap().is_none());
                if is_up { "yes".to_owned() } else { "no".to_owned() }
            }
            _ => panic!("unknown request {verb}"),
        }
    }

    fn start(&self, request: &str) -> &'static str {
        let fields: Vec<&str> = request.splitn(5, ' ').collect();
        let [id, role, name, address, arguments] = fields[..] else { panic!("{request}") };
        let mut command = Command::new(&self.python);
        command.arg("-S").arg(self.folder.join("server.py")).args([role, name, address]);
        command.args(arguments.split('|')).stdin(Stdio::null());
        let mut server = command.spawn().unwrap();
        let mut has_ended = false;
        until("the server answers", || {
            has_ended = server.try_wait().unwrap().is_some();
            has_ended || TcpStream::connect(address).is_ok()
        });
        if has_ended {
            return "failed";
        }
        if let Some(old) = self.servers.lock().unwrap().insert(id.to_owned(), server) {
            kill(old);
        }
        "up"
    }
}

fn kill(mut server: Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Returns the path of the Python interpreter.
fn python() -> Option<String> {
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    found.status.success().then(|| String::from_utf8(found.stdout).unwrap().trim().to_owned())
}
