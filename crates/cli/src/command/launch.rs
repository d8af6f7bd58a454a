//! Launched applications: `windlass app launch`, `destroy`, `reconfigure`, `command`, `commands`, `check`,
//! `discover` and `forget`.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use windlass::Windlass;
use windlass::driver::Observation;
use windlass::engine::{CheckEnd, Checked, Consent, Request, Stop};
use windlass::launching::{
    CalledCommandView, CommandView, DiscoverOptions, DiscoveryView, FoundView, LaunchInput, Launcher,
    ReconfigureInput,
};
use windlass::model::record::{CommandRecord, Intent};
use windlass::model::{AssemblyName, CommandId};
use windlass::saved::SavedPlanError;

use super::change::answer_of;
use super::forget::Forgetting;
use super::process::{Execution, JsonEnd, text};
use super::{collected, fail, grace, open_against, plan, plural, print_json, variables};
use crate::args::launch::{
    AppCheckArgs, AppCommandArgs, AppForgetArgs, CommandsArgs, DestroyArgs, DiscoverArgs, LaunchArgs,
    LaunchCommand, ReconfigureArgs,
};
use crate::args::{Format, HowArgs, RunArgs};
use crate::output::{BAD, GOOD, ODD, STRONG, brief, continued, one_line, print_lines, say, styled, tell};
use crate::{diagnostics, exit, signals};

/// Runs a command on applications.
pub(crate) async fn run(command: LaunchCommand) -> ExitCode {
    match command {
        LaunchCommand::Launch(args) => launch(args).await,
        LaunchCommand::Destroy(args) => destroy(args).await,
        LaunchCommand::Reconfigure(args) => reconfigure(args).await,
        LaunchCommand::Command(args) => Box::pin(command_of(args)).await,
        LaunchCommand::Commands(args) => commands(args).await,
        LaunchCommand::Check(args) => check(args).await,
        LaunchCommand::Discover(args) => Box::pin(discover(args)).await,
        LaunchCommand::Forget(args) => forget(args).await,
    }
}

async fn launch(args: LaunchArgs) -> ExitCode {
    if args.how.output.is_some() {
        return fail(&SavedPlanError::NoPlan.into());
    }
    let given = match collected("-p ", &args.parameters, &args.params, &[]) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let input = LaunchInput {
        environment: args.environment.clone(),
        name: args.name.clone(),
        factory: args.factory.clone(),
        parameters: given.values,
        variables: variables().collect(),
        open: given.open,
    };
    let stop = signals::listen(grace(&args.how.run));
    let mut codes = Vec::new();
    for _ in 0..args.count.get() {
        codes.push(launch_one(&args, &input, &stop).await);
        if codes.last() != Some(&exit::DONE) {
            break;
        }
    }
    tell_rest(usize::from(args.count.get()), &codes);
    combined(&codes, args.how.dry.dry_run)
}

/// Tells the user how many of `count` launches have succeeded, and how many were not begun. After the first launch
/// without success, no further launch is begun. `codes` contains the exit codes of the launches that were begun.
fn tell_rest(count: usize, codes: &[ExitCode]) {
    let launched = codes.iter().filter(|code| **code == exit::DONE).count();
    let rest = count.saturating_sub(codes.len());
    if count > 1 && launched < count {
        let rest = if rest == 0 { String::new() } else { format!(", and {rest} not begun") };
        tell!("launched {launched} of {}: 1 launch has not succeeded{rest}", plural(count, "application"));
    }
}

async fn launch_one(args: &LaunchArgs, input: &LaunchInput, stop: &Stop) -> ExitCode {
    let HowArgs { dry, output: _, queue, run } = &args.how;
    let windlass = match open_against(None, Some(run), &format!("app launch {}", args.title), false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let launcher = Launcher::new(&windlass);
    let published = match windlass.applications().find(&args.title, None).await {
        Ok(published) => published,
        Err(error) => return fail(&error),
    };
    if dry.dry_run {
        return match launcher.preview_launch(input, &published).await {
            Ok((view, warnings)) => {
                diagnostics::print(warnings.iter());
                plan::show(&view, run.print.format, dry.detailed_exitcode)
            }
            Err(error) => fail(&error),
        };
    }
    let own = async |_| launcher.launch(input, &published, stop).await;
    let theirs = async |_| launcher.ask_launch(input, &published).await;
    let execution = Execution { queue: *queue, consent: Consent::Any, format: run.print.format };
    execution.carry_out(&windlass, own, theirs, stop).await
}

async fn destroy(args: DestroyArgs) -> ExitCode {
    let HowArgs { dry, output, queue, run } = &args.how;
    if output.is_some() {
        return fail(&SavedPlanError::NoPlan.into());
    }
    let stop = signals::listen(grace(run));
    if let Err(code) = all_are_applications(&args.names).await {
        return code;
    }
    let mut codes = Vec::new();
    for name in &args.names {
        let command = format!("app destroy {name}");
        let windlass = match open_against(None, Some(run), &command, args.force.force) {
            Ok(windlass) => windlass,
            Err(error) => {
                codes.push(fail(&error));
                break;
            }
        };
        let request = match destroy_request(&windlass, name, &args).await {
            Ok(request) => request,
            Err(error) => {
                codes.push(fail(&error));
                break;
            }
        };
        if args.force.force
            && let Err(error) = tell_orphans(&windlass, name).await
        {
            codes.push(fail(&error));
            break;
        }
        let code = if dry.dry_run {
            match windlass.preview(name, request).await {
                Ok(view) => plan::show(&view, run.print.format, dry.detailed_exitcode),
                Err(error) => fail(&error),
            }
        } else {
            let own = async |_| windlass.change(name, request.clone(), &stop).await;
            let theirs = async |_| windlass.ask(name, request.clone()).await;
            let execution = Execution { queue: *queue, consent: Consent::Any, format: run.print.format };
            execution.carry_out(&windlass, own, theirs, &stop).await
        };
        codes.push(code);
    }
    combined(&codes, dry.dry_run)
}

/// Returns the request that destroys an application.
async fn destroy_request(
    windlass: &Windlass,
    name: &AssemblyName,
    args: &DestroyArgs,
) -> Result<Request, windlass::Error> {
    let request = if args.latest {
        let launcher = Launcher::new(windlass);
        let from = launcher.launched_from(name).await?;
        launcher.destroy_with(&windlass.applications().find(&from.title, None).await?)?
    } else {
        Intent::Down.into()
    };
    Ok(request.with_answer(answer_of(windlass, name, &args.answer).await?))
}

/// Names the applications that will have no factory after the forced removal of their factory.
async fn tell_orphans(windlass: &Windlass, factory: &AssemblyName) -> Result<(), windlass::Error> {
    let orphans = Launcher::new(windlass).applications_of(factory).await?;
    let names = orphans.iter().map(AssemblyName::as_str).collect::<Vec<_>>();
    match names[..] {
        [] => {}
        [only] => tell!(
            "note: `{only}` stays without its factory `{factory}`; destroy it first with `windlass app destroy {only}`"
        ),
        _ => tell!(
            "note: {} applications stay without their factory `{factory}`; destroy them first with `windlass app destroy {}`",
            names.len(),
            names.join(" ")
        ),
    }
    Ok(())
}

/// Returns the exit code of a command that launches or removes several applications. `codes` contains the exit code
/// for each application. The first of these rules that applies determines the result:
///
/// - If an application was interrupted, the result is the exit code of an interruption.
/// - If an application has failed (exit code 1), the result is 1.
/// - If `codes` contains another code that is not 0, the result is the first such code.
/// - Otherwise, the result is 0.
///
/// Exception: exit code 2 states that nothing has changed. If the rules give 2, but `codes` also contains 0 and
/// `is_dry` is false, an application has changed. The result is then 1.
fn combined(codes: &[ExitCode], is_dry: bool) -> ExitCode {
    let first = [exit::interrupted(), exit::FAILED].into_iter().find(|code| codes.contains(code));
    let other = codes.iter().copied().find(|code| *code != exit::DONE);
    let code = first.or(other).unwrap_or(exit::DONE);
    let has_changed = codes.contains(&exit::DONE) && !is_dry;
    if code == exit::wrong_input() && has_changed { exit::FAILED } else { code }
}

/// Checks that each name belongs to a launched application or factory. Otherwise prints an error and returns the exit
/// code. Commands call this function before they change the first application.
async fn all_are_applications(names: &[AssemblyName]) -> Result<(), ExitCode> {
    let checked = async {
        let windlass = open_against(None, None, "app", false)?;
        for name in names {
            Launcher::new(&windlass).launched_from(name).await?;
        }
        Ok(())
    };
    checked.await.map_err(|error: windlass::Error| fail(&error))
}

async fn reconfigure(args: ReconfigureArgs) -> ExitCode {
    let ReconfigureArgs { name, parameters, params, latest, how } = &args;
    let HowArgs { dry, output, queue, run } = how;
    if output.is_some() {
        return fail(&SavedPlanError::NoPlan.into());
    }
    let given = match collected("-p ", parameters, params, &[]) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let input = ReconfigureInput { parameters: given.values, open: given.open };
    let windlass = match open_against(None, Some(run), &format!("app reconfigure {name}"), false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let launcher = Launcher::new(&windlass);
    let published = async {
        let from = launcher.launched_from(name).await?;
        if *latest {
            windlass.applications().find(&from.title, None).await
        } else {
            launcher.own_revision(name, &from).await
        }
    };
    let published = match published.await {
        Ok(published) => published,
        Err(error) => return fail(&error),
    };
    if dry.dry_run {
        return match launcher.preview_reconfigure(name, &input, &published).await {
            Ok((view, warnings)) => {
                diagnostics::print(warnings.iter());
                plan::show(&view, run.print.format, dry.detailed_exitcode)
            }
            Err(error) => fail(&error),
        };
    }
    let stop = signals::listen(grace(run));
    let own = async |_| launcher.reconfigure(name, &input, &published, &stop).await;
    let theirs = async |_| launcher.ask_reconfigure(name, &input, &published).await;
    let execution = Execution { queue: *queue, consent: Consent::None, format: run.print.format };
    execution.carry_out(&windlass, own, theirs, &stop).await
}

async fn command_of(args: AppCommandArgs) -> ExitCode {
    let AppCommandArgs { name, command, is_async, wait, given, arguments, run } = &args;
    let (Some(name), Some(command)) = (name, command) else {
        return match wait {
            Some(id) => wait_for(id, run).await,
            None => exit::wrong_input(),
        };
    };
    let given = match collected("-a ", given, arguments, &[]) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let called = format!("app command {name} {command}");
    let windlass = match open_against(None, Some(run), &called, false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let launcher = Launcher::new(&windlass);
    let request = match launcher.command_request(name, command, given.values, &given.open).await {
        Ok((request, warnings)) => {
            diagnostics::print(warnings.iter());
            request
        }
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(grace(run));
    let own = async |_| windlass.change(name, request.clone(), &stop).await;
    let theirs = async |_| windlass.ask(name, request.clone()).await;
    let execution = Execution { queue: false, consent: Consent::Any, format: run.print.format };
    let code = match execution.carry_out_with(&windlass, own, theirs, &stop, JsonEnd::Silent).await {
        Ok(code) => code,
        Err(code) => return code,
    };
    let shown = match launcher.last_command(name).await {
        Ok(Some(view)) if !view.has_ended() && !is_async => awaited(&launcher, &view.id, run, &stop).await,
        Ok(Some(view)) => {
            show_called(&view, run.print.format);
            code
        }
        Ok(None) => code,
        Err(error) => fail(&error),
    };
    match launcher.finish_destroyed(name, &stop).await {
        Ok(is_gone) => {
            if is_gone && run.print.format == Format::Human {
                print_gone(name);
            }
            shown
        }
        Err(error) => fail(&error),
    }
}

/// Waits for the results of a command that was called, and prints them.
async fn wait_for(id: &CommandId, run: &RunArgs) -> ExitCode {
    let windlass = match open_against(None, Some(run), "app command", false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(grace(run));
    let code = awaited(&Launcher::new(&windlass), id, run, &stop).await;
    match windlass.close().await {
        Ok(()) => code,
        Err(error) => fail(&error),
    }
}

/// Waits for the results of a command, and prints them.
async fn awaited(launcher: &Launcher<'_>, id: &CommandId, run: &RunArgs, stop: &Stop) -> ExitCode {
    match launcher.called_command(id).await {
        Ok(view) if !view.has_ended() => tell!("waiting for the result of `{}` ({id})", view.command),
        _ => {}
    }
    match launcher.wait(id, stop).await {
        Ok(view) => {
            show_called(&view, run.print.format);
            if view.state == "completed" { exit::DONE } else { exit::FAILED }
        }
        Err(error) if error.is_stopped() => {
            tell!(
                "stopped waiting; the command goes on: `windlass app command --wait {id}` waits for its result"
            );
            exit::interrupted()
        }
        Err(error) => fail(&error),
    }
}

/// Prints a command that was called, with its results.
fn show_called(view: &CalledCommandView, format: Format) {
    if format == Format::Json {
        print_json(view);
        return;
    }
    view.results.iter().for_each(print_result);
    let CalledCommandView { id, command, state, .. } = view;
    match *state {
        "completed" => {}
        "expired" => {
            say!("{} no final result of `{command}` ({id}) arrived in time", styled(BAD, "expired:"));
        }
        "failed" => {
            let why = view.problem.as_deref().unwrap_or("its script has failed");
            say!("{} `{command}` ({id}): {}", styled(BAD, "failed:"), continued(why));
        }
        _ => say!("{id}: `{command}` is {state}; `windlass app command --wait {id}` waits for its result"),
    }
}

fn print_result(result: &Value) {
    for (name, value) in CommandRecord::fields(result) {
        say!("{}: {}", one_line(name), text(value));
    }
}

fn print_gone(name: &AssemblyName) {
    say!("{} its script reports that it is destroyed", styled(STRONG, format!("{name}:")));
}

async fn commands(args: CommandsArgs) -> ExitCode {
    let windlass = match open_against(None, None, "app commands", false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let view = match Launcher::new(&windlass).commands(&args.name).await {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    if args.print.format == Format::Json {
        return print_json(&view);
    }
    for command in &view.commands {
        say!("{}", described(command));
    }
    exit::DONE
}

/// Describes a command in one line: `control.resize(string size) => int cpus  Resize it`. Intermediate results stand
/// before the final result: `control.backup(string key) => int percent => string file`.
fn described(command: &CommandView) -> String {
    let fields = |fields: &std::collections::BTreeMap<String, String>| {
        let fields: Vec<String> = fields.iter().map(|(name, kind)| format!("{kind} {name}")).collect();
        fields.join(", ")
    };
    let progress = command.progress.as_ref().map(|progress| format!(" => {}", fields(progress)));
    let results = match fields(&command.results) {
        results if results.is_empty() && progress.is_none() => String::new(),
        results => format!(" => {results}"),
    };
    let results = format!("{}{results}", progress.unwrap_or_default());
    let label = command.label.as_ref().map(|label| format!("  {label}")).unwrap_or_default();
    format!("{}({}){results}{label}", command.id, fields(&command.arguments))
}

/// The results of a check, as JSON.
#[derive(Serialize)]
struct ChecksView {
    version: u32,
    applications: Vec<CheckedView>,
}

#[derive(Serialize)]
struct CheckedView {
    name: AssemblyName,
    result: &'static str,
    status: Option<&'static str>,
    message: Option<String>,
}

impl From<&Checked> for CheckedView {
    fn from(checked: &Checked) -> Self {
        let (result, status, message) = match &checked.end {
            CheckEnd::Applied { status, changed } => {
                (if *changed { "changed" } else { "unchanged" }, Some(status.word()), status.message.clone())
            }
            CheckEnd::Destroyed => ("destroyed", None, None),
            CheckEnd::Dropped(why) => ("dropped", None, Some(why.clone())),
            CheckEnd::Failed(failure) => ("failed", None, Some(failure.message.clone())),
            CheckEnd::Unanswered => ("unchecked", None, Some(Observation::NO_ANSWER.to_owned())),
            CheckEnd::Unchecked(why) => ("unchecked", None, Some(why.clone())),
            _ => ("unchecked", None, None),
        };
        Self { name: checked.name.clone(), result, status, message }
    }
}

async fn check(args: AppCheckArgs) -> ExitCode {
    let AppCheckArgs { names, run } = &args;
    let windlass = match open_against(None, Some(run), "app check", false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(grace(run));
    let checked = Launcher::new(&windlass).check(names, &stop).await;
    let checked = match closed(&windlass, checked).await {
        Ok(checked) => checked,
        Err(error) if error.is_stopped() && run.print.format == Format::Human => {
            tell!("stopped on request before the checks ended; nothing is recorded of them");
            return exit::interrupted();
        }
        Err(error) => return fail(&error),
    };
    let view = ChecksView { version: 1, applications: checked.iter().map(CheckedView::from).collect() };
    // Without names, an application that can't be checked is only listed.
    let bad: &[&str] =
        if names.is_empty() { &["failed", "dropped"] } else { &["failed", "dropped", "unchecked"] };
    let has_failed = view.applications.iter().any(|checked| bad.contains(&checked.result));
    let code = if has_failed { exit::FAILED } else { exit::DONE };
    if run.print.format == Format::Json {
        print_json(&view);
        return code;
    }
    print_lines(view.applications.iter().map(|CheckedView { name, result, status, message }| {
        let style = match *result {
            "failed" | "dropped" => BAD,
            "unchecked" => ODD,
            _ => GOOD,
        };
        let status = status.map(|status| format!(", {status}")).unwrap_or_default();
        let message = message.as_deref().filter(|message| !message.trim().is_empty());
        let message = message.map(|message| format!(": {}", brief(message))).unwrap_or_default();
        format!("{} {}{status}{message}", styled(STRONG, format!("{name}:")), styled(style, result))
    }));
    code
}

async fn discover(args: DiscoverArgs) -> ExitCode {
    let DiscoverArgs { factory, dry_run, exported, same_ids, run } = &args;
    let windlass = match open_against(None, Some(run), &format!("app discover {factory}"), false) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let stop = signals::listen(grace(run));
    let options = DiscoverOptions { dry_run: *dry_run, exported: *exported, same_ids: same_ids.clone() };
    let found = Launcher::new(&windlass).discover(factory, options, &stop).await;
    let view: DiscoveryView = match closed(&windlass, found).await {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    // The user has exported the application on purpose, so this is no failure.
    let is_failed = |found: &FoundView| found.problem.is_some() && found.result != "exported";
    let code = if view.found.iter().any(is_failed) { exit::FAILED } else { exit::DONE };
    if run.print.format == Format::Json {
        print_json(&view);
        return code;
    }
    print_lines(view.found.iter().map(|found| {
        let name = found.name.as_ref().map(|name| format!(", application `{name}`")).unwrap_or_default();
        let problem =
            found.problem.as_ref().map(|problem| format!(": {}", continued(problem))).unwrap_or_default();
        format!(
            "{} {}{name}{problem}",
            styled(STRONG, format!("{}:", one_line(&found.natural_id))),
            found.result
        )
    }));
    code
}

async fn forget(args: AppForgetArgs) -> ExitCode {
    if let Err(code) = all_are_applications(&args.names).await {
        return code;
    }
    let mut code = exit::DONE;
    for name in &args.names {
        let command = format!("app forget {name}");
        let windlass = match open_against(None, Some(&args.run), &command, args.force.force) {
            Ok(windlass) => windlass,
            Err(error) => return fail(&error),
        };
        if let Err(error) = Launcher::new(&windlass).launched_from(name).await {
            return fail(&error);
        }
        let how = Forgetting { yes: args.yes, dry: &args.dry, format: args.run.print.format };
        code = how.run(&windlass, name, None).await;
        if code != exit::DONE && code != exit::changes() {
            return code;
        }
    }
    code
}

/// Closes the project after a command. If both the command and the closing fail, returns the error of the
/// command.
async fn closed<T>(windlass: &Windlass, result: Result<T, windlass::Error>) -> Result<T, windlass::Error> {
    let closed = windlass.close().await;
    let value = result?;
    closed.map(|()| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_change_is_a_failure() {
        let [done, failed, refused, changes] = [0, 1, 2, 3].map(ExitCode::from);
        for (codes, is_dry, code) in [
            (&[done, done][..], false, done),
            (&[failed, refused], false, failed),
            (&[refused, refused], false, refused),
            (&[done, refused], false, failed),
            (&[done, refused], true, refused),
            (&[done, changes], true, changes),
            (&[refused, exit::interrupted()], false, exit::interrupted()),
        ] {
            assert_eq!(combined(codes, is_dry), code, "{codes:?}");
        }
    }
}
