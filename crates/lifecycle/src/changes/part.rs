//! The type [`Part`]: a resource, and the change that a plan makes to the resource.

use windlass_model::{DescriptorName, Element, ElementName, State, Transitions};
use windlass_plan::Draft;

use super::path::Steps;
use super::rolls::Rolls;
use crate::differences::PropertyChange;
use crate::rank;
use crate::situation::{ElementNow, Shown};

/// Stands for the position of an element that is not a resource, or that the topology does not contain.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The kind of change that a plan makes to a resource.
///
/// The kind determines the resource's [path](crate#the-path-of-a-part): the states through which the plan brings the
/// resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The resource stays in its state, or is raised to a higher state.
    Keep,
    /// The resource has no instance. The plan creates an instance.
    Add,
    /// The resource has an existing instance, which is adopted.
    Adopt,
    /// The resource has failed and is re-created.
    Repair,
    /// The resource is Broken, or `Options::heal` names it. The resource is stopped and started again.
    Heal,
    /// The resource goes down to a lower state, for example from Active to Inactive, and stays there.
    Lower,
    /// The resource gets new values while it is Active.
    Reconfigure,
    /// The resource is removed and re-created, for example because a value has changed.
    Reinstall,
    /// The desired version does not contain the resource. The plan removes the instance, if there is one.
    Remove,
}

/// The difference between the installed and the desired package of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PackageChange {
    /// The installed and the desired package are the same, or the digest of one of them is unknown.
    #[default]
    None,
    /// The installed and the desired package differ. The driver can keep the instance, and manages the instance with
    /// the desired package after the change.
    Kept,
    /// The two packages differ. The instance needs the installed package until the instance is re-created.
    Outdated,
}

/// A resource and its path: from its current state down to the rank `low`, and from there up to the rank `end`.
///
/// The fields `name`, `descriptor` and `declared` are copies, because the planner reads them often. A read from the
/// element itself takes longer: the elements of a large assembly do not fit into the caches of the processor.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) name: ElementName,
    /// The resource's descriptor in the desired version.
    pub(crate) descriptor: Option<DescriptorName>,
    /// The transitions that the desired descriptor declares.
    pub(crate) declared: Transitions,
    /// The element in the version from which the part was installed.
    pub(crate) before: Option<&'a Element>,
    /// The element in the desired version.
    pub(crate) after: Option<&'a Element>,
    /// The position of `before` in its topology.
    pub(crate) before_at: u32,
    /// The position of `after` in its topology.
    pub(crate) after_at: u32,
    pub(crate) now: &'a ElementNow,
    pub(crate) change_kind: ChangeKind,
    pub(crate) package: PackageChange,
    /// Whether the options limit the plan to other parts. If so, this part stays as it is. See
    /// [`crate::Options::target`].
    pub(crate) untouched: bool,
    /// Whether the part keeps its values, even if they are outdated. This is the case if `Options::heal` or
    /// `Options::restore` contains the part, or an element around the part.
    pub(crate) keeps_values: bool,
    /// Whether the plan does not repeat the failed Stop of the part before it removes the part. This is the case if
    /// `Options::replace` contains the part, or an element around the part.
    pub(crate) omits_stop: bool,
    /// The lowest [rank] that the part has during the plan.
    pub(crate) low: u8,
    /// The [rank] that the part has after the plan.
    pub(crate) end: u8,
    /// The properties whose values change; empty if the part does not exist.
    pub(crate) changes: Vec<PropertyChange>,
    pub(crate) steps: Steps,
    /// The batch and the group in which the part changes, if it changes in a rolling change.
    pub(crate) rolls: Rolls,
}

impl<'a> Part<'a> {
    /// Creates a part from its element in the installed version and its element in the desired version. Each
    /// element comes with its position in the topology of that version.
    pub(crate) fn new(
        before: Option<(u32, &'a Element)>,
        after: Option<(u32, &'a Element)>,
        now: &'a ElementNow,
    ) -> Self {
        let name = after.or(before).map(|(_, element)| element.name.clone());
        let (before_at, before) = before.map_or((NOWHERE, None), |(at, element)| (at, Some(element)));
        let (after_at, after) = after.map_or((NOWHERE, None), |(at, element)| (at, Some(element)));
        Self {
            name: name.expect("a part is there before or after"),
            descriptor: after.map(|after| after.descriptor.clone()),
            declared: after.map(|after| after.transitions).unwrap_or_default(),
            before,
            after,
            before_at,
            after_at,
            now,
            change_kind: ChangeKind::Keep,
            package: PackageChange::None,
            untouched: false,
            keeps_values: false,
            omits_stop: false,
            low: 0,
            end: 0,
            changes: Vec::new(),
            steps: Steps::default(),
            rolls: Rolls::default(),
        }
    }

    /// Tells whether an instance of the resource, or leftovers of a failed instance, may exist.
    pub(crate) fn is_there(&self) -> bool {
        self.now.state != State::Absent && (self.now.state != State::Failed || self.now.has_remains())
    }

    /// Tells whether the part is Failed or Broken before the plan.
    pub(crate) fn is_unwell(&self) -> bool {
        matches!(self.now.state, State::Failed | State::Broken)
    }

    /// Returns the lowest state that the part has during the plan, as a [rank].
    ///
    /// Returns `None` if the plan brings the part to no lower state.
    pub(crate) fn falls_to(&self) -> Option<u8> {
        let falls = match self.change_kind {
            ChangeKind::Keep | ChangeKind::Add | ChangeKind::Adopt | ChangeKind::Reconfigure => false,
            ChangeKind::Repair | ChangeKind::Heal | ChangeKind::Lower | ChangeKind::Reinstall => true,
            ChangeKind::Remove => self.now.state != State::Absent,
        };
        falls.then_some(self.low)
    }

    /// Tells whether the part is below Installed at some time during the plan.
    ///
    /// If the plan then installs the part, the driver of the part publishes the outputs again.
    pub(crate) fn publishes_anew(&self) -> bool {
        !self.untouched && self.low < rank::INSTALLED
    }

    /// Returns the parts that publish the new outputs that this part reads.
    pub(crate) fn awaited_producers(&self) -> impl Iterator<Item = &ElementName> {
        let producers = self.changes.iter().filter_map(|change| match &change.after {
            Shown::KnownAfter(producers) => Some(producers),
            _ => None,
        });
        producers.flatten()
    }

    /// Tells whether the plan needs a separate step that records the part's new package and calls no driver.
    ///
    /// The step is needed if no other step of the part records the new package.
    pub(crate) fn only_changes_package(&self) -> bool {
        let stays = matches!(self.change_kind, ChangeKind::Keep | ChangeKind::Heal | ChangeKind::Lower);
        stays && self.package == PackageChange::Kept && !self.untouched && self.low >= self.end
    }

    /// Tells whether the part uses another package after the plan than before it.
    pub(crate) fn is_repackaged(&self) -> bool {
        match self.package {
            PackageChange::None => false,
            PackageChange::Kept => !self.untouched,
            PackageChange::Outdated => self.publishes_anew(),
        }
    }

    /// Tells whether the instance of the part still uses an outdated package after the plan.
    pub(crate) fn is_outdated(&self) -> bool {
        self.package == PackageChange::Outdated && self.is_there() && !self.is_repackaged()
    }

    /// Returns the first step after which the part is below a [rank].
    ///
    /// If the part is below the rank already before the plan, returns the first step that lowers the part further.
    ///
    /// Returns `None` in these cases:
    ///
    /// - No step leads to a state below the rank.
    /// - The rank is that of Absent.
    /// - The rank is that of Created, and the resource declares neither Create nor Delete.
    pub(crate) fn leaving(&self, rank: u8) -> Option<Draft> {
        let has_created = || self.before.or(self.after).is_some_and(Element::has_created);
        if rank == rank::ABSENT || rank == rank::CREATED && !has_created() {
            return None;
        }
        (rank::CREATED..=rank.min(rank::ACTIVE)).rev().find_map(|rank| self.steps.leave(rank))
    }

    /// Returns the step with which the part reaches a given [rank]. The first of these rules that applies determines
    /// the step:
    ///
    /// - A part that is Broken, or that the plan heals, may still run. So the plan first lowers such a part, for
    ///   example by a Stop. If the plan does not lower the part below the given rank, the result is the last lowering
    ///   step.
    /// - If the rank is that of Absent, the result is the step that removes the old instance. The same applies to the
    ///   rank of Created, if the resource declares neither Create nor Delete.
    /// - If the part is below the rank at some time, the result is the first step that raises the part to the rank, or
    ///   to a higher rank.
    ///
    /// Returns `None` if there is no such step. For example, the part already has the rank, or never reaches it.
    pub(crate) fn reaching(&self, rank: u8) -> Option<Draft> {
        // A Broken part may still run. So a step that needs the part at a lower state waits for the Stop.
        let stops_first = self.now.state == State::Broken || self.change_kind == ChangeKind::Heal;
        if rank == rank::ABSENT || rank == rank::CREATED && !self.declared.has_created() {
            // The part reaches the rank when its old instance is removed.
            return self.steps.lowest().filter(|_| self.low == rank::ABSENT || stops_first);
        }
        if self.low >= rank {
            return self.steps.lowest().filter(|_| stops_first);
        }
        self.steps.up_to(rank)
    }

    /// Returns the step after which the part has published its outputs.
    pub(crate) fn publishing(&self) -> Option<Draft> {
        self.reaching(rank::INSTALLED)
    }
}
