//! Read queries. The result of each query shows the records at one point in time.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Params, Row, Statement};
use serde::de::DeserializeOwned;
use windlass_model::assembly::PackageDigest;
use windlass_model::record::{
    AssemblyRecord, CallRecord, ElementRecord, EventRecord, InstanceRecord, PackageFile, PackageRecord,
    PairRecord, ProcessRecord,
};
use windlass_model::{AssemblyName, ProcessId, Seq};
use windlass_secret::{SecretRef, Sensitive};

use super::fault::{Fault, Outcome};
use super::row::{from_json, records, rows};
use super::versions;
use crate::seal::Seal;
use crate::snapshot::{History, ProcessHistory, Snapshot};
use crate::version;

/// Returns the number of the last event, or [`Seq::START`] if the store has no events.
pub(super) fn last_event(db: &Connection) -> Outcome<Seq> {
    let last: i64 =
        db.prepare_cached("SELECT coalesce(max(seq), 0) FROM event")?.query_row([], |row| row.get(0))?;
    Ok(Seq(last.cast_unsigned()))
}

pub(super) fn events(db: &Connection, after: Seq, limit: usize) -> Outcome<Vec<EventRecord>> {
    let mut select =
        db.prepare_cached("SELECT record, seq FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    rows(&mut select, (after.0.cast_signed(), limit), numbered)
}

pub(super) fn events_of(
    db: &Connection,
    scope: &AssemblyName,
    after: Seq,
    limit: usize,
) -> Outcome<Vec<EventRecord>> {
    let sql = "SELECT record, seq FROM event WHERE assembly = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    rows(&mut *db.prepare_cached(sql)?, (scope.as_str(), after.0.cast_signed(), limit), numbered)
}

fn numbered(row: &Row<'_>) -> Outcome<EventRecord> {
    let seq: i64 = row.get(1)?;
    Ok(EventRecord { seq: Seq(seq.cast_unsigned()), draft: record(row)? })
}

pub(super) fn referrers(db: &Connection, scope: &AssemblyName) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT assembly FROM reference WHERE target = ?1 AND assembly <> ?1 ORDER BY assembly";
    names(&mut *db.prepare_cached(sql)?, [scope.as_str()])
}

pub(super) fn former_referrers(db: &Connection, scope: &AssemblyName) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT DISTINCT assembly FROM version WHERE instr(record, ?2) > 0 AND assembly <> ?1
            AND assembly IN (SELECT name FROM assembly)
            AND assembly NOT IN (SELECT assembly FROM reference WHERE target = ?1)
        ORDER BY assembly";
    let found = names(&mut *db.prepare_cached(sql)?, (scope.as_str(), version::quoted(scope)))?;
    let mut referrers = Vec::new();
    for name in found {
        if version::refer_to(&versions::since(db, &name, ProcessId(0))?, scope) {
            referrers.push(name);
        }
    }
    Ok(referrers)
}

pub(super) fn changed(db: &Connection, after: Seq) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT DISTINCT assembly FROM event WHERE seq > ?1 ORDER BY assembly";
    names(&mut *db.prepare_cached(sql)?, [after.0.cast_signed()])
}

pub(super) fn assembly_names(db: &Connection) -> Outcome<Vec<AssemblyName>> {
    names(&mut *db.prepare_cached("SELECT name FROM assembly ORDER BY name")?, [])
}

pub(super) fn owned_names(db: &Connection) -> Outcome<Vec<AssemblyName>> {
    names(&mut *db.prepare_cached("SELECT name FROM assembly WHERE owner IS NOT NULL ORDER BY name")?, [])
}

pub(super) fn remembered(db: &Connection) -> Outcome<Vec<AssemblyName>> {
    names(&mut *db.prepare_cached("SELECT DISTINCT assembly FROM process ORDER BY assembly")?, [])
}

fn names(select: &mut Statement<'_>, params: impl Params) -> Outcome<Vec<AssemblyName>> {
    rows(select, params, |row| {
        let name: String = row.get(0)?;
        name.parse().map_err(|error| Fault::Damaged(format!("an assembly has a bad name: {error}")))
    })
}

pub(super) fn assembly(db: &Connection, scope: &AssemblyName) -> Outcome<Option<AssemblyRecord>> {
    Ok(of(db, "SELECT record FROM assembly WHERE name = ?1", scope.as_str())?.pop())
}

pub(super) fn process(db: &Connection, process: ProcessId) -> Outcome<Option<ProcessRecord>> {
    Ok(of(db, "SELECT record FROM process WHERE id = ?1", process.0.cast_signed())?.pop())
}

pub(super) fn processes_of(
    db: &Connection,
    scope: &AssemblyName,
    before: Option<ProcessId>,
    limit: usize,
) -> Outcome<Vec<ProcessRecord>> {
    let sql = "SELECT record FROM process WHERE assembly = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
    let before = before.and_then(|process| i64::try_from(process.0).ok()).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    records(&mut *db.prepare_cached(sql)?, (scope.as_str(), before, limit))
}

pub(super) fn history_of(db: &Connection, id: ProcessId) -> Outcome<Option<ProcessHistory>> {
    process(db, id)?.map(|process| process_history(db, process)).transpose()
}

pub(super) fn assemblies(db: &Connection, after: &str, limit: usize) -> Outcome<Vec<AssemblyRecord>> {
    let sql = "SELECT record FROM assembly WHERE name > ?1 ORDER BY name LIMIT ?2";
    records(&mut *db.prepare_cached(sql)?, (after, i64::try_from(limit).unwrap_or(i64::MAX)))
}

pub(super) fn processes(db: &Connection) -> Outcome<Vec<ProcessRecord>> {
    records(&mut *db.prepare_cached("SELECT record FROM process ORDER BY id")?, [])
}

pub(super) fn open_processes(db: &Connection) -> Outcome<Vec<ProcessRecord>> {
    records(&mut *db.prepare_cached("SELECT record FROM process WHERE open = 1 ORDER BY id")?, [])
}

/// Reads the records that the engine needs to resume work on the assembly `scope`. If `seal` is `None`, the result
/// contains no secrets.
pub(super) fn load(db: &Connection, seal: Option<&Seal>, scope: &AssemblyName) -> Outcome<Option<Snapshot>> {
    let name = scope.as_str();
    let Some(assembly) =
        records(&mut *db.prepare_cached("SELECT record FROM assembly WHERE name = ?1")?, [name])?.pop()
    else {
        return Ok(None);
    };
    let elements: Vec<ElementRecord> = of(db, "SELECT record FROM element WHERE assembly = ?1", name)?;
    let instances: Vec<InstanceRecord> = of(db, "SELECT record FROM instance WHERE assembly = ?1", name)?;
    let pairs: Vec<PairRecord> = of(db, "SELECT record FROM pair WHERE assembly = ?1", name)?;
    let secrets = match seal {
        Some(seal) => secrets(db, seal, &assembly)?,
        None => BTreeMap::new(),
    };
    let calls: Vec<CallRecord> = of(db, OPEN_CALLS, name)?;
    let jobs = if calls.is_empty() { Vec::new() } else { of(db, JOBS_OF_OPEN_CALLS, name)? };
    Ok(Some(Snapshot {
        assembly,
        elements: elements.into_iter().map(|element| (element.name.clone(), element)).collect(),
        instances: instances.into_iter().map(|instance| (instance.element.clone(), instance)).collect(),
        pairs: pairs.into_iter().map(|pair| (pair.key.clone(), pair)).collect(),
        processes: of(db, OPEN_PROCESSES, name)?,
        calls,
        jobs,
        secrets,
    }))
}

// The plus prevents SQLite from using the index by assembly. This index contains the whole history of an
// assembly, but only few processes are open.
const OPEN_PROCESSES: &str = "SELECT record FROM process WHERE +assembly = ?1 AND open = 1 ORDER BY id";

const OPEN_CALLS: &str = "SELECT call.record FROM call JOIN process ON process.id = call.process
    WHERE process.assembly = ?1 AND call.open = 1 ORDER BY call.place";

const JOBS_OF_OPEN_CALLS: &str = "SELECT record FROM job WHERE id IN (
        SELECT job_call.job FROM job_call JOIN call ON call.id = job_call.call
        JOIN process ON process.id = call.process WHERE process.assembly = ?1 AND call.open = 1)
    ORDER BY place";

fn secrets(
    db: &Connection,
    seal: &Seal,
    assembly: &AssemblyRecord,
) -> Outcome<BTreeMap<SecretRef, Sensitive<Vec<u8>>>> {
    let mut select = db.prepare_cached("SELECT id, sealed FROM secret WHERE assembly = ?1 ORDER BY id")?;
    let opened = rows(&mut select, [assembly.name.as_str()], |row| {
        let secret = secret_ref(row)?;
        let sealed = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let value = seal.open_of(assembly, &secret, sealed)?;
        Ok((secret, value))
    })?;
    Ok(opened.into_iter().collect())
}

pub(super) fn secret(
    db: &Connection,
    seal: &Seal,
    secret: &SecretRef,
) -> Outcome<Option<Sensitive<Vec<u8>>>> {
    let mut select = db.prepare_cached("SELECT sealed FROM secret WHERE id = ?1")?;
    let sealed: Option<Vec<u8>> = select.query_row([secret.id()], |row| row.get(0)).optional()?;
    Ok(sealed.map(|sealed| seal.open(secret, &sealed)).transpose()?)
}

pub(super) fn history(db: &Connection, scope: &AssemblyName) -> Outcome<History> {
    let processes: Vec<ProcessRecord> =
        of(db, "SELECT record FROM process WHERE assembly = ?1 ORDER BY id", scope.as_str())?;
    let processes = processes.into_iter().map(|process| process_history(db, process));
    Ok(History { processes: processes.collect::<Outcome<_>>()? })
}

fn process_history(db: &Connection, process: ProcessRecord) -> Outcome<ProcessHistory> {
    let ProcessId(id) = process.id;
    let id = id.cast_signed();
    Ok(ProcessHistory {
        process,
        steps: of(db, "SELECT record FROM step WHERE process = ?1 ORDER BY step", id)?,
        calls: of(db, "SELECT record FROM call WHERE process = ?1 ORDER BY place", id)?,
        jobs: of(db, JOBS_OF_PROCESS, id)?,
    })
}

const JOBS_OF_PROCESS: &str = "SELECT record FROM job WHERE id IN (
        SELECT job_call.job FROM job_call JOIN call ON call.id = job_call.call WHERE call.process = ?1)
    ORDER BY place";

pub(super) fn package(db: &Connection, digest: &PackageDigest) -> Outcome<Option<PackageRecord>> {
    let mut select = db.prepare_cached("SELECT name, manifest FROM package WHERE digest = ?1")?;
    let found =
        rows(&mut select, [&digest.0], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?.pop();
    let Some((name, manifest)) = found else {
        return Ok(None);
    };
    let name = name.parse().map_err(|error| Fault::Damaged(format!("a package has a bad name: {error}")))?;
    let (manifest, files) = (from_json(&manifest)?, package_files(db, digest)?);
    Ok(Some(PackageRecord { digest: digest.clone(), name, manifest, files }))
}

fn package_files(db: &Connection, digest: &PackageDigest) -> Outcome<Vec<PackageFile>> {
    let sql = "SELECT path, executable, content FROM package_file WHERE package = ?1 ORDER BY path";
    rows(&mut *db.prepare_cached(sql)?, [&digest.0], |row| {
        Ok(PackageFile { path: row.get(0)?, executable: row.get(1)?, content: row.get(2)? })
    })
}

/// Reads the records that `sql` finds by one key.
fn of<R: DeserializeOwned>(db: &Connection, sql: &str, key: impl rusqlite::ToSql) -> Outcome<Vec<R>> {
    records(&mut *db.prepare_cached(sql)?, [key])
}

fn record<R: DeserializeOwned>(row: &Row<'_>) -> Outcome<R> {
    from_json(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)
}

fn secret_ref(row: &Row<'_>) -> Outcome<SecretRef> {
    let id: String = row.get(0)?;
    id.parse().map_err(|error| Fault::Damaged(format!("a secret has a bad id: {error}")))
}
