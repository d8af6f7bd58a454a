//! What is different after a plan, as data for people and programs.
//!
//! A [`Diff`] says nothing about steps. It names each element and relationship that a plan changes, and for each
//! property the value before and after. Sensitive values are masked already.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use windlass_model::name::RelationshipName;
use windlass_model::resolve::{Answer, Missing, ResolveError, Resolved, text_of};
use windlass_model::{DescriptorName, ElementName, Origin, PropertyName, State};

use crate::ask::Options;
use crate::fate::is_repackaged;
use crate::part::{Fate, Part, Parts};
use crate::rank;

/// What is different afterwards, in the order of declaration; what goes comes last.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Diff {
    /// The resources that change.
    pub elements: Vec<ElementChange>,
    /// The relationships that change by themselves, not because one of their ends does.
    pub relationships: Vec<RelationshipChange>,
}

impl Diff {
    /// Tells whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty() && self.relationships.is_empty()
    }
}

/// How a resource changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ElementChange {
    /// The resource.
    pub element: ElementName,
    /// What happens to it.
    pub kind: ElementChangeKind,
    /// Its state before.
    pub from: State,
    /// Its state after.
    pub to: State,
    /// Its descriptor before, where it was there and is another one.
    pub replaces: Option<Box<DescriptorName>>,
    /// Its descriptor; none when it goes.
    pub descriptor: Option<DescriptorName>,
    /// Whether its package has another content.
    pub repackaged: bool,
    /// The properties that change.
    pub properties: Vec<PropertyChange>,
}

/// What happens to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElementChangeKind {
    /// It comes.
    Added,
    /// It exists already and is taken over.
    Adopted,
    /// It goes.
    Removed,
    /// It is given new values while it is Active.
    Reconfigured,
    /// It is uninstalled and installed again.
    Reinstalled,
    /// It is broken, and is stopped and started.
    Healed,
    /// It has failed, and is cleared away and installed again.
    Repaired,
    /// It goes on to a higher state.
    Raised,
    /// It goes back to a lower state.
    Lowered,
}

/// How the value of a property changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PropertyChange {
    /// The property.
    pub property: PropertyName,
    /// The value before.
    pub before: Shown,
    /// The value after.
    pub after: Shown,
    /// Whether the property may change while the part is Active.
    pub volatile: bool,
    /// Where the property is declared.
    pub origin: Option<Origin>,
}

/// How a value of a relationship changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueChange {
    /// The property of the relationship.
    pub property: PropertyName,
    /// The value that it was made with.
    pub before: Shown,
    /// The value that there is now.
    pub after: Shown,
}

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Shown {
    /// There is none.
    Nothing,
    /// This value.
    Value(Value),
    /// A sensitive one.
    Masked,
    /// Known once these parts are installed.
    KnownAfter(Vec<ElementName>),
}

impl Shown {
    /// Makes what may be shown of a value.
    pub fn of(resolved: &Resolved) -> Self {
        match &resolved.value {
            Value::Null => Self::Nothing,
            _ if resolved.sensitive => Self::Masked,
            value => Self::Value(value.clone()),
        }
    }

    pub(crate) fn answer(answer: &Result<Answer, ResolveError>) -> Self {
        match answer {
            Ok(Answer::Known(resolved)) => Self::of(resolved),
            Ok(Answer::Waiting(missing)) => {
                let mut parts: Vec<ElementName> = missing
                    .iter()
                    .filter_map(|missing| match missing {
                        Missing::Output { element, .. } => Some(element.clone()),
                        _ => None,
                    })
                    .collect();
                parts.dedup();
                Self::KnownAfter(parts)
            }
            Err(_) => Self::Nothing,
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("(none)"),
            // An empty text would be seen as nothing at all.
            Self::Value(value) if value.as_str() == Some("") => f.write_str("\"\""),
            Self::Value(value) => f.write_str(&text_of(value)),
            Self::Masked => f.write_str("***"),
            Self::KnownAfter(parts) => {
                let names: Vec<&str> = parts.iter().map(ElementName::local).collect();
                write!(f, "(known once {} is installed)", names.join(", "))
            }
        }
    }
}

/// How a relationship changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelationshipChange {
    /// The assembly element that declares it.
    pub assembly: ElementName,
    /// The relationship.
    pub relationship: RelationshipName,
    /// What happens to it.
    pub kind: RelationshipChangeKind,
    /// Its ends before.
    pub before: Option<Ends>,
    /// Its ends after.
    pub after: Option<Ends>,
    /// The values that it was made with, where it could stay but for those; what is the same for several pairs is told
    /// once.
    pub values: Vec<ValueChange>,
}

/// What happens to a relationship.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RelationshipChangeKind {
    /// It comes.
    Added,
    /// It goes.
    Removed,
    /// It joins other elements.
    Moved,
    /// It joins the same elements with other operations or values.
    Changed,
    /// It is as it was described, and was made with values that are others by now.
    Renewed,
}

/// The ends of a relationship, as the descriptor names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ends {
    /// The sources.
    pub sources: Vec<ElementName>,
    /// The targets.
    pub targets: Vec<ElementName>,
}

impl fmt::Display for Diff {
    /// Writes one line for each change, as `-/+ web replaced` with its properties below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.elements {
            writeln!(f, "{change}")?;
        }
        for change in &self.relationships {
            writeln!(f, "{change}")?;
        }
        Ok(())
    }
}

/// What a change comes to, those that destroy something first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effect {
    /// It goes, and comes again as another.
    Replaced,
    /// It goes.
    Removed,
    /// It stays, and is not as before.
    Changed,
    /// It comes.
    Added,
    /// It goes down and comes up again as it was.
    Restarted,
}

impl Effect {
    /// Returns the sign in front of the change.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Replaced => "-/+",
            Self::Removed => "-",
            Self::Changed => "~",
            Self::Added => "+",
            Self::Restarted => "↻",
        }
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Restarted => "restarted",
        }
    }

    /// Tells whether something of what is there is lost.
    pub fn is_destructive(self) -> bool {
        matches!(self, Self::Replaced | Self::Removed)
    }
}

impl ElementChange {
    /// Returns what the change comes to.
    pub fn effect(&self) -> Effect {
        match self.kind {
            ElementChangeKind::Added | ElementChangeKind::Adopted => Effect::Added,
            ElementChangeKind::Removed => Effect::Removed,
            ElementChangeKind::Reinstalled | ElementChangeKind::Repaired => Effect::Replaced,
            // No transition leads back there: it is uninstalled and installed again.
            ElementChangeKind::Lowered if self.to.rank() <= Some(rank::INSTALLED) => Effect::Replaced,
            ElementChangeKind::Reconfigured | ElementChangeKind::Raised | ElementChangeKind::Lowered => {
                Effect::Changed
            }
            ElementChangeKind::Healed => Effect::Restarted,
        }
    }
}

impl RelationshipChange {
    /// Returns what the change comes to.
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
        let word = if self.kind == ElementChangeKind::Adopted { "adopted" } else { effect.as_str() };
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
            ElementChangeKind::Repaired if self.from == State::Failed => f.write_str(", it has failed")?,
            ElementChangeKind::Repaired => f.write_str(", its removal is incomplete")?,
            _ => {}
        }
        for PropertyChange { property, before, after, .. } in &self.properties {
            if before == after && matches!(after, Shown::KnownAfter(_)) {
                // Of a version that is only on record no value is known that a part has published.
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

impl Diff {
    /// Makes the diff of a plan's parts and relationships.
    pub(crate) fn new(parts: Parts<'_>, options: &Options, relationships: Vec<RelationshipChange>) -> Self {
        // Collected so, the changes take the place of the parts: no other memory is asked for.
        let elements = parts.list.into_iter().filter_map(|part| change(part, options)).collect();
        Self { elements, relationships }
    }
}

fn change(part: Part<'_>, options: &Options) -> Option<ElementChange> {
    let to = rank::state(part.end);
    let kind = match part.fate {
        Fate::Keep if part.untouched || part.now.state == to => return None,
        Fate::Remove if part.now.state == State::Absent => return None,
        Fate::Keep => ElementChangeKind::Raised,
        Fate::Add => ElementChangeKind::Added,
        Fate::Adopt => ElementChangeKind::Adopted,
        Fate::Repair => ElementChangeKind::Repaired,
        Fate::Heal => ElementChangeKind::Healed,
        Fate::Lower => ElementChangeKind::Lowered,
        Fate::Reconfigure => ElementChangeKind::Reconfigured,
        Fate::Reinstall if part.now.is_partly_removed() => ElementChangeKind::Repaired,
        Fate::Reinstall => ElementChangeKind::Reinstalled,
        Fate::Remove => ElementChangeKind::Removed,
    };
    let replaces = match (part.before, part.after) {
        (Some(before), Some(after)) if part.is_there() && before.descriptor != after.descriptor => {
            Some(Box::new(before.descriptor.clone()))
        }
        _ => None,
    };
    let repackaged = is_repackaged(&part, options);
    Some(ElementChange {
        element: part.name,
        kind,
        from: part.now.state,
        to,
        replaces,
        descriptor: part.descriptor,
        repackaged,
        properties: part.changes,
    })
}
