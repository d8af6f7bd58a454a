//! Starts the main process of a job, or reports why it can't be started.

use std::{
    ffi::{CString, c_char},
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{ffi::OsStringExt, fs::PermissionsExt},
    },
    path::{Path, PathBuf},
    ptr,
};

use crate::{
    protocol::{How, Spec},
    refusal::{Found, Refusal, refusal},
    sys,
};

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
    let places = spec.path_env.iter().map(|(name, path)| (name, work.join(path)));
    env.extend(places.map(|(name, path)| (name.clone(), path.to_string_lossy().into_owned())));
    env.push(("WINDLASS_JOB".to_owned(), spec.mark.clone()));
    env
}

/// Finds the program file of a job. If the name of the program contains `/`, the name is a path, absolute or relative
/// to the working folder. The function returns this path unchanged, so that a script sees it in `$0`. A name without
/// `/` is looked up in the job's own `PATH`. Returns `None` if no folder of `PATH` contains a file of this name.
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

/// Returns the reason why a program could not be started. The function derives the reason from the kernel's
/// error and from the program's file.
fn why_not(work: &Path, program: &Path, error: &io::Error) -> How {
    let path = work.join(program);
    let file = path.is_file().then(|| File::open(&path).ok()).flatten();
    match refusal(error, Found::new(path.is_dir(), file), |interpreter| work.join(interpreter).exists()) {
        Refusal::NotFound => How::NotFound,
        Refusal::InterpreterNotFound(interpreter) => How::InterpreterNotFound(interpreter),
        Refusal::NotExecutable(why) => How::NotExecutable(why.to_owned()),
        Refusal::Other(why) => How::NotStarted(why),
    }
}
