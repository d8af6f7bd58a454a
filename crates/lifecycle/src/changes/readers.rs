//! Finds the property values that a plan changes, and updates the kind of change of the affected resources.
//!
//! A value changes if its declaration changes. A value also changes if it contains an output of another resource, and
//! that resource publishes a new output. For example, the plan installs a database again, and the database then has
//! another address.

use std::collections::BTreeMap;

use windlass_model::resolve::{NothingYet, Resolver};
use windlass_model::{PropertyName, Topology};

use super::decision::judge;
use super::parts::Parts;
use crate::differences::{Comparison, PropertyChange, property_change};
use crate::situation::{Shown, Situation, Version};

/// Records in each part the properties whose values change, and updates the part's kind of change.
///
/// A value changes in these cases:
///
/// - The desired version declares another value.
/// - The value contains an output of another part, and that part publishes a new output.
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

/// Compares the two versions, and records in each existing part the properties whose values differ.
///
/// The function also updates the part's kind of change.
fn compare_values(parts: &mut Parts<'_>, installed: Version<'_>, desired: Version<'_>) {
    let mut comparison = Comparison::new(installed, desired);
    for part in &mut parts.list {
        let (Some(before), Some(after)) = (part.before, part.after) else { continue };
        if part.untouched || !part.is_there() && !part.now.gone {
            continue;
        }
        // A part whose instance no longer exists is re-created with its new values anyway. The changed values
        // are listed nevertheless.
        part.changes = comparison.changes(before, after, &part.now.outdated);
        judge(part);
    }
}

/// Records the properties that change because another part publishes a new output.
///
/// A *reader* is a part with a property that reads an output, and the *producer* is the part that publishes the output.
/// A producer publishes a new output if the plan installs the producer. The new value of the reader's property is known
/// only after this installation.
///
/// The function also records a change if the producer has published the output after the reader was last configured. The
/// reader then still uses an old output of the producer. If the plan does not install the producer, the new output is
/// known.
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
            reader.configured_by > 0 && producer.published_by(&read.output) > reader.configured_by
        })
        .collect();
    let mut now = Resolver::new(desired.topology, desired.lookup);
    for (producer, read) in by_age {
        if parts.list[producer].publishes_anew() {
            note(parts, producer, read, &mut before, &mut open);
        } else {
            note_known(parts, read, &mut now, &mut open);
        }
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
    output: PropertyName,
}

/// Records that a property of a part (the *reader*) changes, because the property reads a new output. `read` contains
/// the reader and its property. `producer` is the position of the part that publishes the output.
///
/// The function also updates the reader's kind of change. If the reader must now be re-installed, the reader publishes
/// new outputs, too. The function then adds the position of the reader to `open`: the producers whose readers the
/// caller must still examine.
///
/// The function uses `before` to look up the value of the property before the change.
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

/// Records that a property of a part (the *reader*) changes, because the property reads an output that an earlier process
/// has published. The reader's value before the change is not recorded. `now` looks up the value after the change.
///
/// Like [`note`], the function updates the reader's kind of change, and may add the reader to `open`.
fn note_known(parts: &mut Parts<'_>, read: &Read, now: &mut Resolver<'_>, open: &mut Vec<usize>) {
    let part = &mut parts.list[read.reader];
    let Some(after) = part.after else { return };
    if part.changes.iter().any(|change| change.property == read.property) {
        return;
    }
    let published_anew = part.publishes_anew();
    let shown = Shown::answer(&now.property(&after.name, &read.property));
    let before = if shown == Shown::Masked { Shown::Masked } else { Shown::Unknown };
    part.changes.push(property_change(after, &read.property, before, shown));
    judge(part);
    if part.publishes_anew() && !published_anew {
        open.push(read.reader);
    }
}

/// Finds the properties that read an output of another part. The function examines existing parts only.
///
/// The key of the map is the position of the producer: the part that publishes the output.
fn readers(parts: &Parts<'_>, desired: &Topology) -> BTreeMap<usize, Vec<Read>> {
    let mut readers: BTreeMap<usize, Vec<Read>> = BTreeMap::new();
    let mut resolver = Resolver::of_all(desired, &NothingYet);
    for (reader, part) in parts.list.iter().enumerate() {
        let Some(after) = part.after.filter(|_| part.is_there() && !part.untouched) else { continue };
        for (at, name) in after.properties.keys().enumerate() {
            // If a value cannot be resolved, the property counts as a property that reads no output.
            let _ = resolver.awaited_at(part.after_at as usize, at, |producer, output| {
                if let Some(producer) = parts.place_at(producer).filter(|producer| *producer != reader) {
                    let read = Read { reader, property: name.clone(), output: output.clone() };
                    readers.entry(producer).or_default().push(read);
                }
            });
        }
    }
    readers
}
