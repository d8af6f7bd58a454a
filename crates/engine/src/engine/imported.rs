//! The exports that a store has imported. A store imports an export only once, because a second import would bring back
//! outdated records.
//!
//! The batch that imports an assembly also stores a document. The key of the document is the id of the export, so a
//! rename or a removal of the assembly does not change the document.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentScope, Expected};
use windlass_model::record::Event as Happening;
use windlass_model::{AssemblyName, Seq, Timestamp, TransferId};
use windlass_store::{Store, StoreError};

/// The version of the format of [`Imported`] in the store.
const VERSION: u32 = 1;

/// The number of events that are read at once.
const MANY: usize = 10_000;

/// The content of the document which records that an export was imported.
#[derive(Debug, Serialize, Deserialize)]
struct Imported {
    at: Timestamp,
}

/// Returns the document which records that the export `transfer` was imported at the time `at`.
pub(super) fn imported(transfer: &TransferId, at: Timestamp) -> DocumentDraft {
    DocumentDraft {
        key: key(transfer),
        expected: Expected::Any,
        version: VERSION,
        body: serde_json::to_value(Imported { at }).expect("it is plain data"),
        secrets: None,
        packages: BTreeSet::new(),
    }
}

/// Returns the time at which the export `transfer` was imported into a store; `None` if it was not imported. `name` is
/// the name of the assembly in the export.
pub(super) async fn time_of_import(
    store: &dyn Store,
    name: &AssemblyName,
    transfer: &TransferId,
) -> Result<Option<Timestamp>, StoreError> {
    let document = store.document(&key(transfer)).await?;
    let imported = document.and_then(|document| serde_json::from_value::<Imported>(document.body).ok());
    match imported {
        Some(imported) => Ok(Some(imported.at)),
        None => time_in_events(store, name, transfer).await,
    }
}

/// Searches the events of the assembly for the import. An earlier build of windlass recorded an import only as an event.
async fn time_in_events(
    store: &dyn Store,
    name: &AssemblyName,
    transfer: &TransferId,
) -> Result<Option<Timestamp>, StoreError> {
    let mut seen = Seq::START;
    loop {
        let events = store.events_of(name, seen, MANY).await?;
        let Some(last) = events.last() else { return Ok(None) };
        seen = last.seq;
        let same = events.iter().find(|event| {
            matches!(&event.draft.body, Happening::Imported { transfer: Some(of), .. } if of == transfer)
        });
        if let Some(event) = same {
            return Ok(Some(event.draft.at));
        }
    }
}

fn key(transfer: &TransferId) -> DocumentKey {
    DocumentKey {
        scope: DocumentScope::Project,
        kind: "imported".parse().expect("it is a valid kind"),
        name: transfer.as_str().parse().expect("the id of an export is a valid name of a document"),
    }
}
