//! Relationships: which pairs are ended, which are made, and when.

use std::collections::{BTreeMap, HashSet};

use windlass_model::assembly::Endpoint;
use windlass_model::name::RelationshipName;
use windlass_model::resolve::{Answer, Resolver};
use windlass_model::template::End;
use windlass_model::{Element, ElementName, Modifier, Part, PropertyName, Relationship, Topology};
use windlass_plan::{Direction, Reason, Relate, Side, WaitKind, Why, Work};

use crate::LifecycleError;
use crate::diff::{Ends, RelationshipChange, RelationshipChangeKind};
use crate::fate::Later;
use crate::graph::{At, Phase};
use crate::least;
use crate::part::{Stance, Way};
use crate::planner::{Firmness, Planner};
use crate::reads::Reads;
use crate::steps::{at_rank, phase};

/// A relationship as it was made and as it should be.
#[derive(Clone, Copy)]
struct Tie<'a> {
    old: Option<&'a Relationship>,
    new: Option<&'a Relationship>,
    /// Whether its operations or values are others now.
    changed: bool,
}

/// The steps that have to publish what the values of a relationship read, and why.
type Awaited = Vec<(At, Reason)>;

/// One end of a relationship, with how it moves.
struct Node<'a> {
    element: &'a Element,
    way: Way,
    /// Whether the pairs that it has can stay.
    stays: bool,
}

impl<'a> Planner<'a> {
    pub(crate) fn relationships(&mut self) -> Result<(), LifecycleError> {
        for (tie, awaited) in self.ties()? {
            self.note_change(tie);
            if !self.options.adopt {
                self.order(tie);
            }
            let ceased = self.cease(tie);
            self.create(tie, awaited, &ceased);
        }
        Ok(())
    }

    /// Pairs the relationships of both versions, those of the desired one first, each with what its values wait for.
    fn ties(&self) -> Result<Vec<(Tie<'a>, Awaited)>, LifecycleError> {
        let (installed, mut ties) = (self.installed(), Vec::new());
        let mut known: HashSet<(&ElementName, &RelationshipName)> = HashSet::new();
        if let Some(desired) = self.situation.desired {
            let later = Later { lookup: desired.lookup, parts: &self.parts };
            let mut reads = Reads::few(desired.topology, &later);
            // Where nothing publishes anew, nobody waits for anything.
            let quiet = !self.parts.list.iter().any(crate::part::Part::publishes_anew);
            let installs = |name: &ElementName| {
                quiet || self.parts.get(name).is_none_or(crate::part::Part::publishes_anew)
            };
            let mut values = self.situation.installed.map(|version| {
                (Resolver::new(version.topology, version.lookup), Resolver::new(desired.topology, &later))
            });
            for new in desired.topology.relationships() {
                let old =
                    installed.and_then(|topology| topology.relationship(&new.assembly, new.name.as_str()));
                let changed = match (&mut values, old) {
                    (Some((before, after)), Some(old)) => differ(old, new, before, after),
                    _ => false,
                };
                known.insert((&new.assembly, &new.name));
                let waits = reads.relationship(new, &installs)?.iter().filter_map(|read| {
                    let published = self.parts.at(read.place)?.publishing()?;
                    Some((published, read.by_relationship(new)))
                });
                ties.push((Tie { old, new: Some(new), changed }, waits.collect()));
            }
        }
        for old in installed.iter().flat_map(|topology| topology.relationships()) {
            if !known.contains(&(&old.assembly, &old.name)) {
                ties.push((Tie { old: Some(old), new: None, changed: false }, Vec::new()));
            }
        }
        Ok(ties)
    }

    fn nodes(&self, topology: Option<&'a Topology>, ends: &'a [Endpoint]) -> Vec<(&'a Element, Way)> {
        let Some(topology) = topology else { return Vec::new() };
        let nodes = ends.iter().flat_map(|end| topology.nodes(&end.element));
        nodes.map(|node| (node, self.parts.node(topology, node))).collect()
    }

    /// Returns the ends of the old relationship, and whether each keeps what it has.
    fn old_nodes(&self, tie: Tie<'a>, end: End) -> Vec<Node<'a>> {
        let Some(old) = tie.old else { return Vec::new() };
        let (ends, state) = match end {
            End::Source => (&old.sources, old.source_state),
            End::Target => (&old.targets, old.target_state),
        };
        let state = state.rank().unwrap_or(4);
        let wanted: Option<(u8, HashSet<&ElementName>)> = tie.new.map(|new| {
            let (ends, state) = match end {
                End::Source => (&new.sources, new.source_state),
                End::Target => (&new.targets, new.target_state),
            };
            let nodes = self.nodes(self.desired(), ends);
            (state.rank().unwrap_or(4), nodes.into_iter().map(|(node, _)| &node.name).collect())
        });
        let read = end_properties(old, end);
        let node = |(element, way): (&'a Element, Way)| {
            let wanted = wanted
                .as_ref()
                .is_some_and(|(least, nodes)| way.end >= *least && nodes.contains(&element.name));
            let stays = wanted
                && !tie.changed
                && way.falls_to >= state
                && !self.changes_one_of(&element.name, &read)
                && !self.is_other_reference(element);
            Node { element, way, stays }
        };
        self.nodes(self.installed(), ends).into_iter().map(node).collect()
    }

    /// Tells whether a resource that stays gets another value of one of these properties.
    fn changes_one_of(&self, name: &ElementName, properties: &HashSet<&PropertyName>) -> bool {
        !properties.is_empty()
            && self
                .parts
                .get(name)
                .is_some_and(|part| part.changes.iter().any(|change| properties.contains(&change.property)))
    }

    /// Tells whether a reference means another thing now.
    fn is_other_reference(&self, old: &Element) -> bool {
        old.kind == windlass_model::assembly::ElementKind::Reference
            && self.desired().and_then(|topology| topology.get(&old.name)).is_some_and(|new| {
                let values = |element: &Element| -> BTreeMap<PropertyName, _> {
                    element.properties.iter().map(|(n, p)| (n.clone(), p.value.clone())).collect()
                };
                new.descriptor != old.descriptor || values(new) != values(old)
            })
    }

    /// Adds the steps that end pairs. Returns them by target.
    fn cease(&mut self, tie: Tie<'a>) -> BTreeMap<&'a ElementName, At> {
        let mut ceased = BTreeMap::new();
        let Some(old) = tie.old.filter(|old| !is_order_only(old)) else { return ceased };
        let (sources, targets) = (self.old_nodes(tie, End::Source), self.old_nodes(tie, End::Target));
        let leaving: Vec<&Node<'a>> = sources.iter().filter(|node| !node.stays).collect();
        let mut concerned = vec![false; sources.len()];
        for target in &targets {
            if target.stays && leaving.is_empty() || target.way.absent {
                continue;
            }
            let Some(made) = self.situation.current.made_at(old, &target.element.name) else { continue };
            let ended = |node: &Node<'_>| {
                (!target.stays || !node.stays) && !node.way.absent && made.contains(&node.element.name)
            };
            let ended: Vec<usize> = (0..sources.len()).filter(|at| ended(&sources[*at])).collect();
            if ended.is_empty() {
                continue;
            }
            for at in &ended {
                concerned[*at] = true;
            }
            let step = self.cease_at(old, target, &sources, &ended);
            ceased.insert(&target.element.name, step);
        }
        self.hold_sources_leaving(old, &sources, &concerned, ceased.values().copied().collect());
        ceased
    }

    fn cease_at(
        &mut self,
        old: &'a Relationship,
        target: &Node<'a>,
        sources: &[Node<'a>],
        ended: &[usize],
    ) -> At {
        let ends = || ended.iter().map(|at| &sources[*at]).chain([target]);
        let number = ends().filter_map(|node| cease_phase(old, node)).min().unwrap_or(phase::CUT_OVER);
        let step = self.graph.step(
            number,
            Work::Relate(Box::new(Relate {
                direction: Direction::Cease,
                assembly: old.assembly.clone(),
                relationship: old.name.clone(),
                target: target.element.name.clone(),
                sources: listed(&old.sources, sources, ended),
                pairs: u64::try_from(ended.len()).unwrap_or(u64::MAX),
                operations: old.cease.clone(),
                side: Side::Installed,
            })),
        );
        let state = old.target_state;
        let rank = state.rank().unwrap_or(4);
        self.after_target_rests(old, target.element, rank, step);
        let rule = format!("it ends before target {} leaves {state}", target.element.name.local());
        let why = self.because(old, rule);
        self.hold_leaving(&target.element.name, rank, step, Firmness::Rule, why);
        step
    }

    /// Lets a target that is above its state come down to it first: it keeps what it works with while it works.
    ///
    /// Only where the target climbed on after the relationship was made is this the mirror image of the way up, and
    /// so can't be part of a circle.
    fn after_target_rests(&mut self, old: &Relationship, target: &Element, rank: u8, step: At) {
        if old.target_modifier == Modifier::Post || old.source_modifier == Modifier::Pre || rank > 3 {
            return;
        }
        let leaves = self.installed().map(|topology| topology.leaves(&target.name)).unwrap_or_default();
        for leaf in leaves {
            let Some(part) = self.parts.get(&leaf.name) else { continue };
            if let Some(stop) = part.steps.leave(4).filter(|stop| part.leaving(rank) != Some(*stop)) {
                let rule = format!("target {} is stopped first", leaf.name.local());
                let why = self.because(old, rule);
                self.graph.need(step, stop, why);
            }
        }
    }

    /// Lets the sources whose pairs are ended stay until that is done at all targets.
    fn hold_sources_leaving(
        &mut self,
        old: &'a Relationship,
        sources: &[Node<'a>],
        concerned: &[bool],
        ceased: Vec<At>,
    ) {
        let leaving: Vec<&Node<'a>> = sources
            .iter()
            .zip(concerned)
            .filter(|(node, concerned)| **concerned && node.way.falls_to < 5)
            .map(|(node, _)| node)
            .collect();
        if leaving.is_empty() {
            return;
        }
        // Targets rest before sources do: the barrier is there even behind a single step.
        let all = self.graph.barrier(format!("{} is ended everywhere", old.name));
        let why = self.because(old, "all targets have ended it".to_owned());
        for step in ceased {
            self.graph.need(all, step, why);
        }
        let rank = old.source_state.rank().unwrap_or(4);
        for node in leaving {
            let name = &node.element.name;
            let rule = format!("it ends before source {} leaves {}", name.local(), old.source_state);
            let why = self.because(old, rule);
            self.hold_leaving(name, rank, all, Firmness::Rule, why);
        }
    }

    /// Adds the steps that make pairs.
    fn create(&mut self, tie: Tie<'a>, awaited: Awaited, ceased: &BTreeMap<&'a ElementName, At>) {
        let Some(new) = tie.new.filter(|new| !is_order_only(new)) else { return };
        let rank = |state: windlass_model::State| state.rank().unwrap_or(4);
        let ready = |ends, least: u8| -> Vec<Node<'a>> {
            let nodes = self.nodes(self.desired(), ends);
            nodes
                .into_iter()
                .filter(|(_, way)| way.end >= least)
                .map(|(element, way)| Node { element, way, stays: false })
                .collect()
        };
        let mut sources = ready(&new.sources, rank(new.source_state));
        let mut targets = ready(&new.targets, rank(new.target_state));
        let steady = self.mark_staying(tie, End::Source, &mut sources);
        self.mark_staying(tie, End::Target, &mut targets);
        let whole = sources.len() == self.nodes(self.desired(), &new.sources).len();
        let settled = steady && sources.iter().all(|source| source.stays);
        let awaited: Vec<(At, Why)> =
            awaited.into_iter().map(|(published, reason)| (published, self.graph.note(reason))).collect();
        let given_sources = self.given_anew(new, End::Source, &sources);
        let given_targets = self.given_anew(new, End::Target, &targets);
        let mut created = Vec::new();
        let mut concerned = vec![false; sources.len()];
        for (place, target) in targets.iter().enumerate() {
            let made = self.situation.current.made_at(new, &target.element.name).filter(|_| target.stays);
            // Where all that can be is made, and nothing of it is ended, no pair is looked at.
            if settled && made.is_some_and(|made| made.len() == sources.len()) {
                continue;
            }
            let open = |source: &Node<'_>| {
                !source.stays || !made.is_some_and(|made| made.contains(&source.element.name))
            };
            let open: Vec<usize> = match made {
                None => (0..sources.len()).collect(),
                Some(_) => (0..sources.len()).filter(|at| open(&sources[*at])).collect(),
            };
            if open.is_empty() {
                continue;
            }
            for at in &open {
                concerned[*at] = true;
            }
            let listed = if whole {
                listed(&new.sources, &sources, &open)
            } else {
                open.iter().map(|at| sources[*at].element.name.clone()).collect()
            };
            let step = self.create_at(new, target, &listed, open.len(), &sources, &open, ceased);
            for (published, why) in &awaited {
                self.graph.need(step, *published, *why);
            }
            for (at, given) in given_sources.iter().filter(|(at, _)| open.binary_search(at).is_ok()) {
                self.after_values(new, step, *given, &sources[*at]);
            }
            for (_, given) in given_targets.iter().filter(|(at, _)| *at == place) {
                self.after_values(new, step, *given, target);
            }
            created.push(step);
        }
        if self.modifiers(new).0 == Modifier::Pre && !created.is_empty() {
            self.hold_sources(new, &sources, &concerned, created);
        }
    }

    fn modifiers(&self, new: &Relationship) -> (Modifier, Modifier) {
        if self.options.adopt {
            (Modifier::Post, Modifier::Post)
        } else {
            (new.source_modifier, new.target_modifier)
        }
    }

    /// Marks the nodes whose pairs stay. Tells whether all that there were do.
    fn mark_staying(&self, tie: Tie<'a>, end: End, nodes: &mut [Node<'a>]) -> bool {
        let old = self.old_nodes(tie, end);
        let staying: HashSet<&ElementName> =
            old.iter().filter(|node| node.stays && !node.way.absent).map(|node| &node.element.name).collect();
        for node in nodes {
            node.stays = staying.contains(&node.element.name);
        }
        staying.len() == old.len()
    }

    #[expect(clippy::too_many_arguments, reason = "one step with all that it says and waits for")]
    fn create_at(
        &mut self,
        new: &'a Relationship,
        target: &Node<'a>,
        listed: &[ElementName],
        pairs: usize,
        sources: &[Node<'a>],
        open: &[usize],
        ceased: &BTreeMap<&'a ElementName, At>,
    ) -> At {
        let step = self.graph.step(
            create_phase(new, target, open.iter().map(|at| &sources[*at])),
            Work::Relate(Box::new(Relate {
                direction: Direction::Create,
                assembly: new.assembly.clone(),
                relationship: new.name.clone(),
                target: target.element.name.clone(),
                sources: listed.to_vec(),
                pairs: u64::try_from(pairs).unwrap_or(u64::MAX),
                operations: if self.options.adopt { Vec::new() } else { new.create.clone() },
                side: Side::Desired,
            })),
        );
        // Who is taken over is Active at once: it makes no transition that something could come before.
        let (source_modifier, target_modifier) = self.modifiers(new);
        let least_source = least(new.source_state, source_modifier);
        for source in listed {
            self.after_end(new, step, source, "source", least_source);
        }
        let least_target = least(new.target_state, target_modifier);
        self.after_end(new, step, &target.element.name, "target", least_target);
        if target_modifier == Modifier::Pre {
            let state = new.target_state;
            let rule = format!("it is made before target {} becomes {state}", target.element.name.local());
            let rank = state.rank().unwrap_or(4);
            let why = self.because(new, rule);
            self.hold_whole(target.element, rank, step, why);
        }
        if let Some(ceased) = ceased.get(&target.element.name) {
            let why = self.because(new, "what it was before is ended first".to_owned());
            self.graph.need(step, *ceased, why);
            self.graph.bring(*ceased, step);
            if target.way.falls_to > 4 {
                self.cease_late(new, *ceased, open.iter().map(|at| &sources[*at]), least_source);
            }
        }
        step
    }

    /// Keeps what a target has until what takes its place is ready: where that fails, the old one goes on working.
    ///
    /// A hope: a source that comes down itself, or waits for one that does, is ready only after that.
    fn cease_late<'n>(
        &mut self,
        new: &Relationship,
        ceased: At,
        sources: impl Iterator<Item = &'n Node<'a>>,
        least: u8,
    ) where
        'a: 'n,
    {
        for source in sources.filter(|source| source.way.falls_to > 4) {
            let name = &source.element.name;
            if let Some(ready) = self.reached(name, least) {
                let rule = format!("{} takes its place and must be {} first", name.local(), at_rank(least));
                let why = self.because(new, rule);
                self.graph.wait_firmly(ceased, ready, WaitKind::Needs, Firmness::Hope, why);
            }
        }
    }

    /// Returns the nodes of an end that are given new values of what the relationship reads of them, each with the step that
    /// does so.
    fn given_anew(&self, new: &Relationship, end: End, nodes: &[Node<'a>]) -> Vec<(usize, At)> {
        let read = end_properties(new, end);
        let given = |(at, node): (usize, &Node<'a>)| {
            let step = self.parts.get(&node.element.name)?.steps.reconfigure()?;
            self.changes_one_of(&node.element.name, &read).then_some((at, step))
        };
        if read.is_empty() { Vec::new() } else { nodes.iter().enumerate().filter_map(given).collect() }
    }

    /// Lets the making of a relationship wait until an end has the new values that the relationship reads.
    fn after_values(&mut self, new: &Relationship, step: At, given: At, node: &Node<'_>) {
        let rule = format!("{} must have its new values", node.element.name.local());
        let why = self.because(new, rule);
        self.graph.wait_firmly(step, given, WaitKind::Needs, Firmness::Wish, why);
    }

    /// Lets the making of a relationship wait until one end is as far as it must be.
    fn after_end(&mut self, new: &Relationship, step: At, end: &ElementName, word: &str, least: u8) {
        if let Some(reached) = self.reached(end, least) {
            let rule = format!("{word} {} must be {}", end.local(), at_rank(least));
            let why = self.because(new, rule);
            self.graph.need(step, reached, why);
        }
    }

    fn hold_sources(
        &mut self,
        new: &'a Relationship,
        sources: &[Node<'a>],
        concerned: &[bool],
        created: Vec<At>,
    ) {
        let all = self.graph.barrier(format!("{} is made everywhere", new.name));
        let why = self.because(new, "all targets have it".to_owned());
        for step in created {
            self.graph.need(all, step, why);
        }
        let rank = new.source_state.rank().unwrap_or(4);
        for (source, _) in sources.iter().zip(concerned).filter(|(_, concerned)| **concerned) {
            let name = &source.element.name;
            let rule = format!("it is made before source {} becomes {}", name.local(), new.source_state);
            let why = self.because(new, rule);
            self.hold_whole(source.element, rank, all, why);
        }
    }

    /// A relationship that calls nothing only puts its ends in order: N sources and M targets cost N + M waits.
    fn order(&mut self, tie: Tie<'a>) {
        if let Some(new) = tie.new.filter(|new| is_order_only(new)) {
            for (first, then) in ordered(new) {
                self.order_up(new, first, then);
            }
        }
        if let Some(old) = tie.old.filter(|old| is_order_only(old)) {
            for (first, then) in ordered(old) {
                self.order_down(old, then, first);
            }
        }
    }

    fn order_up(&mut self, new: &Relationship, first: Stage<'_>, then: Stage<'_>) {
        let waits: Vec<At> =
            first.ends.iter().filter_map(|end| self.reached(&end.element, first.least)).collect();
        let rule = format!("{} must be {}", first.names(), at_rank(first.least));
        let why = self.because(new, rule);
        let Some(gate) = self.gate(new, waits, why, "is ready") else { return };
        for end in then.ends {
            self.hold(&end.element, then.rank, gate, why);
        }
    }

    fn order_down(&mut self, old: &Relationship, first: Stage<'_>, then: Stage<'_>) {
        let waits: Vec<At> =
            first.ends.iter().filter_map(|end| self.left(&end.element, first.rank)).collect();
        let rule = format!("{} must leave {} first", first.names(), at_rank(first.rank));
        let why = self.because(old, rule);
        let Some(gate) = self.gate(old, waits, why, "is no longer needed") else { return };
        // One step leaves both Inactive and Installed, so what was an order on the way up may be a circle on the way down.
        for end in then.ends {
            self.hold_leaving(&end.element, then.least, gate, Firmness::Wish, why);
        }
    }

    /// Returns a barrier behind many steps, or the only one.
    fn gate(&mut self, relationship: &Relationship, waits: Vec<At>, why: Why, what: &str) -> Option<At> {
        if waits.len() < 2 {
            return waits.into_iter().next();
        }
        let gate = self.graph.barrier(format!("{} {what}", relationship.name));
        for wait in waits {
            self.graph.need(gate, wait, why);
        }
        Some(gate)
    }

    /// Notes the reason of waits that a relationship asks for.
    fn because(&mut self, relationship: &Relationship, rule: String) -> Why {
        let Relationship { name, origin, .. } = relationship;
        self.graph.note(Reason::Relationship { relationship: name.clone(), rule, origin: origin.clone() })
    }

    fn note_change(&mut self, tie: Tie<'a>) {
        let ends = |relationship: &Relationship| Ends {
            sources: relationship.sources.iter().map(|end| end.element.clone()).collect(),
            targets: relationship.targets.iter().map(|end| end.element.clone()).collect(),
        };
        let (before, after) = match self.situation.installed {
            Some(_) => (tie.old.map(ends), tie.new.map(ends)),
            // Nothing is known of another version, so nothing about it has changed.
            None => return,
        };
        let kind = match (&before, &after) {
            (None, Some(_)) => RelationshipChangeKind::Added,
            (Some(_), None) => RelationshipChangeKind::Removed,
            (Some(before), Some(after)) if before != after => RelationshipChangeKind::Moved,
            _ if tie.changed => RelationshipChangeKind::Changed,
            _ => return,
        };
        let Some(known) = tie.new.or(tie.old) else { return };
        let (assembly, relationship) = (known.assembly.clone(), known.name.clone());
        self.relationships.push(RelationshipChange { assembly, relationship, kind, before, after });
    }
}

/// One side of an order: its ends, the rank that counts for it, and the rank it must have for the other.
#[derive(Clone, Copy)]
struct Stage<'r> {
    ends: &'r [Endpoint],
    rank: u8,
    least: u8,
}

impl Stage<'_> {
    fn names(&self) -> String {
        self.ends.iter().map(|end| end.element.local()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns which end comes before which, as a relationship's modifiers say.
fn ordered(relationship: &Relationship) -> impl Iterator<Item = (Stage<'_>, Stage<'_>)> {
    let Relationship { sources, source_state, source_modifier, .. } = relationship;
    let Relationship { targets, target_state, target_modifier, .. } = relationship;
    let stage = |ends, state: windlass_model::State, modifier| Stage {
        ends,
        rank: state.rank().unwrap_or(4),
        least: least(state, modifier),
    };
    let source = stage(sources, *source_state, *source_modifier);
    let target = stage(targets, *target_state, *target_modifier);
    let source_first = (*target_modifier == Modifier::Pre).then_some((source, target));
    let target_first = (*source_modifier == Modifier::Pre).then_some((target, source));
    source_first.into_iter().chain(target_first)
}

fn is_order_only(relationship: &Relationship) -> bool {
    relationship.create.is_empty() && relationship.cease.is_empty()
}

/// Returns the phase in which a relationship is ended because of one end; none when that end stays.
fn cease_phase(old: &Relationship, node: &Node<'_>) -> Option<Phase> {
    if node.way.falls_to > 4 {
        return None;
    }
    let lowest = old.source_state.rank().min(old.target_state.rank());
    let offset = if lowest == Some(4) { phase::STOP } else { phase::UNINSTALL };
    Some(match node.way.stance {
        Stance::Goes => phase::OUT + offset,
        Stance::Changes => phase::CHANGE + offset,
        Stance::Stays => phase::CLEAR,
    })
}

fn create_phase<'n, 'a: 'n>(
    new: &Relationship,
    target: &Node<'_>,
    mut sources: impl Iterator<Item = &'n Node<'a>>,
) -> Phase {
    let rank = |state: windlass_model::State| state.rank().unwrap_or(4);
    let base = |way: Way| if way.stance == Stance::Changes { phase::AGAIN } else { 0 };
    if target.way.climbs {
        return base(target.way) + rank(new.target_state);
    }
    match sources.find(|source| source.way.stance == Stance::Changes && source.way.climbs) {
        Some(source) => base(source.way) + rank(new.source_state),
        // Whatever else comes to a target that is there already, comes when all is cut over.
        None => phase::CUT_OVER,
    }
}

/// Names nodes: by their endpoints when all are meant.
fn listed(ends: &[Endpoint], nodes: &[Node<'_>], which: &[usize]) -> Vec<ElementName> {
    if which.len() == nodes.len() {
        ends.iter().map(|end| end.element.clone()).collect()
    } else {
        which.iter().map(|at| nodes[*at].element.name.clone()).collect()
    }
}

/// Returns the properties of one end that a relationship reads.
fn end_properties(relationship: &Relationship, wanted: End) -> HashSet<&PropertyName> {
    let mut read = HashSet::new();
    for template in relationship.properties.values().filter_map(|property| property.value.as_ref()) {
        template.for_each_part(&mut |part| {
            if let Part::End { end, property } = part
                && *end == wanted
            {
                read.insert(property);
            }
        });
    }
    read
}

/// Tells whether a relationship calls other operations than before, or with other values.
fn differ(
    old: &Relationship,
    new: &Relationship,
    before: &mut Resolver<'_>,
    after: &mut Resolver<'_>,
) -> bool {
    if old.create != new.create || old.cease != new.cease {
        return true;
    }
    let names: HashSet<&PropertyName> = old.properties.keys().chain(new.properties.keys()).collect();
    names.into_iter().any(|name| {
        let (old, new) = (template(old, name), template(new, name));
        let (Some(old), Some(new)) = (old, new) else { return old.is_some() != new.is_some() };
        let ends = |template: &windlass_model::Template| {
            let mut ends = Vec::new();
            template.for_each_part(&mut |part| {
                if let Part::End { end, property } = part {
                    ends.push((*end, property.clone()));
                }
            });
            ends
        };
        let later = after.template(new);
        ends(old) != ends(new) || waits_for_output(&later) || before.template(old) != later
    })
}

fn template<'r>(relationship: &'r Relationship, name: &PropertyName) -> Option<&'r windlass_model::Template> {
    relationship.properties.get(name)?.value.as_ref()
}

fn waits_for_output(answer: &Result<Answer, windlass_model::resolve::ResolveError>) -> bool {
    use windlass_model::resolve::Missing;
    matches!(answer, Ok(Answer::Waiting(missing)) if missing.iter().any(|m| matches!(m, Missing::Output { .. })))
}
