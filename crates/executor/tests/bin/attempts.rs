//! A job that attempts everything a job must not be able to do. The tests compile it statically, since it may
//! be the only file of an image. It prints one line for each attempt: `held NAME: WHY`, or `BROKEN NAME: WHAT
//! IT GOT`.
//!
//! Arguments:
//!
//! - the folder of the test on the host,
//! - a process of the host,
//! - a port on the host's loopback device on which a test listens,
//! - the name of an abstract socket of the host,
//! - the description of a key in the session keyring of the host's user.

use std::{
    ffi::CString,
    fs, io,
    net::TcpStream,
    os::{
        linux::net::SocketAddrExt,
        raw::{c_int, c_long, c_void},
        unix::net::{SocketAddr, UnixStream},
    },
    path::Path,
    ptr,
    time::Duration,
};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

#[cfg(target_arch = "x86_64")]
mod numbers {
    use std::os::raw::c_long;
    pub const SOCKET: c_long = 41;
    pub const CLONE: c_long = 56;
    pub const KILL: c_long = 62;
    pub const PTRACE: c_long = 101;
    pub const SETUID: c_long = 105;
    pub const CAPSET: c_long = 126;
    pub const MKNODAT: c_long = 259;
    pub const PIVOT_ROOT: c_long = 155;
    pub const CHROOT: c_long = 161;
    pub const MOUNT: c_long = 165;
    pub const UMOUNT2: c_long = 166;
    pub const REBOOT: c_long = 169;
    pub const SETHOSTNAME: c_long = 170;
    pub const INIT_MODULE: c_long = 175;
    pub const CLOCK_SETTIME: c_long = 227;
    pub const KEXEC_LOAD: c_long = 246;
    pub const ADD_KEY: c_long = 248;
    pub const REQUEST_KEY: c_long = 249;
    pub const KEYCTL: c_long = 250;
    pub const UNSHARE: c_long = 272;
    pub const PERF_EVENT_OPEN: c_long = 298;
    pub const OPEN_BY_HANDLE_AT: c_long = 304;
    pub const SETNS: c_long = 308;
    pub const PROCESS_VM_READV: c_long = 310;
    pub const BPF: c_long = 321;
    pub const USERFAULTFD: c_long = 323;
}

#[cfg(target_arch = "aarch64")]
mod numbers {
    use std::os::raw::c_long;
    pub const SOCKET: c_long = 198;
    pub const CLONE: c_long = 220;
    pub const KILL: c_long = 129;
    pub const PTRACE: c_long = 117;
    pub const SETUID: c_long = 146;
    pub const CAPSET: c_long = 91;
    pub const MKNODAT: c_long = 33;
    pub const PIVOT_ROOT: c_long = 41;
    pub const CHROOT: c_long = 51;
    pub const MOUNT: c_long = 40;
    pub const UMOUNT2: c_long = 39;
    pub const REBOOT: c_long = 142;
    pub const SETHOSTNAME: c_long = 161;
    pub const INIT_MODULE: c_long = 105;
    pub const CLOCK_SETTIME: c_long = 112;
    pub const KEXEC_LOAD: c_long = 104;
    pub const ADD_KEY: c_long = 217;
    pub const REQUEST_KEY: c_long = 218;
    pub const KEYCTL: c_long = 219;
    pub const UNSHARE: c_long = 97;
    pub const PERF_EVENT_OPEN: c_long = 241;
    pub const OPEN_BY_HANDLE_AT: c_long = 265;
    pub const SETNS: c_long = 268;
    pub const PROCESS_VM_READV: c_long = 270;
    pub const BPF: c_long = 280;
    pub const USERFAULTFD: c_long = 282;
}

// The numbers are the same on both architectures.
const MOVE_MOUNT: c_long = 429;
const FSOPEN: c_long = 430;
const OPEN_TREE: c_long = 428;
const CLONE3: c_long = 435;
const IO_URING_SETUP: c_long = 425;
const PIDFD_OPEN: c_long = 434;
const PIDFD_GETFD: c_long = 438;

const NEW_USER: c_long = 0x1000_0000;
const NEW_MOUNTS: c_long = 0x0002_0000;

type Tried = Result<String, String>;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, process, port, socket, key, only @ ..] = args.as_slice() else { panic!("{args:?}") };
    let attempt = |name: &str, action: &dyn Fn() -> Tried| match only {
        // Each attempt has its own process, since a successful one may affect the others.
        [] => in_a_process(name, &args),
        [only] if only == name => report(name, action()),
        _ => {}
    };
    let process: c_long = process.parse().expect("a number");
    let nothing = ptr::null::<c_void>();
    let none = c"none".as_ptr();

    attempt("inherit-files", &|| {
        let mut open: Vec<String> = Vec::new();
        for number in 3..1024 {
            let link = fs::read_link(format!("/proc/self/fd/{number}"));
            open.extend(link.ok().map(|path| path.display().to_string()));
        }
        if open.is_empty() { Err("none is open".to_owned()) } else { Ok(open.join(" ")) }
    });
    // The first process of the job's namespace: its resources would open the rest.
    attempt("write-first-memory", &write_memory);
    attempt("read-first-memory", &|| read("/proc/1/mem"));
    attempt("read-first-environment", &|| read("/proc/1/environ"));
    attempt("enter-first-root", &|| list("/proc/1/root/"));
    attempt("open-first-files", &open_first_files);
    attempt("trace-first", &|| {
        call(|| unsafe { syscall(numbers::PTRACE, 16 as c_long, 1 as c_long, nothing, nothing) })
    });
    attempt("copy-first-memory", &copy_memory);
    attempt("take-first-file", &take_file);
    // Privileges.
    attempt("new-user-namespace", &|| call(|| unsafe { syscall(numbers::UNSHARE, NEW_USER) }));
    attempt("new-user-namespace-by-clone", &clone_user);
    attempt("new-user-namespace-by-clone3", &clone3_user);
    attempt("new-mount-namespace", &|| call(|| unsafe { syscall(numbers::UNSHARE, NEW_MOUNTS) }));
    attempt("enter-namespace", &|| {
        let file = fs::File::open("/proc/1/ns/user").map_err(in_words)?;
        call(|| unsafe {
            syscall(numbers::SETNS, std::os::fd::AsRawFd::as_raw_fd(&file) as c_long, 0 as c_long)
        })
    });
    attempt("mount", &|| {
        call(|| unsafe {
            syscall(numbers::MOUNT, none, c"/tmp".as_ptr(), c"tmpfs".as_ptr(), 0 as c_long, nothing)
        })
    });
    attempt("unmount", &|| call(|| unsafe { syscall(numbers::UMOUNT2, c"/proc".as_ptr(), 2 as c_long) }));
    attempt("mount-by-parts", &|| {
        call(|| unsafe { syscall(FSOPEN, c"tmpfs".as_ptr(), 0 as c_long) })
            .or_else(|_| call(|| unsafe { syscall(OPEN_TREE, -100 as c_long, c"/".as_ptr(), 1 as c_long) }))
            .or_else(|_| {
                call(|| unsafe {
                    syscall(
                        MOVE_MOUNT,
                        -100 as c_long,
                        c"/tmp".as_ptr(),
                        -100 as c_long,
                        c"/proc".as_ptr(),
                        0 as c_long,
                    )
                })
            })
    });
    attempt("pivot-root", &|| call(|| unsafe { syscall(numbers::PIVOT_ROOT, c".".as_ptr(), c".".as_ptr()) }));
    attempt("change-root", &|| call(|| unsafe { syscall(numbers::CHROOT, c"/".as_ptr()) }));
    attempt("become-root", &become_root);
    attempt("gain-capabilities", &gain_capabilities);
    attempt("make-block-device", &|| make_device(0o060_600, 8 << 8));
    attempt("make-memory-device", &|| make_device(0o020_600, (1 << 8) | 1));
    // The kernel.
    attempt("load-module", &|| {
        call(|| unsafe { syscall(numbers::INIT_MODULE, nothing, 0 as c_long, c"".as_ptr()) })
    });
    attempt("load-kernel", &|| {
        call(|| unsafe { syscall(numbers::KEXEC_LOAD, 0 as c_long, 0 as c_long, nothing, 0 as c_long) })
    });
    attempt("load-bpf", &load_bpf);
    attempt("measure-kernel", &measure_kernel);
    attempt("page-faults", &|| call(|| unsafe { syscall(numbers::USERFAULTFD, 0 as c_long) }));
    attempt("io-uring", &io_uring);
    attempt("set-clock", &|| {
        call(|| unsafe { syscall(numbers::CLOCK_SETTIME, 0 as c_long, [1 as c_long, 0].as_ptr()) })
    });
    attempt("set-host-name", &|| {
        call(|| unsafe { syscall(numbers::SETHOSTNAME, c"mine".as_ptr(), 4 as c_long) })
    });
    attempt("reboot", &|| {
        call(|| unsafe {
            syscall(numbers::REBOOT, 0xfee1_dead as c_long, 672_274_793 as c_long, 0 as c_long, nothing)
        })
    });
    attempt("open-by-handle", &open_by_handle);
    for (name, path) in [
        ("change-core-pattern", "/proc/sys/kernel/core_pattern"),
        ("change-host-sysctl", "/proc/sys/vm/swappiness"),
        ("press-sysrq", "/proc/sysrq-trigger"),
        ("write-control-groups", "/sys/fs/cgroup/cgroup.procs"),
        ("power-by-sys", "/sys/power/state"),
        ("run-helper", "/sys/kernel/uevent_helper"),
    ] {
        attempt(name, &|| open_to_write(path));
    }
    attempt("outlive-others", &|| {
        fs::write("/proc/self/oom_score_adj", "-1000")
            .map(|()| "it is killed last".to_owned())
            .map_err(in_words)
    });
    for (name, path) in [
        ("read-kernel-memory", "/proc/kcore"),
        ("read-kernel-log", "/dev/kmsg"),
        ("read-memory-device", "/dev/mem"),
        ("read-disk", "/dev/vda"),
        ("read-disk-of-other-name", "/dev/sda"),
        ("read-shadow-of-host", "/etc/shadow"),
        ("talk-to-engine", "/var/run/docker.sock"),
        ("talk-to-engine-elsewhere", "/run/podman/podman.sock"),
    ] {
        attempt(name, &|| read(path));
    }
    // The keys of the host's user.
    attempt("list-keys", &|| {
        let keys = fs::read_to_string("/proc/keys").map_err(in_words)?;
        if keys.contains(key.as_str()) { Ok(keys) } else { Err("it is not among them".to_owned()) }
    });
    attempt("find-key", &|| find_key(key));
    attempt("request-key", &|| request_key(key));
    attempt("read-session-keyring", &|| session_keyring(key));
    attempt("add-key-to-user", &|| {
        call(|| unsafe {
            syscall(
                numbers::ADD_KEY,
                c"user".as_ptr(),
                c"windlass-attempt".as_ptr(),
                c"x".as_ptr(),
                1 as c_long,
                -4 as c_long,
            )
        })
    });
    // Sockets of families that network namespaces don't isolate.
    for (name, family, kind) in [
        ("socket-vsock", 40, 1),
        ("socket-ciphers", 38, 5),
        ("socket-bluetooth", 31, 3),
        ("socket-rds", 21, 5),
        ("socket-qualcomm", 42, 2),
        ("socket-nfc", 39, 3),
        ("socket-packet", 17, 3),
        ("socket-raw", 2, 3),
    ] {
        attempt(name, &|| {
            call(|| unsafe { syscall(numbers::SOCKET, family as c_long, kind as c_long, 0 as c_long) })
        });
    }
    // The host.
    attempt("see-folder-of-host", &|| list(folder));
    attempt("see-process-of-host", &|| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).map_err(in_words)?;
        if name.trim_end().starts_with("it-") { Ok(name) } else { Err("it is another one".to_owned()) }
    });
    attempt("signal-process-of-host", &|| {
        if Path::new(&format!("/proc/{process}")).exists() {
            return Err("it is another one".to_owned());
        }
        call(|| unsafe { syscall(numbers::KILL, process, 0 as c_long) })
    });
    attempt("signal-first", &|| {
        call(|| unsafe { syscall(numbers::KILL, 1 as c_long, 9 as c_long) })?;
        // The first process of a namespace ignores signals from inside it.
        std::thread::sleep(Duration::from_millis(50));
        Err("it is still there, or this would not be printed".to_owned())
    });
    attempt("reach-loopback-of-host", &|| {
        let address = format!("127.0.0.1:{port}").parse().expect("an address");
        TcpStream::connect_timeout(&address, Duration::from_secs(2))
            .map(|_| "it is connected".to_owned())
            .map_err(in_words)
    });
    attempt("reach-abstract-socket-of-host", &|| {
        let address = SocketAddr::from_abstract_name(socket).map_err(in_words)?;
        UnixStream::connect_addr(&address).map(|_| "it is connected".to_owned()).map_err(in_words)
    });
    attempt("write-root", &|| {
        fs::write("/attempt", "x").map(|()| "it is there".to_owned()).map_err(in_words)
    });
    if only.is_empty() {
        println!("done");
    }
}

fn in_a_process(name: &str, args: &[String]) {
    let run = std::process::Command::new("/proc/self/exe").args(args).arg(name).output();
    match run {
        Ok(output) if !output.stdout.is_empty() => print!("{}", String::from_utf8_lossy(&output.stdout)),
        Ok(output) => println!("held {name}: it was ended: {}", output.status),
        Err(error) => println!("BROKEN {name}: it can't be tried: {error}"),
    }
}

fn report(name: &str, tried: Tried) {
    match tried {
        Ok(got) => println!("BROKEN {name}: {}", got.replace('\n', " ")),
        Err(why) => println!("held {name}: {why}"),
    }
}

fn in_words(error: io::Error) -> String {
    error.to_string()
}

fn call(call: impl FnOnce() -> c_long) -> Tried {
    let result = call();
    if result < 0 { Err(in_words(io::Error::last_os_error())) } else { Ok(format!("it returned {result}")) }
}

fn read(path: &str) -> Tried {
    use io::Read;
    let mut byte = [0; 1];
    let got = fs::File::open(path).and_then(|mut file| file.read(&mut byte)).map_err(in_words)?;
    // The file that replaces a hidden file is empty.
    if got == 0 { Err("it is empty".to_owned()) } else { Ok("it can be read".to_owned()) }
}

fn list(path: &str) -> Tried {
    let names = fs::read_dir(path).map_err(in_words)?;
    Ok(names
        .flatten()
        .map(|name| name.file_name().to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" "))
}

fn open_to_write(path: &str) -> Tried {
    // `/dev/null` replaces a hidden file.
    use std::os::unix::fs::FileTypeExt;
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device()) {
        return Err("it is hidden".to_owned());
    }
    fs::File::options().write(true).open(path).map(|_| "it is open".to_owned()).map_err(in_words)
}

fn write_memory() -> Tried {
    let maps = fs::read_to_string("/proc/1/maps").map_err(in_words)?;
    fs::File::options().write(true).open("/proc/1/mem").map_err(in_words)?;
    Ok(format!("it is open, and this is where: {}", maps.lines().next().unwrap_or_default()))
}

fn open_first_files() -> Tried {
    // A process of the same user may list the descriptors, but must not see their targets.
    let numbers = fs::read_dir("/proc/1/fd").map_err(in_words)?;
    let mut why = "it has none".to_owned();
    for entry in numbers.flatten() {
        match fs::read_link(entry.path()) {
            Ok(to) => return Ok(to.display().to_string()),
            Err(error) => why = in_words(error),
        }
    }
    Err(why)
}

fn copy_memory() -> Tried {
    let mut into = [0u8; 8];
    let ours = [into.as_mut_ptr() as usize, into.len()];
    // The start address of static programs, ours and the sandbox's.
    let theirs = [0x40_0000usize, into.len()];
    call(|| unsafe {
        syscall(
            numbers::PROCESS_VM_READV,
            1 as c_long,
            ours.as_ptr(),
            1 as c_long,
            theirs.as_ptr(),
            1 as c_long,
            0 as c_long,
        )
    })
}

fn take_file() -> Tried {
    let process = unsafe { syscall(PIDFD_OPEN, 1 as c_long, 0 as c_long) };
    if process < 0 {
        return Err(in_words(io::Error::last_os_error()));
    }
    call(|| unsafe { syscall(PIDFD_GETFD, process, 0 as c_long, 0 as c_long) })
}

/// The child of a successful fork ends at once, so that only one program continues.
fn ended(child: c_long) -> Tried {
    if child == 0 {
        std::process::exit(0);
    }
    call(|| child)
}

fn clone_user() -> Tried {
    const SIGCHLD: c_long = 17;
    ended(unsafe {
        syscall(numbers::CLONE, NEW_USER | SIGCHLD, 0 as c_long, 0 as c_long, 0 as c_long, 0 as c_long)
    })
}

fn clone3_user() -> Tried {
    let mut args = [0u64; 11];
    args[0] = NEW_USER as u64;
    args[4] = 17;
    ended(unsafe { syscall(CLONE3, args.as_ptr(), size_of_val(&args) as c_long) })
}

fn become_root() -> Tried {
    call(|| unsafe { syscall(numbers::SETUID, 0 as c_long) })?;
    // Root in a namespace of its own without capabilities has no privileges.
    let status = fs::read_to_string("/proc/self/status").map_err(in_words)?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    if effective.trim().chars().all(|c| c == '0') {
        Err("it has no capability".to_owned())
    } else {
        Ok(effective.to_owned())
    }
}

fn gain_capabilities() -> Tried {
    let header = [0x2008_0522u32, 0];
    let all = [u32::MAX; 6];
    call(|| unsafe { syscall(numbers::CAPSET, header.as_ptr(), all.as_ptr()) })
}

fn make_device(mode: c_long, number: c_long) -> Tried {
    let path = CString::new("/tmp/attempt-device").expect("no NUL");
    call(|| unsafe { syscall(numbers::MKNODAT, -100 as c_long, path.as_ptr(), mode, number) })
}

fn load_bpf() -> Tried {
    // A map of one entry: kind, size of keys, size of values, number of entries.
    let map = [2u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    call(|| unsafe { syscall(numbers::BPF, 0 as c_long, map.as_ptr(), size_of_val(&map) as c_long) })
}

fn measure_kernel() -> Tried {
    // A software event: the clock of the processor, for the whole machine.
    let mut attributes = [0u64; 16];
    attributes[0] = 1 | (128 << 32);
    call(|| unsafe {
        syscall(
            numbers::PERF_EVENT_OPEN,
            attributes.as_ptr(),
            -1 as c_long,
            0 as c_long,
            -1 as c_long,
            0 as c_long,
        )
    })
}

fn io_uring() -> Tried {
    let mut parameters = [0u8; 256];
    call(|| unsafe { syscall(IO_URING_SETUP, 1 as c_long, parameters.as_mut_ptr()) })
}

fn open_by_handle() -> Tried {
    // A guessable handle of the root of a file system.
    let mut handle = [0u8; 32];
    handle[..4].copy_from_slice(&8u32.to_ne_bytes());
    handle[4..8].copy_from_slice(&1i32.to_ne_bytes());
    handle[8] = 2;
    let root = fs::File::open("/").map_err(in_words)?;
    let root = std::os::fd::AsRawFd::as_raw_fd(&root) as c_int;
    call(|| unsafe { syscall(numbers::OPEN_BY_HANDLE_AT, root as c_long, handle.as_ptr(), 0 as c_long) })
}

const SESSION: c_long = -3;

fn find_key(name: &str) -> Tried {
    const SEARCH: c_long = 10;
    let name = CString::new(name).expect("no NUL");
    let found =
        unsafe { syscall(numbers::KEYCTL, SEARCH, SESSION, c"user".as_ptr(), name.as_ptr(), 0 as c_long) };
    if found < 0 { Err(in_words(io::Error::last_os_error())) } else { key_content(found) }
}

fn request_key(name: &str) -> Tried {
    let name = CString::new(name).expect("no NUL");
    let found = unsafe {
        syscall(numbers::REQUEST_KEY, c"user".as_ptr(), name.as_ptr(), ptr::null::<c_void>(), 0 as c_long)
    };
    if found < 0 { Err(in_words(io::Error::last_os_error())) } else { key_content(found) }
}

fn key_content(key: c_long) -> Tried {
    const READ: c_long = 11;
    let mut content = [0u8; 64];
    let length =
        unsafe { syscall(numbers::KEYCTL, READ, key, content.as_mut_ptr(), content.len() as c_long) };
    let length = usize::try_from(length).map_err(|_| "it can't be read".to_owned())?;
    Ok(String::from_utf8_lossy(&content[..length.min(64)]).into_owned())
}

/// Searches the job's session keyring for the key `name`, which belongs to the host's user. The job may have a session
/// keyring of its own, but this keyring must not contain the key.
fn session_keyring(name: &str) -> Tried {
    const DESCRIBE: c_long = 6;
    const READ: c_long = 11;
    let mut keys = [0i32; 64];
    let length =
        unsafe { syscall(numbers::KEYCTL, READ, SESSION, keys.as_mut_ptr(), size_of_val(&keys) as c_long) };
    let length = usize::try_from(length).map_err(|_| in_words(io::Error::last_os_error()))?;
    for key in &keys[..(length / 4).min(64)] {
        let mut text = [0u8; 256];
        unsafe {
            syscall(numbers::KEYCTL, DESCRIBE, *key as c_long, text.as_mut_ptr(), text.len() as c_long)
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.contains(name) {
            return Ok(text);
        }
    }
    Err("the key is not in it".to_owned())
}
