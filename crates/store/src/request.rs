//! What all stores do alike with intents that are left for another process.

use windlass_model::record::{Event, EventDraft};
use windlass_model::request::{RequestRecord, RequestStatus};
use windlass_model::{RequestId, Timestamp};
use windlass_secret::SecretRef;

/// The name under which it is sealed what exactly a request asks.
pub(crate) fn asked_name(id: RequestId) -> SecretRef {
    format!("windlass/{id}").parse().expect("a word and a number have no strange character")
}

/// The event of a new request.
pub(crate) fn asked_event(request: &RequestRecord) -> EventDraft {
    let RequestRecord { id, intent, by, .. } = request;
    let body = Event::Asked { request: *id, intent: intent.clone(), by: by.clone() };
    EventDraft { at: request.created, assembly: request.assembly.clone(), process: None, body }
}

/// A request as it is when it was taken back, and the event of that.
pub(crate) fn withdrawn(request: RequestRecord, at: Timestamp) -> (RequestRecord, EventDraft) {
    let body = Event::Dismissed { request: request.id, intent: request.intent.clone(), why: None };
    let event = EventDraft { at, assembly: request.assembly.clone(), process: None, body };
    (RequestRecord { status: RequestStatus::Withdrawn, ..request }, event)
}
