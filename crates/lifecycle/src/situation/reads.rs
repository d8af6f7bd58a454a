//! The type [`Reads`]: finds the outputs for which a resource or a relationship must wait.
//!
//! For example, a property of a web server reads the address of a database. The database publishes its address only
//! after its installation, so the web server must wait.

use windlass_model::resolve::{Answer, Lookup, Missing, ResolveError, Resolver};
use windlass_model::template::End;
use windlass_model::work::Reason;
use windlass_model::{Element, ElementName, Origin, Part, PropertyName, Relationship, Template, Topology};

use crate::rank;

/// Finds the outputs for which a resource or a relationship must wait.
///
/// A resource or relationship must wait for each output that it reads, if the output is not published yet. The
/// producer of an output is the part that publishes the output.
pub(crate) struct Reads<'a> {
    topology: &'a Topology,
    resolver: Resolver<'a>,
    found: Vec<Read<'a>>,
}

/// An output that its producer has not published yet, and a property that reads this output.
///
/// The producer is the part that publishes the output. Several properties may read outputs of the same producer. In
/// this case, [`Reads`] returns only the [`Read`] that it found first.
pub(crate) struct Read<'a> {
    pub(crate) producer: &'a ElementName,
    /// The position of the producer in the topology.
    pub(crate) place: usize,
    output: PropertyName,
    property: &'a PropertyName,
    origin: Option<&'a Origin>,
}

impl<'a> Reads<'a> {
    /// Creates a [`Reads`] for a caller that examines most or all elements of a topology.
    ///
    /// The function allocates a cache for all properties.
    pub(crate) fn all(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { topology, resolver: Resolver::of_all(topology, lookup), found: Vec::new() }
    }

    /// Creates a [`Reads`] for a caller that examines only a few elements of a topology.
    pub(crate) fn few(topology: &'a Topology, lookup: &'a dyn Lookup) -> Self {
        Self { topology, resolver: Resolver::new(topology, lookup), found: Vec::new() }
    }

    /// Returns the producers (the parts that publish outputs) for which a resource waits: one [`Read`] for each
    /// producer, sorted by producer.
    ///
    /// `place` is the resource's position in the topology.
    pub(crate) fn element(&mut self, place: u32, element: &'a Element) -> Result<&[Read<'a>], ResolveError> {
        self.found.clear();
        // Only properties with a value are examined: the others are outputs of the resource itself.
        let valued =
            element.properties.iter().enumerate().filter(|(_, (_, property))| property.value.is_some());
        for (at, (name, property)) in valued {
            let (found, origin) = (&mut self.found, property.origin.as_ref());
            self.resolver.awaited_at(place as usize, at, |producer_at, output| {
                if producer_at != place as usize {
                    let (producer, place) = (&self.topology.elements()[producer_at].name, producer_at);
                    found.push(Read { producer, place, output: output.clone(), property: name, origin });
                }
            })?;
        }
        Ok(one_each(&mut self.found))
    }

    /// Returns the outputs for which the creation of a relationship waits: one [`Read`] for each part that publishes
    /// them.
    ///
    /// The result is sorted by the publishing part. The creation needs the values of the following properties, and
    /// waits for the outputs that they read:
    ///
    /// - the properties of the relationship,
    /// - the properties of sources and targets that the relationship reads, for example by `${source.address}`,
    /// - the properties of the resources on which its operations are called.
    ///
    /// `installs` tells whether the plan installs an element. The installation already waits for the outputs that the
    /// element reads. If the relationship is created after this installation, the function skips the properties of the
    /// element.
    pub(crate) fn relationship(
        &mut self,
        relationship: &'a Relationship,
        installs: &dyn Fn(&ElementName) -> bool,
    ) -> Result<&[Read<'a>], ResolveError> {
        self.found.clear();
        for (name, property) in &relationship.properties {
            let Some(template) = &property.value else { continue };
            let origin = property.origin.as_ref();
            let answer = self.resolver.template(template)?;
            collect(self.topology, &answer, &relationship.assembly, name, origin, &mut self.found);
            for (end, of_end) in read_of_ends(template) {
                let early = is_early(relationship, end);
                for node in self.nodes(relationship, end).filter(|node| early || !installs(&node.name)) {
                    self.of_another(node, of_end, name, origin);
                }
            }
        }
        for call in &relationship.create {
            let early = is_early(relationship, call.end);
            for node in self.nodes(relationship, call.end) {
                let called = node.operations.get(&call.operation);
                let called = called.and_then(|to| self.topology.get(&to.element));
                let Some(called) = called.filter(|of| early || !installs(&of.name)) else { continue };
                for (name, property) in &called.properties {
                    self.of_another(called, name, name, property.origin.as_ref());
                }
            }
        }
        Ok(one_each(&mut self.found))
    }

    /// Finds the outputs that the property `name` of `element` reads. A relationship needs the value of `name`, so its
    /// creation waits for these outputs. There are two cases:
    ///
    /// - `element` is a source or target of the relationship, and the property `reader` of the relationship reads the
    ///   property `name`. For the property `url: ${source.address}`, `reader` is `url`, and `name` is `address`.
    /// - An operation of the relationship is called on the resource `element`, and receives the property `name` of
    ///   `element`. In this case, `reader` is also `name`.
    ///
    /// `reader` and its place in the descriptor (`origin`) only explain the wait. The function finds nothing in two
    /// cases:
    ///
    /// - The topology contains no value for the property `name`. For example, the property is an output of `element`,
    ///   and reads nothing.
    /// - The value cannot be resolved. The engine reports this error when it calls the operations.
    fn of_another(
        &mut self,
        element: &'a Element,
        name: &PropertyName,
        reader: &'a PropertyName,
        origin: Option<&'a Origin>,
    ) {
        if element.properties.get(name).is_none_or(|property| property.value.is_none()) {
            return;
        }
        if let Ok(answer) = self.resolver.property(&element.name, name) {
            collect(self.topology, &answer, &element.name, reader, origin, &mut self.found);
        }
    }

    fn nodes(&self, relationship: &'a Relationship, end: End) -> impl Iterator<Item = &'a Element> + use<'a> {
        let topology = self.topology;
        let ends = match end {
            End::Source => &relationship.sources,
            End::Target => &relationship.targets,
        };
        ends.iter().flat_map(move |end| topology.nodes(&end.element))
    }
}

/// Tells whether a relationship may be created before its source or target (`end`) is Installed.
fn is_early(relationship: &Relationship, end: End) -> bool {
    let (state, modifier) = match end {
        End::Source => (relationship.source_state, relationship.source_modifier),
        End::Target => (relationship.target_state, relationship.target_modifier),
    };
    rank::least(state, modifier) < rank::INSTALLED
}

/// Returns the properties that a value of a relationship reads from the source and the target. `template` is this
/// value, for example `${source.address}`.
fn read_of_ends(template: &Template) -> Vec<(End, &PropertyName)> {
    let mut read = Vec::new();
    template.for_each_part(&mut |part| {
        if let Part::End { end, property } = part {
            read.push((*end, property));
        }
    });
    read
}

impl Read<'_> {
    /// Returns the reason for a wait between steps of `reader` and `producer`: `reader` reads an output of
    /// `producer`.
    pub(crate) fn by_element(&self, reader: &ElementName, producer: &ElementName) -> Reason {
        Reason::Property {
            reader: reader.clone(),
            property: self.property.clone(),
            producer: producer.clone(),
            output: self.output.clone(),
            origin: self.origin.cloned(),
        }
    }

    /// Returns the reason why the creation of `relationship` waits for a part. The reason states that a property of the
    /// relationship reads an output of this part.
    pub(crate) fn by_relationship(&self, relationship: &Relationship) -> Reason {
        Reason::Relationship {
            relationship: relationship.name.clone(),
            rule: format!("its property `{}` reads `{}`", self.property, self.output),
            origin: self.origin.cloned(),
        }
    }
}

fn collect<'a>(
    topology: &'a Topology,
    answer: &Answer,
    reader: &ElementName,
    property: &'a PropertyName,
    origin: Option<&'a Origin>,
    found: &mut Vec<Read<'a>>,
) {
    let Answer::Waiting(missing) = answer else { return };
    for missing in missing {
        if let Missing::Output { element, property: output, place } = missing
            && element != reader
        {
            let (producer, output) = (&topology.elements()[*place].name, output.clone());
            found.push(Read { producer, place: *place, output, property, origin });
        }
    }
}

/// Sorts reads by producer, and keeps only the first read of each producer.
fn one_each<'f, 'a>(found: &'f mut Vec<Read<'a>>) -> &'f [Read<'a>] {
    found.sort_by(|one, other| one.producer.cmp(other.producer));
    found.dedup_by(|again, first| again.producer == first.producer);
    found
}
