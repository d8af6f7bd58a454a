//! The parts that a limited plan may touch: those that are named, and those without which they can't run.
//!
//! A part is needed when a named one reads what it publishes, or when a relationship with it has to be made before the named
//! one gets to its state. A needed part that is as far as it must be stays as it is. One that is not goes its whole way, and
//! needs others in turn. Nothing else has steps. A relationship is ended and made where both of its ends may be touched, where
//! an end comes down, and where a part can't run without it.

use std::collections::{HashMap, HashSet};

use windlass_model::assembly::{ElementKind, Endpoint};
use windlass_model::resolve::NothingYet;
use windlass_model::{Element, ElementName, Modifier, Relationship, State, Topology};

use crate::LifecycleError;
use crate::ask::{Options, Situation};
use crate::part::{Fate, Part, Parts};
use crate::rank;
use crate::reads::Reads;

/// The resources that a limited plan may touch.
pub(crate) struct Scope {
    /// Those that go their way.
    acting: HashSet<ElementName>,
    /// Those that stay as they are, and that acting ones need.
    needed: HashSet<ElementName>,
    /// Those whose relationships are restored: they are healed.
    healed: HashSet<ElementName>,
}

/// What a limited plan may do about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Whatever there is to do.
    All,
    /// To make it where it is missing, and to restore it where an end comes down.
    Missing,
    /// To end it where an end comes down, and to restore it then.
    Restored,
}

impl Scope {
    /// Finds the parts that a plan may touch; none when it isn't limited.
    pub(crate) fn of(
        parts: &Parts<'_>,
        situation: &Situation<'_>,
        options: &Options,
    ) -> Result<Option<Self>, LifecycleError> {
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

    /// Lets all other parts stay as they are.
    pub(crate) fn freeze(&self, parts: &mut Parts<'_>) {
        for part in parts.list.iter_mut().filter(|part| !self.acting.contains(&part.name)) {
            let now = reached_by(part.now.state);
            (part.untouched, part.fate, part.low, part.end) = (true, Fate::Keep, now, now);
        }
    }

    /// Tells whether a part goes its way.
    pub(crate) fn is_acting(&self, part: &ElementName) -> bool {
        self.acting.contains(part)
    }

    /// Tells what may be done about a pair of two nodes.
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

/// Follows what parts need.
struct Search<'s, 'a> {
    parts: &'s Parts<'a>,
    situation: &'s Situation<'a>,
    options: &'s Options,
    topology: &'a Topology,
    ties: &'s HashMap<&'a ElementName, Vec<&'a Relationship>>,
    scope: &'s mut Scope,
}

impl Search<'_, '_> {
    fn follow(mut self, mut open: Vec<ElementName>) -> Result<(), LifecycleError> {
        // In one order, so that the same error is told of each time.
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

    /// Finds the parts that a part reads from.
    fn published(&mut self, part: &Part<'_>, open: &mut Vec<ElementName>) -> Result<(), LifecycleError> {
        let Some(after) = self.topology.get(&part.name) else { return Ok(()) };
        let mut producers = HashSet::new();
        let mut reads = Reads::few(self.topology, &NothingYet);
        producers.extend(reads.element(part.after_at, after)?.iter().map(|read| read.producer));
        // What is not known yet has to be published, however far its part is.
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

    /// Finds the parts that a part must be related to before it gets where it goes.
    fn related(&mut self, part: &Part<'_>, open: &mut Vec<ElementName>) -> Result<(), LifecycleError> {
        // Who is taken over makes no transition that something could come before.
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

    /// Finds the parts that the values of a relationship are read from.
    fn given_to(&mut self, tie: &Relationship, open: &mut Vec<ElementName>) -> Result<(), LifecycleError> {
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

    /// Notes that a part must be at a rank.
    fn need(&mut self, name: &ElementName, rank: u8, open: &mut Vec<ElementName>) {
        let Some(part) = self.parts.get(name) else { return };
        if reached_by(part.now.state) >= rank {
            self.scope.needed.insert(name.clone());
        } else {
            self.act(name, open);
        }
    }

    /// Notes that a part goes its way.
    fn act(&mut self, name: &ElementName, open: &mut Vec<ElementName>) {
        if self.parts.get(name).is_some() && self.scope.acting.insert(name.clone()) {
            open.push(name.clone());
        }
    }
}

/// Returns the rank that a part has, also where its state has none: what is broken is configured, what has failed is nothing.
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

/// Returns the relationships that have a resource at or below one of their ends.
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
