//! `windlass explain`: prints the explanation of an error code.

use std::process::ExitCode;

use serde::Serialize;
use windlass::explain::find;
use windlass::source::{CodeInfo, suggest};

use super::print_json;
use crate::args::{ExplainArgs, Format};
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::{STRONG, say, styled, tell};

/// The explanation of a code as JSON.
#[derive(Serialize)]
struct ExplainedView {
    /// The version of the layout of this view, for programs that read it as JSON.
    version: u32,
    #[serde(flatten)]
    info: &'static CodeInfo,
}

pub(crate) fn run(args: &ExplainArgs) -> ExitCode {
    let all = codes::all();
    if let Some(info) = find(&all, &args.code) {
        if args.print.format == Format::Json {
            return print_json(&ExplainedView { version: 1, info });
        }
        say!("{}\n\n{}", styled(STRONG, format!("{}: {}", info.code, info.title)), info.explanation);
        return exit::DONE;
    }
    let known: Vec<&str> = all.iter().map(|info| info.code.as_str()).collect();
    let near = suggest(&args.code, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    fault!(codes::UNKNOWN_CODE, "there is no code `{}`{near}", args.code);
    if near.is_empty() {
        tell!("a code follows `error`, `warning` or `note` in brackets, such as `WL0112`");
    }
    exit::wrong_input()
}
