//! The commands that change an existing assembly: down, retry, set-state, scale, heal, call, rollback,
//! cancel.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use windlass::Windlass;
use windlass::engine::{Answer, Arguments, Consent, EngineError, Request, Selection};
use windlass::lifecycle::LifecycleError;
use windlass::model::record::{Assumption, Intent};
use windlass::model::{AssemblyName, ElementName, PropertyName};
use windlass::view::ask::CancelView;
use windlass::view::plan::PlanView;

use super::process::Execution;
use super::{collected, contradict, fail, grace, open, open_against, plan, print_json};
use crate::args::change::{
    AnswerArgs, CallArgs, CancelArgs, ChangeCommand, DownArgs, HealArgs, RetryArgs, RollbackArgs, ScaleArgs,
    ScaleCommand, ScaleStepArgs, SetStateArgs,
};
use crate::args::{AskedFor, Format, HowArgs};
use crate::failure::fault;
use crate::output::{say, tell};
use crate::{codes, diagnostics, exit, signals};

/// A change of an assembly, and its options.
struct Change<'a> {
    name: &'a AssemblyName,
    /// The command line that other windlass programs show while this program holds the lease on the assembly.
    command: String,
    how: &'a HowArgs,
    force: bool,
    /// The argument of `down --current-packages`: a descriptor, or its folder. `None` without this option. If `down`
    /// only saves a plan, the plan file contains this path. `windlass apply` then starts its search for the packages
    /// at this path.
    around: Option<&'a Path>,
    consent: Consent,
    /// Notes about the request, which are printed once the request is accepted.
    notes: Option<&'a RefCell<Vec<String>>>,
}

impl<'a> Change<'a> {
    fn new(name: &'a AssemblyName, command: String, how: &'a HowArgs, consent: Consent) -> Self {
        Self { name, command, how, force: false, around: None, consent, notes: None }
    }

    /// Prints the notes about the request, unless the request was refused. An error about a missing value is no
    /// refusal: windlass has already recorded the outcomes that the operator stated, and only the plan of further steps
    /// has failed. A note then names the output whose value is unknown.
    fn tell_notes<T>(&self, result: Result<T, windlass::Error>) -> Result<T, windlass::Error> {
        use windlass::Error::Engine;
        let is_accepted =
            matches!(&result, Ok(_) | Err(Engine(EngineError::Lifecycle(LifecycleError::Value(_)))));
        let notes = self.notes.filter(|_| is_accepted).map(RefCell::take).unwrap_or_default();
        for note in notes {
            tell!("{note}");
        }
        result
    }

    async fn run(self, request: impl AsyncFnOnce(&Windlass) -> Result<Request, windlass::Error>) -> ExitCode {
        match self.open() {
            Ok(windlass) => self.run_in(&windlass, request).await,
            Err(error) => fail(&error),
        }
    }

    fn open(&self) -> Result<Windlass, windlass::Error> {
        open_against(None, Some(&self.how.run), &self.command, self.force)
    }

    async fn run_in(
        self,
        windlass: &Windlass,
        request: impl AsyncFnOnce(&Windlass) -> Result<Request, windlass::Error>,
    ) -> ExitCode {
        let HowArgs { dry, output, queue, run } = self.how;
        let request = match request(windlass).await {
            Ok(request) => request,
            Err(error) => return fail(&error),
        };
        if dry.dry_run {
            let planned = match output {
                Some(file) => self.save(windlass, request, file).await,
                None => windlass.preview(self.name, request).await,
            };
            return match self.tell_notes(planned) {
                Ok(view) => {
                    let code = plan::show(&view, run.print.format, dry.detailed_exitcode);
                    if let Some(file) = output {
                        tell!("{}", plan::how_to_apply(file, ""));
                    }
                    code
                }
                Err(error) => fail(&error),
            };
        }
        let stop = signals::listen(grace(run));
        let agreed = |consent: Consent| request.clone().with_consent(consent);
        let own = async |consent| self.tell_notes(windlass.change(self.name, agreed(consent), &stop).await);
        let theirs = async |consent| self.tell_notes(windlass.ask(self.name, agreed(consent)).await);
        let execution = Execution { queue: *queue, consent: self.consent.clone(), format: run.print.format };
        execution.carry_out(windlass, own, theirs, &stop).await
    }

    /// Plans the change, and saves the plan.
    async fn save(
        &self,
        windlass: &Windlass,
        request: Request,
        file: &Path,
    ) -> Result<PlanView, windlass::Error> {
        let (view, saved) = windlass.change_to_save(self.name, request, self.around).await?;
        saved.write(file)?;
        Ok(view)
    }
}

/// Runs a command that changes an existing assembly.
pub(crate) async fn run(command: ChangeCommand) -> ExitCode {
    match command {
        ChangeCommand::Down(args) => down(args).await,
        ChangeCommand::Retry(args) => retry(args).await,
        ChangeCommand::SetState(args) => set_state(args).await,
        ChangeCommand::Scale(args) => scale(args).await,
        ChangeCommand::Heal(args) => heal(args).await,
        ChangeCommand::Call(args) => call(args).await,
        ChangeCommand::Rollback(args) => rollback(args).await,
    }
}

async fn down(args: DownArgs) -> ExitCode {
    let DownArgs { name, current_packages, target, except, yes: _, answer, force, how } = &args;
    if contradict("--target", target, except) {
        return exit::wrong_input();
    }
    let command = format!("down {name}");
    let around = current_packages.as_deref();
    let change = Change { force: force.force, around, ..Change::new(name, command, how, Consent::Any) };
    let windlass = match change.open() {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    match already_removed(&windlass, name, how.run.print.format).await {
        Ok(None) => {}
        Ok(Some(code)) => return code,
        Err(error) => return fail(&error),
    }
    let request = async |windlass: &Windlass| {
        let request = match current_packages {
            None => Intent::Down.into(),
            Some(file) => Request::down_with(windlass.current_packages(name, file, &[]).await?),
        };
        let selection = Selection {
            target: parts_of(windlass, name, target).await?,
            except: parts_of(windlass, name, except).await?,
        };
        Ok(request.limited_to(selection).with_answer(answer_of(windlass, name, answer).await?))
    };
    change.run_in(&windlass, request).await
}

/// Finds the parts of an assembly that `parts` lists by name or id. Returns their full names, such as `shop__web__2`.
/// Fails if the assembly lacks one of these parts.
async fn parts_of(
    windlass: &Windlass,
    name: &AssemblyName,
    parts: &[String],
) -> Result<BTreeSet<ElementName>, windlass::Error> {
    let mut found = BTreeSet::new();
    for part in parts {
        found.insert(windlass.part(name, part).await?);
    }
    Ok(found)
}

/// Reports that an assembly has already been removed, and returns the exit code. Returns `None` if the
/// assembly still exists.
async fn already_removed(
    windlass: &Windlass,
    name: &AssemblyName,
    format: Format,
) -> Result<Option<ExitCode>, windlass::Error> {
    if !windlass.is_removed(name).await? {
        return Ok(None);
    }
    // Closing the project removes files that a killed `down` has left behind.
    windlass.close().await?;
    Ok(Some(match format {
        Format::Json => print_json(&RemovedView { version: 1, assembly: name.clone(), done: true }),
        Format::Human => {
            tell!("note: `{name}` has been removed already; `windlass log {name}` shows its last processes");
            exit::DONE
        }
    }))
}

/// The result of `down` for an assembly that has already been removed.
#[derive(Debug, Serialize)]
struct RemovedView {
    version: u32,
    assembly: AssemblyName,
    done: bool,
}

async fn retry(args: RetryArgs) -> ExitCode {
    let RetryArgs { name, answer, published, published_from, consent, how } = &args;
    let given = match collected("--published ", published, published_from, &[]) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let command = format!("retry {name}");
    let notes = RefCell::new(Vec::new());
    let request = async |windlass: &Windlass| {
        let Some(mut answer) = answer_of(windlass, name, answer).await? else {
            return Ok(Intent::Retry.into());
        };
        let (published, warnings) = windlass.published(name, given.values, &given.open).await?;
        diagnostics::print(warnings.iter());
        answer.published = published;
        if answer.what == Assumption::Done {
            let is_application = windlass.is_application(name).await?;
            let unknown = windlass.unknown_outputs(name, &answer).await?;
            let unknown =
                unknown.iter().map(|(part, outputs)| note_unknown(part.local(), outputs, is_application));
            notes.borrow_mut().extend(unknown);
        }
        Ok(Request::retry(answer))
    };
    let change = Change::new(name, command, how, consent.consent());
    Change { notes: Some(&notes), ..change }.run(request).await
}

/// Builds the user's answer about undecided calls from the options of a command; `None` without the option `--assume`.
/// Fails if `--of` names neither a part nor an undecided call.
pub(super) async fn answer_of(
    windlass: &Windlass,
    name: &AssemblyName,
    args: &AnswerArgs,
) -> Result<Option<Answer>, windlass::Error> {
    let Some(assume) = args.assume else { return Ok(None) };
    let mut answer = Answer { natural: args.natural.clone(), ..Answer::of_all(assume.into()) };
    for subject in &args.of {
        match windlass.undecided_call(name, subject).await? {
            Some(call) => answer.calls.push(call),
            None => answer.of.push(windlass.part(name, subject).await?),
        }
    }
    Ok(Some(answer))
}

/// Returns the note that some outputs of the part `part` may stay unknown, because `--published` does not give their
/// values. The parameter `outputs` contains the names of these outputs.
fn note_unknown(part: &str, outputs: &[PropertyName], is_application: bool) -> String {
    let names: Vec<&str> = outputs.iter().map(PropertyName::as_str).collect();
    let (output, are, them) =
        if names.len() == 1 { ("output", "is", "it") } else { ("outputs", "are", "them") };
    let names = names.join("` and `");
    let effect = if is_application {
        format!("a health check may report {them} later")
    } else {
        format!(
            "unless its report is found, parts that read {them} wait until you re-create `{part}` with \
             `windlass up … --replace {part}`"
        )
    };
    format!("note: {output} `{names}` of `{part}` {are} unknown without `--published`; {effect}")
}

async fn set_state(args: SetStateArgs) -> ExitCode {
    let SetStateArgs { name, to, consent, how } = &args;
    let command = format!("set-state {name} {to}");
    Change::new(name, command, how, consent.consent()).run(async |_| Ok(Intent::SetState(*to).into())).await
}

async fn scale(args: ScaleArgs) -> ExitCode {
    let ScaleArgs { step, name, component, nodes, consent, how } = args;
    match step {
        Some(ScaleCommand::Out(args)) => scale_by_step("out", Intent::ScaleOut, args).await,
        Some(ScaleCommand::In(args)) => scale_by_step("in", Intent::ScaleIn, args).await,
        None => {
            let name = name.expect("the parser requires it without a subcommand");
            let component = component.expect("the parser requires it without a subcommand");
            let Some((cluster, nodes)) = wanted_size(&component, nodes) else {
                if component.parse::<u32>().is_ok() {
                    fault!(
                        codes::COMMAND_LINE,
                        "`scale` needs the name of the assembly first: write `windlass scale NAME {name} {component}`"
                    );
                } else {
                    fault!(
                        codes::COMMAND_LINE,
                        "`scale` needs one number of nodes: write `windlass scale {name} {component} 6`, `scale out` or `scale in`"
                    );
                }
                return exit::wrong_input();
            };
            let command = format!("scale {name} {cluster} {nodes}");
            let request = async |windlass: &Windlass| {
                Ok(Intent::ScaleTo { cluster: windlass.part(&name, cluster).await?, nodes }.into())
            };
            Change::new(&name, command, &how, consent.consent()).run(request).await
        }
    }
}

/// Reads `CLUSTER NODES` or `CLUSTER=NODES`. Returns `None` if there is no number of nodes, or if there are
/// two.
fn wanted_size(component: &str, nodes: Option<u32>) -> Option<(&str, u32)> {
    match (component.split_once('='), nodes) {
        (None, Some(nodes)) => Some((component, nodes)),
        (Some((cluster, nodes)), None) => Some((cluster, nodes.parse().ok()?)),
        _ => None,
    }
}

async fn scale_by_step(word: &str, intent: fn(ElementName) -> Intent, args: ScaleStepArgs) -> ExitCode {
    let ScaleStepArgs { name, component, consent, how } = &args;
    let command = format!("scale {word} {name} {component}");
    let request = async |windlass: &Windlass| Ok(intent(windlass.part(name, component).await?).into());
    Change::new(name, command, how, consent.consent()).run(request).await
}

async fn heal(args: HealArgs) -> ExitCode {
    let HealArgs { name, part, all: _, refresh, how } = &args;
    let command = format!("heal {name} {}", part.as_deref().unwrap_or("--all"));
    let request = async |windlass: &Windlass| {
        let part = match part {
            Some(part) => windlass.part(name, part).await?,
            None => name.into(),
        };
        Ok(Request::from(Intent::Heal(part)).refreshed(refresh.within()))
    };
    Change::new(name, command, how, Consent::Any).run(request).await
}

async fn call(args: CallArgs) -> ExitCode {
    let CallArgs { name, part, command: called, given, arguments, how } = &args;
    let given = match collected("-a ", given, arguments, &[]) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let command = format!("call {name} {part} {called}");
    let request = async |windlass: &Windlass| {
        let is_secret = |name: &str| !given.open.iter().any(|open| open == name);
        let arguments = Arguments::new(given.values, is_secret)?;
        Ok(Request::call(windlass.part(name, part).await?, called.clone(), arguments))
    };
    Change::new(name, command, how, Consent::Any).run(request).await
}

async fn rollback(args: RollbackArgs) -> ExitCode {
    let RollbackArgs { name, to, force, consent, how } = &args;
    let command = format!("rollback {name}");
    let request = async |windlass: &Windlass| {
        if let Some(to) = to {
            windlass.views().know_process(name, *to).await?;
        }
        Ok(Intent::Rollback(*to).into())
    };
    let change = Change::new(name, command, how, consent.consent());
    Change { force: force.force, ..change }.run(request).await
}

pub(crate) async fn cancel(args: CancelArgs) -> ExitCode {
    let windlass = match open(None, None, "cancel") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let CancelArgs { name, what, dry, print } = &args;
    let what = match what {
        Some(what) => *what,
        None => match windlass.process_to_cancel(name).await {
            Ok(process) => AskedFor::Process(process),
            Err(error) => return fail(&error),
        },
    };
    let (done, said) = match (what, dry.dry_run) {
        (AskedFor::Process(process), true) => {
            (windlass.can_cancel(name, process).await, format!("{process} would be asked to stop"))
        }
        (AskedFor::Process(process), false) => {
            let done = windlass.cancel(name, process).await;
            (done, format!("{process} is asked to stop; its running jobs may still end"))
        }
        (AskedFor::Request(request), true) => {
            (windlass.can_withdraw(name, request).await, format!("{request} would be withdrawn"))
        }
        (AskedFor::Request(request), false) => {
            (windlass.withdraw(name, request).await, format!("{request} is withdrawn"))
        }
    };
    if let Err(error) = done {
        return fail(&error);
    }
    let code = if print.format == Format::Json {
        let (process, request) = match what {
            AskedFor::Process(process) => (Some(process), None),
            AskedFor::Request(request) => (None, Some(request)),
        };
        print_json(&CancelView::new(name.clone(), process, request, !dry.dry_run))
    } else {
        say!("{said}");
        exit::DONE
    };
    if dry.detailed_exitcode && code == exit::DONE { exit::changes() } else { code }
}
