//! Requests for the daemon, as rows.

use rusqlite::{Connection, OptionalExtension};
use windlass_model::record::EventDraft;
use windlass_model::request::RequestRecord;
use windlass_model::{AssemblyName, RequestId, Timestamp};
use windlass_secret::Sensitive;

use super::fault::Outcome;
use super::leases;
use super::row::{records, to_json};
use crate::lease::LeasePolicy;
use crate::request::{self, TAKEN, asked_name};
use crate::seal::Seal;

/// Adds a request, and its event.
pub(super) fn submit(
    db: &Connection,
    seal: &Seal,
    record: &RequestRecord,
    asked: &Sensitive<Vec<u8>>,
) -> Outcome<()> {
    let sql = "INSERT INTO request (id, assembly, open, record, sealed) VALUES (?1, ?2, 1, ?3, ?4)";
    let sealed = seal.seal(&asked_name(record.id), asked)?;
    let id = record.id.0.cast_signed();
    db.prepare_cached(sql)?.execute((id, record.assembly.as_str(), to_json(record)?, sealed))?;
    event(db, &request::asked_event(record))
}

/// Adds a request that creates an assembly, and adds the event of the request. If the name of the assembly is taken,
/// adds nothing, and returns `false`.
pub(super) fn submit_new(
    db: &Connection,
    policy: &LeasePolicy<'_>,
    seal: &Seal,
    record: &RequestRecord,
    asked: &Sensitive<Vec<u8>>,
) -> Outcome<bool> {
    let is_taken = is_taken(db, &record.assembly)? || leases::holder(db, policy, &record.assembly)?.is_some();
    if !is_taken {
        submit(db, seal, record, asked)?;
    }
    Ok(!is_taken)
}

/// Tells whether an assembly or an open request has the name `name`.
pub(super) fn is_taken(db: &Connection, name: &AssemblyName) -> Outcome<bool> {
    Ok(db.prepare_cached(TAKEN)?.exists([name.as_str()])?)
}

/// Stores the final record of a request if the request is open. Tells whether it was open.
pub(super) fn end(db: &Connection, record: &RequestRecord) -> Outcome<bool> {
    let sql = "UPDATE request SET open = 0, record = ?3, sealed = NULL
        WHERE id = ?1 AND assembly = ?2 AND open = 1";
    let id = record.id.0.cast_signed();
    Ok(db.prepare_cached(sql)?.execute((id, record.assembly.as_str(), to_json(record)?))? == 1)
}

/// Withdraws a request if it is open, and returns the record of the request after this call.
pub(super) fn withdraw(db: &Connection, id: RequestId, now: Timestamp) -> Outcome<Option<RequestRecord>> {
    let Some(found) = find(db, id)? else { return Ok(None) };
    if !found.is_open() {
        return Ok(Some(found));
    }
    let (record, dismissed) = request::withdrawn(found, now);
    end(db, &record)?;
    event(db, &dismissed)?;
    Ok(Some(record))
}

pub(super) fn find(db: &Connection, id: RequestId) -> Outcome<Option<RequestRecord>> {
    let sql = "SELECT record FROM request WHERE id = ?1";
    Ok(records(&mut *db.prepare_cached(sql)?, [id.0.cast_signed()])?.pop())
}

/// Reads the open requests, oldest first.
pub(super) fn open(db: &Connection) -> Outcome<Vec<RequestRecord>> {
    records(&mut *db.prepare_cached("SELECT record FROM request WHERE open = 1 ORDER BY id")?, [])
}

/// Reads and decrypts the content of a request. Returns `None` if the request has ended or does not exist.
pub(super) fn asked(db: &Connection, seal: &Seal, id: RequestId) -> Outcome<Option<Sensitive<Vec<u8>>>> {
    let sql = "SELECT sealed FROM request WHERE id = ?1 AND sealed IS NOT NULL";
    let sealed: Option<Vec<u8>> =
        db.prepare_cached(sql)?.query_row([id.0.cast_signed()], |row| row.get(0)).optional()?;
    Ok(sealed.map(|sealed| seal.open(&asked_name(id), &sealed)).transpose()?)
}

pub(super) fn event(db: &Connection, draft: &EventDraft) -> Outcome<()> {
    let sql = "INSERT INTO event (assembly, record) VALUES (?1, ?2)";
    db.prepare_cached(sql)?.execute((draft.assembly.as_str(), to_json(draft)?))?;
    Ok(())
}
