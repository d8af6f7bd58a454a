//! Who reads what another part's driver publishes.

use windlass_model::resolve::{Answer, Lookup, Missing, ResolveError, Resolver};
use windlass_model::{Element, ElementName, Origin, PropertyName, Relationship, Topology};
use windlass_plan::Reason;

/// Finds what values of properties are not known yet, and so whom the reader waits for.
pub(crate) struct Reads<'a> {
    resolver: Resolver<'a>,
    found: Vec<Read<'a>>,
}

/// A value that a producer has still to publish, and the first property that is read for.
pub(crate) struct Read<'a> {
    pub(crate) producer: ElementName,
    output: PropertyName,
    property: &'a PropertyName,
    origin: Option<&'a Origin>,
}

impl<'a> Reads<'a> {
    /// Makes a reader of most elements of a topology.
    pub(crate) fn all(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { resolver: Resolver::of_all(topology, lookup), found: Vec::new() }
    }

    /// Makes a reader of some of them.
    pub(crate) fn few(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { resolver: Resolver::new(topology, lookup), found: Vec::new() }
    }

    /// Finds what a resource waits for, sorted by producers, one each. `place` is its place in the topology.
    pub(crate) fn element(&mut self, place: u32, element: &'a Element) -> Result<&[Read<'a>], ResolveError> {
        self.found.clear();
        // What it publishes itself, or never does, it waits for nobody with.
        let valued =
            element.properties.iter().enumerate().filter(|(_, (_, property))| property.value.is_some());
        for (at, (name, property)) in valued {
            let answer = self.resolver.property_at(place as usize, at)?;
            collect(answer, &element.name, name, property.origin.as_ref(), &mut self.found);
        }
        Ok(one_each(&mut self.found))
    }

    /// Finds what the values of a relationship wait for, apart from its own ends.
    pub(crate) fn relationship(
        &mut self,
        relationship: &'a Relationship,
    ) -> Result<&[Read<'a>], ResolveError> {
        self.found.clear();
        for (name, property) in &relationship.properties {
            let Some(template) = &property.value else { continue };
            let answer = self.resolver.template(template)?;
            collect(&answer, &relationship.assembly, name, property.origin.as_ref(), &mut self.found);
        }
        Ok(one_each(&mut self.found))
    }
}

impl Read<'_> {
    /// Returns the reason why an element waits for it.
    pub(crate) fn by_element(&self, reader: &ElementName) -> Reason {
        Reason::Property {
            reader: reader.clone(),
            property: self.property.clone(),
            producer: self.producer.clone(),
            output: self.output.clone(),
            origin: self.origin.cloned(),
        }
    }

    /// Returns the reason why the making of a relationship waits for it.
    pub(crate) fn by_relationship(&self, relationship: &Relationship) -> Reason {
        Reason::Relationship {
            relationship: relationship.name.clone(),
            rule: format!("its property `{}` reads `{}`", self.property, self.output),
            origin: self.origin.cloned(),
        }
    }
}

fn collect<'a>(
    answer: &Answer,
    reader: &ElementName,
    property: &'a PropertyName,
    origin: Option<&'a Origin>,
    found: &mut Vec<Read<'a>>,
) {
    let Answer::Waiting(missing) = answer else { return };
    for missing in missing {
        if let Missing::Output { element, property: output } = missing
            && element != reader
        {
            found.push(Read { producer: element.clone(), output: output.clone(), property, origin });
        }
    }
}

/// Keeps the first read of each producer.
fn one_each<'f, 'a>(found: &'f mut Vec<Read<'a>>) -> &'f [Read<'a>] {
    found.sort_by(|one, other| one.producer.cmp(&other.producer));
    found.dedup_by(|again, first| again.producer == first.producer);
    found
}
