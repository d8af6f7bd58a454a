//! Checks of documents: conditions on the stored revision, pinned packages, and secret parts.

use std::collections::BTreeSet;

use windlass_model::document::{DocumentDraft, DocumentScope, Expected, Revision};

use super::{Harness, OnDisk, commit, leased, with_assembly};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::store::Store;
use crate::testing::samples::{document, document_key, name, package, value};

/// A secret value. If a file of the store contains this text, the store has not encrypted the value.
const TEXT: &str = "correct horse battery staple";

const PROJECT: DocumentScope = DocumentScope::Project;

async fn put(store: &dyn Store, draft: DocumentDraft) -> Revision {
    store.put_document(draft, Vec::new()).await.expect("the document is as expected")
}

/// If two writers read the same revision, only one of them can change the document. A dropped document that
/// is created again has another revision.
pub async fn documents_are_put_if_as_expected(harness: &impl Harness) {
    let (store, other) = (harness.open().await, harness.open().await);
    let (key, draft) = (document_key(&PROJECT, "a"), document(&PROJECT, "a", "first"));
    let absent = DocumentDraft { expected: Expected::Absent, ..draft.clone() };
    let first = put(&*store, absent.clone()).await;
    let changed = |outcome| matches!(outcome, Err(StoreError::DocumentChanged { .. }));
    assert!(changed(other.put_document(absent.clone(), Vec::new()).await.map(drop)));
    let next = |text: &str, at| DocumentDraft { expected: Expected::At(at), ..document(&PROJECT, "a", text) };
    let second = put(&*other, next("second", first)).await;
    assert!(second > first);
    assert!(changed(store.put_document(next("lost", first), Vec::new()).await.map(drop)));
    let found = store.document(&key).await.unwrap().unwrap();
    assert_eq!((found.revision, found.version, found.body.as_str()), (second, 1, Some("second")));
    assert!(changed(store.drop_document(&key, Expected::At(first)).await));
    store.drop_document(&key, Expected::At(second)).await.unwrap();
    store.drop_document(&key, Expected::Any).await.unwrap();
    assert_eq!(other.document(&key).await.unwrap(), None);
    assert!(put(&*store, absent).await > second);
}

/// Documents are listed by scope and kind, sorted by name.
pub async fn documents_are_read_in_pages(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let own = DocumentScope::Assembly(lease.scope.clone());
    for name in ["b", "B", "a", "c"] {
        put(&*store, document(&PROJECT, name, name)).await;
    }
    let mut other = document(&PROJECT, "a", "of another kind");
    other.key.kind = "memo".parse().unwrap();
    put(&*store, other).await;
    commit(&*store, &lease, Batch::new().put_document(document(&own, "d", "of an assembly"))).await;
    let kind = document_key(&PROJECT, "a").kind;
    let page = async |scope: &DocumentScope, after: Option<&str>, limit| {
        let after = after.map(|name| name.parse().unwrap());
        let page = store.documents(scope, &kind, after.as_ref(), limit).await.unwrap();
        page.into_iter().map(|found| found.key.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(page(&PROJECT, None, 2).await, "B a");
    assert_eq!(page(&PROJECT, Some("a"), 9).await, "b c");
    assert_eq!(page(&own, None, 9).await, "d");
}

/// A document is refused if one of its packages is not stored. A package stays as long as a document pins it.
pub async fn documents_keep_their_packages(harness: &impl Harness) {
    let store = harness.open().await;
    let pinning = |packages: &[&str]| DocumentDraft {
        packages: packages.iter().map(|label| package(label).digest).collect(),
        ..document(&PROJECT, "a", "pins")
    };
    let missing = store.put_document(pinning(&["one"]), Vec::new()).await;
    assert!(matches!(missing, Err(StoreError::NoPackage { .. })), "{missing:?}");
    assert_eq!(store.document(&document_key(&PROJECT, "a")).await.unwrap(), None);
    store.put_document(pinning(&["one", "two"]), vec![package("one"), package("two")]).await.unwrap();
    put(&*store, DocumentDraft { key: document_key(&PROJECT, "b"), ..pinning(&["one"]) }).await;
    let found = store.document(&document_key(&PROJECT, "a")).await.unwrap().unwrap();
    assert_eq!(found.packages, BTreeSet::from([package("one").digest, package("two").digest]));
    put(&*store, pinning(&[])).await;
    assert_eq!(store.package(&package("one").digest).await.unwrap(), Some(package("one")));
    assert_eq!(store.package(&package("two").digest).await.unwrap(), None);
    store.drop_document(&document_key(&PROJECT, "b"), Expected::Any).await.unwrap();
    assert_eq!(store.package(&package("one").digest).await.unwrap(), None);
}

/// Only `document_secrets` returns the secret part of a document. If the document is replaced, its secret part is
/// replaced, too.
pub async fn documents_have_a_secret_part(harness: &impl Harness) {
    let store = harness.open().await;
    let key = document_key(&PROJECT, "a");
    let with_secret = DocumentDraft { secrets: Some(value(TEXT)), ..document(&PROJECT, "a", "has one") };
    put(&*store, with_secret).await;
    drop(store);
    let store = harness.open().await;
    assert_eq!(store.document_secrets(&key).await.unwrap().unwrap().expose(), TEXT.as_bytes());
    assert!(!format!("{:?}", store.document(&key).await.unwrap()).contains(TEXT));
    put(&*store, document(&PROJECT, "a", "has none")).await;
    assert!(store.document_secrets(&key).await.unwrap().is_none());
    assert!(store.document_secrets(&document_key(&PROJECT, "b")).await.unwrap().is_none());
}

/// A batch can put and drop documents of the lease's assembly and documents of the project, which belong to no
/// assembly. The store refuses a document of another assembly. A refused batch changes no document.
pub async fn documents_are_put_in_batches(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let own = DocumentScope::Assembly(lease.scope.clone());
    let both = Batch::new().put_document(document(&own, "a", "1")).put_document(document(&PROJECT, "a", "1"));
    commit(&*store, &lease, both).await;
    let first = store.document(&document_key(&own, "a")).await.unwrap().unwrap().revision;
    let next = Batch::new()
        .put_document(DocumentDraft { expected: Expected::At(first), ..document(&own, "a", "2") })
        .drop_document(document_key(&PROJECT, "a"), Expected::Any);
    commit(&*store, &lease, next).await;
    assert_eq!(store.document(&document_key(&own, "a")).await.unwrap().unwrap().body, "2");
    assert_eq!(store.document(&document_key(&PROJECT, "a")).await.unwrap(), None);
    let refused = Batch::new()
        .put_document(document(&own, "b", "lost"))
        .put_document(DocumentDraft { expected: Expected::At(first), ..document(&own, "a", "3") });
    assert!(matches!(store.commit(&lease, refused).await, Err(StoreError::Refused { .. })));
    assert_eq!(store.document(&document_key(&own, "b")).await.unwrap(), None);
    store.release(lease).await.unwrap();
    for scope in [name("shop"), name("nothing")] {
        let lease = leased(&*store, "nothing").await;
        let theirs = Batch::new().put_document(document(&DocumentScope::Assembly(scope), "a", "lost"));
        assert!(matches!(store.commit(&lease, theirs).await, Err(StoreError::Refused { .. })));
        store.release(lease).await.unwrap();
    }
}

/// The documents of an assembly and their packages are dropped with the assembly. Documents of the project
/// stay.
pub async fn documents_go_with_their_assembly(harness: &impl Harness) {
    let store = harness.open().await;
    let lease = with_assembly(&*store, "h_bta").await;
    let own = DocumentScope::Assembly(lease.scope.clone());
    let pinning = DocumentDraft {
        packages: BTreeSet::from([package("one").digest]),
        secrets: Some(value(TEXT)),
        ..document(&own, "a", "pins")
    };
    commit(&*store, &lease, Batch::new().put_package(package("one")).put_document(pinning)).await;
    put(&*store, document(&PROJECT, "a", "stays")).await;
    assert_eq!(store.package(&package("one").digest).await.unwrap(), Some(package("one")));
    commit(&*store, &lease, Batch::new().drop_assembly(lease.scope.clone())).await;
    assert_eq!(store.document(&document_key(&own, "a")).await.unwrap(), None);
    assert!(store.document_secrets(&document_key(&own, "a")).await.unwrap().is_none());
    assert_eq!(store.package(&package("one").digest).await.unwrap(), None);
    assert!(store.document(&document_key(&PROJECT, "a")).await.unwrap().is_some());
}

/// No file of the store contains the secret part of a document as plain text, whether the store is open or closed.
pub async fn secret_parts_are_sealed_in_all_files(harness: &impl OnDisk) {
    let store = harness.open().await;
    put(&*store, DocumentDraft { secrets: Some(value(TEXT)), ..document(&PROJECT, "a", "plain words") })
        .await;
    let open = harness.files();
    drop(store);
    let holds = |bytes: &[u8], part: &str| bytes.windows(part.len()).any(|window| window == part.as_bytes());
    for files in [open, harness.files()] {
        assert!(holds(&files, "plain words"));
        assert!(!holds(&files, TEXT));
    }
}
