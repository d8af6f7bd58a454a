//! Checks the updates that drivers report, and applies them to instance documents.

use serde_json::Value;
use windlass_update_ops::{Op, Path, Shape, Update};

use crate::id::CommandId;
use crate::instance::{InstanceView, LogEntry, OUTPUTS, take_log};
use crate::record::{Failure, FailureKind};
use crate::resolve::MAX_VALUE;

/// The data that [`accept`] takes out of the updates of a report. The instance document does not contain this
/// data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accepted {
    /// The entries for the activity log.
    pub log: Vec<LogEntry>,
    /// The results of open commands.
    pub results: Vec<(CommandId, Vec<Value>)>,
}

/// Maximum length of a natural id in bytes. A database index limits the length of its entries to a similar value.
const LONGEST_NATURAL: usize = 2048;

/// Returns the reason why a text can't be a natural id, such as `is empty`; `None` for a valid natural id. The reason
/// does not contain the text.
///
/// A natural id is the id of an instance outside of windlass. The id must have no line break, because messages and
/// lists show the id in one line.
pub fn natural_id_problem(natural: &str) -> Option<String> {
    if natural.is_empty() {
        return Some("is empty".to_owned());
    }
    if natural.contains(char::is_control) {
        return Some("contains a control character".to_owned());
    }
    (natural.len() > LONGEST_NATURAL).then(|| format!("is longer than {LONGEST_NATURAL} bytes"))
}

/// Applies the updates of a report to an instance document. The updates are in their JSON form, and are
/// checked against the shape of the document. A script cannot change a document in any other way.
///
/// `is_open` tells whether a command awaits results.
///
/// # Errors
/// A failure if the updates do not match the shape, or if a published value is too large. The document may
/// then be changed in part.
///
/// ```
/// use serde_json::json;
/// use windlass_model::instance::shape;
/// use windlass_model::instance_report::accept;
///
/// let wire = json!({
///     "$set": {"status.flags.active": true},
///     "$pushAll": {"activityLog": [{"message": "it runs"}], "commands.c1": [{"size": 3}]},
/// });
/// let mut document = json!({});
/// let accepted = accept(&mut document, &wire, shape(), |id| id.as_str() == "c1")?;
/// assert_eq!(document, json!({"status": {"flags": {"active": true}}}));
/// assert_eq!(accepted.log[0].message, "it runs");
/// assert_eq!(accepted.results[0].1, [json!({"size": 3})]);
/// # Ok::<(), windlass_model::record::Failure>(())
/// ```
pub fn accept(
    document: &mut Value,
    updates: &Value,
    shape: &Shape,
    is_open: impl Fn(&CommandId) -> bool,
) -> Result<Accepted, Failure> {
    let parsed = Update::parse(updates, shape).map_err(|errors| {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::new(FailureKind::Protocol, format!("its updates are not valid: {}", all.join("; ")))
    })?;
    let (update, log) = take_log(parsed.update);
    let (update, results) = take_results(update, is_open);
    update.apply(document).map_err(|error| {
        Failure::new(FailureKind::Protocol, format!("its updates can't be applied: {error}"))
    })?;
    refuse_too_much(document)?;
    Ok(Accepted { log, results })
}

/// Takes the results of open commands out of an update. Returns the rest of the update, and the results.
fn take_results(
    update: Update,
    is_open: impl Fn(&CommandId) -> bool,
) -> (Update, Vec<(CommandId, Vec<Value>)>) {
    let id = |path: &Path| {
        let mut keys = path.keys();
        let id: CommandId = (keys.next() == Some("commands")).then(|| keys.next())??.parse().ok()?;
        is_open(&id).then_some(id)
    };
    let (results, rest) = update.partition(|path| id(path).is_some());
    let results = results.iter().filter_map(|(path, operation)| match operation {
        Op::Append(values) => Some((id(path)?, values.clone())),
        _ => None,
    });
    let results = results.collect();
    (rest, results)
}

/// Returns an error if a signal in the document is larger than [`MAX_VALUE`] bytes. A signal is a named value
/// that an instance publishes.
fn refuse_too_much(document: &Value) -> Result<(), Failure> {
    for (interface, pin, value) in InstanceView::new(document).signals() {
        let large = match value {
            Value::String(text) => text.len() > MAX_VALUE,
            Value::Array(_) | Value::Object(_) => value.to_string().len() > MAX_VALUE,
            _ => false,
        };
        if large {
            let name = if interface == OUTPUTS { pin.to_owned() } else { format!("{interface}.{pin}") };
            let message = format!("it publishes more than {} MiB as `{name}`", MAX_VALUE >> 20);
            return Err(Failure::new(FailureKind::Protocol, message));
        }
    }
    Ok(())
}
