//! Translation of each change into PostgreSQL statements.
//!
//! Most statements of a batch are sent in groups. All statements of a group are sent before the server's first
//! answer arrives, so the whole group costs one round trip. The answer to a statement may show that a change must
//! be refused, for example because a row belongs to another assembly. The answers are checked after the whole group
//! has been sent.

use futures::future::join_all;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use windlass_model::record::{
    AssemblyRecord, CallRecord, EventDraft, JobRecord, PackageRecord, PairKey, PairRecord, ProcessRecord,
    StepRecord, VersionRecord,
};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, ElementName, Seq};
use windlass_secret::{SecretRef, Sensitive};

use super::fault::{Fault, Outcome};
use super::feed::take_numbers;
use super::leases::check_leases;
use super::packages::{PUT_FILE, PUT_PACKAGE};
use super::row::to_json;
use super::statements::Statements;
use super::{documents, owners, prune, rename, versions};
use crate::batch::{Batch, Change, Forgotten};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::seal::Seal;

type Value = Box<dyn ToSql + Sync + Send>;

/// A part of the work for a change: an SQL statement, or a call of [`by_reading`].
struct Statement {
    /// The change to which the statement belongs, as an index into the changes of the batch.
    change: usize,
    sql: &'static str,
    values: Vec<Value>,
    /// A function that returns the reason to refuse the change. It is called if the statement has affected no row.
    /// If the field is `None`, the change is accepted even without an affected row.
    no_row: Option<fn(&Change) -> String>,
    sent: Sent,
}

/// How a [`Statement`] is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// The SQL is sent together with the SQL of other statements, without waiting for the answers to earlier
    /// statements.
    Together,
    /// The function [`by_reading`] is called, because the change depends on rows that must be read first. The field
    /// `sql` is empty.
    ByReading,
}

/// Applies a batch, and returns the number of the last event in the store. Must run within a savepoint, which
/// the caller rolls back on `Err`.
pub(super) async fn batch(
    db: &Client,
    cache: &mut Statements,
    seal: &Seal,
    lease: &Lease,
    batch: &Batch,
) -> Outcome<Seq> {
    check_leases(db, &batch.leases(lease).collect::<Vec<_>>()).await?;
    let refused = |reason| Fault::Store(StoreError::Refused { scope: lease.scope.clone(), reason });
    if let Some(reason) = batch.foreign_to(&lease.scope) {
        return Err(refused(reason));
    }
    let forgotten = Forgotten::of(batch);
    // Versions are dropped together and first, so that a version that is based on a dropped version is
    // rewritten only once.
    if !forgotten.versions.is_empty() {
        if !versions::drop(db, &lease.scope, &forgotten.versions).await? {
            return Err(refused("`drop version` is of another assembly".to_owned()));
        }
        db.execute(DROP_PACKAGES, &[]).await?;
    }
    let last = number_events(db, batch).await?;
    send(db, cache, seal, lease, batch, last).await?;
    if !forgotten.processes.is_empty() {
        prune::events_of_processes(db, &lease.scope, &forgotten.processes).await?;
    }
    if !forgotten.events.is_empty() {
        prune::events(db, &lease.scope, &forgotten.events).await?;
    }
    Ok(last)
}

/// Executes the statements of a batch in order. Statements of the kind [`Sent::Together`] that follow each other are
/// sent together. For each statement of the kind [`Sent::ByReading`], the function calls [`by_reading`].
async fn send(
    db: &Client,
    cache: &mut Statements,
    seal: &Seal,
    lease: &Lease,
    batch: &Batch,
    last: Seq,
) -> Outcome<()> {
    let refused = |reason| Fault::Store(StoreError::Refused { scope: lease.scope.clone(), reason });
    let statements = statements(batch, &lease.scope, seal, last)?;
    let mut rest = &statements[..];
    while let Some(first) = rest.first() {
        if first.sent == Sent::ByReading {
            let change = &batch.changes()[first.change];
            match by_reading(db, seal, &lease.scope, change).await {
                Ok(None) => {}
                Ok(Some(reason)) => return Err(refused(reason)),
                Err(fault) if fault.is_orphan() => return Err(refused(change.orphan())),
                Err(fault) => return Err(fault),
            }
            rest = &rest[1..];
            continue;
        }
        let end = rest.iter().position(|statement| statement.sent == Sent::ByReading).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        send_run(db, cache, batch, run).await.map_err(|failed| match failed {
            RunFailed::Refused(reason) => refused(reason),
            RunFailed::Fault(fault) => fault,
        })?;
    }
    Ok(())
}

/// Applies a change whose values depend on rows that are read first. If the change is refused, returns the
/// reason.
async fn by_reading(
    db: &Client,
    seal: &Seal,
    scope: &AssemblyName,
    change: &Change,
) -> Outcome<Option<String>> {
    Ok(match change {
        Change::PutVersion(record) => (!versions::put(db, scope, record).await?).then(|| change.orphan()),
        Change::DropProcess(process) => {
            (!prune::process(db, scope, *process).await?).then(|| change.orphan())
        }
        Change::Rename(renamed) => match rename::rename(db, seal, renamed).await? {
            Ok(()) => None,
            Err(rename::Kept::Missing) => Some(change.orphan()),
            Err(rename::Kept::Taken) => Some(change.id_conflict()),
        },
        Change::Claim(claim) => match owners::put(db, scope, claim).await {
            Ok(()) => None,
            Err(Fault::Store(StoreError::Claimed { .. })) => Some(change.id_conflict()),
            Err(Fault::Store(_)) => Some(change.orphan()),
            Err(fault) => return Err(fault),
        },
        Change::PutDocument(draft) => {
            documents::put(db, seal, draft).await?.is_none().then(|| change.conflict())
        }
        Change::DropDocument(key, expected) => {
            (!documents::drop(db, key, *expected).await?).then(|| change.conflict())
        }
        _ => None,
    })
}

/// The error of [`send_run`]. `Refused` contains the field `reason` of [`StoreError::Refused`].
enum RunFailed {
    Refused(String),
    Fault(Fault),
}

impl<F: Into<Fault>> From<F> for RunFailed {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into())
    }
}

/// Executes a run of statements. A run is a sequence of statements of the kind [`Sent::Together`].
///
/// The function sends all statements of the run, and then checks the answer to each statement. If a change breaks a
/// rule of the store, returns [`RunFailed::Refused`]. For example, the process of a step may be missing.
async fn send_run(
    db: &Client,
    cache: &mut Statements,
    batch: &Batch,
    statements: &[Statement],
) -> Result<(), RunFailed> {
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in statements {
        prepared.push(cache.get(db, statement.sql).await?);
    }
    let sent = statements.iter().zip(&prepared).map(|(Statement { values, .. }, prepared)| {
        db.execute_raw(prepared, values.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)))
    });
    for (statement, answer) in statements.iter().zip(join_all(sent).await) {
        let change = &batch.changes()[statement.change];
        match answer.map_err(Fault::from) {
            Ok(0) => {
                if let Some(reason) = statement.no_row {
                    return Err(RunFailed::Refused(reason(change)));
                }
            }
            Ok(_) => {}
            Err(fault) if fault.is_orphan() => return Err(RunFailed::Refused(change.orphan())),
            Err(fault) => return Err(RunFailed::Fault(fault)),
        }
    }
    Ok(())
}

/// Reserves numbers for the events of a batch, and returns the last number.
async fn number_events(db: &Client, batch: &Batch) -> Outcome<Seq> {
    let events = batch.changes().iter().filter(|change| matches!(change, Change::Event(_))).count();
    take_numbers(db, events).await
}

/// Translates the changes of a batch into statements, in the order of the changes. The events of the batch get
/// consecutive numbers. The last event gets the number `last`.
fn statements(batch: &Batch, scope: &AssemblyName, seal: &Seal, last: Seq) -> Outcome<Vec<Statement>> {
    let events = batch.changes().iter().filter(|change| matches!(change, Change::Event(_))).count();
    let scope = scope.to_string();
    let mut made =
        StatementList { statements: Vec::new(), change: 0, seq: last.0 - events as u64, scope, seal };
    for (at, change) in batch.changes().iter().enumerate() {
        made.change = at;
        made.add(change)?;
    }
    Ok(made.statements)
}

/// The statements of a batch, while they are being collected.
struct StatementList<'a> {
    statements: Vec<Statement>,
    /// The change whose statements are being added, as an index into the changes of the batch.
    change: usize,
    /// The sequence number of the last added event.
    seq: u64,
    /// The name of the assembly to which the batch belongs. The batch is committed under the lease on this
    /// assembly.
    scope: String,
    seal: &'a Seal,
}

/// Boxes its arguments as statement values.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$(Box::new($value) as Value),*] };
}

impl StatementList<'_> {
    fn add(&mut self, change: &Change) -> Outcome<()> {
        match change {
            Change::PutAssembly(record) => self.put_assembly(record)?,
            Change::DropAssembly(name) => self.drop_assembly(name),
            Change::PutVersion(record) => self.put_version(record),
            Change::PutElement(record) => self.put_part(PUT_ELEMENT, &record.name, to_json(record)?),
            Change::DropElement(name) => self.drop_element(name),
            Change::PutInstance(record) => self.put_part(PUT_INSTANCE, &record.element, to_json(record)?),
            Change::PutPair(record) => self.put_pair(record)?,
            Change::DropPair(key) => self.drop_pair(key),
            Change::PutProcess(record) => self.put_process(record)?,
            // The function `batch` applies these changes.
            Change::DropVersion(_) | Change::DropEvent(_) => {}
            Change::PutStep(record) => self.put_step(record)?,
            Change::PutCall(record) => self.put_call(record)?,
            Change::PutJob(record) => self.put_job(record)?,
            Change::PutSecret { secret, assembly, value } => self.put_secret(secret, assembly, value)?,
            Change::DropSecret(secret) => self.drop_secret(secret),
            Change::PutPackage(record) => self.put_package(record)?,
            Change::DropProcess(_)
            | Change::Rename(_)
            | Change::Claim(_)
            | Change::PutDocument(_)
            | Change::DropDocument(..) => self.read_first(),
            Change::EndRequest(record) => self.end_request(record)?,
            Change::Event(draft) => self.event(draft)?,
        }
        Ok(())
    }

    fn run(&mut self, sql: &'static str, values: Vec<Value>) {
        self.statements.push(Statement {
            change: self.change,
            sql,
            values,
            no_row: None,
            sent: Sent::Together,
        });
    }

    /// Adds a call of [`by_reading`] for the current change.
    fn read_first(&mut self) {
        self.statements.push(Statement {
            change: self.change,
            sql: "",
            values: values![],
            no_row: None,
            sent: Sent::ByReading,
        });
    }

    /// Adds a statement that inserts or replaces a record, for example the record of a process. The id of such a record
    /// is unique among the records of all assemblies. If a stored record with this id belongs to another assembly, the
    /// statement affects no row, and the change is refused.
    fn run_if_own(&mut self, sql: &'static str, values: Vec<Value>) {
        self.statements.push(Statement {
            change: self.change,
            sql,
            values,
            no_row: Some(Change::id_conflict),
            sent: Sent::Together,
        });
    }

    /// Adds a statement that inserts or replaces a record below another record, for example a step below its
    /// process. If the other record is missing or belongs to another assembly, the statement affects no row, and
    /// the change is refused.
    fn run_under(&mut self, sql: &'static str, values: Vec<Value>) {
        self.statements.push(Statement {
            change: self.change,
            sql,
            values,
            no_row: Some(Change::orphan),
            sent: Sent::Together,
        });
    }

    fn put_assembly(&mut self, record: &AssemblyRecord) -> Outcome<()> {
        let name = record.name.to_string();
        let owner = record.owner.as_ref().map(ToString::to_string);
        self.run(PUT_ASSEMBLY, values![name.clone(), owner, to_json(record)?]);
        self.run("DELETE FROM pin WHERE assembly = $1", values![name.clone()]);
        for digest in record.packages.values() {
            self.run(PIN, values![name.clone(), digest.0.clone()]);
        }
        self.run("DELETE FROM reference WHERE assembly = $1", values![name.clone()]);
        for target in &record.references {
            self.run(REFERENCE, values![name.clone(), target.to_string()]);
        }
        Ok(())
    }

    /// Deletes the row of an assembly, and marks its open calls as closed. Foreign keys then delete the elements,
    /// instances, pairs, secrets, documents, references and pins of the assembly. Packages that are no longer pinned
    /// are dropped.
    fn drop_assembly(&mut self, name: &AssemblyName) {
        self.run(SETTLE_CALLS, values![name.to_string()]);
        // The packages are read before their pins are deleted, and the packages without a pin are dropped
        // afterwards.
        self.run(NOTE_PACKAGES, values![name.to_string()]);
        self.run("DELETE FROM assembly WHERE name = $1", values![name.to_string()]);
        self.run(DROP_NOTED, values![]);
    }

    fn put_version(&mut self, record: &VersionRecord) {
        let (process, scope) = (record.process.0.cast_signed(), self.scope.clone());
        self.read_first();
        self.run("DELETE FROM version_pin WHERE process = $1", values![process]);
        for digest in record.assembly.packages.values() {
            self.run(PIN_VERSION, values![process, scope.clone(), digest.0.clone()]);
        }
    }

    fn put_part(&mut self, sql: &'static str, element: &ElementName, record: String) {
        self.run(sql, values![element.to_string(), element.assembly().to_string(), record]);
    }

    fn drop_element(&mut self, name: &ElementName) {
        self.run("DELETE FROM element WHERE name = $1", values![name.to_string()]);
        self.run("DELETE FROM instance WHERE element = $1", values![name.to_string()]);
    }

    fn put_pair(&mut self, record: &PairRecord) -> Outcome<()> {
        let [element, relationship, source, target] = parts(&record.key);
        let scope = self.scope.clone();
        self.run(PUT_PAIR, values![element, relationship, source, target, scope, to_json(record)?]);
        Ok(())
    }

    fn drop_pair(&mut self, key: &PairKey) {
        let [element, relationship, source, target] = parts(key);
        self.run(DROP_PAIR, values![element, relationship, source, target]);
    }

    fn put_process(&mut self, record: &ProcessRecord) -> Outcome<()> {
        let (id, open) = (record.id.0.cast_signed(), !record.status.is_final());
        self.run_if_own(PUT_PROCESS, values![id, self.scope.clone(), open, to_json(record)?]);
        Ok(())
    }

    fn put_step(&mut self, record: &StepRecord) -> Outcome<()> {
        let (process, step) = (record.process.0.cast_signed(), i64::from(record.step.0));
        self.run_under(PUT_STEP, values![process, step, to_json(record)?, self.scope.clone()]);
        Ok(())
    }

    fn put_call(&mut self, record: &CallRecord) -> Outcome<()> {
        let (process, step) = (record.process.0.cast_signed(), i64::from(record.step.0));
        let (id, open, scope) = (record.id.to_string(), record.state.is_open(), self.scope.clone());
        self.run_under(PUT_CALL, values![id, process, step, open, to_json(record)?, scope]);
        Ok(())
    }

    fn put_job(&mut self, record: &JobRecord) -> Outcome<()> {
        self.run(PUT_JOB, values![record.id.clone(), to_json(record)?]);
        self.run("DELETE FROM job_call WHERE job = $1", values![record.id.clone()]);
        for call in &record.calls {
            let values = values![record.id.clone(), call.to_string(), self.scope.clone()];
            self.run_under(PUT_JOB_CALL, values);
        }
        Ok(())
    }

    fn put_secret(
        &mut self,
        secret: &SecretRef,
        assembly: &AssemblyName,
        value: &Sensitive<Vec<u8>>,
    ) -> Outcome<()> {
        let sealed = self.seal.seal(secret, value)?;
        self.run_if_own(PUT_SECRET, values![secret.id().to_owned(), assembly.to_string(), sealed]);
        Ok(())
    }

    fn drop_secret(&mut self, secret: &SecretRef) {
        let sql = "DELETE FROM secret WHERE id = $1 AND assembly = $2";
        self.run(sql, values![secret.id().to_owned(), self.scope.clone()]);
    }

    fn put_package(&mut self, record: &PackageRecord) -> Outcome<()> {
        let digest = record.digest.0.clone();
        let manifest = to_json(&record.manifest)?;
        self.run(PUT_PACKAGE, values![digest.clone(), record.name.to_string(), manifest]);
        for file in &record.files {
            let (path, content) = (file.path.clone(), file.content.clone());
            self.run(PUT_FILE, values![digest.clone(), path, file.executable, content]);
        }
        Ok(())
    }

    fn end_request(&mut self, record: &RequestRecord) -> Outcome<()> {
        let (id, scope) = (record.id.0.cast_signed(), self.scope.clone());
        self.run_under(END_REQUEST, values![id, scope, to_json(record)?]);
        Ok(())
    }

    fn event(&mut self, draft: &EventDraft) -> Outcome<()> {
        self.seq += 1;
        let seq = self.seq.cast_signed();
        self.run(PUT_EVENT, values![seq, draft.assembly.to_string(), to_json(draft)?]);
        Ok(())
    }
}

fn parts(key: &PairKey) -> [String; 4] {
    [key.assembly.to_string(), key.relationship.to_string(), key.source.to_string(), key.target.to_string()]
}

const PUT_ASSEMBLY: &str = "INSERT INTO assembly (name, owner, record) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, record = excluded.record";

const PIN: &str = "INSERT INTO pin (assembly, package) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// Marks the open calls of a dropped assembly as no longer open. Their records stay, but a later assembly
/// with the same name must not find them as its own open calls.
const SETTLE_CALLS: &str = "UPDATE call SET open = FALSE
    WHERE open AND process IN (SELECT id FROM process WHERE assembly = $1)";

const REFERENCE: &str = "INSERT INTO reference (assembly, target) VALUES ($1, $2)";

/// Saves the digests of an assembly's packages in the setting `windlass.packages` of the transaction. After the
/// assembly and its pins are deleted, [`DROP_NOTED`] reads this setting. The digests can't be parameters of
/// `DROP_NOTED`, because both statements are sent before the first answer arrives.
const NOTE_PACKAGES: &str =
    "SELECT set_config('windlass.packages', coalesce((SELECT string_agg(package, ' ') FROM (
        SELECT package FROM pin WHERE assembly = $1
        UNION SELECT package FROM version_pin WHERE assembly = $1
        UNION SELECT package FROM document_pin WHERE scope = $1) AS pinned), ''), true)";

const DROP_NOTED: &str = "DELETE FROM package
    WHERE digest = ANY(string_to_array(current_setting('windlass.packages'), ' '))
    AND NOT EXISTS (SELECT 1 FROM pin WHERE package = digest)
    AND NOT EXISTS (SELECT 1 FROM version_pin WHERE package = digest)
    AND NOT EXISTS (SELECT 1 FROM document_pin WHERE package = digest)";

const DROP_PACKAGES: &str = "DELETE FROM package
    WHERE NOT EXISTS (SELECT 1 FROM pin WHERE package = digest)
    AND NOT EXISTS (SELECT 1 FROM version_pin WHERE package = digest)
    AND NOT EXISTS (SELECT 1 FROM document_pin WHERE package = digest)";

const PIN_VERSION: &str =
    "INSERT INTO version_pin (process, assembly, package) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

const PUT_ELEMENT: &str = "INSERT INTO element (name, assembly, record) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET record = excluded.record";

const PUT_INSTANCE: &str = "INSERT INTO instance (element, assembly, record) VALUES ($1, $2, $3)
    ON CONFLICT (element) DO UPDATE SET record = excluded.record";

const PUT_PAIR: &str = "INSERT INTO pair (element, relationship, source, target, assembly, record)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (element, relationship, source, target) DO UPDATE SET record = excluded.record";

const DROP_PAIR: &str =
    "DELETE FROM pair WHERE element = $1 AND relationship = $2 AND source = $3 AND target = $4";

const PUT_PROCESS: &str = "INSERT INTO process AS old (id, assembly, open, record) VALUES ($1, $2, $3, $4)
    ON CONFLICT (id) DO UPDATE SET open = excluded.open, record = excluded.record
    WHERE old.assembly = excluded.assembly";

const PUT_STEP: &str = "INSERT INTO step (process, step, record)
    SELECT $1, $2, $3 WHERE EXISTS (SELECT 1 FROM process WHERE id = $1 AND assembly = $4)
    ON CONFLICT (process, step) DO UPDATE SET record = excluded.record";

const PUT_CALL: &str = "INSERT INTO call (id, process, step, open, record)
    SELECT $1, $2, $3, $4, $5 WHERE EXISTS (SELECT 1 FROM process WHERE id = $2 AND assembly = $6)
    ON CONFLICT (id) DO UPDATE
    SET process = excluded.process, step = excluded.step, open = excluded.open, record = excluded.record";

const PUT_JOB: &str = "INSERT INTO job (id, record) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET record = excluded.record";

const PUT_JOB_CALL: &str = "INSERT INTO job_call (job, call)
    SELECT $1, $2 WHERE EXISTS (SELECT 1 FROM call JOIN process ON process.id = call.process
        WHERE call.id = $2 AND process.assembly = $3)
    ON CONFLICT (job, call) DO UPDATE SET job = excluded.job";

const PUT_SECRET: &str = "INSERT INTO secret AS old (id, assembly, sealed) VALUES ($1, $2, $3)
    ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed WHERE old.assembly = excluded.assembly";

pub(super) const END_REQUEST: &str = "UPDATE request SET open = FALSE, record = $3, sealed = NULL
    WHERE id = $1 AND assembly = $2 AND open";

pub(super) const PUT_EVENT: &str = "INSERT INTO event (seq, assembly, record) VALUES ($1, $2, $3)";
