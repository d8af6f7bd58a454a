//! Results of a discovery script.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_driver::contract::{Found, Purpose, Query};
use windlass_driver::location::{DEPLOYMENT_LOCATION, RESOURCE_MANAGER};
use windlass_driver::{Failure, Report, Settled};
use windlass_executor::Captured;
use windlass_model::instance::{InstanceView, shape, take_log};
use windlass_model::resolve::text_of;
use windlass_source::Diagnostic;
use windlass_update_ops::Update;

use crate::natural;
use crate::output::Output;
use crate::status::{said_of, text_at};
use crate::style::Adapter;

/// Returns the instances that a discovery script listed. The properties of an instance are its output properties, and
/// its `name` if the script reports one.
///
/// The function leaves out an instance if a property of the instance differs from the value that `query` requests. A
/// property that the script does not report is not compared.
///
/// The search may be an [inventory](Purpose::Inventory): a search for all instances of a factory. The result then also
/// contains the instances with an invalid id or an invalid update. The report of such an instance is a failure, which
/// `failed` creates from the problems of the instance.
///
/// # Errors
/// All problems of the output as a whole. If the search is no inventory, also the problems of single instances: the
/// search must find exactly one instance, and an unreadable instance could be this one.
pub(crate) fn found(
    script: &str,
    stdout: &Captured,
    query: &Query,
    adapter: Adapter,
    failed: impl Fn(&[Diagnostic]) -> Failure,
) -> Result<Vec<Found>, Vec<Diagnostic>> {
    // For an inventory, the script belongs to a factory, but the found instances are applications. The package of
    // the factory does not declare the pins of applications. So the output is parsed with a shape that permits all
    // pins. Later, the engine checks the updates in the output against the pins of the application.
    let shape = match query.purpose {
        Purpose::Inventory => shape(),
        _ => query.package.shape(),
    };
    let output = Output::read_as(&format!("stdout of {script}"), stdout, shape, adapter)?;
    let mut all = Vec::new();
    let mut problems = Vec::new();
    for said in output.instances {
        let wrong_id = natural::problem(&said.id).map(|problem| problem.at(output.source.place(said.span)));
        match wrong_id.map_or(said.update, |problem| Err(vec![problem])) {
            Ok(update) => all.push(instance(said.id, update)),
            Err(wrong) if query.purpose == Purpose::Inventory => {
                all.push(Found { report: Err(failed(&wrong)), ..Found::new(said.id, BTreeMap::new()) });
            }
            Err(wrong) => problems.extend(wrong),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    all.retain(|found| fits(found, query));
    Ok(all)
}

fn instance(natural: String, update: Update) -> Found {
    let properties = properties(&update);
    let name = text_at(&update, "name");
    let is_gone = said_of(&update, &Value::Null).is_some_and(|said| said.gone);
    let (rest, log) = take_log(update);
    let updates = if rest.is_empty() { Value::Null } else { rest.to_value() };
    let settled = if is_gone { Settled::Gone } else { Settled::Yes };
    let report = Report { natural: Some(natural.clone()), updates, private: None, log, settled };
    Found { natural, name, properties, report: Ok(report) }
}

fn properties(update: &Update) -> BTreeMap<String, Value> {
    let mut document = json!({});
    // If the update can't be applied to an empty document, the instance has no properties.
    let _ = update.apply(&mut document);
    let view = InstanceView::new(&document);
    let mut properties: BTreeMap<_, _> =
        view.outputs().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(name) = document.get("name") {
        properties.entry("name".to_owned()).or_insert_with(|| name.clone());
    }
    properties
}

/// Tells whether an instance has the requested properties. Values are compared as text, because descriptors
/// contain only text. The two properties that name the location are not compared, because the search ran at this
/// location.
pub(crate) fn fits(found: &Found, query: &Query) -> bool {
    let asked =
        query.properties.iter().filter(|(name, _)| *name != DEPLOYMENT_LOCATION && *name != RESOURCE_MANAGER);
    asked.into_iter().all(|(name, wanted)| match found.properties.get(name) {
        Some(value) => text_of(value) == text_of(wanted),
        None => true,
    })
}
