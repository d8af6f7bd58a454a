//! The driver that does nothing: for parts that exist only to be related, and for measuring.

use async_trait::async_trait;
use windlass_model::Action;
use windlass_model::name::DriverKind;
use windlass_model::record::Failure;
use windlass_source::Diagnostic;

use crate::call::{Call, Observation, Observed, Report};
use crate::contract::{Context, Driver, Found, Nature, Query};
use crate::package::Package;

/// Does nothing, at once, for every action.
#[derive(Debug, Clone, Copy, Default)]
pub struct Noop;

#[async_trait]
impl Driver for Noop {
    fn kind(&self) -> DriverKind {
        "noop".parse().expect("a driver's kind is a word")
    }

    fn family(&self) -> &'static str {
        "noop"
    }

    fn check(&self, _: &Package) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        None
    }

    async fn perform(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        calls.iter().map(|_| Ok(Report::settled())).collect()
    }

    async fn observe(&self, _: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        let reached = || Observed { observation: Observation::Reached, report: Report::settled() };
        calls.iter().map(|_| Ok(reached())).collect()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        Ok(Vec::new())
    }
}
