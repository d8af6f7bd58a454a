//! `windlass up`.

use std::process::ExitCode;

use super::{fail, grace, open, order, process};
use crate::args::UpArgs;
use crate::signals;

pub(crate) async fn run(args: UpArgs) -> ExitCode {
    let order = match order(&args.assembly) {
        Ok(order) => order,
        Err(code) => return code,
    };
    let command = format!("up {}", args.assembly.file.display());
    let windlass = match open(Some(&args.assembly.file), Some(&args.run), &command) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(grace(&args.run));
    match Box::pin(process::patiently(windlass.up(order, &stop))).await {
        Ok(started) => process::run(&windlass, started, &stop, args.run.format).await,
        Err(error) => process::give_up(&windlass, &error).await,
    }
}
