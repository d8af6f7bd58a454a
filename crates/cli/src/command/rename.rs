//! `windlass rename`: gives an assembly another name, without running scripts.

use std::process::ExitCode;
use std::time::Duration;

use windlass::rename::RenameView;

use super::{fail, open_against, print_json};
use crate::args::{Format, RenameArgs};
use crate::output::{STRONG, say, styled};
use crate::{exit, signals};

pub(crate) async fn run(args: RenameArgs) -> ExitCode {
    let RenameArgs { name, new, print } = args;
    let windlass = match open_against(None, None, &format!("rename {name} {new}"), false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    match windlass.upkeep().rename(&name, &new, &signals::listen(Duration::ZERO)).await {
        Ok(view) if print.format == Format::Json => print_json(&view),
        Ok(view) => show(&view),
        Err(error) => fail(&error),
    }
}

fn show(view: &RenameView) -> ExitCode {
    let RenameView { assembly, from, application, followed, environments, .. } = view;
    say!("{from} is now {}; nothing was called", styled(STRONG, assembly));
    for name in followed {
        say!("  the records of {name} have the new name");
    }
    for name in environments {
        say!("  the environment {name} has the new name");
    }
    match application {
        Some(_) => say!("  change it later with `windlass app reconfigure {assembly}`"),
        None => say!(
            "  change it later with `windlass up FILE --name {assembly}`; ${{instance.name}} keeps its values until then"
        ),
    }
    exit::DONE
}
