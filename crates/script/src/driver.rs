//! The driver: chooses the script, builds its input, and interprets its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use windlass_driver::contract::{Found, Nature, Query};
use windlass_driver::{
    Call, Context, Driver, Failure, FailureKind, Location, NeededProgram, Observation, Observed, Package,
    PackageProblem, Report, Setting, SettingError,
};
use windlass_executor::{Captured, Job, Limits, Outcome};
use windlass_model::instance::LogEntry;
use windlass_model::name::DriverKind;
use windlass_model::record::Severity;
use windlass_model::{Action, CommandName, Transition};
use windlass_source::Diagnostic;

use crate::answer::{Answer, Printed};
use crate::binding::{KIND, binding};
use crate::failure::Reporter;
use crate::job::{self, JobRefusal};
use crate::output::Output;
use crate::plain::exit::Exit;
use crate::plain::health;
use crate::plain::status::Status;
use crate::role::Role;
use crate::scripts::{self, ScriptFile};
use crate::settings::{Settings, Timeouts};
use crate::style::Style;
use crate::{check, discover, input, interpreter, observe, plain, published, settings, verdict};

/// The driver that runs the scripts of a package. The [crate documentation](crate) describes the input and output
/// of the scripts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Script {
    timeouts: Timeouts,
}

#[async_trait]
impl Driver for Script {
    fn kind(&self) -> DriverKind {
        KIND.parse().expect("a driver's kind is a word")
    }

    fn family(&self) -> &'static str {
        KIND
    }

    fn properties(&self) -> Vec<Setting> {
        settings::described()
    }

    fn settings(&self) -> Vec<Setting> {
        Timeouts::described()
    }

    fn configured(
        &self,
        given: &BTreeMap<String, Value>,
    ) -> Result<Option<Arc<dyn Driver>>, Vec<SettingError>> {
        let timeouts = self.timeouts.with(given)?;
        Ok(Some(Arc::new(Self { timeouts })))
    }

    fn check(&self, package: &Package) -> Vec<PackageProblem> {
        check::check(package)
    }

    fn programs(&self, package: &Package, location: &Location) -> Vec<NeededProgram> {
        interpreter::programs(package, location)
    }

    /// Returns the characteristics of an action; `None` if this driver does not serve the action.
    ///
    /// If the health check script has the style [`Full`](Style::Full), the characteristics contain a batch key,
    /// because one run of such a script can observe several instances. A run of any other script serves a single
    /// instance, so its failure affects no other instance.
    fn nature(&self, package: &Package, action: &Action) -> Option<Nature> {
        let binding = binding(package, action)?;
        let role = Role::of(package, action)?;
        let (settings, _) = Settings::read(&role, binding, self.timeouts);
        let observable = scripts::health_check(package).is_some();
        let is_plain = self.integrity_settings(package).style == Style::Plain;
        let batch = (observable && !is_plain).then(|| Role::HealthCheck.job_name().to_owned());
        let names = role == Role::Launch;
        Some(Nature { effect: settings.effect, observable, batch, timeout: settings.timeout, names })
    }

    /// Returns the length of the period in which a health check may report the results of an application's command.
    /// The period begins with the command. Returns `None` if the command has no results, or if the package has no
    /// health check.
    fn late_results(&self, package: &Package, command: &CommandName) -> Option<Duration> {
        let has_results = !package.pins()?.command(command)?.results.0.is_empty();
        (has_results && scripts::health_check(package).is_some()).then_some(self.timeouts.results)
    }

    /// Returns `true`, because the scripts of the new package receive the same natural ids as the scripts of the old
    /// package. So the new scripts can manage the instances that already exist.
    fn keeps(&self, _: &Package, _: &Package) -> bool {
        true
    }

    fn users(&self, package: &Package, path: &str) -> Option<Vec<Action>> {
        scripts::users(package, path)
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut reports = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            let stopped = || Failure::new(FailureKind::Refused, "it was stopped on request before it began");
            let begins = at == 0 || !context.cancelled();
            reports.push(if begins { self.perform_one(context, at, call).await } else { Err(stopped()) });
        }
        reports
    }

    async fn observe(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        let unseen: Vec<Option<Observation>> = calls.iter().map(why_unseen).collect();
        let asked: Vec<&Call> =
            calls.iter().zip(&unseen).filter(|(_, unseen)| unseen.is_none()).map(|(call, _)| call).collect();
        let mut seen = self.check_health(context, &asked).await.into_iter();
        let report = Report::settled;
        let answer = |unseen: Option<Observation>| match unseen {
            Some(observation) => Some(Ok(Observed { observation, report: report() })),
            None => seen.next(),
        };
        unseen.into_iter().filter_map(answer).collect()
    }

    async fn discover(&self, context: &dyn Context, query: &Query) -> Result<Vec<Found>, Failure> {
        let Some(script) = scripts::discovery(&query.package) else { return Ok(Vec::new()) };
        let reporter = Reporter::new(script.name(), &query.secrets());
        let (settings, _) = Settings::read(&Role::Discover, &query.binding, self.timeouts);
        let settings = settings.at(&query.location);
        let job = job::job(script, &query.package, &query.location, settings)
            .map_err(|refusal| refused(&reporter, &refusal))?
            .on_owner_death(job::fate(&Role::Discover));
        let job = job::with_secrets(&query.location, &query.secrets(), job);
        let job = match settings.style {
            Style::Full => job.stdin(input::text(
                &input::adapted(input::discovery(query), script, settings),
                settings.input,
            )),
            Style::Plain => plain::input::with_location(&query.location, job),
        };
        let limits = job.limits.clone();
        let outcome = context.job(Role::Discover.job_name(), job).await.map_err(|failure| {
            let Failure { kind, message, detail } = failure.into();
            reporter.failure(kind, &message, &detail.unwrap_or_default())
        })?;
        reporter.check(&outcome, &limits)?;
        let failed = |problems: &[Diagnostic]| reporter.protocol(problems, &outcome.stderr);
        let found = match settings.style {
            Style::Full => discover::found(script.name(), &outcome.stdout, query, settings.adapter, failed),
            Style::Plain => plain::discover::found(script.name(), &outcome.stdout, query),
        };
        found.map_err(|problems| failed(&problems))
    }
}

impl Script {
    async fn perform_one(&self, context: &dyn Context, at: usize, call: &Call) -> Result<Report, Failure> {
        let (role, script) = script_for(call)?;
        let (settings, _) = Settings::read(&role, &call.binding, self.timeouts);
        let settings = settings.at(&call.location);
        let mut run = Run { role, script, settings, reporter: Reporter::of(script.name(), &[call], &[]) };
        let answer = match run.settings.style {
            Style::Full => run.answer(context, at, call).await?,
            Style::Plain => run.answer_plain(context, at, call).await?,
        };
        if let Some(failure) = verdict::shortfall(&run.role, &answer, &run.reporter) {
            // Keep the script's report: a failed launch may have created something, and reported its id.
            context.checkpoint(at, answer.report).await?;
            return Err(failure);
        }
        let settled = verdict::settled(&run.role, call, &answer);
        let mut report = Report { settled, ..answer.report };
        if run.role == Role::HealthCheck && answer.is_missing {
            let message = format!("it was not checked: {}", Observation::NO_ANSWER);
            report.log.push(LogEntry::new(Severity::Warning, message));
        }
        Ok(report)
    }

    /// Runs the health check script for `calls`. All calls must have the same package and location.
    async fn check_health(&self, context: &dyn Context, calls: &[&Call]) -> Vec<Result<Observed, Failure>> {
        let Some(first) = calls.first() else { return Vec::new() };
        let Some(script) = scripts::health_check(&first.package) else { return Vec::new() };
        let settings = self.integrity_settings(&first.package).at(&first.location);
        let run = |calls: &[&Call]| Run {
            role: Role::HealthCheck,
            script,
            settings,
            reporter: Reporter::of(script.name(), calls, &[]),
        };
        if settings.style == Style::Full {
            return run(calls).observe_all(context, calls).await;
        }
        let mut observed = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            observed.push(run(&[call]).observe_plain(context, at, call).await);
        }
        observed
    }

    /// Returns the settings for the health check script. The health check may also run to find out whether another
    /// action has succeeded. In this case too, the timeout of the health check applies, and not the timeout of the
    /// other action.
    fn integrity_settings(&self, package: &Package) -> Settings {
        let (role, timeouts) = (Role::HealthCheck, self.timeouts);
        let integrity = binding(package, &Action::Transition(Transition::Integrity));
        integrity.map_or(Settings::of(&role, timeouts), |binding| Settings::read(&role, binding, timeouts).0)
    }
}

/// Returns `None` if a health check can observe the instance of a call. Otherwise, the driver runs no health check
/// for the call, and reports the returned observation.
fn why_unseen(call: &Call) -> Option<Observation> {
    if scripts::health_check(&call.package).is_none() {
        return Some(observe::unchanged(call, "the package has no health check script"));
    }
    let asked = Role::of(&call.package, &call.action);
    let is_named = call.natural.is_some();
    if !is_named && (asked == Some(Role::Launch) || asked == Some(Role::Destroy) && launches(&call.package)) {
        return Some(Observation::CannotTell("the id that the launch script chose is unknown".to_owned()));
    }
    None
}

/// Tells whether a script launches the instances of a package.
///
/// The output of a launch script contains the natural id of the instance. If an instance of such a package has no
/// natural id, its launch has failed before the driver got this output. A health check can't find such an instance.
fn launches(package: &Package) -> bool {
    let launch = [Transition::Create, Transition::Install].map(Action::Transition);
    launch.iter().any(|action| binding(package, action).is_some())
}

/// One run of a script for one or more calls. Some methods run the job of the script, and read its outcome. Other
/// methods only read a given outcome, such as the stored outcome of an earlier job.
pub(crate) struct Run<'a> {
    role: Role,
    script: ScriptFile<'a>,
    settings: Settings,
    reporter: Reporter,
}

impl<'a> Run<'a> {
    pub(crate) fn new(role: Role, script: ScriptFile<'a>, settings: Settings, calls: &[&Call]) -> Self {
        Run { role, script, settings, reporter: Reporter::of(script.name(), calls, &[]) }
    }

    /// Checks that the job of the script has succeeded.
    pub(crate) fn check(&self, outcome: &Outcome, limits: &Limits) -> Result<(), Failure> {
        self.reporter.check(outcome, limits)
    }

    /// Reads a report for each call from the outcome of a successful job, in the order of `calls`. If the output for a
    /// call violates the protocol, the result of this call is a failure.
    pub(crate) fn reports(&self, calls: &[&Call], outcome: &Outcome) -> Vec<Result<Report, Failure>> {
        let answers = self.answers(calls, outcome).into_iter();
        answers.map(|answer| answer.map(|answer| answer.report)).collect()
    }

    /// Runs the script for a call, and reads the script's answer from stdout. The script must have the style
    /// [`Full`](Style::Full).
    async fn answer(&mut self, context: &dyn Context, at: usize, call: &Call) -> Result<Answer, Failure> {
        let document = input::document(&self.role, call);
        let outcome = self.output(context, at, &[call], document).await?;
        let output = self.parsed(call, &outcome.stdout);
        let answer = self.answers_in(&[call], &output, &outcome).remove(0);
        if answer.is_err()
            && let Ok(output) = &output
        {
            let printed = Printed { role: &self.role, call, asked: &BTreeSet::new(), notes_others: false };
            if let Some(natural) = printed.launched_id(output) {
                // The script has created the instance, so `app destroy` must be able to remove it.
                context.checkpoint(at, Report { natural: Some(natural), ..Report::settled() }).await?;
            }
        }
        answer
    }

    /// Runs the script for calls, with `document` as input, and returns the outcome of the successful job.
    ///
    /// The output of the job may contain values of sensitive properties. The method registers these values, so that
    /// the engine masks them in its records.
    ///
    /// # Errors
    /// Returns a failure if the job of the script can't be run, or does not succeed.
    async fn output(
        &mut self,
        context: &dyn Context,
        at: usize,
        calls: &[&Call],
        document: Value,
    ) -> Result<Outcome, Failure> {
        let document = input::adapted(document, self.script, self.settings);
        let job = self.job(calls)?.stdin(input::text(&document, self.settings.input));
        let limits = job.limits.clone();
        let outcome = self.ended(context, at, calls, job).await?;
        self.reporter.check(&outcome, &limits)?;
        Ok(outcome)
    }

    /// Runs a job, and waits until the job has ended. `calls` are the calls that the job serves.
    ///
    /// The output of the job may contain values of sensitive properties. The method registers these values by
    /// [`Context::hide`], so that the engine masks them in its records.
    async fn ended(
        &mut self,
        context: &dyn Context,
        at: usize,
        calls: &[&Call],
        job: Job,
    ) -> Result<Outcome, Failure> {
        let outcome = context.job(&self.job_name(at), job).await?;
        let sensitive = calls.iter().flat_map(|call| call.sensitive.iter().cloned()).collect();
        let mut published = published::secrets(&outcome.stdout, &sensitive);
        published.extend(plain::output::secrets(&outcome, &sensitive));
        context.hide(&published);
        self.reporter = Reporter::of(self.script.name(), calls, &published);
        Ok(outcome)
    }

    /// Runs one health check for all calls together. If the script fails, each call gets this failure. The script must
    /// have the style [`Full`](Style::Full), because a plain script can observe only one instance.
    async fn observe_all(
        &mut self,
        context: &dyn Context,
        calls: &[&Call],
    ) -> Vec<Result<Observed, Failure>> {
        let document = input::health_check(calls);
        match self.output(context, 0, calls, document).await {
            Ok(outcome) => self.observations(calls, &outcome),
            Err(failure) => calls.iter().map(|_| Err(failure.clone())).collect(),
        }
    }

    /// Parses the output of a health check, and returns one observation for each call.
    pub(crate) fn observations(&self, calls: &[&Call], outcome: &Outcome) -> Vec<Result<Observed, Failure>> {
        self.observations_in(calls, &self.parsed(calls[0], &outcome.stdout), outcome)
    }

    /// Returns the observation for each call. `output` is the parsed output of the health check.
    pub(crate) fn observations_in(
        &self,
        calls: &[&Call],
        output: &Result<Output, Vec<Diagnostic>>,
        outcome: &Outcome,
    ) -> Vec<Result<Observed, Failure>> {
        let answers = calls.iter().zip(self.answers_in(calls, output, outcome));
        answers.map(|(call, answer)| Ok(observe::observed(call, answer?))).collect()
    }

    /// Runs the health check for a call. The health check script must have the style [`Plain`](Style::Plain).
    async fn observe_plain(
        &mut self,
        context: &dyn Context,
        at: usize,
        call: &Call,
    ) -> Result<Observed, Failure> {
        let (exit, outcome) = self.exit(context, at, call).await?;
        let asked = Role::of(&call.package, &call.action);
        let message = self.reporter.message(&outcome.stderr);
        let (observation, status) = health::observation(asked.as_ref(), call, exit, message.as_deref());
        let report = self.read_plain(call, &outcome, Some(status))?.report;
        Ok(Observed { observation, report })
    }

    /// Runs the script for a call, and reads the answer from the exit code and the files of the script. The script must
    /// have the style [`Plain`](Style::Plain).
    async fn answer_plain(
        &mut self,
        context: &dyn Context,
        at: usize,
        call: &Call,
    ) -> Result<Answer, Failure> {
        let (exit, outcome) = self.exit(context, at, call).await?;
        let message = self.reporter.message(&outcome.stderr);
        let status = match exit {
            _ if self.role == Role::HealthCheck => {
                Some(health::observation(Some(&self.role), call, exit, message.as_deref()).1)
            }
            Exit::Converging => Some(Status::converging(message)),
            _ => None,
        };
        let answer = self.read_plain(call, &outcome, status);
        if answer.is_err()
            && let Some(natural) = plain::output::launched_id(&self.role, &outcome)
        {
            // The script has created the instance, so `down` must be able to remove it.
            context.checkpoint(at, Report { natural: Some(natural), ..Report::settled() }).await?;
        }
        answer
    }

    /// Runs a script of the style [`Plain`](Style::Plain) for a call. Returns the meaning of the exit code, and the
    /// outcome of the script's job.
    async fn exit(
        &mut self,
        context: &dyn Context,
        at: usize,
        call: &Call,
    ) -> Result<(Exit, Outcome), Failure> {
        let job = plain::input::with_call(&self.role, call, self.job(&[call])?);
        let limits = job.limits.clone();
        let outcome = self.ended(context, at, &[call], job).await?;
        let stated = Exit::of(&self.role, &outcome);
        if stated.is_none() {
            self.reporter.check(&outcome, &limits)?;
        }
        Ok((stated.unwrap_or(Exit::Success), outcome))
    }

    /// Reads the files that a script of the style [`Plain`](Style::Plain) wrote for a call.
    fn read_plain(&self, call: &Call, outcome: &Outcome, status: Option<Status>) -> Result<Answer, Failure> {
        let answer = plain::output::answer(&self.role, call, outcome, status)
            .map_err(|problems| self.reporter.protocol(&problems, &outcome.stderr))?;
        Ok(answer.with_left_behind(self.script.name(), &outcome.left_behind).masked(&self.reporter))
    }

    /// Parses the output of a job, and returns the answer to each call, in the order of `calls`. All calls must have
    /// the same package.
    fn answers(&self, calls: &[&Call], outcome: &Outcome) -> Vec<Result<Answer, Failure>> {
        self.answers_in(calls, &self.parsed(calls[0], &outcome.stdout), outcome)
    }

    /// Parses the output of a job. The package of `call` determines the fields that the updates in the output may
    /// change.
    pub(crate) fn parsed(&self, call: &Call, stdout: &Captured) -> Result<Output, Vec<Diagnostic>> {
        let name = format!("stdout of {}", self.script.name());
        Output::read_as(&name, stdout, call.package.shape(), self.settings.adapter)
    }

    /// Finds the answers to calls in the parsed output of a job.
    fn answers_in(
        &self,
        calls: &[&Call],
        output: &Result<Output, Vec<Diagnostic>>,
        outcome: &Outcome,
    ) -> Vec<Result<Answer, Failure>> {
        let name = self.script.name();
        let failed = |problems: &[Diagnostic]| self.reporter.protocol(problems, &outcome.stderr);
        let output = match output {
            Ok(output) => output,
            Err(problems) => return calls.iter().map(|_| Err(failed(problems))).collect(),
        };
        let asked: BTreeSet<&str> = calls.iter().map(|call| input::natural(call)).collect();
        let answer = |(at, call): (usize, &&Call)| {
            let printed = Printed { role: &self.role, call, asked: &asked, notes_others: at == 0 };
            let answer = printed.read(output).map_err(|problems| failed(&problems))?;
            Ok(answer.with_left_behind(name, &outcome.left_behind).masked(&self.reporter))
        };
        calls.iter().enumerate().map(answer).collect()
    }

    fn job(&self, calls: &[&Call]) -> Result<Job, Failure> {
        let call = calls[0];
        let job = job::job(self.script, &call.package, &call.location, self.settings)
            .map_err(|refusal| refused(&self.reporter, &refusal))?;
        let job = calls.iter().fold(job, |job, call| job::with_secrets(&call.location, &call.secrets(), job));
        let job = job.on_owner_death(job::fate(&self.role));
        Ok(match calls {
            [call] => job.label("element", call.element.as_str()).label("action", call.action.as_str()),
            _ => job.label("action", self.role.job_name()),
        })
    }

    fn job_name(&self, at: usize) -> String {
        match at {
            0 => self.role.job_name().to_owned(),
            at => format!("{}-{}", self.role.job_name(), at + 1),
        }
    }
}

/// Returns the script that serves a call, and the role of the script. Returns a failure if the package has no
/// script for the action, or more than one.
///
/// Such a failure is rare, because windlass checks each package before it copies the package to the store.
pub(crate) fn script_for(call: &Call) -> Result<(Role, ScriptFile<'_>), Failure> {
    let (package, action) = (call.package.name(), &call.action);
    let refused = |why: String| Failure::new(FailureKind::Refused, why);
    let role = Role::of(&call.package, action)
        .ok_or_else(|| refused(format!("the driver `{KIND}` does not know the action `{action}`")))?;
    match scripts::candidates(&call.package, action, &role)[..] {
        [script] => Ok((role, script)),
        [] => Err(refused(format!("`{package}` has no script for {action}"))),
        _ => Err(refused(format!("`{package}` has more than one script for {action}"))),
    }
}

fn refused(reporter: &Reporter, refusal: &JobRefusal) -> Failure {
    reporter.failure(FailureKind::Refused, &refusal.to_string(), "")
}
