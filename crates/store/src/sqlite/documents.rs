//! Stores documents as rows of SQLite.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row};
use windlass_model::AssemblyName;
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_secret::Sensitive;

use super::fault::{Fault, Outcome};
use super::packages;
use super::row::{from_json, rows, to_json};
use crate::request::document_name;
use crate::seal::Seal;

/// Puts a document, and returns its new revision. If the stored document does not meet the condition
/// [`expected`](DocumentDraft::expected), the function changes nothing and returns `None`.
pub(super) fn put(db: &Connection, seal: &Seal, draft: &DocumentDraft) -> Outcome<Option<Revision>> {
    let key = columns(&draft.key);
    if !is_as_expected(db, &draft.key, draft.expected)? {
        return Ok(None);
    }
    let revision: i64 = db
        .prepare_cached("UPDATE store SET documents = documents + 1 RETURNING documents")?
        .query_row([], |row| row.get(0))?;
    let seal_part = |value| seal.seal(&document_name(&draft.key), value);
    let sealed = draft.secrets.as_ref().map(seal_part).transpose()?;
    let [scope, kind, name] = key;
    let assembly = draft.key.scope.assembly().map(windlass_model::AssemblyName::as_str);
    let body = to_json(&draft.body)?;
    db.prepare_cached(PUT)?.execute((scope, kind, name, assembly, revision, draft.version, body, sealed))?;
    let before = pinned(db, key)?;
    db.prepare_cached("DELETE FROM document_pin WHERE scope = ?1 AND kind = ?2 AND name = ?3")?
        .execute(key)?;
    let mut pin =
        db.prepare_cached("INSERT INTO document_pin (scope, kind, name, package) VALUES (?1, ?2, ?3, ?4)")?;
    for digest in &draft.packages {
        pin.execute((scope, kind, name, &digest.0))?;
    }
    packages::drop_unpinned(db, &before)?;
    Ok(Some(Revision(revision.cast_unsigned())))
}

/// Drops a document if it exists. If the stored document does not meet the condition `expected`, changes nothing and
/// returns `false`.
pub(super) fn drop(db: &Connection, key: &DocumentKey, expected: Expected) -> Outcome<bool> {
    if !is_as_expected(db, key, expected)? {
        return Ok(false);
    }
    let key = columns(key);
    let before = pinned(db, key)?;
    db.prepare_cached("DELETE FROM document WHERE scope = ?1 AND kind = ?2 AND name = ?3")?.execute(key)?;
    packages::drop_unpinned(db, &before)?;
    Ok(true)
}

pub(super) fn of(db: &Connection, assembly: &AssemblyName) -> Outcome<Vec<DocumentKey>> {
    let sql = "SELECT kind, name FROM document WHERE scope = ?1";
    let damaged = |error| Fault::Damaged(format!("a document has a bad name: {error}"));
    rows(&mut *db.prepare_cached(sql)?, [assembly.as_str()], |row| {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        let scope = DocumentScope::Assembly(assembly.clone());
        Ok(DocumentKey { scope, kind: kind.parse().map_err(damaged)?, name: name.parse().map_err(damaged)? })
    })
}

/// Reads a document without its secret part. Returns `None` if the document does not exist.
pub(super) fn find(db: &Connection, key: &DocumentKey) -> Outcome<Option<DocumentRecord>> {
    let sql = "SELECT name, revision, version, body FROM document
        WHERE scope = ?1 AND kind = ?2 AND name = ?3";
    let found =
        rows(&mut *db.prepare_cached(sql)?, columns(key), |row| read(db, &key.scope, &key.kind, row))?;
    Ok(found.into_iter().next())
}

/// Reads and decrypts the secret part of a document. Returns `None` if the document has no secret part or does not
/// exist.
pub(super) fn secrets(
    db: &Connection,
    seal: &Seal,
    key: &DocumentKey,
) -> Outcome<Option<Sensitive<Vec<u8>>>> {
    let sql = "SELECT sealed FROM document WHERE scope = ?1 AND kind = ?2 AND name = ?3";
    let sealed: Option<Option<Vec<u8>>> =
        db.prepare_cached(sql)?.query_row(columns(key), |row| row.get(0)).optional()?;
    Ok(sealed.flatten().map(|sealed| seal.open(&document_name(key), &sealed)).transpose()?)
}

/// Reads up to `limit` documents of a scope and kind whose names come after `after`, sorted by name. If `after` is
/// empty, the result begins with the first name.
pub(super) fn page(
    db: &Connection,
    scope: &DocumentScope,
    kind: &DocumentKind,
    after: &str,
    limit: usize,
) -> Outcome<Vec<DocumentRecord>> {
    let sql = "SELECT name, revision, version, body FROM document
        WHERE scope = ?1 AND kind = ?2 AND name > ?3 ORDER BY name LIMIT ?4";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let params = (scope.as_str(), kind.as_str(), after, limit);
    rows(&mut *db.prepare_cached(sql)?, params, |row| read(db, scope, kind, row))
}

fn read(
    db: &Connection,
    scope: &DocumentScope,
    kind: &DocumentKind,
    row: &Row<'_>,
) -> Outcome<DocumentRecord> {
    let name: String = row.get(0)?;
    let name: DocumentName =
        name.parse().map_err(|error| Fault::Damaged(format!("a document has a bad name: {error}")))?;
    let key = DocumentKey { scope: scope.clone(), kind: kind.clone(), name };
    let revision: i64 = row.get(1)?;
    let packages: BTreeSet<PackageDigest> =
        pinned(db, columns(&key))?.into_iter().map(PackageDigest).collect();
    Ok(DocumentRecord {
        revision: Revision(revision.cast_unsigned()),
        version: row.get(2)?,
        body: from_json(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)?,
        packages,
        key,
    })
}

fn is_as_expected(db: &Connection, key: &DocumentKey, expected: Expected) -> Outcome<bool> {
    if expected == Expected::Any {
        return Ok(true);
    }
    let sql = "SELECT revision FROM document WHERE scope = ?1 AND kind = ?2 AND name = ?3";
    let found: Option<i64> = db.prepare_cached(sql)?.query_row(columns(key), |row| row.get(0)).optional()?;
    Ok(match expected {
        Expected::Any => true,
        Expected::Absent => found.is_none(),
        Expected::At(revision) => found == Some(revision.0.cast_signed()),
    })
}

/// Returns the packages that a document pins.
fn pinned(db: &Connection, key: [&str; 3]) -> Outcome<Vec<String>> {
    let sql = "SELECT package FROM document_pin WHERE scope = ?1 AND kind = ?2 AND name = ?3";
    rows(&mut *db.prepare_cached(sql)?, key, |row| Ok(row.get(0)?))
}

fn columns(key: &DocumentKey) -> [&str; 3] {
    [key.scope.as_str(), key.kind.as_str(), key.name.as_str()]
}

const PUT: &str = "INSERT INTO document (scope, kind, name, assembly, revision, version, body, sealed)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (scope, kind, name) DO UPDATE
    SET revision = excluded.revision, version = excluded.version, body = excluded.body, sealed = excluded.sealed";
