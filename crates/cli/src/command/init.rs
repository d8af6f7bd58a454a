//! `windlass init`: creates an example assembly.

use std::path::Path;
use std::process::ExitCode;

use windlass::Error;
use windlass::init::init;

use super::{fail, print_json};
use crate::args::{Format, InitArgs};
use crate::exit;
use crate::output::{say, tell};

pub(crate) fn run(args: &InitArgs) -> ExitCode {
    let InitArgs { folder, name, scripts, print } = args;
    let view = match init(folder, name.as_deref(), scripts.lang.into(), scripts.style.into()) {
        Ok(view) => view,
        Err(error) => {
            let code = fail(&error);
            if matches!(error, Error::Name(_)) && name.is_none() {
                tell!("note: the name is that of the folder; `windlass init --name NAME` gives another");
            }
            return code;
        }
    };
    if print.format == Format::Json {
        return print_json(&view);
    }
    for file in &view.files {
        say!("{}", shown(&folder.join(file)));
    }
    let is_here = folder == Path::new(".");
    let enter = if is_here { String::new() } else { format!("`cd {}`, then ", shown(folder)) };
    say!(
        "\nnext: {enter}`windlass up`; `windlass status` shows it, `windlass down {}` removes it",
        view.name
    );
    exit::DONE
}

/// Returns a path without a leading `./`.
fn shown(path: &Path) -> String {
    let short = path.strip_prefix(".").ok().filter(|short| !short.as_os_str().is_empty());
    short.unwrap_or(path).display().to_string()
}
