//! `windlass up`, `windlass adopt` and `windlass apply`.

use std::process::ExitCode;

use windlass::engine::Consent;
use windlass::{AssemblyInput, SavedPlan};

use super::process::Execution;
use super::{fail, fail_of_file, grace, input, open_against, parts_contradict, plan, with_parameters};
use crate::args::{AdoptArgs, ApplyArgs, AssemblyArgs, HowArgs, UpArgs};
use crate::output::tell;
use crate::size_limit::max_size;
use crate::{diagnostics, exit, signals};

pub(crate) async fn run(args: UpArgs) -> ExitCode {
    let UpArgs { assembly, parts, protect, current_packages, refresh, force, consent, how } = &args;
    if parts_contradict(parts) {
        return exit::wrong_input();
    }
    let options = |input: AssemblyInput| {
        let input = parts.given_to(input).protect(*protect).current_packages(*current_packages);
        input.refresh(refresh.within())
    };
    let consent = consent.consent();
    BringUp { verb: "up", assembly, force: *force, consent, how }.run(options).await
}

pub(crate) async fn adopt(args: AdoptArgs) -> ExitCode {
    let AdoptArgs { assembly, force, consent, how } = &args;
    let consent = consent.consent();
    BringUp { verb: "adopt", assembly, force: *force, consent, how }
        .run(|input| input.adopt(true).refresh(None))
        .await
}

/// A command that creates or changes an assembly according to a descriptor. The fields contain the options of the
/// command.
struct BringUp<'a> {
    verb: &'a str,
    assembly: &'a AssemblyArgs,
    force: bool,
    consent: Consent,
    how: &'a HowArgs,
}

impl BringUp<'_> {
    async fn run(self, options: impl FnOnce(AssemblyInput) -> AssemblyInput) -> ExitCode {
        let Self { verb, assembly, force, consent, how } = self;
        let HowArgs { dry, output, queue, run } = how;
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
            let planned = plan::made(&windlass, &input, output.as_deref()).await;
            let closed = windlass.close().await;
            return match planned.and_then(|planned| closed.map(|()| planned)) {
                Ok((view, warnings, saved)) => {
                    diagnostics::print(warnings.iter());
                    let code = plan::show(&view, run.print.format, dry.detailed_exitcode);
                    if let Some(how) = saved {
                        tell!("{how}");
                    }
                    code
                }
                Err(error) => fail(&error),
            };
        }
        let stop = signals::listen(grace(run));
        let own = async |consent| windlass.up(input.clone().consent(consent), &stop).await;
        let theirs = async |consent| windlass.ask_up(&input.clone().consent(consent), &stop).await;
        let execution = Execution { queue: *queue, consent, format: run.print.format };
        Box::pin(execution.carry_out(&windlass, own, theirs, &stop)).await
    }
}

pub(crate) async fn apply(args: ApplyArgs) -> ExitCode {
    let given = AssemblyInput::new(&args.plan).refresh(Some(args.refresh_timeout));
    let given = match with_parameters(given, &args.parameters, &args.params, &[]) {
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
    let own = async |_| windlass.apply(&saved, &given, &stop).await;
    let theirs = async |_| windlass.ask_to_apply(&saved, &given, &stop).await;
    let execution = Execution { queue: false, consent: Consent::Any, format: args.run.print.format };
    execution.carry_out(&windlass, own, theirs, &stop).await
}
