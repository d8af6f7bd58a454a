//! Drivers that panic while they describe themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_driver::properties::unknown;
use windlass_driver::{
    Bindings, Call, Context, Driver, Failure, Found, Nature, Observed, Package, PackageProblem, Query,
    Registry, Report, Setting, SettingError,
};
use windlass_model::Action;
use windlass_model::name::DriverKind;

struct Panicking;

#[async_trait]
impl Driver for Panicking {
    fn kind(&self) -> DriverKind {
        "panicking".parse().expect("valid")
    }

    fn family(&self) -> &'static str {
        "panicking"
    }

    fn properties(&self) -> Vec<Setting> {
        panic!("no properties")
    }

    fn settings(&self) -> Vec<Setting> {
        panic!("no settings")
    }

    fn configured(
        &self,
        _: &BTreeMap<String, serde_json::Value>,
    ) -> Result<Option<Arc<dyn Driver>>, Vec<SettingError>> {
        panic!("no configuration")
    }

    fn check(&self, _: &Package) -> Vec<PackageProblem> {
        panic!("no check")
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

/// A panic of a driver must not end the program that has registered the driver.
#[test]
fn a_registered_driver_does_not_panic_while_it_describes_itself() {
    let drivers = Registry::new().with(Panicking);
    let driver = drivers.get(&Panicking.kind()).unwrap();
    assert_eq!((driver.kind(), driver.family()), (Panicking.kind(), "panicking"));
    assert_eq!((driver.properties(), driver.settings()), (vec![], vec![]));
    for (listed, why) in [
        (drivers.properties(&Panicking.kind()), "no properties"),
        (drivers.settings(&Panicking.kind()), "no settings"),
    ] {
        let expected =
            format!("the driver `panicking` panicked: {why}; please report this as a bug of the driver");
        assert_eq!(listed.unwrap_err(), expected);
    }
    let problem = unknown(&drivers, &Panicking.kind(), "url").unwrap();
    assert_eq!(problem.code, windlass_driver::codes::PANIC);
    let problems = driver.configured(&BTreeMap::new()).map(|_| ()).unwrap_err();
    assert_eq!(
        problems[0].message,
        "the driver `panicking` panicked: no configuration; please report this as a bug of the driver"
    );
    let package = Package::new("resource::r::1.0".parse().unwrap(), Bindings::default(), Vec::new());
    let problems = driver.check(&package);
    assert_eq!(
        problems[0].to_string(),
        "error[WL0453]: the driver `panicking` panicked: no check; please report this as a bug of the driver"
    );
}
