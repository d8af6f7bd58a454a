//! Stores documents as rows of PostgreSQL.
//!
//! Before a transaction changes a document, it must lock the single row of the table `feed` ([`lock_feed`]). The
//! functions [`store`] and [`remove`] lock the row themselves. The functions [`put`] and [`drop`] expect that the
//! caller has locked the row.

use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row};
use windlass_model::assembly::PackageDigest;
use windlass_model::document::{
    DocumentDraft, DocumentKey, DocumentKind, DocumentName, DocumentRecord, DocumentScope, Expected, Revision,
};
use windlass_model::record::PackageRecord;
use windlass_secret::Sensitive;

use super::fault::{Fault, Outcome};
use super::feed::lock_feed;
use super::packages::{PUT_FILE, PUT_PACKAGE};
use super::row::from_json;
use super::row::to_json;
use crate::error::StoreError;
use crate::request::document_name;
use crate::seal::Seal;

/// Stores a document of the project. Such a document belongs to no assembly. The function also stores each package in
/// `packages` that the store does not contain yet. It calls [`lock_feed`] first.
///
/// Returns [`StoreError::DocumentChanged`] if the stored document does not meet the condition
/// [`expected`](DocumentDraft::expected). Returns [`StoreError::NoPackage`] if the document needs a package that is
/// neither stored nor in `packages`.
pub(super) async fn store(
    db: &impl GenericClient,
    seal: &Seal,
    draft: &DocumentDraft,
    packages: &[PackageRecord],
) -> Outcome<Revision> {
    lock_feed(db).await?;
    for PackageRecord { digest, name, manifest, files } in packages {
        db.execute(PUT_PACKAGE, &[&digest.0, &name.to_string(), &to_json(manifest)?]).await?;
        for file in files {
            db.execute(PUT_FILE, &[&digest.0, &file.path, &file.executable, &file.content]).await?;
        }
    }
    let key = || Box::new(draft.key.clone());
    match put(db, seal, draft).await {
        Ok(Some(revision)) => Ok(revision),
        Ok(None) => Err(Fault::Store(StoreError::DocumentChanged { key: key() })),
        Err(fault) if fault.is_orphan() => Err(Fault::Store(StoreError::NoPackage { key: key() })),
        Err(fault) => Err(fault),
    }
}

/// Drops a document of the project, if the document exists. A document of the project belongs to no assembly. The
/// function calls [`lock_feed`] first. Returns [`StoreError::DocumentChanged`] if the stored document does not meet
/// the condition `expected`.
pub(super) async fn remove(db: &impl GenericClient, key: &DocumentKey, expected: Expected) -> Outcome<()> {
    lock_feed(db).await?;
    if drop(db, key, expected).await? {
        return Ok(());
    }
    Err(Fault::Store(StoreError::DocumentChanged { key: Box::new(key.clone()) }))
}

/// Puts a document, and returns its new revision. If the stored document does not meet the condition
/// [`expected`](DocumentDraft::expected), changes nothing and returns `None`.
pub(super) async fn put(
    db: &impl GenericClient,
    seal: &Seal,
    draft: &DocumentDraft,
) -> Outcome<Option<Revision>> {
    if !is_as_expected(db, &draft.key, draft.expected).await? {
        return Ok(None);
    }
    let [scope, kind, name] = columns(&draft.key);
    let row = db.query_one("UPDATE feed SET documents = documents + 1 RETURNING documents", &[]).await?;
    let revision: i64 = row.get(0);
    let assembly = draft.key.scope.assembly().map(ToString::to_string);
    let seal_part = |value| seal.seal(&document_name(&draft.key), value);
    let sealed = draft.secrets.as_ref().map(seal_part).transpose()?;
    let (version, body) = (i64::from(draft.version), to_json(&draft.body)?);
    let values: [&(dyn ToSql + Sync); 8] =
        [&scope, &kind, &name, &assembly, &revision, &version, &body, &sealed];
    db.execute(PUT, &values).await?;
    let before = unpin(db, [&scope, &kind, &name]).await?;
    for digest in &draft.packages {
        let sql = "INSERT INTO document_pin (scope, kind, name, package) VALUES ($1, $2, $3, $4)";
        db.execute(sql, &[&scope, &kind, &name, &digest.0]).await?;
    }
    db.execute(DROP_UNPINNED, &[&before]).await?;
    Ok(Some(Revision(revision.cast_unsigned())))
}

/// Drops a document if it exists. If the stored document does not meet the condition `expected`, changes nothing and
/// returns `false`.
pub(super) async fn drop(db: &impl GenericClient, key: &DocumentKey, expected: Expected) -> Outcome<bool> {
    if !is_as_expected(db, key, expected).await? {
        return Ok(false);
    }
    let [scope, kind, name] = columns(key);
    let before = unpin(db, [&scope, &kind, &name]).await?;
    let sql = "DELETE FROM document WHERE scope = $1 AND kind = $2 AND name = $3";
    db.execute(sql, &[&scope, &kind, &name]).await?;
    db.execute(DROP_UNPINNED, &[&before]).await?;
    Ok(true)
}

pub(super) async fn find(db: &impl GenericClient, key: &DocumentKey) -> Outcome<Option<DocumentRecord>> {
    let [scope, kind, name] = columns(key);
    let row = db.query_opt(FIND, &[&scope, &kind, &name]).await?;
    row.map(|row| record(&key.scope, &key.kind, &row)).transpose()
}

/// Opens the secret part of a document.
pub(super) async fn secrets(
    db: &impl GenericClient,
    seal: &Seal,
    key: &DocumentKey,
) -> Outcome<Option<Sensitive<Vec<u8>>>> {
    let [scope, kind, name] = columns(key);
    let sql = "SELECT sealed FROM document
        WHERE scope = $1 AND kind = $2 AND name = $3 AND sealed IS NOT NULL";
    let row = db.query_opt(sql, &[&scope, &kind, &name]).await?;
    Ok(row.map(|row| seal.open(&document_name(key), row.get(0))).transpose()?)
}

/// Reads up to `limit` documents of a scope and kind, sorted by name. Only names greater than `after` are read.
pub(super) async fn page(
    db: &impl GenericClient,
    scope: &DocumentScope,
    kind: &DocumentKind,
    after: &str,
    limit: usize,
) -> Outcome<Vec<DocumentRecord>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.query(PAGE, &[&scope.as_str(), &kind.as_str(), &after, &limit]).await?;
    rows.iter().map(|row| record(scope, kind, row)).collect()
}

fn record(scope: &DocumentScope, kind: &DocumentKind, row: &Row) -> Outcome<DocumentRecord> {
    let name: &str = row.get(0);
    let name: DocumentName =
        name.parse().map_err(|error| Fault::Damaged(format!("a document has a bad name: {error}")))?;
    let version = u32::try_from(row.get::<_, i64>(2))
        .map_err(|error| Fault::Damaged(format!("a document has a bad version: {error}")))?;
    let packages: Vec<String> = row.get(4);
    Ok(DocumentRecord {
        key: DocumentKey { scope: scope.clone(), kind: kind.clone(), name },
        revision: Revision(row.get::<_, i64>(1).cast_unsigned()),
        version,
        body: from_json(row.get(3))?,
        packages: packages.into_iter().map(PackageDigest).collect(),
    })
}

async fn is_as_expected(db: &impl GenericClient, key: &DocumentKey, expected: Expected) -> Outcome<bool> {
    let [scope, kind, name] = columns(key);
    let sql = "SELECT revision FROM document WHERE scope = $1 AND kind = $2 AND name = $3";
    Ok(match expected {
        Expected::Any => true,
        Expected::Absent => db.query_opt(sql, &[&scope, &kind, &name]).await?.is_none(),
        Expected::At(revision) => {
            let row = db.query_opt(sql, &[&scope, &kind, &name]).await?;
            row.is_some_and(|row| row.get::<_, i64>(0) == revision.0.cast_signed())
        }
    })
}

/// Removes the pins of a document, and returns the digests of the packages that it pinned.
async fn unpin(db: &impl GenericClient, key: [&(dyn ToSql + Sync); 3]) -> Outcome<Vec<String>> {
    let sql = "DELETE FROM document_pin WHERE scope = $1 AND kind = $2 AND name = $3 RETURNING package";
    Ok(db.query(sql, &key).await?.iter().map(|row| row.get(0)).collect())
}

fn columns(key: &DocumentKey) -> [&str; 3] {
    [key.scope.as_str(), key.kind.as_str(), key.name.as_str()]
}

const PUT: &str = "INSERT INTO document (scope, kind, name, assembly, revision, version, body, sealed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (scope, kind, name) DO UPDATE
    SET revision = excluded.revision, version = excluded.version, body = excluded.body, sealed = excluded.sealed";

const DROP_UNPINNED: &str = "DELETE FROM package WHERE digest = ANY($1)
    AND NOT EXISTS (SELECT 1 FROM pin WHERE package = digest)
    AND NOT EXISTS (SELECT 1 FROM version_pin WHERE package = digest)
    AND NOT EXISTS (SELECT 1 FROM document_pin WHERE package = digest)";

const FIND: &str = "SELECT name, revision, version, body, ARRAY(SELECT package FROM document_pin AS pin
        WHERE pin.scope = document.scope AND pin.kind = document.kind AND pin.name = document.name)
    FROM document WHERE scope = $1 AND kind = $2 AND name = $3";

const PAGE: &str = "SELECT name, revision, version, body, ARRAY(SELECT package FROM document_pin AS pin
        WHERE pin.scope = document.scope AND pin.kind = document.kind AND pin.name = document.name)
    FROM document WHERE scope = $1 AND kind = $2 AND name COLLATE \"C\" > $3
    ORDER BY name COLLATE \"C\" LIMIT $4";
