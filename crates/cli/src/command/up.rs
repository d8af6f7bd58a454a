//! `windlass up` and `windlass adopt`.

use std::process::ExitCode;

use windlass::Order;

use super::{fail, grace, open_against, order, plan, process};
use crate::args::{AdoptArgs, AssemblyArgs, DryRunArgs, RunArgs, UpArgs};
use crate::{diagnostics, signals};

pub(crate) async fn run(args: UpArgs) -> ExitCode {
    let UpArgs { assembly, parts, force, dry, run } = args;
    let how = How { dry: &dry, run: &run, force: force.force };
    bring_up("up", &assembly, &how, |order| order.target(parts.target).replace(parts.replace)).await
}

pub(crate) async fn adopt(args: AdoptArgs) -> ExitCode {
    let AdoptArgs { assembly, dry, run } = args;
    let how = How { dry: &dry, run: &run, force: false };
    bring_up("adopt", &assembly, &how, |order| order.adopt(true)).await
}

/// How an assembly is brought up.
struct How<'a> {
    dry: &'a DryRunArgs,
    run: &'a RunArgs,
    force: bool,
}

async fn bring_up(
    verb: &str,
    assembly: &AssemblyArgs,
    &How { dry, run, force }: &How<'_>,
    manner: impl FnOnce(Order) -> Order,
) -> ExitCode {
    let order = match order(assembly) {
        Ok(order) => manner(order),
        Err(code) => return code,
    };
    let command = format!("{verb} {}", assembly.file.display());
    let windlass = match open_against(Some(&assembly.file), Some(run), &command, force) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    if dry.dry_run {
        let planned = windlass.plan(&order).await;
        let closed = windlass.close().await;
        return match planned.and_then(|planned| closed.map(|()| planned)) {
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
