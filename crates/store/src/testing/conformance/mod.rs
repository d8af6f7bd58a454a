//! The conformance suite for stores. Each function checks one fact, and panics if it does not hold.
//!
//! A store's test module names its [`Harness`] once, and gets one test per fact:
//!
//! ```text
//! mod my_store {
//!     windlass_store::conformance_tests!(super::MyHarness::new());
//! }
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "to panic is how a fact says that it does not hold"
)]

pub mod batches;
pub mod documents;
pub mod feed;
pub mod leases;
pub mod owners;
pub mod prune;
pub mod records;
pub mod renames;
pub mod requests;
pub mod secrets;

use std::time::Duration;

use async_trait::async_trait;
use windlass_model::AssemblyName;

use super::puppets::{Graveyard, ManualClock};
use super::samples;
use crate::batch::Batch;
use crate::lease::Lease;
use crate::store::Store;

/// An environment with one store, which starts empty.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Opens a handle on the store, as another program would. Stored data stays when all handles are dropped.
    async fn open(&self) -> Box<dyn Store>;

    /// Opens a handle on the store, as a program on another machine would. The wall clock of the other machine is ahead
    /// of [`clock`](Self::clock) by `millis` milliseconds, or behind it if `millis` is negative.
    async fn open_askew(&self, millis: i64) -> Box<dyn Store>;

    /// Advances the clocks of all handles, and the time by which the store decides whether a lease has expired.
    async fn advance(&self, by: Duration);

    /// Returns the wall clock of all handles that were created by [`open`](Self::open). A change of this clock does
    /// not change the time by which the store decides whether a lease has expired.
    fn clock(&self) -> &ManualClock;

    /// Makes the store's database fail from now on for every batch that adds an event of the assembly.
    async fn sabotage(&self, scope: &AssemblyName);

    /// Returns the list of the holders that the store treats as dead. If a test adds a holder to this list, other
    /// programs can take the leases of that holder at once.
    fn graveyard(&self) -> &Graveyard;
}

/// An environment whose store keeps its records in files.
pub trait OnDisk: Harness {
    /// Returns the bytes of all files of the store except the key.
    fn files(&self) -> Vec<u8>;
}

/// Calls another macro with the list of all checks that every store must pass. The name of the other macro stands in
/// brackets, and further tokens may follow. For example, `conformance_facts!([my_macro] text;)` becomes:
///
/// ```text
/// my_macro! {
///     text;
///     leases: has_one_holder, names_the_holder, …;
///     batches: are_durable_when_acknowledged, …;
///     …
/// }
/// ```
///
/// `leases` and `batches` are modules of `testing::conformance`, and the list names the functions of these modules.
///
/// A test suite uses this macro if each of its tests needs more code than
/// [`conformance_tests!`](crate::conformance_tests) generates. For example, each test may first have to check whether a
/// server is installed.
#[macro_export]
macro_rules! conformance_facts {
    ([$($macro:tt)+] $($before:tt)*) => {
        $($macro)+! { $($before)*
            leases: has_one_holder, names_the_holder, is_free_again_after_release, outlives_its_handle,
                is_taken_over_after_expiry, is_kept_by_renewal, is_not_lost_to_a_clock_that_is_set, is_not_lost_to_a_clock_that_is_wrong,
                is_taken_over_from_the_dead,
                every_lease_raises_the_epoch, a_lost_lease_can_do_nothing, scopes_do_not_meet,
                holder_is_told_while_it_holds, a_process_is_asked_to_stop_without_a_lease;
            batches: are_durable_when_acknowledged, are_applied_in_order, are_applied_whole_or_not_at_all,
                a_failed_batch_stops_its_lease, a_refused_batch_takes_no_other_with_it, one_that_fails_fails_alone, are_applied_while_leases_are_granted,
                are_refused_beyond_their_scope, are_refused_under_another_process, change_two_assemblies_under_two_leases, are_applied_without_their_ticket, an_empty_one_is_a_barrier;
            records: load_brings_all_that_was_put, load_of_nothing_is_nothing, puts_replace,
                drops_remove, load_has_open_calls_with_their_jobs, a_job_serves_many_calls,
                history_tells_all_in_order, drop_assembly_forgets, history_outlives_its_assembly,
                packages_are_kept_once_while_pinned, versions_are_kept_in_order,
                packages_of_versions_stay_while_the_assembly_does, a_pin_needs_its_package, open_processes_are_found, process_ids_are_given_out_once, an_assembly_is_created_once,
                assemblies_are_read_in_pages, assemblies_are_loaded_together, referrers_are_told, former_referrers_are_told, ids_are_kept, processes_are_read_in_pages,
                versions_are_read_from_one_on, changed_assemblies_are_listed;
            prune: processes_are_forgotten_with_all_of_them, needed_records_are_not_pruned,
                events_are_forgotten,
                versions_are_forgotten_and_the_others_stay, numbers_of_events_are_not_given_out_again;
            feed: events_are_read_by_assembly, numbers_have_no_holes_under_concurrent_committers, events_are_read_in_pages,
                a_watch_sees_its_own_handle, a_watch_sees_other_handles, a_watch_tells_what_is_there_at_once,
                refused_batches_leave_no_hole;
            requests: are_left_without_a_lease, reserve_a_name_once, are_ended_under_a_lease, end_once, are_withdrawn_unless_begun,
                are_ended_by_their_assembly_alone, are_told_in_the_feed;
            documents: documents_are_put_if_as_expected, documents_are_read_in_pages, documents_keep_their_packages,
                documents_have_a_secret_part, documents_are_put_in_batches, documents_go_with_their_assembly;
            owners: owners_list_their_assemblies, a_natural_id_is_claimed_once, a_batch_claims_a_natural_id,
                a_natural_id_can_be_shared_with_other_owners;
            renames: all_records_get_the_new_name, records_that_name_it_follow, the_old_name_brings_all_back,
                renames_need_a_free_name_and_all_leases;
            secrets: are_opened_by_name_and_by_assembly, are_not_loaded_with_sealed_records, are_dropped_alone,
                go_with_their_assembly, belong_to_one_assembly;
        }
    };
}

/// Defines a `#[tokio::test]` for each guarantee that every store must give. The argument is an expression that
/// creates a harness, which opens the tested store. Each test evaluates the expression once. With the prefix
/// `on_disk`, the macro also defines the tests for stores that keep their records in files.
#[macro_export]
macro_rules! conformance_tests {
    (on_disk $harness:expr) => {
        $crate::conformance_tests!($harness);
        $crate::conformance_tests!(@each $harness;
            secrets: do_not_lie_open_in_any_file, are_wiped_with_their_assembly, are_wiped_alone;
            documents: secret_parts_are_sealed_in_all_files;
        );
    };
    ($harness:expr) => {
        $crate::conformance_facts!([$crate::conformance_tests] @each $harness;);
    };
    (@each $harness:expr; $($module:ident: $($fact:ident),+;)+) => {
        $($(
            #[tokio::test]
            async fn $fact() {
                $crate::testing::conformance::$module::$fact(&$harness).await;
            }
        )+)+
    };
}

/// Takes a lease that must be free.
async fn leased(store: &dyn Store, assembly: &str) -> Lease {
    store.lease(&samples::name(assembly), &samples::holder(1)).await.expect("the lease is free")
}

/// Takes a lease and stores an assembly.
async fn with_assembly(store: &dyn Store, assembly: &str) -> Lease {
    let lease = leased(store, assembly).await;
    commit(store, &lease, Batch::new().put_assembly(samples::assembly(&lease.scope, &[]))).await;
    lease
}

/// Commits a batch that must be accepted.
async fn commit(store: &dyn Store, lease: &Lease, batch: Batch) {
    store.commit(lease, batch).await.expect("the batch is in order");
}
