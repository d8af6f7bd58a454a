//! Compiles two programs that run inside containers. `windlass-runner` (`src/runner/program`) runs one job
//! after another in a warm container. `windlass-init` (`src/docker/init`) is the first process of a container
//! that runs a single job. The build script compiles both programs only for the feature `docker`.
//!
//! The programs must run in any image, so they are linked statically. They use the standard library only, so
//! `rustc` compiles them without cargo, in a few seconds. If the compilation of a program fails, for example
//! because the host has no static C library, cargo prints a warning. The crate is then built without the
//! program that failed to compile.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything by variables")]

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The two programs. Each row contains the program's name, its main source file, all its source paths, and
/// the consequence of a failed compilation.
const PROGRAMS: [(&str, &str, &[&str], &str); 2] = [
    (
        "windlass-runner",
        "src/runner/program/main.rs",
        &[
            "src/runner/program",
            "src/runner/protocol.rs",
            "src/folder_content.rs",
            "src/left_behind.rs",
            "src/output_file.rs",
            "src/process_list.rs",
            "src/refusal.rs",
        ],
        "the runner of warm containers could not be built, each job gets a fresh container",
    ),
    (
        "windlass-init",
        "src/docker/init/main.rs",
        &[
            "src/docker/init",
            "src/folder_content.rs",
            "src/left_behind.rs",
            "src/output_file.rs",
            "src/process_list.rs",
            "src/refusal.rs",
        ],
        "the first process of containers could not be built, the docker runtime can't run jobs",
    ),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_DOCKER").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (name, source, parts, missing) in PROGRAMS {
        for part in parts {
            println!("cargo::rerun-if-changed={part}");
        }
        let program = out.join(name);
        if let Err(why) = compile(name, source, &program) {
            println!("cargo::warning={missing}: {why}");
            fs::write(&program, "").expect("the output folder can be written");
        }
    }
}

fn compile(name: &str, source: &str, program: &Path) -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("{name} is not set"));
    let target = variable("TARGET")?;
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return Err("it is for Linux only".to_owned());
    }
    let mut command = Command::new(variable("RUSTC")?);
    command.args(["--edition", "2024", "--crate-name", &name.replace('-', "_"), "--crate-type", "bin"]);
    // With one codegen unit, the program is smaller, and not slower than with several units.
    let options =
        ["target-feature=+crt-static", "panic=abort", "opt-level=s", "codegen-units=1", "strip=symbols"];
    for option in options {
        command.args(["-C", option]);
    }
    // Each program uses only a part of the modules that it shares with this crate, so `rustc` must allow dead
    // code. Paths of this machine must not appear in the program.
    command.args(["-A", "dead_code", "--remap-path-prefix"]);
    let mut remap = variable("CARGO_MANIFEST_DIR")?;
    remap.push("=executor");
    command.arg(remap).arg("--target").arg(&target);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        command.arg("-C").arg(option);
    }
    let output = command.arg("-o").arg(program).arg(source).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = errors.lines().find(|line| line.starts_with("error")).unwrap_or("rustc failed");
    Err(first.to_owned())
}
