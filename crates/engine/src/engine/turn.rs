//! Lets several daemons that use one store share the duties of a factory.
//!
//! A factory has two duties: the health check of its applications, and the discovery of its instances. A *turn* is
//! one execution of a duty by one daemon. A duty with a cron expression is due at the *fire times* of the
//! expression. For each fire time, only one daemon gets the turn. A periodic duty has no fire times, and one daemon
//! gets the turn about once in each period.
//!
//! A daemon holds the lease of the factory during a turn, so two duties of a factory never run at the same time. At the
//! beginning of the turn, the daemon records the turn with its fire time. Another daemon that gets the lease later
//! reads this record, and does not execute the duty again for the same fire time.
//!
//! The daemons do not elect a leader for all factories. With a leader, one slow factory would delay the duties of all
//! other factories.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentScope, Expected};
use windlass_model::{AssemblyName, Timestamp};
use windlass_store::{Batch, Holder, Lease, Store, StoreError};

use super::core::Engine;
use crate::error::EngineError;
use crate::keeper::Renewal;

/// A duty of a factory: work that daemons repeat for the factory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FactoryDuty {
    /// The health check of the factory's applications.
    Check,
    /// The discovery of the factory's instances.
    Discovery,
}

impl FactoryDuty {
    fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Discovery => "discovery",
        }
    }
}

/// The time at which a [duty](FactoryDuty) of a factory is due: a fixed fire time, or once in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnTime {
    /// The duty is due at this fire time of a cron expression. All daemons compute the same fire times.
    At(Timestamp),
    /// The duty is due once in each period of this length. The periods of different daemons begin at different
    /// times.
    Every(Duration),
}

/// The answer to a daemon that requests a turn with [`take_turn`]. A *turn* is one execution of a
/// [duty](FactoryDuty) of a factory by one daemon.
#[non_exhaustive]
pub enum Turn {
    /// The daemon may now execute the duty, such as the health check of the factory's applications. [`DutyTurn`]
    /// contains the lease of the factory.
    Own(DutyTurn),
    /// The daemon need not execute the duty. Another daemon has already begun the duty for the requested fire time or
    /// period, or the factory no longer exists.
    Over,
    /// Another program holds the lease of the factory. The daemon asks again later.
    Held,
}

/// The permission for a daemon to execute a [duty](FactoryDuty) of a factory once. It contains the lease of the
/// factory, which [`run`](Self::run) releases.
pub struct DutyTurn {
    renewal: Renewal,
}

impl DutyTurn {
    /// Returns the lease of the factory.
    pub fn lease(&self) -> &Lease {
        self.renewal.lease()
    }

    /// Awaits `work`, and then releases the lease of the factory. The future `work` executes the [duty](FactoryDuty),
    /// such as a health check.
    ///
    /// # Errors
    /// The error of `work`. If the lease is lost before `work` ends, `work` is dropped, and the function returns an
    /// error.
    pub async fn run<T, E: From<StoreError>>(
        mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let done = self.renewal.keeping(work).await;
        self.renewal.release().await;
        done
    }
}

/// The record of the last execution of a duty by a daemon (the last *turn*). It is written when the execution
/// begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LastTurn {
    /// The daemon that executed the duty.
    holder: Holder,
    /// The time at which the execution began, by the clock of the store.
    began: Timestamp,
    /// The fire time for which the duty was executed; `None` if the duty is periodic.
    fired: Option<Timestamp>,
}

impl LastTurn {
    fn new(lease: &Lease, time: TurnTime) -> Self {
        let fired = match time {
            TurnTime::At(fired) => Some(fired),
            TurnTime::Every(_) => None,
        };
        Self { holder: lease.holder.clone(), began: lease.since, fired }
    }

    /// Tells whether this last turn makes a new turn unnecessary. A *turn* is one execution of a duty by one
    /// daemon. A daemon requests the new turn for `time`. `lease` is this daemon's lease of the factory.
    ///
    /// For a fire time, the new turn is unnecessary in two cases:
    ///
    /// - The last turn was for the same fire time, or for a later fire time.
    /// - The last turn was for an earlier fire time, but another daemon began the last turn at `time` or later.
    ///   Example: the last turn was for 12:00, and began at 12:03. A new turn for 12:02 is then unnecessary.
    ///
    /// For a periodic duty, the new turn is unnecessary if another daemon began the last turn less than 90 % of a
    /// period ago. If the same daemon had the last turn, the new turn is always necessary, because a daemon
    /// requests only one turn in each period.
    fn is_for(&self, time: TurnTime, lease: &Lease) -> bool {
        let is_own = self.holder == lease.holder;
        match time {
            // If another daemon had the last turn, that turn may have begun after its fire time. The last turn then
            // also covers each fire time before its beginning.
            TurnTime::At(fired) => self.fired >= Some(fired) || !is_own && self.began >= fired,
            TurnTime::Every(period) => {
                // A daemon may request its turn slightly before the period is over. This request is granted,
                // because the daemon requests its next turn only a whole period later.
                let next = period.mul_f64(0.9).as_millis();
                !is_own && u128::from(lease.since.millis_since(self.began)) < next
            }
        }
    }
}

/// The version of the format in which a [`LastTurn`] is stored.
const VERSION: u32 = 1;

fn key(factory: &AssemblyName, duty: FactoryDuty) -> DocumentKey {
    DocumentKey {
        scope: DocumentScope::Assembly(factory.clone()),
        kind: "duty".parse().expect("it is a kind of documents"),
        name: duty.name().parse().expect("it is a name of a document"),
    }
}

/// Requests a turn for a daemon: one execution of a duty of a factory.
///
/// If another daemon has already begun the duty for the same fire time or period, the result is [`Turn::Over`].
///
/// # Errors
/// An error of the store.
pub async fn take_turn(
    engine: &Engine,
    (factory, duty): (&AssemblyName, FactoryDuty),
    time: TurnTime,
    holder: &Holder,
) -> Result<Turn, EngineError> {
    let lease = match engine.store.lease(factory, holder).await {
        Ok(lease) => lease,
        Err(StoreError::Held { .. }) => return Ok(Turn::Held),
        Err(error) => return Err(error.into()),
    };
    let renewal = Renewal::start(engine.store.clone(), lease);
    if record_turn(&*engine.store, renewal.lease(), duty, time).await? {
        return Ok(Turn::Own(DutyTurn { renewal }));
    }
    renewal.release().await;
    Ok(Turn::Over)
}

/// Records that a daemon now executes `duty` for the factory of `lease`, and returns `true`. Records nothing and
/// returns `false` in two cases: the duty has already begun for this fire time or period, or the factory does not
/// exist.
async fn record_turn(
    store: &dyn Store,
    lease: &Lease,
    duty: FactoryDuty,
    time: TurnTime,
) -> Result<bool, EngineError> {
    let key = key(&lease.scope, duty);
    let last = store.document(&key).await?;
    let last = last.and_then(|last| serde_json::from_value::<LastTurn>(last.body).ok());
    let is_over = last.is_some_and(|last| last.is_for(time, lease));
    if is_over || store.assembly(&lease.scope).await?.is_none() {
        return Ok(false);
    }
    let draft = DocumentDraft {
        key,
        expected: Expected::Any,
        version: VERSION,
        body: serde_json::to_value(LastTurn::new(lease, time)).expect("a record is plain data"),
        secrets: None,
        packages: BTreeSet::new(),
    };
    store.commit(lease, Batch::new().put_document(draft)).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use windlass_model::Epoch;

    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    fn lease(daemon: &str, since: Timestamp) -> Lease {
        let holder = Holder::current(daemon);
        Lease { scope: "vms".parse().unwrap(), epoch: Epoch(std::num::NonZeroU64::MIN), holder, since }
    }

    /// The last turn was for the fire time 60 s, and the daemon `a` began this turn late, at 63 s. In each case, a
    /// daemon requests a new turn: `daemon` is its name, `time` is the fire time or period, and `at` is the time of the
    /// request. If `is_over` is true, the daemon gets no turn, because the last turn makes a new turn unnecessary.
    #[test]
    fn a_turn_is_had_once() {
        let last = LastTurn::new(&lease("a", second(63)), TurnTime::At(second(60)));
        let fires = |at| TurnTime::At(second(at));
        let minute = TurnTime::Every(Duration::from_secs(60));
        for (what, time, daemon, at, is_over) in [
            ("the same fire time", fires(60), "b", 61, true),
            ("the same fire time again", fires(60), "a", 64, true),
            ("the next one", fires(120), "b", 120, false),
            ("one before the late beginning", fires(62), "b", 65, true),
            ("its own next one", fires(62), "a", 65, false),
            ("another daemon within the period", minute, "b", 100, true),
            ("another daemon, a little early", minute, "b", 120, false),
            ("its own within the period", minute, "a", 100, false),
        ] {
            assert_eq!(last.is_for(time, &lease(daemon, second(at))), is_over, "{what}");
        }
    }
}
