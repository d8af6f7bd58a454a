//! Assemblies that belong to an owner, which is another assembly. An owned assembly may have a natural id. The natural
//! id identifies the assembly outside of windlass, like the id of a virtual machine in its cloud.

use rusqlite::{Connection, OptionalExtension};
use windlass_model::AssemblyName;

use super::fault::{Fault, Outcome};
use super::leases::check_lease;
use super::row::rows;
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::request::no_owner;
use crate::snapshot::Owned;

/// Checks that `lease` is the current lease, and gives the assembly of the lease a natural id. See [`put`].
pub(super) fn claim(db: &Connection, lease: &Lease, claim: &Claim) -> Outcome<()> {
    check_lease(db, lease)?;
    put(db, &lease.scope, claim)
}

/// Gives the assembly `scope` a natural id. Returns an error if the assembly has no owner, or if another assembly has
/// this natural id and `claim` does not permit it. The function checks no lease, so the caller must have checked the
/// lease on `scope`.
pub(super) fn put(db: &Connection, scope: &AssemblyName, claim: &Claim) -> Outcome<()> {
    let name = scope.as_str();
    let sql = "SELECT owner FROM assembly WHERE name = ?1 AND owner IS NOT NULL";
    let owner: Option<String> = db.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
    let owner = owner.map(|owner| assembly_name(&owner)).transpose()?.ok_or_else(|| no_owner(scope))?;
    let natural_id = &claim.natural_id;
    let mut others = claimants(db, natural_id)?.into_iter().filter(|other| other.assembly != *scope);
    if let Some(Claimant { assembly: by, owner }) = others.find(|other| !claim.permits(&owner, other)) {
        return Err(Fault::Store(StoreError::Claimed { owner, natural_id: natural_id.clone(), by }));
    }
    db.prepare_cached("UPDATE assembly SET natural_id = ?2 WHERE name = ?1")?.execute((name, natural_id))?;
    Ok(())
}

/// Returns the assemblies that have the given natural id, sorted by name.
pub(super) fn claimants(db: &Connection, natural_id: &str) -> Outcome<Vec<Claimant>> {
    let sql = "SELECT name, owner FROM assembly WHERE natural_id = ?1 ORDER BY name";
    rows(&mut *db.prepare_cached(sql)?, [natural_id], |row| {
        let (name, owner): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(Claimant { assembly: assembly_name(&name)?, owner: assembly_name(&owner)? })
    })
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
