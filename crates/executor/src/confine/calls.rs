//! The system calls that the confinement of jobs refuses.
//!
//! Container engines refuse most of these calls by default, too. The list leaves out some calls that always fail
//! without root rights.
//!
//! A list of allowed calls would be the alternative. Such a list would break each program that needs an unlisted
//! call, and users would then switch the filter off.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Seek, Write},
    os::fd::OwnedFd,
    sync::LazyLock,
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::Errno,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// System calls that always fail with "not permitted" (`EPERM`).
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Socket families that jobs may use, because network namespaces isolate them. Other families reach the host
/// from every namespace, for example `AF_VSOCK` (virtual machines) and `AF_ALG` (the kernel's ciphers).
const FAMILIES: [libc::c_int; 6] =
    [libc::AF_UNSPEC, libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET];

/// The `ioctl` request that puts a character into the input of a terminal.
const TIOCSTI: u64 = 0x5412;

/// First call number of the x32 interface of x86-64 kernels. The calls of this interface would bypass the list of
/// refused calls.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// The filter programs, compiled once; empty on an unsupported architecture.
static PROGRAMS: LazyLock<Vec<BpfProgram>> = LazyLock::new(|| programs().unwrap_or_default());

/// Tells whether this kernel can filter calls.
pub(crate) fn are_filtered() -> bool {
    const GET_ACTION_AVAIL: libc::c_uint = 2;
    let action = libc::SECCOMP_RET_ERRNO;
    #[expect(unsafe_code, reason = "neither `std` nor rustix has seccomp")]
    // SAFETY: the call reads one number.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0 && !PROGRAMS.is_empty()
}

/// Compiles the system-call filters. The parent calls this function before a fork, so that the child can use the
/// compiled filters.
pub(crate) fn make_ready() {
    LazyLock::force(&PROGRAMS);
}

/// Applies all system-call filters to the calling process, which is a new child. The parent of this child must have
/// called [`make_ready`] before the fork.
pub(crate) fn filter() -> Result<(), Errno> {
    const SET_MODE_FILTER: libc::c_uint = 1;
    for program in PROGRAMS.iter() {
        let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
        let loaded = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
        #[expect(unsafe_code, reason = "neither `std` nor rustix has seccomp")]
        // SAFETY: `sock_fprog` contains the number of instructions of the program. An instruction has the
        // layout of the kernel's structure `sock_filter`. The kernel only reads the instructions.
        let result = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, 0, &raw const loaded) };
        if result != 0 {
            return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::PERM));
        }
    }
    Ok(())
}

/// Returns the system-call filters as files in the kernel's format, which `bwrap` loads. Returns no files if calls
/// can't be filtered.
pub(crate) fn as_files() -> io::Result<Vec<OwnedFd>> {
    if !are_filtered() {
        return Ok(Vec::new());
    }
    let file = |program: &BpfProgram| {
        let mut file = File::from(memfd_create("windlass-filter", MemfdFlags::CLOEXEC)?);
        let bytes: Vec<u8> = program.iter().flat_map(instruction).collect();
        file.write_all(&bytes)?;
        file.rewind()?;
        Ok(file.into())
    };
    PROGRAMS.iter().map(file).collect()
}

/// Returns an instruction in the kernel's memory layout (linux/filter.h, `struct sock_filter`).
fn instruction(of: &sock_filter) -> [u8; 8] {
    let (code, k) = (of.code.to_ne_bytes(), of.k.to_ne_bytes());
    [code[0], code[1], of.jt, of.jf, k[0], k[1], k[2], k[3]]
}

fn programs() -> Result<Vec<BpfProgram>, Box<dyn std::error::Error>> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let errno = |errno: Errno| SeccompAction::Errno(errno.raw_os_error().unsigned_abs());
    let make = |rules, refusal| -> Result<BpfProgram, Box<dyn std::error::Error>> {
        Ok(SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture)?.try_into()?)
    };
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, vec![])).collect();
    let users = u64::try_from(libc::CLONE_NEWUSER)?;
    let own_users = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(users), users)?;
    refused.insert(libc::SYS_clone, vec![SeccompRule::new(vec![own_users])?]);
    let types = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, TIOCSTI)?;
    refused.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![types])?]);
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        let other = |family: &libc::c_int| {
            let family = u64::from(family.unsigned_abs());
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
        };
        let others = FAMILIES.iter().map(other).collect::<Result<Vec<_>, _>>()?;
        refused.insert(call, vec![SeccompRule::new(others)?]);
    }
    // The flags of `clone3` are in memory, which a filter can't read. The error "no such call" makes programs
    // fall back to `clone`.
    let unknown = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let mut programs = vec![make(refused, errno(Errno::PERM))?, make(unknown, errno(Errno::NOSYS))?];
    programs.extend(other_interface(Errno::NOSYS));
    Ok(programs)
}

/// Creates a filter that refuses all calls of the x32 interface. The filter consists of four instructions, which
/// are written here because the filter library can't generate them.
#[cfg(target_arch = "x86_64")]
fn other_interface(errno: Errno) -> Option<BpfProgram> {
    let code = |code: u32| u16::try_from(code).ok();
    let refuse = libc::SECCOMP_RET_ERRNO | errno.raw_os_error().unsigned_abs();
    let statement = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let load = code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS)?;
    let compare = code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K)?;
    let answer = code(libc::BPF_RET | libc::BPF_K)?;
    Some(vec![
        // The call number is the first field of the filter's input.
        statement(load, 0),
        sock_filter { code: compare, jt: 0, jf: 1, k: X32 },
        statement(answer, refuse),
        statement(answer, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_interface(_: Errno) -> Option<BpfProgram> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_programs_for_this_processor() {
        let programs = programs().unwrap();
        assert!(programs.len() >= 2 && programs[0].len() > REFUSED.len());
    }
}
