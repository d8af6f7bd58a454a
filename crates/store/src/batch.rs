//! Changes that are applied together or not at all.

use std::collections::BTreeSet;

use windlass_model::document::{DocumentDraft, DocumentKey, Expected};
use windlass_model::record::{
    AssemblyRecord, CallRecord, ElementRecord, EventDraft, InstanceRecord, JobRecord, PackageRecord, PairKey,
    PairRecord, ProcessRecord, StepRecord, VersionRecord,
};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, ElementName, ProcessId, Seq};
use windlass_secret::{SecretRef, Sensitive};

use crate::claim::Claim;
use crate::lease::Lease;
use crate::rename::Rename;

/// One change. *Put* inserts a record, or replaces the record with the same key. *Drop* removes a record if
/// it exists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Change {
    /// Puts an assembly. The assembly pins its packages, which must exist.
    PutAssembly(Box<AssemblyRecord>),
    /// Drops an assembly with its elements, instances, pairs, secrets, documents and pins. Packages that are no longer
    /// pinned are dropped. The open calls of the assembly are marked as closed, so that the engine does not continue
    /// these calls in a new assembly with the same name. The processes of the assembly stay, with their versions,
    /// steps, calls and jobs. Its events stay, too.
    DropAssembly(AssemblyName),
    /// Stores a version of an assembly. The process of the version and the packages of the version must exist.
    /// The version pins its packages: they stay in the store at least as long as the version.
    PutVersion(Box<VersionRecord>),
    /// Puts an element of an existing assembly.
    PutElement(Box<ElementRecord>),
    /// Drops an element and its instance.
    DropElement(ElementName),
    /// Renames an existing assembly. Replaces the old name in the records of this assembly and of the assemblies
    /// [`others`](Rename::others). Seals the secrets of the renamed assembly again. The batch must be committed under a
    /// lease on the new name. The leases on the old name and on `others` must be added with [`beside`](Batch::beside).
    /// If an assembly with the new name exists, the batch is refused.
    Rename(Box<Rename>),
    /// Gives a natural id to the assembly of the lease, as [`claim`](crate::Store::claim) does. A natural id is the id
    /// that an assembly with an owner has outside of windlass. The batch is refused if another assembly has the id and
    /// the claim does not permit it, or if the assembly has no owner.
    Claim(Claim),
    /// Puts the instance of an element of an existing assembly.
    PutInstance(Box<InstanceRecord>),
    /// Puts a pair of an existing assembly. A pair is a relationship between one source element and one target element,
    /// such as the web server `shop__web__2` and the load balancer `shop__lb`.
    PutPair(Box<PairRecord>),
    /// Drops a pair.
    DropPair(Box<PairKey>),
    /// Puts a process.
    PutProcess(Box<ProcessRecord>),
    /// Drops an ended process of the lease's assembly, with its steps, calls, jobs and events, and the
    /// request that it executed. The store's last event always stays. The change is refused as long as the
    /// store contains a version that the process has written, or an open call of the process.
    DropProcess(ProcessId),
    /// Drops a version of the lease's assembly. If no other version, assembly or document needs a package of the
    /// version, the package is also dropped.
    DropVersion(ProcessId),
    /// Drops the event with this number. Has no effect if the lease's assembly has no event with this number, or if
    /// the event is the store's last one.
    DropEvent(Seq),
    /// Puts a step of an existing process.
    PutStep(Box<StepRecord>),
    /// Puts a call of an existing step.
    PutCall(Box<CallRecord>),
    /// Puts a job. All calls that the job serves must exist.
    PutJob(Box<JobRecord>),
    /// Encrypts (seals) a value, and stores it as a secret of an existing assembly.
    PutSecret {
        /// The name of the secret.
        secret: SecretRef,
        /// The assembly of the secret. The secret is dropped with the assembly.
        assembly: AssemblyName,
        /// The value to seal.
        value: Sensitive<Vec<u8>>,
    },
    /// Erases a secret of the lease's assembly.
    DropSecret(SecretRef),
    /// Puts a package, unless a package with the same digest exists. A package stays only while an assembly,
    /// a version or a document pins it. So a change that pins the package must follow in the same batch.
    PutPackage(Box<PackageRecord>),
    /// Puts a document. The [scope](windlass_model::document::DocumentScope) of the document must be the lease's
    /// assembly or the project. A document of the assembly is dropped with the assembly. The batch is refused if
    /// the stored document does not meet the condition [`expected`](DocumentDraft::expected), or if a package of
    /// the document is missing.
    PutDocument(Box<DocumentDraft>),
    /// Drops a document, if the document exists. The [scope](windlass_model::document::DocumentScope) of the
    /// document must be the lease's assembly or the project. The batch is refused if the stored document does not
    /// meet the condition [`Expected`].
    DropDocument(Box<DocumentKey>, Expected),
    /// Ends an open request of the lease's assembly: puts its final record, and drops its sealed content.
    EndRequest(Box<RequestRecord>),
    /// Adds an event, which gets the next number.
    Event(Box<EventDraft>),
}

/// A list of changes. A store applies either all changes, in the order of the list, or none of them.
///
/// The caller adds the changes in a valid order: a record comes before the records that refer to it. For example, an
/// assembly comes before its elements, and a step comes before its calls. Each change belongs to the assembly of the
/// lease under which the batch is committed, or to an assembly whose lease was added with
/// [`beside`](Self::beside). A change of the project's documents belongs to no assembly.
///
/// ```
/// use windlass_model::record::{Event, EventDraft, Intent};
/// use windlass_model::Timestamp;
/// use windlass_store::Batch;
///
/// let started = EventDraft {
///     at: Timestamp::from_millis(0),
///     assembly: "h_bta".parse()?,
///     process: None,
///     body: Event::ProcessStarted { intent: Intent::Down, application: None, steps: 0 },
/// };
/// let batch = Batch::new().event(started).drop_assembly("h_bta".parse()?);
/// assert_eq!(batch.changes().len(), 2);
/// # Ok::<(), windlass_model::name::NameError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch {
    changes: Vec<Change>,
    /// The leases of the other assemblies that the batch changes or depends on. The methods `beside` and `fenced_by`
    /// add these leases.
    beside: Vec<Lease>,
}

impl Batch {
    /// Creates an empty batch. If a batch is committed while it is empty, its [`Ticket`](crate::Ticket) resolves
    /// once all earlier batches are durable.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a change to the batch.
    pub fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Adds leases, so that the batch can change further assemblies. Call this method after all changes are in the
    /// batch, because the method ignores a lease if the batch contains no change of the lease's assembly.
    ///
    /// With the lease of an assembly, the batch can put elements, instances and secrets of the assembly, and
    /// [`Change::Rename`] can change all records of the assembly. If an added lease is lost, the store refuses the
    /// batch. If the batch fails, the store also refuses each later batch that has one of the added leases.
    pub fn beside<'l>(mut self, leases: impl IntoIterator<Item = &'l Lease>) -> Self {
        let renamed: BTreeSet<&AssemblyName> =
            self.changes.iter().filter_map(Change::rename).flat_map(Rename::scopes).collect();
        for lease in leases {
            if renamed.contains(&lease.scope)
                || self.changes.iter().any(|change| change.assembly().as_ref() == Some(&lease.scope))
            {
                self.beside.push(lease.clone());
            }
        }
        self
    }

    /// Adds leases on which the batch depends. The batch need not contain a change of a lease's assembly. For example,
    /// a batch records a reference to another assembly, and the lease on that assembly prevents the removal of that
    /// assembly. If an added lease is lost, the store refuses the batch.
    ///
    /// [`beside`](Self::beside) ignores the lease of an assembly that the batch does not change. This method adds each
    /// lease, even if the batch is still empty. An added lease has the same effects as with `beside`.
    pub fn fenced_by<'l>(mut self, leases: impl IntoIterator<Item = &'l Lease>) -> Self {
        self.beside.extend(leases.into_iter().cloned());
        self
    }

    /// Returns all leases of the batch: first `lease`, under which the batch is committed, and then the leases that were
    /// added with [`beside`](Self::beside) and [`fenced_by`](Self::fenced_by).
    ///
    /// For implementations of [`Store`](crate::Store): a store refuses the batch if one of these leases is lost. If the
    /// batch fails, the store refuses each later batch that has one of these leases.
    pub fn leases<'l>(&'l self, lease: &'l Lease) -> impl Iterator<Item = &'l Lease> {
        std::iter::once(lease).chain(&self.beside)
    }

    /// Returns the changes in order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Tells whether the batch has no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn with(mut self, change: Change) -> Self {
        self.push(change);
        self
    }

    /// Puts an assembly: [`Change::PutAssembly`].
    pub fn put_assembly(self, record: AssemblyRecord) -> Self {
        self.with(Change::PutAssembly(Box::new(record)))
    }

    /// Drops an assembly: [`Change::DropAssembly`].
    pub fn drop_assembly(self, name: AssemblyName) -> Self {
        self.with(Change::DropAssembly(name))
    }

    /// Stores a version of an assembly: [`Change::PutVersion`].
    pub fn put_version(self, record: VersionRecord) -> Self {
        self.with(Change::PutVersion(Box::new(record)))
    }

    /// Puts an element: [`Change::PutElement`].
    pub fn put_element(self, record: ElementRecord) -> Self {
        self.with(Change::PutElement(Box::new(record)))
    }

    /// Drops an element and its instance: [`Change::DropElement`].
    pub fn drop_element(self, name: ElementName) -> Self {
        self.with(Change::DropElement(name))
    }

    /// Gives the lease's assembly its natural id: [`Change::Claim`].
    pub fn claim(self, claim: impl Into<Claim>) -> Self {
        self.with(Change::Claim(claim.into()))
    }

    /// Puts an instance: [`Change::PutInstance`].
    pub fn put_instance(self, record: InstanceRecord) -> Self {
        self.with(Change::PutInstance(Box::new(record)))
    }

    /// Gives an assembly another name: [`Change::Rename`].
    pub fn rename(self, rename: Rename) -> Self {
        self.with(Change::Rename(Box::new(rename)))
    }

    /// Puts a pair: [`Change::PutPair`].
    pub fn put_pair(self, record: PairRecord) -> Self {
        self.with(Change::PutPair(Box::new(record)))
    }

    /// Drops a pair: [`Change::DropPair`].
    pub fn drop_pair(self, key: PairKey) -> Self {
        self.with(Change::DropPair(Box::new(key)))
    }

    /// Puts a process: [`Change::PutProcess`].
    pub fn put_process(self, record: ProcessRecord) -> Self {
        self.with(Change::PutProcess(Box::new(record)))
    }

    /// Drops a process: [`Change::DropProcess`].
    pub fn drop_process(self, process: ProcessId) -> Self {
        self.with(Change::DropProcess(process))
    }

    /// Drops a version: [`Change::DropVersion`].
    pub fn drop_version(self, process: ProcessId) -> Self {
        self.with(Change::DropVersion(process))
    }

    /// Puts a step: [`Change::PutStep`].
    pub fn put_step(self, record: StepRecord) -> Self {
        self.with(Change::PutStep(Box::new(record)))
    }

    /// Puts a call: [`Change::PutCall`].
    pub fn put_call(self, record: CallRecord) -> Self {
        self.with(Change::PutCall(Box::new(record)))
    }

    /// Puts a job: [`Change::PutJob`].
    pub fn put_job(self, record: JobRecord) -> Self {
        self.with(Change::PutJob(Box::new(record)))
    }

    /// Seals a value and puts it: [`Change::PutSecret`].
    pub fn put_secret(self, secret: SecretRef, assembly: AssemblyName, value: Sensitive<Vec<u8>>) -> Self {
        self.with(Change::PutSecret { secret, assembly, value })
    }

    /// Erases a secret: [`Change::DropSecret`].
    pub fn drop_secret(self, secret: SecretRef) -> Self {
        self.with(Change::DropSecret(secret))
    }

    /// Puts a package: [`Change::PutPackage`].
    pub fn put_package(self, record: PackageRecord) -> Self {
        self.with(Change::PutPackage(Box::new(record)))
    }

    /// Puts a document: [`Change::PutDocument`].
    pub fn put_document(self, draft: DocumentDraft) -> Self {
        self.with(Change::PutDocument(Box::new(draft)))
    }

    /// Drops a document: [`Change::DropDocument`].
    pub fn drop_document(self, key: DocumentKey, expected: Expected) -> Self {
        self.with(Change::DropDocument(Box::new(key), expected))
    }

    /// Ends a request: [`Change::EndRequest`].
    pub fn end_request(self, record: RequestRecord) -> Self {
        self.with(Change::EndRequest(Box::new(record)))
    }

    /// Adds an event: [`Change::Event`].
    pub fn event(self, draft: EventDraft) -> Self {
        self.with(Change::Event(Box::new(draft)))
    }

    /// Returns the reason why the batch can't be committed under the lease on `scope`; `None` if there is no such
    /// reason. The function checks only the names in the changes, and not the stored records.
    ///
    /// For implementations of [`Store`](crate::Store): with a reason, a store refuses the batch with
    /// [`StoreError::Refused`](crate::StoreError::Refused).
    pub fn foreign_to(&self, scope: &AssemblyName) -> Option<String> {
        let strange = |change: &&Change| {
            let beside =
                |name: &AssemblyName| change.is_of_parts() && self.beside.iter().any(|l| l.scope == *name);
            change.assembly().is_some_and(|assembly| assembly != *scope && !beside(&assembly))
        };
        let mut renamed = self.changes.iter().filter_map(Change::rename).flat_map(Rename::scopes);
        let is_unheld = |name: &&AssemblyName| !self.beside.iter().any(|lease| lease.scope == **name);
        if let Some(name) = renamed.find(is_unheld) {
            return Some(format!("`rename` changes the assembly `{name}`, whose lease it does not have"));
        }
        self.changes.iter().find(strange).map(|change| {
            let assembly = change.assembly().map_or_else(String::new, |name| name.to_string());
            format!("`{}` is of the assembly `{assembly}`", change.word())
        })
    }
}

/// The processes, versions and events that a batch drops. A store drops all of them together, so it searches
/// the history once, and not once for each change.
#[derive(Debug, Default)]
pub(crate) struct Forgotten {
    pub(crate) processes: Vec<ProcessId>,
    pub(crate) versions: BTreeSet<u64>,
    pub(crate) events: Vec<Seq>,
}

impl Forgotten {
    pub(crate) fn of(batch: &Batch) -> Self {
        let mut forgotten = Self::default();
        for change in batch.changes() {
            match change {
                Change::DropProcess(process) => forgotten.processes.push(*process),
                Change::DropVersion(process) => drop(forgotten.versions.insert(process.0)),
                Change::DropEvent(event) => forgotten.events.push(*event),
                _ => {}
            }
        }
        forgotten
    }
}

impl Extend<Change> for Batch {
    fn extend<I: IntoIterator<Item = Change>>(&mut self, changes: I) {
        self.changes.extend(changes);
    }
}

impl FromIterator<Change> for Batch {
    fn from_iter<I: IntoIterator<Item = Change>>(changes: I) -> Self {
        Self { changes: changes.into_iter().collect(), beside: Vec::new() }
    }
}

impl IntoIterator for Batch {
    type Item = Change;
    type IntoIter = std::vec::IntoIter<Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.changes.into_iter()
    }
}

impl Change {
    /// Returns the assembly that the change itself names; none if it names no assembly. For example, a step
    /// names only its process.
    fn assembly(&self) -> Option<AssemblyName> {
        match self {
            Self::PutAssembly(record) => Some(record.name.clone()),
            Self::Rename(rename) => Some(rename.renaming.to.clone()),
            Self::DropAssembly(name) => Some(name.clone()),
            Self::PutVersion(record) => Some(record.assembly.name.clone()),
            Self::PutElement(record) => Some(record.name.assembly()),
            Self::DropElement(name) => Some(name.assembly()),
            Self::PutInstance(record) => Some(record.element.assembly()),
            Self::PutPair(record) => Some(record.key.assembly.assembly()),
            Self::DropPair(key) => Some(key.assembly.assembly()),
            Self::PutProcess(record) => Some(record.assembly.clone()),
            Self::PutSecret { assembly, .. } => Some(assembly.clone()),
            Self::PutDocument(draft) => draft.key.scope.assembly().cloned(),
            Self::DropDocument(key, _) => key.scope.assembly().cloned(),
            Self::EndRequest(record) => Some(record.assembly.clone()),
            Self::Event(draft) => Some(draft.assembly.clone()),
            Self::PutStep(_)
            | Self::PutCall(_)
            | Self::PutJob(_)
            | Self::PutPackage(_)
            | Self::DropProcess(_)
            | Self::DropVersion(_)
            | Self::DropEvent(_)
            | Self::Claim(_)
            | Self::DropSecret(_) => None,
        }
    }

    fn rename(&self) -> Option<&Rename> {
        match self {
            Self::Rename(rename) => Some(rename),
            _ => None,
        }
    }

    /// Tells whether the change puts an element, an instance or a secret. A batch may make such a change to an assembly
    /// other than its own, if the lease on the other assembly was added with [`Batch::beside`].
    fn is_of_parts(&self) -> bool {
        matches!(self, Self::PutElement(_) | Self::PutInstance(_) | Self::PutSecret { .. })
    }

    /// Returns the refusal reason for a change whose assembly, process, step, call or package is missing or
    /// belongs to another assembly. Both cases share one reason, so that no store has to distinguish them.
    pub(crate) fn orphan(&self) -> String {
        match self {
            Self::EndRequest(record) => format!("`{}` is of {}, which is not open", self.word(), record.id),
            Self::PutDocument(draft) => format!("a package of the {} is missing", draft.key),
            Self::DropProcess(process) => {
                format!("`{}` is of {process}, which is another assembly's, or still needed", self.word())
            }
            Self::Rename(rename) => {
                let names: Vec<String> = rename.scopes().map(|name| format!("`{name}`")).collect();
                format!("an assembly that `rename` changes does not exist: {}", names.join(", "))
            }
            _ => format!("`{}` belongs to a record that is missing or of another assembly", self.word()),
        }
    }

    /// Returns the refusal reason for a change with an id or name that belongs to another assembly.
    pub(crate) fn id_conflict(&self) -> String {
        if let Self::Rename(rename) = self {
            return format!("an assembly with the name `{}` exists", rename.renaming.to);
        }
        if let Self::Claim(claim) = self {
            return format!("another assembly has the natural id `{}`", claim.natural_id);
        }
        format!("`{}` has the id of another assembly's", self.word())
    }

    /// Returns the refusal reason for a change that conflicts with a stored record. A change of a document
    /// conflicts if the document does not have the revision that the change expects ([`Expected`]). For
    /// changes of anything other than a document, the reason is that of [`id_conflict`](Self::id_conflict).
    pub(crate) fn conflict(&self) -> String {
        match self {
            Self::PutDocument(draft) => format!("the {} has another revision", draft.key),
            Self::DropDocument(key, _) => format!("the {key} has another revision"),
            _ => self.id_conflict(),
        }
    }

    /// Returns the name of the change for messages.
    fn word(&self) -> &'static str {
        match self {
            Self::PutAssembly(_) => "put assembly",
            Self::Rename(_) => "rename",
            Self::Claim(_) => "claim",
            Self::DropAssembly(_) => "drop assembly",
            Self::PutVersion(_) => "put version",
            Self::PutElement(_) => "put element",
            Self::DropElement(_) => "drop element",
            Self::PutInstance(_) => "put instance",
            Self::PutPair(_) => "put pair",
            Self::DropPair(_) => "drop pair",
            Self::PutProcess(_) => "put process",
            Self::DropProcess(_) => "drop process",
            Self::DropVersion(_) => "drop version",
            Self::DropEvent(_) => "drop event",
            Self::PutStep(_) => "put step",
            Self::PutCall(_) => "put call",
            Self::PutJob(_) => "put job",
            Self::PutSecret { .. } => "put secret",
            Self::DropSecret(_) => "drop secret",
            Self::PutPackage(_) => "put package",
            Self::PutDocument(_) => "put document",
            Self::DropDocument(..) => "drop document",
            Self::EndRequest(_) => "end request",
            Self::Event(_) => "event",
        }
    }
}
