//! Conversion of records to and from the JSON in rows.

use rusqlite::{Params, Row, Statement};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::{Fault, Outcome};

pub(super) fn to_json(record: &impl Serialize) -> Outcome<String> {
    serde_json::to_string(record)
        .map_err(|error| Fault::Damaged(format!("a record can't be written: {error}")))
}

pub(super) fn from_json<R: DeserializeOwned>(text: &str) -> Outcome<R> {
    serde_json::from_str(text).map_err(|error| Fault::Damaged(format!("a record can't be read: {error}")))
}

/// Reads the records in column 0 of all rows.
pub(super) fn records<R: DeserializeOwned>(
    statement: &mut Statement<'_>,
    params: impl Params,
) -> Outcome<Vec<R>> {
    rows(statement, params, |row| from_json(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?))
}

pub(super) fn rows<T>(
    statement: &mut Statement<'_>,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}
