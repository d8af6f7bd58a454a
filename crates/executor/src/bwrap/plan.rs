//! The description of one job's sandbox, which is stored in the file `job.json` of the job.

use std::{ffi::CStr, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::Digest;

/// Path of a job's working folder in its sandbox.
pub(crate) const WORK_FOLDER: &CStr = c"/work";
pub(crate) const WORK: &str = match WORK_FOLDER.to_str() {
    Ok(text) => text,
    Err(_) => panic!("it is ASCII"),
};

/// Path of a job's folder for temporary files in its sandbox.
pub(crate) const TMP: &str = "/tmp";

/// Paths in `/proc` that are read-only in a sandbox.
const READ_ONLY: [&str; 3] = ["/proc/sys", "/proc/irq", "/proc/bus"];

/// Paths in `/proc` that `/dev/null` covers in a sandbox.
const HIDDEN: [&str; 4] = ["/proc/sysrq-trigger", "/proc/kcore", "/proc/keys", "/proc/timer_list"];

/// The parameters from which the supervisor creates a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxPlan {
    /// Program that creates the sandbox.
    pub(crate) bwrap: PathBuf,
    /// Folder of the image in its store, locked as long as the job runs.
    pub(crate) image: PathBuf,
    /// Id of the image.
    pub(crate) digest: Digest,
    pub(crate) network: SandboxNetwork,
    /// User id of the job inside the sandbox.
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Size of the folder for temporary files, in bytes.
    pub(crate) tmp_bytes: u64,
    pub(crate) volumes: Vec<SandboxVolume>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxNetwork {
    /// Only a loopback interface.
    None,
    /// The sandbox shares the host's network.
    Host,
}

/// A volume of a job. `bwrap` mounts the folder `host` at `path` in the sandbox, and the job can write to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxVolume {
    pub(crate) host: PathBuf,
    /// Absolute path in the sandbox.
    pub(crate) path: String,
}

impl SandboxPlan {
    /// Returns the arguments of `bwrap`. `work` is the path of the working folder on the host. `holder` is
    /// the program that becomes the first process in the sandbox. `bwrap` writes the id of this process to
    /// the descriptor `info_fd`, and reads the system-call filters from the descriptors `filters`.
    pub(crate) fn arguments(
        &self,
        work: &str,
        info_fd: &str,
        filters: &[String],
        holder: &str,
    ) -> Vec<String> {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let mut args: Vec<String> = Vec::new();
        let mut say = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
        say(&["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"]);
        if self.network == SandboxNetwork::None {
            say(&["--unshare-net"]);
        }
        say(&["--uid", &self.uid.to_string(), "--gid", &self.gid.to_string(), "--hostname", "sandbox"]);
        say(&["--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--info-fd", info_fd]);
        say(&["--ro-bind", &text(&self.image.join("root")), "/", "--proc", "/proc"]);
        // If windlass runs as root, the job could write to files of `/proc` even without capabilities,
        // because root owns these files. So this code makes the paths in `READ_ONLY` read-only, and mounts
        // `/dev/null` over the paths in `HIDDEN`. The protection by `bwrap` is not sufficient: `bwrap`
        // protects a path of `/proc` only if `bwrap` can write to this path. If a path exists on the host, it
        // also exists in the sandbox, because the kernel provides `/proc` on the host and in the sandbox.
        let there = |path: &&&str| std::path::Path::new(path).exists();
        for path in READ_ONLY.iter().filter(there) {
            say(&["--ro-bind", path, path]);
        }
        for path in HIDDEN.iter().filter(there) {
            say(&["--ro-bind", "/dev/null", path]);
        }
        // `--dev` is not used, since it also creates terminals, which need a second user namespace.
        say(&["--perms", "0755", "--tmpfs", "/dev"]);
        for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
            say(&["--dev-bind", device, device]);
        }
        for (target, link) in [("fd", "fd"), ("fd/0", "stdin"), ("fd/1", "stdout"), ("fd/2", "stderr")] {
            say(&["--symlink", &format!("/proc/self/{target}"), &format!("/dev/{link}")]);
        }
        say(&["--perms", "1777", "--size", &self.tmp_bytes.to_string(), "--tmpfs", "/dev/shm"]);
        say(&["--remount-ro", "/dev"]);
        say(&["--perms", "1777", "--size", &self.tmp_bytes.to_string(), "--tmpfs", TMP]);
        say(&["--bind", work, WORK]);
        for volume in &self.volumes {
            say(&["--bind", &text(&volume.host), &volume.path]);
        }
        if self.network == SandboxNetwork::Host {
            say(&["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]);
        }
        for filter in filters {
            say(&["--add-seccomp-fd", filter]);
        }
        say(&["--chdir", "/", "--", holder]);
        args
    }
}
