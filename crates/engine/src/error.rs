//! Why an intent can't be carried out.

use thiserror::Error;
use windlass_lifecycle::{HealError, LifecycleError, ScaleError};
use windlass_model::assembly::Origin;
use windlass_model::record::CallRecord;
use windlass_model::{AssemblyName, DescriptorName, ElementName, ProcessId, RequestId, Timestamp};
use windlass_store::{Holder, StoreError};

/// Why an intent can't be carried out. Nothing has been changed then, except where a variant says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no plan.
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    /// There is no assembly of this name.
    #[error("there is no assembly `{name}`{}", near(name, .known))]
    Unknown {
        /// The name.
        name: AssemblyName,
        /// The names that there are.
        known: Vec<AssemblyName>,
    },
    /// The name belongs to an assembly of another descriptor.
    #[error("`{name}` is the name of an assembly of `{other}` already; choose another with `--name`")]
    NameTaken {
        /// The name.
        name: AssemblyName,
        /// The descriptor of the one that has it.
        other: DescriptorName,
    },
    /// There is nothing that the intent could be about.
    #[error("there is no assembly to change")]
    Nothing,
    /// The assembly is being taken down.
    #[error(
        "`{0}` is being taken down; finish that with `windlass down {0}`, or bring it up again with `windlass up`"
    )]
    GoingDown(AssemblyName),
    /// Others reference the assembly, and what is asked would take something from them.
    #[error("{}", referenced(.name, .by, .what))]
    Referenced {
        /// The assembly.
        name: AssemblyName,
        /// The assemblies that reference it.
        by: Vec<AssemblyName>,
        /// What would happen, as a sentence fragment.
        what: String,
    },
    /// An interrupted process of an assembly that references this one may still work on parts of it.
    #[error(
        "an interrupted process of `{by}` may still work on parts of `{name}`; resume it first: `windlass retry {by}`"
    )]
    Entangled {
        /// The assembly.
        name: AssemblyName,
        /// The one that references it.
        by: AssemblyName,
    },
    /// An assembly on whose parts operations are to be called was interrupted itself.
    #[error(
        "the plan calls operations on parts of `{0}`, which was interrupted; resume it first: `windlass retry {0}`"
    )]
    Interrupted(AssemblyName),
    /// An earlier process has left something open.
    #[error("`{0}` was interrupted; resume it first: `windlass retry {0}`")]
    Unfinished(AssemblyName),
    /// An export was imported already.
    #[error(
        "this export of `{name}` was imported already, at {at}, and can be imported only once: {}",
        if *here { "the assembly exists" } else { "`windlass log` shows its history since" }
    )]
    ImportedBefore {
        /// The assembly.
        name: AssemblyName,
        /// When.
        at: Timestamp,
        /// Whether it is here still.
        here: bool,
    },
    /// There is an assembly of this name already.
    #[error("the assembly `{0}` exists already; remove it with `windlass down {0}`, or export it first")]
    AlreadyHere(AssemblyName),
    /// What would be done is not what was planned before.
    #[error("the steps for `{0}` would differ from the saved plan; save a new plan")]
    MovedOn(AssemblyName),
    /// Something that is referenced is not there any more, or about to go.
    #[error("`{by}` references `{name}`, which {why}")]
    ReferenceGone {
        /// What is referenced.
        name: AssemblyName,
        /// Who references it.
        by: AssemblyName,
        /// What is the matter, as a sentence fragment.
        why: &'static str,
    },
    /// Somebody is at work on it.
    #[error("`{name}` is held by {by}; wait until it ends, or stop it, and try again")]
    AtWork {
        /// The assembly.
        name: AssemblyName,
        /// Who.
        by: Box<Holder>,
    },
    /// There is no earlier version to go back to.
    #[error("{}", no_version(.name, *.process))]
    NoVersion {
        /// The assembly.
        name: AssemblyName,
        /// The process whose version was asked for.
        process: Option<ProcessId>,
    },
    /// A cluster can't be scaled.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// What should be healed can't be.
    #[error(transparent)]
    Heal(#[from] HealError),
    /// A part can't be brought to where it should be.
    #[error("{}", unplaced(.0))]
    Unplaceable(Vec<Unplaced>),
    /// A person must say whether something happened.
    #[error("{}", undecided(.name, .calls))]
    NeedsDecision {
        /// The assembly.
        name: AssemblyName,
        /// The calls in question.
        calls: Vec<CallRecord>,
    },
    /// There is nothing to decide.
    #[error("`{0}` has no undecided call; run `windlass retry {0}` without `--assume`")]
    NothingToDecide(AssemblyName),
    /// What became of the calls of an interrupted process is not known, and looking is not for a dry run.
    #[error(
        "`{0}` was interrupted, and a dry run does not determine the outcome of its open calls; resume it first: `windlass retry {0}`"
    )]
    NotLookedAt(AssemblyName),
    /// Nothing is to be decided of this part.
    #[error("`{}` has no undecided call; these parts have one: `{}`", .part.local(), listed(.calls))]
    NotInDoubt {
        /// The part that was named.
        part: ElementName,
        /// The calls that do wait for one.
        calls: Vec<CallRecord>,
    },
    /// An open call that no run can have left.
    #[error("the record of call `{}` of `{name}` is damaged: {why}; restore the store from a backup", .call.id)]
    DamagedCall {
        /// The assembly.
        name: AssemblyName,
        /// The call as the store has it.
        call: Box<CallRecord>,
        /// What is wrong with it.
        why: String,
    },
    /// What a person says that a part publishes can't be so.
    #[error("{0}")]
    NotPublished(String),
    /// Something was launched under an id that its driver chose, and that nobody knows.
    #[error("{}", unnamed(.name, .parts))]
    Unnamed {
        /// The assembly.
        name: AssemblyName,
        /// The parts that were launched.
        parts: Vec<ElementName>,
    },
    /// A pinned package is not in the store.
    #[error("the package of `{0}` is missing from the store")]
    PackageGone(DescriptorName),
    /// A pinned package can't be read.
    #[error("the package of `{name}` in the store can't be read: {cause}")]
    PackageUnreadable {
        /// The package.
        name: DescriptorName,
        /// What is wrong.
        cause: String,
    },
    /// Jobs of an earlier run may be where nobody can look now; they must not be run beside themselves.
    #[error("{0}")]
    Unreachable(String),
    /// A request is not open any more.
    #[error("{request} of `{name}` is no longer pending; `windlass log {name}` shows its result")]
    RequestEnded {
        /// The assembly.
        name: AssemblyName,
        /// The request.
        request: RequestId,
    },
    /// It can't be read what exactly a request asks.
    #[error("{request} can't be read: {cause}; submit the request again")]
    RequestUnreadable {
        /// The request.
        request: RequestId,
        /// What is wrong.
        cause: String,
    },
    /// The user stopped before anything of the new plan was started.
    #[error("stopped on request before any step started")]
    Stopped,
}

impl EngineError {
    /// Tells whether what the user gave is wrong, rather than that something went wrong.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Unknown { .. }
                | Self::NameTaken { .. }
                | Self::Nothing
                | Self::GoingDown(_)
                | Self::NoVersion { .. }
                | Self::MovedOn(_)
                | Self::AlreadyHere(_)
                | Self::ImportedBefore { .. }
                | Self::Referenced { .. }
                | Self::ReferenceGone { .. }
                | Self::Scale(_)
                | Self::Heal(_)
                | Self::Unplaceable(_)
                | Self::Lifecycle(_)
                | Self::NothingToDecide(_)
                | Self::NotLookedAt(_)
                | Self::NotPublished(_)
                | Self::Unnamed { .. }
                | Self::NotInDoubt { .. }
        )
    }

    /// Tells whether the same may go well a little later, with nothing changed by anybody: somebody else is at work, the
    /// store can't be reached, or it was stopped.
    pub fn will_pass(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Stopped | Self::RequestEnded { .. })
    }
}

/// Parts that can't be brought to where they should be, all for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// The parts, in the order of the assembly.
    pub elements: Vec<ElementName>,
    /// What is not there for them.
    pub lack: Lack,
    /// What is in the way.
    pub why: String,
    /// Where it was said where they go; where they are declared, if that is not what is in the way.
    pub origin: Option<Origin>,
}

/// What is not there for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Lack {
    /// A location that it can be put at, with a runtime and a driver.
    Place,
    /// A way to take over what exists.
    Adopt,
}

impl Unplaced {
    pub(crate) fn new(lack: Lack, why: String) -> Self {
        Self { elements: Vec::new(), lack, why, origin: None }
    }
}

fn unplaced(all: &[Unplaced]) -> String {
    /// How many parts are first before the rest is counted.
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

fn referenced(name: &AssemblyName, by: &[AssemblyName], what: &str) -> String {
    let by: Vec<String> = by.iter().map(|name| format!("`{name}`")).collect();
    let by = match by.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => by.join(""),
    };
    format!("`{name}` is referenced by {by}, and {what}; take {by} down first, or use `--force`")
}

fn near(name: &AssemblyName, known: &[AssemblyName]) -> String {
    /// How many names are listed where none is near.
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

fn listed(calls: &[CallRecord]) -> String {
    calls.iter().map(|call| call.element.local()).collect::<Vec<_>>().join("`, `")
}

fn unnamed(name: &AssemblyName, parts: &[ElementName]) -> String {
    let named: Vec<&str> = parts.iter().map(ElementName::local).collect();
    let of = if parts.len() > 1 { " --of PART" } else { "" };
    format!(
        "the launch script of `{}` chose an instance id, and its output is lost; find the id of the instance, then run `windlass retry {name} --assume done{of} --natural ID`",
        named.join("`, `")
    )
}

fn undecided(name: &AssemblyName, calls: &[CallRecord]) -> String {
    let lines: Vec<String> = calls
        .iter()
        .map(|call| {
            let of = call.pair.as_ref().map(|pair| format!(" of {}", pair.named())).unwrap_or_default();
            format!("  {} {}{of} (started {})", call.element.local(), call.action, call.started)
        })
        .collect();
    let one_by_one = if calls.len() > 1 { "; `--of PART` reports one part at a time" } else { "" };
    format!(
        "the outcome of these calls is unknown, and they must not run twice:\n{}\ncheck them, then run `windlass retry {name} --assume done`, `not-done` or `failed`{one_by_one}",
        lines.join("\n")
    )
}
