//! `windlass export` and `windlass import`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::{fail, open_against};
use crate::args::{ExportArgs, ImportArgs};
use crate::output::say;
use crate::{exit, signals};

pub(crate) async fn export(args: ExportArgs) -> ExitCode {
    let ExportArgs { name, output, key, force } = args;
    let windlass = match open_against(None, None, &format!("export {name}"), force.force) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let file = output.unwrap_or_else(|| PathBuf::from(format!("{name}.export")));
    match windlass.export(&name, &file, key.as_deref()).await {
        Ok(()) => {
            let file = file.display();
            say!("{name} is in {file}, and here no longer; `windlass import {file}` takes it over");
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}

pub(crate) async fn import(args: ImportArgs) -> ExitCode {
    let ImportArgs { file, key } = args;
    let windlass = match open_against(None, None, &format!("import {}", file.display()), false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(Duration::ZERO);
    match windlass.import(&file, key.as_deref(), &stop).await {
        Ok(name) => {
            say!("{name} is here now; `windlass status {name}` shows it");
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}
