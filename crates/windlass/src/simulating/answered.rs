//! The simulated outputs of scripts. The file of answers determines these outputs, and the scripts themselves do not
//! run. The driver reads a simulated output like the output of a real run.

use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_driver::Call;
use windlass_executor::{Captured, End, Outcome};
use windlass_model::Timestamp;

use super::rules::{Instance, Rule, Says, Script, command_of, of_call, success, text_of_call};

/// The simulated output of a script. The file of answers determines this output, and the script itself does not run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Printout {
    stdout: String,
    /// The message of a script that fails; `None` if the script succeeds.
    failure: Option<String>,
    takes: Duration,
}

impl Printout {
    /// Returns the output that a rule gives for a call of a script. Without a rule, the script succeeds.
    pub(super) fn of_call(rule: Option<&Rule>, script: &Script, call: &Call, name: &str) -> Self {
        Self::of_calls(&[(rule, call, name)], script)
    }

    /// Returns the output of one run of a script for several calls. `calls` contains each call with its rule and
    /// the name of its application.
    ///
    /// Usually, the output contains one entry for each call. But a rule may also contain a failure ([`Says::Fail`])
    /// or a whole output ([`Says::Stdout`]). In this case, the first such rule in `calls` determines the whole
    /// output.
    pub(super) fn of_calls(calls: &[(Option<&Rule>, &Call, &str)], script: &Script) -> Self {
        let takes =
            calls.iter().filter_map(|(rule, ..)| Some(rule.as_ref()?.takes)).max().unwrap_or_default();
        let mut instances = Map::new();
        for (rule, call, name) in calls {
            let standard = Instance::default();
            match rule.map(|rule| &rule.says) {
                Some(Says::Fail(why)) => {
                    return Self { failure: Some(why.clone()), takes, ..Self::default() };
                }
                Some(Says::Stdout(text)) => {
                    return Self { stdout: text_of_call(text, call, name), takes, failure: None };
                }
                Some(Says::Instance(instance)) => instances.extend([entry(instance, script, call, name)]),
                _ => instances.extend([entry(&standard, script, call, name)]),
            }
        }
        Self { stdout: json!({"instances": instances}).to_string(), failure: None, takes }
    }

    /// Returns the outcome of a job whose script printed `self`, and the duration of the job. If the script takes
    /// `timeout` or longer, the outcome is a timeout.
    pub(super) fn outcome(&self, timeout: Duration, now: Timestamp) -> (Outcome, Duration) {
        let end = match &self.failure {
            _ if self.takes >= timeout => End::TimedOut,
            Some(_) => End::Exited(1),
            None => End::Exited(0),
        };
        let ended = u64::try_from(now.as_millis()).unwrap_or(0);
        let mut outcome = Outcome::new(end, windlass_executor::Timestamp::from_millis(ended));
        outcome.stdout = Captured::whole(self.stdout.as_bytes());
        outcome.stderr = Captured::whole(self.failure.clone().unwrap_or_default());
        (outcome, timeout.min(self.takes))
    }

    /// Returns the output that a rule gives for a discovery. Without a rule, the discovery finds no instance.
    pub(super) fn of_discovery(rule: Option<&Rule>) -> Self {
        let takes = rule.map(|rule| rule.takes).unwrap_or_default();
        match rule.map(|rule| &rule.says) {
            Some(Says::Fail(why)) => Self { failure: Some(why.clone()), takes, ..Self::default() },
            Some(Says::Stdout(text)) => Self { stdout: text.clone(), takes, failure: None },
            Some(Says::Instances(instances)) => {
                Self { stdout: json!({"instances": instances}).to_string(), takes, failure: None }
            }
            _ => Self { takes, ..Self::default() },
        }
    }
}

/// Creates the entry for the instance of `call` in a simulated output. The entry consists of the id under which the
/// script reports the instance, and the update of the instance. `instance` is the answer from the file of answers.
/// `name` is the name of the application.
fn entry(instance: &Instance, script: &Script, call: &Call, name: &str) -> (String, Value) {
    let mut update = match &instance.update {
        Some(update) => of_call(update, call, name),
        None => success(script),
    };
    let id = match (script, &instance.id) {
        (Script::Launch, Some(id)) => text_of_call(id, call, name),
        (Script::Launch, None) => name.to_owned(),
        // The id under which the driver knows the instance.
        _ => call.natural.clone().unwrap_or_else(|| call.instance.to_string()),
    };
    if *script == Script::Launch && update.get("instanceId").is_none() {
        update["instanceId"] = call.instance.as_str().into();
    }
    let is_plain_command = matches!(script, Script::Command(_)) && instance.update.is_none();
    let results = instance.results.clone().or_else(|| is_plain_command.then(|| vec![json!({})]));
    if let Some(results) = results.filter(|results| !results.is_empty()) {
        update["$pushAll"][format!("commands.{}", command_of(call))] = results.into();
    }
    (id, update)
}

/// Returns the update that a health check reports about an instance.
pub(super) fn check_update(instance: &Instance, call: &Call, name: &str) -> Value {
    entry(instance, &Script::HealthCheck, call, name).1
}
