//! What is written: changes that are applied together or not at all.

use std::collections::BTreeSet;

use windlass_model::record::{
    AssemblyRecord, CallRecord, ElementRecord, EventDraft, InstanceRecord, JobRecord, PackageRecord, PairKey,
    PairRecord, ProcessRecord, StepRecord, VersionRecord,
};
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, ElementName, ProcessId};
use windlass_secret::{SecretRef, Sensitive};

use crate::lease::Lease;

/// One change. *Put* adds a record or replaces the one of the same key; *drop* removes it if it is there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Change {
    /// Puts an assembly and pins its packages, which must be there.
    PutAssembly(Box<AssemblyRecord>),
    /// Forgets an assembly: its elements, instances, pairs, secrets and pins, the packages that nobody pins any
    /// more, and which of its calls were open. Processes with their versions, steps, calls and jobs, and events stay.
    DropAssembly(AssemblyName),
    /// Keeps an assembly as a process that is there was asked to make it, and pins its packages, which must be there.
    PutVersion(Box<VersionRecord>),
    /// Puts an element of an assembly that is there.
    PutElement(Box<ElementRecord>),
    /// Drops an element and its instance.
    DropElement(ElementName),
    /// Puts the instance of an element of an assembly that is there.
    PutInstance(Box<InstanceRecord>),
    /// Puts a relationship between two nodes of an assembly that is there.
    PutPair(Box<PairRecord>),
    /// Drops a relationship between two nodes.
    DropPair(Box<PairKey>),
    /// Puts a process.
    PutProcess(Box<ProcessRecord>),
    /// Drops a process of the lease's assembly that has ended, with its steps, calls and jobs, the requests that it carried
    /// out, and its events but the last of the store. It is refused while its version or one of its calls is needed.
    DropProcess(ProcessId),
    /// Drops a version of the lease's assembly, with its pins and the packages that nobody pins any more.
    DropVersion(ProcessId),
    /// Puts a step of a process that is there.
    PutStep(Box<StepRecord>),
    /// Puts a call of a step that is there.
    PutCall(Box<CallRecord>),
    /// Puts a job of calls that are there.
    PutJob(Box<JobRecord>),
    /// Seals a value and puts it, for an assembly that is there.
    PutSecret {
        /// Its name.
        secret: SecretRef,
        /// The assembly that it belongs to, and goes with.
        assembly: AssemblyName,
        /// The value.
        value: Sensitive<Vec<u8>>,
    },
    /// Wipes a secret of the lease's assembly.
    DropSecret(SecretRef),
    /// Puts a package, unless one of its digest is there. It stays while an assembly pins it, so the assembly that
    /// does comes after it in the same batch.
    PutPackage(Box<PackageRecord>),
    /// Ends a request of the lease's assembly, which must be open: puts what has become of it, and forgets what exactly
    /// it asked.
    EndRequest(Box<RequestRecord>),
    /// Adds an event to the feed.
    Event(Box<EventDraft>),
}

/// Changes that are applied together or not at all, in their order.
///
/// What belongs to something comes after it: elements after their assembly, calls after their step. All changes are
/// those of one assembly, the one whose lease they are committed under, or of those whose leases the batch
/// [has beside](Self::beside) that one.
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
///     body: Event::ProcessStarted { intent: Intent::Down, steps: 0 },
/// };
/// let batch = Batch::new().event(started).drop_assembly("h_bta".parse()?);
/// assert_eq!(batch.changes().len(), 2);
/// # Ok::<(), windlass_model::name::NameError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch {
    changes: Vec<Change>,
    /// The leases of the other assemblies that it changes.
    beside: Vec<Lease>,
}

impl Batch {
    /// Makes an empty batch. Committing it waits until all before it is durable.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a change at the end.
    pub fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Adds the leases of other assemblies of which there are elements, instances or secrets in the batch; it is
    /// refused when one of them is lost, and closes all of them when it fails.
    pub fn beside<'l>(mut self, leases: impl IntoIterator<Item = &'l Lease>) -> Self {
        for lease in leases {
            if self.changes.iter().any(|change| change.assembly().as_ref() == Some(&lease.scope)) {
                self.beside.push(lease.clone());
            }
        }
        self
    }

    /// Returns the leases under which it is committed: the given one, and those beside it.
    pub(crate) fn leases<'l>(&'l self, lease: &'l Lease) -> impl Iterator<Item = &'l Lease> {
        std::iter::once(lease).chain(&self.beside)
    }

    /// Returns the changes in their order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Tells whether there is nothing to change.
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

    /// Forgets an assembly: [`Change::DropAssembly`].
    pub fn drop_assembly(self, name: AssemblyName) -> Self {
        self.with(Change::DropAssembly(name))
    }

    /// Keeps an assembly as a process was asked to make it: [`Change::PutVersion`].
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

    /// Puts an instance: [`Change::PutInstance`].
    pub fn put_instance(self, record: InstanceRecord) -> Self {
        self.with(Change::PutInstance(Box::new(record)))
    }

    /// Puts a relationship between two nodes: [`Change::PutPair`].
    pub fn put_pair(self, record: PairRecord) -> Self {
        self.with(Change::PutPair(Box::new(record)))
    }

    /// Drops a relationship between two nodes: [`Change::DropPair`].
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

    /// Wipes a secret: [`Change::DropSecret`].
    pub fn drop_secret(self, secret: SecretRef) -> Self {
        self.with(Change::DropSecret(secret))
    }

    /// Puts a package: [`Change::PutPackage`].
    pub fn put_package(self, record: PackageRecord) -> Self {
        self.with(Change::PutPackage(Box::new(record)))
    }

    /// Ends a request: [`Change::EndRequest`].
    pub fn end_request(self, record: RequestRecord) -> Self {
        self.with(Change::EndRequest(Box::new(record)))
    }

    /// Adds an event: [`Change::Event`].
    pub fn event(self, draft: EventDraft) -> Self {
        self.with(Change::Event(Box::new(draft)))
    }

    /// Returns why the batch may not be committed under the lease on `scope`, as far as it shows that by itself.
    pub(crate) fn foreign_to(&self, scope: &AssemblyName) -> Option<String> {
        let strange = |change: &&Change| {
            let beside =
                |name: &AssemblyName| change.is_of_parts() && self.beside.iter().any(|l| l.scope == *name);
            change.assembly().is_some_and(|assembly| assembly != *scope && !beside(&assembly))
        };
        self.changes.iter().find(strange).map(|change| {
            let assembly = change.assembly().map_or_else(String::new, |name| name.to_string());
            format!("`{}` is of the assembly `{assembly}`", change.word())
        })
    }
}

/// What of the past a batch forgets. A store does that at once: it costs a walk through a history, not one a change.
#[derive(Debug, Default)]
pub(crate) struct Forgotten {
    pub(crate) processes: Vec<ProcessId>,
    pub(crate) versions: BTreeSet<u64>,
}

impl Forgotten {
    pub(crate) fn of(batch: &Batch) -> Self {
        let mut forgotten = Self::default();
        for change in batch.changes() {
            match change {
                Change::DropProcess(process) => forgotten.processes.push(*process),
                Change::DropVersion(process) => drop(forgotten.versions.insert(process.0)),
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
    /// Returns the assembly that the change itself names; steps, calls and jobs name it through their process.
    fn assembly(&self) -> Option<AssemblyName> {
        match self {
            Self::PutAssembly(record) => Some(record.name.clone()),
            Self::DropAssembly(name) => Some(name.clone()),
            Self::PutVersion(record) => Some(record.assembly.name.clone()),
            Self::PutElement(record) => Some(record.name.assembly()),
            Self::DropElement(name) => Some(name.assembly()),
            Self::PutInstance(record) => Some(record.element.assembly()),
            Self::PutPair(record) => Some(record.key.assembly.assembly()),
            Self::DropPair(key) => Some(key.assembly.assembly()),
            Self::PutProcess(record) => Some(record.assembly.clone()),
            Self::PutSecret { assembly, .. } => Some(assembly.clone()),
            Self::EndRequest(record) => Some(record.assembly.clone()),
            Self::Event(draft) => Some(draft.assembly.clone()),
            Self::PutStep(_)
            | Self::PutCall(_)
            | Self::PutJob(_)
            | Self::PutPackage(_)
            | Self::DropProcess(_)
            | Self::DropVersion(_)
            | Self::DropSecret(_) => None,
        }
    }

    /// Tells whether it changes what an assembly has of parts: that can be done under a lease beside another.
    fn is_of_parts(&self) -> bool {
        matches!(self, Self::PutElement(_) | Self::PutInstance(_) | Self::PutSecret { .. })
    }

    /// Returns the reason for refusing a change whose assembly, process, step, call or package is not there, or is another
    /// assembly's: one reason for both, so that no store has to find out which of many is which.
    pub(crate) fn orphan(&self) -> String {
        match self {
            Self::EndRequest(record) => format!("`{}` is of {}, which is not open", self.word(), record.id),
            Self::DropProcess(process) => {
                format!("`{}` is of {process}, which is another assembly's, or still needed", self.word())
            }
            _ => format!("what `{}` belongs to is not there, or another assembly's", self.word()),
        }
    }

    /// Returns the reason for refusing a process or a secret whose id is in use by another assembly.
    pub(crate) fn taken(&self) -> String {
        format!("`{}` has the id of another assembly's", self.word())
    }

    /// Returns the change's own word, for messages about a batch.
    fn word(&self) -> &'static str {
        match self {
            Self::PutAssembly(_) => "put assembly",
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
            Self::PutStep(_) => "put step",
            Self::PutCall(_) => "put call",
            Self::PutJob(_) => "put job",
            Self::PutSecret { .. } => "put secret",
            Self::DropSecret(_) => "drop secret",
            Self::PutPackage(_) => "put package",
            Self::EndRequest(_) => "end request",
            Self::Event(_) => "event",
        }
    }
}
