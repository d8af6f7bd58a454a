//! Links the stack unwinder into the program, if the C compiler has a static library of the unwinder.
//!
//! Then `windlass` loads one shared library less at each start. A short command spends most of its time in the
//! dynamic loader. `docs/design/cli.md` has measurements.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(folder) = static_unwinder().as_ref().and_then(|file| file.parent()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static=gcc_eh");
    }
}

/// Returns the path of `libgcc_eh.a`, the static library for unwinding. Returns `None` in three cases: the build is a
/// cross build, the target does not use glibc, or the compiler has no such file. The linker then uses its default
/// library.
fn static_unwinder() -> Option<PathBuf> {
    let is_for_this_system = variable("TARGET") == variable("HOST");
    if !is_for_this_system || variable("CARGO_CFG_TARGET_ENV")? != "gnu" {
        return None;
    }
    // If the compiler has no file `libgcc_eh.a`, the compiler prints the name of the file without a folder.
    let answer = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let file = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim());
    (file.is_absolute() && file.is_file()).then_some(file)
}

#[expect(clippy::disallowed_methods, reason = "cargo tells build scripts by variables")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
