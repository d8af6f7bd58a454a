//! Reads and writes the rows of requests. A request is an intent that is queued for the daemon.

use tokio_postgres::{GenericClient, Row};
use windlass_model::record::EventDraft;
use windlass_model::request::RequestRecord;
use windlass_model::{RequestId, Seq, Timestamp};
use windlass_secret::Sensitive;

use super::apply::{END_REQUEST, PUT_EVENT};
use super::fault::Outcome;
use super::feed::{lock_feed, take_numbers};
use super::leases;
use super::row::from_json;
use super::row::to_json;
use crate::lease::LeaseRules;
use crate::request::{self, TAKEN, asked_name};
use crate::seal::Seal;

/// Adds a request and its event. Returns the number of the event.
pub(super) async fn submit(
    db: &impl GenericClient,
    seal: &Seal,
    record: &RequestRecord,
    asked: &Sensitive<Vec<u8>>,
) -> Outcome<Seq> {
    lock_feed(db).await?;
    let sql = "INSERT INTO request (id, assembly, open, record, sealed) VALUES ($1, $2, TRUE, $3, $4)";
    let sealed = seal.seal(&asked_name(record.id), asked)?;
    let id = record.id.0.cast_signed();
    db.execute(sql, &[&id, &record.assembly.as_str(), &to_json(record)?, &sealed]).await?;
    event(db, &request::asked_event(record)).await
}

/// Adds a request that creates an assembly. Also adds the event of the request, and returns the number of the event. If
/// the name of the assembly is taken, adds nothing, and returns `None`. The lock of the feed keeps the name free until
/// the end of the transaction.
pub(super) async fn submit_new(
    db: &impl GenericClient,
    rules: &LeaseRules,
    seal: &Seal,
    record: &RequestRecord,
    asked: &Sensitive<Vec<u8>>,
) -> Outcome<Option<Seq>> {
    let holder = leases::locked_holder(db, rules, &record.assembly).await?;
    lock_feed(db).await?;
    if holder.is_some() || !db.query(TAKEN, &[&record.assembly.as_str()]).await?.is_empty() {
        return Ok(None);
    }
    submit(db, seal, record, asked).await.map(Some)
}

/// Withdraws a request if it is open. Returns the record of the request after this call. If this call has
/// withdrawn the request, also returns the number of the event that reports the withdrawal.
pub(super) async fn withdraw(
    db: &impl GenericClient,
    id: RequestId,
    now: Timestamp,
) -> Outcome<(Option<RequestRecord>, Option<Seq>)> {
    lock_feed(db).await?;
    let sql = "SELECT record FROM request WHERE id = $1 FOR UPDATE";
    let row = db.query_opt(sql, &[&id.0.cast_signed()]).await?;
    let Some(found) = row.map(|row| record(&row)).transpose()? else { return Ok((None, None)) };
    if !found.is_open() {
        return Ok((Some(found), None));
    }
    let (record, dismissed) = request::withdrawn(found, now);
    let end: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&id.0.cast_signed(), &record.assembly.as_str(), &to_json(&record)?];
    db.execute(END_REQUEST, &end).await?;
    let seq = event(db, &dismissed).await?;
    Ok((Some(record), Some(seq)))
}

pub(super) async fn find(db: &impl GenericClient, id: RequestId) -> Outcome<Option<RequestRecord>> {
    let row = db.query_opt("SELECT record FROM request WHERE id = $1", &[&id.0.cast_signed()]).await?;
    row.map(|row| record(&row)).transpose()
}

/// Reads the open requests, oldest first.
pub(super) async fn open(db: &impl GenericClient) -> Outcome<Vec<RequestRecord>> {
    let rows = db.query("SELECT record FROM request WHERE open ORDER BY id", &[]).await?;
    rows.iter().map(record).collect()
}

/// Reads and decrypts the content of a request. Returns `None` if the request has ended or does not exist.
pub(super) async fn asked(
    db: &impl GenericClient,
    seal: &Seal,
    id: RequestId,
) -> Outcome<Option<Sensitive<Vec<u8>>>> {
    let sql = "SELECT sealed FROM request WHERE id = $1 AND sealed IS NOT NULL";
    let row = db.query_opt(sql, &[&id.0.cast_signed()]).await?;
    Ok(row.map(|row| seal.open(&asked_name(id), row.get(0))).transpose()?)
}

fn record(row: &Row) -> Outcome<RequestRecord> {
    from_json(row.get(0))
}

async fn event(db: &impl GenericClient, draft: &EventDraft) -> Outcome<Seq> {
    let seq = take_numbers(db, 1).await?;
    let number = seq.0.cast_signed();
    db.execute(PUT_EVENT, &[&number, &draft.assembly.as_str(), &to_json(draft)?]).await?;
    Ok(seq)
}
