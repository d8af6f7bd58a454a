//! A future that reports the outcome of a batch.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use windlass_model::Seq;

use crate::error::StoreError;

/// A future that resolves once a batch is durable, to the number of the last event of the store.
///
/// If the caller drops the ticket, the batch is applied all the same, and only the caller does not learn the
/// outcome.
#[must_use = "a batch is durable only once its ticket has resolved with `Ok`"]
pub struct Ticket(BoxFuture<'static, Result<Seq, StoreError>>);

impl Ticket {
    /// Creates a ticket from a future that only waits for the outcome. The batch must be applied even if the
    /// future is not polled.
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
