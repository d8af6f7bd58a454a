//! Compiles the runner, the program that runs jobs inside containers (`src/runner/program`).
//!
//! It has to run in any image, so it is linked statically; it uses the standard library only, so `rustc` alone makes it,
//! in about a second and a half. Where it can't be made (no static libc, no standard library for the target), the crate
//! is built without it and says so.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything by variables")]

use std::{env, ffi::OsString, fs, path::PathBuf, process::Command};

const SOURCES: &str = "src/runner";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCES}/program");
    println!("cargo::rerun-if-changed={SOURCES}/protocol.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let program = out.join("windlass-runner");
    if let Err(why) = compile(&program) {
        println!(
            "cargo::warning=the runner of warm containers could not be built, jobs there go by exec: {why}"
        );
        fs::write(&program, "").expect("the output folder can be written");
    }
}

fn compile(program: &PathBuf) -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("{name} is not set"));
    let target = variable("TARGET")?;
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return Err("it is for Linux only".to_owned());
    }
    let mut command = Command::new(variable("RUSTC")?);
    command.args(["--edition", "2024", "--crate-name", "windlass_runner", "--crate-type", "bin"]);
    command.args([
        "-C",
        "target-feature=+crt-static",
        "-C",
        "panic=abort",
        "-C",
        "opt-level=s",
        "-C",
        "strip=symbols",
    ]);
    // Of what both sides share each uses a part. And no path of this machine belongs into the program.
    command.args(["-A", "dead_code", "--remap-path-prefix"]);
    let mut remap = variable("CARGO_MANIFEST_DIR")?;
    remap.push("=executor");
    command.arg(remap).arg("--target").arg(&target);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        command.arg("-C").arg(option);
    }
    command.arg("-o").arg(program).arg(format!("{SOURCES}/program/main.rs"));
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = errors.lines().find(|line| line.starts_with("error")).unwrap_or("rustc failed");
    Err(first.to_owned())
}
