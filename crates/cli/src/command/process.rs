//! Execution of a prepared process, and output of its events.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use windlass::engine::{Consent, Ended, EngineError, OutdatedInputs, Request, Stop};
use windlass::lifecycle::Diff;
use windlass::model::record::{
    ApplicationIntent, Event, EventRecord, Failure, Intent, ProcessStatus, Severity, StepEnd,
};
use windlass::model::request::RequestRecord;
use windlass::model::{AssemblyName, ElementName, ProcessId, RequestId, StepId};
use windlass::store::Holder;
use windlass::view::log::LogFilter;
use windlass::view::plan::{PlanView, StepView};
use windlass::view::rolling::RollingView;
use windlass::{Following, Pending, Started, Windlass};

use super::plan::listing::{Listing, Waits};
use super::plan::{FEW_LISTED, MOST_LISTED};
use super::rolling::{self, Batches};
use super::{consent, fail, plural, print_json};
use crate::alike;
use crate::args::Format;
use crate::failure::ErrorView;
use crate::outage::Outage;
use crate::output::{BAD, DIM, GOOD, STRONG, one_line, print_event, say, styled, tell};
use crate::progress::Progress;
use crate::{diagnostics, exit};

/// The result of a process, as JSON.
#[derive(Serialize)]
struct EndedView<'a> {
    version: u32,
    assembly: AssemblyName,
    process: ProcessId,
    status: ProcessStatus,
    reason: Option<String>,
    succeeded: u32,
    failed: u32,
    skipped: u32,
    outputs: BTreeMap<String, Value>,
    undone: Diff,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedStepView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rolling: Vec<RollingView>,
    /// The failed process that `process` has rolled back.
    #[serde(rename = "rolled-back", skip_serializing_if = "Option::is_none")]
    rolled_back: Option<ProcessId>,
    /// The parts and relationships whose inputs have changed since they were applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    outdated: Option<OutdatedView>,
    /// The reason why no further process has updated the outdated inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorView<'a>>,
}

/// Parts and relationships with outdated inputs, as JSON.
#[derive(Serialize)]
struct OutdatedView {
    /// The names of the parts, such as `shop__web`.
    elements: BTreeSet<ElementName>,
    /// The names of the relationships that were created with outdated inputs.
    relationships: BTreeSet<String>,
}

impl OutdatedView {
    fn of(outdated: &OutdatedInputs) -> Self {
        Self {
            elements: outdated.parts.iter().cloned().collect(),
            relationships: outdated.pairs.iter().map(|pair| pair.relationship.to_string()).collect(),
        }
    }
}

/// A step that did not succeed, as JSON.
#[derive(Serialize)]
struct FailedStepView {
    process: ProcessId,
    /// The part and the action, for example `web__1 Start`.
    step: String,
    failure: Failure,
}

/// Returns the failures of a process. If the process has rolled back an earlier process, also returns the failures
/// of the earlier process. If the log can't be read, returns no failures. In this case, the function reports
/// no error: the result of the process is more important to the user than the failures.
async fn failures(windlass: &Windlass, ended: &Ended) -> Vec<FailedStepView> {
    if code(ended) == exit::DONE {
        return Vec::new();
    }
    let log = windlass.views().log(&ended.process.assembly, &LogFilter::default()).await;
    let processes = log.map(|log| log.processes).unwrap_or_default().into_iter();
    let own = processes.filter(|process| {
        process.id == ended.process.id || ended.rolled_back.is_some_and(|failed| failed == process.id)
    });
    let failed = own.flat_map(|process| {
        let failed = process.steps.into_iter().filter(|step| step.severity == Severity::Error);
        failed.filter_map(move |step| {
            Some(FailedStepView { process: process.id, step: step.title, failure: step.failure? })
        })
    });
    failed.collect()
}

/// The JSON output about a request that is now queued for the daemon.
#[derive(Serialize)]
struct QueuedView {
    version: u32,
    assembly: AssemblyName,
    request: RequestId,
    intent: String,
}

/// The options for the execution of an intent.
pub(crate) struct Execution {
    /// Whether the intent is only queued as a request for the daemon.
    pub(crate) queue: bool,
    /// The user's consent to plans that remove or replace installed parts.
    pub(crate) consent: Consent,
    pub(crate) format: Format,
}

impl Execution {
    /// Executes an intent. The function `own` prepares a process that executes the intent in this program. If a
    /// daemon holds the lease on the assembly, the function `theirs` submits a request to the daemon instead. Then
    /// the daemon executes the process, and this program prints the events of the process. If the plan needs
    /// consent, the user is asked on a terminal.
    pub(crate) async fn carry_out<'w>(
        self,
        windlass: &'w Windlass,
        own: impl AsyncFn(Consent) -> Result<Started, windlass::Error>,
        theirs: impl AsyncFn(Consent) -> Result<Pending<'w>, windlass::Error>,
        stop: &Stop,
    ) -> ExitCode {
        let end = JsonEnd::Printed;
        self.carry_out_with(windlass, own, theirs, stop, end).await.unwrap_or_else(|code| code)
    }

    /// Executes an intent as [`carry_out`](Self::carry_out) does. `end` tells whether the result is printed as JSON
    /// when the process ends.
    ///
    /// # Errors
    /// Returns the exit code if no process ran to its end. The reason has already been printed.
    pub(crate) async fn carry_out_with<'w>(
        mut self,
        windlass: &'w Windlass,
        own: impl AsyncFn(Consent) -> Result<Started, windlass::Error>,
        theirs: impl AsyncFn(Consent) -> Result<Pending<'w>, windlass::Error>,
        stop: &Stop,
        end: JsonEnd,
    ) -> Result<ExitCode, ExitCode> {
        loop {
            let begun = self.begin(&own, &theirs, stop).await;
            match begun {
                Ok(Begun::Started(started)) => return run(windlass, *started, stop, self.format, end).await,
                Ok(Begun::Queued(pending)) => {
                    return Err(close(windlass, print_queued(&pending, self.format)).await);
                }
                Err(windlass::Error::Engine(EngineError::NeedsConsent(plan))) => {
                    match consent::ask(plan, self.format, stop).await {
                        Ok(consent) => self.consent = consent,
                        Err(code) => return Err(close(windlass, code).await),
                    }
                }
                Err(error) => return Err(give_up(windlass, &error).await),
            }
        }
    }

    async fn begin<'w>(
        &self,
        own: impl AsyncFn(Consent) -> Result<Started, windlass::Error>,
        theirs: impl AsyncFn(Consent) -> Result<Pending<'w>, windlass::Error>,
        stop: &Stop,
    ) -> Result<Begun<'w>, windlass::Error> {
        let theirs = async || theirs(self.consent.clone()).await;
        if self.queue {
            return Ok(Begun::Queued(Box::new(theirs().await?)));
        }
        let started = match patiently(own(self.consent.clone())).await {
            Err(error) => match error.served_by() {
                Some(holder) => hand_over(holder, theirs, stop).await,
                None => Err(error),
            },
            started => started,
        };
        Ok(Begun::Started(Box::new(started?)))
    }
}

/// Whether the result of a process is printed as JSON when the process ends. The choice matters only with
/// `--format json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonEnd {
    /// The result is printed: the status of the process, the outputs, and how many steps succeeded and failed.
    Printed,
    /// Nothing is printed, because the caller prints another result.
    Silent,
}

/// An intent that was started or queued.
enum Begun<'w> {
    /// A process, which runs in this program or in the daemon.
    Started(Box<Started>),
    /// A request in the daemon's queue.
    Queued(Box<Pending<'w>>),
}

/// Submits a request to the daemon, and waits until the daemon begins to execute it.
async fn hand_over<'w>(
    holder: &Holder,
    ask: impl AsyncFnOnce() -> Result<Pending<'w>, windlass::Error>,
    stop: &Stop,
) -> Result<Started, windlass::Error> {
    let pending = ask().await?;
    let RequestRecord { id, assembly, .. } = pending.request();
    tell!("{holder} holds `{assembly}` and executes this request in turn, as {id}");
    pending.begun(stop).await
}

fn print_queued(pending: &Pending<'_>, format: Format) -> ExitCode {
    diagnostics::print(pending.warnings().iter());
    let (RequestRecord { id, assembly, .. }, intent) = (pending.request(), pending.request().title());
    if format == Format::Json {
        return print_json(&QueuedView { version: 1, assembly: assembly.clone(), request: *id, intent });
    }
    say!(
        "{}: {intent} is queued for `windlass run`, as {id}; `windlass cancel {assembly} {id}` withdraws it",
        styled(STRONG, assembly)
    );
    exit::DONE
}

/// The reason why [`run`] stops before the intent is complete.
enum Halt {
    /// A process could not be started, or its execution broke off.
    Failed(windlass::Error),
    /// The next process needs a consent that the user has not given.
    NotAgreed {
        /// How the previous process ended.
        before: Box<Ended>,
        /// The error about the missing consent. `None` if the error was already printed.
        refusal: Option<windlass::Error>,
    },
}

/// Runs the first process of an intent, and then the further processes that the intent needs. For example, a further
/// process rolls back a change after a node has failed.
async fn run(
    windlass: &Windlass,
    started: Started,
    stop: &Stop,
    format: Format,
    end: JsonEnd,
) -> Result<ExitCode, ExitCode> {
    let undone = started.plan_view().undone;
    // The results of a rolling change: which nodes have changed, and which have not. Each process that ends
    // without completing its change replaces these results.
    let rolling = &RefCell::new(Vec::new());
    let next = |before: Ended, request: Request| async move {
        match &before.failed_group {
            _ if format != Format::Human => {}
            Some(group) if matches!(request.intent(), Intent::Rollback(_)) => {
                say!("{} a node of `{}` has failed", styled(STRONG, "rolling back:"), group.local());
            }
            _ if before.needs_closing() => {
                let groups = alike::names(before.surge.keys().map(ElementName::local));
                say!("{} the additional nodes of {groups}", styled(STRONG, "removing"));
            }
            _ => say!("{} {}", styled(STRONG, "resuming:"), outdated_inputs(&before)),
        }
        let is_rollback = matches!(request.intent(), Intent::Rollback(_));
        let assembly = before.process.assembly.clone();
        let started = resume(windlass, before, request, stop, format).await.inspect_err(|halt| {
            if matches!(halt, Halt::Failed(_)) && is_rollback && format == Format::Human {
                say!("  `windlass retry {assembly}` executes the rollback");
            }
        })?;
        run_one(windlass, started, stop, format, rolling).await.map_err(Halt::Failed)
    };
    let ended = match run_one(windlass, started, stop, format, rolling).await {
        Ok(first) => first.continued(next).await,
        Err(error) => Err(Halt::Failed(error)),
    };
    let (ended, is_agreed, refusal) = match ended {
        Ok(ended) => (Ok(ended), true, None),
        Err(Halt::NotAgreed { before, refusal }) => (Ok(*before), false, refusal),
        Err(Halt::Failed(error)) => (Err(error), true, None),
    };
    let code = match ended {
        Ok(ended) if format == Format::Human => {
            if ended.process.status == ProcessStatus::Completed && !ended.outdated.is_empty() {
                say!(
                    "  {}; `windlass retry {}` updates them",
                    outdated_inputs(&ended),
                    ended.process.assembly
                );
            }
            if let Some(failed) =
                ended.rolled_back.filter(|_| ended.process.status == ProcessStatus::Completed)
            {
                say!("{} {failed} has failed, and was rolled back", styled(BAD, "not done:"));
            }
            code(&ended)
        }
        Ok(ended) if end == JsonEnd::Silent => code(&ended),
        Ok(ended) => {
            let failures = failures(windlass, &ended).await;
            print_ended_json(&ended, undone, failures, rolling.take(), refusal.as_ref())
        }
        Err(error) => return Err(close(windlass, fail(&error)).await),
    };
    Ok(close(windlass, if is_agreed { code } else { exit::FAILED }).await)
}

/// Prepares the next process of an intent, after the process `before` has ended.
async fn resume(
    windlass: &Windlass,
    before: Ended,
    mut request: Request,
    stop: &Stop,
    format: Format,
) -> Result<Started, Halt> {
    let refusal = loop {
        match windlass.change(&before.process.assembly, request.clone(), stop).await {
            Err(windlass::Error::Engine(EngineError::NeedsConsent(plan))) if format == Format::Human => {
                match consent::ask(plan, format, stop).await {
                    Ok(consent) => request = request.with_consent(consent),
                    Err(_) => break None,
                }
            }
            // The result of `before` contains the error, because the output is one JSON document.
            Err(error @ windlass::Error::Engine(EngineError::NeedsConsent(_))) => break Some(error),
            prepared => return prepared.map_err(Halt::Failed),
        }
    };
    Err(Halt::NotAgreed { before: Box::new(before), refusal })
}

/// Describes the parts and relationships with outdated inputs.
fn outdated_inputs(ended: &Ended) -> String {
    let OutdatedInputs { parts, pairs } = &ended.outdated;
    let relationships: BTreeSet<&str> = pairs.iter().map(|pair| pair.relationship.as_str()).collect();
    let made = (!relationships.is_empty()).then(|| {
        let verb = if relationships.len() == 1 { "was" } else { "were" };
        format!("{} {verb} created with outdated inputs", alike::names(relationships))
    });
    let read = (!parts.is_empty()).then(|| {
        let verb = if parts.len() == 1 { "has" } else { "have" };
        format!("{} {verb} outdated inputs", alike::names(parts.iter().map(ElementName::local)))
    });
    read.into_iter().chain(made).collect::<Vec<_>>().join(", and ")
}

/// Prints the plan, runs it, and prints the result.
async fn run_one(
    windlass: &Windlass,
    started: Started,
    stop: &Stop,
    format: Format,
    nodes: &RefCell<Vec<RollingView>>,
) -> Result<Ended, windlass::Error> {
    let human = format == Format::Human;
    diagnostics::print(started.warnings().iter());
    let mut following = started.follow();
    let plan = started.plan_view();
    if human {
        // If an earlier process was interrupted, the records may lack the ends of its calls. The preparation of
        // the present process looks for these ends and records them. The events of the preparation are
        // printed first.
        if started.runs_here() {
            print_new(&mut following, &[], None, &mut Batches::new(started.process().id, &plan)).await;
        }
        super::plan::print_found(&plan, false);
        print_plan(&started, &plan);
    }
    super::plan::warn_unknown(&plan);
    let silent: Vec<StepId> = plan.steps.iter().filter(|step| !step.calls).map(|step| step.id).collect();
    // The steps that end without an event, because nothing is called for them.
    let mut quiet: BTreeSet<StepId> =
        plan.steps.iter().filter(|step| step.calls).map(|step| step.id).collect();
    let progress = human.then(|| Progress::of(plan.steps.len() - silent.len()));
    let (process, own) = (started.process().clone(), started.runs_here());
    let mut batches = Batches::new(process.id, &plan);
    let calls = plan.steps.iter().map(|step| (step.id, step.call_count)).collect();
    let mut observed = Box::pin(async {
        match &progress {
            Some(progress) => progress.observe(windlass, &process, own, &plan, &calls).await,
            None => std::future::pending().await,
        }
    });
    let mut running = Box::pin(started.run(stop));
    let mut outage = Outage::none(windlass);
    let ended = loop {
        tokio::select! {
            biased;
            events = next_events(&mut following, &mut outage), if human => {
                let reported = print_events(&events, &silent, progress.as_ref(), &mut batches);
                quiet.retain(|step| !reported.contains(step));
            }
            ended = &mut running => break ended,
            never = &mut observed => match never {},
        }
    };
    drop(observed);
    if human {
        match print_new(&mut following, &silent, progress.as_ref(), &mut batches).await {
            Some(reported) => quiet.retain(|step| !reported.contains(step)),
            None => quiet.clear(),
        }
    }
    drop(progress);
    if let (true, Ok(ended)) = (human, &ended)
        && ended.process.status == ProcessStatus::Completed
    {
        print_quiet(&plan, &quiet);
    }
    if let (true, Ok(ended)) = (human, &ended) {
        print_ended(ended);
    }
    if let Ok(ended) = &ended
        && ended.process.status != ProcessStatus::Completed
    {
        let results = RollingView::of(windlass, &plan, &ended.process).await?;
        if human {
            rolling::print_results(&results, &plan);
        }
        nodes.replace(results);
    }
    if human && ended.is_ok() {
        super::plan::print_undone(&plan);
    }
    ended
}

/// Waits for events. At the end of the stream, never returns. If the store stops answering, prints a message. When the
/// store works again, prints another message. If the process itself fails because of the store, the error of the
/// process is printed in addition.
async fn next_events(following: &mut Following, outage: &mut Outage) -> Vec<EventRecord> {
    loop {
        // `next` would wait for the next event. After a failure, `ready` is called instead: it returns at
        // once, so that recovery is reported at once.
        let events = if outage.is_on() { following.ready().await.map(Some) } else { following.next().await };
        match events {
            Ok(None) => {
                outage.ended();
                std::future::pending::<()>().await;
            }
            Ok(Some(events)) => {
                outage.ended();
                if !events.is_empty() {
                    return events;
                }
            }
            Err(error) => outage.failed(&error).await,
        }
    }
}

/// Waits until a process is prepared. If the preparation takes more than a second, prints the reason for the
/// wait.
async fn patiently<T>(preparing: impl Future<Output = T>) -> T {
    tokio::pin!(preparing);
    tokio::select! {
        prepared = &mut preparing => return prepared,
        () = tokio::time::sleep(Duration::from_secs(1)) => {}
    }
    tell!("waiting for jobs of earlier processes, for leases of other assemblies, or for health checks");
    preparing.await
}

async fn print_new(
    following: &mut Following,
    silent: &[StepId],
    progress: Option<&Progress>,
    batches: &mut Batches<'_>,
) -> Option<BTreeSet<StepId>> {
    let events = following.ready().await.ok()?;
    Some(print_events(&events, silent, progress, batches))
}

/// Prints the steps that have ended without an event. windlass called nothing for these steps.
fn print_quiet(plan: &PlanView, quiet: &BTreeSet<StepId>) {
    let steps = plan.steps.iter().filter(|step| quiet.contains(&step.id));
    let key = |step: &&StepView| {
        let name = step.element.local();
        alike::is_numbered(name).then(|| (alike::pattern(name), step.action.clone()))
    };
    for steps in alike::put_together(steps, key) {
        let names = alike::named(steps.iter().map(|step| &step.element));
        say!("{} {names} {} {}", styled(GOOD, "ok       "), steps[0].action, styled(DIM, "nothing to call"));
    }
}

/// Prints events, and returns all steps that have ended according to these events. `silent` contains the steps that
/// only change a state. If such a step is skipped, its end is not printed, because the plan does not list the step
/// either.
fn print_events(
    events: &[EventRecord],
    silent: &[StepId],
    progress: Option<&Progress>,
    batches: &mut Batches<'_>,
) -> BTreeSet<StepId> {
    let reported = events.iter().filter_map(|event| match &event.draft.body {
        Event::StepEnded { step, .. } => Some(*step),
        _ => None,
    });
    let reported: BTreeSet<StepId> = reported.collect();
    let is_silent = |event: &&EventRecord| matches!(&event.draft.body, Event::StepEnded { step, end: StepEnd::Skipped { .. }, .. } if silent.contains(step));
    let mut print = || {
        for event in events.iter().filter(|event| !is_silent(event)) {
            batches.announce(event);
            if !batches.ends_pause(event) {
                print_event(event);
            }
        }
    };
    let Some(progress) = progress else {
        print();
        return reported;
    };
    progress.aside(print);
    let ended = |event: &&EventRecord| matches!(&event.draft.body, Event::StepEnded { step, .. } if !silent.contains(step));
    progress.add(events.iter().filter(ended).count());
    reported
}

/// Prints the error that prevented the start of a process, and returns the exit code.
async fn give_up(windlass: &Windlass, error: &windlass::Error) -> ExitCode {
    close(windlass, fail(error)).await
}

async fn close(windlass: &Windlass, code: ExitCode) -> ExitCode {
    match windlass.close().await {
        Ok(()) => code,
        Err(error) => fail(&error),
    }
}

/// Prints the plan. Long lists of changes or steps are cut.
fn print_plan(started: &Started, plan: &PlanView) {
    let process = started.process();
    let calling: Vec<_> = plan.calling().collect();
    let name = styled(STRONG, &process.assembly);
    if calling.is_empty() {
        say!("{name}: nothing to call ({} {})", process.id, process.title());
        super::plan::print_first_changes(plan);
        return;
    }
    super::plan::print_first_changes(plan);
    let steps = plural(calling.len(), "step");
    let resumes = process.resumes().map(|id| format!(", resumes {id}")).unwrap_or_default();
    say!("{name}: {steps}, up to {} at once ({} {}{resumes})", plan.widest, process.id, process.title());
    let mut listing = Listing::new(&calling, Waits::Hidden, false);
    let left_out = if listing.len() > MOST_LISTED { listing.cut(FEW_LISTED) } else { 0 };
    listing.print();
    if left_out > 0 {
        say!("      and {left_out} more; `windlass ps show {}` lists those that ran", process.id);
    }
    say!();
}

fn print_ended(ended: &Ended) {
    let process = &ended.process;
    let took = process
        .ended
        .map(|end| crate::output::duration(end.millis_since(process.created)))
        .unwrap_or_default();
    say!();
    let name = &process.assembly;
    match (process.status, &process.intent) {
        (ProcessStatus::Completed, Intent::Down) => {
            let done = styled(GOOD, "done:");
            if process.application.is_some() {
                say!("{done} {name} is destroyed ({took})");
            } else if process.target.is_empty() && process.except.is_empty() {
                say!("{done} {name} is down ({took})");
            } else {
                say!(
                    "{done} the planned parts of {name} are removed ({took}); `windlass status {name}` shows the rest"
                );
            }
        }
        (ProcessStatus::Completed, _) => {
            let done = styled(GOOD, "done:");
            if ended.reached.rank() < ended.goal.rank() {
                say!("{done} the requested steps ({took}); {name} as a whole is {}", ended.reached);
            } else {
                say!("{done} {name} is {} ({took})", ended.reached);
            }
            for (output, value) in &ended.outputs {
                say!("  {output}: {}", text(&value.shown()));
            }
        }
        (status, _) => {
            let reason = process.reason.clone().unwrap_or_default();
            let title = process.title();
            say!("{} {title} of {name} {status}: {}", styled(BAD, "not done:"), one_line(&reason));
            say!("  {}", hint(ended));
        }
    }
}

fn hint(ended: &Ended) -> String {
    let process = &ended.process;
    let name = &process.assembly;
    if ended.tally.undecided > 0 {
        let (it, each) = match ended.tally.undecided {
            1 => ("it", String::new()),
            _ => ("them", format!("; `windlass status {name}` prints a command for each of them")),
        };
        return format!(
            "check {it}, then run `windlass retry {name} --assume done`, `not-done` or `failed`{each}"
        );
    }
    if ended.needs_rollback() {
        return format!("`windlass log {name}` lists the steps that ran; the assembly is rolled back now");
    }
    let next = match process.intent {
        // If an `up` began the rollback, repeating the `up` would try the new version again.
        Intent::Rollback(_) => format!("`windlass retry {name}` resumes the rollback"),
        ref intent if intent.repeats() => "the same command calls it again".to_owned(),
        _ if process.application == Some(ApplicationIntent::Destroy) => destroy_again(name),
        // Repeating `app launch` would launch another application.
        _ if process.application.is_some() => format!("`windlass retry {name}` resumes the process"),
        _ => "the same command resumes the process".to_owned(),
    };
    let advice = format!("`windlass log {name}` lists the steps that ran; {next}");
    if let Some(action) = process.application {
        return match correction(action, ended) {
            Some(correction) => format!("{advice}\n  {correction}"),
            None => advice,
        };
    }
    if has_option("--current-packages") {
        return advice;
    }
    if process.intent == Intent::Down && ended.tally.failed > 0 {
        return format!(
            "{advice}, with the pinned scripts\n  `windlass down {name} --current-packages FILE` runs the current \
             scripts of a descriptor instead"
        );
    }
    if matches!(process.intent, Intent::Heal(_)) && ended.tally.failed > 0 {
        return format!(
            "{advice}\n  if a component cannot be repaired, `windlass up FILE --replace PART` re-creates it; this \
             loses the data that only the component has"
        );
    }
    if process.intent == Intent::Up && ended.tally.failed_with_pinned > 0 {
        return format!(
            "{advice}\n  components are stopped and removed with the scripts that they were created with; after a \
             correction, `windlass up FILE --current-packages` runs the current ones"
        );
    }
    advice
}

/// Returns the advice to repeat the destruction of an application. If the present command has the option `--latest`,
/// the advice contains this option. Without this option, the advised command would not use the scripts of the latest
/// revision.
fn destroy_again(name: &AssemblyName) -> String {
    let latest = if has_option("--latest") { " --latest" } else { "" };
    format!("`windlass app destroy {name}{latest}` resumes the process")
}

/// Returns the advice to publish corrected scripts of an application, and to run the corrected scripts with `--latest`.
/// Returns `None` in three cases: no script has failed, the user has already given `--latest`, or the process is a
/// reconfiguration.
fn correction(action: ApplicationIntent, ended: &Ended) -> Option<String> {
    let name = &ended.process.assembly;
    if ended.tally.failed == 0 {
        return None;
    }
    match action {
        ApplicationIntent::Destroy if has_option("--latest") => None,
        ApplicationIntent::Destroy => Some(format!(
            "after a correction of its scripts is published, `windlass app destroy {name} --latest` runs them instead"
        )),
        ApplicationIntent::Launch => Some(format!(
            "after a correction of its scripts is published, `windlass app destroy {name} --latest` removes it; then \
             launch it again"
        )),
        ApplicationIntent::Reconfigure => None,
    }
}

/// Tells whether the arguments of the program contain an option.
fn has_option(option: &str) -> bool {
    let mut arguments = std::env::args_os().skip(1).take_while(|word| word != "--");
    arguments.any(|word| word.to_string_lossy().starts_with(option))
}

fn print_ended_json(
    ended: &Ended,
    undone: Diff,
    failures: Vec<FailedStepView>,
    rolling: Vec<RollingView>,
    refusal: Option<&windlass::Error>,
) -> ExitCode {
    let refusal_text = refusal.map(ToString::to_string);
    let view = EndedView {
        version: 1,
        assembly: ended.process.assembly.clone(),
        process: ended.process.id,
        status: ended.process.status,
        reason: ended.process.reason.clone(),
        succeeded: ended.tally.succeeded,
        failed: ended.tally.failed,
        skipped: ended.tally.skipped,
        outputs: ended.outputs.iter().map(|(name, value)| (name.to_string(), value.shown())).collect(),
        undone,
        failures,
        rolling,
        rolled_back: ended.rolled_back,
        outdated: (!ended.outdated.is_empty()).then(|| OutdatedView::of(&ended.outdated)),
        error: refusal_text
            .as_deref()
            .map(|text| ErrorView::new(refusal.and_then(windlass::Error::code), text)),
    };
    print_json(&view);
    code(ended)
}

fn code(ended: &Ended) -> ExitCode {
    match ended.process.status {
        ProcessStatus::Completed if ended.rolled_back.is_none() => exit::DONE,
        ProcessStatus::Cancelled => exit::interrupted(),
        _ => exit::FAILED,
    }
}

/// Formats a value in one line. In a text, only the line breaks are escaped. Any other value becomes JSON.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text).into_owned(),
        other => other.to_string(),
    }
}
