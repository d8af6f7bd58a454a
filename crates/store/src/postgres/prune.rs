//! Deletion of the rows of past processes and events.

use tokio_postgres::GenericClient;
use windlass_model::record::ProcessRecord;
use windlass_model::{AssemblyName, ProcessId, Seq};

use super::fault::Outcome;
use super::row::from_json;

/// Drops a process of the assembly `scope` with its steps, calls and jobs, and the request that it executed. The events
/// of the process stay. Returns `true` if the process was dropped or does not exist.
///
/// Drops nothing and returns `false` in four cases:
///
/// - The process belongs to another assembly.
/// - The process has not ended.
/// - The table `version` contains a row for the process.
/// - A call of the process is open.
pub(super) async fn process(db: &impl GenericClient, scope: &AssemblyName, id: ProcessId) -> Outcome<bool> {
    let key = id.0.cast_signed();
    let sql = "SELECT record, assembly = $2 AND NOT open
            AND NOT EXISTS (SELECT 1 FROM version WHERE process = $1)
            AND NOT EXISTS (SELECT 1 FROM call WHERE process = $1 AND open)
        FROM process WHERE id = $1";
    let Some(row) = db.query_opt(sql, &[&key, &scope.as_str()]).await? else { return Ok(true) };
    if !row.get::<_, bool>(1) {
        return Ok(false);
    }
    let record: ProcessRecord = from_json(row.get(0))?;
    let sql = "DELETE FROM job_call WHERE call IN (SELECT id FROM call WHERE process = $1) RETURNING job";
    let jobs: Vec<String> = db.query(sql, &[&key]).await?.iter().map(|row| row.get(0)).collect();
    let sql = "DELETE FROM job WHERE id = ANY($1)
        AND NOT EXISTS (SELECT 1 FROM job_call WHERE job_call.job = job.id)";
    db.execute(sql, &[&jobs]).await?;
    if let Some(request) = record.request {
        let sql = "DELETE FROM request WHERE id = $1 AND NOT open";
        db.execute(sql, &[&request.0.cast_signed()]).await?;
    }
    for sql in [
        "DELETE FROM call WHERE process = $1",
        "DELETE FROM step WHERE process = $1",
        "DELETE FROM stop WHERE process = $1",
        "DELETE FROM process WHERE id = $1",
    ] {
        db.execute(sql, &[&key]).await?;
    }
    Ok(true)
}

/// Drops all events of the given processes of the assembly `scope`. The last event of the store always stays.
pub(super) async fn events_of_processes(
    db: &impl GenericClient,
    scope: &AssemblyName,
    processes: &[ProcessId],
) -> Outcome<()> {
    let ids: Vec<String> = processes.iter().map(|process| process.0.to_string()).collect();
    let sql = "DELETE FROM event WHERE assembly = $1 AND seq < (SELECT last FROM feed)
        AND record::json ->> 'process' = ANY($2)";
    db.execute(sql, &[&scope.as_str(), &ids]).await?;
    Ok(())
}

/// Drops those of the given events that belong to the assembly `scope`. The last event of the store always stays.
pub(super) async fn events(db: &impl GenericClient, scope: &AssemblyName, events: &[Seq]) -> Outcome<()> {
    let numbers: Vec<i64> = events.iter().map(|event| event.0.cast_signed()).collect();
    let sql = "DELETE FROM event WHERE assembly = $1 AND seq < (SELECT last FROM feed) AND seq = ANY($2)";
    db.execute(sql, &[&scope.as_str(), &numbers]).await?;
    Ok(())
}
