//! `windlass explain`.

use std::process::ExitCode;

use windlass::explain::{codes, explain};
use windlass::source::suggest;

use crate::args::ExplainArgs;
use crate::exit;
use crate::failure::fault;
use crate::output::{STRONG, say, styled, tell};

pub(crate) fn run(args: &ExplainArgs) -> ExitCode {
    if let Some(info) = explain(&args.code) {
        say!("{}\n\n{}", styled(STRONG, format!("{}: {}", info.code, info.title)), info.explanation);
        return exit::DONE;
    }
    let known: Vec<&str> = codes().iter().map(|info| info.code.as_str()).collect();
    let near = suggest(&args.code, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    fault!("there is no code `{}`{near}", args.code);
    if near.is_empty() {
        tell!("a code follows `error`, `warning` or `note` in brackets, such as `WL0112`");
    }
    exit::wrong_input()
}
