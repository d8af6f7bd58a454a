//! Request handling that all stores share.

use windlass_model::record::{Event, EventDraft};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{RequestId, Timestamp};
use windlass_secret::SecretRef;

/// Returns the name under which the content of a request is sealed.
pub(crate) fn asked_name(id: RequestId) -> SecretRef {
    format!("windlass/{id}").parse().expect("a word and a number have no strange character")
}

/// Returns the event for a new request.
pub(crate) fn asked_event(request: &RequestRecord) -> EventDraft {
    let RequestRecord { id, intent, by, .. } = request;
    let body = Event::Asked { request: *id, intent: intent.clone(), by: by.clone() };
    EventDraft { at: request.created, assembly: request.assembly.clone(), process: None, body }
}

/// Returns the record of a withdrawn request, and the event for the withdrawal.
pub(crate) fn withdrawn(request: RequestRecord, at: Timestamp) -> (RequestRecord, EventDraft) {
    let body = Event::Dismissed { request: request.id, intent: request.intent.clone(), why: None };
    let event = EventDraft { at, assembly: request.assembly.clone(), process: None, body };
    (RequestRecord { status: RequestStatus::Withdrawn, ..request }, event)
}
