//! Decides how each resource changes. The module `readers` finds changed values, and calls [`judge`] for the
//! resources with changed values.

use std::collections::HashSet;

use windlass_model::assembly::OnPackageChange;
use windlass_model::{ElementName, State, Topology, Transition};

use super::part::{ChangeKind, PackageChange, Part};
use crate::rank;
use crate::situation::{Options, Situation};

/// Decides how each part changes: for example, the part is added, kept or re-installed.
///
/// The decision ignores changed values. The function [`judge`] corrects the decision later if values have changed.
pub(crate) struct ChangeRules<'a> {
    options: &'a Options,
    replace: HashSet<&'a ElementName>,
    heal: HashSet<&'a ElementName>,
    restore: HashSet<&'a ElementName>,
}

impl<'a> ChangeRules<'a> {
    pub(crate) fn new(situation: &Situation<'a>, options: &'a Options) -> Self {
        let [replace, heal, restore] = [&options.replace, &options.heal, &options.restore]
            .map(|elements| leaves_of(situation, elements));
        Self { options, replace, heal, restore }
    }

    /// Returns the [rank] that desired parts should have after the plan. If a relationship
    /// requires a higher rank of a part, the plan raises the part to the higher rank.
    pub(crate) fn goal(&self) -> u8 {
        let goal = if self.options.adopt { State::Active } else { self.options.goal };
        goal.rank().unwrap_or(rank::ABSENT)
    }

    /// Decides how a part changes: sets the part's fields `change_kind`, `package`, `low` and `end`. The
    /// function ignores changed values, which [`judge`] considers later.
    pub(crate) fn decide(&self, part: &mut Part<'_>) {
        if part.after.is_some() {
            part.end = part.end.max(self.goal());
        }
        part.package = package_change(part, self.options);
        part.keeps_values = self.heal.contains(&part.name) || self.restore.contains(&part.name);
        part.omits_stop = self.replace.contains(&part.name);
        part.change_kind = self.change_kind(part);
        settle(part);
    }

    fn change_kind(&self, part: &Part<'_>) -> ChangeKind {
        let Some(after) = part.after else { return ChangeKind::Remove };
        let start = part.now.state.rank();
        match part.now.state {
            // A repair would remove the instance and its data. So the plan repeats the Stop.
            State::Failed if part.now.could_not_be_stopped() => {}
            // Not a repair: the repair would uninstall the instance that the user wants to adopt.
            State::Absent | State::Failed if self.options.adopt => return ChangeKind::Adopt,
            State::Failed if part.now.has_remains() => return ChangeKind::Repair,
            // A repair, unlike an addition, also ceases the relationships of the part.
            State::Failed if part.now.gone => return ChangeKind::Repair,
            State::Absent | State::Failed => return ChangeKind::Add,
            _ if part.now.is_partly_removed() => return ChangeKind::Reinstall,
            _ => {}
        }
        let other_type = part.before.is_some_and(|before| before.descriptor != after.descriptor);
        let on_package_change =
            || Some(after.package_change()).filter(|_| part.package != PackageChange::None);
        if other_type
            || self.replace.contains(&part.name)
            || on_package_change() == Some(OnPackageChange::Replace)
        {
            ChangeKind::Reinstall
        } else if part.now.values_in_doubt && !self.is_restarted(part) {
            // The part may use its old or its new values, so a comparison of values proves nothing.
            if can_be_reconfigured(part) { ChangeKind::Reconfigure } else { ChangeKind::Reinstall }
        } else if self.is_restarted(part) || matches!(part.now.state, State::Broken | State::Failed) {
            ChangeKind::Heal
        } else if start > Some(part.end) || part.now.may_run() && part.end <= rank::INACTIVE {
            ChangeKind::Lower
        } else if part.package == PackageChange::Kept
            && on_package_change() == Some(OnPackageChange::Reconfigure)
            && can_be_reconfigured(part)
        {
            ChangeKind::Reconfigure
        } else {
            ChangeKind::Keep
        }
    }

    /// Tells whether the plan stops and starts a part to heal it. The part keeps its values, even if they are outdated
    /// or in doubt.
    fn is_restarted(&self, part: &Part<'_>) -> bool {
        let is_unwell = matches!(part.now.state, State::Broken | State::Failed);
        let runs = part.now.state.rank() > Some(rank::INACTIVE);
        is_unwell && part.keeps_values || runs && self.heal.contains(&part.name)
    }
}

/// Corrects the kind of change of a part with changed values. The caller has recorded these values in
/// [`Part::changes`].
///
/// A part without changes keeps its kind. If a part [keeps its values](Part::keeps_values), and its kind is Keep or
/// Heal, the function drops the changes, and the kind stays the same. The next `up` finds these changes again.
///
/// For all other parts, the new kind depends on the old kind:
///
/// - Keep or Reconfigure: the new kind is Reconfigure if the part can get the new values while it is Active. Otherwise,
///   the new kind is Reinstall.
/// - Heal or Lower: the new kind is Reinstall.
/// - Any other kind stays the same.
///
/// A part can get new values while it is Active on two conditions:
///
/// - All changed properties are *volatile*: the descriptor permits their change while the part is Active.
/// - The part is Active, stays Active, and declares Reconfigure.
pub(crate) fn judge(part: &mut Part<'_>) {
    if part.keeps_values && matches!(part.change_kind, ChangeKind::Keep | ChangeKind::Heal) {
        part.changes.clear();
    }
    if part.changes.is_empty()
        || !matches!(
            part.change_kind,
            ChangeKind::Keep | ChangeKind::Heal | ChangeKind::Lower | ChangeKind::Reconfigure
        )
    {
        return;
    }
    let volatile = part.changes.iter().all(|change| change.volatile);
    let stays = matches!(part.change_kind, ChangeKind::Keep | ChangeKind::Reconfigure);
    part.change_kind = if volatile && stays && can_be_reconfigured(part) {
        ChangeKind::Reconfigure
    } else {
        ChangeKind::Reinstall
    };
    settle(part);
}

/// Returns the names of all resources that are in `names`, or inside an element of `names`.
fn leaves_of<'a>(
    situation: &Situation<'a>,
    names: impl IntoIterator<Item = &'a ElementName>,
) -> HashSet<&'a ElementName> {
    let topologies = [situation.desired, situation.installed].into_iter().flatten();
    let topologies: Vec<&Topology> = topologies.map(|version| version.topology).collect();
    let names: Vec<&ElementName> = names.into_iter().collect();
    let leaves = topologies.iter().flat_map(|topology| names.iter().flat_map(|name| topology.leaves(name)));
    leaves.map(|leaf| &leaf.name).collect()
}

/// Tells whether a part is Active, stays Active, and declares Reconfigure.
fn can_be_reconfigured(part: &Part<'_>) -> bool {
    let stays_active = part.now.state == State::Active && part.end == rank::ACTIVE;
    stays_active && part.declared.contains(Transition::Reconfigure)
}

/// Compares the package from which a part was installed with the desired package.
fn package_change(part: &Part<'_>, options: &Options) -> PackageChange {
    let desired = part.after.and_then(|after| options.packages.get(&after.descriptor));
    match (&part.now.package, desired) {
        (Some(now), Some(desired)) if now != desired => {
            let change = (now.clone(), desired.clone());
            if options.kept.contains(&change) { PackageChange::Kept } else { PackageChange::Outdated }
        }
        _ => PackageChange::None,
    }
}

/// Sets [`Part::low`], the lowest [rank] that a part has during the plan. The rank follows from the
/// part's kind of change.
fn settle(part: &mut Part<'_>) {
    let start = part.now.state.rank().unwrap_or(rank::ABSENT);
    part.low = match part.change_kind {
        ChangeKind::Keep | ChangeKind::Reconfigure => start,
        ChangeKind::Add
        | ChangeKind::Adopt
        | ChangeKind::Repair
        | ChangeKind::Reinstall
        | ChangeKind::Remove => rank::ABSENT,
        // No transition leads from Inactive down to Installed: the part is uninstalled and installed again.
        ChangeKind::Heal | ChangeKind::Lower if part.end <= rank::INSTALLED => {
            let below = if part.declared.has_created() { rank::CREATED } else { rank::ABSENT };
            below.min(part.end)
        }
        ChangeKind::Heal | ChangeKind::Lower => rank::INACTIVE,
    };
}
