//! Functions that all kinds of stores use. The functions are about requests, documents and natural ids.

use windlass_model::document::DocumentKey;
use windlass_model::record::{Event, EventDraft};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{AssemblyName, RequestId, Timestamp};
use windlass_secret::SecretRef;

use crate::error::StoreError;

/// The query that finds a row if a name is taken. Parameter 1 is the name. The name is taken if an assembly has this
/// name, or if an open request is about an assembly of this name.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) const TAKEN: &str = "SELECT 1 FROM assembly WHERE name = $1
    UNION SELECT 1 FROM request WHERE assembly = $1 AND open";

/// Returns the name under which the content of a request is sealed.
pub(crate) fn asked_name(id: RequestId) -> SecretRef {
    format!("windlass/{id}").parse().expect("a word and a number have no strange character")
}

/// Returns the name under which the secret part of a document is sealed.
pub(crate) fn document_name(key: &DocumentKey) -> SecretRef {
    let name = format!("document/{}/{}/{}", key.scope.as_str(), key.kind, key.name);
    name.parse().expect("the names have no strange character and at most 50 characters")
}

/// Returns the error of [`claim`](crate::Store::claim) for an assembly that does not exist or has no owner.
pub(crate) fn no_owner(scope: &AssemblyName) -> StoreError {
    StoreError::Refused {
        scope: scope.clone(),
        reason: "it has no owner to claim a natural id from".to_owned(),
    }
}

/// Returns the event for a new request.
pub(crate) fn asked_event(request: &RequestRecord) -> EventDraft {
    let RequestRecord { id, intent, application, by, .. } = request;
    let (intent, application) = (intent.clone(), *application);
    let body = Event::Asked { request: *id, intent, application, by: by.clone() };
    EventDraft { at: request.created, assembly: request.assembly.clone(), process: None, body }
}

/// Returns the record of a withdrawn request, and the event for the withdrawal.
pub(crate) fn withdrawn(request: RequestRecord, at: Timestamp) -> (RequestRecord, EventDraft) {
    let (intent, application) = (request.intent.clone(), request.application);
    let body = Event::Dismissed { request: request.id, intent, application, why: None };
    let event = EventDraft { at, assembly: request.assembly.clone(), process: None, body };
    (RequestRecord { status: RequestStatus::Withdrawn, ..request }, event)
}
