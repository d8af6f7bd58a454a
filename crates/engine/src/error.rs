//! Errors of the execution of intents.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use windlass_lifecycle::{Counts, Effect, HealError, LifecycleError, ScaleError};
use windlass_model::assembly::Origin;
use windlass_model::name::NameError;
use windlass_model::record::{CallRecord, Failure, Intent};
use windlass_model::{
    Action, AssemblyName, CallId, CommandId, CommandName, DescriptorName, ElementName, InstanceId, ProcessId,
    RequestId, State, Timestamp,
};
use windlass_source::Code;
use windlass_store::{Holder, StoreError};

use crate::codes;
use crate::engine::{DestructivePlan, OmittedChanges};

/// The reason why an intent was refused or failed. After such an error nothing has changed, unless the
/// variant says otherwise.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store can't be read or written, or another holder has the lease.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No plan is possible.
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    /// The assembly does not exist.
    #[error("there is no assembly `{name}`{}", near(name, .known))]
    Unknown {
        /// The name of the unknown assembly.
        name: AssemblyName,
        /// The names of the existing assemblies.
        known: Vec<AssemblyName>,
    },
    /// The requested name is taken. An existing assembly has the name, and the request must not change this assembly.
    /// Either the assembly has another descriptor, or the request demands a new assembly
    /// ([`UpOptions::only_new`](crate::UpOptions::only_new)).
    #[error("`{name}` is the name of an assembly of `{other}` already; choose another with `--name`")]
    NameTaken {
        /// The name that is taken.
        name: AssemblyName,
        /// The name of the existing assembly's descriptor.
        other: DescriptorName,
    },
    /// The requested name is reserved. The queued launch of an application will create an assembly of this name.
    #[error(
        "the name `{name}` is reserved by {request}, the queued launch of an application; execute {request} with `windlass run`, withdraw it with `windlass cancel {name} {request}`, or choose another name"
    )]
    NameReserved {
        /// The name that is reserved.
        name: AssemblyName,
        /// The id of the queued request.
        request: RequestId,
    },
    /// The intent can only change an existing assembly, but the assembly does not exist.
    #[error("there is no assembly to change")]
    Nothing,
    /// The assembly is being removed.
    #[error(
        "`{0}` is being taken down; finish that with `windlass down {0}`, or bring it up again with `windlass up`"
    )]
    GoingDown(AssemblyName),
    /// The assembly is a launched application, and the intent can't change applications
    /// ([`Intent::suits_applications`]).
    #[error(
        "`{intent}` is for assemblies with a descriptor, and `{name}` is a launched application; check it with \
         `windlass app check {name}`, change it with `windlass app reconfigure {name}`, or remove it with \
         `windlass app destroy {name}`"
    )]
    ForDescriptors {
        /// The name of the application.
        name: AssemblyName,
        /// The refused intent.
        intent: Box<Intent>,
    },
    /// The records of a single part are to be removed, and the assembly is a launched application.
    #[error(
        "a single part of a launched application can't be forgotten; `windlass app forget {0}` removes all records of `{0}` \
         and leaves its instance as it is, and `windlass app destroy {0}` removes the instance"
    )]
    PartOfApplication(AssemblyName),
    /// The assembly can't be exported, because some of its commands have not reported their final results yet.
    #[error(
        "`{name}` has open commands, whose results an export would lose: {}; wait until `windlass app check {name}` \
         reports the results, or give them up with `--force`",
        opened(.commands)
    )]
    OpenCommands {
        /// The name of the assembly.
        name: AssemblyName,
        /// The ids and the names of the commands.
        commands: Vec<(CommandId, CommandName)>,
    },
    /// Other assemblies reference the assembly, and the intent would remove something that they may use.
    #[error("{}", referenced(.name, .by, .loss))]
    Referenced {
        /// The name of the referenced assembly.
        name: AssemblyName,
        /// The names of the referring assemblies.
        by: Vec<AssemblyName>,
        /// The change that would break the references.
        loss: Loss,
    },
    /// An interrupted process of a referring assembly may still work on elements of the referenced assembly.
    #[error(
        "an interrupted process of `{by}` may still work on parts of `{name}`; resume it first: `windlass retry {by}`"
    )]
    Entangled {
        /// The name of the referenced assembly.
        name: AssemblyName,
        /// The name of the referring assembly.
        by: AssemblyName,
    },
    /// The plan calls operations on elements of another assembly, and a process of that assembly was
    /// interrupted.
    #[error(
        "the plan calls operations on parts of `{0}`, which was interrupted; resume it first: `windlass retry {0}`"
    )]
    Interrupted(AssemblyName),
    /// A process of the assembly was interrupted and has not been resumed.
    #[error("`{0}` was interrupted; resume it first: `windlass retry {0}`")]
    Unfinished(AssemblyName),
    /// No process of the assembly is open, but instances are still changing. The next intent waits for them.
    #[error("{}", still_changing(.name, .calls, *.is_application))]
    Converging {
        /// The name of the assembly.
        name: AssemblyName,
        /// The changing elements, each with the action whose script has ended.
        calls: Vec<(ElementName, Action)>,
        /// Whether the assembly is a launched application.
        is_application: bool,
    },
    /// The export was imported before.
    #[error(
        "this export of `{name}` was imported already, at {at}, and can be imported only once: {}",
        fate_since(.name, .here.as_ref())
    )]
    ImportedBefore {
        /// The name of the assembly.
        name: AssemblyName,
        /// The time of the first import.
        at: Timestamp,
        /// The present name of the imported assembly; `None` if the store does not contain it any more.
        here: Option<AssemblyName>,
    },
    /// An assembly of this name already exists.
    #[error(
        "the assembly `{0}` exists already; rename it with `windlass rename {0} OTHER`, or move it to a file with `windlass export {0}`"
    )]
    AlreadyHere(AssemblyName),
    /// The new name of an assembly is in use.
    #[error("{}", in_use(.name, *.by))]
    NameInUse {
        /// The new name of the assembly.
        name: AssemblyName,
        /// The present use of the name.
        by: NameUse,
    },
    /// The assembly was renamed or exported, so an `up` or `adopt` under its old name would create a second assembly of
    /// the same components.
    #[error("{}", has_moved(.name, .to, .intent))]
    Moved {
        /// The old name of the assembly.
        name: AssemblyName,
        /// The new name of the assembly, or the file of its export.
        to: MovedTo,
        /// The refused intent: `up` or `adopt`.
        intent: Box<Intent>,
    },
    /// An assembly can't be renamed, because a queued request is pending. The request is for the old name, for the new
    /// name, or for an assembly that references the renamed assembly.
    #[error(
        "{request} of `{name}` is pending; execute it with `windlass run`, or withdraw it with `windlass cancel {name} {request}`"
    )]
    Pending {
        /// The name of the assembly that the request is for.
        name: AssemblyName,
        /// The id of the pending request.
        request: RequestId,
    },
    /// The plan differs from the saved plan.
    #[error("the steps for `{0}` would differ from the saved plan; save a new plan")]
    OtherPlan(AssemblyName),
    /// The conditions of some parts differ from the conditions in the saved plan. For example, a part has broken since
    /// the plan was saved.
    #[error("the plan for `{}` is out of date: the conditions of {} differ from what its health checks found; save a new plan", .0, named(.1))]
    OtherConditions(AssemblyName, Vec<ElementName>),
    /// The assembly has changed since the desired assembly was derived from it. The recorded version of the assembly
    /// differs from [`UpOptions::base`](crate::UpOptions::base).
    #[error(
        "`{0}` has changed since this reconfiguration was requested, and the reconfiguration would undo that change; \
         repeat the command"
    )]
    OtherVersion(AssemblyName),
    /// The plan removes or replaces installed parts, and consent is missing.
    #[error(
        "the plan for `{}` removes or replaces existing parts ({}): {}; review it with `--dry-run`, and agree to it with `--yes`",
        .0.assembly, Counts::of(&.0.changes), .0.named()
    )]
    NeedsConsent(Box<DestructivePlan>),
    /// The plan needs the removal or replacement of further parts, and no user has permitted it. The error lists these
    /// parts. The plan heals a part, or belongs to a policy, or resumes an interrupted process without asking the user.
    #[error("it needs changes of other parts that nobody has agreed to: {}; to make them, run `{}`", .0, .0.command())]
    NotPermitted(Box<OmittedChanges>),
    /// The plan creates, replaces or removes an instance, and the intent must keep all instances
    /// ([`UpOptions::keeps_instances`](crate::UpOptions::keeps_instances)).
    #[error(
        "the change of `{0}` would not keep its instance: the plan creates, replaces or removes the instance; complete its \
         last process with `windlass retry {0}` first"
    )]
    KeepsNoInstance(AssemblyName),
    /// The plan removes or replaces a protected part.
    #[error("{}", .0)]
    Protected(Box<ProtectedPart>),
    /// A referenced assembly is missing, is being removed, or has a reference back to the referring assembly.
    #[error("`{by}` references `{name}`, which {why}")]
    ReferenceGone {
        /// The name of the referenced assembly.
        name: AssemblyName,
        /// The name of the referring assembly.
        by: AssemblyName,
        /// The reason, as a sentence fragment.
        why: &'static str,
    },
    /// Another program holds the lease.
    #[error("`{name}` is held by {by}; wait until it ends, or stop it, and try again")]
    Busy {
        /// The name of the assembly.
        name: AssemblyName,
        /// The program that holds the lease.
        by: Box<Holder>,
    },
    /// There is no version to roll back to, or no version to compare.
    #[error("{}", no_version(.name, *.process))]
    NoVersion {
        /// The name of the assembly.
        name: AssemblyName,
        /// The process that the user named, such as `p12`. Neither this process nor an earlier process wrote a version
        /// of the assembly. `None` if the user named no process.
        process: Option<ProcessId>,
    },
    /// A component can't be scaled. For example, its number of nodes would exceed the maximum.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// A part can't be healed. For example, the assembly has no part of this name.
    #[error(transparent)]
    Heal(#[from] HealError),
    /// Elements can't be placed or adopted.
    #[error("{}", unplaced(.0))]
    Unplaceable(Vec<Unplaced>),
    /// An operator must state the outcome of the *undecided* calls: windlass can't determine the outcome of these
    /// calls.
    #[error("{}", undecided(.name, .calls))]
    NeedsDecision {
        /// The name of the assembly.
        name: AssemblyName,
        /// The records of the calls whose outcome the operator must state.
        calls: Vec<CallRecord>,
    },
    /// The outcome of open calls can't be determined at present, because the calls can't be prepared again. For
    /// example, their location is no longer in `windlass.yaml`.
    #[error("{}", unprepared(.name, .calls, *.answered))]
    Unprepared {
        /// The name of the assembly.
        name: AssemblyName,
        /// The records of the calls, each with the reason.
        calls: Vec<(CallRecord, Failure)>,
        /// Whether the engine has already recorded the operator's answer about the undecided calls. `calls` contains
        /// only other calls.
        answered: bool,
    },
    /// The operator has given an answer about undecided calls, but the assembly has no undecided call. A call is
    /// undecided if windlass can't determine its outcome.
    #[error("`{0}` has no undecided call; run `windlass retry {0}` without `--assume`")]
    NothingToDecide(AssemblyName),
    /// A dry run can't use the operator's [`Answer`](crate::Answer) about undecided calls, because the assembly also
    /// has interrupted calls. windlass must determine the outcome of the interrupted calls first, and a dry run must
    /// not do this.
    #[error(
        "`{0}` was interrupted, and a dry run does not determine the outcome of its open calls; resume it first: `windlass retry {0}`"
    )]
    NotObserved(AssemblyName),
    /// The operator's [`Answer`](crate::Answer) is about a call that does not exist, or that needs no answer. Only an
    /// *undecided* call needs an answer: windlass can't determine the outcome of such a call.
    #[error("`{call}` is not an undecided call; these are: `{}`", ids(.calls))]
    NotUndecided {
        /// The first id in [`Answer::calls`](crate::Answer::calls) that is not the id of an undecided call.
        call: CallId,
        /// The records of the calls that need an answer: all undecided calls of the assembly.
        calls: Vec<CallRecord>,
    },
    /// The operator's [`Answer`](crate::Answer) is about an element without an *undecided* call. windlass can't
    /// determine the outcome of an undecided call, so only such a call needs an answer.
    #[error("`{}` has no undecided call; these parts have one: `{}`", .part.local(), listed(.calls))]
    NoUndecidedCall {
        /// The element in [`Answer::of`](crate::Answer::of) that has no undecided call.
        part: ElementName,
        /// The records of the calls whose outcome the operator must state (the undecided calls). All of these calls act
        /// on other elements than `part`.
        calls: Vec<CallRecord>,
    },
    /// The store contains a damaged record of an open call. windlass never writes such a record.
    #[error("the record of call `{}` of `{name}` is damaged: {why}; restore the store from a backup", .call.id)]
    DamagedCall {
        /// The name of the assembly.
        name: AssemblyName,
        /// The record of the call.
        call: Box<CallRecord>,
        /// The reason why the record is damaged.
        why: String,
    },
    /// An operator has stated the outcome of an undecided call, and the stated outputs or the stated natural id
    /// can't be accepted. For example, the element does not declare one of the outputs. The text gives the reason.
    #[error("{0}")]
    NotPublished(String),
    /// The name of an argument of a command is not a valid property name.
    #[error("argument `{argument}`: {cause}")]
    NotAnArgument {
        /// The name of the argument.
        argument: String,
        /// The reason why the name is invalid.
        cause: NameError,
    },
    /// The command can't be called.
    #[error("command `{command}` of `{}` can't be called: {why}", .part.local())]
    NotCallable {
        /// The name of the element.
        part: ElementName,
        /// The name of the command.
        command: CommandName,
        /// The reason, as a sentence fragment.
        why: String,
    },
    /// The command can't be called, because the element has no complete instance.
    #[error("command `{command}` of `{}` can't be called: it is {state}; bring it up first", .part.local())]
    NotUp {
        /// The name of the element.
        part: ElementName,
        /// The name of the command.
        command: CommandName,
        /// The state of the element: Absent or Failed.
        state: State,
    },
    /// An operator has stated that undecided launches were executed, but has not stated the natural id of each
    /// launched instance. A natural id identifies an instance outside of windlass. windlass does not know these
    /// ids, because the driver's reports of the launches are lost.
    #[error("{}", unnamed(.name, .parts))]
    Unnamed {
        /// The name of the assembly.
        name: AssemblyName,
        /// The launched elements whose natural id is unknown, each with its instance id. windlass passed the instance
        /// id to the launch script. The operator must find out whether the script chose a natural id. If it chose none,
        /// the operator states the instance id as the natural id.
        parts: Vec<(ElementName, InstanceId)>,
    },
    /// A pinned package is missing in the store.
    #[error("the package of `{0}` is missing from the store")]
    PackageGone(DescriptorName),
    /// A pinned package can't be read.
    #[error("the package of `{name}` in the store can't be read: {cause}")]
    PackageUnreadable {
        /// The descriptor name of the package.
        name: DescriptorName,
        /// The reason why the package can't be read.
        cause: String,
    },
    /// A runtime can't list the jobs of an earlier process. Some of these jobs are possibly still running, so the
    /// intent is refused.
    #[error("{0}")]
    Unreachable(String),
    /// The request has already ended.
    #[error("{request} of `{name}` is no longer pending; `windlass log {name}` shows its result")]
    RequestEnded {
        /// The name of the assembly.
        name: AssemblyName,
        /// The id of the ended request.
        request: RequestId,
    },
    /// The content of a request can't be read.
    #[error("{request} can't be read: {cause}; submit the request again")]
    RequestUnreadable {
        /// The id of the request.
        request: RequestId,
        /// The reason why the request can't be read.
        cause: String,
    },
    /// A stop was requested before any step of the new plan started.
    #[error("stopped on request before any step started")]
    Stopped,
}

/// The reason why a name can't be given to an assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameUse {
    /// An assembly has the name.
    Assembly,
    /// An assembly had the name, and its history is kept.
    History,
}

impl EngineError {
    /// Returns the code of the error. `windlass explain CODE` explains the error.
    pub fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Lifecycle(error) => code_of_plan(error),
            Self::Unknown { .. } => codes::UNKNOWN,
            Self::NameTaken { .. } | Self::NameReserved { .. } => codes::NAME_TAKEN,
            Self::Nothing => codes::NOTHING,
            Self::GoingDown(_) => codes::GOING_DOWN,
            Self::ForDescriptors { .. } | Self::PartOfApplication(_) => codes::FOR_DESCRIPTORS,
            Self::OpenCommands { .. } => codes::OPEN_COMMANDS,
            Self::Referenced { .. } => codes::REFERENCED,
            Self::Entangled { .. } => codes::ENTANGLED,
            Self::Interrupted(_) => codes::INTERRUPTED,
            Self::Unfinished(_) | Self::Converging { .. } => codes::UNFINISHED,
            Self::ImportedBefore { .. } => codes::IMPORTED_BEFORE,
            Self::AlreadyHere(_) => codes::ALREADY_HERE,
            Self::NameInUse { .. } => codes::NAME_IN_USE,
            Self::Moved { .. } => codes::MOVED,
            Self::Pending { .. } => codes::PENDING,
            Self::OtherPlan(_) | Self::OtherConditions(..) | Self::OtherVersion(_) => codes::OTHER_PLAN,
            Self::NeedsConsent(_) | Self::NotPermitted(_) => codes::NEEDS_CONSENT,
            Self::KeepsNoInstance(_) => codes::KEEPS_NO_INSTANCE,
            Self::Protected(_) => codes::PROTECTED,
            Self::ReferenceGone { .. } => codes::REFERENCE_GONE,
            // The error of a store that refuses a lease has the same code as `Busy`.
            Self::Busy { .. } => windlass_store::codes::HELD,
            Self::NoVersion { .. } => codes::NO_VERSION,
            Self::Scale(error) => code_of_scale(error),
            Self::Heal(error) => code_of_heal(error),
            Self::Unplaceable(_) => codes::UNPLACEABLE,
            Self::NeedsDecision { .. } => codes::NEEDS_DECISION,
            Self::Unprepared { .. } => codes::UNPREPARED,
            Self::NothingToDecide(_) => codes::NOTHING_TO_DECIDE,
            Self::NotObserved(_) => codes::NOT_OBSERVED,
            Self::NotUndecided { .. } => codes::NOT_UNDECIDED,
            Self::NoUndecidedCall { .. } => codes::NO_UNDECIDED_CALL,
            Self::DamagedCall { .. } => codes::DAMAGED_CALL,
            Self::NotPublished(_) => codes::NOT_PUBLISHED,
            Self::NotAnArgument { .. } => codes::NOT_AN_ARGUMENT,
            Self::NotCallable { .. } | Self::NotUp { .. } => codes::NOT_CALLABLE,
            Self::Unnamed { .. } => codes::UNNAMED,
            Self::PackageGone(_) => codes::PACKAGE_GONE,
            Self::PackageUnreadable { .. } => codes::PACKAGE_UNREADABLE,
            Self::Unreachable(_) => codes::UNREACHABLE,
            Self::RequestEnded { .. } => codes::REQUEST_ENDED,
            Self::RequestUnreadable { .. } => codes::REQUEST_UNREADABLE,
            Self::Stopped => codes::STOPPED,
        }
    }

    /// Tells whether wrong input of the user caused the error. The result is `false` for a failure of the execution.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Unknown { .. } | Self::NameTaken { .. } | Self::Nothing | Self::AlreadyHere(_) => true,
            Self::NameReserved { .. } | Self::NameInUse { .. } | Self::Moved { .. } => true,
            Self::GoingDown(_)
            | Self::ForDescriptors { .. }
            | Self::PartOfApplication(_)
            | Self::OpenCommands { .. }
            | Self::NoVersion { .. }
            | Self::OtherPlan(_)
            | Self::OtherVersion(_)
            | Self::ImportedBefore { .. } => true,
            Self::NeedsConsent(_) | Self::NotPermitted(_) | Self::KeepsNoInstance(_) => true,
            Self::Protected(_) | Self::OtherConditions(..) => true,
            Self::Referenced { .. } | Self::ReferenceGone { .. } => true,
            Self::Scale(_) | Self::Heal(_) | Self::Unplaceable(_) | Self::Lifecycle(_) => true,
            Self::NothingToDecide(_) | Self::NotObserved(_) => true,
            Self::Unprepared { answered, .. } => !answered,
            Self::NotUndecided { .. } | Self::NoUndecidedCall { .. } => true,
            Self::NotPublished(_) | Self::Unnamed { .. } => true,
            Self::NotCallable { .. } | Self::NotUp { .. } | Self::NotAnArgument { .. } => true,
            Self::Store(StoreError::Key(error)) => error.is_input(),
            Self::Store(StoreError::Claimed { .. }) => true,
            Self::Store(_) | Self::Unreachable(_) | Self::Stopped => false,
            Self::Entangled { .. } | Self::Interrupted(_) | Self::Busy { .. } => false,
            Self::Unfinished(_) | Self::Converging { .. } => false,
            Self::NeedsDecision { .. } | Self::DamagedCall { .. } => false,
            Self::PackageGone(_) | Self::PackageUnreadable { .. } => false,
            Self::RequestEnded { .. } | Self::RequestUnreadable { .. } | Self::Pending { .. } => false,
        }
    }

    /// Tells whether the same intent may succeed later, although no user changes anything. The result is `true`, for
    /// example, for a held lease, an unreachable store or runtime, and a stop.
    pub fn will_pass(&self) -> bool {
        match self {
            Self::Store(error) => error.will_pass(),
            Self::Busy { .. } | Self::Unreachable(_) | Self::Stopped | Self::RequestEnded { .. } => true,
            _ => false,
        }
    }
}

fn in_use(name: &AssemblyName, by: NameUse) -> String {
    match by {
        NameUse::Assembly => format!("an assembly `{name}` exists already; choose another name"),
        NameUse::History => format!(
            "an earlier assembly had the name `{name}`, and `windlass log {name}` shows its history; choose another name, or remove the history with `windlass prune {name} --keep 0 --older 0s`"
        ),
    }
}

/// The new name of a renamed assembly, or the file of an exported assembly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MovedTo {
    /// The assembly was renamed. This is its new name.
    Assembly(AssemblyName),
    /// The assembly was exported. This is the path of the export file, as the user wrote the path.
    File(String),
}

fn fate_since(name: &AssemblyName, here: Option<&AssemblyName>) -> String {
    match here {
        Some(here) if here == name => "the assembly exists".to_owned(),
        Some(here) => format!("the assembly is `{here}` now"),
        None => "`windlass log` shows its history since".to_owned(),
    }
}

fn has_moved(name: &AssemblyName, to: &MovedTo, intent: &Intent) -> String {
    let effect = match intent {
        Intent::Adopt => "give its components a second owner",
        _ => "create its components a second time",
    };
    match to {
        MovedTo::Assembly(new) => format!(
            "`{name}` was renamed to `{new}`, so this would {effect}; change it with `--name {new}`, or create another assembly with `--force`"
        ),
        MovedTo::File(file) => format!(
            "`{name}` was exported to `{file}`, so this would {effect}; import it with `windlass import {file}`, or create another assembly with `--force`"
        ),
    }
}

/// Returns the code of an error of planning. An error that this function does not list gets the general code.
fn code_of_plan(error: &LifecycleError) -> Code {
    match error {
        LifecycleError::Order(_) => codes::PLAN_ORDER,
        LifecycleError::Value(_) => codes::PLAN_VALUE,
        LifecycleError::Unknown { .. } => codes::PLAN_UNKNOWN,
        LifecycleError::NeedsExcepted { .. } | LifecycleError::NeedsRemoved { .. } => codes::NEEDS_EXCEPTED,
        _ => codes::NO_PLAN,
    }
}

fn code_of_scale(error: &ScaleError) -> Code {
    match error {
        ScaleError::NoCluster { .. } | ScaleError::Keyed { .. } => codes::NO_CLUSTER,
        ScaleError::TooMany { .. } => codes::TOO_MANY_NODES,
        ScaleError::TooFew { .. } => codes::TOO_FEW_NODES,
        ScaleError::Empty { .. } => codes::EMPTY_CLUSTER,
        _ => codes::NO_PLAN,
    }
}

fn code_of_heal(error: &HealError) -> Code {
    match error {
        HealError::Unknown { .. } | HealError::Left { .. } => codes::HEAL_UNKNOWN,
        HealError::Reference { .. } => codes::HEAL_REFERENCE,
        _ => codes::NO_PLAN,
    }
}

/// A protected part that a plan removes or replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPart {
    /// The part; the first one if there are several.
    pub part: ElementName,
    /// The effect of the plan on the part: the plan would remove the part, or replace the part.
    pub effect: Effect,
    /// The element whose protection covers the part: the part itself, or an element around it.
    pub by: ElementName,
    /// The number of further protected parts that the plan removes or replaces.
    pub more: usize,
}

impl fmt::Display for ProtectedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, effect, by, more } = self;
        let assembly = part.assembly();
        write!(f, "`{}` of `{assembly}` is protected", part.local())?;
        let is_whole = by.as_str() == assembly.as_str();
        if by != part && !is_whole {
            write!(f, " with `{}`", by.local())?;
        }
        write!(f, " and would be {}", effect.as_str())?;
        match more {
            0 => {}
            1 => f.write_str(" (1 more part too)")?,
            more => write!(f, " ({more} more parts too)")?,
        }
        let whole = if is_whole { "the assembly".to_owned() } else { format!("`{}`", by.local()) };
        let except = match more {
            0 => format!("`windlass up --except {}`", part.local()),
            _ => "`windlass up` with `--except PART` for each of them".to_owned(),
        };
        // An earlier `up --protect` may have protected the whole assembly.
        let without = if is_whole { " and without `--protect`" } else { "" };
        write!(f, "; remove `protect: true` from {whole}, run {except}{without}, then repeat the command")
    }
}

/// A problem that prevents the placement or the adoption of some elements. To place an element is to find a
/// location, a runtime and drivers for it. To adopt an element is to use an existing instance for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// The elements that have the problem, in the order in which the assembly contains them.
    pub elements: Vec<ElementName>,
    /// The kind of the problem.
    pub lack: Lack,
    /// The reason why the elements can't be placed or adopted.
    pub why: String,
    /// The place in the descriptor to which the error message points; `None` if this place is unknown.
    ///
    /// For [`Lack::Place`], the message points to the property that chooses the location of the elements, if such a
    /// property exists. In all other cases, the message points to the declaration of one of the `elements`.
    pub origin: Option<Origin>,
}

/// The kind of a problem in [`Unplaced`]: the elements can't be placed, or can't be adopted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Lack {
    /// The elements can't be placed, because a location, a runtime or a driver is missing.
    Place,
    /// The existing instances of the elements can't be adopted.
    Adopt,
}

impl Unplaced {
    pub(crate) fn new(lack: Lack, why: String) -> Self {
        Self { elements: Vec::new(), lack, why, origin: None }
    }
}

fn unplaced(all: &[Unplaced]) -> String {
    /// The maximum number of elements that the message lists by name for each problem. If there are more elements,
    /// the list ends with the number of the elements that it omits, such as `2 more`.
    const NAMED: usize = 3;
    let line = |problem: &Unplaced| {
        let origin = problem.origin.as_ref().map(|origin| format!("{origin}: ")).unwrap_or_default();
        let first = problem.elements.iter().take(NAMED).map(|element| format!("`{}`", element.local()));
        let mut names: Vec<String> = first.collect();
        if let Some(more @ 1..) = problem.elements.len().checked_sub(NAMED) {
            names.push(format!("{more} more"));
        }
        let what = match problem.lack {
            Lack::Place => "be placed",
            Lack::Adopt => "be adopted",
        };
        format!("{origin}{} can't {what}: {}", names.join(", "), problem.why)
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn still_changing(name: &AssemblyName, calls: &[(ElementName, Action)], is_application: bool) -> String {
    let calls: Vec<String> =
        calls.iter().map(|(element, action)| format!("{action} of `{}`", element.local())).collect();
    let (keep, remove) = if is_application {
        (format!("windlass app reconfigure {name}"), format!("windlass app destroy {name}"))
    } else {
        ("windlass up".to_owned(), format!("windlass down {name}"))
    };
    format!(
        "a change of `{name}` has not ended ({}); `{keep}` waits for its end and keeps `{name}`, and `{remove}` removes \
         `{name}`",
        calls.join(", ")
    )
}

fn opened(commands: &[(CommandId, CommandName)]) -> String {
    commands.iter().map(|(id, command)| format!("`{command}` ({id})")).collect::<Vec<_>>().join(", ")
}

fn referenced(name: &AssemblyName, by: &[AssemblyName], loss: &Loss) -> String {
    let by: Vec<String> = by.iter().map(|name| format!("`{name}`")).collect();
    let by = match by.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => by.join(""),
    };
    let remedy = match loss {
        Loss::Exported => format!("export {by}"),
        Loss::Removed | Loss::Forgotten | Loss::Changed(_) => format!("take {by} down"),
    };
    format!("`{name}` is referenced by {by}, and {loss}; {remedy} first, or use `--force`")
}

/// A change to an assembly that would break the references of other assemblies. As text, it is a part of a sentence
/// about the assembly, such as `it would be removed`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The assembly would be removed.
    Removed,
    /// The records of the assembly would be removed.
    Forgotten,
    /// The assembly would be moved to another store.
    Exported,
    /// A part of the assembly would be removed or re-created, or the type of the assembly would change. The text
    /// states this change, for example: "`web` would be removed".
    Changed(String),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Removed => "it would be removed",
            Self::Forgotten => "its records would be removed",
            Self::Exported => "it would leave this store",
            Self::Changed(text) => text,
        })
    }
}

fn near(name: &AssemblyName, known: &[AssemblyName]) -> String {
    /// The maximum number of listed names if no name is similar to the given name.
    const LISTED: usize = 8;
    if let Some(near) = windlass_source::suggest(name.as_str(), known.iter().map(AssemblyName::as_str)) {
        return format!("; did you mean `{near}`?");
    }
    let names: Vec<String> = known.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    match (known.len(), known.len().saturating_sub(LISTED)) {
        (0, _) => "; the store has no assemblies".to_owned(),
        (1, _) => format!("; there is {}", names.join(", ")),
        (_, 0) => format!("; there are {}", names.join(", ")),
        (_, more) => format!("; there are {} and {more} more", names.join(", ")),
    }
}

fn no_version(name: &AssemblyName, process: Option<ProcessId>) -> String {
    match process {
        Some(process) => {
            format!("`{name}` did not exist before {process}; `windlass history {name}` lists its versions")
        }
        None => format!(
            "`{name}` has no earlier version to roll back to; `windlass history {name}` lists its versions"
        ),
    }
}

fn named(parts: &[ElementName]) -> String {
    parts.iter().map(|part| format!("`{}`", part.local())).collect::<Vec<_>>().join(", ")
}

fn listed(calls: &[CallRecord]) -> String {
    calls.iter().map(|call| call.element.local()).collect::<Vec<_>>().join("`, `")
}

fn ids(calls: &[CallRecord]) -> String {
    calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join("`, `")
}

fn unnamed(name: &AssemblyName, parts: &[(ElementName, InstanceId)]) -> String {
    let named: Vec<&str> = parts.iter().map(|(part, _)| part.local()).collect();
    let given: Vec<&str> = parts.iter().map(|(_, given)| given.as_str()).collect();
    // Without `--of`, the answer would also decide calls that the user may not have checked.
    let of = if let [part] = named[..] { part } else { "PART" };
    format!(
        "the output of the launch script of `{}` is lost, and with it the id of the instance; find that id, then run `windlass retry {name} --assume done --of {of} --natural ID`; it is `{}` if the script chose none",
        named.join("`, `"),
        given.join("`, `")
    )
}

/// Tells whether the undecided `calls` contain another call that belongs to the same element as `call`.
fn shares_element(call: &CallRecord, calls: &[CallRecord]) -> bool {
    calls.iter().filter(|other| other.element == call.element).nth(1).is_some()
}

fn unprepared(name: &AssemblyName, calls: &[(CallRecord, Failure)], answered: bool) -> String {
    let line = |(call, failure): &(CallRecord, Failure)| {
        format!("  {} {} (started {}): {}", call.element.local(), call.action, call.started, failure.message)
    };
    let lines: Vec<String> = calls.iter().map(line).collect();
    let (recorded, next) = if answered {
        ("the answer is recorded; but ", format!("run `windlass retry {name}`"))
    } else {
        ("", "repeat the command".to_owned())
    };
    format!(
        "{recorded}these calls were interrupted, and windlass can't determine their outcome at present:\n{}\ncorrect the cause, and {next}; if that is impossible, check them, then run `windlass retry {name} --assume done`, `not-done` or `failed`",
        lines.join("\n")
    )
}

fn undecided(name: &AssemblyName, calls: &[CallRecord]) -> String {
    let lines: Vec<String> = calls
        .iter()
        .map(|call| {
            let of = call.pair.as_ref().map(|pair| format!(" of {}", pair.named())).unwrap_or_default();
            let id = if shares_element(call, calls) { format!("; call {}", call.id) } else { String::new() };
            let why = call.unknown.as_ref().map(|unknown| format!(": {}", unknown.why)).unwrap_or_default();
            format!("  {} {}{of} (started {}{id}){why}", call.element.local(), call.action, call.started)
        })
        .collect();
    let one_by_one = match calls {
        [] | [_] => "",
        calls if calls.iter().any(|call| shares_element(call, calls)) => {
            "; `--of PART` reports one part at a time, `--of CALL` one call"
        }
        _ => "; `--of PART` reports one part at a time",
    };
    format!(
        "the outcome of these calls is unknown, and they must not run twice:\n{}\ncheck them, then run `windlass retry {name} --assume done`, `not-done` or `failed`{one_by_one}",
        lines.join("\n")
    )
}
