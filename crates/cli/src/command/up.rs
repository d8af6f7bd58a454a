//! `windlass up`, `windlass adopt` and `windlass apply`.

use std::process::ExitCode;

use windlass::{Order, SavedPlan};

use super::{fail, fail_of_file, grace, max_size, open_against, order, plan, process, with_parameters};
use crate::args::{AdoptArgs, ApplyArgs, AssemblyArgs, HowArgs, UpArgs};
use crate::{diagnostics, signals};

pub(crate) async fn run(args: UpArgs) -> ExitCode {
    let UpArgs { assembly, parts, force, how } = args;
    let manner = |order: Order| order.target(parts.target).replace(parts.replace);
    bring_up("up", &assembly, &how, force.force, manner).await
}

pub(crate) async fn adopt(args: AdoptArgs) -> ExitCode {
    let AdoptArgs { assembly, how } = args;
    bring_up("adopt", &assembly, &how, false, |order| order.adopt(true)).await
}

async fn bring_up(
    verb: &str,
    assembly: &AssemblyArgs,
    HowArgs { dry, output, queue, run }: &HowArgs,
    force: bool,
    manner: impl FnOnce(Order) -> Order,
) -> ExitCode {
    let order = match order(assembly) {
        Ok(order) => manner(order),
        Err(code) => return code,
    };
    let command = format!("{verb} {}", assembly.file.display());
    let windlass = match open_against(Some(&assembly.file), Some(run), &command, force) {
        Ok(windlass) => windlass,
        Err(error) => return fail_of_file(&error, &assembly.file).await,
    };
    if dry.dry_run {
        let planned = match output {
            Some(file) => plan::save(&windlass, &order, file).await,
            None => windlass.plan(&order).await,
        };
        let closed = windlass.close().await;
        return match planned.and_then(|planned| closed.map(|()| planned)) {
            Ok((view, warnings)) => {
                diagnostics::print(warnings.iter());
                let code = plan::show(&view, run.print.format, dry.detailed_exitcode);
                plan::tell_saved(output.as_deref());
                code
            }
            Err(error) => fail(&error),
        };
    }
    let stop = signals::listen(grace(run));
    let own = windlass.up(order.clone(), &stop);
    let theirs = async || windlass.ask_up(&order).await;
    process::carry_out(&windlass, *queue, own, theirs, &stop, run.print.format).await
}

pub(crate) async fn apply(args: ApplyArgs) -> ExitCode {
    let given = match with_parameters(Order::new(&args.plan), &args.parameters, &args.params) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let saved = match SavedPlan::read_within(&args.plan, max_size()) {
        Ok(saved) => saved,
        Err(error) => return fail(&error),
    };
    let command = format!("apply {}", args.plan.display());
    let windlass = match open_against(None, Some(&args.run), &command, args.force.force) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    if args.dry.dry_run {
        return match windlass.preview_saved(&saved, &given).await {
            Ok((view, warnings)) => {
                diagnostics::print(warnings.iter());
                plan::show(&view, args.run.print.format, args.dry.detailed_exitcode)
            }
            Err(error) => fail(&error),
        };
    }
    let stop = signals::listen(grace(&args.run));
    let own = windlass.apply(&saved, &given, &stop);
    let theirs = async || windlass.ask_to_apply(&saved, &given).await;
    process::carry_out(&windlass, false, own, theirs, &stop, args.run.print.format).await
}
