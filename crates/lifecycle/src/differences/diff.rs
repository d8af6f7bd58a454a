//! The changes of a plan, as data for people and programs.
//!
//! A [`Diff`] contains no steps. It names each element and relationship that a plan changes. For each changed
//! property, it contains the value before and after. Sensitive values are already masked.

use std::fmt;

use serde::Serialize;
use windlass_model::assembly::Pause;
use windlass_model::name::RelationshipName;
use windlass_model::{DescriptorName, ElementName, Origin, PropertyName, State};

use super::declared::DeclaredChange;
use super::packages::PackageDiff;
use crate::rank;
use crate::situation::{Shown, ValueChange, listed};

/// The changes of a plan, in the order of declaration. Removed elements come last.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Diff {
    /// The resources that change.
    pub elements: Vec<ElementChange>,
    /// The relationships that are added or removed, or whose declaration or values change. A relationship is not listed
    /// if only nodes at its source or target are added, removed or re-created.
    pub relationships: Vec<RelationshipChange>,
    /// The changes that take effect without a call of a driver, such as the changes of policies. The planner leaves the
    /// list empty; see [`declared_changes`](crate::declared_changes).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<DeclaredChange>,
    /// The resources that keep their old package although the desired package differs. The driver of such a resource
    /// can manage the resource only with the package from which it was installed. These resources don't count as
    /// changes.
    pub outdated: Vec<ElementName>,
    /// The differences between the installed and the desired packages. The planner leaves the list empty,
    /// because it does not read the files of packages.
    #[serde(skip)]
    pub packages: Vec<PackageDiff>,
    /// The groups whose nodes change in batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<Batches>,
    /// The groups that cannot change in batches. Their changing nodes go down together; see [`Together`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Together>,
    /// The relationships that are suspended during the batches. Their existing pairs are removed before the first
    /// batch, and are created again after the last batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<RelationshipName>,
}

/// A group that cannot change in batches. Its nodes go down together, because they read outputs of parts that are
/// re-created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Together {
    /// The name of the group.
    pub group: ElementName,
    /// The nodes that go down.
    pub nodes: Vec<ElementName>,
    /// The parts that make the nodes go down together. The plan re-creates these parts, and the nodes read outputs of
    /// these parts.
    pub producers: Vec<ElementName>,
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.nodes.len();
        let producers = listed(&self.producers);
        let group = self.group.local();
        write!(f, "{group} changes {count} nodes at once: they read outputs of {producers}")
    }
}

/// The batches of a group. A batch begins when the nodes of the previous batch are Active and their
/// relationships are created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batches {
    /// The name of the group.
    pub group: ElementName,
    /// The nodes of each batch, in order. Nodes that are down already are in the first batch. A removed node
    /// and the node that replaces it are in the same batch.
    pub nodes: Vec<Vec<ElementName>>,
    /// The additional nodes that are created before the first batch, and removed after the last one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub surge: Vec<ElementName>,
    /// The time between two batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

impl fmt::Display for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.nodes.len();
        let most = self.nodes.iter().map(Vec::len).max().unwrap_or(0);
        let (batches, nodes) =
            (if count == 1 { "batch" } else { "batches" }, if most == 1 { "node" } else { "nodes" });
        write!(f, "{} changes in {count} {batches} of at most {most} {nodes}", self.group.local())?;
        match self.surge.len() {
            0 => {}
            1 => f.write_str(", with one additional node meanwhile")?,
            more => write!(f, ", with {more} additional nodes meanwhile")?,
        }
        match self.pause {
            Some(pause) if count > 1 => write!(f, ", with a pause of {pause} between them"),
            _ => Ok(()),
        }
    }
}

impl Diff {
    /// Tells whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty() && self.relationships.is_empty() && self.declared.is_empty()
    }

    /// Returns one line of text for each of these:
    ///
    /// - a group whose nodes change in batches,
    /// - a group whose nodes go down together,
    /// - a relationship that is suspended during the batches,
    /// - a resource that keeps an outdated package. The line contains the command that replaces the resource.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let outdated = self.outdated.iter().map(ElementName::local).map(|name| {
            format!("= {name} keeps its old package; `up --replace {name}` re-creates it with the new one")
        });
        let together = self.together.iter().map(Together::to_string);
        let suspended = self.suspended.iter().map(|relationship| {
            format!("{relationship} is ceased before the first batch and created again after the last one")
        });
        self.batches.iter().map(Batches::to_string).chain(together).chain(suspended).chain(outdated)
    }
}

/// The change of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ElementChange {
    /// The name of the resource.
    pub element: ElementName,
    /// The kind of the change.
    pub kind: ElementChangeKind,
    /// The state of the resource before the plan.
    pub from: State,
    /// The state of the resource after the plan.
    pub to: State,
    /// The previous descriptor of the resource; none if the descriptor stays the same.
    pub replaces: Option<Box<DescriptorName>>,
    /// The desired descriptor of the resource; none if the resource is removed.
    pub descriptor: Option<DescriptorName>,
    /// Whether the plan replaces the package of the resource by a package with other content.
    pub repackaged: bool,
    /// Whether the last Reconfigure of the resource did not succeed, and this change applies the desired values. The
    /// current values of such a resource are unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub values_in_doubt: bool,
    /// Whether the resource is Failed but may be complete, so that its removal may destroy data. There are two reasons.
    /// First, the Stop of the resource failed. Second, the plan removes or replaces an instance that was still
    /// converging. The planner does not know this second reason: the caller sets the field.
    #[serde(rename = "could_not_be_stopped", skip_serializing_if = "std::ops::Not::not")]
    pub may_be_complete: bool,
    /// The properties that change.
    pub properties: Vec<PropertyChange>,
}

/// The kind of a resource's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElementChangeKind {
    /// The resource is added.
    Added,
    /// The resource exists already and is adopted.
    Adopted,
    /// The resource is removed.
    Removed,
    /// The resource gets new values while it is Active.
    Reconfigured,
    /// Only the content of the resource's package changes. After the plan, the resource uses the new content. No
    /// driver is called.
    Repackaged,
    /// The resource is uninstalled and installed again.
    Reinstalled,
    /// The resource is Broken, or `Options::heal` names it. The resource is stopped and started.
    Healed,
    /// The resource has failed, or its removal was not completed. Its leftovers are removed, and it is
    /// re-created.
    Repaired,
    /// A health check has found that the instance no longer exists. The resource is created again.
    Recreated,
    /// The resource goes up to a higher state, for example from Inactive to Active.
    Raised,
    /// The resource goes down to a lower state, for example from Active to Inactive.
    Lowered,
}

/// The change of a property's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PropertyChange {
    /// The name of the property.
    pub property: PropertyName,
    /// The property's value before the change.
    pub before: Shown,
    /// The property's value after the change.
    pub after: Shown,
    /// Whether the property may change while the part is Active.
    pub volatile: bool,
    /// The place of the property's declaration.
    pub origin: Option<Origin>,
}

/// The change of a relationship.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelationshipChange {
    /// The assembly element that declares the relationship.
    pub assembly: ElementName,
    /// The name of the relationship.
    pub relationship: RelationshipName,
    /// The kind of the change.
    pub kind: RelationshipChangeKind,
    /// The ends of the relationship before the change.
    pub before: Option<Ends>,
    /// The ends of the relationship after the change.
    pub after: Option<Ends>,
    /// The changed values that make the plan re-create pairs. The pairs were created with the old values.
    ///
    /// If the same change applies to several pairs, the list contains it once.
    pub values: Vec<ValueChange>,
}

/// The kind of a relationship's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RelationshipChangeKind {
    /// The relationship is added.
    Added,
    /// The relationship is removed.
    Removed,
    /// The sources or the targets of the relationship have changed.
    Moved,
    /// The operations or values of the relationship have changed. Its sources and targets stay the same.
    Changed,
    /// The declaration is unchanged, but values with which the relationship was created have changed since then.
    Renewed,
}

/// The ends of a relationship, as the descriptor names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ends {
    /// The elements at the source end.
    pub sources: Vec<ElementName>,
    /// The elements at the target end.
    pub targets: Vec<ElementName>,
}

impl fmt::Display for Diff {
    /// Writes one line for each change, for example `-/+ web replaced` with its properties below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.elements {
            writeln!(f, "{change}")?;
        }
        for change in &self.relationships {
            writeln!(f, "{change}")?;
        }
        for change in &self.declared {
            writeln!(f, "{change}")?;
        }
        for note in self.notes() {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}

/// The effect of a change on the element or relationship. Destructive effects are the first variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effect {
    /// The element or relationship is removed and re-created.
    Replaced,
    /// The element or relationship is removed.
    Removed,
    /// The element or relationship stays, and is updated.
    Changed,
    /// The element or relationship is added.
    Added,
    /// The element is stopped and started without a change.
    Restarted,
}

impl Effect {
    /// Returns the symbol of the effect, as plans print it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Replaced => "-/+",
            Self::Removed => "-",
            Self::Changed => "~",
            Self::Added => "+",
            Self::Restarted => "↻",
        }
    }

    /// Returns the name of the effect.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Restarted => "restarted",
        }
    }

    /// Tells whether the effect removes an existing element or relationship, perhaps to re-create it.
    pub fn is_destructive(self) -> bool {
        matches!(self, Self::Replaced | Self::Removed)
    }
}

impl ElementChange {
    /// Returns the effect of the change.
    pub fn effect(&self) -> Effect {
        match self.kind {
            ElementChangeKind::Added | ElementChangeKind::Adopted | ElementChangeKind::Recreated => {
                Effect::Added
            }
            ElementChangeKind::Removed => Effect::Removed,
            ElementChangeKind::Reinstalled | ElementChangeKind::Repaired => Effect::Replaced,
            // No transition leads from Inactive down to Installed: the part is uninstalled and installed
            // again.
            ElementChangeKind::Lowered | ElementChangeKind::Healed
                if self.to.rank() <= Some(rank::INSTALLED) =>
            {
                Effect::Replaced
            }
            ElementChangeKind::Reconfigured
            | ElementChangeKind::Repackaged
            | ElementChangeKind::Raised
            | ElementChangeKind::Lowered => Effect::Changed,
            ElementChangeKind::Healed => Effect::Restarted,
        }
    }

    /// Tells whether the resource has the same instance before and after the change. If the result is `false`, the
    /// change creates, adopts, replaces or removes an instance.
    pub fn keeps_instance(&self) -> bool {
        matches!(self.effect(), Effect::Changed | Effect::Restarted)
    }

    /// Tells whether the change removes or replaces a resource that was complete, so that its data may be lost.
    ///
    /// The removal of leftovers does not count: a resource whose Create or Install failed was never complete, and a
    /// resource whose removal has begun is no longer complete. An instance that was still converging counts, because it
    /// may be complete by now.
    pub fn destroys(&self) -> bool {
        let was_complete = match self.from {
            State::Absent => false,
            State::Failed => self.may_be_complete,
            _ => self.kind != ElementChangeKind::Repaired,
        };
        was_complete && self.effect().is_destructive()
    }
}

impl RelationshipChange {
    /// Returns the effect of the change.
    pub fn effect(&self) -> Effect {
        match self.kind {
            RelationshipChangeKind::Added => Effect::Added,
            RelationshipChangeKind::Removed => Effect::Removed,
            _ => Effect::Changed,
        }
    }
}

impl fmt::Display for ElementChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = self.effect();
        let word = match self.kind {
            ElementChangeKind::Adopted => "adopted",
            ElementChangeKind::Recreated => "added again, it no longer exists",
            _ => effect.as_str(),
        };
        write!(f, "{} {} {word}", effect.symbol(), self.element.local())?;
        match (&self.replaces, &self.descriptor) {
            (Some(before), Some(after)) => write!(f, ", {before} → {after}")?,
            (None, Some(descriptor)) if self.kind == ElementChangeKind::Added => {
                write!(f, " ({descriptor})")?;
            }
            _ if self.repackaged => f.write_str(", its package has changed")?,
            _ => {}
        }
        match self.kind {
            ElementChangeKind::Raised | ElementChangeKind::Lowered => {
                write!(f, ", {} → {}", self.from, self.to)?;
            }
            ElementChangeKind::Repaired if self.may_be_complete => {
                f.write_str(", its last call has not succeeded, and it may contain data")?;
            }
            ElementChangeKind::Repaired if self.from == State::Failed => f.write_str(", it has failed")?,
            ElementChangeKind::Repaired => f.write_str(", its removal is incomplete")?,
            _ if self.values_in_doubt => f.write_str(", its last Reconfigure did not succeed")?,
            _ => {}
        }
        for PropertyChange { property, before, after, .. } in &self.properties {
            if before == after && matches!(after, Shown::KnownAfter(_)) {
                // The property reads an output of which neither the old nor the new value is known. The old value
                // is unknown because the published outputs of older versions are not recorded.
                write!(f, "\n    {property}: {after}")?;
            } else {
                write!(f, "\n    {property}: {before} → {after}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for RelationshipChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.kind {
            RelationshipChangeKind::Added => "added",
            RelationshipChangeKind::Removed => "removed",
            RelationshipChangeKind::Moved => "moved",
            RelationshipChangeKind::Changed => "changed",
            RelationshipChangeKind::Renewed => "re-created",
        };
        write!(f, "{} relationship {} {word}", self.effect().symbol(), self.relationship)?;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before != after => write!(f, ", {before} → {after}")?,
            (Some(ends), _) | (None, Some(ends)) => write!(f, " ({ends})")?,
            (None, None) => {}
        }
        for ValueChange { property, before, after } in &self.values {
            write!(f, "\n    {property}: {before} → {after}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |ends: &[ElementName]| ends.iter().map(ElementName::local).collect::<Vec<_>>().join(", ");
        write!(f, "{} to {}", names(&self.sources), names(&self.targets))
    }
}
