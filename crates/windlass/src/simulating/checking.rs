//! Health checks of many simulated applications. If the file of answers contains data for the applications,
//! these data are the results. If not, the driver checks the applications in groups.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use windlass_driver::{Call, Failure, FailureKind, Observed};
use windlass_engine::check_failure;
use windlass_engine::halving::{Group, GroupEnd, Halving, LARGEST_BATCH, is_unclear, too_many_hang};
use windlass_executor::End;
use windlass_model::Timestamp;
use windlass_model::instance::LogEntry;
use windlass_model::record::Severity;
use windlass_script::{observed, observed_all};
use windlass_secret::Redactor;
use windlass_update_ops::Update;

use super::answered::check_update;
use super::application::Application;
use super::context::Kept;
use super::events::Runs;
use super::host::{Asked, Element, Host, no_answer};
use super::machine::{CheckAnswer, Key, Machine};
use super::rules::{Rule, Says, Script, Subject};

/// Maximum number of lines of stderr that a health check adds to the timeline.
const LINES: usize = 100;

/// The [number](CheckAnswer::number) of the default answer to a health check. Any other number is the position of
/// an answer in the file of answers. The default answer is used if this file contains no answer to the check.
const STANDARD: usize = usize::MAX;

impl Host<'_> {
    /// Checks applications of a factory. Applications of the same title are checked together.
    pub(super) async fn check(&self, machine: &Machine<'_>, now: Timestamp, keys: &[Key]) -> Asked {
        let mut by_title: BTreeMap<usize, Vec<(Key, &Application)>> = BTreeMap::new();
        for key in keys {
            if let Some(application) = machine.application(*key) {
                by_title.entry(application.title).or_default().push((*key, application));
            }
        }
        let mut asked = Asked::default();
        for (title, applications) in by_title {
            let active = self.parts.rules.active(&Script::HealthCheck, Some(title), self.since(now));
            let rule = |application: &Application| {
                self.parts.rules.first(&active, Subject::of(&application.check, application.name.as_str()))
            };
            let all =
                applications.into_iter().map(|(key, application)| (key, application, rule(application)));
            let runs = |rule: &Option<usize>| self.parts.runtime.is_some() && rule.is_none();
            let (scripted, answered): (Vec<Element<'_>>, Vec<Element<'_>>) =
                all.partition(|(.., rule)| runs(rule));
            for batch in answered.chunks(LARGEST_BATCH).chain(scripted.chunks(LARGEST_BATCH)) {
                let one = match self.known(title, batch) {
                    Some(known) => known,
                    None => self.halve(now, batch).await,
                };
                asked.answers.extend(one.answers);
                asked.lines.extend(one.lines);
                asked.took = asked.took.max(one.took);
                asked.runs.add(one.runs);
            }
        }
        asked
    }

    /// Returns the results of a health check of `batch`, if no call of the driver is needed to determine them. For
    /// this, each application in `batch` must have an answer with the content [`Says::Instance`]. In a simulation
    /// without a runtime, an application without an answer gets the default answer, which has this content.
    ///
    /// Otherwise, returns `None`. Also returns `None` if the health check reaches its timeout.
    fn known(&self, title: usize, batch: &[Element<'_>]) -> Option<Asked> {
        let rule = |number: Option<usize>| number.map_or(&self.standard, |at| self.parts.rules.get(at));
        let is_data = |(.., number): &Element<'_>| {
            (self.parts.runtime.is_none() || number.is_some())
                && matches!(rule(*number).says, Says::Instance(_))
        };
        let took = batch.iter().map(|(.., number)| rule(*number).takes).max().unwrap_or_default();
        if took >= self.timeouts[title] || !batch.iter().all(is_data) {
            return None;
        }
        let answer = |(key, application, number): &Element<'_>| {
            let rule = rule(*number);
            let number = Some(number.unwrap_or(STANDARD)).filter(|_| !rule.parsed.is_empty());
            // An answer also ends overdue commands, so it is applied as long as a command is open.
            let is_same =
                number.is_some() && application.unchanged_by == number && application.commands.is_empty();
            let answer = (!is_same).then(|| self.data(title, application, rule));
            CheckAnswer { key: *key, revision: application.revision, answer, number }
        };
        let answers: Vec<CheckAnswer> = batch.iter().map(answer).collect();
        let mut runs = Runs::default();
        runs.note(answers.iter().any(|answer| matches!(answer.answer, Some(Err(_)))));
        Some(Asked { answers, lines: Vec::new(), took, runs })
    }

    /// Returns the result of an application's health check, from the data of a rule.
    fn data(&self, title: usize, application: &Application, rule: &Rule) -> Result<Observed, Failure> {
        if let Some(Some(update)) = rule.parsed.get(title) {
            return observed(&application.check, update.clone());
        }
        let Says::Instance(instance) = &rule.says else { return Err(no_answer()) };
        let update = check_update(instance, &application.check, application.name.as_str());
        let parsed = Update::parse(&update, &self.parts.cast.titles[title].compiled.shape);
        match parsed {
            Ok(parsed) => observed(&application.check, parsed.update),
            Err(errors) => {
                let first = errors.first().map(ToString::to_string).unwrap_or_default();
                Err(Failure::new(FailureKind::Protocol, first))
            }
        }
    }

    /// Checks the applications of a batch in groups. An application with an unclear answer is checked again in a
    /// smaller group. An answer is unclear if the check has run and failed, or if the driver can't tell the state of
    /// the application. [`Halving`] chooses the groups.
    async fn halve(&self, now: Timestamp, batch: &[Element<'_>]) -> Asked {
        let suspect = |application: &Application| {
            application.failed_check.as_ref().is_some_and(check_failure::is_suspect)
        };
        let suspects = batch.iter().map(|(_, application, _)| suspect(application)).collect();
        let mut halving = Halving::new(suspects);
        let mut answers: Vec<Result<Observed, Failure>> = batch.iter().map(|_| Err(no_answer())).collect();
        let mut asked = Asked::default();
        loop {
            let wave = halving.take_wave();
            if wave.is_empty() {
                break;
            }
            let mut longest = Duration::ZERO;
            for group in wave {
                let (answered, kept) = self.ask_group(now, batch, &group).await;
                // The groups of one round run at the same time, so the longest duration counts.
                longest = longest.max(kept.took);
                let end = GroupEnd::of(&answered);
                asked.runs.note(answered.iter().any(Result::is_err));
                asked.lines.extend(lines(batch, &answered, &kept.stderr));
                let mut unclear = Vec::new();
                for (element, answer) in group.iter().zip(answered) {
                    if is_unclear(&answer) {
                        unclear.push(*element);
                    }
                    answers[*element] = answer;
                }
                halving.answered(&group, unclear, end);
            }
            asked.took += longest;
        }
        for element in halving.unresolved() {
            answers[element] = Err(too_many_hang(&answers[element]));
        }
        let answer = |((key, application, _), answer): (&Element<'_>, _)| CheckAnswer {
            key: *key,
            revision: application.revision,
            answer: Some(answer),
            number: None,
        };
        asked.answers = batch.iter().zip(answers).map(answer).collect();
        asked
    }

    async fn ask_group(
        &self,
        now: Timestamp,
        batch: &[Element<'_>],
        group: &Group,
    ) -> (Vec<Result<Observed, Failure>>, Kept) {
        let part: Vec<Element<'_>> = group.iter().map(|element| batch[*element]).collect();
        if let Some(answered) = self.printed(now, &part) {
            return answered;
        }
        let calls: Vec<Call> = part.iter().map(|(_, application, _)| application.check.clone()).collect();
        self.ask(now, &calls, &part).await
    }

    /// Returns the results of a health check of the applications in `part` without a call of the driver. The method
    /// takes the output of the script from the file of answers, and reads the results from this output.
    ///
    /// If the caller must call the driver instead, returns `None`. There are two such cases:
    ///
    /// - The simulation has a runtime, and the file has no answer for any of the applications. The driver really runs
    ///   the script.
    /// - The simulated script fails or reaches its timeout. The driver derives the failure from the simulated output,
    ///   and does not run the script.
    fn printed(
        &self,
        now: Timestamp,
        part: &[Element<'_>],
    ) -> Option<(Vec<Result<Observed, Failure>>, Kept)> {
        let runs = self.parts.runtime.is_some() && part.iter().all(|(.., rule)| rule.is_none());
        let (_, first, number) = part.first().filter(|_| !runs)?;
        let calls: Vec<&Call> = part.iter().map(|(_, application, _)| &application.check).collect();
        let printout = self.printout(part, calls.iter().copied());
        let (outcome, took) = printout.outcome(self.timeouts[first.title], now);
        let has_succeeded = outcome.end == End::Exited(0);
        has_succeeded.then(|| {
            let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
            let parsed = parsed.entry((first.title, *number)).or_default();
            (observed_all(&calls, &outcome, parsed), Kept { took, ..Kept::default() })
        })
    }
}

/// Returns the warnings and errors that a health check script has written to stderr, at most [`LINES`] of them. Secrets
/// are masked. If one of the `answers` is a failure, returns no entries.
fn lines(batch: &[Element<'_>], answers: &[Result<Observed, Failure>], stderr: &str) -> Vec<LogEntry> {
    if stderr.is_empty() || answers.iter().any(Result::is_err) {
        return Vec::new();
    }
    let secrets = batch.first().map(|(_, application, _)| application.check.secrets()).unwrap_or_default();
    let text = Redactor::new(&secrets).mask_str(stderr);
    let lines = text.lines().filter_map(Severity::of_line);
    let lines = lines.filter(|(severity, _)| *severity >= Severity::Warning).take(LINES);
    lines.map(|(severity, message)| LogEntry::new(severity, message)).collect()
}
