//! The readers of outputs. A reader of an output is a property whose value depends on the output.

use std::collections::HashMap;

use windlass_model::resolve::{NothingYet, Resolver};
use windlass_model::{ElementName, PropertyName, Side, Topology};

/// A property that reads an output: its element, its name, and the version that declares it.
pub(crate) type Reader = (ElementName, PropertyName, Side);

type ByOutput = HashMap<(ElementName, PropertyName), Vec<Reader>>;

/// For each output of an assembly, the properties that read the output. These properties are the output's *readers*.
///
/// The map is computed on first use. It contains readers of the desired and of the installed version, since an element
/// may not have reached the desired version yet.
#[derive(Default)]
pub(crate) struct Readers(Option<ByOutput>);

impl Readers {
    /// Returns the properties that read at least one of the `outputs` of `element`. Each property occurs once. The
    /// properties are sorted by the names of their elements, and then by their own names.
    pub(crate) fn of(
        &mut self,
        desired: &Topology,
        installed: Option<&Topology>,
        element: &ElementName,
        outputs: &[PropertyName],
    ) -> Vec<Reader> {
        let readers = self.0.get_or_insert_with(|| find(desired, installed));
        let of_output = |output: &PropertyName| readers.get(&(element.clone(), output.clone()));
        let mut found: Vec<Reader> = outputs.iter().filter_map(of_output).flatten().cloned().collect();
        one_entry_each(&mut found);
        found
    }
}

fn find(desired: &Topology, installed: Option<&Topology>) -> ByOutput {
    let mut readers = ByOutput::new();
    add(&mut readers, desired, Side::Desired);
    if let Some(installed) = installed {
        add(&mut readers, installed, Side::Installed);
    }
    readers.values_mut().for_each(one_entry_each);
    readers
}

/// Sorts readers, and keeps one entry for each property. A reader is a property that reads an output of an element.
///
/// A property has two entries if it reads the output in both versions of the assembly. Then the entry with
/// [`Side::Desired`] is kept.
fn one_entry_each(readers: &mut Vec<Reader>) {
    let is_installed = |side: Side| side == Side::Installed;
    readers.sort_by(|(a, one, side), (b, other, of)| {
        (a, one, is_installed(*side)).cmp(&(b, other, is_installed(*of)))
    });
    readers.dedup_by(|later, first| (&later.0, &later.1) == (&first.0, &first.1));
}

/// Adds all readers of one version of the assembly. A reader is a property that reads an output of another element.
fn add(readers: &mut ByOutput, topology: &Topology, side: Side) {
    let mut resolver = Resolver::of_all(topology, &NothingYet);
    for (place, element) in topology.elements().iter().enumerate() {
        for (at, name) in element.properties.keys().enumerate() {
            // If `awaited_at` returns an error, the value of the property can never be known. No output then
            // changes this value, so the error is ignored.
            let _ = resolver.awaited_at(place, at, |producer, output| {
                if producer != place {
                    let producer = topology.elements()[producer].name.clone();
                    let reader = (element.name.clone(), name.clone(), side);
                    readers.entry((producer, output.clone())).or_default().push(reader);
                }
            });
        }
    }
}
