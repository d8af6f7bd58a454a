//! The numbers of events, and the lock that orders all changes except changes of leases.

use tokio_postgres::GenericClient;
use windlass_model::Seq;

use super::fault::Outcome;

/// Locks the feed until the end of the transaction. A transaction that changes more than leases locks the
/// feed before all other rows. So only one machine at a time changes shared rows.
pub(super) async fn lock_feed(db: &impl GenericClient) -> Outcome<()> {
    db.query_one("SELECT last FROM feed FOR NO KEY UPDATE", &[]).await?;
    Ok(())
}

/// Reserves `events` numbers of the feed, and returns the last reserved number.
pub(super) async fn take_numbers(db: &impl GenericClient, events: usize) -> Outcome<Seq> {
    let row = if events == 0 {
        db.query_one("SELECT last FROM feed", &[]).await?
    } else {
        let events = i64::try_from(events).unwrap_or(i64::MAX);
        db.query_one("UPDATE feed SET last = last + $1 RETURNING last", &[&events]).await?
    };
    Ok(Seq(row.get::<_, i64>(0).cast_unsigned()))
}
