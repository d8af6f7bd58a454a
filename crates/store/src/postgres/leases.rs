//! Reads and writes the rows of leases and of stop requests, and the counter of process ids.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use tokio_postgres::{GenericClient, Row};
use windlass_model::{AssemblyName, Epoch, ProcessId, Timestamp};

use super::fault::{Fault, Outcome};
use super::row::from_json;
use crate::error::StoreError;
use crate::holder::Holder;
use crate::lease::{Hold, Lease, LeaseRules, Standing};
use crate::store::reserved;
use crate::uptime::Moment;

/// Reads the server's time. The clocks of machines differ, but all programs that share a store use the same
/// server.
pub(super) async fn now(db: &impl GenericClient) -> Outcome<Moment> {
    let millis: i64 = db.query_one(&format!("SELECT {NOW}"), &[]).await?.get(0);
    Ok(Moment::by_clock(Timestamp::from_millis(millis)))
}

/// The server's wall clock. The transaction's own time may be older, because the transaction may have waited
/// for a row.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Grants the lease on `scope` to `holder`, if the lease is free, has expired, or belongs to a dead holder. Otherwise
/// returns [`StoreError::Held`].
pub(super) async fn grant(
    db: &impl GenericClient,
    rules: &LeaseRules,
    scope: &AssemblyName,
    holder: &Holder,
) -> Outcome<Lease> {
    let standing = locked(db, scope).await?;
    let lease = rules.policy(now(db).await?).grant(scope, standing.as_ref(), holder)?;
    let record = serde_json::to_string(holder)
        .map_err(|error| Fault::Damaged(format!("a holder can't be written: {error}")))?;
    let sql = "UPDATE lease SET epoch = $2, holder = $3, since = $4, renewed = $4 WHERE scope = $1";
    let epoch = lease.epoch.0.get().cast_signed();
    db.execute(sql, &[&scope.as_str(), &epoch, &record, &lease.since.as_millis()]).await?;
    Ok(lease)
}

/// Returns the holder of the lease on `scope`. Returns `None` if the lease is free or has expired, or if the holder is
/// dead. Until the end of the transaction, no program can take the lease.
pub(super) async fn locked_holder(
    db: &impl GenericClient,
    rules: &LeaseRules,
    scope: &AssemblyName,
) -> Outcome<Option<Holder>> {
    let standing = locked(db, scope).await?;
    Ok(rules.policy(now(db).await?).holder(standing))
}

/// Reads the stored state of a lease, and locks the lease until the end of the transaction.
async fn locked(db: &impl GenericClient, scope: &AssemblyName) -> Outcome<Option<Standing>> {
    // Only an existing row can be locked, so the row is created first. If two programs request a new lease,
    // one of them then waits for the other.
    let sql = "INSERT INTO lease (scope, epoch, since, renewed) VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING";
    db.execute(sql, &[&scope.as_str()]).await?;
    standing(db, scope, " FOR UPDATE").await
}

/// Records that the lease was renewed at the current time of the server. Returns [`StoreError::LeaseLost`] if `lease`
/// is not the current lease.
pub(super) async fn renew(db: &impl GenericClient, lease: &Lease) -> Outcome<()> {
    check_lease(db, lease).await?;
    let sql = format!("UPDATE lease SET renewed = {NOW} WHERE scope = $1");
    db.execute(&sql, &[&lease.scope.as_str()]).await?;
    Ok(())
}

/// Locks the rows of leases, always in the order of their names.
pub(super) async fn lock(db: &impl GenericClient, scopes: &[&str]) -> Outcome<()> {
    let sql = "SELECT 1 FROM lease WHERE scope = ANY($1) ORDER BY scope FOR NO KEY UPDATE";
    db.query(sql, &[&scopes]).await?;
    Ok(())
}

/// Releases the lease. The row stays, because it contains the lease's epoch, and the next lease must have a higher
/// epoch. Returns [`StoreError::LeaseLost`] if `lease` is not the current lease.
pub(super) async fn release(db: &impl GenericClient, lease: &Lease) -> Outcome<()> {
    check_lease(db, lease).await?;
    db.execute("UPDATE lease SET holder = NULL WHERE scope = $1", &[&lease.scope.as_str()]).await?;
    Ok(())
}

/// Checks that a lease is the current lease, and locks it until the end of the transaction.
pub(super) async fn check_lease(db: &impl GenericClient, lease: &Lease) -> Outcome<()> {
    match standing(db, &lease.scope, " FOR NO KEY UPDATE").await? {
        Some(standing) if standing.is_held_by(lease) => Ok(()),
        _ => Err(Fault::Store(lease.lost())),
    }
}

/// Checks that all leases of a batch are current, with one query. Locks them until the end of the transaction.
pub(super) async fn check_leases(db: &impl GenericClient, leases: &[&Lease]) -> Outcome<()> {
    let scopes: Vec<&str> = leases.iter().map(|lease| lease.scope.as_str()).collect();
    let sql = "SELECT epoch, since, renewed, holder, scope FROM lease WHERE scope = ANY($1)
        ORDER BY scope FOR NO KEY UPDATE";
    let rows = db.query(sql, &[&scopes]).await?;
    let mut standings = BTreeMap::new();
    for row in &rows {
        standings.extend(read_standing(row)?.map(|standing| (row.get::<_, &str>(4), standing)));
    }
    let is_current = |lease: &Lease| {
        standings.get(lease.scope.as_str()).is_some_and(|standing| standing.is_held_by(lease))
    };
    match leases.iter().find(|lease| !is_current(lease)) {
        Some(lease) => Err(Fault::Store(lease.lost())),
        None => Ok(()),
    }
}

/// Reads the stored state of a lease. `lock` is the locking clause of the query.
pub(super) async fn standing(
    db: &impl GenericClient,
    scope: &AssemblyName,
    lock: &str,
) -> Outcome<Option<Standing>> {
    let sql = format!("SELECT epoch, since, renewed, holder FROM lease WHERE scope = $1{lock}");
    let row = db.query_opt(&sql, &[&scope.as_str()]).await?;
    Ok(row.map(|row| read_standing(&row)).transpose()?.flatten())
}

/// Reads the stored state of a lease from a row. Returns `None` if the row was created only to be locked.
fn read_standing(row: &Row) -> Outcome<Option<Standing>> {
    let Some(epoch) = NonZeroU64::new(row.get::<_, i64>(0).cast_unsigned()) else { return Ok(None) };
    let since = Timestamp::from_millis(row.get(1));
    let renewed = Moment::by_clock(Timestamp::from_millis(row.get(2)));
    let holder: Option<&str> = row.get(3);
    let holder: Option<Holder> = holder.map(from_json).transpose()?;
    Ok(Some(Standing { epoch: Epoch(epoch), hold: holder.map(|holder| Hold { holder, since, renewed }) }))
}

/// Records a request to stop a process.
pub(super) async fn ask_to_stop(
    db: &impl GenericClient,
    scope: &AssemblyName,
    process: ProcessId,
) -> Outcome<()> {
    let sql = "INSERT INTO stop (process) SELECT id FROM process WHERE id = $1 AND assembly = $2
        ON CONFLICT (process) DO UPDATE SET process = excluded.process";
    let found = db.execute(sql, &[&process.0.cast_signed(), &scope.as_str()]).await?;
    if found == 0 {
        return Err(StoreError::NoProcess { scope: scope.clone(), process }.into());
    }
    Ok(())
}

pub(super) async fn is_asked_to_stop(db: &impl GenericClient, process: ProcessId) -> Outcome<bool> {
    let sql = "SELECT 1 FROM stop WHERE process = $1";
    Ok(db.query_opt(sql, &[&process.0.cast_signed()]).await?.is_some())
}

/// Reserves `count` process ids, and returns them in ascending order. Requests get their ids from the same counter.
pub(super) async fn reserve_processes(db: &impl GenericClient, count: u32) -> Outcome<Vec<ProcessId>> {
    let sql = "UPDATE store SET reserved = reserved + $1 RETURNING reserved";
    let last: i64 = db.query_one(sql, &[&i64::from(count)]).await?.get(0);
    Ok(reserved(last.cast_unsigned(), count))
}
