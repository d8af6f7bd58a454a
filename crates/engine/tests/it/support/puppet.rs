//! A driver that does what a test prescribes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass_driver::contract::{Found, Query};
use windlass_driver::{
    Call, Context, Driver, JobFailure, Nature, Observation, Observed, Package, Report, Settled,
};
use windlass_executor::Job;
use windlass_model::name::DriverKind;
use windlass_model::record::{Effect, Failure, FailureKind};
use windlass_model::resolve::text_of;
use windlass_model::{Action, CommandName, Transition};

/// The behaviour of one call.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Runs its job, then reports a failure.
    Fail,
    /// Runs its job, then reports a refusal, which means that nothing was done.
    Refuse,
    /// Runs its job, then is converging for this many observations.
    Converge(u32),
    /// Runs its job, then publishes these outputs and no others.
    Publish(Value),
    /// Runs its job, then publishes this output in addition to the earlier ones.
    PublishMore(&'static str, Value),
    /// Runs its job, whose answer then can't be used.
    Garble,
    /// Runs its job, then returns the given report.
    Answer(Report),
    /// Runs its job, then registers this text as a secret, and continues with the next act for the same call.
    Hide(&'static str),
    /// Runs its job, then reports this natural id.
    Name(String),
    /// Makes an id durable, then fails.
    CheckpointThenFail(&'static str),
    /// Runs its job, then panics.
    Panic(&'static str),
    /// Panics before it asks for its job.
    PanicAtOnce,
    /// Runs its job, then never returns.
    Hang,
}

/// The instances that the driver keeps after changes of their packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Keeps {
    #[default]
    None,
    All,
}

/// The failure of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoil {
    /// The check fails for all elements.
    Fails,
    /// The driver panics.
    Panics,
    /// The check could not run.
    NotRun,
    /// The check never answers.
    Hangs,
}

/// The control of the puppet: the behaviour of calls, the results of observations, and the calls so far.
#[derive(Clone)]
pub(crate) struct Strings {
    effect: Effect,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each flag switches one behaviour of the puppet")]
struct State {
    acts: BTreeMap<String, VecDeque<Act>>,
    sights: BTreeMap<String, VecDeque<Observation>>,
    calls: Vec<String>,
    told: Vec<String>,
    /// The calls of elements with the property `in`, each with the value of this property.
    inputs: Vec<String>,
    private: Vec<Value>,
    packages: Vec<String>,
    at_once: usize,
    most_at_once: usize,
    observable: bool,
    names: bool,
    idle: bool,
    /// If set, the driver panics with this message when the engine asks about an action.
    panics_when_asked: Option<&'static str>,
    keeps: Keeps,
    batch: Option<String>,
    /// The elements of each observation of a batch.
    observed: Vec<Vec<String>>,
    /// The elements whose presence spoils a whole batch.
    spoilers: Vec<(String, Spoil)>,
    searches_hang: bool,
}

impl Strings {
    pub(crate) fn new(effect: Effect) -> Self {
        Self { effect, state: Arc::default() }
    }

    /// Sets the behaviour of the next call named `call`, such as `B Configure`.
    pub(crate) fn act(&self, call: &str, act: Act) {
        let mut state = self.lock();
        state.observable |= matches!(act, Act::Converge(_));
        state.acts.entry(call.to_owned()).or_default().push_back(act);
    }

    /// Sets the result of the next observation after a call named `call`. After `B Configure`, for example, the result
    /// concerns the element `B`.
    pub(crate) fn see(&self, call: &str, sight: Observation) {
        let mut state = self.lock();
        state.observable = true;
        state.sights.entry(call.to_owned()).or_default().push_back(sight);
    }

    /// Makes Install choose ids that nothing else can derive.
    pub(crate) fn name_themselves(&self) {
        self.lock().names = true;
    }

    /// Sets how the driver reacts if the engine asks about an action. If `message` is given, the driver panics with
    /// this message. If `message` is `None`, the driver answers.
    pub(crate) fn panic_when_asked(&self, message: Option<&'static str>) {
        self.lock().panics_when_asked = message;
    }

    /// Makes the driver check several elements in one observation.
    pub(crate) fn observe_in_batches(&self) {
        let mut state = self.lock();
        (state.batch, state.observable) = (Some("all".to_owned()), true);
    }

    /// Makes each observation of an element fail, and also each observation of a batch that contains the element.
    pub(crate) fn spoil(&self, element: &str, spoil: Spoil) {
        self.lock().spoilers.push((element.to_owned(), spoil));
    }

    /// Makes the driver give no answer to searches.
    pub(crate) fn hang_searches(&self) {
        self.lock().searches_hang = true;
    }

    /// Returns the elements of each observation so far, and forgets them.
    pub(crate) fn take_observed(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.lock().observed)
    }

    /// Makes the driver keep its instances after changes of their packages.
    pub(crate) fn keep_packages(&self) {
        self.lock().keeps = Keeps::All;
    }

    /// Makes all actions no-ops from now on.
    pub(crate) fn idle(&self) {
        self.lock().idle = true;
    }

    /// Returns all calls so far in order, such as `B Configure`. A repeated call contains the number of its attempt,
    /// such as `B Configure (attempt 2)`.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// Returns the arguments of all operations so far in order. Each entry contains the element, the operation and the
    /// value of the argument, such as `b Join 1`.
    pub(crate) fn inputs(&self) -> Vec<String> {
        self.lock().inputs.clone()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.lock().told.clone()
    }

    /// Returns one private state for each call of `a` so far: the state that the call received. The states are in the
    /// order of the calls.
    pub(crate) fn private(&self) -> Vec<Value> {
        self.lock().private.clone()
    }

    /// Returns all calls so far in order with the digests of their packages, such as `a Start by sha256:…`.
    pub(crate) fn packages(&self) -> Vec<String> {
        self.lock().packages.clone()
    }

    /// Returns the maximum number of concurrent calls so far.
    pub(crate) fn most_at_once(&self) -> usize {
        self.lock().most_at_once
    }

    /// Takes the next act of a call.
    fn next(&self, call: &str) -> Option<Act> {
        self.lock().acts.get_mut(call).and_then(VecDeque::pop_front)
    }

    /// Tells whether a call panics before its job.
    fn panics_at_once(&self, call: &str) -> bool {
        let mut state = self.lock();
        let acts = state.acts.get_mut(call);
        let acts = acts.filter(|acts| matches!(acts.front(), Some(Act::PanicAtOnce)));
        acts.and_then(VecDeque::pop_front).is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no test panics with it")
    }
}

pub(crate) struct Puppet(pub(crate) Strings);

fn title(call: &Call) -> String {
    format!("{} {}", call.element.local(), call.action)
}

impl Puppet {
    async fn play(&self, context: &dyn Context, call: &Call) -> Result<Report, Failure> {
        let title = title(call);
        {
            let mut state = self.0.lock();
            let attempt =
                if call.attempt > 1 { format!(" (attempt {})", call.attempt) } else { String::new() };
            state.calls.push(format!("{title}{attempt}"));
            state.packages.push(format!("{title} by {}", call.package.digest().0));
            if call.element.local() == "a" {
                state.private.push(call.private.value.clone());
            }
            for input in call.arguments.values() {
                state.told.push(format!("{title} {}", text_of(&input.value)));
            }
            if let Some(input) = call.properties.get("in") {
                state.inputs.push(format!("{title} {}", text_of(&input.value)));
            }
            state.at_once += 1;
            state.most_at_once = state.most_at_once.max(state.at_once);
        }
        assert!(!self.0.panics_at_once(&title), "it was told to panic");
        let job = Job::command(title.clone());
        let outcome = context.job("run", job).await.map_err(|failure| match failure {
            JobFailure::Lost(failure) | JobFailure::NotRun(failure) => failure,
            _ => Failure::new(FailureKind::Failed, "no outcome"),
        });
        self.0.lock().at_once -= 1;
        outcome?;
        let mut act = self.0.next(&title);
        while let Some(Act::Hide(secret)) = act {
            context.hide(&[secret.to_owned()]);
            act = self.0.next(&title);
        }
        let tells = !self.0.lock().names || call.action == Action::Transition(Transition::Install);
        let natural = tells.then(|| format!("n-{}", call.element.local()));
        match act {
            None => Ok(Report { natural, ..Report::settled() }),
            Some(Act::Fail) => {
                Err(Failure::new(FailureKind::Failed, "it was told to fail").with_detail("details"))
            }
            Some(Act::Refuse) => Err(Failure::new(FailureKind::Refused, "it was told to refuse")),
            Some(Act::Garble) => Err(Failure::new(FailureKind::Protocol, "the answer is garbage")),
            Some(Act::Converge(times)) => {
                let mut state = self.0.lock();
                let sights = state.sights.entry(title).or_default();
                sights.extend(std::iter::repeat_n(Observation::Converging, times as usize));
                Ok(Report { natural, settled: Settled::Converging, ..Report::settled() })
            }
            Some(Act::Publish(outputs)) => {
                let updates = json!({ "interfaces": { "properties": { "signals": outputs } } });
                Ok(Report { natural, updates, ..Report::settled() })
            }
            Some(Act::PublishMore(output, value)) => {
                let path = format!("interfaces.properties.signals.{output}");
                Ok(Report { natural, updates: json!({ "$set": { path: value } }), ..Report::settled() })
            }
            Some(Act::Answer(report)) => Ok(Report { natural, ..report }),
            Some(Act::Name(natural)) => Ok(Report { natural: Some(natural), ..Report::settled() }),
            Some(Act::Hide(_)) => unreachable!("it is done before"),
            Some(Act::Panic(message)) => panic!("{message}"),
            Some(Act::PanicAtOnce) => unreachable!("it has panicked before its job"),
            Some(Act::Hang) => std::future::pending().await,
            Some(Act::CheckpointThenFail(id)) => {
                context.checkpoint(0, Report { natural: Some(id.to_owned()), ..Report::settled() }).await?;
                Err(Failure::new(FailureKind::Failed, "it failed later"))
            }
        }
    }
}

impl Puppet {
    /// Panics if the test has asked for that.
    fn describe(&self) {
        let message = self.0.lock().panics_when_asked;
        if let Some(message) = message {
            panic!("{message}");
        }
    }
}

#[async_trait]
impl Driver for Puppet {
    fn kind(&self) -> DriverKind {
        "puppet".parse().expect("valid")
    }

    fn family(&self) -> &'static str {
        "puppet"
    }

    fn check(&self, _: &Package) -> Vec<windlass_driver::PackageProblem> {
        Vec::new()
    }

    fn users(&self, _: &Package, _: &str) -> Option<Vec<Action>> {
        self.describe();
        None
    }

    fn late_results(&self, _: &Package, _: &CommandName) -> Option<Duration> {
        self.describe();
        None
    }

    fn nature(&self, _: &Package, action: &Action) -> Option<Nature> {
        self.describe();
        let (observable, names, idle, batch) = {
            let state = self.0.lock();
            (state.observable, state.names, state.idle, state.batch.clone())
        };
        if idle {
            return None;
        }
        let names = names && *action == Action::Transition(Transition::Install);
        let timeout = Duration::from_secs(60);
        Some(Nature { effect: self.0.effect, observable, batch, timeout, names })
    }

    fn keeps(&self, _: &Package, _: &Package) -> bool {
        self.0.lock().keeps == Keeps::All
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut answers = Vec::new();
        for call in calls {
            answers.push(self.play(context, call).await);
        }
        answers
    }

    async fn observe(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        let elements: Vec<String> = calls.iter().map(|call| call.element.local().to_owned()).collect();
        let spoil = {
            let mut state = self.0.lock();
            state.observed.push(elements.clone());
            state.spoilers.iter().find(|(spoiler, _)| elements.contains(spoiler)).map(|(_, spoil)| *spoil)
        };
        let failure = match spoil {
            Some(Spoil::Panics) => panic!("it was told to panic"),
            Some(Spoil::Hangs) => std::future::pending().await,
            Some(Spoil::Fails) => Some(Failure::new(FailureKind::Failed, "it was told to fail")),
            Some(Spoil::NotRun) => Some(Failure::new(FailureKind::Infrastructure, "there is no runtime")),
            None => None,
        };
        if let Some(failure) = failure {
            return calls.iter().map(|_| Err(failure.clone())).collect();
        }
        let sight = |call: &Call| {
            let seen = self.0.lock().sights.get_mut(&title(call)).and_then(VecDeque::pop_front);
            Ok(Observed { observation: seen.unwrap_or(Observation::Reached), report: Report::settled() })
        };
        calls.iter().map(sight).collect()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        if self.0.lock().searches_hang {
            std::future::pending::<()>().await;
        }
        Ok(Vec::new())
    }
}
