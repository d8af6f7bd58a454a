//! The old names of renamed and exported assemblies. The components of such an assembly still exist, so windlass
//! refuses an `up` or `adopt` under the old name. An `up` would create the components a second time, and an `adopt`
//! would give them a second owner.
//!
//! Each old name has its own document in the store. The batch that renames or exports an assembly also adds an entry to
//! the document of the old name (see `Moved`). The entry contains the new name or the file of the export, and the time
//! at which the assembly was created. The name and this time identify an assembly, because a later assembly may have
//! the same name. If a process has used the old name since the rename or export, the entry causes no refusal.
//!
//! All programs that change the document of a name hold the lease of this name.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentScope, Expected};
use windlass_model::record::Intent;
use windlass_model::{AssemblyName, ProcessId, Timestamp};
use windlass_store::{Batch, Store, StoreError};

use super::request::Request;
use crate::error::{EngineError, MovedTo};

/// The version of the format of [`Document`] in the store. A document of the version 1 contains a single [`Moved`].
const VERSION: u32 = 2;

/// The document of an old name. It lists the assemblies that had this name before they were renamed or exported.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Document {
    /// The assemblies that had the name, the latest last.
    moved: Vec<Moved>,
}

/// The record that an assembly was renamed or exported.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Moved {
    /// The new name or the file of the assembly.
    pub(super) to: MovedTo,
    /// The last process that was recorded under the name before the assembly lost the name; `None` if there was none.
    /// If a later process exists, the name has been used again.
    pub(super) last: Option<ProcessId>,
    /// The time at which the assembly was created; `None` in a document of an earlier build of windlass. A rename or an
    /// export does not change this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) created: Option<Timestamp>,
}

/// Returns the document of the name `from`, with a new entry for the assembly that now loses this name. The function
/// drops the entries of assemblies that no longer exist. The caller holds the lease of `from`.
pub(super) async fn with_moved(
    store: &dyn Store,
    from: &AssemblyName,
    moved: Moved,
) -> Result<DocumentDraft, StoreError> {
    let mut kept = Vec::new();
    for earlier in read(store, from).await? {
        if earlier.created != moved.created && place_of(store, from, &earlier).await?.is_some() {
            kept.push(earlier);
        }
    }
    kept.push(moved);
    Ok(draft(from, kept))
}

/// Removes the entry of an exported assembly from the document of the old name `name`, because the assembly is imported
/// under this name. The change is added to `batch`. The assembly was created at the time `created`. The caller holds
/// the lease of `name`.
pub(super) async fn imported_again(
    store: &dyn Store,
    name: &AssemblyName,
    created: Timestamp,
    batch: Batch,
) -> Result<Batch, StoreError> {
    let mut others = read(store, name).await?;
    others.retain(|moved| match moved.created {
        Some(of) => of != created,
        None => matches!(moved.to, MovedTo::Assembly(_)),
    });
    Ok(if others.is_empty() {
        batch.drop_document(key(name), Expected::Any)
    } else {
        batch.put_document(draft(name, others))
    })
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

/// Returns the present place of an assembly that lost the name `name` by a rename or an export. The place is the
/// present name of the assembly, or the file of its export. If there are several such assemblies, returns the place of
/// the one that had the name last. Returns `None` if there is no such assembly, or if a process has used the name since
/// the rename or export.
pub(super) async fn present_place(
    store: &dyn Store,
    name: &AssemblyName,
) -> Result<Option<MovedTo>, StoreError> {
    for moved in read(store, name).await?.iter().rev() {
        if is_used_since(store, name, moved.last).await? {
            continue;
        }
        if let Some(place) = place_of(store, name, moved).await? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Returns the present name of the assembly that had the name `name` at some time, and was created at the time
/// `created`. Returns `None` if this store does not have the assembly.
pub(super) async fn present_name(
    store: &dyn Store,
    name: &AssemblyName,
    created: Timestamp,
) -> Result<Option<AssemblyName>, StoreError> {
    if is_here(store, name, Some(created)).await? {
        return Ok(Some(name.clone()));
    }
    for moved in read(store, name).await?.into_iter().rev().filter(|moved| moved.created == Some(created)) {
        if let Some(MovedTo::Assembly(to)) = place_of(store, name, &moved).await? {
            return Ok(Some(to));
        }
    }
    Ok(None)
}

/// Returns the present place of the assembly that had the name `name` before, and is described by `moved`. Returns
/// `None` if the assembly no longer exists.
async fn place_of(
    store: &dyn Store,
    name: &AssemblyName,
    moved: &Moved,
) -> Result<Option<MovedTo>, StoreError> {
    let Moved { mut to, created, .. } = moved.clone();
    let mut seen = BTreeSet::from([name.clone()]);
    loop {
        let MovedTo::Assembly(next) = &to else { return Ok(Some(to)) };
        if is_here(store, next, created).await? {
            return Ok(Some(to));
        }
        if !seen.insert(next.clone()) {
            return Ok(None);
        }
        match further(store, next, created).await? {
            Some(further) => to = further,
            // An import between the two reads may have dropped the entry.
            None => return Ok(is_here(store, next, created).await?.then_some(to)),
        }
    }
}

/// Returns the next name of an assembly that lost the name `name`, or the file of its export. The assembly was created
/// at the time `created`.
async fn further(
    store: &dyn Store,
    name: &AssemblyName,
    created: Option<Timestamp>,
) -> Result<Option<MovedTo>, StoreError> {
    for moved in read(store, name).await?.into_iter().rev() {
        let is_same = match (created, moved.created) {
            (Some(created), Some(of)) => created == of,
            _ => !is_used_since(store, name, moved.last).await?,
        };
        if is_same {
            return Ok(Some(moved.to));
        }
    }
    Ok(None)
}

/// Tells whether an assembly of the name `name` exists that was created at the time `created`. Without this time, any
/// assembly of the name counts.
async fn is_here(
    store: &dyn Store,
    name: &AssemblyName,
    created: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let record = store.assembly(name).await?;
    Ok(record.is_some_and(|record| created.is_none_or(|created| record.created == created)))
}

/// Reads the entries of the assemblies that had the name `name`, the latest last.
async fn read(store: &dyn Store, name: &AssemblyName) -> Result<Vec<Moved>, StoreError> {
    let Some(document) = store.document(&key(name)).await? else { return Ok(Vec::new()) };
    let moved = |body: Value| match document.version {
        1 => serde_json::from_value(body).map(|moved| vec![moved]),
        VERSION => serde_json::from_value(body).map(|Document { moved }| moved),
        // A newer version of windlass may have written this document in a newer format. This program can't read such
        // a document, and ignores it.
        _ => Ok(Vec::new()),
    };
    Ok(moved(document.body).unwrap_or_default())
}

fn draft(name: &AssemblyName, moved: Vec<Moved>) -> DocumentDraft {
    DocumentDraft {
        key: key(name),
        expected: Expected::Any,
        version: VERSION,
        body: serde_json::to_value(Document { moved }).expect("it is plain data"),
        secrets: None,
        packages: BTreeSet::new(),
    }
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

/// Returns the key of the [`Document`] for the old name `name`.
fn key(name: &AssemblyName) -> DocumentKey {
    DocumentKey {
        scope: DocumentScope::Project,
        kind: "moved".parse().expect("it is a valid kind"),
        name: name.as_str().parse().expect("the name of an assembly is one of a document"),
    }
}
