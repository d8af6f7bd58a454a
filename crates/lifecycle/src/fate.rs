//! The change of each resource: its own changes, and those that follow for readers of its outputs.

use std::collections::{BTreeMap, HashSet};

use windlass_model::resolve::{Lookup, NothingYet, Output, Resolver};
use windlass_model::{ElementName, InstanceId, PropertyName, State, Topology, Transition};
use windlass_secret::{SecretRef, Sensitive};

use crate::differences::{Comparison, PropertyChange, property_change};
use crate::part::{Fate, Part, Parts};
use crate::rank;
use crate::situation::{Options, Shown, Situation, Version};

/// The requests of the options that apply to parts regardless of their values.
pub(crate) struct Asked<'a> {
    options: &'a Options,
    replace: HashSet<&'a ElementName>,
    heal: HashSet<&'a ElementName>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(situation: &Situation<'a>, options: &'a Options) -> Self {
        let (replace, heal) = (leaves_of(situation, &options.replace), leaves_of(situation, &options.heal));
        Self { options, replace, heal }
    }

    /// Returns the last rank of parts without another requirement.
    pub(crate) fn goal(&self) -> u8 {
        let goal = if self.options.adopt { State::Active } else { self.options.goal };
        goal.rank().unwrap_or(rank::ABSENT)
    }

    /// Decides the last rank and the fate of a part, as far as they don't depend on its values.
    pub(crate) fn decide(&self, part: &mut Part<'_>) {
        if part.after.is_some() {
            part.end = part.end.max(self.goal());
        }
        part.fate = self.fate(part);
        settle(part);
    }

    fn fate(&self, part: &Part<'_>) -> Fate {
        let Some(after) = part.after else { return Fate::Remove };
        let start = part.now.state.rank();
        match part.now.state {
            State::Failed if part.now.has_remains() => return Fate::Repair,
            State::Absent | State::Failed if self.options.adopt => return Fate::Adopt,
            State::Absent | State::Failed => return Fate::Add,
            _ if part.now.is_partly_removed() => return Fate::Reinstall,
            _ => {}
        }
        let other_type = part.before.is_some_and(|before| before.descriptor != after.descriptor);
        if other_type || is_repackaged(part, self.options) || self.replace.contains(&part.name) {
            Fate::Reinstall
        } else if part.now.state == State::Broken
            || self.heal.contains(&part.name) && start > Some(rank::INACTIVE)
        {
            Fate::Heal
        } else if start > Some(part.end) || part.now.may_run() && part.end <= rank::INACTIVE {
            Fate::Lower
        } else {
            Fate::Keep
        }
    }
}

/// Updates the fate of parts whose values change, and of the readers of those parts.
pub(crate) fn follow_values(parts: &mut Parts<'_>, situation: &Situation<'_>) {
    let Some(desired) = situation.desired else { return };
    if !parts.any_before {
        return;
    }
    if let Some(installed) = situation.installed {
        compare_values(parts, installed, desired);
    }
    follow_readers(parts, situation.installed, desired);
}

/// Returns the resources at or below some elements.
fn leaves_of<'a>(
    situation: &Situation<'a>,
    names: impl IntoIterator<Item = &'a ElementName>,
) -> HashSet<&'a ElementName> {
    let topologies = [situation.desired, situation.installed].into_iter().flatten();
    let topologies: Vec<&Topology> = topologies.map(|version| version.topology).collect();
    let names: Vec<&ElementName> = names.into_iter().collect();
    let leaves = topologies.iter().flat_map(|topology| names.iter().flat_map(|name| topology.leaves(name)));
    leaves.map(|leaf| &leaf.name).collect()
}

/// Tells whether a part was installed from another package than the desired one.
pub(crate) fn is_repackaged(part: &Part<'_>, options: &Options) -> bool {
    let desired = part.after.and_then(|after| options.packages.get(&after.descriptor));
    matches!((&part.now.package, desired), (Some(now), Some(desired)) if now != desired)
}

/// Sets the lowest rank on a part's path.
fn settle(part: &mut Part<'_>) {
    let start = part.now.state.rank().unwrap_or(rank::ABSENT);
    part.low = match part.fate {
        Fate::Keep | Fate::Reconfigure => start,
        Fate::Add | Fate::Adopt | Fate::Repair | Fate::Reinstall | Fate::Remove => rank::ABSENT,
        // No transition leads from Inactive back to Installed: the part is installed again.
        Fate::Heal | Fate::Lower if part.end <= rank::INSTALLED => {
            let below = if part.declared.has_created() { rank::CREATED } else { rank::ABSENT };
            below.min(part.end)
        }
        Fate::Heal | Fate::Lower => rank::INACTIVE,
    };
}

/// Compares the installed with the desired values of existing parts.
fn compare_values(parts: &mut Parts<'_>, installed: Version<'_>, desired: Version<'_>) {
    let mut comparison = Comparison::new(installed, desired);
    for part in &mut parts.list {
        let (Some(before), Some(after)) = (part.before, part.after) else { continue };
        if part.untouched || !part.is_there() {
            continue;
        }
        part.changes = comparison.changes(before, after, &part.now.stale);
        judge(part);
    }
}

/// Updates the fate of a part whose values change.
fn judge(part: &mut Part<'_>) {
    if part.changes.is_empty() || !matches!(part.fate, Fate::Keep | Fate::Heal | Fate::Lower) {
        return;
    }
    let volatile = part.changes.iter().all(|change| change.volatile);
    let reconfigures = part.declared.contains(Transition::Reconfigure);
    let stays_active = part.fate == Fate::Keep && part.now.state == State::Active && part.end == rank::ACTIVE;
    part.fate = if volatile && reconfigures && stays_active { Fate::Reconfigure } else { Fate::Reinstall };
    settle(part);
}

/// Gives new values to the readers of parts that publish their outputs again.
///
/// It also gives new values to readers that were configured before their producer was installed.
fn follow_readers(parts: &mut Parts<'_>, installed: Option<Version<'_>>, desired: Version<'_>) {
    let before = installed.unwrap_or(desired);
    let mut before = Resolver::new(before.topology, before.lookup);
    let readers = readers(parts, desired.topology);
    let mut open: Vec<usize> = Vec::new();
    for (at, part) in parts.list.iter().enumerate() {
        if part.after.is_some() && part.publishes_anew() {
            open.push(at);
        }
    }
    let by_age: Vec<(usize, &Read)> = readers
        .iter()
        .flat_map(|(producer, reads)| reads.iter().map(move |read| (*producer, read)))
        .filter(|(producer, read)| {
            let (producer, reader) = (&parts.list[*producer].now, &parts.list[read.reader].now);
            reader.configured_by > 0 && producer.installed_by > reader.configured_by
        })
        .collect();
    for (producer, read) in by_age {
        note(parts, producer, read, &mut before, &mut open);
    }
    while let Some(producer) = open.pop() {
        for read in readers.get(&producer).into_iter().flatten() {
            note(parts, producer, read, &mut before, &mut open);
        }
    }
}

struct Read {
    reader: usize,
    property: PropertyName,
}

/// Records that a property of a reader changes because of its producer.
fn note(
    parts: &mut Parts<'_>,
    producer: usize,
    read: &Read,
    before: &mut Resolver<'_>,
    open: &mut Vec<usize>,
) {
    let producer = parts.list[producer].name.clone();
    let part = &mut parts.list[read.reader];
    let Some(after) = part.after else { return };
    let published_anew = part.publishes_anew();
    match part.changes.iter_mut().find(|change| change.property == read.property) {
        Some(PropertyChange { after: Shown::KnownAfter(producers), .. }) => {
            if !producers.contains(&producer) {
                producers.push(producer);
                producers.sort();
            }
        }
        Some(change) => change.after = Shown::KnownAfter(vec![producer]),
        None => {
            let shown = Shown::KnownAfter(vec![producer]);
            let known = Shown::answer(&before.property(&after.name, &read.property));
            let change = property_change(after, &read.property, known, shown);
            part.changes.push(change);
        }
    }
    judge(part);
    if part.publishes_anew() && !published_anew {
        open.push(read.reader);
    }
}

/// Returns the existing parts that read an output, by the position of the producer.
fn readers(parts: &Parts<'_>, desired: &Topology) -> BTreeMap<usize, Vec<Read>> {
    let mut readers: BTreeMap<usize, Vec<Read>> = BTreeMap::new();
    let mut resolver = Resolver::of_all(desired, &NothingYet);
    for (reader, part) in parts.list.iter().enumerate() {
        let Some(after) = part.after.filter(|_| part.is_there() && !part.untouched) else { continue };
        for (at, name) in after.properties.keys().enumerate() {
            // A value that cannot be resolved waits for no part.
            let _ = resolver.awaited_at(part.after_at as usize, at, |producer, _| {
                if let Some(producer) = parts.place_at(producer).filter(|producer| *producer != reader) {
                    readers.entry(producer).or_default().push(Read { reader, property: name.clone() });
                }
            });
        }
    }
    readers
}

/// A lookup for the desired topology that hides the outputs of parts that publish again.
pub(crate) struct Later<'a, 'p> {
    pub(crate) lookup: &'a dyn Lookup,
    pub(crate) parts: &'p Parts<'a>,
}

impl Lookup for Later<'_, '_> {
    fn output(&self, element: &ElementName, property: &PropertyName) -> Output {
        match self.parts.get(element) {
            Some(part) if part.publishes_anew() => Output::NotYet,
            _ => self.lookup.output(element, property),
        }
    }

    fn output_at(&self, place: usize, element: &ElementName, property: &PropertyName) -> Output {
        match self.parts.at(place) {
            Some(part) if part.publishes_anew() => Output::NotYet,
            Some(_) => self.lookup.output_at(place, element, property),
            // An element that is no resource now may have been one.
            None => self.output(element, property),
        }
    }

    fn instance_id(&self, element: &ElementName) -> Option<InstanceId> {
        self.lookup.instance_id(element)
    }

    fn secret(&self, secret: &SecretRef) -> Option<Sensitive<String>> {
        self.lookup.secret(secret)
    }
}
