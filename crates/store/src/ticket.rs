//! A future that reports the outcome of a batch.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use windlass_model::Seq;

use crate::error::StoreError;

/// A future that resolves when a batch is durable, or when the store has failed to store the batch. If the batch
/// was applied, `Ok` contains the number of the store's last event at that moment. `Err` contains the reason why the
/// batch was not applied, or says that the outcome is unknown.
///
/// The store applies the batch even if the caller drops the ticket. The caller then gets no result.
#[must_use = "a batch is durable only once its ticket has resolved with `Ok`"]
pub struct Ticket(BoxFuture<'static, Result<Seq, StoreError>>);

impl Ticket {
    /// Creates a ticket from a future that waits for the result of a batch. The future must not apply the batch
    /// itself, because a caller may drop the ticket and never poll the future.
    pub fn new(outcome: impl Future<Output = Result<Seq, StoreError>> + Send + 'static) -> Self {
        Self(Box::pin(outcome))
    }

    /// Creates a ticket that has already resolved.
    pub fn ready(outcome: Result<Seq, StoreError>) -> Self {
        Self::new(std::future::ready(outcome))
    }
}

impl Future for Ticket {
    type Output = Result<Seq, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}
