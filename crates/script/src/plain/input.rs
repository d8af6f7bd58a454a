//! The input of a plain script: files below its working folder.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_driver::{Call, Location};
use windlass_executor::Job;
use windlass_model::resolve::text_of;

use super::place::{ARGUMENTS, ID, LOCATION, METRICS, OUTPUTS, PROPERTIES, Place};
use crate::input::natural;
use crate::role::Role;

/// Maximum number of bytes of all files in an output folder together.
const OUTPUT_BYTES: u64 = 4 << 20;

/// Maximum number of bytes of the file at `WINDLASS_ID_FILE`, which contains the id of the instance.
const ID_BYTES: u64 = 4 << 10;

/// Returns `job` with the input files for a call. Also declares the output files and folders that the runtime
/// returns after the job.
///
/// A repeated call has the same files. The files may contain secrets, so only the user of the job may read them.
pub(crate) fn with_call(role: &Role, call: &Call, job: Job) -> Job {
    let properties = call.properties.iter().map(|(name, input)| (name.as_str(), &input.value));
    let arguments = call.arguments.iter().map(|(name, input)| (name.as_str(), &input.value));
    let job = with_values(PROPERTIES, &properties.collect(), job);
    let job = with_values(ARGUMENTS, &arguments.collect(), job);
    let job = with_location(&call.location, job);
    let id = if *role == Role::Launch { call.instance.as_str() } else { natural(call) };
    let job = ID.announced(job).file(ID.path(), id);
    let job = match role {
        Role::Launch => job.output(ID.variable, ID.path(), ID_BYTES),
        _ => job,
    };
    [OUTPUTS, METRICS].into_iter().fold(job, |job, place| {
        place.announced(job).output_folder(place.variable, place.path(), OUTPUT_BYTES)
    })
}

/// Adds the properties of a location to a job, as files.
pub(crate) fn with_location(location: &Location, job: Job) -> Job {
    let properties = location.properties.iter().map(|(name, value)| (name.as_str(), value));
    with_values(LOCATION, &properties.collect(), job)
}

/// Adds a file for each value to a job, and one file with all values. A value whose name can't be a file name is
/// only in the file with all values.
fn with_values(place: Place, values: &BTreeMap<&str, &Value>, job: Job) -> Job {
    let summary = place.summary();
    let json = serde_json::to_string_pretty(values).unwrap_or_default() + "\n";
    let job = match place.file(&summary) {
        Some(path) => place.announced(job).file(path, json),
        None => job,
    };
    let each = values.iter().filter(|(name, _)| **name != summary);
    each.filter_map(|(name, value)| Some((place.file(name)?, value)))
        .fold(job, |job, (path, value)| job.file(path, text_of(value)))
}
