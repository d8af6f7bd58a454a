//! Test cases of packages: the input of one call, and its expected result.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_model::record::{Failure, FailureKind};
use windlass_model::resolve::Resolved;
use windlass_model::{Action, InstanceId, PropertyName};

use crate::call::{Call, PrivateState, Question, Report, Settled};
use crate::contract::{Context, Driver, Purpose, Query};
use crate::location::Location;
use crate::package::{Binding, Package};

/// The input of a call.
///
/// ```
/// use windlass_driver::case::CaseInput;
///
/// let input: CaseInput = serde_json::from_str(r#"{"id": "vm-17", "properties": {"size": 3}}"#)?;
/// assert_eq!(input.id.as_deref(), Some("vm-17"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaseInput {
    /// The natural id of the instance; `None` if the action creates the instance, because the id is then not known yet.
    pub id: Option<String>,
    /// The properties of the component. For a search: the properties that an instance must have.
    pub properties: BTreeMap<PropertyName, Value>,
    /// Further properties, whose values are secret.
    pub secrets: BTreeMap<PropertyName, Value>,
    /// The arguments of an operation or command.
    pub arguments: BTreeMap<PropertyName, Value>,
    /// The properties of the location.
    pub location: BTreeMap<String, Value>,
    /// The instance document before the call. Default: empty.
    pub document: BTreeMap<String, Value>,
}

/// The request that a [test case](self) makes to a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseAction {
    /// The driver performs an action.
    Perform(Action),
    /// The driver searches for existing instances.
    Discover,
}

/// The result of a [test case](self). Its serialised form is the value of `expect` in the file of the test case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaseResult {
    /// The failure of the call; `None` if the call has succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CaseError>,
    /// The natural id, if the driver has reported one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The updates of the instance document, in their JSON form; null for no update.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub updates: Value,
    /// The condition of the instance after the call: [`Settled::Converging`] or [`Settled::Gone`]. `None` stands
    /// for [`Settled::Yes`], so that most test cases need no key `settled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    /// The entries for the activity log, each in the form `SEVERITY: MESSAGE`, such as `INFO: installed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// The instances that a search has found: their properties by natural id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<String, BTreeMap<String, Value>>,
}

/// The failure of a test case's call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseError {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// The message of the failure.
    pub message: String,
    /// Details of the failure. They may differ between machines, so they are not compared.
    #[serde(skip)]
    pub detail: Option<String>,
}

/// The instance id in every test case. The id is constant, so that a script that creates an instance has the same
/// result each time.
pub const INSTANCE: &str = "case";

impl CaseInput {
    /// Runs the test case with a driver. The location properties of the test case replace the properties of
    /// `location`.
    ///
    /// # Errors
    /// Returns an error if the package does not declare the action for the driver. If the call fails, the failure
    /// is part of the result, and `run` returns no error.
    pub async fn run(
        &self,
        driver: &dyn Driver,
        context: &dyn Context,
        package: Arc<Package>,
        action: &CaseAction,
        location: Location,
    ) -> Result<CaseResult, String> {
        let location = Arc::new(Location { properties: self.location.clone(), ..location });
        let undeclared = |what: &str| {
            format!("`{}` declares no {what} for the driver `{}`", package.name(), driver.kind())
        };
        match action {
            CaseAction::Perform(action) => {
                let binding = package.bindings().of_driver(driver.kind().as_str(), action);
                let binding = binding.ok_or_else(|| undeclared(action.as_str()))?.clone();
                let call = self.call(action.clone(), package.clone(), binding, location);
                let mut results = driver.perform(context, &[call]).await;
                Ok(results.pop().map_or_else(CaseResult::default, CaseResult::of))
            }
            CaseAction::Discover => {
                let mut queries = package.bindings().queries.iter();
                let binding = queries.find(|binding| binding.driver == driver.kind());
                let binding = binding.ok_or_else(|| undeclared("`queries`"))?.clone();
                let properties =
                    self.properties.iter().map(|(name, value)| (name.to_string(), value.clone()));
                let query = Query {
                    binding,
                    configuration: location.configuration(),
                    location,
                    properties: properties.collect(),
                    package: package.clone(),
                    purpose: Purpose::Reference,
                };
                let found = driver.discover(context, &query).await;
                Ok(match found {
                    Ok(found) => CaseResult {
                        found: found.into_iter().map(|found| (found.natural, found.properties)).collect(),
                        ..CaseResult::default()
                    },
                    Err(failure) => CaseResult::failed(failure),
                })
            }
        }
    }

    fn call(&self, action: Action, package: Arc<Package>, binding: Binding, location: Arc<Location>) -> Call {
        let plain = |values: &BTreeMap<PropertyName, Value>| -> BTreeMap<PropertyName, Resolved> {
            values.iter().map(|(name, value)| (name.clone(), Resolved::plain(value.clone()))).collect()
        };
        let mut properties = plain(&self.properties);
        let secret = |value: &Value| Resolved { value: value.clone(), sensitive: true };
        properties.extend(self.secrets.iter().map(|(name, value)| (name.clone(), secret(value))));
        Call {
            id: "case-p1-s1-c1".parse().expect("it has the form of an id"),
            attempt: 1,
            action,
            element: "case__part".parse().expect("it has the form of a name"),
            instance: INSTANCE.parse::<InstanceId>().expect("it has the form of an id"),
            natural: self.id.clone(),
            document: json!(self.document),
            properties,
            sensitive: self.secrets.keys().cloned().collect(),
            configuration: location.configuration(),
            arguments: plain(&self.arguments),
            pair: None,
            open_commands: Vec::new(),
            question: Question::Health,
            private: PrivateState::default(),
            binding,
            package,
            location,
        }
    }
}

impl CaseResult {
    fn of(result: Result<Report, Failure>) -> Self {
        match result {
            Ok(report) => Self {
                id: report.natural,
                updates: report.updates,
                settled: (report.settled != Settled::Yes).then_some(report.settled),
                log: report
                    .log
                    .iter()
                    .map(|entry| format!("{}: {}", entry.severity, entry.message))
                    .collect(),
                ..Self::default()
            },
            Err(failure) => Self::failed(failure),
        }
    }

    fn failed(failure: Failure) -> Self {
        let Failure { kind, message, detail } = failure;
        Self { error: Some(CaseError { kind, message, detail }), ..Self::default() }
    }

    /// Tells whether the result is the expected one. Details of a failure are not compared.
    pub fn matches(&self, expected: &Self) -> bool {
        let comparable = |result: &Self| {
            let mut result = result.clone();
            if let Some(error) = &mut result.error {
                error.detail = None;
            }
            result
        };
        comparable(self) == comparable(expected)
    }
}
