//! Assemblies that belong to an owner, which is another assembly. An owned assembly may have a natural id. The natural
//! id identifies the assembly outside of windlass, like the id of a virtual machine in its cloud.

use rusqlite::{Connection, OptionalExtension};
use windlass_model::AssemblyName;

use super::fault::{Fault, Outcome};
use super::leases::check_lease;
use super::row::rows;
use crate::error::StoreError;
use crate::lease::Lease;
use crate::request::no_owner;
use crate::snapshot::Owned;

/// Checks that `lease` is the current lease, and gives the assembly of the lease a natural id. See [`put`].
pub(super) fn claim(db: &Connection, lease: &Lease, natural_id: &str) -> Outcome<()> {
    check_lease(db, lease)?;
    put(db, &lease.scope, natural_id)
}

/// Gives the assembly `scope` a natural id. Returns an error if the assembly has no owner, or if another assembly of
/// the same owner has this natural id. The function checks no lease, so the caller must have checked the lease on
/// `scope`.
pub(super) fn put(db: &Connection, scope: &AssemblyName, natural_id: &str) -> Outcome<()> {
    let name = scope.as_str();
    let sql = "SELECT owner FROM assembly WHERE name = ?1 AND owner IS NOT NULL";
    let owner: Option<String> = db.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
    let owner = owner.map(|owner| assembly_name(&owner)).transpose()?.ok_or_else(|| no_owner(scope))?;
    if let Some(by) = claimant(db, &owner, natural_id)?.filter(|by| by != scope) {
        return Err(Fault::Store(StoreError::Claimed { owner, natural_id: natural_id.to_owned(), by }));
    }
    db.prepare_cached("UPDATE assembly SET natural_id = ?2 WHERE name = ?1")?.execute((name, natural_id))?;
    Ok(())
}

/// Returns the assembly of `owner` that has the given natural id. Returns `None` if no assembly of this owner has
/// the id. An owner is an assembly, such as the factory of an application.
pub(super) fn claimant(
    db: &Connection,
    owner: &AssemblyName,
    natural_id: &str,
) -> Outcome<Option<AssemblyName>> {
    let sql = "SELECT name FROM assembly WHERE owner = ?1 AND natural_id = ?2";
    let name: Option<String> =
        db.prepare_cached(sql)?.query_row((owner.as_str(), natural_id), |row| row.get(0)).optional()?;
    name.map(|name| assembly_name(&name)).transpose()
}

/// Reads up to `limit` assemblies of `owner` whose names come after `after`, sorted by name. If `after` is empty, the
/// result begins with the first name.
pub(super) fn owned(db: &Connection, owner: &AssemblyName, after: &str, limit: usize) -> Outcome<Vec<Owned>> {
    let sql = "SELECT name, natural_id FROM assembly WHERE owner = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    rows(&mut *db.prepare_cached(sql)?, (owner.as_str(), after, limit), |row| {
        let name: String = row.get(0)?;
        Ok(Owned { assembly: assembly_name(&name)?, natural_id: row.get(1)? })
    })
}

fn assembly_name(name: &str) -> Outcome<AssemblyName> {
    name.parse().map_err(|error| Fault::Damaged(format!("an assembly has a bad name: {error}")))
}
