//! Why an intent can't be carried out.

use thiserror::Error;
use windlass_lifecycle::LifecycleError;
use windlass_model::assembly::Origin;
use windlass_model::record::CallRecord;
use windlass_model::{AssemblyName, DescriptorName, ElementName};
use windlass_store::StoreError;

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
    #[error("there is no assembly `{name}`{}", near(.known))]
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
    /// Something that is up would change, which can't be done in place.
    #[error("{}", changed(.name, .elements))]
    Changed {
        /// The assembly.
        name: AssemblyName,
        /// What would change, and how.
        elements: Vec<(ElementName, String)>,
    },
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
    #[error("nothing of `{0}` waits for a decision; use `retry` without `--assume`")]
    NothingToDecide(AssemblyName),
    /// A pinned package is not in the store.
    #[error("the package of `{0}` is not in the store any more")]
    PackageGone(DescriptorName),
    /// A pinned package can't be read.
    #[error("the package of `{name}` in the store can't be read: {cause}")]
    PackageUnreadable {
        /// The package.
        name: DescriptorName,
        /// What is wrong.
        cause: String,
    },
    /// The user stopped before anything of the new plan was started.
    #[error("stopped on request, before anything was started")]
    Stopped,
}

/// Parts that can't be brought to where they should be, all for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// The parts, in the order of the assembly.
    pub elements: Vec<ElementName>,
    /// What is in the way.
    pub why: String,
    /// Where it was said where they go.
    pub origin: Option<Origin>,
}

impl Unplaced {
    pub(crate) fn new(why: String) -> Self {
        Self { elements: Vec::new(), why, origin: None }
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
        format!("{origin}{} can't be placed: {}", names.join(", "), problem.why)
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn near(known: &[AssemblyName]) -> String {
    match known {
        [] => "; none is up".to_owned(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("; there are {}", names.join(", "))
        }
    }
}

fn changed(name: &AssemblyName, elements: &[(ElementName, String)]) -> String {
    let lines: Vec<String> =
        elements.iter().map(|(element, how)| format!("  {}: {how}", element.local())).collect();
    format!(
        "parts of `{name}` that are up would change, and that can't be done in place:\n{}\ntake it down first with `windlass down {name}`, or bring it up with the values it has",
        lines.join("\n")
    )
}

fn undecided(name: &AssemblyName, calls: &[CallRecord]) -> String {
    let lines: Vec<String> = calls
        .iter()
        .map(|call| format!("  {} {} (started {})", call.element.local(), call.action, call.started))
        .collect();
    format!(
        "it is not known whether this was done, and doing it twice may do harm:\n{}\nlook, then say so with `windlass retry {name} --assume done` or `--assume not-done`",
        lines.join("\n")
    )
}
