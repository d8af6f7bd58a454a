//! `windlass up` and `windlass adopt`.

use std::process::ExitCode;

use windlass::Order;

use super::{fail, grace, open, order, plan, process};
use crate::args::{AdoptArgs, AssemblyArgs, DryRunArgs, RunArgs, UpArgs};
use crate::{diagnostics, signals};

pub(crate) async fn run(args: UpArgs) -> ExitCode {
    let UpArgs { assembly, parts, dry, run } = args;
    bring_up("up", &assembly, &dry, &run, |order| order.target(parts.target).replace(parts.replace)).await
}

pub(crate) async fn adopt(args: AdoptArgs) -> ExitCode {
    let AdoptArgs { assembly, dry, run } = args;
    bring_up("adopt", &assembly, &dry, &run, |order| order.adopt(true)).await
}

async fn bring_up(
    verb: &str,
    assembly: &AssemblyArgs,
    dry: &DryRunArgs,
    run: &RunArgs,
    manner: impl FnOnce(Order) -> Order,
) -> ExitCode {
    let order = match order(assembly) {
        Ok(order) => manner(order),
        Err(code) => return code,
    };
    let command = format!("{verb} {}", assembly.file.display());
    let windlass = match open(Some(&assembly.file), Some(run), &command) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    if dry.dry_run {
        return match windlass.plan(&order).await {
            Ok((view, warnings)) => {
                diagnostics::print(warnings.iter());
                plan::show(&view, run.format, dry.detailed_exitcode)
            }
            Err(error) => fail(&error),
        };
    }
    let stop = signals::listen(grace(run));
    match process::patiently(windlass.up(order, &stop)).await {
        Ok(started) => process::run(&windlass, started, &stop, run.format).await,
        Err(error) => process::give_up(&windlass, &error).await,
    }
}
