//! `windlass retry`.

use std::process::ExitCode;

use super::{fail, grace, open, process};
use crate::args::{Assumption, RetryArgs};
use crate::signals;

pub(crate) async fn run(args: RetryArgs) -> ExitCode {
    let windlass = match open(None, Some(&args.run), &format!("retry {}", args.name)) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(grace(&args.run));
    let assume = args.assume.map(|answer| answer == Assumption::Done);
    match process::patiently(windlass.retry(&args.name, assume, &stop)).await {
        Ok(started) => process::run(&windlass, started, &stop, args.run.format).await,
        Err(error) => process::give_up(&windlass, &error).await,
    }
}
