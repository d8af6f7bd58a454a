//! A driver that panics while it lists its settings.

use async_trait::async_trait;
use windlass::driver::{
    Call, Context, Driver, Failure, Found, Nature, Observed, Package, PackageProblem, Query, Report, Setting,
};
use windlass::model::Action;
use windlass::model::name::DriverKind;
use windlass::{Error, Settings, Windlass};

struct Broken;

#[async_trait]
impl Driver for Broken {
    fn kind(&self) -> DriverKind {
        "broken".parse().expect("valid")
    }

    fn family(&self) -> &'static str {
        "broken"
    }

    fn settings(&self) -> Vec<Setting> {
        panic!("no settings")
    }

    fn check(&self, _: &Package) -> Vec<PackageProblem> {
        Vec::new()
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        None
    }

    async fn perform(&self, _: &dyn Context, _: &[Call]) -> Vec<Result<Report, Failure>> {
        Vec::new()
    }

    async fn observe(&self, _: &dyn Context, _: &[Call]) -> Vec<Result<Observed, Failure>> {
        Vec::new()
    }

    async fn discover(&self, _: &dyn Context, _: &Query) -> Result<Vec<Found>, Failure> {
        Ok(Vec::new())
    }
}

/// The error names the panic, and not the key of the user.
#[test]
fn a_driver_that_panics_while_it_lists_its_settings_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version: 1\ndrivers:\n  broken: {url: https://cloud.example}\n";
    std::fs::write(folder.path().join("windlass.yaml"), text).unwrap();
    let error = Windlass::open(Settings::new(folder.path()).driver(Broken)).err().unwrap();
    let Error::Input(problems) = error else { panic!("{error}") };
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    let expected = "the driver `broken` panicked: no settings; please report this as a bug of the driver";
    assert_eq!(messages, [expected]);
}
