//! What stands for a batch until it is durable.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use windlass_model::Seq;

use crate::error::StoreError;

/// A future that resolves once a batch is durable, with the number of the last event so far.
///
/// Dropping it changes nothing: the batch is applied all the same, only its outcome stays unknown.
#[must_use = "a batch is durable only once its ticket has resolved with `Ok`"]
pub struct Ticket(BoxFuture<'static, Result<Seq, StoreError>>);

impl Ticket {
    /// Makes a ticket of a future that only waits; the work must not depend on its being polled.
    pub fn new(outcome: impl Future<Output = Result<Seq, StoreError>> + Send + 'static) -> Self {
        Self(Box::pin(outcome))
    }

    /// Makes a ticket that has resolved already.
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
