//! The parts that a limited plan may touch: the named parts, and those that they need to run.
//!
//! A part is needed in two cases. A named part reads its output, or a relationship with it must be created
//! before the named part reaches its state. A needed part stays as it is if its state is sufficient.
//! Otherwise the plan contains its complete path, and it needs others in turn. All other parts have no steps.
//!
//! A pair is ceased and created if both of its ends may be touched, or if an end is lowered. It is also
//! created if a part cannot run without it.

use std::collections::{HashMap, HashSet};

use windlass_model::assembly::{ElementKind, Endpoint};
use windlass_model::resolve::{NothingYet, ResolveError};
use windlass_model::{Element, ElementName, Modifier, Relationship, State, Topology};

use super::part::{ChangeKind, Part};
use super::parts::Parts;
use crate::rank;
use crate::situation::{Options, Reads, Situation};

/// The resources that a limited plan may touch.
pub(crate) struct Scope {
    /// The resources whose complete paths the plan contains.
    acting: HashSet<ElementName>,
    /// The resources that stay as they are, and that acting ones need.
    needed: HashSet<ElementName>,
    /// The healed resources, whose missing relationships are created.
    healed: HashSet<ElementName>,
}

/// The permitted changes of a pair in a limited plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All changes are permitted.
    All,
    /// The plan may create the pair if it is missing, and restore it if an end is lowered.
    Missing,
    /// The plan may cease the pair if an end is lowered, and restore it then.
    Restored,
}

impl Scope {
    /// Returns the parts that a plan may touch; `None` if the plan is not limited.
    pub(crate) fn of(
        parts: &Parts<'_>,
        situation: &Situation<'_>,
        options: &Options,
    ) -> Result<Option<Self>, ResolveError> {
        if options.target.is_empty() {
            return Ok(None);
        }
        let acting = leaves(situation, &options.target);
        let healed = leaves(situation, &options.heal);
        let open: Vec<ElementName> = acting.iter().cloned().collect();
        let mut scope = Self { acting, needed: HashSet::new(), healed };
        if let Some(desired) = situation.desired {
            let ties = ties(desired.topology);
            Search { parts, situation, options, topology: desired.topology, ties: &ties, scope: &mut scope }
                .follow(open)?;
        }
        Ok(Some(scope))
    }

    /// Marks all other parts as untouched.
    pub(crate) fn freeze(&self, parts: &mut Parts<'_>) {
        for part in parts.list.iter_mut().filter(|part| !self.acting.contains(&part.name)) {
            let now = reached_by(part.now.state);
            (part.untouched, part.change_kind, part.low, part.end) = (true, ChangeKind::Keep, now, now);
        }
    }

    /// Tells whether the plan contains the complete path of a part.
    pub(crate) fn is_acting(&self, part: &ElementName) -> bool {
        self.acting.contains(part)
    }

    /// Returns the permitted changes of a pair of two nodes.
    pub(crate) fn reach(&self, topology: &Topology, source: &Element, target: &Element) -> Reach {
        let any = |node: &Element, of: &HashSet<ElementName>| match node.kind {
            ElementKind::Reference => false,
            ElementKind::Resource => of.contains(&node.name),
            _ => topology.leaves(&node.name).iter().any(|leaf| of.contains(&leaf.name)),
        };
        let acts = (any(source, &self.acting), any(target, &self.acting));
        let is_needed = |node: &Element| node.kind == ElementKind::Reference || any(node, &self.needed);
        match acts {
            (true, true) => Reach::All,
            (true, false) if is_needed(target) => Reach::Missing,
            (false, true) if is_needed(source) => Reach::Missing,
            (false, false) => Reach::Restored,
            _ if any(source, &self.healed) || any(target, &self.healed) => Reach::Missing,
            _ => Reach::Restored,
        }
    }
}

/// A search for the parts that other parts need.
struct Search<'s, 'a> {
    parts: &'s Parts<'a>,
    situation: &'s Situation<'a>,
    options: &'s Options,
    topology: &'a Topology,
    ties: &'s HashMap<&'a ElementName, Vec<&'a Relationship>>,
    scope: &'s mut Scope,
}

impl Search<'_, '_> {
    fn follow(mut self, mut open: Vec<ElementName>) -> Result<(), ResolveError> {
        // A fixed order makes the reported error deterministic.
        open.sort();
        while let Some(name) = open.pop() {
            let Some(part) = self.parts.get(&name) else { continue };
            if part.after.is_some() {
                self.published(part, &mut open)?;
                self.related(part, &mut open)?;
            }
        }
        Ok(())
    }

    /// Finds the producers of the outputs that a part reads.
    fn published(&mut self, part: &Part<'_>, open: &mut Vec<ElementName>) -> Result<(), ResolveError> {
        let Some(after) = self.topology.get(&part.name) else { return Ok(()) };
        let mut producers = HashSet::new();
        let mut reads = Reads::few(self.topology, &NothingYet);
        producers.extend(reads.element(part.after_at, after)?.iter().map(|read| read.producer));
        // An unknown output must be published, in every state of its producer.
        let lookup = self.situation.desired.map_or(&NothingYet as _, |version| version.lookup);
        let mut unknown = Reads::few(self.topology, lookup);
        for read in unknown.element(part.after_at, after)? {
            producers.remove(read.producer);
            self.act(read.producer, open);
        }
        for producer in producers {
            self.need(producer, rank::INSTALLED, open);
        }
        Ok(())
    }

    /// Finds the ends of the relationships that must be created before a part reaches its last state.
    fn related(&mut self, part: &Part<'_>, open: &mut Vec<ElementName>) -> Result<(), ResolveError> {
        // An adopted part has no transition that a relationship could precede.
        if self.options.adopt {
            return Ok(());
        }
        let ties = self.ties;
        for tie in ties.get(&part.name).into_iter().flatten() {
            let is_end = |ends: &[Endpoint]| {
                let mut leaves = ends.iter().flat_map(|end| self.topology.leaves(&end.element));
                leaves.any(|leaf| leaf.name == part.name)
            };
            let before_target = tie.target_modifier == Modifier::Pre
                && part.end >= rank::of(tie.target_state)
                && is_end(&tie.targets);
            let before_source = tie.source_modifier == Modifier::Pre
                && part.end >= rank::of(tie.source_state)
                && is_end(&tie.sources);
            if before_target {
                self.need_all(&tie.sources, rank::least(tie.source_state, tie.source_modifier), open);
            }
            if before_source {
                self.need_all(&tie.targets, rank::least(tie.target_state, tie.target_modifier), open);
            }
            if (before_target || before_source) && !tie.create.is_empty() {
                self.given_to(tie, open)?;
            }
        }
        Ok(())
    }

    /// Finds the producers of the values of a relationship.
    fn given_to(&mut self, tie: &Relationship, open: &mut Vec<ElementName>) -> Result<(), ResolveError> {
        let Some(tie) = self.topology.relationship(&tie.assembly, tie.name.as_str()) else { return Ok(()) };
        let mut reads = Reads::few(self.topology, &NothingYet);
        for read in reads.relationship(tie, &|_| false)? {
            self.need(read.producer, rank::INSTALLED, open);
        }
        Ok(())
    }

    fn need_all(&mut self, ends: &[Endpoint], rank: u8, open: &mut Vec<ElementName>) {
        for leaf in ends.iter().flat_map(|end| self.topology.leaves(&end.element)) {
            self.need(&leaf.name, rank, open);
        }
    }

    /// Records that a part must be at a rank.
    fn need(&mut self, name: &ElementName, rank: u8, open: &mut Vec<ElementName>) {
        let Some(part) = self.parts.get(name) else { return };
        if reached_by(part.now.state) >= rank {
            self.scope.needed.insert(name.clone());
        } else {
            self.act(name, open);
        }
    }

    /// Records that the plan contains the complete path of a part.
    fn act(&mut self, name: &ElementName, open: &mut Vec<ElementName>) {
        if self.parts.get(name).is_some() && self.scope.acting.insert(name.clone()) {
            open.push(name.clone());
        }
    }
}

/// Returns the rank of a state. A Broken part counts as Inactive, and a Failed part as Absent.
fn reached_by(state: State) -> u8 {
    match state {
        State::Broken => rank::INACTIVE,
        state => state.rank().unwrap_or(rank::ABSENT),
    }
}

/// Returns the names of the resources at or below some elements, in either version.
fn leaves<'n>(
    situation: &Situation<'_>,
    names: impl IntoIterator<Item = &'n ElementName>,
) -> HashSet<ElementName> {
    let names: Vec<&ElementName> = names.into_iter().collect();
    let versions = [situation.desired, situation.installed].into_iter().flatten();
    let leaves =
        versions.flat_map(|version| names.iter().flat_map(move |name| version.topology.leaves(name)));
    leaves.map(|leaf| leaf.name.clone()).collect()
}

/// Returns for each resource the relationships with an end at or above it.
fn ties(topology: &Topology) -> HashMap<&ElementName, Vec<&Relationship>> {
    let mut ties: HashMap<&ElementName, Vec<&Relationship>> = HashMap::new();
    for tie in topology.relationships() {
        let mut known = HashSet::new();
        for end in tie.sources.iter().chain(&tie.targets) {
            for leaf in topology.leaves(&end.element) {
                if known.insert(&leaf.name) {
                    ties.entry(&leaf.name).or_default().push(tie);
                }
            }
        }
    }
    ties
}
