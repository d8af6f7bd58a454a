//! Requests: intents with all their inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_driver::Package;
use windlass_model::assembly::{MaxSurge, MaxUnavailable};
use windlass_model::record::{AssemblyRecord, Assumption, CallRecord, Intent, LaunchedFrom, ProcessRecord};
use windlass_model::{
    AssemblyName, CallId, CommandName, DescriptorName, ElementName, ProcessId, PropertyName, State, Topology,
};
use windlass_secret::{SecretRef, Sensitive};

use super::condition::Condition;
use super::consent::Consent;
use super::fingerprint::PlanFingerprint;
use crate::error::EngineError;

/// An operator's answer about undecided calls, whose outcome only a person can determine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The operator's statement about the calls, for example that they were executed.
    pub what: Assumption,
    /// The elements to which this answer applies. The answer gives the outcome of all undecided calls of these
    /// elements. If `of` and [`calls`](Self::calls) are both empty, the answer applies to all undecided calls.
    pub of: Vec<ElementName>,
    /// The individual undecided calls to which this answer applies, in addition to the calls of the elements in
    /// [`of`](Self::of). Calls of one element can have different outcomes, and then need different answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallId>,
    /// The outputs of the element. The operator states them if the call was executed and its report is lost. If there
    /// are outputs, the answer must apply to exactly one element, and this element must declare these outputs.
    #[serde(default)]
    pub published: PublishedOutputs,
    /// The natural id of the instance that the call has launched. A natural id identifies an instance outside of
    /// windlass, for example the id of a virtual machine. The operator states the natural id if the driver's report
    /// of the launch is lost. `None` means that the answer states no natural id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural: Option<String>,
}

/// The outputs of an element, as stated by an operator. Values may be secret, so `Debug` prints only names.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublishedOutputs(pub BTreeMap<PropertyName, Value>);

impl fmt::Debug for PublishedOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The arguments of a command. Values may be secret, so `Debug` prints only names.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arguments(pub BTreeMap<PropertyName, Argument>);

/// An argument of a command.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// The value of the argument.
    pub value: Value,
    /// Whether the value is a secret, which is masked in all output.
    pub sensitive: bool,
}

impl Arguments {
    /// Collects arguments by name. An argument for which `is_secret` returns true is masked in all output.
    ///
    /// # Errors
    /// A name is not a valid property name.
    pub fn new(
        given: impl IntoIterator<Item = (String, Value)>,
        is_secret: impl Fn(&str) -> bool,
    ) -> Result<Self, EngineError> {
        let argument = |(name, value): (String, Value)| {
            let sensitive = is_secret(&name);
            let parsed =
                name.parse().map_err(|cause| EngineError::NotAnArgument { argument: name, cause })?;
            Ok((parsed, Argument { value, sensitive }))
        };
        Ok(Self(given.into_iter().map(argument).collect::<Result<_, EngineError>>()?))
    }

    /// Tells whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Answer {
    /// Creates an answer for all undecided calls.
    pub fn of_all(what: Assumption) -> Self {
        Self {
            what,
            of: Vec::new(),
            calls: Vec::new(),
            published: PublishedOutputs::default(),
            natural: None,
        }
    }

    /// Tells whether the answer covers a call.
    pub fn is_about(&self, call: &CallRecord) -> bool {
        let is_of_all = self.of.is_empty() && self.calls.is_empty();
        is_of_all || self.of.contains(&call.element) || self.calls.contains(&call.id)
    }
}

/// An intent with its inputs.
///
/// An [`Intent`] without inputs is converted with `Request::from`. The constructors create requests with
/// inputs.
#[derive(Debug, Clone)]
#[must_use]
pub struct Request {
    pub(super) intent: Intent,
    /// The new desired assembly of `up`; `None` means that the recorded assembly is the desired assembly.
    pub(super) desired: Option<Box<Desired>>,
    /// Packages for `down`. Each package replaces the pinned package of the same name.
    pub(super) packages: Vec<Arc<Package>>,
    /// The operator's answer: it states the outcome of undecided calls. A call is undecided if windlass can't determine
    /// its outcome. If the assembly has an undecided call and `answer` is `None`, the intent is refused.
    pub(super) answer: Option<Answer>,
    /// The arguments of the command that an intent [`Call`](Intent::Call) calls; empty for other intents.
    pub(super) arguments: Arguments,
    /// The required plan. An intent that leads to another plan is refused.
    pub(super) expected: Option<PlanFingerprint>,
    /// The user's permission to remove or replace installed parts.
    pub(super) consent: Consent,
    /// Whether the request resumes an interrupted process without asking a user; see [`Request::resuming`].
    pub(super) resumes: bool,
    /// The maximum time for the health checks before the plan is made; `None` means that no health checks are
    /// made.
    pub(super) refresh: Option<Duration>,
    /// The parts that `down` is limited to.
    pub(super) selection: Selection,
    /// The conditions that the health checks must find. If they find other conditions, the intent is refused.
    pub(super) observed: Option<BTreeMap<ElementName, Condition>>,
}

impl From<Intent> for Request {
    fn from(intent: Intent) -> Self {
        Self {
            intent,
            desired: None,
            packages: Vec::new(),
            answer: None,
            arguments: Arguments::default(),
            expected: None,
            consent: Consent::Any,
            resumes: false,
            refresh: None,
            selection: Selection::default(),
            observed: None,
        }
    }
}

impl Request {
    /// Returns a request to create, change or repair an assembly, so that it becomes the desired assembly.
    pub fn up(desired: Desired) -> Self {
        let intent = if desired.options.adopt { Intent::Adopt } else { Intent::Up };
        Self { desired: Some(Box::new(desired)), ..intent.into() }
    }

    /// Returns a request for `down` that uses other packages than the pinned packages. A pinned package is the
    /// copy of a package that the store keeps for the removal of the assembly. Each package in `packages`
    /// replaces the pinned package of the same name.
    pub fn down_with(packages: Vec<Arc<Package>>) -> Self {
        Self { packages, ..Intent::Down.into() }
    }

    /// Returns a request to resume the last intent, with an operator's answer about undecided calls.
    pub fn retry(answer: Answer) -> Self {
        Self { answer: Some(answer), ..Intent::Retry.into() }
    }

    /// Returns a request to resume an interrupted process without asking a user. The plan differs from other plans in
    /// two ways: it omits the removals and replacements that the user has not permitted for the interrupted process,
    /// and a heal does not restart the parts that are up again. A heal begins with health checks of at most `checks`. The
    /// scaling of a policy stays a scaling, so that it does not complete other changes.
    pub(super) fn resuming(interrupted: &ProcessRecord, checks: Duration) -> Self {
        let is_of_policy = interrupted.unattended && interrupted.request.is_none();
        let (intent, refresh) = match &interrupted.intent {
            heal @ Intent::Heal(_) => (heal.clone(), Some(checks)),
            scale @ (Intent::ScaleOut(_) | Intent::ScaleIn(_)) if is_of_policy => (scale.clone(), None),
            _ => (Intent::Retry, None),
        };
        Self { consent: Consent::to_resume_unasked(interrupted), resumes: true, refresh, ..intent.into() }
    }

    /// Returns a request for an intent that a policy demands. The plan removes and replaces only the parts that the intent
    /// itself concerns: a scaling in removes nodes of its cluster, and a heal may replace its part. The plan omits all other
    /// removals and replacements, because no user has permitted them. A heal begins with health checks of at most
    /// `checks`.
    pub fn of_policy(intent: Intent, checks: Duration) -> Self {
        let refresh = matches!(intent, Intent::Heal(_)).then_some(checks);
        Self { consent: Consent::Only(BTreeSet::new()), refresh, ..intent.into() }
    }

    /// Returns the request with an operator's answer about undecided calls; see [`Answer`].
    pub fn with_answer(self, answer: Option<Answer>) -> Self {
        Self { answer, ..self }
    }

    /// Returns a request to call a command of a resource.
    pub fn call(part: ElementName, command: CommandName, arguments: Arguments) -> Self {
        Self { arguments, ..Intent::Call { part, command }.into() }
    }

    /// Returns the request with a required plan. If the plan of the intent differs from this plan, the intent
    /// is refused.
    pub fn as_planned(self, expected: PlanFingerprint) -> Self {
        Self { expected: Some(expected), ..self }
    }

    /// Sets the user's consent to the removal and replacement of installed parts, and returns the changed request. The
    /// default is [`Consent::Any`].
    pub fn with_consent(self, consent: Consent) -> Self {
        Self { consent, ..self }
    }

    /// Sets the time limit for the health checks of all Active parts, and returns the changed request.
    ///
    /// The checks run before the plan is made. The plan repairs the parts that the checks find gone or broken.
    /// All checks together take at most the time `within`. If `within` is `None`, no health checks are made.
    pub fn refreshed(self, within: Option<Duration>) -> Self {
        Self { refresh: within, ..self }
    }

    /// Sets the conditions that the health checks must find, for example that a part is gone, and returns the changed
    /// request. If the checks find other conditions than `observed`, the intent is refused.
    pub fn as_observed(self, observed: BTreeMap<ElementName, Condition>) -> Self {
        Self { observed: Some(observed), ..self }
    }

    /// Returns the request with a selection of the parts that `down` removes. Intents other than `down` ignore
    /// the selection. When no part of the assembly is left, the assembly itself is removed, too.
    pub fn limited_to(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// Returns the selection of the parts that `down` removes.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the request without its conditions: the plan need not match an expected plan, and no health checks are
    /// made.
    pub(super) fn unconditional(self) -> Self {
        Self { expected: None, observed: None, refresh: None, ..self }
    }

    /// Returns the elements that `up` creates again even if they have not changed.
    pub(super) fn replaced(&self) -> BTreeSet<ElementName> {
        self.desired.as_ref().map(|desired| desired.options.replace.clone()).unwrap_or_default()
    }

    /// Returns the intent of the request.
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// Returns the desired topology of a request from [`Request::up`]; `None` for all other requests.
    pub fn topology(&self) -> Option<&Topology> {
        self.desired.as_ref().map(|desired| &desired.topology)
    }

    /// Returns the packages that `down` uses in place of the pinned packages of the same names. The list is empty
    /// unless [`down_with`](Self::down_with) has created the request.
    pub fn packages(&self) -> &[Arc<Package>] {
        &self.packages
    }

    /// Tells whether the intent can be stored in a saved plan. Two kinds of requests can't be stored: requests
    /// with an operator's answer, and calls of commands. The inputs of these requests may be secret, and must
    /// not be used a second time.
    pub fn can_be_saved(&self) -> bool {
        self.answer.is_none() && !self.intent.repeats()
    }
}

/// A desired assembly with everything that is needed to create it.
#[derive(Debug, Clone)]
pub struct Desired {
    /// The topology of the desired assembly.
    pub topology: Topology,
    /// The name of the descriptor from which the assembly is created.
    pub descriptor: DescriptorName,
    /// The assembly that owns this assembly: the factory of an application. For an assembly that is already
    /// recorded, this field is ignored, and the recorded owner stays.
    pub owner: Option<AssemblyName>,
    /// The published application that the assembly is launched from.
    pub application: Option<LaunchedFrom>,
    /// The given parameters, without sensitive values.
    pub parameters: BTreeMap<PropertyName, Value>,
    /// The sensitive values that the topology refers to.
    pub secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// The packages of the assembly's resources. Assemblies with the same packages may share these packages in
    /// memory.
    pub packages: Vec<Arc<Package>>,
    /// The options of [`Request::up`].
    pub options: UpOptions,
}

/// The parts that a plan is limited to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selection {
    /// The elements that the plan is limited to; empty means all elements.
    pub target: BTreeSet<ElementName>,
    /// The elements that the plan must not change.
    pub except: BTreeSet<ElementName>,
}

impl Selection {
    /// Tells whether the selection contains all parts.
    pub fn is_all(&self) -> bool {
        self.target.is_empty() && self.except.is_empty()
    }
}

/// The options of [`Request::up`].
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpOptions {
    /// The desired state of all elements.
    pub goal: State,
    /// Whether missing elements adopt existing instances. If `false`, missing elements get new instances.
    pub adopt: bool,
    /// The elements to create again, even if they have not changed.
    pub replace: BTreeSet<ElementName>,
    /// The elements that the plan is limited to; empty means all elements. The plan also creates missing elements that
    /// these elements need.
    pub target: BTreeSet<ElementName>,
    /// The elements that the plan must not change.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub except: BTreeSet<ElementName>,
    /// The maximum number of nodes that are down at the same time in each group during a change. `None` means the
    /// number that the descriptor declares, or the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<MaxUnavailable>,
    /// The number of additional nodes that each group gets during a change. `None` means the number that the descriptor
    /// declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<MaxSurge>,
    /// Whether the packages of the desired version are used to stop and remove existing parts. By default, the package
    /// that a part was created from is used to stop and remove this part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub current_packages: bool,
    /// Whether the intent is refused if the assembly exists already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_new: bool,
    /// Whether the intent is refused if its plan creates, replaces or removes an instance. The reconfiguration of a
    /// launched application sets this option, so that a reconfiguration never launches the application again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_instances: bool,
    /// The version of the existing assembly from which the desired assembly was derived. If the assembly has another
    /// version when the plan is made, the intent is refused, because it would undo the change between the two versions.
    /// `None` if the desired assembly does not depend on the existing assembly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Box<BaseVersion>>,
}

/// The version of an assembly from which a desired assembly was derived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseVersion {
    /// The process that wrote the version; `None` if no process has written a version.
    version: Option<ProcessId>,
    /// The published application, with its revision. If only the revision changes, `version` stays the same.
    application: Option<LaunchedFrom>,
}

impl BaseVersion {
    /// Returns the present version of an assembly.
    pub fn of(record: &AssemblyRecord) -> Self {
        Self { version: record.version, application: record.application.clone() }
    }
}

impl Default for UpOptions {
    /// Returns the options of a plain `up`: all elements become Active, and no other option is set.
    fn default() -> Self {
        let (replace, target, except) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self {
            goal: State::Active,
            adopt: false,
            replace,
            target,
            except,
            max_unavailable: None,
            max_surge: None,
            current_packages: false,
            only_new: false,
            keeps_instances: false,
            base: None,
        }
    }
}
