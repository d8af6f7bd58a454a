//! Reactions of the daemon to policies. If a policy demands a change, such as a heal, the daemon starts the
//! change. If the daemon finds the same problem repeatedly, for example that scaling is impossible, it reports the
//! problem only once.

use windlass_engine::monitor::{Act, Demand, MOST_HEALS};
use windlass_lifecycle::{Scale, scaled};
use windlass_model::record::Intent;
use windlass_model::{AssemblyName, ElementName};

use super::{Daemon, Notice};
use crate::view::plan::DriftView;

impl Daemon<'_> {
    /// Starts the intents that policies demand, at most one for each assembly. Skips an assembly that an
    /// intent is already changing.
    pub(super) async fn act(&mut self, demands: Vec<(AssemblyName, Demand)>) {
        if demands.is_empty() {
            return;
        }
        self.read_events().await;
        for (name, demand) in demands {
            if self.is_changing(&name) {
                continue;
            }
            let (what, intent) = match demand.act {
                Act::Heal(part) if self.leaves_alone(&name, &part, &demand.because) => continue,
                Act::Heal(part) => (format!("heal {}", part.local()), Intent::Heal(part)),
                Act::Scale(cluster, scale) => {
                    let word = if scale == Scale::Out { "out" } else { "in" };
                    let what = format!("scale {word} {}", cluster.local());
                    if self.is_at_bound(&name, &cluster, scale, &what).await {
                        continue;
                    }
                    let intent = match scale {
                        Scale::Out => Intent::ScaleOut(cluster),
                        Scale::In => Intent::ScaleIn(cluster),
                    };
                    (what, intent)
                }
            };
            (self.tell)(Notice::Acts { assembly: name.clone(), what: what.clone(), because: demand.because });
            self.change(name, what, intent);
        }
    }

    /// Tells whether a cluster can't be scaled now. There are three possible reasons. First, the cluster has
    /// its minimum or maximum size. Second, the cluster is protected, and scaling in would remove a node.
    /// Third, the assembly still has additional nodes of a rolling change. The first two reasons are reported
    /// once, and again only after a change of the assembly. Otherwise, each load sample of an idle cluster
    /// would cause a report. The third reason is never reported.
    async fn is_at_bound(
        &mut self,
        name: &AssemblyName,
        cluster: &ElementName,
        scale: Scale,
        what: &str,
    ) -> bool {
        let Some(changed) = self.roster.get(name).map(|watched| watched.updated) else { return false };
        let key = (cluster.clone(), scale == Scale::Out);
        if self.at_bound.get(name).and_then(|reported| reported.get(&key)) == Some(&changed) {
            return true;
        }
        let Ok(Some(snapshot)) = self.store.load(name).await else { return false };
        if !snapshot.assembly.surge.is_empty() {
            return true;
        }
        let topology = &snapshot.assembly.topology;
        let is_protected = scale == Scale::In && topology.protector(cluster).is_some();
        let why = match scaled(topology, cluster, scale) {
            Err(why) => why.to_string(),
            Ok(_) if is_protected => format!("`{}` is protected", cluster.local()),
            Ok(_) => return false,
        };
        self.at_bound.entry(name.clone()).or_default().insert(key, changed);
        (self.tell)(Notice::Refused { assembly: name.clone(), what: what.to_owned(), why });
        true
    }

    /// Reports each part that no policy heals and that no longer matches its record. The method reports such a part
    /// only once. If a reported part matches its record again, the method reports this, too.
    pub(super) fn tell_of(&mut self, name: &AssemblyName, parts: Vec<DriftView>) {
        let known = self.unwell.entry(name.clone()).or_default();
        for DriftView { element, well, seen } in parts {
            let (assembly, part) = (name.clone(), element.local().to_string());
            match (well, known.contains(&element)) {
                (Some(false), false) => {
                    known.insert(element);
                    (self.tell)(Notice::Unwell { assembly, part, seen });
                }
                (Some(true), true) => {
                    known.remove(&element);
                    (self.tell)(Notice::Well { assembly, part });
                }
                _ => {}
            }
        }
    }

    /// Tells whether the daemon ignores a policy's demand to heal the part `part`. `because` is the reason for the
    /// demand. The daemon ignores the demand if the part has not recovered after [`MOST_HEALS`] attempts.
    ///
    /// For the first ignored demand, the method also sends [`Notice::GivesUp`]. It sends no notice for further
    /// demands.
    fn leaves_alone(&mut self, name: &AssemblyName, part: &ElementName, because: &str) -> bool {
        let given_up = self.given_up.entry(name.clone()).or_default();
        if !self.roster.get(name).is_some_and(|watched| watched.heals.is_left_alone(part)) {
            given_up.remove(part);
            return false;
        }
        if given_up.insert(part.clone()) {
            (self.tell)(Notice::GivesUp {
                assembly: name.clone(),
                part: part.local().to_string(),
                times: MOST_HEALS,
                because: because.to_owned(),
            });
        }
        true
    }
}
