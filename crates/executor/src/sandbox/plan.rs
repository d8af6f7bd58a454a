//! What the room of one job is made of: the part of a job's record that only sandboxes have.

use std::{ffi::CStr, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::image::Digest;

/// Where a job's working folder is in its room.
pub(crate) const WORK_FOLDER: &CStr = c"/work";
pub(crate) const WORK: &str = match WORK_FOLDER.to_str() {
    Ok(text) => text,
    Err(_) => panic!("it is ASCII"),
};

/// Where its folder for temporary files is.
pub(crate) const TMP: &str = "/tmp";

/// What of `/proc` can only be read.
const READ_ONLY: [&str; 3] = ["/proc/sys", "/proc/irq", "/proc/bus"];

/// What of `/proc` is not there.
const HIDDEN: [&str; 4] = ["/proc/sysrq-trigger", "/proc/kcore", "/proc/keys", "/proc/timer_list"];

/// All that the supervisor needs to know to make a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoomPlan {
    /// The program that makes it.
    pub(crate) bwrap: PathBuf,
    /// The image's folder in its store, which is locked as long as the job runs.
    pub(crate) image: PathBuf,
    /// The image's id.
    pub(crate) digest: Digest,
    pub(crate) network: RoomNetwork,
    /// Who the job is, in its own eyes.
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The most bytes in its folder for temporary files.
    pub(crate) tmp_bytes: u64,
    pub(crate) volumes: Vec<RoomVolume>,
}

/// Which network a room has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoomNetwork {
    /// A loopback of its own and nothing else.
    None,
    /// The host's.
    Host,
}

/// A folder of the host in a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoomVolume {
    pub(crate) host: PathBuf,
    /// Where it is in the room: an absolute path.
    pub(crate) path: String,
}

impl RoomPlan {
    /// What the program that makes the room is told, in order. The program `holder` is run in it as the first process, held
    /// to the `filters` of system calls.
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
        if self.network == RoomNetwork::None {
            say(&["--unshare-net"]);
        }
        say(&["--uid", &self.uid.to_string(), "--gid", &self.gid.to_string(), "--hostname", "sandbox"]);
        say(&["--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--info-fd", info_fd]);
        say(&["--ro-bind", &text(&self.image.join("root")), "/", "--proc", "/proc"]);
        // What the host's root may write to is not for jobs that its root has started: they have no capability, but they
        // own such files. (`bwrap` covers them only where it could write itself.)
        // Which of these there are is the kernel's choice, the same inside and out.
        let there = |path: &&&str| std::path::Path::new(path).exists();
        for path in READ_ONLY.iter().filter(there) {
            say(&["--ro-bind", path, path]);
        }
        for path in HIDDEN.iter().filter(there) {
            say(&["--ro-bind", "/dev/null", path]);
        }
        // Not `--dev`: it makes terminals too, and for these a second user namespace.
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
        if self.network == RoomNetwork::Host {
            say(&["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]);
        }
        for filter in filters {
            say(&["--add-seccomp-fd", filter]);
        }
        say(&["--chdir", "/", "--", holder]);
        args
    }
}
