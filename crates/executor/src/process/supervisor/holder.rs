//! The first process of a sandbox. The process reports that the sandbox is ready, and keeps the sandbox alive
//! until the supervisor closes it.
//!
//! The program of the first process is executed inside the image, and some images contain no executable file.
//! So the program is self-contained: it consists of a few system calls, assembled below. Its executable file
//! (elf(5)) has one segment, and exists only in memory. The program does these steps:
//!
//! 1. It makes itself non-dumpable. Jobs run as the same user, and could otherwise access its memory.
//! 2. It ignores SIGCHLD, so that the kernel reaps the orphans that the first process inherits.
//! 3. It writes a byte to stdout and closes stdout. This tells the supervisor that the sandbox is ready.
//! 4. It reads stdin to the end. The end comes when the supervisor closes the pipe or dies.
//! 5. It exits. The kernel then kills all other processes in the sandbox.
//!
//! The system-call filter of the job also applies to the first process: `bwrap` loads the filter before it
//! executes the program.

#![expect(unsafe_code, reason = "the program is assembled, and read as the data it is here")]

use std::{fs::File, io, io::Write, os::fd::OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};

/// Load address of the program. Any address that the kernel permits would do.
const ADDRESS: u64 = 0x40_0000;

/// Size in bytes of the header of an ELF file.
const FILE_HEADER: u16 = 64;

/// Size in bytes of an ELF program header. The executable file of the sandbox's first process has one program
/// header, which describes the only segment of the file.
const SEGMENT_HEADER: u16 = 56;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

// The program: prctl(PR_SET_DUMPABLE, 0), rt_sigaction(SIGCHLD, SIG_IGN), write, close, read, exit_group.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .rodata.windlass_holder, \"a\"",
    ".globl windlass_holder_begin",
    "windlass_holder_begin:",
    "mov eax, 157",
    "mov edi, 4",
    "xor esi, esi",
    "syscall",
    "sub rsp, 64",
    "mov qword ptr [rsp], 1",
    "mov qword ptr [rsp + 8], 0",
    "mov qword ptr [rsp + 16], 0",
    "mov qword ptr [rsp + 24], 0",
    "mov eax, 13",
    "mov edi, 17",
    "mov rsi, rsp",
    "xor edx, edx",
    "mov r10d, 8",
    "syscall",
    "mov eax, 1",
    "mov edi, 1",
    "mov rsi, rsp",
    "mov edx, 1",
    "syscall",
    "mov eax, 3",
    "mov edi, 1",
    "syscall",
    "2:",
    "xor eax, eax",
    "xor edi, edi",
    "mov rsi, rsp",
    "mov edx, 1",
    "syscall",
    "cmp rax, -4",
    "je 2b",
    "mov eax, 231",
    "xor edi, edi",
    "syscall",
    ".globl windlass_holder_end",
    "windlass_holder_end:",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .rodata.windlass_holder, \"a\"",
    ".globl windlass_holder_begin",
    "windlass_holder_begin:",
    "mov x8, #167",
    "mov x0, #4",
    "mov x1, #0",
    "svc #0",
    "sub sp, sp, #64",
    "mov x9, #1",
    "stp x9, xzr, [sp]",
    "stp xzr, xzr, [sp, #16]",
    "mov x8, #134",
    "mov x0, #17",
    "mov x1, sp",
    "mov x2, #0",
    "mov x3, #8",
    "svc #0",
    "mov x8, #64",
    "mov x0, #1",
    "mov x1, sp",
    "mov x2, #1",
    "svc #0",
    "mov x8, #57",
    "mov x0, #1",
    "svc #0",
    "2:",
    "mov x8, #63",
    "mov x0, #0",
    "mov x1, sp",
    "mov x2, #1",
    "svc #0",
    "cmn x0, #4",
    "b.eq 2b",
    "mov x8, #94",
    "mov x0, #0",
    "svc #0",
    ".globl windlass_holder_end",
    "windlass_holder_end:",
    ".popsection",
);

/// Creates an executable file in memory. It contains the program that runs as the first process of a sandbox.
///
/// # Errors
/// The error of the kernel.
pub(crate) fn file() -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("windlass-holder", MemfdFlags::CLOEXEC)?);
    file.write_all(&program())?;
    Ok(file.into())
}

/// Returns the bytes of the executable file. The assembled program exists for x86-64 and AArch64 only. For any other
/// processor, this crate does not compile.
fn program() -> Vec<u8> {
    // SAFETY: both symbols are defined above, in this order, in one section of constants.
    let code = unsafe {
        unsafe extern "C" {
            static windlass_holder_begin: u8;
            static windlass_holder_end: u8;
        }
        let (begin, end) = (&raw const windlass_holder_begin, &raw const windlass_holder_end);
        std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin))
    };
    executable(MACHINE, code)
}

/// Builds an executable file of one segment.
fn executable(machine: u16, code: &[u8]) -> Vec<u8> {
    let headers = u64::from(FILE_HEADER + SEGMENT_HEADER);
    let size = headers + code.len() as u64;
    let mut file = Vec::new();
    // The identification of an ELF file with 64-bit addresses, little-endian numbers and format version 1.
    file.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for short in [2, machine] {
        file.extend(short.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for long in [ADDRESS + headers, u64::from(FILE_HEADER), 0] {
        file.extend(long.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for short in [FILE_HEADER, SEGMENT_HEADER, 1, 0, 0, 0] {
        file.extend(short.to_le_bytes());
    }
    // A loadable segment, readable and executable.
    for int in [1u32, 5] {
        file.extend(int.to_le_bytes());
    }
    for long in [0, ADDRESS, ADDRESS, size, size, 0x1000] {
        file.extend(long.to_le_bytes());
    }
    file.extend(code);
    file
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tests {
    use std::{
        io::Read,
        os::fd::AsRawFd,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn it_says_that_it_is_there_and_goes_when_it_is_let_go() {
        let file = file().unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let mut holder = Command::new(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = Vec::new();
        holder.stdout.take().unwrap().read_to_end(&mut said).unwrap();
        assert_eq!(said.len(), 1);
        assert!(holder.try_wait().unwrap().is_none());
        drop(holder.stdin.take());
        assert!(holder.wait().unwrap().success());
    }
}
