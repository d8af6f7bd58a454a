//! Packages as rows. A package stays as long as an assembly, a version or a document pins it.

use rusqlite::Connection;
use windlass_model::record::PackageRecord;

use super::fault::Outcome;
use super::row::to_json;

/// Adds a package unless it exists.
pub(super) fn put(db: &Connection, record: &PackageRecord) -> Outcome<()> {
    let digest = &record.digest.0;
    let package = (digest, record.name.to_string(), to_json(&record.manifest)?);
    if db.prepare_cached(PUT)?.execute(package)? == 0 {
        return Ok(());
    }
    for file in &record.files {
        db.prepare_cached(PUT_FILE)?.execute((digest, &file.path, file.executable, &file.content))?;
    }
    Ok(())
}

/// Drops those of the given packages that nothing pins.
pub(super) fn drop_unpinned(db: &Connection, digests: &[String]) -> Outcome<()> {
    let mut delete = db.prepare_cached(DROP)?;
    for digest in digests {
        delete.execute([digest])?;
    }
    Ok(())
}

pub(super) fn drop_all_unpinned(db: &Connection) -> Outcome<()> {
    db.prepare_cached(DROP_ALL)?.execute([])?;
    Ok(())
}

const PUT: &str = "INSERT INTO package (digest, name, manifest) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";

const PUT_FILE: &str =
    "INSERT INTO package_file (package, path, executable, content) VALUES (?1, ?2, ?3, ?4)";

const DROP: &str = "DELETE FROM package WHERE digest = ?1
    AND NOT EXISTS (SELECT 1 FROM pin WHERE package = ?1)
    AND NOT EXISTS (SELECT 1 FROM version_pin WHERE package = ?1)
    AND NOT EXISTS (SELECT 1 FROM document_pin WHERE package = ?1)";

const DROP_ALL: &str = "DELETE FROM package WHERE digest NOT IN (
    SELECT package FROM pin UNION SELECT package FROM version_pin UNION SELECT package FROM document_pin)";
