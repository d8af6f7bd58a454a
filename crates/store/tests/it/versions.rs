//! Stores of older versions.

use std::os::unix::fs::PermissionsExt as _;

use windlass_model::document::DocumentScope;
use windlass_model::record::{ProcessStatus, VersionRecord};
use windlass_model::{ProcessId, Seq, State};
use windlass_store::testing::samples::{TIME, document, holder, name, process};
use windlass_store::{Batch, Store as _};

use crate::place::Place;

/// Everything in a store of version 1 is present after the migration, and the store works.
#[tokio::test]
async fn version_1_is_read_and_goes_on() {
    let place = Place::new();
    place.stranger().execute_batch(include_str!("../data/version-1.sql")).unwrap();
    std::fs::write(place.key(), include_bytes!("../data/version-1.key")).unwrap();
    std::fs::set_permissions(place.key(), std::fs::Permissions::from_mode(0o600)).unwrap();
    let store = place.store();
    let scope = name("h_bta");
    let snapshot = store.load(&scope).await.unwrap().unwrap();
    assert_eq!(snapshot.assembly.topology.elements().len(), 7);
    let active = snapshot.elements.values().filter(|element| element.state == State::Active).count();
    assert_eq!((active, snapshot.instances.len(), snapshot.pairs.len()), (2, 2, 1));
    for digest in snapshot.assembly.packages.values() {
        assert!(store.package(digest).await.unwrap().is_some_and(|package| package.files.len() == 10));
    }
    let history = store.history(&scope).await.unwrap();
    let [done] = &history.processes[..] else { panic!("{history:?}") };
    assert_eq!(done.process.status, ProcessStatus::Completed);
    assert_eq!((done.steps.len(), done.calls.len(), done.jobs.len()), (7, 10, 10));
    assert_eq!(store.events_of(&scope, Seq::START, 100).await.unwrap().len(), 24);
    assert!(store.versions(&scope).await.unwrap().is_empty(), "version 1 kept none");
    assert_eq!(store.reserve_process().await.unwrap().0, 2);
    let document = document(&DocumentScope::Project, "a", "new");
    store.put_document(document, Vec::new()).await.unwrap();
}

/// A store with schema version 3 contains a full copy of a version of an assembly, references in the record of the
/// assembly, and a lease without a tick. windlass must migrate the store and read all of them. windlass must store the
/// next version of the assembly as a delta.
#[tokio::test]
async fn version_3_is_read_and_goes_on() {
    let place = Place::new();
    let old = place.stranger();
    old.execute_batch(include_str!("../data/version-1.sql")).unwrap();
    for migration in [
        include_str!("../../src/sqlite/migrations/0002.sql"),
        include_str!("../../src/sqlite/migrations/0003.sql"),
    ] {
        old.execute_batch(migration).unwrap();
    }
    let lease = serde_json::to_string(&holder(1)).unwrap();
    old.execute_batch(&format!(
        r#"PRAGMA user_version = 3;
        UPDATE assembly SET record = json_set(record, '$.references', json('["other","far"]'));
        INSERT INTO version (process, assembly, record) SELECT 1, name, record FROM assembly;
        INSERT INTO lease (scope, epoch, holder, since, renewed) VALUES ('shop', 4, '{lease}', {now}, {now});"#,
        now = TIME.as_millis(),
    ))
    .unwrap();
    drop(old);
    std::fs::write(place.key(), include_bytes!("../data/version-1.key")).unwrap();
    std::fs::set_permissions(place.key(), std::fs::Permissions::from_mode(0o600)).unwrap();
    let store = place.store();
    let scope = name("h_bta");
    assert_eq!(store.referrers(&name("other")).await.unwrap(), std::slice::from_ref(&scope));
    assert_eq!(store.referrers(&name("far")).await.unwrap(), std::slice::from_ref(&scope));
    let first = store.versions(&scope).await.unwrap();
    assert_eq!(first[0].assembly.topology.elements().len(), 7);
    assert_eq!(store.holder(&name("shop")).await.unwrap(), Some(holder(1)));

    let lease = store.lease(&scope, &holder(1)).await.unwrap();
    let mut next = VersionRecord { process: ProcessId(2), ..first[0].clone() };
    next.assembly.updated = TIME;
    let process = process(&scope, 2, ProcessStatus::Completed);
    store.commit(&lease, Batch::new().put_process(process).put_version(next.clone())).await.unwrap();
    assert_eq!(store.versions(&scope).await.unwrap(), [first[0].clone(), next]);
    let size = "SELECT length(record) FROM version ORDER BY process";
    let stranger = place.stranger();
    let mut sizes = stranger.prepare(size).unwrap();
    let sizes: Vec<u32> = sizes.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(sizes[1] < 200 && sizes[0] > 3000, "{sizes:?}");
}
