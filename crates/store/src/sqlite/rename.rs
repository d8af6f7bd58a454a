//! Renaming of an assembly, in all of its rows.
//!
//! SQLite checks the foreign keys after each statement. So the row of the assembly with the new name is inserted
//! first. Then the rows that refer to the assembly are changed. The row with the old name is deleted last.

use rusqlite::{Connection, OptionalExtension};
use windlass_model::document::DocumentKey;
use windlass_model::record::AssemblyRecord;
use windlass_model::{AssemblyName, ProcessId};
use windlass_secret::SecretRef;

use super::fault::{Fault, Outcome};
use super::row::{rows, to_json};
use super::{documents, read, versions};
use crate::rename::{ROWS, Rename, Rows};
use crate::request::document_name;
use crate::seal::Seal;
use crate::version;

/// The reason why an assembly is not renamed.
pub(super) enum Kept {
    /// The assembly does not exist.
    Missing,
    /// An assembly with the new name exists.
    Taken,
}

pub(super) fn rename(db: &Connection, seal: &Seal, rename: &Rename) -> Outcome<Result<(), Kept>> {
    let (from, to) = (&rename.renaming.from, &rename.renaming.to);
    if read::assembly(db, to)?.is_some() {
        return Ok(Err(Kept::Taken));
    }
    for scope in rename.scopes() {
        let Some(before) = read::assembly(db, scope)? else { return Ok(Err(Kept::Missing)) };
        let record = rename.renaming.assembly_record(&before).map_err(|error| damaged(&error))?;
        if scope == from {
            begin(db, &record, from)?;
        } else {
            put(db, scope, &record)?;
        }
        for rows in &ROWS {
            rewrite(db, rename, rows, scope)?;
        }
        rewrite_versions(db, rename, scope)?;
        for sql in FOLLOW {
            db.execute(sql, (scope.as_str(), record.name.as_str()))?;
        }
    }
    secrets(db, seal, rename)?;
    documents(db, seal, rename)?;
    db.execute("DELETE FROM assembly WHERE name = ?1", [from.as_str()])?;
    Ok(Ok(()))
}

/// Inserts a row for the new name of the assembly, with the assembly's owner and natural id. Then replaces the old
/// name in the tables `pin` and `reference` by the new name.
fn begin(db: &Connection, record: &AssemblyRecord, from: &AssemblyName) -> Outcome<()> {
    let (from, to) = (from.as_str(), record.name.as_str());
    let natural: Option<String> =
        db.query_row("SELECT natural_id FROM assembly WHERE name = ?1", [from], |row| row.get(0))?;
    db.execute("UPDATE assembly SET natural_id = NULL WHERE name = ?1", [from])?;
    let owner = record.owner.as_ref().map(AssemblyName::as_str);
    db.execute(
        "INSERT INTO assembly (name, owner, natural_id, record) VALUES (?1, ?2, ?3, ?4)",
        (to, owner, natural, to_json(record)?),
    )?;
    for table in ["pin", "reference"] {
        db.execute(&format!("UPDATE {table} SET assembly = ?2 WHERE assembly = ?1"), (from, to))?;
    }
    Ok(())
}

/// Replaces the record and the references of the assembly `scope` while another assembly is renamed. The new
/// record, `record`, already contains the new name of the other assembly.
fn put(db: &Connection, scope: &AssemblyName, record: &AssemblyRecord) -> Outcome<()> {
    let owner = record.owner.as_ref().map(AssemblyName::as_str);
    let values = (scope.as_str(), owner, to_json(record)?);
    db.execute("UPDATE assembly SET owner = ?2, record = ?3 WHERE name = ?1", values)?;
    db.execute("DELETE FROM reference WHERE assembly = ?1", [scope.as_str()])?;
    for target in &record.references {
        let values = (scope.as_str(), target.as_str());
        db.execute("INSERT INTO reference (assembly, target) VALUES (?1, ?2)", values)?;
    }
    Ok(())
}

/// Writes the new name of the renamed assembly into all versions of the assembly `scope`. Most versions are stored
/// as deltas to earlier versions. The renaming changes these earlier versions, too, so all versions are stored
/// again.
fn rewrite_versions(db: &Connection, rename: &Rename, scope: &AssemblyName) -> Outcome<()> {
    let mut records = versions::since(db, scope, ProcessId(0))?;
    for record in &mut records {
        record.assembly =
            rename.renaming.assembly_record(&record.assembly).map_err(|error| damaged(&error))?;
    }
    for row in version::rows(&records).map_err(Fault::Damaged)? {
        db.prepare_cached("UPDATE version SET base = ?2, record = ?3 WHERE process = ?1")?.execute((
            row.process.cast_signed(),
            row.base.map(u64::cast_signed),
            row.text,
        ))?;
    }
    Ok(())
}

/// Replaces the old name of the renamed assembly by its new name in one table. `of` describes the table. The
/// function changes only the records of the assembly `scope`. `scope` is the old name of the renamed assembly, or
/// one of [`Rename::others`].
fn rewrite(db: &Connection, rename: &Rename, of: &Rows, scope: &AssemblyName) -> Outcome<()> {
    let Rows { table, of_assembly, renamed } = of;
    let select = format!("SELECT rowid, record FROM {table} WHERE {of_assembly}");
    let found: Vec<(i64, String)> =
        rows(&mut *db.prepare_cached(&select)?, [scope.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut update = db.prepare_cached(&format!("UPDATE {table} SET record = ?2 WHERE rowid = ?1"))?;
    for (row, text) in found {
        let new = renamed(rename, &text).map_err(|error| damaged(&error))?;
        if new != text {
            update.execute((row, new))?;
        }
    }
    Ok(())
}

/// The statements that write the new names into the key columns of the tables. The column `record` already
/// contains the new names, as JSON. The statements copy the names from this column, or write the new name of the
/// assembly.
const FOLLOW: [&str; 8] = [
    "UPDATE element SET assembly = ?2, name = json_extract(record, '$.name') WHERE assembly = ?1",
    "UPDATE instance SET assembly = ?2, element = json_extract(record, '$.element') WHERE assembly = ?1",
    "UPDATE pair SET assembly = ?2, element = json_extract(record, '$.key.assembly'),
        source = json_extract(record, '$.key.source'), target = json_extract(record, '$.key.target')
    WHERE assembly = ?1",
    "UPDATE version SET assembly = ?2 WHERE assembly = ?1",
    "UPDATE version_pin SET assembly = ?2 WHERE assembly = ?1",
    "UPDATE process SET assembly = ?2 WHERE assembly = ?1",
    "UPDATE request SET assembly = ?2 WHERE assembly = ?1",
    "UPDATE event SET assembly = ?2 WHERE assembly = ?1",
];

/// Renames the secrets of the assembly. The name of a secret may begin with the name of its assembly. For example,
/// if the assembly `shop` becomes `store`, the secret `shop:given/1` becomes `store:given/1`. A sealed value can be
/// opened only with the name under which it was sealed. So each secret is sealed again under its new name.
fn secrets(db: &Connection, seal: &Seal, rename: &Rename) -> Outcome<()> {
    let (from, to) = (&rename.renaming.from, &rename.renaming.to);
    let select = "SELECT id, sealed FROM secret WHERE assembly = ?1";
    let found: Vec<(String, Vec<u8>)> =
        rows(&mut *db.prepare_cached(select)?, [from.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (id, sealed) in found {
        let before: SecretRef =
            id.parse().map_err(|error| Fault::Damaged(format!("a secret has a bad id: {error}")))?;
        let after = rename.renaming.secret(&before);
        let sealed = seal.seal(&after, &seal.open(&before, &sealed)?)?;
        db.prepare_cached("UPDATE secret SET id = ?2, assembly = ?3, sealed = ?4 WHERE id = ?1")?
            .execute((before.id(), after.id(), to.as_str(), sealed))?;
    }
    Ok(())
}

/// Stores the documents of the assembly again, under the new name of the assembly. The secret part of a document is
/// sealed under a name that contains the name of the assembly. So each secret part is sealed again. The old rows are
/// deleted later, together with the old row of the assembly.
fn documents(db: &Connection, seal: &Seal, rename: &Rename) -> Outcome<()> {
    let (from, to) = (&rename.renaming.from, &rename.renaming.to);
    for before in documents::of(db, from)? {
        let after = DocumentKey { scope: rename.renaming.scope(&before.scope), ..before.clone() };
        let [scope, kind, name] = [from.as_str(), before.kind.as_str(), before.name.as_str()];
        let sealed: Option<Vec<u8>> = db
            .query_row(
                "SELECT sealed FROM document WHERE scope = ?1 AND kind = ?2 AND name = ?3",
                [scope, kind, name],
                |row| row.get(0),
            )
            .optional()?
            .flatten();
        let again = |sealed: Vec<u8>| {
            let value = seal.open(&document_name(&before), &sealed)?;
            seal.seal(&document_name(&after), &value)
        };
        let sealed = sealed.map(again).transpose()?;
        db.execute(
            "INSERT INTO document (scope, kind, name, assembly, revision, version, body, sealed)
            SELECT ?4, kind, name, ?4, revision, version, body, ?5 FROM document
            WHERE scope = ?1 AND kind = ?2 AND name = ?3",
            (scope, kind, name, to.as_str(), sealed),
        )?;
    }
    db.execute("UPDATE document_pin SET scope = ?2 WHERE scope = ?1", [from.as_str(), to.as_str()])?;
    Ok(())
}

fn damaged(error: &serde_json::Error) -> Fault {
    Fault::Damaged(format!("a record can't be renamed: {error}"))
}
