//! Assemblies that belong to an owner, which is another assembly. An owned assembly may have a natural id. A natural id
//! is the id of an instance outside of windlass, such as the id of a virtual machine in its cloud.

use tokio_postgres::GenericClient;
use windlass_model::AssemblyName;

use super::fault::{Fault, Outcome};
use super::feed::lock_feed;
use super::leases::check_lease;
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::request::no_owner;
use crate::snapshot::Owned;

/// Checks that `lease` is the current lease, and gives the assembly of the lease a natural id. See [`put`]. Calls
/// [`lock_feed`], so that claims run one after the other.
pub(super) async fn claim(db: &impl GenericClient, lease: &Lease, claim: &Claim) -> Outcome<()> {
    check_lease(db, lease).await?;
    lock_feed(db).await?;
    put(db, &lease.scope, claim).await
}

/// Gives the assembly `scope` a natural id. The assembly must have an owner. No other assembly may have the id, unless
/// `claim` permits it. The caller must have checked the lease, and must have called [`lock_feed`].
pub(super) async fn put(db: &impl GenericClient, scope: &AssemblyName, claim: &Claim) -> Outcome<()> {
    let name = scope.as_str();
    let sql = "SELECT owner FROM assembly WHERE name = $1 AND owner IS NOT NULL";
    let Some(row) = db.query_opt(sql, &[&name]).await? else {
        return Err(Fault::Store(no_owner(scope)));
    };
    let owner = assembly_name(row.get(0))?;
    let natural_id = &claim.natural_id;
    let mut others = claimants(db, natural_id).await?.into_iter().filter(|other| other.assembly != *scope);
    if let Some(Claimant { assembly: by, owner }) = others.find(|other| !claim.permits(&owner, other)) {
        return Err(Fault::Store(StoreError::Claimed { owner, natural_id: natural_id.clone(), by }));
    }
    db.execute("UPDATE assembly SET natural_id = $2 WHERE name = $1", &[&name, &natural_id]).await?;
    Ok(())
}

/// Returns the assemblies that have the given natural id, sorted by name.
pub(super) async fn claimants(db: &impl GenericClient, natural_id: &str) -> Outcome<Vec<Claimant>> {
    let sql = "SELECT name, owner FROM assembly WHERE natural_id = $1 ORDER BY name COLLATE \"C\"";
    let read = |row: &tokio_postgres::Row| {
        Ok(Claimant { assembly: assembly_name(row.get(0))?, owner: assembly_name(row.get(1))? })
    };
    db.query(sql, &[&natural_id]).await?.iter().map(read).collect()
}

/// Reads up to `limit` assemblies of an owner, sorted by name. Only names greater than `after` are read.
pub(super) async fn owned(
    db: &impl GenericClient,
    owner: &AssemblyName,
    after: &str,
    limit: usize,
) -> Outcome<Vec<Owned>> {
    let sql = "SELECT name, natural_id FROM assembly WHERE owner = $1 AND name COLLATE \"C\" > $2
        ORDER BY name COLLATE \"C\" LIMIT $3";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.query(sql, &[&owner.as_str(), &after, &limit]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Owned { assembly: assembly_name(row.get(0))?, natural_id: row.get(1) })
    };
    rows.iter().map(read).collect()
}

fn assembly_name(name: &str) -> Outcome<AssemblyName> {
    name.parse().map_err(|error| Fault::Damaged(format!("an assembly has a bad name: {error}")))
}
