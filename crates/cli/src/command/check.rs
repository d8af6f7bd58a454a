//! `windlass check`.

use std::process::ExitCode;

use windlass::check::check_paths;

use super::{fail, plural, print_json};
use crate::args::{CheckArgs, Format};
use crate::output::tell;
use crate::{diagnostics, exit};

pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    let view = match check_paths(&args.paths, &args.catalog) {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    if args.format == Format::Json {
        print_json(&view);
    } else {
        diagnostics::print(view.diagnostics.iter());
        let summary = format!("{}, {}", plural(view.errors, "error"), plural(view.warnings, "warning"));
        tell!("{summary}");
        if view.errors + view.warnings > 0 {
            tell!("`windlass explain CODE` tells more of a code");
        }
    }
    if view.errors > 0 { exit::wrong_input() } else { exit::DONE }
}
