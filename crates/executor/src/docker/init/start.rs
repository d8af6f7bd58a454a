//! Starts the main process of the job, or reports why it can't be started.

use std::{
    ffi::CString,
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    WORK,
    refusal::{Found, OPEN_FILES, Refusal, refusal},
    report::base64,
    spec::{Spec, stdin_path},
    sys::{self, Image},
};

/// Starts the job. If the start fails, returns the text of the field `end` in the report's last line, for example
/// `notfound` (see `main.rs`).
pub(crate) fn start(spec: &Spec) -> Result<Child, String> {
    let stdin = stdin(spec).map_err(|error| other(&error.to_string()))?;
    let program = find(spec)?;
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| other("a text with a NUL byte"));
    let texts = |all: &[Vec<u8>]| all.iter().map(|bytes| text(bytes)).collect::<Result<Vec<_>, _>>();
    let image =
        Image::new(text(program.as_os_str().as_encoded_bytes())?, texts(&spec.argv)?, texts(&spec.env)?);
    let open_files = spec.open_files;
    let mut command = Command::new("job");
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(WORK);
    // SAFETY: between fork and exec, the closure makes only system calls, on values that were allocated
    // before.
    unsafe {
        command.pre_exec(move || {
            // The parent gets only the number of an error from the child.
            open_files
                .map_or(Ok(()), sys::limit_open_files)
                .map_err(|_| io::Error::from_raw_os_error(OPEN_FILES))?;
            Err(image.execute())
        })
    };
    command.spawn().map_err(|error| why_not(&program, &error))
}

/// Opens the file with the job's stdin. Then deletes the name of the file, so that no other process can open it.
fn stdin(spec: &Spec) -> io::Result<Stdio> {
    if !spec.has_stdin {
        return Ok(Stdio::null());
    }
    let path = stdin_path();
    let file = File::open(&path)?;
    fs::remove_file(path)?;
    Ok(file.into())
}

/// Finds the program file of the job. A name without `/` is looked up in the job's own `PATH`.
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

/// Returns the reason why a program could not be started. The reason is the value of the field `end` in the
/// last line of the report, for example `notfound` (see `main.rs`). The function derives the reason from the
/// kernel's error and from the program's file.
fn why_not(program: &Path, error: &io::Error) -> String {
    let path = Path::new(WORK).join(program);
    let file = path.is_file().then(|| File::open(&path).ok()).flatten();
    let exists = |interpreter: &str| Path::new(WORK).join(interpreter).exists();
    match refusal(error, Found::new(path.is_dir(), file), exists) {
        Refusal::NotFound => not_found(),
        Refusal::InterpreterNotFound(interpreter) => {
            format!("interpreter {}", base64(interpreter.as_bytes()))
        }
        Refusal::NotExecutable(why) => format!("notexec {}", base64(why.as_bytes())),
        Refusal::Other(why) => other(&why),
    }
}

fn not_found() -> String {
    "notfound".to_owned()
}

fn other(why: &str) -> String {
    format!("other {}", base64(why.as_bytes()))
}
