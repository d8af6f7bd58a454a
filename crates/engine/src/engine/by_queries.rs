//! Adopts existing instances of resources whose descriptors have the section `queries`. This section names a
//! driver. The driver searches for existing instances, and the engine adopts the instance that the driver finds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use windlass_driver::{
    Call, Context, Driver, Found, Nature, Observed, Package, PackageProblem, Purpose, Query, Report, texts,
};
use windlass_model::instance::OUTPUTS;
use windlass_model::name::DriverKind;
use windlass_model::record::{Effect, Failure, FailureKind};
use windlass_model::{Action, PropertyName};

/// The maximum duration of a search.
pub(super) const LONGEST: Duration = Duration::from_secs(600);

/// A driver that adopts existing instances, but only of resources that declare `queries` and do not declare the
/// transition Adopt. To find an instance, `ByQueries` uses the driver that it contains.
pub(crate) struct ByQueries(pub(crate) Arc<dyn Driver>);

#[async_trait]
impl Driver for ByQueries {
    fn kind(&self) -> DriverKind {
        self.0.kind()
    }

    fn family(&self) -> &'static str {
        self.0.family()
    }

    fn check(&self, package: &Package) -> Vec<PackageProblem> {
        self.0.check(package)
    }

    fn nature(&self, _: &Package, _: &Action) -> Option<Nature> {
        Some(Nature {
            effect: Effect::Repeatable,
            observable: false,
            batch: None,
            timeout: LONGEST,
            names: true,
        })
    }

    async fn perform(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Report, Failure>> {
        let mut reports = Vec::with_capacity(calls.len());
        for call in calls {
            reports.push(self.find(context, call).await);
        }
        reports
    }

    async fn observe(&self, context: &dyn Context, calls: &[Call]) -> Vec<Result<Observed, Failure>> {
        self.0.observe(context, calls).await
    }

    async fn discover(&self, context: &dyn Context, query: &Query) -> Result<Vec<Found>, Failure> {
        self.0.discover(context, query).await
    }
}

impl ByQueries {
    /// Searches for an instance with the properties of a call. Exactly one instance must match.
    async fn find(&self, context: &dyn Context, call: &Call) -> Result<Report, Failure> {
        let given = call.properties.iter().filter(|(_, input)| !input.value.is_null());
        let query = Query {
            package: call.package.clone(),
            binding: call.binding.clone(),
            location: call.location.clone(),
            configuration: call.configuration.clone(),
            properties: given.map(|(name, input)| (name.to_string(), input.value.clone())).collect(),
            purpose: Purpose::Reference,
        };
        let mut found = self.0.discover(context, &query).await?;
        context.hide(&secrets(&found, &call.sensitive));
        match (found.pop(), found.len()) {
            (Some(only), 0) => Ok(adopted(only)),
            (None, _) => Err(Failure::new(
                FailureKind::NotFound,
                "`queries` found no matching instance; check that it exists",
            )),
            (Some(last), _) => {
                let ids: Vec<String> =
                    found.iter().chain([&last]).map(|thing| format!("`{}`", thing.natural)).collect();
                let message = format!(
                    "`queries` found {} matching instances: {}; set more of its properties",
                    ids.len(),
                    ids.join(", ")
                );
                Err(Failure::new(FailureKind::Refused, message))
            }
        }
    }
}

/// Returns the texts of the sensitive properties of found instances. `sensitive` contains the names of these properties.
fn secrets(found: &[Found], sensitive: &BTreeSet<PropertyName>) -> Vec<String> {
    let properties = found.iter().flat_map(|found| &found.properties);
    let is_sensitive = |name: &str| sensitive.iter().any(|property| property.as_str() == name);
    let secret = properties.filter(|(name, _)| is_sensitive(name)).flat_map(|(_, value)| texts(value));
    secret.filter(|text| !text.is_empty()).collect()
}

fn adopted(found: Found) -> Report {
    let published = found.properties.into_iter().map(|(name, value)| {
        let key = name.replace('\\', r"\\").replace('.', r"\.");
        (format!("interfaces.{OUTPUTS}.signals.{key}"), value)
    });
    let published: Map<String, Value> = published.collect();
    let updates = if published.is_empty() { Value::Null } else { json!({ "$set": published }) };
    Report { natural: Some(found.natural), updates, ..Report::settled() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_sensitive_properties_of_found_instances_are_secret() {
        let properties = json!({"token": "hunter2", "keys": ["k-1", ""], "port": "8080"});
        let properties: BTreeMap<String, Value> = serde_json::from_value(properties).unwrap();
        let sensitive = ["token", "keys"].map(|name| name.parse().unwrap()).into();
        let mut secrets = secrets(&[Found::new("i-1", properties)], &sensitive);
        secrets.sort();
        assert_eq!(secrets, ["hunter2", "k-1"]);
    }
}
