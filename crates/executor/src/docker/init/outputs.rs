//! Reports the requested outputs of a job from its working folder.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::{
    WORK,
    folder_content::{self, Unlisted},
    output_file::{self, Unopened},
    report::{PIECE, Report, base64},
    spec::{Output, Spec},
};

/// Reports the state of each requested output, such as `missing`. If an output can be read, also reports its
/// content.
pub(crate) fn bring_back(spec: &Spec, report: &Report) {
    for (number, Output { max, path, is_folder }) in spec.outputs.iter().enumerate() {
        let content: Result<Box<dyn Read>, String> = if *is_folder {
            list(path, *max).map(|bytes| Box::new(io::Cursor::new(bytes)) as Box<dyn Read>)
        } else {
            open(path, *max).map(|file| Box::new(file) as Box<dyn Read>)
        };
        match content {
            Ok(mut file) => {
                report.say(&format!("F {number} content"));
                let mut piece = vec![0; PIECE];
                loop {
                    match file.read(&mut piece) {
                        Ok(0) => break,
                        Ok(length) => report.say_bytes("f", &piece[..length]),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        // When the client receives this line, the client drops the content that earlier lines
                        // have reported for this output.
                        Err(error) => break report.say(&format!("F {number} {}", unreadable(&error))),
                    }
                }
            }
            Err(state) => report.say(&format!("F {number} {state}")),
        }
    }
}

/// Returns the state of an output that can't be read: the word `unreadable`, and the error in base64. The line `F` of
/// the report contains this state (see the table in `main.rs`).
fn unreadable(error: &io::Error) -> String {
    format!("unreadable {}", base64(error.to_string().as_bytes()))
}

/// Lists and encodes the files of an output folder. On failure, returns the state for the line `F` of the report, such
/// as `missing` (see the table in `main.rs`).
fn list(path: &Path, max: u64) -> Result<Vec<u8>, String> {
    folder_content::read(Path::new(WORK), path, max).map(|files| folder_content::encode(&files)).map_err(
        |why| match why {
            Unlisted::Missing => "missing".to_owned(),
            Unlisted::Outside => "outside".to_owned(),
            Unlisted::NotAFolder => "notafile".to_owned(),
            Unlisted::Unreadable(why) => format!("unreadable {}", base64(why.as_bytes())),
        },
    )
}

/// Opens the file of an output. On failure, returns the state for the line `F` of the report, such as `missing` (see
/// the table in `main.rs`).
fn open(path: &Path, max: u64) -> Result<io::Take<File>, String> {
    output_file::open(Path::new(WORK), path, max).map(|(file, _)| file.take(max)).map_err(|why| match why {
        Unopened::Missing => "missing".to_owned(),
        Unopened::Outside => "outside".to_owned(),
        Unopened::NotAFile => "notafile".to_owned(),
        Unopened::TooLarge(length) => format!("large {length}"),
        Unopened::Unreadable(why) => format!("unreadable {}", base64(why.as_bytes())),
    })
}
