//! Storage of the versions of assemblies. Most versions are stored as a delta to the previous version, and
//! some as a full copy.

use serde_json::Value;
use windlass_model::record::{AssemblyRecord, VersionRecord};
use windlass_model::{AssemblyName, ProcessId};

use crate::delta::{applied, delta};

/// Maximum number of rows in a chain. A chain consists of the full copy of a version, and of the deltas that follow
/// this copy. A delta needs less space than a full copy, but each delta is one more row to read.
const LONGEST: usize = 16;

/// A version as a row of the database: either a full copy, or a delta to an earlier version.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VersionRow {
    /// The id of the process that tried to establish the version. The id also identifies the version, because each
    /// process has at most one version.
    pub(crate) process: u64,
    /// The process id of the version on which the delta is based; `None` for a full copy.
    pub(crate) base: Option<u64>,
    /// The record, or the delta, as JSON.
    pub(crate) text: String,
}

/// Returns the row for a new version. `chain` contains the rows from which the previous version is read: a
/// full copy followed by deltas, each based on the row before.
pub(crate) fn kept(
    process: ProcessId,
    record: &AssemblyRecord,
    chain: Vec<VersionRow>,
) -> Result<VersionRow, String> {
    let unwritable = |error: serde_json::Error| format!("a version can't be written: {error}");
    if chain.is_empty() {
        let text = serde_json::to_string(record).map_err(unwritable)?;
        return Ok(VersionRow { process: process.0, base: None, text });
    }
    let new = serde_json::to_value(record).map_err(unwritable)?;
    let whole = new.to_string();
    let length = chain.len();
    if let Some((base, old)) = last(chain)?.filter(|_| length < LONGEST) {
        let text = delta(&old, &new).to_string();
        if text.len() < whole.len() / 2 {
            return Ok(VersionRow { process: process.0, base: Some(base), text });
        }
    }
    Ok(VersionRow { process: process.0, base: None, text: whole })
}

/// Encodes all versions of an assembly as rows. `records` must be sorted by process id. The rows have the same order.
pub(crate) fn rows(records: &[VersionRecord]) -> Result<Vec<VersionRow>, String> {
    let mut rows: Vec<VersionRow> = Vec::with_capacity(records.len());
    for VersionRecord { process, assembly } in records {
        let whole = rows.iter().rposition(|row| row.base.is_none()).unwrap_or(0);
        rows.push(kept(*process, assembly, rows[whole..].to_vec())?);
    }
    Ok(rows)
}

/// Decodes the versions of an assembly, and returns the versions whose process id is at least `from`. The rows must be
/// sorted by process id. The first row must contain a full copy of a version, because a delta can't be decoded alone.
pub(crate) fn records(rows: Vec<VersionRow>, from: u64) -> Result<Vec<VersionRecord>, String> {
    let read = |(process, document)| {
        let assembly = serde_json::from_value(document)
            .map_err(|error| format!("version {process} can't be read: {error}"))?;
        Ok(VersionRecord { process: ProcessId(process), assembly })
    };
    documents(rows)?.into_iter().filter(|(process, _)| *process >= from).map(read).collect()
}

/// Tells whether one of the versions refers to the assembly `scope`.
pub(crate) fn refer_to(records: &[VersionRecord], scope: &AssemblyName) -> bool {
    records.iter().any(|version| version.assembly.references.contains(scope))
}

/// Returns the text that stands for the name of an assembly in the JSON of a record.
pub(crate) fn quoted(name: &AssemblyName) -> String {
    format!("\"{name}\"")
}

/// Returns full copies of the versions that are stored as deltas to a dropped version. A version is stored as a
/// full copy, or as a delta to an earlier version. If the earlier version is dropped and the later one stays, the
/// later one must be replaced by a full copy.
///
/// `rows` contains the versions sorted by process, and the first one is a full copy. `goes` tells whether a version
/// is dropped. Its argument is the id in [`VersionRow::process`].
pub(crate) fn freed(rows: Vec<VersionRow>, goes: impl Fn(u64) -> bool) -> Result<Vec<VersionRow>, String> {
    let bases: Vec<Option<u64>> = rows.iter().map(|row| row.base).collect();
    let loses = |(process, base): (u64, Option<u64>)| !goes(process) && base.is_some_and(&goes);
    let whole =
        documents(rows)?.into_iter().zip(bases).filter(|((process, _), base)| loses((*process, *base)));
    Ok(whole
        .map(|((process, document), _)| VersionRow { process, base: None, text: document.to_string() })
        .collect())
}

/// Decodes the last version of a chain. A chain consists of a full copy and the deltas that follow it, each based on
/// the row before. Returns the process id and the record of the version, or `None` if there are no rows.
fn last(rows: Vec<VersionRow>) -> Result<Option<(u64, Value)>, String> {
    rows.into_iter().try_fold(None, |before, row| document(row, before).map(Some))
}

fn documents(rows: Vec<VersionRow>) -> Result<Vec<(u64, Value)>, String> {
    let mut found: Vec<(u64, Value)> = Vec::with_capacity(rows.len());
    for row in rows {
        let before = row.base.and_then(|base| found.iter().rev().find(|(known, _)| *known == base)).cloned();
        found.push(document(row, before)?);
    }
    Ok(found)
}

fn document(row: VersionRow, before: Option<(u64, Value)>) -> Result<(u64, Value), String> {
    let VersionRow { process, base, text } = row;
    let damaged = |why: &str| format!("version {process} can't be read: {why}");
    let document: Value = serde_json::from_str(&text).map_err(|error| damaged(&error.to_string()))?;
    let Some(base) = base else { return Ok((process, document)) };
    let (_, old) = before
        .filter(|(known, _)| *known == base)
        .ok_or_else(|| damaged(&format!("version {base} is not there")))?;
    let new = applied(old, document).ok_or_else(|| damaged("it does not fit the one before"))?;
    Ok((process, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::{assembly, name};

    fn version(number: u64) -> AssemblyRecord {
        AssemblyRecord {
            updated: windlass_model::Timestamp::from_millis(number.cast_signed()),
            ..assembly(&name("h_bta"), &[])
        }
    }

    fn history() -> Vec<VersionRow> {
        let record = |number| VersionRecord { process: ProcessId(number), assembly: version(number) };
        rows(&(1..=40).map(record).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn stored_versions_are_read() {
        let rows = history();
        let whole: Vec<u64> = rows.iter().filter(|row| row.base.is_none()).map(|row| row.process).collect();
        assert_eq!(whole, [1, 17, 33], "a whole one now and then");
        for (record, number) in records(rows, 0).unwrap().into_iter().zip(1..) {
            assert_eq!(record, VersionRecord { process: ProcessId(number), assembly: version(number) });
        }
    }

    #[test]
    fn versions_are_read_after_others_were_pruned() {
        let goes = |process: u64| process < 5 || process == 9 || process == 17;
        let mut rows = history();
        for whole in freed(rows.clone(), goes).unwrap() {
            let place = rows.iter().position(|row| row.process == whole.process).unwrap();
            rows[place] = whole;
        }
        rows.retain(|row| !goes(row.process));
        let read: Vec<_> = records(rows, 0).unwrap().into_iter().map(|record| record.assembly).collect();
        let stays = (1..=40).filter(|number| !goes(*number)).map(version);
        assert_eq!(read, stays.collect::<Vec<_>>());
    }

    #[test]
    fn damage_is_told() {
        let [first, mut second] = <[VersionRow; 2]>::try_from(history()[..2].to_vec()).unwrap();
        assert_eq!(
            records(vec![second.clone()], 0).unwrap_err(),
            "version 2 can't be read: version 1 is not there"
        );
        second.text = r#"["[",[[0,9]]]"#.to_owned();
        assert_eq!(
            records(vec![first, second], 0).unwrap_err(),
            "version 2 can't be read: it does not fit the one before"
        );
    }
}
