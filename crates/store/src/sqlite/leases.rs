//! Leases, process ids and stop requests, as rows.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use std::num::NonZeroU64;
use windlass_model::{AssemblyName, Epoch, ProcessId, Timestamp};

use super::fault::{Fault, Outcome};
use super::row::{from_json, to_json};
use crate::error::StoreError;
use crate::holder::Holder;
use crate::lease::{Hold, Lease, LeasePolicy, Standing};
use crate::store::reserved;
use crate::uptime::{Moment, Tick};

/// Grants a lease and records it.
pub(super) fn grant(
    db: &Connection,
    policy: &LeasePolicy<'_>,
    scope: &AssemblyName,
    holder: &Holder,
) -> Outcome<Lease> {
    let lease = policy.grant(scope, standing(db, scope)?.as_ref(), holder)?;
    let sql = "INSERT INTO lease (scope, epoch, holder, since, renewed, boot, tick)
        VALUES (:scope, :epoch, :holder, :since, :since, :boot, :tick)
        ON CONFLICT (scope) DO UPDATE
        SET epoch = :epoch, holder = :holder, since = :since, renewed = :since, boot = :boot, tick = :tick";
    db.prepare_cached(sql)?.execute(named_params! {
        ":scope": scope.as_str(),
        ":epoch": lease.epoch.0.get().cast_signed(),
        ":holder": to_json(holder)?,
        ":since": lease.since.as_millis(),
        ":boot": policy.now.tick.as_ref().map(|tick| &tick.boot),
        ":tick": policy.now.tick.as_ref().map(|tick| tick.millis),
    })?;
    Ok(lease)
}

/// Checks that a lease is the current lease, and records that the holder renewed the lease at `now`.
pub(super) fn renew(db: &Connection, lease: &Lease, now: &Moment) -> Outcome<()> {
    check_lease(db, lease)?;
    let mut update =
        db.prepare_cached("UPDATE lease SET renewed = ?2, boot = ?3, tick = ?4 WHERE scope = ?1")?;
    let tick = now.tick.as_ref();
    let (boot, millis) = (tick.map(|tick| &tick.boot), tick.map(|tick| tick.millis));
    update.execute((lease.scope.as_str(), now.at.as_millis(), boot, millis))?;
    Ok(())
}

/// Checks that a lease is the current lease, and deletes the holder from the row of the lease. The row stays, because
/// the next lease must have a higher epoch.
pub(super) fn release(db: &Connection, lease: &Lease) -> Outcome<()> {
    check_lease(db, lease)?;
    db.prepare_cached("UPDATE lease SET holder = NULL WHERE scope = ?1")?.execute([lease.scope.as_str()])?;
    Ok(())
}

/// Checks that a lease is the current lease.
pub(super) fn check_lease(db: &Connection, lease: &Lease) -> Outcome<()> {
    match standing(db, &lease.scope)? {
        Some(standing) if standing.is_held_by(lease) => Ok(()),
        _ => Err(Fault::Store(lease.lost())),
    }
}

fn standing(db: &Connection, scope: &AssemblyName) -> Outcome<Option<Standing>> {
    let mut select =
        db.prepare_cached("SELECT epoch, since, renewed, holder, boot, tick FROM lease WHERE scope = ?1")?;
    let mut rows = select.query([scope.as_str()])?;
    rows.next()?.map(read_standing).transpose()
}

fn read_standing(row: &Row<'_>) -> Outcome<Standing> {
    let epoch = NonZeroU64::new(row.get::<_, i64>(0)?.cast_unsigned());
    let epoch = Epoch(epoch.ok_or_else(|| Fault::Damaged("a lease has epoch 0".into()))?);
    let since = Timestamp::from_millis(row.get(1)?);
    let tick = row.get::<_, Option<String>>(4)?.zip(row.get(5)?).map(|(boot, millis)| Tick { boot, millis });
    let renewed = Moment { at: Timestamp::from_millis(row.get(2)?), tick };
    let holder: Option<String> = row.get(3)?;
    let holder: Option<Holder> = holder.as_deref().map(from_json).transpose()?;
    Ok(Standing { epoch, hold: holder.map(|holder| Hold { holder, since, renewed }) })
}

/// Returns the holder of the lease on `scope`. Returns `None` if the lease is free or has expired, or if the holder is
/// dead.
pub(super) fn holder(
    db: &Connection,
    policy: &LeasePolicy<'_>,
    scope: &AssemblyName,
) -> Outcome<Option<Holder>> {
    Ok(policy.holder(standing(db, scope)?))
}

/// Records a request to stop a process of the assembly `scope`. A second request for the same process changes nothing.
/// Returns an error if the assembly has no such process.
pub(super) fn ask_to_stop(db: &Connection, scope: &AssemblyName, process: ProcessId) -> Outcome<()> {
    let sql = "INSERT INTO stop (process) SELECT id FROM process WHERE id = ?1 AND assembly = ?2
        ON CONFLICT (process) DO UPDATE SET process = excluded.process";
    let found = db.prepare_cached(sql)?.execute((process.0.cast_signed(), scope.as_str()))?;
    if found == 0 {
        return Err(Fault::Store(StoreError::NoProcess { scope: scope.clone(), process }));
    }
    Ok(())
}

pub(super) fn is_asked_to_stop(db: &Connection, process: ProcessId) -> Outcome<bool> {
    let mut select = db.prepare_cached("SELECT 1 FROM stop WHERE process = ?1")?;
    Ok(select.exists([process.0.cast_signed()])?)
}

/// Takes the next `count` ids from the counter in the table `store`. Request ids come from the same counter.
pub(super) fn reserve_processes(db: &Connection, count: u32) -> Outcome<Vec<ProcessId>> {
    let sql = "UPDATE store SET reserved = reserved + ?1 RETURNING reserved";
    let last: Option<i64> = db.prepare_cached(sql)?.query_row([count], |row| row.get(0)).optional()?;
    let missing = || Fault::Damaged("the table `store` is empty".into());
    Ok(reserved(last.ok_or_else(missing)?.cast_unsigned(), count))
}
