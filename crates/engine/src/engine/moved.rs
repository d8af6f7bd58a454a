//! The old names of renamed and exported assemblies. The components of such an assembly still exist, so an `up`
//! under the old name would create them a second time. An `adopt` under the old name would give them a second owner.
//!
//! The batch that renames or exports an assembly also stores a document (see `Moved`). The document has the old name as
//! its key, and contains the new name or the file of the export, and the time at which the assembly was created. The name
//! and this time identify an assembly, because a later assembly may have the same name. If a later process has used the
//! old name, the document is ignored.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentScope, Expected};
use windlass_model::record::Intent;
use windlass_model::{AssemblyName, ProcessId, Timestamp};
use windlass_store::{Store, StoreError};

use super::request::Request;
use crate::error::{EngineError, MovedTo};

/// The version of the format of [`Moved`] in the store.
const VERSION: u32 = 1;

/// The content of the document which records that an assembly was renamed or exported.
#[derive(Debug, Serialize, Deserialize)]
struct Moved {
    to: MovedTo,
    /// The last recorded process under the old name at the time of the rename or export; `None` if there was none.
    last: Option<ProcessId>,
    /// The time at which the assembly was created; `None` in a document of an earlier build of windlass. A rename or an
    /// export does not change this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<Timestamp>,
}

/// Returns the document which records that the assembly `from` was renamed or exported. The assembly was created at the
/// time `created`. `last` is the last process that the store keeps under the old name.
pub(super) fn moved(
    from: &AssemblyName,
    to: MovedTo,
    last: Option<ProcessId>,
    created: Timestamp,
) -> DocumentDraft {
    let created = Some(created);
    DocumentDraft {
        key: key(from),
        expected: Expected::Any,
        version: VERSION,
        body: serde_json::to_value(Moved { to, last, created }).expect("it is plain data"),
        secrets: None,
        packages: BTreeSet::new(),
    }
}

/// Refuses an `up` or `adopt` under the old name of a renamed or exported assembly. The intent would create a second
/// assembly with the same components. `name` is the old name, which no assembly has now.
///
/// The launch of an application is never refused. `up` and `adopt` are also permitted if the assembly was renamed, and
/// then removed under its new name.
pub(super) async fn refuse_if_moved(
    store: &dyn Store,
    name: &AssemblyName,
    request: &Request,
) -> Result<(), EngineError> {
    let is_launch = request.desired.as_ref().is_some_and(|desired| desired.application.is_some());
    if !matches!(request.intent, Intent::Up | Intent::Adopt) || is_launch {
        return Ok(());
    }
    match present_place(store, name).await? {
        Some(to) => {
            Err(EngineError::Moved { name: name.clone(), to, intent: Box::new(request.intent.clone()) })
        }
        None => Ok(()),
    }
}

/// Returns the present place of an assembly that had the name `name` before: the present name of the assembly, or the
/// file of its export. The function follows several renames. Returns `None` if the assembly was not moved, or no longer
/// exists.
pub(super) async fn present_place(
    store: &dyn Store,
    name: &AssemblyName,
) -> Result<Option<MovedTo>, StoreError> {
    let Some(Moved { mut to, created, last }) = read(store, name).await? else { return Ok(None) };
    if is_used_since(store, name, last).await? {
        return Ok(None);
    }
    let mut seen = BTreeSet::from([name.clone()]);
    loop {
        let MovedTo::Assembly(next) = &to else { return Ok(Some(to)) };
        let record = store.assembly(next).await?;
        if record.is_some_and(|record| created.is_none_or(|created| record.created == created)) {
            return Ok(Some(to));
        }
        if !seen.insert(next.clone()) {
            return Ok(None);
        }
        let Some(further) = read(store, next).await? else { return Ok(None) };
        let is_same = match (created, further.created) {
            (Some(created), Some(of)) => created == of,
            _ => !is_used_since(store, next, further.last).await?,
        };
        if !is_same {
            return Ok(None);
        }
        to = further.to;
    }
}

async fn read(store: &dyn Store, name: &AssemblyName) -> Result<Option<Moved>, StoreError> {
    // A newer version of windlass may have written this document in a newer format. This program can't read such
    // a document, and ignores it.
    let document = store.document(&key(name)).await?.filter(|document| document.version <= VERSION);
    Ok(document.and_then(|document| serde_json::from_value(document.body).ok()))
}

/// Tells whether the store has a process under the name `name` that is newer than the process `last`.
async fn is_used_since(
    store: &dyn Store,
    name: &AssemblyName,
    last: Option<ProcessId>,
) -> Result<bool, StoreError> {
    let newest = store.processes_of(name, None, 1).await?.pop().map(|process| process.id);
    Ok(newest > last)
}

/// Returns the key of the document which records that the assembly `name` was renamed or exported. When the assembly
/// is imported again under this name, the import drops the document.
pub(super) fn key(name: &AssemblyName) -> DocumentKey {
    DocumentKey {
        scope: DocumentScope::Project,
        kind: "moved".parse().expect("it is a valid kind"),
        name: name.as_str().parse().expect("the name of an assembly is one of a document"),
    }
}
