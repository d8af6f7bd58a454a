//! Stores that an older windlass has left.

use std::os::unix::fs::PermissionsExt as _;

use windlass_model::record::ProcessStatus;
use windlass_model::{Seq, State};
use windlass_store::Store as _;
use windlass_store::testing::samples::name;

use crate::place::Place;

/// Everything that a store of version 1 remembers is there after it was brought up to date, and it goes on.
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
}
