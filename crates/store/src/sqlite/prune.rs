//! Deletion of the rows of past processes and events.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};
use windlass_model::record::ProcessRecord;
use windlass_model::{AssemblyName, ProcessId, Seq};

use super::fault::Outcome;
use super::row::{from_json, rows};

/// Drops a process of the assembly `scope`, with its steps, calls and jobs, and the request that it executed. The
/// events of the process stay until [`events_of_processes`] drops them.
///
/// Drops nothing and returns `false` in four cases: the process belongs to another assembly, it has not ended, it
/// has an open call, or the table `version` contains a row for it. Returns `true` if the process was dropped or
/// does not exist.
pub(super) fn process(db: &Connection, scope: &AssemblyName, id: ProcessId) -> Outcome<bool> {
    let key = id.0.cast_signed();
    let sql = "SELECT record, assembly = ?2 AND open = 0
            AND NOT EXISTS (SELECT 1 FROM version WHERE process = ?1)
            AND NOT EXISTS (SELECT 1 FROM call WHERE process = ?1 AND open = 1)
        FROM process WHERE id = ?1";
    let found = db
        .prepare_cached(sql)?
        .query_row((key, scope.as_str()), |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)));
    let Some((record, may_go)) = found.optional()? else { return Ok(true) };
    if !may_go {
        return Ok(false);
    }
    let record: ProcessRecord = from_json(&record)?;
    let sql = "DELETE FROM job_call WHERE call IN (SELECT id FROM call WHERE process = ?1) RETURNING job";
    let jobs: BTreeSet<String> =
        rows(&mut *db.prepare_cached(sql)?, [key], |row| Ok(row.get(0)?))?.into_iter().collect();
    let mut delete = db.prepare_cached(
        "DELETE FROM job WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM job_call WHERE job = ?1)",
    )?;
    for job in jobs {
        delete.execute([job])?;
    }
    if let Some(request) = record.request {
        db.prepare_cached("DELETE FROM request WHERE id = ?1 AND open = 0")?
            .execute([request.0.cast_signed()])?;
    }
    for sql in [
        "DELETE FROM call WHERE process = ?1",
        "DELETE FROM step WHERE process = ?1",
        "DELETE FROM stop WHERE process = ?1",
        "DELETE FROM process WHERE id = ?1",
    ] {
        db.prepare_cached(sql)?.execute([key])?;
    }
    Ok(true)
}

/// Drops the events of the assembly `scope` that belong to one of the given processes. The last event of the store
/// stays, so that its number is not given out again.
pub(super) fn events_of_processes(
    db: &Connection,
    scope: &AssemblyName,
    processes: &[ProcessId],
) -> Outcome<()> {
    let ids = serde_json::json!(processes).to_string();
    let sql = "DELETE FROM event WHERE assembly = ?1 AND seq < (SELECT max(seq) FROM event)
        AND json_extract(record, '$.process') IN (SELECT value FROM json_each(?2))";
    db.prepare_cached(sql)?.execute((scope.as_str(), ids))?;
    Ok(())
}

/// Drops the events of the assembly `scope` that have one of the given numbers. The last event of the store stays.
pub(super) fn events(db: &Connection, scope: &AssemblyName, events: &[Seq]) -> Outcome<()> {
    let sql = "DELETE FROM event WHERE assembly = ?1 AND seq < (SELECT max(seq) FROM event)
        AND seq IN (SELECT value FROM json_each(?2))";
    db.prepare_cached(sql)?.execute((scope.as_str(), serde_json::json!(events).to_string()))?;
    Ok(())
}
