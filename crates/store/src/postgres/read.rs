//! Read queries. The result of each query shows the records at one point in time.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Transaction};
use windlass_model::assembly::PackageDigest;
use windlass_model::record::{
    AssemblyRecord, CallRecord, ElementRecord, EventRecord, InstanceRecord, JobRecord, PackageFile,
    PackageRecord, PairRecord, ProcessRecord,
};
use windlass_model::{AssemblyName, ProcessId, Seq};
use windlass_secret::{SecretRef, Sensitive};

use super::fault::{Fault, Outcome};
use super::row::from_json;
use super::versions;
use crate::seal::Seal;
use crate::snapshot::{History, ProcessHistory, Snapshot};
use crate::version;

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

async fn records<R: DeserializeOwned>(
    db: &Transaction<'_>,
    sql: &str,
    params: Params<'_>,
) -> Outcome<Vec<R>> {
    let rows = db.query(sql, params).await?;
    rows.iter().map(|row| from_json(row.get(0))).collect()
}

pub(super) async fn last_event(db: &Transaction<'_>) -> Outcome<Seq> {
    let last: i64 = db.query_one("SELECT last FROM feed", &[]).await?.get(0);
    Ok(Seq(last.cast_unsigned()))
}

pub(super) async fn events(
    db: &Transaction<'_>,
    scope: Option<&AssemblyName>,
    after: Seq,
    limit: usize,
) -> Outcome<Vec<EventRecord>> {
    let (after, limit) = (after.0.cast_signed(), i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = match scope {
        None => {
            let sql = "SELECT record, seq FROM event WHERE seq > $1 ORDER BY seq LIMIT $2";
            db.query(sql, &[&after, &limit]).await?
        }
        Some(scope) => {
            let sql = "SELECT record, seq FROM event WHERE assembly = $3 AND seq > $1 ORDER BY seq LIMIT $2";
            db.query(sql, &[&after, &limit, &scope.as_str()]).await?
        }
    };
    let numbered = |row: &Row| {
        let seq: i64 = row.get(1);
        Ok(EventRecord { seq: Seq(seq.cast_unsigned()), draft: from_json(row.get(0))? })
    };
    rows.iter().map(numbered).collect()
}

pub(super) async fn assemblies(
    db: &Transaction<'_>,
    after: &str,
    limit: usize,
) -> Outcome<Vec<AssemblyRecord>> {
    let sql = "SELECT record FROM assembly WHERE name COLLATE \"C\" > $1
        ORDER BY name COLLATE \"C\" LIMIT $2";
    records(db, sql, &[&after, &i64::try_from(limit).unwrap_or(i64::MAX)]).await
}

pub(super) async fn referrers(db: &Transaction<'_>, scope: &AssemblyName) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT assembly FROM reference WHERE target = $1 AND assembly <> $1
        ORDER BY assembly COLLATE \"C\"";
    names(db, sql, &[&scope.as_str()]).await
}

pub(super) async fn former_referrers(
    db: &Transaction<'_>,
    scope: &AssemblyName,
) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT assembly FROM version WHERE strpos(record, $2) > 0 AND assembly <> $1
            AND assembly IN (SELECT name FROM assembly)
            AND assembly NOT IN (SELECT assembly FROM reference WHERE target = $1)
        GROUP BY assembly ORDER BY assembly COLLATE \"C\"";
    let mut referrers = Vec::new();
    for name in names(db, sql, &[&scope.as_str(), &version::quoted(scope)]).await? {
        if version::refer_to(&versions::since(db, &name, ProcessId(0)).await?, scope) {
            referrers.push(name);
        }
    }
    Ok(referrers)
}

pub(super) async fn changed(db: &Transaction<'_>, after: Seq) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT assembly FROM event WHERE seq > $1 GROUP BY assembly ORDER BY assembly COLLATE \"C\"";
    names(db, sql, &[&after.0.cast_signed()]).await
}

pub(super) async fn assembly_names(db: &Transaction<'_>) -> Outcome<Vec<AssemblyName>> {
    names(db, "SELECT name FROM assembly ORDER BY name COLLATE \"C\"", &[]).await
}

pub(super) async fn owned_names(db: &Transaction<'_>) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT name FROM assembly WHERE owner IS NOT NULL ORDER BY name COLLATE \"C\"";
    names(db, sql, &[]).await
}

pub(super) async fn remembered(db: &Transaction<'_>) -> Outcome<Vec<AssemblyName>> {
    let sql = "SELECT assembly FROM process GROUP BY assembly ORDER BY assembly COLLATE \"C\"";
    names(db, sql, &[]).await
}

async fn names(db: &Transaction<'_>, sql: &str, params: Params<'_>) -> Outcome<Vec<AssemblyName>> {
    let name = |row: &Row| {
        let name: &str = row.get(0);
        name.parse().map_err(|error| Fault::Damaged(format!("an assembly has a bad name: {error}")))
    };
    db.query(sql, params).await?.iter().map(name).collect()
}

pub(super) async fn assembly(db: &Transaction<'_>, scope: &AssemblyName) -> Outcome<Option<AssemblyRecord>> {
    Ok(records(db, "SELECT record FROM assembly WHERE name = $1", &[&scope.as_str()]).await?.pop())
}

pub(super) async fn process(db: &Transaction<'_>, id: ProcessId) -> Outcome<Option<ProcessRecord>> {
    Ok(records(db, "SELECT record FROM process WHERE id = $1", &[&id.0.cast_signed()]).await?.pop())
}

pub(super) async fn processes_of(
    db: &Transaction<'_>,
    scope: &AssemblyName,
    before: Option<ProcessId>,
    limit: usize,
) -> Outcome<Vec<ProcessRecord>> {
    let sql = "SELECT record FROM process WHERE assembly = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    let before = before.and_then(|process| i64::try_from(process.0).ok()).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    records(db, sql, &[&scope.as_str(), &before, &limit]).await
}

pub(super) async fn processes(db: &Transaction<'_>) -> Outcome<Vec<ProcessRecord>> {
    records(db, "SELECT record FROM process ORDER BY id", &[]).await
}

pub(super) async fn open_processes(db: &Transaction<'_>) -> Outcome<Vec<ProcessRecord>> {
    records(db, "SELECT record FROM process WHERE open ORDER BY id", &[]).await
}

/// Reads the records that the engine needs to resume work on the assembly `scope`. If `seal` is `None`, the result
/// contains no secrets.
pub(super) async fn load(
    db: &Transaction<'_>,
    seal: Option<&Seal>,
    scope: &AssemblyName,
) -> Outcome<Option<Snapshot>> {
    let name = scope.as_str();
    let of: Params<'_> = &[&name];
    let Some(assembly): Option<AssemblyRecord> =
        records(db, "SELECT record FROM assembly WHERE name = $1", of).await?.pop()
    else {
        return Ok(None);
    };
    let secrets = match seal {
        Some(seal) => secrets(db, seal, &assembly).await?,
        None => BTreeMap::new(),
    };
    let elements: Vec<ElementRecord> =
        records(db, "SELECT record FROM element WHERE assembly = $1", of).await?;
    let instances: Vec<InstanceRecord> =
        records(db, "SELECT record FROM instance WHERE assembly = $1", of).await?;
    let pairs: Vec<PairRecord> = records(db, "SELECT record FROM pair WHERE assembly = $1", of).await?;
    Ok(Some(Snapshot {
        assembly,
        elements: elements.into_iter().map(|element| (element.name.clone(), element)).collect(),
        instances: instances.into_iter().map(|instance| (instance.element.clone(), instance)).collect(),
        pairs: pairs.into_iter().map(|pair| (pair.key.clone(), pair)).collect(),
        processes: records(db, "SELECT record FROM process WHERE assembly = $1 AND open ORDER BY id", of)
            .await?,
        calls: records::<CallRecord>(db, OPEN_CALLS, of).await?,
        jobs: records::<JobRecord>(db, JOBS_OF_OPEN_CALLS, of).await?,
        secrets,
    }))
}

const OPEN_CALLS: &str = "SELECT call.record FROM call JOIN process ON process.id = call.process
    WHERE process.assembly = $1 AND call.open ORDER BY call.place";

const JOBS_OF_OPEN_CALLS: &str = "SELECT record FROM job WHERE id IN (
        SELECT job_call.job FROM job_call JOIN call ON call.id = job_call.call
        JOIN process ON process.id = call.process WHERE process.assembly = $1 AND call.open)
    ORDER BY place";

async fn secrets(
    db: &Transaction<'_>,
    seal: &Seal,
    assembly: &AssemblyRecord,
) -> Outcome<BTreeMap<SecretRef, Sensitive<Vec<u8>>>> {
    let sql = "SELECT id, sealed FROM secret WHERE assembly = $1 ORDER BY id COLLATE \"C\"";
    let rows = db.query(sql, &[&assembly.name.as_str()]).await?;
    let opened = rows.iter().map(|row| {
        let id: &str = row.get(0);
        let secret: SecretRef =
            id.parse().map_err(|error| Fault::Damaged(format!("a secret has a bad name: {error}")))?;
        let value = seal.open_of(assembly, &secret, row.get(1))?;
        Ok((secret, value))
    });
    opened.collect()
}

pub(super) async fn secret(
    db: &Transaction<'_>,
    seal: &Seal,
    secret: &SecretRef,
) -> Outcome<Option<Sensitive<Vec<u8>>>> {
    let row = db.query_opt("SELECT sealed FROM secret WHERE id = $1", &[&secret.id()]).await?;
    Ok(row.map(|row| seal.open(secret, row.get(0))).transpose()?)
}

pub(super) async fn history(db: &Transaction<'_>, scope: &AssemblyName) -> Outcome<History> {
    let sql = "SELECT record FROM process WHERE assembly = $1 ORDER BY id";
    let found: Vec<ProcessRecord> = records(db, sql, &[&scope.as_str()]).await?;
    let mut processes = Vec::new();
    for process in found {
        processes.push(process_history(db, process).await?);
    }
    Ok(History { processes })
}

pub(super) async fn history_of(db: &Transaction<'_>, id: ProcessId) -> Outcome<Option<ProcessHistory>> {
    match process(db, id).await? {
        Some(process) => Ok(Some(process_history(db, process).await?)),
        None => Ok(None),
    }
}

async fn process_history(db: &Transaction<'_>, process: ProcessRecord) -> Outcome<ProcessHistory> {
    let id = process.id.0.cast_signed();
    Ok(ProcessHistory {
        process,
        steps: records(db, "SELECT record FROM step WHERE process = $1 ORDER BY step", &[&id]).await?,
        calls: records(db, "SELECT record FROM call WHERE process = $1 ORDER BY place", &[&id]).await?,
        jobs: records(db, JOBS_OF_PROCESS, &[&id]).await?,
    })
}

const JOBS_OF_PROCESS: &str = "SELECT record FROM job WHERE id IN (
        SELECT job_call.job FROM job_call JOIN call ON call.id = job_call.call WHERE call.process = $1)
    ORDER BY place";

pub(super) async fn package(db: &Transaction<'_>, digest: &PackageDigest) -> Outcome<Option<PackageRecord>> {
    let sql = "SELECT name, manifest FROM package WHERE digest = $1";
    let Some(row) = db.query_opt(sql, &[&digest.0]).await? else { return Ok(None) };
    let name: &str = row.get(0);
    let name = name.parse().map_err(|error| Fault::Damaged(format!("a package has a bad name: {error}")))?;
    let sql =
        "SELECT path, executable, content FROM package_file WHERE package = $1 ORDER BY path COLLATE \"C\"";
    let files = db.query(sql, &[&digest.0]).await?;
    let file = |row: Row| PackageFile { path: row.get(0), executable: row.get(1), content: row.get(2) };
    Ok(Some(PackageRecord {
        digest: digest.clone(),
        name,
        manifest: from_json(row.get(1))?,
        files: files.into_iter().map(file).collect(),
    }))
}
