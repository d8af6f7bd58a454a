//! Who reads what another part's driver publishes.

use std::collections::BTreeMap;

use windlass_model::resolve::{Answer, Lookup, Missing, ResolveError, Resolver};
use windlass_model::{Element, ElementName, PropertyName, Relationship, Topology};
use windlass_plan::Reason;

/// For each producer that a reader waits for, the first reason.
pub(crate) type Producers = BTreeMap<ElementName, Reason>;

/// Finds what values of properties are not known yet, and so whom the reader waits for.
pub(crate) struct Reads<'a> {
    resolver: Resolver<'a>,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { resolver: Resolver::new(topology, lookup) }
    }

    /// Finds the producers that a resource waits for.
    pub(crate) fn element(&mut self, element: &Element) -> Result<Producers, ResolveError> {
        let mut producers = Producers::new();
        // What it publishes itself, or never does, it waits for nobody with.
        for (name, property) in element.properties.iter().filter(|(_, property)| property.value.is_some()) {
            let answer = self.resolver.property(&element.name, name)?;
            let reason = |producer: &ElementName, output: &PropertyName| Reason::Property {
                reader: element.name.clone(),
                property: name.clone(),
                producer: producer.clone(),
                output: output.clone(),
                origin: property.origin.clone(),
            };
            collect(&answer, &element.name, reason, &mut producers);
        }
        Ok(producers)
    }

    /// Finds the producers that the values of a relationship wait for, apart from its own ends.
    pub(crate) fn relationship(&mut self, relationship: &Relationship) -> Result<Producers, ResolveError> {
        let mut producers = Producers::new();
        for (name, property) in &relationship.properties {
            let Some(template) = &property.value else { continue };
            let answer = self.resolver.template(template)?;
            let reason = |_: &ElementName, output: &PropertyName| Reason::Relationship {
                relationship: relationship.name.clone(),
                rule: format!("its property `{name}` reads `{output}`"),
                origin: property.origin.clone(),
            };
            collect(&answer, &relationship.assembly, reason, &mut producers);
        }
        Ok(producers)
    }
}

fn collect(
    answer: &Answer,
    reader: &ElementName,
    reason: impl Fn(&ElementName, &PropertyName) -> Reason,
    producers: &mut Producers,
) {
    let Answer::Waiting(missing) = answer else { return };
    for missing in missing {
        if let Missing::Output { element, property } = missing
            && element != reader
        {
            producers.entry(element.clone()).or_insert_with(|| reason(element, property));
        }
    }
}
