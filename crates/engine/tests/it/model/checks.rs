//! Several assemblies at once: concurrent processes, health checks and queries, some of which are killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use proptest::prelude::*;
use windlass_driver::{Placement, Purpose};
use windlass_engine::{DiscoveryQuery, Seen, Stop};
use windlass_lifecycle::testing::{few, has_order, versions};
use windlass_model::Topology;
use windlass_model::record::{Effect, FailureKind, Intent, ProcessStatus};
use windlass_store::Store as _;

use super::driver::KIND;
use super::session::{Fate, Session};
use super::weather::Weather;
use super::world::Trouble;
use super::{on_virtual_time, trouble};
use crate::support::{assembly_name, finder};

/// The number of cases that CI tests.
const CASES: u32 = 20;

/// The names of the assemblies.
const NAMES: [&str; 4] = ["t", "o", "p", "q"];

/// A question with its start time, and the time in milliseconds after which the asker is killed.
#[derive(Debug, Clone)]
struct Question {
    /// Whether the question is a health check of an assembly; otherwise it is a query.
    looks: bool,
    which: usize,
    after: u64,
    killed: Option<u64>,
}

fn question() -> impl Strategy<Value = Question> {
    let killed = proptest::option::weighted(0.3, 0..400_u64);
    (any::<bool>(), 0..NAMES.len(), 0..200_u64, killed).prop_map(|(looks, which, after, killed)| Question {
        looks,
        which,
        after,
        killed,
    })
}

impl Question {
    /// Runs the health check or the query. If the checked assembly is in `still` (the unchanged assemblies), asserts
    /// that it is healthy.
    async fn ask(&self, session: &Session, number: usize, still: &[&str]) {
        tokio::time::sleep(Duration::from_millis(self.after)).await;
        let (engine, _) = session.rig.engine();
        let name = NAMES[self.which % NAMES.len()];
        let asked: BoxFuture<'_, ()> = Box::pin(async {
            if self.looks {
                let Ok(seen) = engine.look(&assembly_name(name)).await else { return };
                // At a location with a limit, a check waits for a slot for a limited time.
                let is_late = |seen: &&Seen| {
                    seen.sight.as_ref().is_err_and(|why| why.kind == FailureKind::Capacity)
                        && session.rig.max_jobs.is_some()
                };
                let mut seen = seen.iter().filter(|seen| !is_late(seen));
                let not_run = seen.clone().find(|seen| seen.sight.is_err());
                assert!(not_run.is_none(), "a check could not run: {not_run:?}");
                let wrong = seen.find(|seen| seen.is_well() != Some(true));
                assert!(wrong.is_none() || !still.contains(&name), "{wrong:?}");
                return;
            }
            let what = format!("thing {number}");
            let quest = DiscoveryQuery {
                package: Arc::new(finder(KIND)),
                placement: Placement::default(),
                properties: BTreeMap::from([("what".to_owned(), what.clone().into())]),
                configuration: None,
                purpose: Purpose::Reference,
                store: Some(session.rig.store.id().clone()),
            };
            let found = engine.env.discover(&quest, &Stop::default()).await.expect("its job runs");
            assert_eq!(found.iter().map(|found| found.natural.as_str()).collect::<Vec<_>>(), [what]);
        });
        match self.killed {
            Some(after) => drop(tokio::time::timeout(Duration::from_millis(after), asked).await),
            None => asked.await,
        }
    }
}

proptest! {
    #![proptest_config(few(CASES))]

    /// Each question must have its own job. If the asker of a question is killed, the job of the question must be
    /// removed later. If the records of one assembly cannot be written, the other assemblies must not be affected.
    #[test]
    fn checks_and_queries_of_several_assemblies(
        (a, b) in versions(),
        (trouble, _) in trouble(),
        questions in proptest::collection::vec(question(), 4..40),
        changes in proptest::collection::vec((1..NAMES.len(), any::<bool>()), 0..3),
        sabotage in proptest::option::weighted(0.4, 0..100_u64),
    ) {
        let topologies: Vec<Topology> = NAMES.iter().zip([&a, &b].into_iter().cycle()).map(|(name, spec)| spec.topology_of(name)).collect();
        prop_assume!(topologies.iter().all(has_order));
        // If records are lost, a call is known only if it is durable before its job.
        let effect = if sabotage.is_some() { Some(Effect::Once) } else { trouble.effect };
        let trouble = Trouble { effect, observable: true, loses: 0, ..trouble };
        on_virtual_time(async {
            let mut session = Session::new(trouble, false);
            if sabotage.is_some() || questions.iter().any(|question| question.killed.is_some()) {
                session.world.allow_more_jobs();
            }
            for topology in &topologies {
                session.settles(topology).await;
            }
            // Writes to the last assembly fail, and the others change while the questions are asked.
            let last = NAMES.len() - 1;
            let changed: Vec<usize> = changes.iter().map(|(which, _)| *which).chain(sabotage.map(|_| last)).collect();
            let still: Vec<&str> =
                NAMES.iter().enumerate().filter(|(at, _)| !changed.contains(at)).map(|(_, name)| *name).collect();
            session.weather = if sabotage.is_some() { Weather::sabotaged() } else { Weather::default() };
            let asked = questions.iter().enumerate().map(|(number, question)| question.ask(&session, number, &still));
            let processes = changed.iter().enumerate().map(|(number, which)| {
                let (session, topology) = (&session, &topologies[*which]);
                let down = changes.get(number).is_some_and(|(_, down)| *down);
                async move {
                    let ask = if down { Intent::Down } else { Intent::SetState(windlass_model::State::Inactive) };
                    let fate = session.ask(topology.name().as_str(), ask.into(), None).await;
                    (*which, fate)
                }
            });
            let sabotaged = async {
                if let Some(after) = sabotage {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    session.rig.store.sabotage(assembly_name(NAMES[last]));
                }
            };
            let (_, fates, ()) = futures::join!(join_all(asked), join_all(processes), sabotaged);
            for (which, fate) in fates {
                let is_first = changed.iter().filter(|other| **other == which).count() == 1;
                let is_well = matches!(fate, Fate::Ended(ProcessStatus::Completed, _));
                assert!(is_well || !is_first || which == last, "{}: {fate:?}", NAMES[which]);
            }
            if questions.iter().all(|question| question.killed.is_none()) {
                let [asked, answered] = session.world.asked();
                assert_eq!(asked, answered, "some shared a job");
            }
            session.rig.store.recover();
            // After this time, no asker can still wait for an answer.
            tokio::time::sleep(Duration::from_secs(700)).await;
            // The last assembly comes first, because its process may have left jobs.
            for topology in topologies.iter().rev() {
                session.settles(topology).await;
            }
            for topology in &topologies {
                session.goes(topology.name().as_str()).await;
            }
        });
    }
}
