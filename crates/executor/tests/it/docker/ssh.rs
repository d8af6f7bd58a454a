//! Tests an engine behind `ssh`: the tests run a server of their own on this machine, with keys of their own.

use std::{
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use windlass_executor::{
    End, JobId, Runtime,
    docker::{Engine, EngineChoice, Environment, Host},
};

use super::{
    engines::skipped,
    place::{IMAGE, Place, TURNS},
};
use crate::place::until;

/// Path of the server in Debian. The server must be called by its absolute path.
const SSHD: &str = "/usr/sbin/sshd";

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn run(dir: &Path, script: &str) {
    let output = Command::new("sh").args(["-ec", script]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

impl Server {
    /// Starts a server that accepts the key `key` of this folder. Its sessions find the engine at this
    /// socket.
    async fn start(dir: &Path, port: u16, socket: &Path) -> Self {
        let keys =
            "ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f key; cp key.pub known";
        run(dir, keys);
        let (dir_text, host) = (dir.display(), fs::read_to_string(dir.join("host.pub")).unwrap());
        let mine = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {dir_text}/host\nAuthorizedKeysFile {dir_text}/known\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n\
             SetEnv DOCKER_HOST=unix://{}\n",
            socket.display()
        );
        fs::write(dir.join("sshd_config"), mine).unwrap();
        fs::write(dir.join("known_hosts"), format!("[127.0.0.1]:{port} {host}")).unwrap();
        let config = format!(
            "Host windlass-test\nHostName 127.0.0.1\nPort {port}\nIdentityFile {dir_text}/key\nIdentitiesOnly yes\nUserKnownHostsFile {dir_text}/known_hosts\n\
             StrictHostKeyChecking yes\n"
        );
        fs::write(dir.join("config"), config).unwrap();
        // The client program of this machine, without the user's own configuration. The connection that
        // sessions share stays after a killed client; here it ends after a minute. It must outlive the time
        // between its start and the first session, which a busy machine makes long.
        let wrapper =
            format!("#!/bin/sh\nexec /usr/bin/ssh -F {dir_text}/config -o ControlPersist=60 \"$@\"\n");
        fs::create_dir(dir.join("bin")).unwrap();
        fs::write(dir.join("bin/ssh"), wrapper).unwrap();
        fs::set_permissions(dir.join("bin/ssh"), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        let mut command = Command::new(SSHD);
        command.arg("-D").arg("-f").arg(dir.join("sshd_config")).arg("-E").arg(dir.join("log"));
        // Sessions may outlive the server, and must not hold the output of the tests open.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Self(command.spawn().unwrap());
        until("the server listens", async || {
            std::net::TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), Duration::from_secs(1))
                .is_ok()
        })
        .await;
        // Another program may listen there instead.
        let ended = server.0.try_wait().unwrap();
        assert!(ended.is_none(), "{}", fs::read_to_string(dir.join("log")).unwrap_or_default());
        server
    }
}

#[tokio::test]
async fn an_engine_is_reached_by_ssh() {
    let test = "an_engine_is_reached_by_ssh";
    let Some(place) = Place::new(test).await else { return };
    let Host::Unix(socket) = place.engine.endpoint().host.clone() else { return };
    if !Path::new(SSHD).exists()
        || !Path::new("/usr/bin/ssh").exists()
        || !rustix::process::geteuid().is_root()
    {
        return skipped(test, "it needs root and a server: apt-get install openssh-server openssh-client");
    }
    let _turn = TURNS.acquire().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::start(dir.path(), port, &socket).await;
    let name = format!("ssh-{}", place.runtime.client());
    let mut client = Command::new(env!("CARGO_BIN_EXE_windlass-executor-test-docker-owner"))
        .arg("ssh://root@windlass-test")
        .args([IMAGE, &name, &name, "finish", "echo ready; sleep 1; echo done; exit 7"])
        .env("PATH", format!("{}:/usr/bin:/bin", dir.path().join("bin").display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line != "ready\n" {
        let said = client.wait_with_output().unwrap().stderr;
        let log = fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        panic!("{}\n{log}", String::from_utf8_lossy(&said));
    }
    client.kill().unwrap();
    client.wait().unwrap();
    // It is the same engine, and the job has continued without its client.
    let id: JobId = name.parse().unwrap();
    let outcome = place.runtime.wait(&id).await.unwrap();
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (End::Exited(7), "ready\ndone\n"));
    place.runtime.remove(&id).await.unwrap();
    place.runtime.close().await;
    drop(server);
    until("nothing is left", async || {
        place.left().is_empty() && super::place::left(&place.engine, &name).is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_port_is_refused_with_what_to_do() {
    let choice: EngineChoice = "ssh://me@machine:2222".parse().unwrap();
    let refused = Engine::connect(&choice, &Environment::default()).await.unwrap_err().to_string();
    assert!(refused.contains("write `Host machine` and `Port 2222` to ~/.ssh/config"), "{refused}");
}
