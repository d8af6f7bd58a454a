//! `windlass down`.

use std::process::ExitCode;

use super::{fail, grace, open, process};
use crate::args::DownArgs;
use crate::signals;

pub(crate) async fn run(args: DownArgs) -> ExitCode {
    let windlass = match open(None, Some(&args.run), &format!("down {}", args.name)) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(grace(&args.run));
    match process::patiently(windlass.down(&args.name, &stop)).await {
        Ok(started) => process::run(&windlass, started, &stop, args.run.format).await,
        Err(error) => process::give_up(&windlass, &error).await,
    }
}
