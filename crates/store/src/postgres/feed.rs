//! The single row of the table `feed`. The row contains the number of the last event. A transaction that
//! changes an assembly, a request or a document locks this row before all other rows, except the rows of its
//! leases. So only one such transaction runs at a time.

use tokio_postgres::GenericClient;
use windlass_model::Seq;

use super::fault::Outcome;

/// Locks the feed until the end of the transaction. A transaction that changes an assembly, a request or a
/// document locks the rows of its leases, then the feed, and then all other rows. So only one such
/// transaction runs at a time, on all machines together.
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
