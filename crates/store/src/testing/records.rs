//! The records of the in-memory store, and the effect of each change on them.

use std::collections::HashSet;

use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_model::record::{
    AssemblyRecord, CallRecord, ElementRecord, EventDraft, EventRecord, InstanceRecord, JobRecord,
    PackageRecord, PairKey, PairRecord, ProcessRecord, StepRecord, VersionRecord,
};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, CallId, ElementName, ProcessId, RequestId, Seq, StepId, Timestamp};
use windlass_secret::{SecretRef, Sensitive};

use super::table::Table;
use crate::batch::{Batch, Change, Forgotten};
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::rename::Rename;
use crate::request::{self, no_owner};
use crate::snapshot::{History, Owned, ProcessHistory, Snapshot};

/// A record, and its position in the order in which records were first stored.
#[derive(Debug)]
struct Placed<R> {
    place: usize,
    record: R,
}

/// A call, and whether it is open.
#[derive(Debug)]
struct Call {
    open: bool,
    record: CallRecord,
}

/// A secret, and the assembly that it belongs to.
#[derive(Debug)]
struct Secret {
    assembly: AssemblyName,
    value: Sensitive<Vec<u8>>,
}

/// A document, and its secret part.
#[derive(Debug)]
struct Document {
    record: DocumentRecord,
    secrets: Option<Sensitive<Vec<u8>>>,
}

/// A request. The content `asked` is removed when the request is closed.
#[derive(Debug)]
struct Request {
    record: RequestRecord,
    asked: Option<Sensitive<Vec<u8>>>,
}

/// All records of a store except leases.
#[derive(Debug, Default)]
pub(super) struct Records {
    assemblies: Table<AssemblyName, AssemblyRecord>,
    versions: Table<ProcessId, AssemblyRecord>,
    elements: Table<ElementName, ElementRecord>,
    instances: Table<ElementName, InstanceRecord>,
    pairs: Table<PairKey, PairRecord>,
    processes: Table<ProcessId, ProcessRecord>,
    steps: Table<(ProcessId, StepId), StepRecord>,
    calls: Table<CallId, Placed<Call>>,
    jobs: Table<String, Placed<JobRecord>>,
    secrets: Table<SecretRef, Secret>,
    packages: Table<PackageDigest, PackageRecord>,
    documents: Table<DocumentKey, Document>,
    /// The natural ids of owned assemblies.
    claims: Table<AssemblyName, String>,
    requests: Table<RequestId, Request>,
    events: Table<Seq, EventDraft>,
    recorded: usize,
    /// The last [`Revision`] that a stored document got. The next stored document gets the next number.
    changes: u64,
    /// The value of `changes` after the last accepted change. Such a change is a batch, or a call of a method such as
    /// `put_document`. If a change is refused, `changes` is reset to this value.
    kept_changes: u64,
}

impl Records {
    /// Applies a batch completely, or returns the rule that it breaks.
    pub(super) fn apply(&mut self, scope: &AssemblyName, batch: Batch) -> Result<(), String> {
        let forgotten = Forgotten::of(&batch);
        let outcome = self
            .drop_versions(scope, &forgotten)
            .and_then(|()| batch.into_iter().try_for_each(|change| self.change(scope, change)));
        let last = self.last();
        let is_of_forgotten = |event: &EventDraft| {
            event.process.is_some_and(|of| forgotten.processes.contains(&of)) && event.assembly == *scope
        };
        let is_forgotten = |seq: &Seq, event: &EventDraft| {
            is_of_forgotten(event) || forgotten.events.contains(seq) && event.assembly == *scope
        };
        self.events.drop_where(|seq, event| *seq < last && is_forgotten(seq, event));
        match outcome {
            Ok(()) => self.keep(),
            Err(_) => self.undo(),
        }
        outcome
    }

    fn change(&mut self, scope: &AssemblyName, change: Change) -> Result<(), String> {
        if self.is_taken(scope, &change) {
            return Err(change.id_conflict());
        }
        if self.is_conflict(&change) {
            return Err(change.conflict());
        }
        if self.is_orphan(scope, &change) {
            return Err(change.orphan());
        }
        match change {
            Change::PutAssembly(record) => self.assemblies.put(record.name.clone(), *record),
            Change::Rename(rename) => self.rename(&rename),
            Change::DropAssembly(name) => self.drop_assembly(&name),
            Change::PutVersion(record) => self.versions.put(record.process, record.assembly),
            Change::PutElement(record) => self.elements.put(record.name.clone(), *record),
            Change::DropElement(name) => {
                self.elements.drop(&name);
                self.instances.drop(&name);
            }
            Change::Claim(claim) => self.claims.put(scope.clone(), claim.natural_id),
            Change::PutInstance(record) => self.instances.put(record.element.clone(), *record),
            Change::PutPair(record) => self.pairs.put(record.key.clone(), *record),
            Change::DropPair(key) => self.pairs.drop(&key),
            Change::PutProcess(record) => self.processes.put(record.id, *record),
            Change::DropProcess(process) => self.drop_process(process),
            // `apply` handles these changes itself. It drops the versions first, then makes all other changes,
            // and drops the events last.
            Change::DropVersion(_) | Change::DropEvent(_) => {}
            Change::PutStep(record) => self.steps.put((record.process, record.step), *record),
            Change::PutCall(record) => self.put_call(*record),
            Change::PutJob(record) => self.put_job(*record),
            Change::PutSecret { secret, assembly, value } => {
                self.secrets.put(secret, Secret { assembly, value });
            }
            Change::DropSecret(secret) => self.drop_secret(scope, &secret),
            Change::PutPackage(record) => self.put_package(*record),
            Change::PutDocument(draft) => drop(self.store_document(*draft)),
            Change::DropDocument(key, _) => self.remove_document(&key),
            Change::EndRequest(record) => {
                self.requests.put(record.id, Request { record: *record, asked: None });
            }
            Change::Event(draft) => self.events.put(Seq(self.last().0 + 1), *draft),
        }
        Ok(())
    }

    fn is_orphan(&self, scope: &AssemblyName, change: &Change) -> bool {
        let has = |process: &ProcessId| self.has_process(scope, *process);
        match change {
            Change::PutAssembly(record) => !record.packages.values().all(|digest| self.packages.has(digest)),
            Change::PutVersion(record) => {
                !has(&record.process)
                    // A version pins its packages, so that the packages stay stored. A pin refers to the assembly
                    // of the version. So if the version has packages, the assembly must exist.
                    || !record.assembly.packages.values().all(|digest| {
                        self.packages.has(digest) && self.assemblies.has(&record.assembly.name)
                    })
            }
            Change::Rename(rename) => !rename.scopes().all(|name| self.assemblies.has(name)),
            Change::PutElement(record) => !self.assemblies.has(&record.name.assembly()),
            Change::PutInstance(record) => !self.assemblies.has(&record.element.assembly()),
            Change::Claim(_) => self.assemblies.get(scope).is_none_or(|record| record.owner.is_none()),
            Change::PutPair(record) => !self.assemblies.has(&record.key.assembly.assembly()),
            Change::DropProcess(process) => {
                self.processes.has(process)
                    && (!self.has_process(scope, *process) || self.needs_process(*process))
            }
            Change::PutStep(record) => !has(&record.process),
            Change::PutCall(record) => {
                !has(&record.process) || !self.steps.has(&(record.process, record.step))
            }
            Change::PutJob(record) => {
                let call = |call| self.calls.get(call).map(|call| &call.record.record.process);
                !record.calls.iter().all(|id| call(id).is_some_and(has))
            }
            Change::PutSecret { assembly, .. } => !self.assemblies.has(assembly),
            Change::PutDocument(draft) => {
                let owner = draft.key.scope.assembly();
                owner.is_some_and(|owner| !self.assemblies.has(owner))
                    || !draft.packages.iter().all(|digest| self.packages.has(digest))
            }
            Change::EndRequest(record) => !self
                .requests
                .get(&record.id)
                .is_some_and(|found| found.record.is_open() && found.record.assembly == record.assembly),
            _ => false,
        }
    }

    fn is_conflict(&self, change: &Change) -> bool {
        match change {
            Change::PutDocument(draft) => !self.is_as_expected(&draft.key, draft.expected),
            Change::DropDocument(key, expected) => !self.is_as_expected(key, *expected),
            _ => false,
        }
    }

    fn is_as_expected(&self, key: &DocumentKey, expected: Expected) -> bool {
        let revision = self.documents.get(key).map(|found| found.record.revision);
        match expected {
            Expected::Any => true,
            Expected::Absent => revision.is_none(),
            Expected::At(expected) => revision == Some(expected),
        }
    }

    fn store_document(&mut self, draft: DocumentDraft) -> Revision {
        self.changes += 1;
        let revision = Revision(self.changes);
        let DocumentDraft { key, version, body, secrets, packages, .. } = draft;
        let record = DocumentRecord { key: key.clone(), revision, version, body, packages };
        let before = self.documents.get(&key).map(|old| old.record.packages.clone()).unwrap_or_default();
        self.documents.put(key, Document { record, secrets });
        self.drop_unpinned(&before.into_iter().collect());
        revision
    }

    fn remove_document(&mut self, key: &DocumentKey) {
        let before = self.documents.get(key).map(|old| old.record.packages.clone()).unwrap_or_default();
        self.documents.drop(key);
        self.drop_unpinned(&before.into_iter().collect());
    }

    /// Drops those of the given packages that nothing pins.
    fn drop_unpinned(&mut self, packages: &HashSet<PackageDigest>) {
        let pinned = self.pinned();
        self.packages.drop_where(|digest, _| packages.contains(digest) && !pinned.contains(digest));
    }

    fn is_taken(&self, scope: &AssemblyName, change: &Change) -> bool {
        match change {
            Change::Claim(claim) => {
                let owner = self.assemblies.get(scope).and_then(|record| record.owner.as_ref());
                owner.is_some_and(|owner| self.refusing(scope, owner, claim).is_some())
            }
            Change::PutProcess(record) => {
                self.processes.get(&record.id).is_some_and(|old| old.assembly != record.assembly)
            }
            Change::Rename(rename) => self.assemblies.has(&rename.renaming.to),
            Change::PutSecret { secret, assembly, .. } => {
                self.secrets.get(secret).is_some_and(|old| old.assembly != *assembly)
            }
            _ => false,
        }
    }

    fn drop_versions(&mut self, scope: &AssemblyName, forgotten: &Forgotten) -> Result<(), String> {
        let doomed: Vec<ProcessId> = forgotten.versions.iter().map(|process| ProcessId(*process)).collect();
        let is_strange = |process: &ProcessId| self.versions.get(process).is_some_and(|of| of.name != *scope);
        if doomed.iter().any(is_strange) {
            return Err("`drop version` is of another assembly".to_owned());
        }
        if !doomed.is_empty() {
            for process in &doomed {
                self.versions.drop(process);
            }
            let pinned = self.pinned();
            self.packages.drop_where(|digest, _| !pinned.contains(digest));
        }
        Ok(())
    }

    /// Tells whether the record of a process must be kept. It must be kept if the process has not ended, if a call of
    /// the process is open, or if the store contains the version that the process has written.
    fn needs_process(&self, process: ProcessId) -> bool {
        let is_open = self.processes.get(&process).is_some_and(|of| !of.status.is_final());
        let mut calls = self.calls.values().map(|call| &call.record);
        is_open
            || self.versions.has(&process)
            || calls.any(|call| call.open && call.record.process == process)
    }

    fn drop_process(&mut self, process: ProcessId) {
        let request = self.processes.get(&process).and_then(|of| of.request);
        let is_open = |id: &RequestId| self.requests.get(id).is_some_and(|request| request.record.is_open());
        if let Some(request) = request.filter(|id| !is_open(id)) {
            self.requests.drop(&request);
        }
        let of_it = |call: &CallId| self.calls.get(call).is_some_and(|c| c.record.record.process == process);
        let gone: Vec<String> = self
            .jobs
            .iter()
            .filter(|(_, job)| !job.record.calls.is_empty() && job.record.calls.iter().all(of_it))
            .map(|(id, _)| id.clone())
            .collect();
        for job in &gone {
            self.jobs.drop(job);
        }
        self.calls.drop_where(|_, call| call.record.record.process == process);
        self.steps.drop_where(|(of, _), _| *of == process);
        self.processes.drop(&process);
    }

    /// Returns the packages that must stay. These packages are pinned by an assembly, by a version of an existing
    /// assembly, or by a document. A document is a stored item such as a published application.
    fn pinned(&self) -> HashSet<PackageDigest> {
        let kept = self.versions.values().filter(|version| self.assemblies.has(&version.name));
        let of_documents = self.documents.values().flat_map(|of| of.record.packages.iter().cloned());
        let of_assemblies = self.assemblies.values().chain(kept).flat_map(|of| of.packages.values().cloned());
        of_assemblies.chain(of_documents).collect()
    }

    fn drop_assembly(&mut self, name: &AssemblyName) {
        self.settle_calls(name);
        let own: HashSet<PackageDigest> = self
            .assemblies
            .values()
            .chain(self.versions.values())
            .filter(|of| of.name == *name && self.assemblies.has(name))
            .flat_map(|of| of.packages.values().cloned())
            .chain(self.documents_of(name).flat_map(|of| of.record.packages.iter().cloned()))
            .collect();
        self.assemblies.drop(name);
        self.claims.drop(name);
        self.documents.drop_where(|key, _| key.scope.assembly() == Some(name));
        self.elements.drop_where(|element, _| element.assembly() == *name);
        self.instances.drop_where(|element, _| element.assembly() == *name);
        self.pairs.drop_where(|key, _| key.assembly.assembly() == *name);
        self.secrets.drop_where(|_, secret| secret.assembly == *name);
        self.drop_unpinned(&own);
    }

    fn documents_of<'a>(&'a self, name: &'a AssemblyName) -> impl Iterator<Item = &'a Document> {
        self.documents.values().filter(move |of| of.record.key.scope.assembly() == Some(name))
    }

    /// Sets [`Call::open`] to false for all calls of an assembly. The stored [`CallRecord`]s do not change.
    fn settle_calls(&mut self, name: &AssemblyName) {
        let open: Vec<_> = self.open_calls(name).map(|(place, call)| (place, call.clone())).collect();
        for (place, record) in open {
            self.calls.put(record.id.clone(), Placed { place, record: Call { open: false, record } });
        }
    }

    fn put_call(&mut self, record: CallRecord) {
        let place = self.calls.get(&record.id).map_or(self.recorded, |old| old.place);
        self.recorded += 1;
        let call = Call { open: record.state.is_open(), record };
        self.calls.put(call.record.id.clone(), Placed { place, record: call });
    }

    fn put_job(&mut self, record: JobRecord) {
        let place = self.jobs.get(&record.id).map_or(self.recorded, |old| old.place);
        self.recorded += 1;
        self.jobs.put(record.id.clone(), Placed { place, record });
    }

    fn put_package(&mut self, record: PackageRecord) {
        if !self.packages.has(&record.digest) {
            self.packages.put(record.digest.clone(), record);
        }
    }

    fn drop_secret(&mut self, scope: &AssemblyName, secret: &SecretRef) {
        if self.secrets.get(secret).is_some_and(|found| found.assembly == *scope) {
            self.secrets.drop(secret);
        }
    }

    fn keep(&mut self) {
        self.assemblies.keep();
        self.versions.keep();
        self.elements.keep();
        self.instances.keep();
        self.pairs.keep();
        self.processes.keep();
        self.steps.keep();
        self.calls.keep();
        self.jobs.keep();
        self.secrets.keep();
        self.packages.keep();
        self.documents.keep();
        self.kept_changes = self.changes;
        self.claims.keep();
        self.requests.keep();
        self.events.keep();
    }

    fn undo(&mut self) {
        self.assemblies.undo();
        self.versions.undo();
        self.elements.undo();
        self.instances.undo();
        self.pairs.undo();
        self.processes.undo();
        self.steps.undo();
        self.calls.undo();
        self.jobs.undo();
        self.secrets.undo();
        self.packages.undo();
        self.documents.undo();
        self.changes = self.kept_changes;
        self.claims.undo();
        self.requests.undo();
        self.events.undo();
    }
}

/// Renaming of an assembly.
impl Records {
    fn rename(&mut self, rename: &Rename) {
        const PLAIN: &str = "a record is plain data";
        let renaming = &rename.renaming;
        for scope in rename.scopes() {
            let of_assembly: HashSet<ProcessId> = self.processes_of(scope).map(|of| of.id).collect();
            let is_own = |process: &ProcessId| of_assembly.contains(process);
            self.assemblies.replace(
                |name, _| name == scope,
                |record| renaming.assembly_record(record).expect(PLAIN),
                |record| record.name.clone(),
            );
            self.versions.update(|_, of| of.name == *scope, |of| renaming.assembly_record(of).expect(PLAIN));
            self.elements.replace(
                |name, _| name.assembly() == *scope,
                |record| renaming.record(record).expect(PLAIN),
                |record| record.name.clone(),
            );
            self.instances.replace(
                |name, _| name.assembly() == *scope,
                |record| renaming.record(record).expect(PLAIN),
                |record| record.element.clone(),
            );
            self.pairs.replace(
                |key, _| key.assembly.assembly() == *scope,
                |record| renaming.record(record).expect(PLAIN),
                |record| record.key.clone(),
            );
            let served: HashSet<CallId> = self
                .calls
                .iter()
                .filter(|(_, call)| is_own(&call.record.record.process))
                .map(|(id, _)| id.clone())
                .collect();
            self.jobs.update(
                |_, job| job.record.calls.iter().any(|call| served.contains(call)),
                |job| Placed { place: job.place, record: renaming.record(&job.record).expect(PLAIN) },
            );
            self.calls.update(
                |id, _| served.contains(id),
                |Placed { place, record: Call { open, record } }| {
                    let record = renaming.record(record).expect(PLAIN);
                    Placed { place: *place, record: Call { open: *open, record } }
                },
            );
            self.steps.update(|(of, _), _| is_own(of), |step| renaming.record(step).expect(PLAIN));
            self.processes.update(|id, _| is_own(id), |of| rename.process(of).expect(PLAIN));
            self.requests.update(
                |_, request| request.record.assembly == *scope,
                |Request { record, asked }| Request {
                    record: renaming.record(record).expect(PLAIN),
                    asked: asked.clone(),
                },
            );
            self.events
                .update(|_, event| event.assembly == *scope, |event| renaming.record(event).expect(PLAIN));
        }
        if let Some(natural_id) = self.claims.get(&renaming.from).cloned() {
            self.claims.drop(&renaming.from);
            self.claims.put(renaming.to.clone(), natural_id);
        }
        let secrets: Vec<(SecretRef, Sensitive<Vec<u8>>)> =
            self.secrets_of(&renaming.from).into_iter().collect();
        for (before, value) in secrets {
            self.secrets.drop(&before);
            self.secrets.put(renaming.secret(&before), Secret { assembly: renaming.to.clone(), value });
        }
        self.documents.replace(
            |key, _| key.scope.assembly() == Some(&renaming.from),
            |Document { record, secrets }| {
                let key = DocumentKey { scope: renaming.scope(&record.key.scope), ..record.key.clone() };
                Document { record: DocumentRecord { key, ..record.clone() }, secrets: secrets.clone() }
            },
            |document| document.record.key.clone(),
        );
    }
}

/// Methods that change documents, natural ids and requests without a batch. Other methods find documents, or find the
/// assemblies that belong to an owner. An assembly that belongs to an owner can have a natural id. The natural id
/// identifies the assembly outside of windlass.
impl Records {
    pub(super) fn put_document(
        &mut self,
        draft: DocumentDraft,
        packages: Vec<PackageRecord>,
    ) -> Result<Revision, StoreError> {
        let key = Box::new(draft.key.clone());
        if !self.is_as_expected(&key, draft.expected) {
            return Err(StoreError::DocumentChanged { key });
        }
        for package in packages {
            self.put_package(package);
        }
        let is_whole = draft.packages.iter().all(|digest| self.packages.has(digest));
        let stored = is_whole.then(|| self.store_document(draft));
        if is_whole {
            self.keep();
        } else {
            self.undo();
        }
        stored.ok_or(StoreError::NoPackage { key })
    }

    pub(super) fn drop_document(&mut self, key: &DocumentKey, expected: Expected) -> Result<(), StoreError> {
        if !self.is_as_expected(key, expected) {
            return Err(StoreError::DocumentChanged { key: Box::new(key.clone()) });
        }
        self.remove_document(key);
        self.keep();
        Ok(())
    }

    /// Gives an assembly a natural id. The assembly must have an owner.
    pub(super) fn claim(&mut self, name: &AssemblyName, claim: &Claim) -> Result<(), StoreError> {
        let owner = self.assemblies.get(name).and_then(|record| record.owner.clone());
        let owner = owner.ok_or_else(|| no_owner(name))?;
        let natural_id = claim.natural_id.clone();
        if let Some(Claimant { assembly: by, owner }) = self.refusing(name, &owner, claim) {
            return Err(StoreError::Claimed { owner, natural_id, by });
        }
        self.claims.put(name.clone(), natural_id);
        self.keep();
        Ok(())
    }

    /// Returns an assembly that has the claimed natural id, and that the claim of the assembly `name` of `owner` does
    /// not permit.
    fn refusing(&self, name: &AssemblyName, owner: &AssemblyName, claim: &Claim) -> Option<Claimant> {
        let mut claimants = self.claimants(&claim.natural_id).into_iter();
        claimants.find(|other| other.assembly != *name && !claim.permits(owner, other))
    }

    /// Returns the assemblies that have a natural id, sorted by name.
    pub(super) fn claimants(&self, natural_id: &str) -> Vec<Claimant> {
        let has_it = |record: &&AssemblyRecord| {
            self.claims.get(&record.name).is_some_and(|claimed| claimed == natural_id)
        };
        let records = self.assemblies.values().filter(has_it);
        let claimant = |record: &AssemblyRecord| {
            Some(Claimant { assembly: record.name.clone(), owner: record.owner.clone()? })
        };
        records.filter_map(claimant).collect()
    }

    /// Returns the assemblies of an owner, sorted by name.
    pub(super) fn owned(&self, owner: &AssemblyName) -> Vec<Owned> {
        let records = self.assemblies.values().filter(|record| record.owner.as_ref() == Some(owner));
        let all = records.map(|record| Owned {
            assembly: record.name.clone(),
            natural_id: self.claims.get(&record.name).cloned(),
        });
        all.collect()
    }

    pub(super) fn document(&self, key: &DocumentKey) -> Option<DocumentRecord> {
        self.documents.get(key).map(|found| found.record.clone())
    }

    pub(super) fn document_secrets(&self, key: &DocumentKey) -> Option<Sensitive<Vec<u8>>> {
        self.documents.get(key)?.secrets.clone()
    }

    pub(super) fn documents(
        &self,
        scope: &DocumentScope,
        kind: &DocumentKind,
        after: Option<&DocumentName>,
        limit: usize,
    ) -> Vec<DocumentRecord> {
        let is_wanted = |key: &DocumentKey| {
            key.scope == *scope && key.kind == *kind && after.is_none_or(|after| key.name > *after)
        };
        let found = self.documents.values().map(|of| &of.record).filter(|record| is_wanted(&record.key));
        found.take(limit).cloned().collect()
    }

    pub(super) fn submit(&mut self, record: &RequestRecord, asked: Sensitive<Vec<u8>>) {
        self.requests.put(record.id, Request { record: record.clone(), asked: Some(asked) });
        self.events.put(Seq(self.last().0 + 1), request::asked_event(record));
        self.keep();
    }

    pub(super) fn withdraw(&mut self, id: RequestId, now: Timestamp) -> Option<RequestRecord> {
        let found = self.request(id)?;
        if !found.is_open() {
            return Some(found);
        }
        let (record, event) = request::withdrawn(found, now);
        self.requests.put(id, Request { record: record.clone(), asked: None });
        self.events.put(Seq(self.last().0 + 1), event);
        self.keep();
        Some(record)
    }
}

/// Queries of the stored records.
impl Records {
    pub(super) fn request(&self, id: RequestId) -> Option<RequestRecord> {
        self.requests.get(&id).map(|found| found.record.clone())
    }

    pub(super) fn requests(&self) -> Vec<RequestRecord> {
        self.requests.values().map(|found| &found.record).filter(|r| r.is_open()).cloned().collect()
    }

    pub(super) fn asked(&self, id: RequestId) -> Option<Sensitive<Vec<u8>>> {
        self.requests.get(&id)?.asked.clone()
    }

    pub(super) fn last(&self) -> Seq {
        self.events.last().map_or(Seq::START, |(seq, _)| *seq)
    }

    pub(super) fn events(&self, after: Seq, limit: usize) -> Vec<EventRecord> {
        let later = self.events.after(&after).take(limit);
        later.map(|(seq, draft)| EventRecord { seq: *seq, draft: draft.clone() }).collect()
    }

    pub(super) fn events_of(&self, scope: &AssemblyName, after: Seq, limit: usize) -> Vec<EventRecord> {
        let later = self.events.after(&after).filter(|(_, draft)| draft.assembly == *scope).take(limit);
        later.map(|(seq, draft)| EventRecord { seq: *seq, draft: draft.clone() }).collect()
    }

    pub(super) fn has_process(&self, scope: &AssemblyName, process: ProcessId) -> bool {
        self.processes.get(&process).is_some_and(|found| found.assembly == *scope)
    }

    pub(super) fn versions(&self, scope: &AssemblyName) -> Vec<VersionRecord> {
        let mine = self.versions.iter().filter(|(_, assembly)| assembly.name == *scope);
        mine.map(|(process, assembly)| VersionRecord { process: *process, assembly: assembly.clone() })
            .collect()
    }

    pub(super) fn assemblies(&self) -> Vec<AssemblyRecord> {
        self.assemblies.values().cloned().collect()
    }

    pub(super) fn processes(&self) -> Vec<ProcessRecord> {
        self.processes.values().cloned().collect()
    }

    pub(super) fn package(&self, digest: &PackageDigest) -> Option<PackageRecord> {
        self.packages.get(digest).cloned()
    }

    pub(super) fn secret(&self, secret: &SecretRef) -> Option<Sensitive<Vec<u8>>> {
        self.secrets.get(secret).map(|found| found.value.clone())
    }

    pub(super) fn load(&self, scope: &AssemblyName) -> Option<Snapshot> {
        let assembly = self.assemblies.get(scope)?.clone();
        let mine = |element: &ElementName| element.assembly() == *scope;
        let calls = in_order(self.open_calls(scope).map(|(place, call)| (place, call.clone())));
        Some(Snapshot {
            assembly,
            elements: self.elements.select(|name, _| mine(name)),
            instances: self.instances.select(|name, _| mine(name)),
            pairs: self.pairs.select(|key, _| mine(&key.assembly)),
            processes: self
                .processes_of(scope)
                .filter(|process| !process.status.is_final())
                .cloned()
                .collect(),
            jobs: self.jobs_of(&calls),
            calls,
            secrets: self.secrets_of(scope),
        })
    }

    pub(super) fn process(&self, process: ProcessId) -> Option<ProcessRecord> {
        self.processes.get(&process).cloned()
    }

    pub(super) fn history_of(&self, process: ProcessId) -> Option<ProcessHistory> {
        self.processes.get(&process).map(|process| self.process_history(process))
    }

    pub(super) fn history(&self, scope: &AssemblyName) -> History {
        History { processes: self.processes_of(scope).map(|process| self.process_history(process)).collect() }
    }

    fn process_history(&self, process: &ProcessRecord) -> ProcessHistory {
        let calls = self.calls.values().filter(|call| call.record.record.process == process.id);
        let calls = in_order(calls.map(|call| (call.place, call.record.record.clone())));
        ProcessHistory {
            process: process.clone(),
            steps: self.steps.values().filter(|step| step.process == process.id).cloned().collect(),
            jobs: self.jobs_of(&calls),
            calls,
        }
    }

    fn processes_of<'a>(&'a self, scope: &'a AssemblyName) -> impl Iterator<Item = &'a ProcessRecord> {
        self.processes.values().filter(move |process| process.assembly == *scope)
    }

    fn open_calls<'a>(&'a self, scope: &'a AssemblyName) -> impl Iterator<Item = (usize, &'a CallRecord)> {
        let mine: HashSet<_> = self.processes_of(scope).map(|process| process.id).collect();
        let open = self.calls.values().filter(|call| call.record.open);
        open.map(|call| (call.place, &call.record.record))
            .filter(move |(_, call)| mine.contains(&call.process))
    }

    fn jobs_of(&self, calls: &[CallRecord]) -> Vec<JobRecord> {
        let wanted: HashSet<_> = calls.iter().map(|call| &call.id).collect();
        let jobs = self.jobs.values().filter(|job| job.record.calls.iter().any(|call| wanted.contains(call)));
        in_order(jobs.map(|job| (job.place, job.record.clone())))
    }

    fn secrets_of(&self, scope: &AssemblyName) -> std::collections::BTreeMap<SecretRef, Sensitive<Vec<u8>>> {
        let mine = self.secrets.iter().filter(|(_, secret)| secret.assembly == *scope);
        mine.map(|(name, secret)| (name.clone(), secret.value.clone())).collect()
    }
}

fn in_order<R>(records: impl Iterator<Item = (usize, R)>) -> Vec<R> {
    let mut records: Vec<_> = records.collect();
    records.sort_by_key(|(place, _)| *place);
    records.into_iter().map(|(_, record)| record).collect()
}
