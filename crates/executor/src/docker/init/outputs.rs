//! Reports the output files of a job from its working folder.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Read},
    os::{fd::AsFd, unix::fs::FileTypeExt},
    path::Path,
};

use crate::{
    WORK,
    report::{PIECE, Report, base64},
    spec::Spec,
    sys::{self, Open},
};

/// Reports the result of each output, with its content.
pub(crate) fn bring_back(spec: &Spec, report: &Report) {
    for (number, (max, path)) in spec.outputs.iter().enumerate() {
        match open(path, *max) {
            Ok(mut file) => {
                report.say(&format!("F {number} content"));
                let mut piece = vec![0; PIECE];
                while let Ok(length @ 1..) = file.read(&mut piece) {
                    report.say_bytes("f", &piece[..length]);
                }
            }
            Err(state) => report.say(&format!("F {number} {state}")),
        }
    }
}

/// Opens an output. The error is the state in the words of the line `F`.
fn open(path: &Path, max: u64) -> Result<io::Take<File>, String> {
    let unreadable = |error: io::Error| format!("unreadable {}", base64(error.to_string().as_bytes()));
    // Opening a device can have side effects, so the file type is checked before it is opened.
    let found = open_below_work(path, Open::Named).and_then(|file| file.metadata());
    let kind = found.map(|found| found.file_type()).map_err(|error| match error.raw_os_error() {
        Some(sys::ENOENT | sys::ENOTDIR) => "missing".to_owned(),
        Some(sys::EXDEV | sys::ELOOP) => "outside".to_owned(),
        _ => unreadable(error),
    })?;
    if kind.is_dir() || kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device()
    {
        return Err("notafile".to_owned());
    }
    let file = open_below_work(path, Open::ForReading).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > max { Err(format!("large {length}")) } else { Ok(file.take(max)) }
}

fn open_below_work(path: &Path, how: Open) -> io::Result<File> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).map_err(io::Error::other)?;
    sys::open_below(File::open(WORK)?.as_fd(), &path, how).map(File::from)
}
