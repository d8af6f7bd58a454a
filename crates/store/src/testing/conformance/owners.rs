//! Tests of assemblies that belong to another assembly, their owner. Some tests are about the natural ids of the owned
//! assemblies.

use windlass_model::AssemblyName;
use windlass_model::record::AssemblyRecord;

use super::{Harness, commit, leased};
use crate::batch::Batch;
use crate::claim::{Claim, Claimant};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::snapshot::Owned;
use crate::store::Store;
use crate::testing::samples::{assembly, name};

fn owned_by(assembly_name: &AssemblyName, owner: &str) -> AssemblyRecord {
    AssemblyRecord { owner: Some(name(owner)), ..assembly(assembly_name, &[]) }
}

async fn with_owner(store: &dyn Store, assembly_name: &str, owner: &str) -> Lease {
    let lease = leased(store, assembly_name).await;
    commit(store, &lease, Batch::new().put_assembly(owned_by(&lease.scope, owner))).await;
    lease
}

/// The assemblies of an owner are listed in the order of their names. Assemblies of other owners are not listed. An
/// owner is an assembly, such as the factory of an application.
pub async fn owners_list_their_assemblies(harness: &impl Harness) {
    let store = harness.open().await;
    let first = with_owner(&*store, "vm-1", "vms").await;
    let second = with_owner(&*store, "vm-2", "vms").await;
    let _other = with_owner(&*store, "shop-1", "shops").await;
    let alone = leased(&*store, "alone").await;
    commit(&*store, &alone, Batch::new().put_assembly(assembly(&alone.scope, &[]))).await;
    assert_eq!(store.owned_names().await.unwrap(), [name("shop-1"), name("vm-1"), name("vm-2")]);
    store.claim(&second, &"i-2".into()).await.unwrap();
    let first = Owned { assembly: first.scope, natural_id: None };
    let second_of = Owned { assembly: second.scope.clone(), natural_id: Some("i-2".to_owned()) };
    let owned = async |after: Option<&str>, limit| {
        let after = after.map(name);
        store.owned(&name("vms"), after.as_ref(), limit).await.unwrap()
    };
    assert_eq!(owned(None, 9).await, [first.clone(), second_of.clone()]);
    assert_eq!(owned(None, 1).await, std::slice::from_ref(&first));
    assert_eq!(owned(Some("vm-1"), 9).await, [second_of]);
    commit(&*store, &second, Batch::new().drop_assembly(second.scope.clone())).await;
    assert_eq!(owned(None, 9).await, [first]);
    assert_eq!(store.owned(&name("none"), None, 9).await.unwrap(), []);
}

fn claimant(assembly: &str, owner: &str) -> Claimant {
    Claimant { assembly: name(assembly), owner: name(owner) }
}

/// A batch can claim a natural id. The whole batch is refused if another assembly has the id.
pub async fn a_batch_claims_a_natural_id(harness: &impl Harness) {
    let store = harness.open().await;
    let first = with_owner(&*store, "vm-1", "vms").await;
    commit(&*store, &first, Batch::new().claim("i-1".to_owned())).await;
    assert_eq!(store.claimants("i-1").await.unwrap(), [claimant("vm-1", "vms")]);

    let second = leased(&*store, "vm-2").await;
    let made = Batch::new().put_assembly(owned_by(&second.scope, "vms"));
    let refused = store.commit(&second, made.clone().claim("i-1".to_owned())).await;
    assert!(
        matches!(&refused, Err(StoreError::Refused { reason, .. }) if reason.contains("`i-1`")),
        "{refused:?}"
    );
    assert_eq!(store.assembly(&second.scope).await.unwrap(), None, "nothing of the batch is applied");
    store.release(second.clone()).await.unwrap();
    let second = store.lease(&second.scope, &second.holder).await.unwrap();
    commit(&*store, &second, made.claim("i-2".to_owned())).await;
    assert_eq!(store.claimants("i-2").await.unwrap(), [claimant("vm-2", "vms")]);
}

/// Two assemblies with the same owner can't have the same natural id. If an assembly claims the natural id of another
/// assembly of the owner, the store refuses the claim and changes nothing. The refused assembly keeps its lease, and
/// can claim another id. An assembly keeps its natural id when its record is stored again.
pub async fn a_natural_id_is_claimed_once(harness: &impl Harness) {
    let (store, other) = (harness.open().await, harness.open().await);
    let first = with_owner(&*store, "vm-1", "vms").await;
    let second = with_owner(&*other, "vm-2", "vms").await;
    for _ in 0..2 {
        store.claim(&first, &"i-1".into()).await.unwrap();
    }
    let taken = other.claim(&second, &"i-1".into()).await;
    assert!(matches!(&taken, Err(StoreError::Claimed { by, .. }) if *by == first.scope), "{taken:?}");
    other.claim(&second, &"i-2".into()).await.unwrap();
    commit(&*store, &first, Batch::new().put_assembly(owned_by(&first.scope, "vms"))).await;
    assert_eq!(store.claimants("i-1").await.unwrap(), [claimant("vm-1", "vms")]);
    assert_eq!(store.claimants("i-3").await.unwrap(), []);
    commit(&*store, &first, Batch::new().drop_assembly(first.scope.clone())).await;
    other.claim(&second, &"i-1".into()).await.unwrap();
    assert_eq!(store.claimants("i-2").await.unwrap(), []);
    let free = store.claim(&first, &"i-4".into()).await;
    assert!(matches!(free, Err(StoreError::Refused { .. })), "{free:?}");
    store.release(first.clone()).await.unwrap();
    let lost = store.claim(&first, &"i-4".into()).await;
    assert!(matches!(lost, Err(StoreError::LeaseLost { .. })), "{lost:?}");
}

/// Two assemblies of different owners can have the same natural id only if the later claim permits it. A claim and a
/// batch obey the same rule. An assembly of the same owner is never permitted.
pub async fn a_natural_id_can_be_shared_with_other_owners(harness: &impl Harness) {
    let (store, other) = (harness.open().await, harness.open().await);
    let first = with_owner(&*store, "vm-1", "vms").await;
    let second = with_owner(&*other, "vm-2", "others").await;
    let third = with_owner(&*other, "vm-3", "others").await;
    let claim = |shared_with: &[&str]| {
        Claim::from("i-1").shared_with(shared_with.iter().copied().map(name).collect())
    };
    store.claim(&first, &claim(&[])).await.unwrap();
    for shared in [&[][..], &["vms"], &["vm-2", "vm-3"]] {
        let taken = other.claim(&second, &claim(shared)).await;
        let is_named = |by: &AssemblyName, owner: &AssemblyName| *by == first.scope && *owner == name("vms");
        assert!(
            matches!(&taken, Err(StoreError::Claimed { by, owner, .. }) if is_named(by, owner)),
            "{shared:?}: {taken:?}"
        );
    }
    other.claim(&second, &claim(&["vm-1"])).await.unwrap();
    assert_eq!(store.claimants("i-1").await.unwrap(), [claimant("vm-1", "vms"), claimant("vm-2", "others")]);
    let own = other.claim(&third, &claim(&["vm-1", "vm-2"])).await;
    assert!(matches!(&own, Err(StoreError::Claimed { by, .. }) if *by == second.scope), "{own:?}");

    let lease = leased(&*store, "vm-4").await;
    let made = Batch::new().put_assembly(owned_by(&lease.scope, "more"));
    let refused = store.commit(&lease, made.clone().claim(claim(&["vm-1"]))).await;
    assert!(matches!(&refused, Err(StoreError::Refused { .. })), "{refused:?}");
    store.release(lease.clone()).await.unwrap();
    let lease = store.lease(&lease.scope, &lease.holder).await.unwrap();
    commit(&*store, &lease, made.claim(claim(&["vm-1", "vm-2"]))).await;
    assert_eq!(store.claimants("i-1").await.unwrap().len(), 3);
}
