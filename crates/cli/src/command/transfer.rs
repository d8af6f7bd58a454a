//! `windlass export` and `windlass import`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use windlass::model::AssemblyName;
use windlass::view::ask::TransferView;

use super::{fail, open_against, print_json};
use crate::args::{DryRunArgs, ExportArgs, Format, ImportArgs, PrintArgs};
use crate::output::say;
use crate::{exit, signals};

pub(crate) async fn export(args: ExportArgs) -> ExitCode {
    let ExportArgs { name, output, key, force, dry, print } = args;
    let windlass = match open_against(None, None, &format!("export {name}"), force.force) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let file = output.unwrap_or_else(|| PathBuf::from(format!("{name}.export")));
    let moved = if dry.dry_run {
        windlass.upkeep().can_export(&name, &file).await
    } else {
        windlass.upkeep().export(&name, &file, key.as_deref()).await
    };
    let shown = file.display();
    let said = if dry.dry_run {
        format!("{name} would move to {shown}")
    } else {
        let key = key.as_ref().map(|key| format!(" --key {}", key.display())).unwrap_or_default();
        format!("{name} has moved to {shown}; import it with `windlass import {shown}{key}`")
    };
    let has_volumes = windlass.project().locations().any(|location| !location.volumes.is_empty());
    match moved {
        Ok(()) if has_volumes && print.format == Format::Human => {
            let said = format!(
                "{said}\n  the file contains no volumes; they stay in .windlass/volumes or with the container engine"
            );
            tell(name, file, &said, &dry, print)
        }
        Ok(()) => tell(name, file, &said, &dry, print),
        Err(error) => fail(&error),
    }
}

pub(crate) async fn import(args: ImportArgs) -> ExitCode {
    let ImportArgs { file, key, dry, print } = args;
    let windlass = match open_against(None, None, &format!("import {}", file.display()), false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(Duration::ZERO);
    let moved = if dry.dry_run {
        windlass.upkeep().can_import(&file, key.as_deref()).await
    } else {
        windlass.upkeep().import(&file, key.as_deref(), &stop).await
    };
    match moved {
        Ok(name) => {
            let said = if dry.dry_run {
                format!("{name} would be imported")
            } else {
                format!(
                    "{name} is imported; `windlass status {name}` shows it\nremove {} now, and do not import it again",
                    file.display()
                )
            };
            tell(name, file, &said, &dry, print)
        }
        Err(error) => fail(&error),
    }
}

/// Prints the result of an export or import, or of its dry run.
fn tell(name: AssemblyName, file: PathBuf, said: &str, dry: &DryRunArgs, print: PrintArgs) -> ExitCode {
    let code = match print.format {
        Format::Human => {
            say!("{said}");
            exit::DONE
        }
        Format::Json => print_json(&TransferView::new(name, file, !dry.dry_run)),
    };
    if dry.detailed_exitcode && code == exit::DONE { exit::changes() } else { code }
}
