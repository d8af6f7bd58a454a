//! Renaming of an assembly, in all of its rows.
//!
//! The row of the assembly with the new name is inserted first. Then the rows that refer to the assembly are
//! changed. The row with the old name is deleted last.

use tokio_postgres::GenericClient;
use windlass_model::AssemblyName;
use windlass_model::document::{DocumentKey, DocumentScope};
use windlass_model::record::AssemblyRecord;
use windlass_secret::SecretRef;

use super::fault::{Fault, Outcome};
use super::row::{from_json, to_json};
use super::versions;
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

/// The number of assemblies whose records are rewritten together. The limit bounds the memory for the records.
const TOGETHER: usize = 500;

pub(super) async fn rename(
    db: &impl GenericClient,
    seal: &Seal,
    rename: &Rename,
) -> Outcome<Result<(), Kept>> {
    let (from, to) = (&rename.renaming.from, &rename.renaming.to);
    if assembly(db, to).await?.is_some() {
        return Ok(Err(Kept::Taken));
    }
    let Some(before) = assembly(db, from).await? else { return Ok(Err(Kept::Missing)) };
    let record = rename.renaming.assembly_record(&before).map_err(|error| damaged(&error))?;
    begin(db, &record, from).await?;
    let others: Vec<&str> = rename.others.iter().map(AssemblyName::as_str).collect();
    for some in others.chunks(TOGETHER) {
        if !put_others(db, rename, some).await? {
            return Ok(Err(Kept::Missing));
        }
        rewrite_all(db, rename, some).await?;
        db.execute(FOLLOW_PAIRS, &[&some]).await?;
    }
    rewrite_all(db, rename, &[from.as_str()]).await?;
    for sql in FOLLOW {
        db.execute(sql, &[&from.as_str(), &to.as_str()]).await?;
    }
    secrets(db, seal, rename).await?;
    documents(db, seal, rename).await?;
    db.execute("DELETE FROM assembly WHERE name = $1", &[&from.as_str()]).await?;
    Ok(Ok(()))
}

/// Replaces the old name in all records of the assemblies `scopes`, except the records in the table `assembly`.
async fn rewrite_all(db: &impl GenericClient, rename: &Rename, scopes: &[&str]) -> Outcome<()> {
    for rows in &ROWS {
        rewrite(db, rename, rows, scopes).await?;
    }
    rewrite_versions(db, rename, scopes).await
}

async fn assembly(db: &impl GenericClient, name: &AssemblyName) -> Outcome<Option<AssemblyRecord>> {
    let row = db.query_opt("SELECT record FROM assembly WHERE name = $1", &[&name.as_str()]).await?;
    row.map(|row| from_json(row.get(0))).transpose()
}

/// Inserts a row for the new name of the assembly, with the assembly's owner and natural id. Then replaces the old
/// name in the tables `pin` and `reference` by the new name.
async fn begin(db: &impl GenericClient, record: &AssemblyRecord, from: &AssemblyName) -> Outcome<()> {
    let (from, to) = (from.as_str(), record.name.as_str());
    let row = db.query_one("SELECT natural_id FROM assembly WHERE name = $1", &[&from]).await?;
    let natural: Option<String> = row.get(0);
    db.execute("UPDATE assembly SET natural_id = NULL WHERE name = $1", &[&from]).await?;
    let owner = record.owner.as_ref().map(AssemblyName::as_str);
    let sql = "INSERT INTO assembly (name, owner, natural_id, record) VALUES ($1, $2, $3, $4)";
    db.execute(sql, &[&to, &owner, &natural, &to_json(record)?]).await?;
    for table in ["pin", "reference"] {
        let sql = format!("UPDATE {table} SET assembly = $2 WHERE assembly = $1");
        db.execute(&sql, &[&from, &to]).await?;
    }
    Ok(())
}

/// Replaces the records and the references of the assemblies `scopes` while another assembly is renamed. Returns `false`
/// if one of the assemblies does not exist.
async fn put_others(db: &impl GenericClient, rename: &Rename, scopes: &[&str]) -> Outcome<bool> {
    let rows = db.query("SELECT record FROM assembly WHERE name = ANY($1)", &[&scopes]).await?;
    let (mut names, mut owners, mut records) = (Vec::new(), Vec::new(), Vec::new());
    let (mut referrers, mut targets) = (Vec::new(), Vec::new());
    for row in &rows {
        let before: AssemblyRecord = from_json(row.get(0))?;
        let record = rename.renaming.assembly_record(&before).map_err(|error| damaged(&error))?;
        records.push(to_json(&record)?);
        referrers.extend(record.references.iter().map(|_| record.name.to_string()));
        targets.extend(record.references.iter().map(ToString::to_string));
        owners.push(record.owner.as_ref().map(ToString::to_string));
        names.push(record.name.to_string());
    }
    let sql = "UPDATE assembly SET owner = new.owner, record = new.record
        FROM unnest($1::text[], $2::text[], $3::text[]) AS new (name, owner, record)
        WHERE assembly.name = new.name";
    db.execute(sql, &[&names, &owners, &records]).await?;
    db.execute("DELETE FROM reference WHERE assembly = ANY($1)", &[&names]).await?;
    let sql = "INSERT INTO reference (assembly, target) SELECT * FROM unnest($1::text[], $2::text[])";
    db.execute(sql, &[&referrers, &targets]).await?;
    Ok(names.len() == scopes.len())
}

/// Replaces the versions of assemblies. Most versions are stored as deltas, each to a base version. The renaming
/// changes the base versions, too, so all versions of an assembly are written again if one of them names the renamed
/// assembly.
async fn rewrite_versions(db: &impl GenericClient, rename: &Rename, scopes: &[&str]) -> Outcome<()> {
    let (mut processes, mut bases, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for rows in versions::naming(db, scopes, &rename.renaming.from).await? {
        let mut records = version::records(rows, 0).map_err(Fault::Damaged)?;
        for record in &mut records {
            record.assembly =
                rename.renaming.assembly_record(&record.assembly).map_err(|error| damaged(&error))?;
        }
        for row in version::rows(&records).map_err(Fault::Damaged)? {
            processes.push(row.process.cast_signed());
            bases.push(row.base.map(u64::cast_signed));
            texts.push(row.text);
        }
    }
    let sql = "UPDATE version SET base = new.base, record = new.record
        FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS new (process, base, record)
        WHERE version.process = new.process";
    db.execute(sql, &[&processes, &bases, &texts]).await?;
    Ok(())
}

/// Replaces the old name by the new name in one table, in the records of the assemblies `scopes`.
async fn rewrite(db: &impl GenericClient, rename: &Rename, of: &Rows, scopes: &[&str]) -> Outcome<()> {
    let Rows { table, of_assembly, renamed } = of;
    let of_assemblies = of_assembly.replace("= $1", "= ANY($1)");
    let select =
        format!("SELECT ctid::text, record FROM {table} WHERE {of_assemblies} AND strpos(record, $2) > 0");
    let (mut places, mut texts) = (Vec::new(), Vec::new());
    for row in db.query(&select, &[&scopes, &rename.renaming.from.as_str()]).await? {
        let (place, text): (String, &str) = (row.get(0), row.get(1));
        let new = renamed(rename, text).map_err(|error| damaged(&error))?;
        if new != text {
            places.push(place);
            texts.push(new);
        }
    }
    let update = format!(
        "UPDATE {table} SET record = new.record FROM unnest($1::text[], $2::text[]) AS new (place, record)
        WHERE {table}.ctid = new.place::tid"
    );
    if !places.is_empty() {
        db.execute(&update, &[&places, &texts]).await?;
    }
    Ok(())
}

/// The statements that replace the old names in the columns other than `record`. Parameter 1 is the name of the assembly
/// before the renaming, and parameter 2 is its name afterwards. The column `record` already contains the new names, so
/// the statements copy the names of elements from this column.
const FOLLOW: [&str; 8] = [
    "UPDATE element SET assembly = $2, name = record::json->>'name' WHERE assembly = $1",
    "UPDATE instance SET assembly = $2, element = record::json->>'element' WHERE assembly = $1",
    "UPDATE pair SET assembly = $2, element = record::json->'key'->>'assembly',
        source = record::json->'key'->>'source', target = record::json->'key'->>'target'
    WHERE assembly = $1",
    "UPDATE version SET assembly = $2 WHERE assembly = $1",
    "UPDATE version_pin SET assembly = $2 WHERE assembly = $1",
    "UPDATE process SET assembly = $2 WHERE assembly = $1",
    "UPDATE request SET assembly = $2 WHERE assembly = $1",
    "UPDATE event SET assembly = $2 WHERE assembly = $1",
];

/// The statement that replaces the old name in the pairs of other assemblies. Parameter 1 is the list of these
/// assemblies. `put_others` and `rewrite_all` have already replaced the old name in all other columns of these
/// assemblies.
const FOLLOW_PAIRS: &str = "UPDATE pair SET element = record::json->'key'->>'assembly',
        source = record::json->'key'->>'source', target = record::json->'key'->>'target'
    WHERE assembly = ANY($1)";

/// Seals each secret of the assembly again. The name of a secret changes, too, because it begins with the name of the
/// assembly, as in `shop:given/1`. A sealed value can be opened only with the name under which it was sealed.
async fn secrets(db: &impl GenericClient, seal: &Seal, rename: &Rename) -> Outcome<()> {
    let (from, to) = (&rename.renaming.from, &rename.renaming.to);
    for row in db.query("SELECT id, sealed FROM secret WHERE assembly = $1", &[&from.as_str()]).await? {
        let before: SecretRef = row
            .get::<_, &str>(0)
            .parse()
            .map_err(|error| Fault::Damaged(format!("a secret has a bad id: {error}")))?;
        let after = rename.renaming.secret(&before);
        let sealed = seal.seal(&after, &seal.open(&before, row.get(1))?)?;
        let sql = "UPDATE secret SET id = $2, assembly = $3, sealed = $4 WHERE id = $1";
        db.execute(sql, &[&before.id(), &after.id(), &to.as_str(), &sealed]).await?;
    }
    Ok(())
}

/// Moves the documents of the assembly to its new name. The secret part of each document is sealed again, because the
/// name under which it was sealed contains the name of the assembly.
async fn documents(db: &impl GenericClient, seal: &Seal, rename: &Rename) -> Outcome<()> {
    let (from, to) = (&rename.renaming.from, &rename.renaming.to);
    let select = "SELECT kind, name, sealed FROM document WHERE scope = $1";
    for row in db.query(select, &[&from.as_str()]).await? {
        let (kind, name): (&str, &str) = (row.get(0), row.get(1));
        let word = |error| Fault::Damaged(format!("a document has a bad name: {error}"));
        let before = DocumentKey {
            scope: DocumentScope::Assembly(from.clone()),
            kind: kind.parse().map_err(word)?,
            name: name.parse().map_err(word)?,
        };
        let after = DocumentKey { scope: rename.renaming.scope(&before.scope), ..before.clone() };
        let again = |sealed: Vec<u8>| {
            let value = seal.open(&document_name(&before), &sealed)?;
            seal.seal(&document_name(&after), &value)
        };
        let sealed = row.get::<_, Option<Vec<u8>>>(2).map(again).transpose()?;
        let sql = "INSERT INTO document (scope, kind, name, assembly, revision, version, body, sealed)
            SELECT $4, kind, name, $4, revision, version, body, $5 FROM document
            WHERE scope = $1 AND kind = $2 AND name = $3";
        db.execute(sql, &[&from.as_str(), &kind, &name, &to.as_str(), &sealed]).await?;
    }
    let sql = "UPDATE document_pin SET scope = $2 WHERE scope = $1";
    db.execute(sql, &[&from.as_str(), &to.as_str()]).await?;
    Ok(())
}

fn damaged(error: &serde_json::Error) -> Fault {
    Fault::Damaged(format!("a record can't be renamed: {error}"))
}
