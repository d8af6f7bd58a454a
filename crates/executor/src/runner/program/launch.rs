//! Starts the main process of a job, or says why it can't be started.

use std::{
    ffi::{CString, c_char},
    fs::{self, File},
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{ffi::OsStringExt, fs::PermissionsExt},
    },
    path::{Path, PathBuf},
    ptr,
};

use crate::{
    protocol::{How, Spec},
    sys,
};

/// The kernel reads no more of a `#!` line.
const FIRST_LINE: u64 = 255;

/// Starts a job's main process in its working folder, with these three streams.
pub(crate) fn start(spec: &Spec, work: &Path, tmp: &Path, streams: [BorrowedFd<'_>; 3]) -> Result<i32, How> {
    let other = |error: io::Error| How::NotStarted(error.to_string());
    let folder = File::open(work).map_err(|_| How::NotStarted("its working folder is gone".to_owned()))?;
    let env = environment(spec, work, tmp);
    let program = find(spec, &env, work).ok_or(How::NotFound)?;
    let text = |bytes: Vec<u8>| {
        CString::new(bytes).map_err(|_| How::NotStarted("a text has a NUL byte in it".to_owned()))
    };
    let path = text(program.clone().into_os_string().into_vec())?;
    let argv = [&spec.program].into_iter().chain(&spec.args);
    let argv = argv.map(|arg| text(arg.clone().into_bytes())).collect::<Result<Vec<_>, _>>()?;
    let envp = env.iter().map(|(name, value)| text(format!("{name}={value}").into_bytes()));
    let envp = envp.collect::<Result<Vec<_>, _>>()?;
    let image = sys::Image { path: &path, argv: &table(&argv), envp: &table(&envp) };
    sys::spawn(&image, folder.as_fd(), streams).map_err(|error| match error.raw_os_error() {
        Some(_) => why_not(work, &program, &error),
        None => other(error),
    })
}

fn table(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn environment(spec: &Spec, work: &Path, tmp: &Path) -> Vec<(String, String)> {
    let mut env = spec.env.clone();
    for (name, path) in [("HOME", work), ("TMPDIR", tmp)] {
        if !env.iter().any(|(given, _)| given == name) {
            env.push((name.to_owned(), path.to_string_lossy().into_owned()));
        }
    }
    env.push(("WINDLASS_JOB".to_owned(), spec.mark.clone()));
    env
}

/// Finds the file to run, as seen from the working folder. A path stays as the job spells it, so that a script finds the
/// same in `$0`; a name without `/` is looked up in the job's own `PATH`.
fn find(spec: &Spec, env: &[(String, String)], work: &Path) -> Option<PathBuf> {
    if spec.program.contains('/') {
        return Some(PathBuf::from(&spec.program));
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value.as_str());
    let candidates =
        || path.split(':').map(|folder| work.join(folder).join(&spec.program)).filter(|file| file.is_file());
    let may_run = |file: &PathBuf| fs::metadata(file).is_ok_and(|it| it.permissions().mode() & 0o111 != 0);
    candidates().find(may_run).or_else(|| candidates().next())
}

/// Says why a program could not be run, from what the kernel said and what is there.
fn why_not(work: &Path, program: &Path, error: &io::Error) -> How {
    let path = work.join(program);
    let not_executable = |why: &str| How::NotExecutable(why.to_owned());
    match error.raw_os_error().unwrap_or(0) {
        sys::ENOENT | sys::ENOTDIR => {
            missing_interpreter(work, &path).map_or(How::NotFound, How::InterpreterNotFound)
        }
        sys::EACCES if path.is_dir() => not_executable("it is a folder"),
        sys::EACCES | sys::EPERM => not_executable("permission denied (is its mode executable?)"),
        sys::ENOEXEC => not_executable("it is neither a program for this host nor a script with a `#!` line"),
        sys::E2BIG => How::NotStarted("arguments and environment are too long for the host".to_owned()),
        _ => How::NotStarted(error.to_string()),
    }
}

/// Names the interpreter of a program that is there itself: a script's `#!`, else the loader of a binary.
fn missing_interpreter(work: &Path, path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut start = Vec::new();
    File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let Some(line) = start.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next())
    else {
        return Some("its dynamic loader".to_owned());
    };
    let line = String::from_utf8_lossy(line);
    let named = line.trim_matches([' ', '\t']).split([' ', '\t']).next()?.escape_debug().to_string();
    if work.join(&named).exists() { Some(format!("{named} (or what it needs)")) } else { Some(named) }
}
