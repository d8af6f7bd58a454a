//! `windlass up`, `windlass adopt` and `windlass apply`.

use std::process::ExitCode;

use windlass::{AssemblyInput, SavedPlan};

use super::{fail, fail_of_file, grace, input, open_against, plan, process, with_parameters};
use crate::args::{AdoptArgs, ApplyArgs, AssemblyArgs, HowArgs, UpArgs};
use crate::size_limit::max_size;
use crate::{diagnostics, signals};

pub(crate) async fn run(args: UpArgs) -> ExitCode {
    let UpArgs { assembly, parts, force, how } = args;
    let options = |input: AssemblyInput| input.target(parts.target).replace(parts.replace);
    bring_up("up", &assembly, &how, force.force, options).await
}

pub(crate) async fn adopt(args: AdoptArgs) -> ExitCode {
    let AdoptArgs { assembly, how } = args;
    bring_up("adopt", &assembly, &how, false, |input| input.adopt(true)).await
}

async fn bring_up(
    verb: &str,
    assembly: &AssemblyArgs,
    HowArgs { dry, output, queue, run }: &HowArgs,
    force: bool,
    options: impl FnOnce(AssemblyInput) -> AssemblyInput,
) -> ExitCode {
    let input = match input(assembly) {
        Ok(input) => options(input),
        Err(code) => return code,
    };
    let command = format!("{verb} {}", assembly.file.display());
    let windlass = match open_against(Some(&assembly.file), Some(run), &command, force) {
        Ok(windlass) => windlass,
        Err(error) => return fail_of_file(&error, &assembly.file).await,
    };
    if dry.dry_run {
        let planned = match output {
            Some(file) => plan::save(&windlass, &input, file).await,
            None => windlass.plan(&input).await,
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
    let own = windlass.up(input.clone(), &stop);
    let theirs = async || windlass.ask_up(&input).await;
    process::carry_out(&windlass, *queue, own, theirs, &stop, run.print.format).await
}

pub(crate) async fn apply(args: ApplyArgs) -> ExitCode {
    let given = match with_parameters(AssemblyInput::new(&args.plan), &args.parameters, &args.params) {
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
