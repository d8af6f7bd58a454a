//! The scaling of clusters: the same assembly with more or fewer nodes in one of its clusters.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use thiserror::Error;
use windlass_model::assembly::{Cluster, ElementKind, Operation, Relationship};
use windlass_model::policy::{Metric, MetricSource, Policy};
use windlass_model::template::{Part, Template};
use windlass_model::{Element, ElementName, Topology};

/// The direction of scaling.
///
/// One step of scaling adds or removes a fixed number of nodes. The cluster declares this number as its `increment`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Adds nodes.
    Out,
    /// Removes nodes.
    In,
}

/// The reason why a cluster cannot be scaled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// The element is not a cluster.
    #[error("`{name}` is not a cluster; {}", clusters_of(clusters))]
    NoCluster {
        /// The name of the element.
        name: ElementName,
        /// The clusters of the assembly.
        clusters: Vec<ElementName>,
    },
    /// The group cannot be scaled, because a list in the descriptor declares the nodes of the group, each with a
    /// key.
    #[error("the nodes of `{}` are the entries of a list; change the list, and run `windlass up`", name.local())]
    Keyed {
        /// The name of the group.
        name: ElementName,
    },
    /// The number of nodes would exceed the maximum.
    #[error("`{name}` can't grow by {by}: nodes now {nodes}, at most {maximum} (`maximum-nodes`)")]
    TooMany {
        /// The name of the cluster.
        name: ElementName,
        /// The current number of nodes.
        nodes: u32,
        /// The maximum number of nodes.
        maximum: u32,
        /// The number of requested additional nodes.
        by: u32,
    },
    /// The number of nodes would fall below the minimum.
    #[error("`{name}` can't shrink by {by}: nodes now {nodes}, at least {minimum} (`minimum-nodes`)")]
    TooFew {
        /// The name of the cluster.
        name: ElementName,
        /// The current number of nodes.
        nodes: u32,
        /// The minimum number of nodes.
        minimum: u32,
        /// The number of nodes to be removed.
        by: u32,
    },
    /// The cluster has no node to copy.
    #[error("`{name}` has no node to copy; declare its number of nodes, and run `windlass up`")]
    Empty {
        /// The name of the cluster.
        name: ElementName,
    },
}

fn clusters_of(clusters: &[ElementName]) -> String {
    if clusters.is_empty() {
        return "the assembly has none".to_owned();
    }
    let names: Vec<String> = clusters.iter().map(|name| format!("`{}`", name.local())).collect();
    format!("the clusters are {}", names.join(", "))
}

/// Returns the assembly after one step of scaling: with more or fewer nodes in one cluster.
///
/// The increment of the cluster is the number of nodes that are added or removed. Scaling in removes the nodes with the
/// highest numbers.
///
/// # Errors
///
/// Returns an error if the element is not a cluster, or if the cluster's bounds forbid the full increment. An increment
/// is never applied in part.
pub fn scaled(topology: &Topology, cluster: &ElementName, scale: Scale) -> Result<Topology, ScaleError> {
    let bounds = bounds(topology, cluster)?;
    let nodes = count(topology, cluster);
    let by = bounds.increment.max(1);
    let wanted = match scale {
        Scale::Out => nodes.saturating_add(by),
        Scale::In => nodes.checked_sub(by).ok_or_else(|| ScaleError::TooFew {
            name: cluster.clone(),
            nodes,
            minimum: bounds.minimum,
            by,
        })?,
    };
    resized(topology, cluster, wanted)
}

/// Returns the assembly with a given number of nodes in one of its clusters.
///
/// New nodes are copies of the node with the lowest number, with the policies and metrics of this node. Each copy has
/// its own name and number.
///
/// # Errors
///
/// Returns an error in each of these cases:
///
/// - The element is not a cluster.
/// - The cluster has no node to copy.
/// - The cluster would grow, and its new size would be above its maximum.
/// - The cluster would shrink, and its new size would be below its minimum.
pub fn resized(topology: &Topology, cluster: &ElementName, nodes: u32) -> Result<Topology, ScaleError> {
    let bounds = bounds(topology, cluster)?;
    let now = count(topology, cluster);
    let name = || cluster.clone();
    if let Some(maximum) = bounds.maximum.filter(|maximum| nodes > *maximum && nodes > now) {
        return Err(ScaleError::TooMany { name: name(), nodes: now, maximum, by: nodes.saturating_sub(now) });
    }
    if nodes < bounds.minimum && nodes < now {
        let (minimum, by) = (bounds.minimum, now.saturating_sub(nodes));
        return Err(ScaleError::TooFew { name: name(), nodes: now, minimum, by });
    }
    let first = topology.children(cluster).min_by_key(|node| node.index);
    let Some(first) = first.map(|first| &first.name) else {
        return if nodes == 0 { Ok(topology.clone()) } else { Err(ScaleError::Empty { name: name() }) };
    };
    Ok(Resize { topology, cluster, first, nodes }.run())
}

/// Returns the assembly with additional nodes in some groups. The bounds of the groups are ignored.
///
/// The additional nodes are copies of the node with the lowest number, and take the next numbers. Groups
/// whose nodes have keys get no additional nodes, and neither do groups without nodes.
pub fn surged(topology: &Topology, surge: &BTreeMap<ElementName, u32>) -> Topology {
    surge.iter().fold(topology.clone(), |topology, (group, more)| {
        let nodes = count(&topology, group).saturating_add(*more);
        sized(&topology, group, nodes).unwrap_or(topology)
    })
}

/// Returns the assembly without the additional nodes that [`surged`] has added.
pub fn unsurged(topology: &Topology, surge: &BTreeMap<ElementName, u32>) -> Topology {
    surge.iter().fold(topology.clone(), |topology, (group, more)| {
        let nodes = count(&topology, group).saturating_sub(*more);
        sized(&topology, group, nodes).unwrap_or(topology)
    })
}

/// Returns the nodes that [`surged`] has added.
pub fn surge_nodes(topology: &Topology, surge: &BTreeMap<ElementName, u32>) -> BTreeSet<ElementName> {
    let mut found = BTreeSet::new();
    for (group, more) in surge {
        let nodes = count(topology, group).saturating_sub(*more);
        let added = topology.children(group).filter(|node| node.index.is_some_and(|index| index > nodes));
        found.extend(added.map(|node| node.name.clone()));
    }
    found
}

/// Returns the assembly with a given number of nodes in a group; `None` if the nodes of the group have keys,
/// or if the group has no nodes.
fn sized(topology: &Topology, group: &ElementName, nodes: u32) -> Option<Topology> {
    let first = topology.children(group).min_by_key(|node| node.index).filter(|node| node.key.is_none())?;
    Some(Resize { topology, cluster: group, first: &first.name, nodes }.run())
}

fn bounds(topology: &Topology, cluster: &ElementName) -> Result<Cluster, ScaleError> {
    let element = topology.get(cluster).filter(|element| element.kind == ElementKind::Group);
    if element.is_some() && topology.children(cluster).any(|node| node.key.is_some()) {
        return Err(ScaleError::Keyed { name: cluster.clone() });
    }
    element.and_then(|element| element.cluster).ok_or_else(|| ScaleError::NoCluster {
        name: cluster.clone(),
        clusters: topology
            .elements()
            .iter()
            .filter(|element| element.cluster.is_some())
            .map(|element| element.name.clone())
            .collect(),
    })
}

fn count(topology: &Topology, cluster: &ElementName) -> u32 {
    u32::try_from(topology.children(cluster).count()).unwrap_or(u32::MAX)
}

struct Resize<'a> {
    topology: &'a Topology,
    cluster: &'a ElementName,
    /// The node that is copied for new nodes.
    first: &'a ElementName,
    nodes: u32,
}

impl Resize<'_> {
    fn run(&self) -> Topology {
        let mut elements = Vec::new();
        let mut last = 0;
        for (at, element) in self.topology.elements().iter().enumerate() {
            if self.stays(&element.name) {
                elements.push(element.clone());
            }
            if element.name == *self.cluster || self.node_of(&element.name).is_some() {
                last = at;
            }
        }
        // New nodes follow the existing ones of their cluster.
        let behind = self.topology.elements()[..=last].iter().filter(|e| self.stays(&e.name)).count();
        let new: Vec<u32> = self.new_nodes().collect();
        let like = self.topology.elements().iter().filter(|element| self.is_first(&element.name));
        let like: Vec<&Element> = like.collect();
        let copies = new.iter().flat_map(|index| like.iter().map(|element| self.element(element, *index)));
        let copies: Vec<Element> = copies.collect();
        elements.splice(behind..behind, copies);
        let mut relationships: Vec<Relationship> =
            self.topology.relationships().iter().filter(|r| self.stays(&r.assembly)).cloned().collect();
        for index in &new {
            let inside = self.topology.relationships().iter().filter(|r| self.is_first(&r.assembly));
            relationships.extend(inside.map(|relationship| self.relationship(relationship, *index)));
        }
        let mut policies: Vec<Policy> =
            self.topology.policies().iter().filter(|p| self.stays(&p.owner)).cloned().collect();
        for index in &new {
            let inside = self.topology.policies().iter().filter(|p| self.is_first(&p.owner));
            policies.extend(inside.map(|policy| self.policy(policy, *index)));
        }
        Topology::new(self.topology.name().clone(), elements, relationships)
            .with_policies(policies)
            .made_as(self.topology)
    }

    /// Returns the numbers of the new nodes.
    fn new_nodes(&self) -> impl Iterator<Item = u32> {
        let there: Vec<u32> = self.topology.children(self.cluster).filter_map(|node| node.index).collect();
        (1..=self.nodes).filter(move |index| !there.contains(index))
    }

    /// Returns the number of the cluster's node that contains an element. If the element is itself a node of the
    /// cluster, returns the number of this node.
    fn node_of(&self, name: &ElementName) -> Option<u32> {
        let rest = name.as_str().strip_prefix(self.cluster.as_str())?.strip_prefix("__")?;
        rest.split("__").next()?.parse().ok()
    }

    fn stays(&self, name: &ElementName) -> bool {
        self.node_of(name).is_none_or(|index| index <= self.nodes)
    }

    fn is_first(&self, name: &ElementName) -> bool {
        name.is_in(self.first)
    }

    /// Returns the name that the copy of an element has in the node with the number `index`.
    ///
    /// The first node of the cluster is copied to create further nodes. For example, `t__web__1__db` becomes
    /// `t__web__3__db` in the node with the number 3. A name from outside of the first node stays the same.
    fn rename(&self, name: &ElementName, index: u32) -> ElementName {
        if !self.is_first(name) {
            return name.clone();
        }
        let rest = &name.as_str()[self.first.as_str().len()..];
        let renamed = format!("{}{rest}", self.cluster.node(index));
        renamed.parse().expect("a name with another number is a name")
    }

    fn element(&self, like: &Element, index: u32) -> Element {
        let mut element = like.clone();
        element.name = self.rename(&like.name, index);
        element.parent = like.parent.as_ref().map(|parent| self.rename(parent, index));
        if like.name == *self.first {
            element.index = Some(index);
        }
        for property in element.properties.values_mut() {
            property.value = property.value.as_ref().map(|value| self.template(value, index));
        }
        for Operation { element, .. } in element.operations.values_mut() {
            *element = self.rename(element, index);
        }
        for metric in element.metrics.values_mut() {
            *metric = self.metric(metric, index);
        }
        element
    }

    fn metric(&self, metric: &Metric, index: u32) -> Metric {
        let mut metric = metric.clone();
        metric.source = self.source(&metric.source, index);
        metric.period = metric.period.as_ref().map(|period| self.template(period, index));
        metric
    }

    fn source(&self, source: &MetricSource, index: u32) -> MetricSource {
        MetricSource { element: self.rename(&source.element, index), metric: source.metric.clone() }
    }

    fn relationship(&self, like: &Relationship, index: u32) -> Relationship {
        let mut relationship = like.clone();
        relationship.assembly = self.rename(&like.assembly, index);
        for end in relationship.sources.iter_mut().chain(&mut relationship.targets) {
            end.element = self.rename(&end.element, index);
        }
        self.properties(&mut relationship.properties, index);
        relationship
    }

    fn policy(&self, like: &Policy, index: u32) -> Policy {
        let mut policy = like.clone();
        policy.owner = self.rename(&like.owner, index);
        policy.target = self.rename(&like.target, index);
        policy.metric = self.source(&like.metric, index);
        self.properties(&mut policy.properties, index);
        policy
    }

    fn properties(
        &self,
        properties: &mut IndexMap<windlass_model::PropertyName, windlass_model::assembly::Property>,
        index: u32,
    ) {
        for property in properties.values_mut() {
            property.value = property.value.as_ref().map(|value| self.template(value, index));
        }
    }

    fn template(&self, template: &Template, index: u32) -> Template {
        match template {
            Template::Null => Template::Null,
            Template::Text(parts) => {
                Template::Text(parts.iter().map(|part| self.part(part, index)).collect())
            }
            Template::List(items) => {
                Template::List(items.iter().map(|item| self.template(item, index)).collect())
            }
            Template::Map(entries) => Template::Map(
                entries.iter().map(|(key, entry)| (key.clone(), self.template(entry, index))).collect(),
            ),
        }
    }

    fn part(&self, part: &Part, index: u32) -> Part {
        match part {
            Part::Property { element, property } => {
                Part::Property { element: self.rename(element, index), property: property.clone() }
            }
            Part::Instance { element, field } => {
                Part::Instance { element: self.rename(element, index), field: *field }
            }
            other => other.clone(),
        }
    }
}
