//! Translation of each change into SQLite statements.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Params, ToSql};
use windlass_model::record::{
    AssemblyRecord, CallRecord, JobRecord, PackageRecord, PairKey, PairRecord, ProcessRecord, StepRecord,
    VersionRecord,
};
use windlass_model::{AssemblyName, ElementName, Seq};
use windlass_secret::{SecretRef, Sensitive};

use super::fault::{Fault, Outcome};
use super::leases::check_lease;
use super::row::{rows, to_json};
use super::{documents, owners, packages, prune, read, rename, requests, versions};
use crate::batch::{Batch, Change, Forgotten};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::seal::Seal;

/// Applies a batch, and returns the number of the last event in the store. Must run within a savepoint, which
/// the caller rolls back on `Err`.
pub(super) fn batch(db: &Connection, seal: &Seal, lease: &Lease, batch: &Batch) -> Outcome<Seq> {
    for lease in batch.leases(lease) {
        check_lease(db, lease)?;
    }
    let refused = |reason| Fault::Store(StoreError::Refused { scope: lease.scope.clone(), reason });
    if let Some(reason) = batch.foreign_to(&lease.scope) {
        return Err(refused(reason));
    }
    let applier = Applier { db, seal, scope: &lease.scope };
    let forgotten = Forgotten::of(batch);
    // Versions are dropped together and first, so that a version that is based on a dropped version is
    // rewritten only once.
    if !forgotten.versions.is_empty() && !applier.drop_versions(&forgotten.versions)? {
        return Err(refused("`drop version` is of another assembly".to_owned()));
    }
    for change in batch.changes() {
        match applier.apply(change) {
            Ok(Applied::Yes) => {}
            Ok(Applied::Taken) => return Err(refused(change.id_conflict())),
            Ok(Applied::Orphan) => return Err(refused(change.orphan())),
            Ok(Applied::Conflict) => return Err(refused(change.conflict())),
            Err(fault) if fault.is_orphan() => return Err(refused(change.orphan())),
            Err(fault) => return Err(fault),
        }
    }
    if !forgotten.processes.is_empty() {
        prune::events_of_processes(db, &lease.scope, &forgotten.processes)?;
    }
    if !forgotten.events.is_empty() {
        prune::events(db, &lease.scope, &forgotten.events)?;
    }
    read::last_event(db)
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applied {
    Yes,
    /// The change contains an id or a name that another assembly already uses. For example, [`Change::Claim`]
    /// contains a natural id. The change had no effect.
    Taken,
    /// The change refers to a record that is missing, belongs to another assembly, or does not permit the change. For
    /// example, the request in [`Change::EndRequest`] has already ended.
    Orphan,
    /// A document does not meet the condition of the change.
    Conflict,
}

struct Applier<'a> {
    db: &'a Connection,
    seal: &'a Seal,
    scope: &'a AssemblyName,
}

impl Applier<'_> {
    fn apply(&self, change: &Change) -> Outcome<Applied> {
        match change {
            Change::PutAssembly(record) => self.put_assembly(record),
            Change::Rename(change) => Ok(match rename::rename(self.db, self.seal, change)? {
                Ok(()) => Applied::Yes,
                Err(rename::Kept::Missing) => Applied::Orphan,
                Err(rename::Kept::Taken) => Applied::Taken,
            }),
            Change::DropAssembly(name) => self.drop_assembly(name),
            Change::PutVersion(record) => self.put_version(record),
            Change::PutElement(record) => self.put_part(PUT_ELEMENT, &record.name, to_json(record)?),
            Change::DropElement(name) => self.drop_element(name),
            Change::Claim(claim) => match owners::put(self.db, self.scope, claim) {
                Ok(()) => Ok(Applied::Yes),
                Err(Fault::Store(StoreError::Claimed { .. })) => Ok(Applied::Taken),
                Err(Fault::Store(_)) => Ok(Applied::Orphan),
                Err(fault) => Err(fault),
            },
            Change::PutInstance(record) => self.put_part(PUT_INSTANCE, &record.element, to_json(record)?),
            Change::PutPair(record) => self.put_pair(record),
            Change::DropPair(key) => self.drop_pair(key),
            Change::PutProcess(record) => self.put_process(record),
            Change::DropProcess(process) => {
                let gone = prune::process(self.db, self.scope, *process)?;
                Ok(if gone { Applied::Yes } else { Applied::Orphan })
            }
            Change::DropVersion(_) | Change::DropEvent(_) => Ok(Applied::Yes),
            Change::PutStep(record) => self.put_step(record),
            Change::PutCall(record) => self.put_call(record),
            Change::PutJob(record) => self.put_job(record),
            Change::PutSecret { secret, assembly, value } => self.put_secret(secret, assembly, value),
            Change::DropSecret(secret) => self.drop_secret(secret),
            Change::PutPackage(record) => self.put_package(record),
            Change::PutDocument(draft) => {
                let stored = documents::put(self.db, self.seal, draft)?;
                Ok(if stored.is_some() { Applied::Yes } else { Applied::Conflict })
            }
            Change::DropDocument(key, expected) => {
                Ok(if documents::drop(self.db, key, *expected)? { Applied::Yes } else { Applied::Conflict })
            }
            Change::EndRequest(record) => {
                Ok(if requests::end(self.db, record)? { Applied::Yes } else { Applied::Orphan })
            }
            Change::Event(draft) => requests::event(self.db, draft).map(|()| Applied::Yes),
        }
    }

    fn run(&self, sql: &str, params: impl Params) -> Outcome<Applied> {
        self.db.prepare_cached(sql)?.execute(params)?;
        Ok(Applied::Yes)
    }

    /// Runs an upsert that changes nothing if the existing row belongs to another assembly. In this case, returns
    /// [`Applied::Taken`].
    fn run_if_own(&self, sql: &str, params: impl Params) -> Outcome<Applied> {
        let rows = self.db.prepare_cached(sql)?.execute(params)?;
        Ok(if rows == 0 { Applied::Taken } else { Applied::Yes })
    }

    fn put_assembly(&self, record: &AssemblyRecord) -> Outcome<Applied> {
        let name = record.name.as_str();
        let owner = record.owner.as_ref().map(AssemblyName::as_str);
        self.run(PUT_ASSEMBLY, (name, owner, to_json(record)?))?;
        self.run("DELETE FROM pin WHERE assembly = ?1", [name])?;
        for digest in record.packages.values() {
            self.run(
                "INSERT INTO pin (assembly, package) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                (name, &digest.0),
            )?;
        }
        self.run("DELETE FROM reference WHERE assembly = ?1", [name])?;
        for target in &record.references {
            self.run("INSERT INTO reference (assembly, target) VALUES (?1, ?2)", (name, target.as_str()))?;
        }
        Ok(Applied::Yes)
    }

    /// Deletes the row of an assembly. Foreign keys then delete the elements, instances, pairs, secrets,
    /// documents, references and pins of the assembly.
    fn drop_assembly(&self, name: &AssemblyName) -> Outcome<Applied> {
        let packages: Vec<String> =
            rows(&mut *self.db.prepare_cached(PINNED)?, [name.as_str()], |row| Ok(row.get(0)?))?;
        self.run(SETTLE_CALLS, [name.as_str()])?;
        self.run("DELETE FROM assembly WHERE name = ?1", [name.as_str()])?;
        packages::drop_unpinned(self.db, &packages)?;
        Ok(Applied::Yes)
    }

    /// Drops versions, and the packages that are no longer pinned. Returns `false`, and drops nothing, if a
    /// version belongs to another assembly.
    fn drop_versions(&self, doomed: &BTreeSet<u64>) -> Outcome<bool> {
        if !versions::drop(self.db, self.scope, doomed)? {
            return Ok(false);
        }
        packages::drop_all_unpinned(self.db)?;
        Ok(true)
    }

    fn put_version(&self, record: &VersionRecord) -> Outcome<Applied> {
        let (process, assembly) = (record.process.0.cast_signed(), record.assembly.name.as_str());
        if !self.owns(OWNER_OF_PROCESS, process)? {
            return Ok(Applied::Orphan);
        }
        versions::put(self.db, record)?;
        self.run("DELETE FROM version_pin WHERE process = ?1", [process])?;
        for digest in record.assembly.packages.values() {
            self.run(PIN_VERSION, (process, assembly, &digest.0))?;
        }
        Ok(Applied::Yes)
    }

    fn put_part(&self, sql: &str, element: &ElementName, record: String) -> Outcome<Applied> {
        self.run(sql, (element.as_str(), element.assembly().as_str(), record))
    }

    fn drop_element(&self, name: &ElementName) -> Outcome<Applied> {
        self.run("DELETE FROM element WHERE name = ?1", [name.as_str()])?;
        self.run("DELETE FROM instance WHERE element = ?1", [name.as_str()])
    }

    fn put_pair(&self, record: &PairRecord) -> Outcome<Applied> {
        let [element, relationship, source, target] = parts(&record.key);
        let assembly = record.key.assembly.assembly();
        self.run(PUT_PAIR, (element, relationship, source, target, assembly.as_str(), to_json(record)?))
    }

    fn drop_pair(&self, key: &PairKey) -> Outcome<Applied> {
        self.run(DROP_PAIR, parts(key))
    }

    fn put_process(&self, record: &ProcessRecord) -> Outcome<Applied> {
        let (id, open) = (record.id.0.cast_signed(), !record.status.is_final());
        self.run_if_own(PUT_PROCESS, (id, record.assembly.as_str(), open, to_json(record)?))
    }

    /// Tells whether the row that `sql` finds by `key` exists and belongs to the assembly of the lease.
    /// Called before a dependent row is inserted.
    fn owns(&self, sql: &str, key: impl ToSql) -> Outcome<bool> {
        let mut select = self.db.prepare_cached(sql)?;
        let owner: Option<String> = select.query_row([key], |row| row.get(0)).optional()?;
        Ok(owner.is_some_and(|owner| owner == self.scope.as_str()))
    }

    fn put_step(&self, record: &StepRecord) -> Outcome<Applied> {
        let process = record.process.0.cast_signed();
        if !self.owns(OWNER_OF_PROCESS, process)? {
            return Ok(Applied::Orphan);
        }
        self.run(PUT_STEP, (process, record.step.0, to_json(record)?))
    }

    fn put_call(&self, record: &CallRecord) -> Outcome<Applied> {
        let (process, step, open) = (record.process.0.cast_signed(), record.step.0, record.state.is_open());
        if !self.owns(OWNER_OF_PROCESS, process)? {
            return Ok(Applied::Orphan);
        }
        self.run(PUT_CALL, (record.id.as_str(), process, step, open, to_json(record)?))
    }

    fn put_job(&self, record: &JobRecord) -> Outcome<Applied> {
        self.run(PUT_JOB, (&record.id, to_json(record)?))?;
        self.run("DELETE FROM job_call WHERE job = ?1", [&record.id])?;
        for call in &record.calls {
            if !self.owns(OWNER_OF_CALL, call.as_str())? {
                return Ok(Applied::Orphan);
            }
            self.run(
                "INSERT INTO job_call (job, call) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                (&record.id, call.as_str()),
            )?;
        }
        Ok(Applied::Yes)
    }

    fn put_secret(
        &self,
        secret: &SecretRef,
        assembly: &AssemblyName,
        value: &Sensitive<Vec<u8>>,
    ) -> Outcome<Applied> {
        let sealed = self.seal.seal(secret, value)?;
        self.run_if_own(PUT_SECRET, (secret.id(), assembly.as_str(), sealed))
    }

    fn drop_secret(&self, secret: &SecretRef) -> Outcome<Applied> {
        self.run("DELETE FROM secret WHERE id = ?1 AND assembly = ?2", (secret.id(), self.scope.as_str()))
    }

    fn put_package(&self, record: &PackageRecord) -> Outcome<Applied> {
        packages::put(self.db, record)?;
        Ok(Applied::Yes)
    }
}

fn parts(key: &PairKey) -> [&str; 4] {
    [key.assembly.as_str(), key.relationship.as_str(), key.source.as_str(), key.target.as_str()]
}

const PUT_ASSEMBLY: &str = "INSERT INTO assembly (name, owner, record) VALUES (?1, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, record = excluded.record";

const PIN_VERSION: &str =
    "INSERT INTO version_pin (process, assembly, package) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";

const PINNED: &str = "SELECT package FROM pin WHERE assembly = ?1
    UNION SELECT package FROM version_pin WHERE assembly = ?1
    UNION SELECT package FROM document_pin WHERE scope = ?1";

/// Marks the open calls of a dropped assembly as no longer open. Their records stay, but a later assembly
/// with the same name must not find them as its own open calls.
const SETTLE_CALLS: &str = "UPDATE call SET open = 0
    WHERE open = 1 AND process IN (SELECT id FROM process WHERE assembly = ?1)";

const PUT_ELEMENT: &str = "INSERT INTO element (name, assembly, record) VALUES (?1, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET record = excluded.record";

const PUT_INSTANCE: &str = "INSERT INTO instance (element, assembly, record) VALUES (?1, ?2, ?3)
    ON CONFLICT (element) DO UPDATE SET record = excluded.record";

const PUT_PAIR: &str = "INSERT INTO pair (element, relationship, source, target, assembly, record)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (element, relationship, source, target) DO UPDATE SET record = excluded.record";

const DROP_PAIR: &str =
    "DELETE FROM pair WHERE element = ?1 AND relationship = ?2 AND source = ?3 AND target = ?4";

const PUT_PROCESS: &str = "INSERT INTO process (id, assembly, open, record) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (id) DO UPDATE SET open = excluded.open, record = excluded.record
    WHERE assembly = excluded.assembly";

const OWNER_OF_PROCESS: &str = "SELECT assembly FROM process WHERE id = ?1";

const OWNER_OF_CALL: &str = "SELECT process.assembly FROM call JOIN process ON process.id = call.process
    WHERE call.id = ?1";

const PUT_STEP: &str = "INSERT INTO step (process, step, record) VALUES (?1, ?2, ?3)
    ON CONFLICT (process, step) DO UPDATE SET record = excluded.record";

const PUT_CALL: &str = "INSERT INTO call (id, process, step, open, record) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (id) DO UPDATE
    SET process = excluded.process, step = excluded.step, open = excluded.open, record = excluded.record";

const PUT_JOB: &str = "INSERT INTO job (id, record) VALUES (?1, ?2)
    ON CONFLICT (id) DO UPDATE SET record = excluded.record";

const PUT_SECRET: &str = "INSERT INTO secret (id, assembly, sealed) VALUES (?1, ?2, ?3)
    ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed WHERE assembly = excluded.assembly";
