//! Versions of assemblies, as rows.

use std::collections::BTreeSet;

use rusqlite::Connection;
use windlass_model::record::VersionRecord;
use windlass_model::{AssemblyName, ProcessId};

use super::fault::{Fault, Outcome};
use super::row::rows;
use crate::version::{self, VersionRow};

/// Stores a version, or replaces the version of the same process. Other versions may be stored as deltas to the
/// replaced version. So the function first replaces these deltas by full copies.
pub(super) fn put(db: &Connection, record: &VersionRecord) -> Outcome<()> {
    let scope = &record.assembly.name;
    let there = "SELECT 1 FROM version WHERE process = ?1";
    if db.prepare_cached(there)?.exists([record.process.0.cast_signed()])? {
        free(db, scope, &BTreeSet::from([record.process.0]))?;
    }
    let before = record.process.0.saturating_sub(1);
    let chain = read(db, CHAIN, scope, before)?;
    let row = version::kept(record.process, &record.assembly, chain).map_err(Fault::Damaged)?;
    put_row(db, scope, &row)
}

fn put_row(db: &Connection, scope: &AssemblyName, row: &VersionRow) -> Outcome<()> {
    let sql = "INSERT INTO version (process, assembly, base, record) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (process) DO UPDATE SET base = excluded.base, record = excluded.record";
    let base = row.base.map(u64::cast_signed);
    db.prepare_cached(sql)?.execute((row.process.cast_signed(), scope.as_str(), base, &row.text))?;
    Ok(())
}

/// Drops versions of an assembly. Returns `false`, and drops nothing, if one of the versions belongs to
/// another assembly.
pub(super) fn drop(db: &Connection, scope: &AssemblyName, doomed: &BTreeSet<u64>) -> Outcome<bool> {
    let mut owner = db.prepare_cached("SELECT assembly FROM version WHERE process = ?1")?;
    for process in doomed {
        let owners: Vec<String> = rows(&mut owner, [process.cast_signed()], |row| Ok(row.get(0)?))?;
        if owners.iter().any(|owner| owner != scope.as_str()) {
            return Ok(false);
        }
    }
    free(db, scope, doomed)?;
    for sql in ["DELETE FROM version_pin WHERE process = ?1", "DELETE FROM version WHERE process = ?1"] {
        let mut delete = db.prepare_cached(sql)?;
        for process in doomed {
            delete.execute([process.cast_signed()])?;
        }
    }
    Ok(true)
}

/// Prepares the removal of the versions `doomed`. If a remaining version is stored as a delta to one of them, the
/// function replaces this delta by a full copy of the remaining version.
fn free(db: &Connection, scope: &AssemblyName, doomed: &BTreeSet<u64>) -> Outcome<()> {
    let all = read(db, SINCE, scope, 0)?;
    for row in version::freed(all, |process| doomed.contains(&process)).map_err(Fault::Damaged)? {
        put_row(db, scope, &row)?;
    }
    Ok(())
}

/// Reads the newest version whose process id is at most `from`, and all later versions. The result is sorted by process
/// id. If all stored versions have greater process ids than `from`, reads all versions.
pub(super) fn since(db: &Connection, scope: &AssemblyName, from: ProcessId) -> Outcome<Vec<VersionRecord>> {
    let sql = "SELECT coalesce(max(process), 0) FROM version WHERE assembly = ?1 AND process <= ?2";
    let first: i64 = db.prepare_cached(sql)?.query_row((scope.as_str(), place(from.0)), |row| row.get(0))?;
    let first = first.cast_unsigned();
    version::records(read(db, SINCE, scope, first)?, first).map_err(Fault::Damaged)
}

/// Selects the rows that are needed to read one version: the newest version whose process id is at most `?2`. The
/// first row is a full copy, and the other rows are deltas.
const CHAIN: &str = "SELECT process, base, record FROM version WHERE assembly = ?1 AND process <= ?2
        AND process >= (SELECT coalesce(max(process), 0) FROM version
            WHERE assembly = ?1 AND process <= ?2 AND base IS NULL)
    ORDER BY process";

/// Selects the rows that are needed to read all versions whose process id is at least `?2`. The first of these
/// versions may be stored as a delta. So the selected rows begin with the last full copy before this delta.
const SINCE: &str = "SELECT process, base, record FROM version WHERE assembly = ?1
        AND process >= (SELECT coalesce(max(process), 0) FROM version
            WHERE assembly = ?1 AND process <= ?2 AND base IS NULL)
    ORDER BY process";

fn read(db: &Connection, sql: &str, scope: &AssemblyName, at: u64) -> Outcome<Vec<VersionRow>> {
    rows(&mut *db.prepare_cached(sql)?, (scope.as_str(), place(at)), |row| {
        let base: Option<i64> = row.get(1)?;
        Ok(VersionRow {
            process: row.get::<_, i64>(0)?.cast_unsigned(),
            base: base.map(i64::cast_unsigned),
            text: row.get(2)?,
        })
    })
}

/// Converts a process id to SQLite's type. An id that is too great for this type becomes the greatest number
/// of the type. Comparisons stay right, because each stored process id is less than this number.
fn place(process: u64) -> i64 {
    i64::try_from(process).unwrap_or(i64::MAX)
}
