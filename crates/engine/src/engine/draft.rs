//! Makes drafts. A [`Draft`] is a planned process that is not recorded yet. It contains the desired assembly, the plan,
//! and the changes that the plan makes.
//!
//! A pure function makes the draft, so a preview and the real execution can't differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use windlass_driver::Package;
use windlass_lifecycle::Plan;
use windlass_lifecycle::{
    Diff, ElementChange, HealError, LifecycleError, Options, Planned, Scale, ScaleError, Situation, Version,
    declared_changes, healable, plan, resized, scaled, surge_nodes, surged,
};
use windlass_model::assembly::{ElementKind, MaxSurge, MaxUnavailable, PackageDigest};
use windlass_model::record::{AssemblyRecord, ElementRecord, Intent, Scaled, VersionRecord};
use windlass_model::template::End;
use windlass_model::work::{Relate, Work};
use windlass_model::{AssemblyName, DescriptorName, ElementName, ProcessId, State, Timestamp, Topology};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Snapshot};

use super::call;
use super::consent::{Consent, DestructivePlan, OmittedChanges};
use super::env::EngineEnv;
use super::fingerprint::PlanFingerprint;
use super::found::{self, Found};
use super::look::Seen;
use super::removals::{OwnParts, destroyed, unpermitted};
use super::request::{Arguments, BaseVersion, Desired, Request, UpOptions};
use super::versions::{closed, earlier, installed, is_other};
use crate::current::current;
use crate::error::{EngineError, ProtectedPart};
use crate::package_diffs::note_package_diffs;
use crate::world::{Packages, Secrets, World};

/// The history of an assembly, as far as a plan needs it. The snapshot of the assembly does not contain this history.
#[derive(Default)]
pub(super) struct PreviousState {
    /// The recorded versions of the assembly that the plan needs, the oldest first. A rollback needs the earlier
    /// version to which it returns. All intents need the versions from which existing elements and pairs were created.
    /// The list is empty if the newest version is enough.
    pub(super) versions: Vec<VersionRecord>,
    /// The recorded versions to which a rollback does not return by itself, because the assembly never reached them: each
    /// process that tried to has failed, or was cancelled. Empty for other intents than a rollback.
    pub(super) unreached: BTreeSet<ProcessId>,
    /// The packages that existing elements were created from, and the packages of the recorded versions of the
    /// assembly.
    pub(super) packages: HashMap<PackageDigest, Arc<Package>>,
    /// The intent of the last process, if that process has not completed. The requested intent may continue that
    /// process. For example, a repeated `ScaleOut` then adds no further nodes. `None` if the requested intent never
    /// continues an earlier process; see [`Intent::resumes_itself`].
    pub(super) unfinished: Option<Intent>,
    /// The limits that a retry takes over from the last process. A process that heals a part or calls a command
    /// does not count as the last process. For other intents than a retry, the limits are empty.
    pub(super) limits: Limits,
    /// The intent that a retry takes over from the last process; see [`recorded`]. A retry takes over an intent only
    /// if the last process is an adoption or a rollback that has not completed. `None` in all other cases.
    pub(super) resumed: Option<Intent>,
    /// The consent that a retry takes over from the process that it resumes. `None` if the request is no retry, or if
    /// the last process has completed.
    pub(super) permitted: Option<Consent>,
    /// The groups for which the last process was interrupted during a pause between two batches of nodes. The value
    /// is the planned end of the pause.
    pub(super) paused: BTreeMap<ElementName, Timestamp>,
    /// The elements with a [pending call](super::pending).
    pub(super) converging: BTreeSet<ElementName>,
}

/// The restrictions that an operator sets for a plan. For example, the plan changes only the elements in
/// [`target`](Self::target).
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    /// The elements that the plan may change; empty means all elements.
    pub(super) target: BTreeSet<ElementName>,
    /// The elements that the plan must not change.
    pub(super) except: BTreeSet<ElementName>,
    /// The number of nodes of each group that may be down at once; `None` if the operator gave no number.
    pub(super) max_unavailable: Option<MaxUnavailable>,
    /// The number of additional nodes that each group gets while its nodes change; `None` if the operator gave no
    /// number.
    pub(super) max_surge: Option<MaxSurge>,
}

/// A process that is planned, but not recorded yet: its plan, and all data that its execution needs.
pub(super) struct Draft {
    pub(super) world: World,
    pub(super) plan: Plan,
    pub(super) diff: Diff,
    /// The changes that the plan omits, because the operator has limited the plan to some elements. For a heal, these are
    /// only the changes in `omitted`. All other changes have nothing to do with the heal, and some are only possible: a
    /// value that the healed part publishes may stay the same.
    pub(super) undone: Diff,
    /// The restrictions that the operator has set for the plan.
    pub(super) limits: Limits,
    pub(super) intent: Intent,
    /// Whether the desired assembly differs from the recorded one.
    pub(super) is_new_version: bool,
    /// The records of new elements.
    pub(super) enrolled: Vec<ElementRecord>,
    /// Secrets that the store may not have yet.
    pub(super) secrets: BTreeMap<SecretRef, Sensitive<String>>,
    /// Packages that the store may not have yet.
    pub(super) packages: Vec<Arc<Package>>,
    /// The arguments of the command that is called.
    pub(super) arguments: Option<Arguments>,
    /// The elements that become Broken when the process begins.
    pub(super) broken: Vec<ElementName>,
    /// The results of the health checks; `None` if no health checks were made.
    pub(super) seen: Option<Vec<Seen>>,
    /// The changes that the health checks in `seen` require in the records.
    pub(super) found: Found,
    /// The batch that ends the interrupted processes. Empty if no process was interrupted, or if the
    /// batch was already committed.
    pub(super) closing: Batch,
    /// Values from the record of the assembly before the planned changes; `None` for a new assembly.
    pub(super) before: Option<Before>,
    /// The user's permission to remove or replace installed parts.
    pub(super) consent: Consent,
    /// The temporary nodes that groups still have from an earlier rolling change. The plan may remove these nodes
    /// without the user's consent.
    surplus: BTreeSet<ElementName>,
    /// Whether the draft resumes an interrupted process without asking a user.
    pub(super) resumes: bool,
    /// The removals and replacements that the plan omits, because no user has permitted them; `None` if there are none.
    pub(super) omitted: Option<OmittedChanges>,
    /// The required plan; `None` if the request requires no plan.
    expected: Option<PlanFingerprint>,
}

/// Values that the record of an assembly contains before the planned changes. The engine compares these values with
/// the draft. For example, the comparison finds new references.
pub(super) struct Before {
    pub(super) goal: State,
    pub(super) descriptor: DescriptorName,
    pub(super) references: BTreeSet<AssemblyName>,
    /// The process of an open call. A call is open if its end is not recorded. Only the draft of a preview sets this
    /// field.
    pub(super) open: Option<ProcessId>,
}

/// The desired assembly, and the options of the planner.
struct Target {
    /// The record of the desired assembly; `None` if the assembly is to be removed.
    record: Option<AssemblyRecord>,
    packages: Vec<Arc<Package>>,
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
    options: Options,
}

impl EngineEnv {
    /// Makes the plan for a request, and collects the data that the execution of the plan needs. `snapshot` contains
    /// the records of the assembly; `None` means that the assembly is new. `seen` contains the results of health
    /// checks; `None` means that no health checks were made.
    pub(super) fn draft(
        &self,
        request: Request,
        snapshot: Option<Snapshot>,
        previous: PreviousState,
        seen: Option<Vec<Seen>>,
    ) -> Result<Draft, EngineError> {
        let now = self.clock.now();
        let Request {
            intent: requested,
            desired,
            packages: instead,
            mut arguments,
            expected,
            consent,
            resumes,
            selection,
            observed,
            ..
        } = request;
        // A retry may remove and replace the same parts as the process that it resumes.
        let consent = match (consent, previous.permitted.clone()) {
            (Consent::None, Some(permitted)) => permitted,
            (consent, _) => consent,
        };
        let before = snapshot.as_ref().map(|snapshot| snapshot.assembly.clone());
        let goal = before.as_ref().map_or(State::Active, |record| record.goal);
        let mut intent = recorded(&requested, goal, previous.resumed.as_ref());
        let old_secrets = snapshot.as_ref().map(Secrets::of).unwrap_or_default();
        let called = match &requested {
            Intent::Call { part, command } => Some((part.clone(), command.clone())),
            _ => None,
        };
        let current_packages = desired.as_ref().is_some_and(|desired| desired.options.current_packages);
        let keeps_instances = desired.as_ref().is_some_and(|desired| desired.options.keeps_instances);
        let requested_down = requested == Intent::Down;
        if let Some(record) = before.as_ref().filter(|record| record.application.is_some()) {
            refuse_for_application(&record.name, &requested)?;
        }
        if let (Some(part), Some(snapshot)) = (requested.restarts(), &snapshot) {
            refuse_left(part, snapshot)?;
        }
        let mut target = match (desired, &before) {
            (Some(desired), before) => up(*desired, before.as_ref(), &old_secrets, now)?,
            (None, Some(record)) => stored(requested, record, &previous, (&mut intent, resumes))?,
            (None, None) => return Err(EngineError::Nothing),
        };
        if requested_down {
            target.options = Options { target: selection.target, except: selection.except, ..target.options };
        }
        // The interrupted pause begins again at its full length. If the plan contained only the rest of the
        // pause, the plan and its fingerprint would depend on the time.
        let paused = previous.paused.iter().filter(|(_, until)| **until > now);
        target.options.paused = paused.map(|(group, _)| group.clone()).collect();
        target.options.converging = previous.converging;
        let mut record = target.record.take();
        let surge = before.as_ref().map(|before| before.surge.clone()).unwrap_or_default();
        let surplus = before.as_ref().map(|before| surplus(before, &previous.versions)).unwrap_or_default();
        // While the nodes of a group change, the group may have additional nodes. An intent that is limited to
        // some elements, or that changes a single part, keeps these additional nodes.
        let is_single = !intent.concerns_assembly();
        let own = OwnParts::of(&intent, &consent, before.as_ref(), previous.unfinished.as_ref());
        let keeps_surge = target.options.is_limited() || is_single;
        if let Some(record) = record.as_mut().filter(|_| keeps_surge) {
            record.topology = surged(&record.topology, &surge);
            record.surge = surge;
        } else {
            target.options.open_surge = surge;
        }
        let before_all = before.as_ref().map(|before| Before {
            goal: before.goal,
            descriptor: before.descriptor.clone(),
            references: before.references.clone(),
            open: None,
        });
        let mut world = match (snapshot, &record) {
            (Some(snapshot), _) => World::load(snapshot),
            (None, Some(record)) => World::new(record.clone()),
            (None, None) => return Err(EngineError::Nothing),
        };
        if let Some(before) = &before {
            world.installed = Some(installed(before, &previous.versions, &world));
        }
        world.packages = Packages::new(previous.packages);
        if current_packages {
            world.packages.prefer_desired();
        }
        for package in &instead {
            world.packages.use_instead(package);
        }
        match record {
            Some(record) => world.assembly = record,
            None => world.assembly.goal = State::Absent,
        }
        world.assembly.updated = now;
        world.limited = target.options.is_limited() || is_single;
        let desired = world.packages.desire(&world.assembly.packages, &target.packages);
        desired.map_err(EngineError::PackageGone)?;
        world.packages.ask_what_is_kept(world.elements.values(), &self.drivers);
        target.options.kept.clone_from(world.packages.kept());
        world.secrets.extend(&target.secrets);
        let found = found::note(&mut world, seen.as_deref().unwrap_or_default(), now);
        target.options.replace.extend(found.replace.iter().cloned());
        let mut enrolled = Vec::new();
        let goes = world.assembly.goal == State::Absent;
        if !goes {
            world.enroll(now, &*self.entropy, &mut enrolled);
            self.preflight(&world, target.options.adopt)?;
        }
        let mut planned = match &called {
            Some((part, command)) => call::planned(&world, part, command, &mut arguments)?,
            None => planned(&world, &target.options)?,
        };
        let except = target.options.except.clone();
        let mut consent = consent;
        let mut omitted = None;
        let unpermitted = unpermitted(&planned.diff, &surplus, own.as_ref(), &mut consent);
        if !unpermitted.is_empty() {
            target.options.except.extend(unpermitted.iter().map(|change| change.element.clone()));
            world.limited = true;
            let name = &world.assembly.name;
            planned = self::planned(&world, &target.options)
                .map_err(|error| not_permitted(error, &unpermitted, name))?;
            omitted = Some(OmittedChanges::new(unpermitted, name));
        }
        if !planned.surge.is_empty() {
            // The plan changes Active nodes. Before these nodes change, their groups get additional nodes. So
            // the desired version gets the additional nodes, and a new plan is made.
            let topology = surged(world.topology(), &planned.surge);
            target.options.surge = surge_nodes(&topology, &planned.surge);
            (world.assembly.topology, world.assembly.surge) = (topology, planned.surge);
            world.enroll(now, &*self.entropy, &mut enrolled);
            planned = self::planned(&world, &target.options)?;
        }
        let is_new_version = before.as_ref().is_none_or(|before| !goes && is_other(before, &world.assembly));
        let recorded = before.map(|before| before.topology);
        if let Some(observed) = observed {
            let differ =
                found::differences(&observed, &found::conditions(seen.as_deref().unwrap_or_default()));
            if !differ.is_empty() {
                return Err(EngineError::OtherConditions(world.assembly.name.clone(), differ));
            }
        }
        if keeps_instances && !planned.diff.elements.iter().all(ElementChange::keeps_instance) {
            return Err(EngineError::KeepsNoInstance(world.assembly.name.clone()));
        }
        refuse_protected(recorded.as_ref(), &world, &planned.diff, &surplus)?;
        if let Some(recorded) = recorded.as_ref().filter(|_| !goes) {
            let version = |topology| Version { topology, lookup: &world };
            planned.diff.declared = declared_changes(version(recorded), version(world.topology()));
        }
        note_package_diffs(&world, &self.drivers, &mut planned.diff);
        let undone = match intent {
            Intent::Heal(_) => {
                let omitted = omitted.as_ref().map(|omitted| omitted.changes().to_vec());
                Diff { elements: omitted.unwrap_or_default(), ..Diff::default() }
            }
            _ => planned.undone,
        };
        Ok(Draft {
            plan: planned.plan,
            diff: planned.diff,
            undone,
            limits: Limits {
                target: if is_single { BTreeSet::new() } else { target.options.target },
                except,
                max_unavailable: target.options.max_unavailable.filter(|_| !is_single),
                max_surge: target.options.max_surge.filter(|_| !is_single),
            },
            intent,
            is_new_version,
            enrolled,
            secrets: target.secrets,
            packages: target.packages,
            arguments: called.map(|_| arguments),
            broken: target.options.heal.into_iter().collect(),
            seen,
            found,
            closing: Batch::new(),
            before: before_all,
            consent: if keeps_instances { Consent::Parts(BTreeSet::new()) } else { consent },
            surplus,
            resumes,
            omitted,
            expected,
            world,
        })
    }
}

impl Draft {
    /// Returns the changes that need the user's consent: the removals and replacements of installed parts.
    fn destroyed(&self) -> impl Iterator<Item = &ElementChange> {
        destroyed(&self.diff, &self.surplus)
    }

    /// Returns the value of [`ProcessRecord::may_destroy`](windlass_model::record::ProcessRecord::may_destroy) for the
    /// process of this draft.
    pub(super) fn may_destroy(&self) -> Option<BTreeSet<ElementName>> {
        match &self.consent {
            Consent::Any => None,
            Consent::Parts(parts) | Consent::Only(parts) => Some(parts.clone()),
            Consent::Plan(_) | Consent::None => {
                Some(self.destroyed().map(|change| change.element.clone()).collect())
            }
        }
    }

    /// Refuses the plan if it removes or replaces a protected part. `recorded` is the recorded topology.
    pub(super) fn refuse_protected(&self, recorded: Option<&Topology>) -> Result<(), EngineError> {
        refuse_protected(recorded, &self.world, &self.diff, &self.surplus)
    }

    /// Refuses the plan if it differs from the required plan.
    pub(super) fn refuse_other_plan(&self) -> Result<(), EngineError> {
        match &self.expected {
            Some(expected) if !expected.is(&self.plan, &self.diff) => {
                Err(EngineError::OtherPlan(self.world.assembly.name.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Refuses the plan if it removes or replaces installed parts, and the user has not consented to this plan.
    /// [`ElementChange::destroys`] decides which changes count.
    pub(super) fn refuse_without_consent(&self) -> Result<(), EngineError> {
        let is_agreed = match &self.consent {
            Consent::Any => true,
            Consent::Plan(agreed) => agreed.is(&self.plan, &self.diff) || self.destroyed().next().is_none(),
            Consent::Parts(parts) | Consent::Only(parts) => {
                self.destroyed().all(|change| parts.contains(&change.element))
            }
            Consent::None => self.destroyed().next().is_none(),
        };
        if is_agreed {
            return Ok(());
        }
        Err(EngineError::NeedsConsent(Box::new(DestructivePlan {
            assembly: self.world.assembly.name.clone(),
            changes: self.diff.clone(),
            fingerprint: PlanFingerprint::of(&self.plan, Some(&self.diff)),
        })))
    }
}

/// Makes the plan that changes an assembly from its recorded state to its desired state. `world` contains both states.
fn planned(world: &World, options: &Options) -> Result<Planned, EngineError> {
    let desired = Some(world.topology()).filter(|_| world.assembly.goal != State::Absent);
    let situation = Situation {
        current: &current(world),
        installed: world.installed.as_ref().map(|topology| Version { topology, lookup: world }),
        desired: desired.map(|topology| Version { topology, lookup: world }),
    };
    Ok(plan(&situation, options)?)
}

/// Returns the temporary nodes that groups may still have from an earlier rolling change. If the removal of such a node
/// has failed, the recorded assembly no longer contains the node, but an earlier version of the assembly does.
/// `versions` contains the earlier versions.
fn surplus(record: &AssemblyRecord, versions: &[VersionRecord]) -> BTreeSet<ElementName> {
    let earlier = versions.iter().map(|version| &version.assembly);
    let mut left: BTreeSet<ElementName> =
        earlier.flat_map(|assembly| surge_nodes(&assembly.topology, &assembly.surge)).collect();
    left.retain(|node| record.topology.get(node).is_none());
    left.extend(surge_nodes(&record.topology, &record.surge));
    left
}

/// Returns the error of a plan that fails because it omits the changes `unpermitted`. Any other error stays as it is.
/// `name` is the name of the assembly.
fn not_permitted(error: EngineError, unpermitted: &[ElementChange], name: &AssemblyName) -> EngineError {
    let omitted = match &error {
        EngineError::Lifecycle(LifecycleError::NeedsExcepted { needs: omitted, .. }) => omitted,
        EngineError::Lifecycle(LifecycleError::NeedsRemoved { part: omitted, .. }) => omitted,
        _ => return error,
    };
    match unpermitted.iter().find(|change| change.element == *omitted) {
        Some(change) => EngineError::NotPermitted(Box::new(OmittedChanges::new(vec![change.clone()], name))),
        None => error,
    }
}

/// Refuses the intent `requested` for the application `name`, if intents of this kind can't change applications.
fn refuse_for_application(name: &AssemblyName, requested: &Intent) -> Result<(), EngineError> {
    if requested.suits_applications() {
        return Ok(());
    }
    Err(EngineError::ForDescriptors { name: name.clone(), intent: Box::new(requested.clone()) })
}

/// Refuses to heal a part that exists and is no longer desired.
fn refuse_left(part: &ElementName, snapshot: &Snapshot) -> Result<(), EngineError> {
    let is_there = snapshot.elements.get(part).is_some_and(|record| record.state != State::Absent);
    if is_there && snapshot.assembly.topology.get(part).is_none() {
        return Err(HealError::Left { name: part.clone() }.into());
    }
    Ok(())
}

/// Refuses a plan that removes or replaces a protected part. A part is protected if the recorded or the desired
/// assembly protects the part. So the part is also protected during an `up` that lifts or adds the protection. A part
/// may still exist although neither assembly contains the part. Such a part is protected if the version from which it
/// was installed protects it.
fn refuse_protected(
    recorded: Option<&Topology>,
    world: &World,
    diff: &Diff,
    surplus: &BTreeSet<ElementName>,
) -> Result<(), EngineError> {
    let known = [recorded, Some(world.topology())];
    let installed = world.installed.as_ref();
    let protector = |name: &ElementName| {
        let is_left = known.iter().flatten().all(|topology| topology.get(name).is_none());
        let last = installed.filter(|_| is_left);
        known.into_iter().chain([last]).flatten().find_map(|topology| topology.protector(name))
    };
    let mut protected =
        destroyed(diff, surplus).filter_map(|change| Some((change, protector(&change.element)?)));
    let Some((first, by)) = protected.next() else { return Ok(()) };
    Err(EngineError::Protected(Box::new(ProtectedPart {
        part: first.element.clone(),
        effect: first.effect(),
        by: by.name.clone(),
        more: protected.count(),
    })))
}

/// Returns the intent for the record of a process. Usually, this is the `requested` intent. But a requested retry
/// is recorded as `down` if the assembly is being removed, as the `resumed` intent if there is one, and otherwise as
/// `up`. `goal` is the recorded goal of the assembly.
///
/// A retry of a rollback must not be recorded as `up`, because a failed `up` may cause a rollback to another version.
fn recorded(requested: &Intent, goal: State, resumed: Option<&Intent>) -> Intent {
    match requested {
        Intent::Retry if goal == State::Absent => Intent::Down,
        Intent::Retry => resumed.cloned().unwrap_or(Intent::Up),
        requested => requested.clone(),
    }
}

/// Returns the desired assembly and the planner's options for [`Request::up`].
fn up(
    desired: Desired,
    before: Option<&AssemblyRecord>,
    old_secrets: &Secrets,
    now: Timestamp,
) -> Result<Target, EngineError> {
    let Desired { mut topology, descriptor, owner, application, mut parameters, secrets, packages, options } =
        desired;
    let pins: BTreeMap<_, _> =
        packages.iter().map(|package| (package.name().clone(), package.digest().clone())).collect();
    let is_refused = |before: &&AssemblyRecord| options.only_new || before.descriptor.name != descriptor.name;
    if let Some(before) = before.filter(is_refused) {
        let (name, other) = (before.name.clone(), before.descriptor.clone());
        return Err(EngineError::NameTaken { name, other });
    }
    if let (Some(before), Some(base)) = (before, &options.base)
        && BaseVersion::of(before) != **base
    {
        return Err(EngineError::OtherVersion(before.name.clone()));
    }
    let (secrets, renamed) = name_apart(secrets, old_secrets);
    topology.rename_secrets(&renamed);
    for value in parameters.values_mut() {
        if let Some(name) = SecretRef::from_value(value).and_then(|secret| renamed.get(&secret)) {
            *value = name.to_value();
        }
    }
    let mut sizes = BTreeMap::new();
    if let Some(before) = before {
        (topology, sizes) = keep_sizes(topology, &before.scaled);
    }
    let UpOptions {
        goal,
        adopt,
        replace,
        target,
        except,
        max_unavailable,
        max_surge,
        only_new: _,
        keeps_instances: _,
        base: _,
        current_packages: _,
    } = options;
    let mut references = topology.referenced();
    references.extend(before.iter().flat_map(|before| before.references.iter().cloned()));
    let owner = before.map_or(owner, |before| before.owner.clone());
    references.extend(owner.clone());
    let options = Options {
        goal,
        adopt,
        packages: pins.clone(),
        replace,
        target,
        except,
        max_unavailable,
        max_surge,
        ..Options::default()
    };
    let record = AssemblyRecord {
        name: topology.name().clone(),
        descriptor,
        topology,
        goal,
        parameters,
        packages: pins,
        scaled: sizes,
        surge: BTreeMap::new(),
        references,
        version: before.and_then(|before| before.version),
        reached: before.and_then(|before| before.reached),
        owner,
        application,
        created: before.map_or(now, |before| before.created),
        updated: now,
    };
    Ok(Target { record: Some(record), packages, secrets, options })
}

/// Returns the desired assembly and the planner's options for a request that contains no desired assembly. The function
/// derives the desired assembly from `record`. For example, [`Intent::ScaleOut`] adds a node.
///
/// `requested` is the intent of the request. `intent` is the intent that will be recorded. For a rollback, the function
/// writes the chosen version into `intent`. `resumes` is as in [`Request::resumes`].
fn stored(
    requested: Intent,
    record: &AssemblyRecord,
    previous: &PreviousState,
    (intent, resumes): (&mut Intent, bool),
) -> Result<Target, EngineError> {
    let recorded = &record.topology;
    let record = &*closed(record);
    let mut next = record.clone();
    let packages = record.packages.clone();
    let mut options = Options { goal: record.goal, packages, max_unavailable: None, ..Options::default() };
    match requested {
        // The desired assembly stays the same.
        Intent::Up | Intent::Call { .. } => {}
        Intent::Adopt => options.adopt = true,
        Intent::Down => return Ok(nothing()),
        Intent::Retry if record.goal == State::Absent => {
            let Limits { target, except, .. } = previous.limits.clone();
            return Ok(Target { options: Options { target, except, ..Options::default() }, ..nothing() });
        }
        Intent::Retry => {
            options.target.clone_from(&previous.limits.target);
            options.except.clone_from(&previous.limits.except);
            options.max_unavailable = previous.limits.max_unavailable;
            options.max_surge = previous.limits.max_surge;
            options.adopt = previous.resumed == Some(Intent::Adopt);
        }
        Intent::SetState(state) => {
            next.goal = state;
            options.goal = state;
        }
        // The interrupted process has already recorded the new size.
        Intent::ScaleOut(_) | Intent::ScaleIn(_) if previous.unfinished.as_ref() == Some(&*intent) => {}
        Intent::ScaleOut(cluster) => next = resize(next, &cluster, |now| scaled(now, &cluster, Scale::Out))?,
        Intent::ScaleIn(cluster) => next = resize(next, &cluster, |now| scaled(now, &cluster, Scale::In))?,
        Intent::ScaleTo { cluster, nodes } => {
            next = resize(next, &cluster, |now| resized(now, &cluster, nodes))?;
        }
        Intent::Heal(element) => {
            let element = healable(recorded, &element)?.clone();
            let heal = if resumes || is_whole(recorded, &element) {
                // Parts of the element that are not in their desired state are repaired. Healthy parts are
                // not restarted. An interrupted heal has recorded the state Broken for the part that it restarts.
                Options { target: [element.clone()].into(), restore: [element].into(), ..Options::default() }
            } else {
                Options::heal([element])
            };
            options = Options { goal: record.goal, ..heal };
        }
        Intent::Rollback(process) => {
            let process = match previous.unfinished {
                Some(Intent::Rollback(to)) => process.or(to),
                _ => process,
            };
            let version = earlier(&previous.versions, record, process, &previous.unreached)?;
            *intent = Intent::Rollback(Some(version.process));
            let mut references = version.assembly.topology.referenced();
            references.extend(record.references.iter().cloned());
            let mut topology = closed(&version.assembly).topology.clone();
            // Only an `up` lifts a protection.
            topology.protect_as(&record.topology);
            next = AssemblyRecord {
                references,
                topology,
                surge: BTreeMap::new(),
                created: record.created,
                version: record.version,
                reached: record.reached,
                // A rollback of an assembly that is being removed is refused below.
                goal: if record.goal == State::Absent { State::Absent } else { version.assembly.goal },
                ..version.assembly.clone()
            };
            options.packages = next.packages.clone();
            options.goal = next.goal;
        }
    }
    if next.goal == State::Absent {
        return Err(EngineError::GoingDown(record.name.clone()));
    }
    Ok(Target { record: Some(next), packages: Vec::new(), secrets: BTreeMap::new(), options })
}

/// Tells whether an element is an assembly or a group. Assemblies and groups consist of other elements.
fn is_whole(topology: &Topology, name: &ElementName) -> bool {
    let kind = topology.get(name).map(|element| element.kind);
    matches!(kind, Some(ElementKind::Assembly | ElementKind::Group))
}

fn nothing() -> Target {
    Target { record: None, packages: Vec::new(), secrets: BTreeMap::new(), options: Options::default() }
}

fn resize(
    mut record: AssemblyRecord,
    cluster: &ElementName,
    scale: impl FnOnce(&Topology) -> Result<Topology, ScaleError>,
) -> Result<AssemblyRecord, EngineError> {
    let count = |topology: &Topology| u32::try_from(topology.children(cluster).count()).unwrap_or(u32::MAX);
    let nodes = count(&record.topology);
    record.topology = scale(&record.topology)?;
    let described = record.scaled.get(cluster).map_or(nodes, |scaled| scaled.described);
    let nodes = count(&record.topology);
    if nodes == described {
        record.scaled.remove(cluster);
    } else {
        record.scaled.insert(cluster.clone(), Scaled { described, nodes });
    }
    Ok(record)
}

/// Applies the recorded sizes of scaled clusters. A recorded size applies as long as the descriptor declares
/// the same size as at the time of scaling.
fn keep_sizes(
    mut topology: Topology,
    sizes: &BTreeMap<ElementName, Scaled>,
) -> (Topology, BTreeMap<ElementName, Scaled>) {
    let mut kept = BTreeMap::new();
    for (cluster, scaled) in sizes {
        let Some(bounds) = topology.get(cluster).and_then(|element| element.cluster) else { continue };
        let described = u32::try_from(topology.children(cluster).count()).unwrap_or(u32::MAX);
        if described != scaled.described {
            continue;
        }
        let nodes =
            scaled.nodes.clamp(bounds.minimum, bounds.maximum.unwrap_or(u32::MAX).max(bounds.minimum));
        if let Ok(same_size) = resized(&topology, cluster, nodes) {
            topology = same_size;
            kept.insert(cluster.clone(), Scaled { described, nodes });
        }
    }
    (topology, kept)
}

/// Renames each new secret whose value differs from the value that the store has under the same name. The old
/// value is still needed: existing elements were created with it, and are stopped and removed with it.
fn name_apart(
    secrets: BTreeMap<SecretRef, Sensitive<String>>,
    old: &Secrets,
) -> (BTreeMap<SecretRef, Sensitive<String>>, BTreeMap<SecretRef, SecretRef>) {
    let mut named = BTreeMap::new();
    let mut renamed = BTreeMap::new();
    for (secret, value) in secrets {
        let fits = |name: &SecretRef| old.get(name).is_none_or(|known| known.expose() == value.expose());
        let mut name = secret.clone();
        for number in 2_u32.. {
            if fits(&name) {
                break;
            }
            name = format!("{}.{number}", secret.id()).parse().expect("an id with a number behind it is one");
        }
        if name != secret {
            renamed.insert(secret, name.clone());
        }
        named.insert(name, value);
    }
    (named, renamed)
}

/// Returns the other assemblies on whose elements the plan calls operations.
pub(super) fn called_on(draft: &Draft) -> BTreeSet<AssemblyName> {
    let mut called = BTreeSet::new();
    for (_, work) in draft.plan.work() {
        let Work::Relate(relate) = work else { continue };
        let Relate { operations, sources, side, .. } = &**relate;
        let topology = draft.world.version(*side);
        for call in operations.iter().filter(|call| call.end == End::Source) {
            for source in sources.iter().flat_map(|end| topology.nodes(end)) {
                let leads_to = source.operations.get(&call.operation).map(|found| &found.element);
                called.extend(
                    leads_to.filter(|element| draft.world.is_foreign(element)).map(ElementName::assembly),
                );
            }
        }
    }
    called
}
