//! Versions of assemblies, as rows.

use std::collections::BTreeSet;

use tokio_postgres::{GenericClient, Row};
use windlass_model::record::VersionRecord;
use windlass_model::{AssemblyName, ProcessId};

use super::fault::{Fault, Outcome};
use crate::version::{self, VersionRow};

/// Puts a version whose process belongs to the assembly. Returns `false` if the process is missing or belongs
/// to another assembly.
pub(super) async fn put(
    db: &impl GenericClient,
    scope: &AssemblyName,
    record: &VersionRecord,
) -> Outcome<bool> {
    let key = record.process.0.cast_signed();
    let there = db.query_opt("SELECT 1 FROM version WHERE process = $1", &[&key]).await?.is_some();
    if there {
        free(db, scope, &BTreeSet::from([record.process.0])).await?;
    }
    let chain = read(db, CHAIN, scope, record.process.0.saturating_sub(1)).await?;
    let row = version::kept(record.process, &record.assembly, chain).map_err(Fault::Damaged)?;
    put_row(db, scope, &row).await
}

async fn put_row(db: &impl GenericClient, scope: &AssemblyName, row: &VersionRow) -> Outcome<bool> {
    let sql = "INSERT INTO version (process, assembly, base, record)
        SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM process WHERE id = $1 AND assembly = $2)
        ON CONFLICT (process) DO UPDATE SET base = excluded.base, record = excluded.record";
    let (process, base) = (row.process.cast_signed(), row.base.map(u64::cast_signed));
    Ok(db.execute(sql, &[&process, &scope.as_str(), &base, &row.text]).await? > 0)
}

/// Drops versions of an assembly. Returns `false`, and drops nothing, if one of the versions belongs to
/// another assembly.
pub(super) async fn drop(
    db: &impl GenericClient,
    scope: &AssemblyName,
    doomed: &BTreeSet<u64>,
) -> Outcome<bool> {
    let keys: Vec<i64> = doomed.iter().map(|process| process.cast_signed()).collect();
    let sql = "SELECT 1 FROM version WHERE process = ANY($1) AND assembly <> $2 LIMIT 1";
    if db.query_opt(sql, &[&keys, &scope.as_str()]).await?.is_some() {
        return Ok(false);
    }
    free(db, scope, doomed).await?;
    db.execute("DELETE FROM version_pin WHERE process = ANY($1)", &[&keys]).await?;
    db.execute("DELETE FROM version WHERE process = ANY($1)", &[&keys]).await?;
    Ok(true)
}

/// Stores full copies of the versions whose delta is based on one of the versions `doomed`.
async fn free(db: &impl GenericClient, scope: &AssemblyName, doomed: &BTreeSet<u64>) -> Outcome<()> {
    let all = read(db, SINCE, scope, 0).await?;
    for row in version::freed(all, |process| doomed.contains(&process)).map_err(Fault::Damaged)? {
        put_row(db, scope, &row).await?;
    }
    Ok(())
}

/// Reads the newest version whose process id is at most `from`, and all later versions. The result is sorted by process
/// id. If all stored versions have greater process ids than `from`, reads all versions.
pub(super) async fn since(
    db: &impl GenericClient,
    scope: &AssemblyName,
    from: ProcessId,
) -> Outcome<Vec<VersionRecord>> {
    let sql = "SELECT coalesce(max(process), 0) FROM version WHERE assembly = $1 AND process <= $2";
    let first: i64 = db.query_one(sql, &[&scope.as_str(), &place(from.0)]).await?.get(0);
    let first = first.cast_unsigned();
    version::records(read(db, SINCE, scope, first).await?, first).map_err(Fault::Damaged)
}

/// Selects the assemblies in `scopes` that have a version with the name `name` in its record. Reads the rows of all
/// versions of the selected assemblies. The result has one list for each assembly. Each list is sorted by process id.
pub(super) async fn naming(
    db: &impl GenericClient,
    scopes: &[&str],
    name: &AssemblyName,
) -> Outcome<Vec<Vec<VersionRow>>> {
    let sql = "SELECT process, base, record, assembly FROM version WHERE assembly IN (
            SELECT assembly FROM version WHERE assembly = ANY($1) AND strpos(record, $2) > 0)
        ORDER BY assembly, process";
    let rows = db.query(sql, &[&scopes, &name.as_str()]).await?;
    let of_assemblies = rows.chunk_by(|one, next| one.get::<_, &str>(3) == next.get::<_, &str>(3));
    Ok(of_assemblies.map(|rows| rows.iter().map(row).collect()).collect())
}

/// Selects the rows that are needed to read one version: the newest version whose process id is at most `$2`. The
/// first row is a full copy, and the other rows are deltas.
const CHAIN: &str = "SELECT process, base, record FROM version WHERE assembly = $1 AND process <= $2
        AND process >= (SELECT coalesce(max(process), 0) FROM version
            WHERE assembly = $1 AND process <= $2 AND base IS NULL)
    ORDER BY process";

/// Selects the rows that are needed to read all versions whose process id is at least `$2`. The first of these
/// versions may be stored as a delta. So the selected rows begin with the last full copy before this delta.
const SINCE: &str = "SELECT process, base, record FROM version WHERE assembly = $1
        AND process >= (SELECT coalesce(max(process), 0) FROM version
            WHERE assembly = $1 AND process <= $2 AND base IS NULL)
    ORDER BY process";

async fn read(db: &impl GenericClient, sql: &str, scope: &AssemblyName, at: u64) -> Outcome<Vec<VersionRow>> {
    Ok(db.query(sql, &[&scope.as_str(), &place(at)]).await?.iter().map(row).collect())
}

fn row(row: &Row) -> VersionRow {
    VersionRow {
        process: row.get::<_, i64>(0).cast_unsigned(),
        base: row.get::<_, Option<i64>>(1).map(i64::cast_unsigned),
        text: row.get(2),
    }
}

/// Converts a process id to the server's type. An id that is too great for this type becomes the greatest
/// number of the type. Comparisons stay right, because each stored process id is less than this number.
fn place(process: u64) -> i64 {
    i64::try_from(process).unwrap_or(i64::MAX)
}
