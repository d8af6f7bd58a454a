//! The parts that a limited plan may change.
//!
//! A plan is *limited* if the user selects some parts; see [`Options::target`] and [`Options::except`]. The plan
//! may change the selected parts. It may also change a *needed* part: a part without which a selected part cannot
//! run.
//!
//! A part needs the parts that publish the outputs that it reads. A part also needs each relationship that must be
//! created before the part reaches its state. If the part is a target of such a relationship, the part needs the
//! sources of the relationship. If the part is a source, it needs the targets. In both cases, the part also needs the
//! parts that publish the outputs that the relationship reads.
//!
//! If the state of a needed part is sufficient, the plan does not change the part. Otherwise, the plan contains all
//! steps of the needed part, and treats it like a selected part. All remaining parts have no steps.
//!
//! A *pair* is one source and one target of a relationship. The plan may re-create a pair in two cases:
//!
//! - The plan may change both nodes of the pair.
//! - The plan brings one of the nodes below the state that the relationship requires.
//!
//! The plan may create a missing pair if a part cannot run without the pair.

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
    /// The resources that the plan may change.
    acting: HashSet<ElementName>,
    /// The needed resources that are already in a sufficient state.
    ///
    /// A resource is needed if a resource in `acting` cannot run without it.
    needed: HashSet<ElementName>,
    /// The resources whose missing relationships the plan creates.
    healed: HashSet<ElementName>,
}

/// The reason why a plan can't be limited to some parts.
pub(crate) enum ScopeError {
    /// A value can't be resolved. So the planner can't find the parts whose outputs the value reads.
    Value(ResolveError),
    /// A part needs another part that [`Options::except`] excludes from the plan.
    ///
    /// The excluded part is not ready: its state is too low, or its output is not known yet.
    NeedsExcepted {
        /// The part that needs the excluded part.
        part: ElementName,
        /// The part that `part` needs, and that [`Options::except`] excludes.
        needs: ElementName,
    },
    /// The part `part` stays, and depends on the part `needs`, which the plan would remove.
    NeedsRemoved { part: ElementName, needs: ElementName },
}

impl From<ResolveError> for ScopeError {
    fn from(error: ResolveError) -> Self {
        Self::Value(error)
    }
}

/// The changes that a plan may make to a pair. A pair is one source and one target of a relationship.
///
/// A plan for all parts may make all changes. A plan for some parts ([`Options::target`]) must leave some pairs as they
/// are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All changes are permitted.
    All,
    /// If the pair does not exist, the plan may create the pair.
    ///
    /// If the pair exists, the plan may re-create the pair only if one of its nodes goes below the state that the
    /// relationship requires.
    Missing,
    /// The plan may re-create the pair, but only if the source or the target of the pair goes below the state that the
    /// relationship requires.
    ///
    /// No other change of the pair is permitted.
    Restored,
}

impl Scope {
    /// Returns the parts that a limited plan may touch.
    ///
    /// `changing` contains the parts that a plan for all parts would change.
    pub(crate) fn of(
        parts: &Parts<'_>,
        situation: &Situation<'_>,
        options: &Options,
        changing: &HashSet<ElementName>,
    ) -> Result<Self, ScopeError> {
        let excepted = leaves(situation, &options.except);
        let mut acting = if options.target.is_empty() {
            parts.list.iter().map(|part| part.name.clone()).collect()
        } else {
            leaves(situation, &options.target)
        };
        acting.retain(|name| !excepted.contains(name));
        let healed = leaves(situation, options.heal.iter().chain(&options.restore));
        // If the options name only exceptions, all other parts are targets. Then the search for needed parts
        // begins only with the parts that change.
        let needs = |name: &&ElementName| !options.target.is_empty() || changing.contains(*name);
        let open: Vec<ElementName> = acting.iter().filter(needs).cloned().collect();
        let mut scope = Self { acting, needed: HashSet::new(), healed };
        if let Some(desired) = situation.desired {
            let ties = ties(desired.topology);
            let topology = desired.topology;
            let (ties, scope, excepted) = (&ties, &mut scope, &excepted);
            Search { parts, situation, options, topology, ties, scope, excepted }.follow(open)?;
        }
        Ok(scope)
    }

    /// Marks the parts that are not in `acting` as untouched.
    pub(crate) fn freeze(&self, parts: &mut Parts<'_>) {
        for part in parts.list.iter_mut().filter(|part| !self.acting.contains(&part.name)) {
            let now = reached_by(part.now.state);
            (part.untouched, part.change_kind, part.low, part.end) = (true, ChangeKind::Keep, now, now);
        }
    }

    /// Checks that the plan does not remove the parts on which a remaining part depends.
    ///
    /// For example, a web server depends on a group of databases. The check fails if the plan removes all nodes of the
    /// group, and the web server remains. If one node of the group remains, the check succeeds.
    ///
    /// The function checks each relationship that has no operations, such as a `depends-on`. A relationship with
    /// operations needs no check, because the plan can remove the relationship.
    pub(crate) fn keeps_dependencies(
        parts: &Parts<'_>,
        situation: &Situation<'_>,
        options: &Options,
    ) -> Result<(), ScopeError> {
        let Some(installed) = situation.installed.map(|version| version.topology) else { return Ok(()) };
        let of = |ends: &[Endpoint]| -> Vec<&Part<'_>> {
            let leaves = ends.iter().flat_map(|end| installed.leaves(&end.element));
            leaves.filter_map(|leaf| parts.get(&leaf.name)).collect()
        };
        let is_removed = |part: &&Part<'_>| part.end == rank::ABSENT;
        let dependencies = installed.relationships().iter().filter(|tie| tie.is_order_only());
        for tie in dependencies {
            let directions = [
                (&tie.sources, &tie.targets, tie.target_modifier, tie.target_state),
                (&tie.targets, &tie.sources, tie.source_modifier, tie.source_state),
            ];
            for (needed, dependent, modifier, state) in directions {
                let needed = of(needed);
                if modifier != Modifier::Pre || !needed.iter().all(is_removed) {
                    continue;
                }
                let Some(needs) = needed.into_iter().find(|part| !part.untouched) else { continue };
                let stays = |part: &&Part<'_>| {
                    let may_be_there = part.untouched && options.converging.contains(&part.name);
                    may_be_there || (part.end >= rank::of(state) && part.end > rank::ABSENT)
                };
                if let Some(part) = of(dependent).into_iter().find(stays) {
                    return Err(ScopeError::NeedsRemoved {
                        part: part.name.clone(),
                        needs: needs.name.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Tells whether the plan may change a part.
    pub(crate) fn is_acting(&self, part: &ElementName) -> bool {
        self.acting.contains(part)
    }

    /// Returns the changes that the plan may make to the pair of `source` and `target`.
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
///
/// The methods of the search add needed parts to `scope`. Most methods have a parameter `open`: a list of the parts
/// whose own needs the search must still examine. If the plan must change a needed part, a method also adds this
/// part to `open`.
///
/// A method fails if the plan would have to change a part that [`Options::except`] excludes.
struct Search<'s, 'a> {
    parts: &'s Parts<'a>,
    situation: &'s Situation<'a>,
    options: &'s Options,
    topology: &'a Topology,
    ties: &'s HashMap<&'a ElementName, Vec<&'a Relationship>>,
    scope: &'s mut Scope,
    excepted: &'s HashSet<ElementName>,
}

impl Search<'_, '_> {
    fn follow(mut self, mut open: Vec<ElementName>) -> Result<(), ScopeError> {
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

    /// Adds to the scope all *producers* of a part: the parts that publish the outputs that the part reads.
    ///
    /// If a producer is below Installed, or if one of these outputs is not known yet, the plan must change the
    /// producer. The plan need not change the other producers.
    fn published(&mut self, part: &Part<'_>, open: &mut Vec<ElementName>) -> Result<(), ScopeError> {
        let Some(after) = self.topology.get(&part.name) else { return Ok(()) };
        let mut producers = HashSet::new();
        let mut reads = Reads::few(self.topology, &NothingYet);
        producers.extend(reads.element(part.after_at, after)?.iter().map(|read| read.producer));
        // If an output is not known yet, the plan contains all steps of its producer (the part that publishes
        // the output), even if the state of the producer is sufficient.
        let lookup = self.situation.desired.map_or(&NothingYet as _, |version| version.lookup);
        let mut unknown = Reads::few(self.topology, lookup);
        for read in unknown.element(part.after_at, after)? {
            producers.remove(read.producer);
            self.act(read.producer, &part.name, open)?;
        }
        for producer in producers {
            self.need(producer, rank::INSTALLED, &part.name, open)?;
        }
        Ok(())
    }

    /// Adds to the scope the parts that a part needs because of its relationships.
    ///
    /// Some relationships must be created before one of their ends reaches its final state. If the part is the target
    /// of such a relationship, the part needs the sources. If the part is the source, it needs the targets. In both
    /// cases, the part also needs the producers of the outputs that the relationship reads.
    fn related(&mut self, part: &Part<'_>, open: &mut Vec<ElementName>) -> Result<(), ScopeError> {
        // A part that is adopted becomes Active in one step. No relationship can be created before this step, so
        // the part needs no other ends.
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
                self.need_all(
                    &tie.sources,
                    rank::least(tie.source_state, tie.source_modifier),
                    &part.name,
                    open,
                )?;
            }
            if before_source {
                self.need_all(
                    &tie.targets,
                    rank::least(tie.target_state, tie.target_modifier),
                    &part.name,
                    open,
                )?;
            }
            if (before_target || before_source) && !tie.create.is_empty() {
                self.given_to(tie, &part.name, open)?;
            }
        }
        Ok(())
    }

    /// Adds the *producers* of a relationship to the scope. A producer is a part that publishes an output which the
    /// relationship reads.
    ///
    /// The plan must install each producer that is not installed yet. The other producers may stay as they are. `by` is
    /// the part that needs the relationship.
    fn given_to(
        &mut self,
        tie: &Relationship,
        by: &ElementName,
        open: &mut Vec<ElementName>,
    ) -> Result<(), ScopeError> {
        let Some(tie) = self.topology.relationship(&tie.assembly, tie.name.as_str()) else { return Ok(()) };
        let mut reads = Reads::few(self.topology, &NothingYet);
        for read in reads.relationship(tie, &|_| false)? {
            self.need(read.producer, rank::INSTALLED, by, open)?;
        }
        Ok(())
    }

    fn need_all(
        &mut self,
        ends: &[Endpoint],
        rank: u8,
        by: &ElementName,
        open: &mut Vec<ElementName>,
    ) -> Result<(), ScopeError> {
        for end in ends {
            let leaves = self.topology.leaves(&end.element);
            let is_ready = |leaf: &&Element| {
                self.parts.get(&leaf.name).is_some_and(|part| reached_by(part.now.state) >= rank)
            };
            // A healed part can run with those nodes of a group that are ready.
            let is_group = self.topology.get(&end.element).is_some_and(|end| end.kind == ElementKind::Group);
            let is_enough = is_group && self.scope.healed.contains(by) && leaves.iter().any(is_ready);
            for leaf in leaves {
                if !(is_enough && self.excepted.contains(&leaf.name)) {
                    self.need(&leaf.name, rank, by, open)?;
                }
            }
        }
        Ok(())
    }

    /// Records that the part `by` needs the part `name` at a [rank] or above it.
    fn need(
        &mut self,
        name: &ElementName,
        rank: u8,
        by: &ElementName,
        open: &mut Vec<ElementName>,
    ) -> Result<(), ScopeError> {
        let Some(part) = self.parts.get(name) else { return Ok(()) };
        if reached_by(part.now.state) < rank {
            return self.act(name, by, open);
        }
        self.scope.needed.insert(name.clone());
        Ok(())
    }

    /// Records that the plan contains all steps of the part `name`. `by` is the part that needs the part `name`.
    fn act(
        &mut self,
        name: &ElementName,
        by: &ElementName,
        open: &mut Vec<ElementName>,
    ) -> Result<(), ScopeError> {
        if self.parts.get(name).is_none() {
            return Ok(());
        }
        if self.excepted.contains(name) {
            return Err(ScopeError::NeedsExcepted { part: by.clone(), needs: name.clone() });
        }
        if self.scope.acting.insert(name.clone()) {
            open.push(name.clone());
        }
        Ok(())
    }
}

/// Returns the [rank] of a state. A Broken part counts as Inactive, and a Failed part as Absent.
fn reached_by(state: State) -> u8 {
    match state {
        State::Broken => rank::INACTIVE,
        state => state.rank().unwrap_or(rank::ABSENT),
    }
}

/// Returns the names of all resources that `names` contains, or that are inside an element of `names`.
///
/// The function looks for the elements in the installed version and in the desired version of the assembly.
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

/// Returns the relationships of each resource.
///
/// A relationship belongs to a resource if one of its sources or targets is the resource, or contains the resource.
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
