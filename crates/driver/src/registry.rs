//! The registry of drivers. A panic of a registered driver does not end the program that has registered the driver.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use windlass_model::name::DriverKind;
use windlass_model::record::Failure;
use windlass_model::{Action, CommandName};
use windlass_source::Diagnostic;

use crate::call::{Call, Observed, Report};
use crate::codes;
use crate::contract::{Context, Driver, Found, Nature, Query};
use crate::keys::{Setting, SettingError};
use crate::location::Location;
use crate::package::Package;
use crate::problem::PackageProblem;
use crate::program::NeededProgram;

/// The available drivers, by kind.
#[derive(Clone, Default)]
pub struct Registry {
    drivers: BTreeMap<DriverKind, Entry>,
}

/// A registered driver, once as the type of this module and once for callers.
#[derive(Clone)]
struct Entry {
    registered: Arc<Registered>,
    driver: Arc<dyn Driver>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a driver under its kind. The driver is asked for its [kind](Driver::kind) and its
    /// [family](Driver::family) only here.
    #[must_use]
    pub fn with(self, driver: impl Driver + 'static) -> Self {
        self.with_shared(Arc::new(driver))
    }

    /// Adds a shared driver under its kind.
    #[must_use]
    pub fn with_shared(mut self, driver: Arc<dyn Driver>) -> Self {
        let registered = Arc::new(Registered::new(driver));
        let driver: Arc<dyn Driver> = registered.clone();
        self.drivers.insert(driver.kind(), Entry { registered, driver });
        self
    }

    /// Returns the driver of a kind, if it is available.
    pub fn get(&self, kind: &DriverKind) -> Option<&Arc<dyn Driver>> {
        self.drivers.get(kind).map(|entry| &entry.driver)
    }

    /// Returns the [settings](Driver::settings) of a driver; none if no driver of this kind is available.
    ///
    /// # Errors
    /// The driver panicked. The error is a message for the user. The method `settings` of the driver itself returns an
    /// empty list in this case, so that each setting would be an unknown one.
    pub fn settings(&self, kind: &DriverKind) -> Result<Vec<Setting>, String> {
        self.drivers
            .get(kind)
            .map_or(Ok(Vec::new()), |entry| entry.registered.asked(|driver| driver.settings()))
    }

    /// Returns the [properties](Driver::properties) of a driver; none if no driver of this kind is available.
    ///
    /// # Errors
    /// Those of [`settings`](Self::settings).
    pub fn properties(&self, kind: &DriverKind) -> Result<Vec<Setting>, String> {
        let of = |entry: &Entry| entry.registered.asked(|driver| driver.properties());
        self.drivers.get(kind).map_or(Ok(Vec::new()), of)
    }

    /// Returns the drivers, sorted by kind.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Driver>> {
        self.drivers.values().map(|entry| &entry.driver)
    }

    /// Returns the available kinds, sorted.
    pub fn kinds(&self) -> impl Iterator<Item = &DriverKind> {
        self.drivers.keys()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.kinds()).finish()
    }
}

/// A driver whose kind and family are known. The driver is asked for both only once.
///
/// If the driver panics while it describes itself or checks a package, the panic becomes a problem or a warning. A panic
/// in any other method is a failure of one call or search, so the engine handles it.
struct Registered {
    kind: DriverKind,
    family: &'static str,
    driver: Arc<dyn Driver>,
}

impl Registered {
    fn new(driver: Arc<dyn Driver>) -> Self {
        Self { kind: driver.kind(), family: driver.family(), driver }
    }

    /// Calls the closure `ask`, which asks the driver for information.
    ///
    /// # Errors
    /// The driver panicked. The error is a message for the user.
    fn asked<T>(&self, ask: impl FnOnce(&dyn Driver) -> T) -> Result<T, String> {
        catch_unwind(AssertUnwindSafe(|| ask(&*self.driver))).map_err(|panic| {
            let why = panic_text(&*panic);
            format!("the driver `{}` panicked: {why}; please report this as a bug of the driver", self.kind)
        })
    }

    /// Asks the driver for a list. If the driver panics, the list is empty.
    fn listed<T>(&self, ask: impl FnOnce(&dyn Driver) -> Vec<T>) -> Vec<T> {
        self.asked(ask).unwrap_or_else(|message| {
            tracing::warn!("{message}");
            Vec::new()
        })
    }
}

/// Returns the message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}

#[async_trait]
impl Driver for Registered {
    fn kind(&self) -> DriverKind {
        self.kind.clone()
    }

    fn family(&self) -> &'static str {
        self.family
    }

    fn properties(&self) -> Vec<Setting> {
        self.listed(|driver| driver.properties())
    }

    fn settings(&self) -> Vec<Setting> {
        self.listed(|driver| driver.settings())
    }

    fn configured(
        &self,
        settings: &BTreeMap<String, Value>,
    ) -> Result<Option<Arc<dyn Driver>>, Vec<SettingError>> {
        let refused = |message| Err(vec![SettingError { key: "", message }]);
        self.asked(|driver| driver.configured(settings)).unwrap_or_else(refused)
    }

    fn check(&self, package: &Package) -> Vec<PackageProblem> {
        let panicked = |message| vec![Diagnostic::error(codes::PANIC, message).into()];
        self.asked(|driver| driver.check(package)).unwrap_or_else(panicked)
    }

    fn programs(&self, package: &Package, location: &Location) -> Vec<NeededProgram> {
        self.listed(|driver| driver.programs(package, location))
    }

    fn nature(&self, package: &Package, action: &Action) -> Option<Nature> {
        self.driver.nature(package, action)
    }

    fn late_results(&self, package: &Package, command: &CommandName) -> Option<Duration> {
        self.driver.late_results(package, command)
    }

    fn keeps(&self, old: &Package, new: &Package) -> bool {
        self.driver.keeps(old, new)
    }

    fn users(&self, package: &Package, path: &str) -> Option<Vec<Action>> {
        self.driver.users(package, path)
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        self.driver.perform(context, calls).await
    }

    async fn observe(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        self.driver.observe(context, calls).await
    }

    async fn discover(&self, context: &dyn Context, query: &Query) -> Result<Vec<Found>, Failure> {
        self.driver.discover(context, query).await
    }
}
