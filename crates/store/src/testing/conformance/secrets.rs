//! Secrets: sealed at rest, opened by name, erased when dropped.

use super::{Harness, OnDisk, commit, leased, with_assembly};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::testing::samples::{secret, value};

/// A secret value. If a file of the store contains this text, the store has not encrypted the value.
const TEXT: &str = "correct horse battery staple";

/// Secret values are read back unchanged, both alone and together with the records of their assembly.
pub async fn are_opened_by_name_and_by_assembly(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let put = |text| Batch::new().put_secret(secret("h_bta/key"), lease.scope.clone(), value(text));
    commit(&*store, &lease, put("old")).await;
    commit(&*store, &lease, put(TEXT)).await;
    drop(store);
    let store = harness.open().await;
    assert_eq!(store.secret(&secret("h_bta/key")).await.unwrap().unwrap().expose(), TEXT.as_bytes());
    assert!(store.secret(&secret("h_bta/other")).await.unwrap().is_none());
    let loaded = store.load(&lease.scope).await.unwrap().unwrap().secrets;
    assert_eq!(loaded.keys().collect::<Vec<_>>(), [&secret("h_bta/key")]);
    assert_eq!(loaded[&secret("h_bta/key")].expose(), TEXT.as_bytes());
}

/// The records of an assembly are read without its secrets.
pub async fn are_not_loaded_with_sealed_records(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let put = Batch::new().put_secret(secret("h_bta/key"), lease.scope.clone(), value(TEXT));
    commit(&*store, &lease, put).await;
    let sealed = store.load_sealed(&lease.scope).await.unwrap().unwrap();
    let whole = store.load(&lease.scope).await.unwrap().unwrap();
    assert!(sealed.secrets.is_empty());
    assert_eq!((sealed.assembly, sealed.elements), (whole.assembly, whole.elements));
    assert!(store.load_sealed(&"other".parse().unwrap()).await.unwrap().is_none());
    assert!(store.check_key().is_ok());
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// No file of the store contains the plain text of a secret, whether the store is open or closed. The names of
/// secrets are not encrypted.
pub async fn do_not_lie_open_in_any_file(harness: &impl OnDisk) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    commit(&*store, &lease, Batch::new().put_secret(secret("h_bta/key"), lease.scope.clone(), value(TEXT)))
        .await;
    let open = harness.files();
    drop(store);
    for files in [open, harness.files()] {
        assert!(holds(&files, b"h_bta/key"));
        assert!(!holds(&files, TEXT.as_bytes()));
    }
}

/// Once the drop of an assembly is durable, not even the name of its secret remains in a log or a free page.
pub async fn are_wiped_with_their_assembly(harness: &impl OnDisk) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    commit(&*store, &lease, Batch::new().put_secret(secret("h_bta/key"), lease.scope.clone(), value(TEXT)))
        .await;
    assert!(holds(&harness.files(), b"h_bta/key"));
    commit(&*store, &lease, Batch::new().drop_assembly(lease.scope.clone())).await;
    assert!(!holds(&harness.files(), b"h_bta/key"));
}

/// If a secret is dropped, but its assembly stays, no file contains the secret once the store is idle or closed.
pub async fn are_wiped_alone(harness: &impl OnDisk) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    for name in ["h_bta/rests", "h_bta/closed"] {
        let put = Batch::new().put_secret(secret(name), lease.scope.clone(), value(TEXT));
        commit(&*store, &lease, put).await;
        assert!(holds(&harness.files(), name.as_bytes()));
    }
    commit(&*store, &lease, Batch::new().drop_secret(secret("h_bta/rests"))).await;
    let begun = std::time::Instant::now();
    while holds(&harness.files(), b"h_bta/rests") {
        assert!(begun.elapsed().as_secs() < 30, "it is in the log still");
        tokio::task::yield_now().await;
    }
    commit(&*store, &lease, Batch::new().drop_secret(secret("h_bta/closed"))).await;
    drop(store);
    assert!(!holds(&harness.files(), b"h_bta/closed"));
}

/// Dropping one secret leaves the other secrets.
pub async fn are_dropped_alone(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let batch = Batch::new().put_secret(secret("one"), lease.scope.clone(), value("1")).put_secret(
        secret("two"),
        lease.scope.clone(),
        value("2"),
    );
    commit(&*store, &lease, batch).await;
    commit(&*store, &lease, Batch::new().drop_secret(secret("one")).drop_secret(secret("never-was"))).await;
    assert!(store.secret(&secret("one")).await.unwrap().is_none());
    assert!(store.secret(&secret("two")).await.unwrap().is_some());
}

/// Dropping an assembly drops its secrets and no other secrets.
pub async fn go_with_their_assembly(harness: &impl Harness) {
    let store = harness.open().await;
    for assembly in ["one", "two"] {
        let lease = with_assembly(&*store, assembly).await;
        commit(&*store, &lease, Batch::new().put_secret(secret(assembly), lease.scope.clone(), value(TEXT)))
            .await;
        store.release(lease).await.unwrap();
    }
    let lease = leased(&*store, "one").await;
    commit(&*store, &lease, Batch::new().drop_assembly(lease.scope.clone())).await;
    assert!(store.secret(&secret("one")).await.unwrap().is_none());
    assert!(store.secret(&secret("two")).await.unwrap().is_some());
}

/// A batch neither replaces nor drops a secret of another assembly.
pub async fn belong_to_one_assembly(harness: &impl Harness) {
    let store = harness.open().await;
    let (mine, yours) = (with_assembly(&*store, "mine").await, with_assembly(&*store, "yours").await);
    commit(&*store, &mine, Batch::new().put_secret(secret("key"), mine.scope.clone(), value(TEXT))).await;
    commit(&*store, &yours, Batch::new().drop_secret(secret("key"))).await;
    let theft = Batch::new().put_secret(secret("key"), yours.scope.clone(), value("changed"));
    let error = store.commit(&yours, theft).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert_eq!(store.secret(&secret("key")).await.unwrap().unwrap().expose(), TEXT.as_bytes());
}
