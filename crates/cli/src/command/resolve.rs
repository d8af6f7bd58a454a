//! `windlass resolve`: prints a descriptor with all known values filled in.

use std::process::ExitCode;

use windlass::resolve::resolve_input;

use super::{fail, input, open, print_json};
use crate::args::{Format, ResolveArgs};
use crate::output::print_document;
use crate::{diagnostics, exit};

pub(crate) fn run(args: &ResolveArgs) -> ExitCode {
    let input = match input(&args.assembly) {
        Ok(input) => input,
        Err(code) => return code,
    };
    let resolved = open(Some(&args.assembly.file), None, "resolve")
        .and_then(|windlass| resolve_input(windlass.project(), &input));
    match resolved {
        Ok((view, warnings)) => {
            diagnostics::print(warnings.iter());
            if args.print.format == Format::Json {
                return print_json(&view);
            }
            print_document(view.descriptor.text());
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}
