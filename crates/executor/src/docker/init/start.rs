//! Starts the main process of the job, or says why it can't be started.

use std::{
    ffi::CString,
    fs::{self, File},
    io::{self, Read},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    WORK,
    report::base64,
    spec::{Spec, stdin_path},
    sys::{self, Image},
};

/// The kernel reads no more of a `#!` line.
const FIRST_LINE: u64 = 255;

/// Starts the job; an error is in the words of the last line.
pub(crate) fn start(spec: &Spec) -> Result<Child, String> {
    let stdin = stdin(spec).map_err(|error| other(&error.to_string()))?;
    let program = find(spec)?;
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| other("a text with a NUL byte"));
    let texts = |all: &[Vec<u8>]| all.iter().map(|bytes| text(bytes)).collect::<Result<Vec<_>, _>>();
    let image =
        Image::new(text(program.as_os_str().as_encoded_bytes())?, texts(&spec.argv)?, texts(&spec.env)?);
    let mut command = Command::new("job");
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(WORK);
    // SAFETY: between fork and exec only system calls are made, on values that were made before.
    unsafe { command.pre_exec(move || Err(image.execute())) };
    command.spawn().map_err(|error| why_not(&program, &error))
}

/// Opens what the job reads; nobody can find it afterwards.
fn stdin(spec: &Spec) -> io::Result<Stdio> {
    if !spec.has_stdin {
        return Ok(Stdio::null());
    }
    let path = stdin_path();
    let file = File::open(&path)?;
    fs::remove_file(path)?;
    Ok(file.into())
}

/// Finds the file to run: a name without `/` is looked up in the job's own `PATH`.
fn find(spec: &Spec) -> Result<PathBuf, String> {
    let name = spec.argv.first().map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default();
    if name.contains('/') {
        return Ok(name.into());
    }
    let path = spec.env.iter().find_map(|variable| variable.strip_prefix(b"PATH=")).unwrap_or_default();
    let path = String::from_utf8_lossy(path).into_owned();
    let candidates =
        || path.split(':').map(|dir| Path::new(WORK).join(dir).join(&name)).filter(|file| file.is_file());
    candidates().find(|file| sys::may_execute(file)).or_else(|| candidates().next()).ok_or_else(not_found)
}

/// Says why a program could not be run, from what the kernel said and what is there.
fn why_not(program: &Path, error: &io::Error) -> String {
    let path = Path::new(WORK).join(program);
    match error.raw_os_error().unwrap_or(0) {
        sys::ENOENT | sys::ENOTDIR => match missing_interpreter(&path) {
            Some(interpreter) => format!("interpreter {}", base64(interpreter.as_bytes())),
            None => not_found(),
        },
        sys::EACCES if path.is_dir() => not_executable("it is a folder"),
        sys::EACCES | sys::EPERM => not_executable("permission denied (is its mode executable?)"),
        sys::ENOEXEC => not_executable("it is neither a program for this host nor a script with a `#!` line"),
        sys::ETXTBSY => not_executable("it is being written"),
        sys::E2BIG => other("arguments and environment are too long for the host"),
        _ => other(&error.to_string()),
    }
}

fn not_found() -> String {
    "notfound".to_owned()
}

fn not_executable(why: &str) -> String {
    format!("notexec {}", base64(why.as_bytes()))
}

fn other(why: &str) -> String {
    format!("other {}", base64(why.as_bytes()))
}

/// Names the interpreter of a program that is there itself: a script's `#!`, else the loader of a binary.
fn missing_interpreter(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut start = Vec::new();
    File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let Some(line) = start.strip_prefix(b"#!").and_then(|line| line.split(|byte| *byte == b'\n').next())
    else {
        return Some("its dynamic loader".to_owned());
    };
    let line = String::from_utf8_lossy(line);
    let named = line.trim_matches([' ', '\t']).split([' ', '\t']).next()?.escape_debug().to_string();
    Some(if Path::new(&named).exists() { format!("{named} (or what it needs)") } else { named })
}
