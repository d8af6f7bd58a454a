//! `windlass doctor`: shows where the state is kept, and which runtimes are available.

use std::process::ExitCode;

use windlass::doctor::{Doctor, RuntimeView, StateView, look};

use super::{fail, open, print_json};
use crate::args::{DoctorArgs, Format};
use crate::exit;
use crate::output::{DIM, GOOD, ODD, STRONG, say, styled};

pub(crate) async fn run(args: DoctorArgs) -> ExitCode {
    let windlass = match open(None, None, "doctor") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let found = look(&windlass).await;
    match args.print.format {
        Format::Json => print_json(&found),
        Format::Human => {
            print(&found);
            exit::DONE
        }
    }
}

fn print(found: &Doctor) {
    say!("windlass {}", found.windlass);
    print_state(&found.state);
    found.runtimes.iter().for_each(print_runtime);
}

fn print_state(state: &StateView) {
    if let (Some(kind), Some(place)) = (state.kind, &state.place) {
        let there = if state.exists || state.problem.is_some() { "" } else { ", not created yet" };
        say!("{} {kind}{there}", styled(STRONG, "state:"));
        say!("  {place}");
    }
    if let Some(problem) = &state.problem {
        say!("  {} {problem}", styled(ODD, "but:"));
    }
}

fn print_runtime(runtime: &RuntimeView) {
    let name = match &runtime.engine {
        Some(engine) => format!("{} (engine: {engine})", runtime.runtime),
        None => runtime.runtime.clone(),
    };
    let state = if runtime.ready { styled(GOOD, "ready") } else { styled(ODD, "not available") };
    say!("\n{} {state}", styled(STRONG, name));
    say!("  {}", runtime.what);
    for (title, texts) in [("limits", &runtime.limits), ("isolated by", &runtime.hardening)] {
        if !texts.is_empty() {
            say!("  {} {}", styled(DIM, format!("{title}:")), texts.join(", "));
        }
    }
    for caveat in &runtime.caveats {
        say!("  {} {caveat}", styled(ODD, "but:"));
    }
    if let Some(advice) = &runtime.advice {
        say!("  {} {advice}", styled(DIM, "to use it:"));
    }
}
