//! Golden plans of the example assemblies.

use std::fs;

use insta::assert_snapshot;
use windlass_descriptor::{Existing, MemoryCatalog};
use windlass_lifecycle::{Current, down, up};
use windlass_model::Topology;
use windlass_model::resolve::NothingYet;

use crate::support::{all_up, compose_with, descriptor, fixture, waves};

fn example(
    folder: &str,
    packages: &[&str],
    existing: &[(&str, &str)],
    parameters: &[(&str, &str)],
) -> Topology {
    let mut catalog = MemoryCatalog::new();
    for package in packages {
        let path = fixture(folder).join("Contains").join(package).join("Definitions/lm/resource.yaml");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        catalog.insert(descriptor(package, &text));
    }
    let existing: Vec<Existing> = existing
        .iter()
        .map(|(kind, name)| {
            let properties = [("id".to_owned(), "x".into()), ("privateIp".to_owned(), "y".into())];
            Existing::listed(kind.parse().expect("valid"), (*name).to_owned(), properties.into())
        })
        .collect();
    let text = fs::read_to_string(fixture(folder).join("assembly.yaml")).expect("the fixture is there");
    compose_with(&catalog, &text, &existing, parameters)
}

fn h_bta(nodes: &str) -> Topology {
    let network = "resource::openstack_neutron_network::1.0";
    let existing =
        [(network, "VIDEO"), (network, "public"), ("resource::openstack_glance_image::1.0", "xenial")];
    example("h_bta", &["h_simple", "t_simple"], &existing, &[("numOfServers", nodes)])
}

#[test]
fn h_bta_comes_up_in_the_golden_order() {
    let plan = up(&Current::default(), &h_bta("1"), &NothingYet).unwrap();
    assert_snapshot!(waves(&plan), @r"
    A Install | B__1 Install
    A Configure | B__1 Configure
    A Start, Integrity
    B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
    B__1 Start, Integrity
    ");
}

#[test]
fn h_bta_with_four_nodes_goes_down_in_the_mirror_image() {
    let topology = h_bta("4");
    let plan = down(&all_up(&topology), &topology).unwrap();
    assert_snapshot!(waves(&plan), @"
    B__1 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3 | B__2 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3 | B__3 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3 | B__4 Cease third-relationship: target.CeaseRelationship3, source.CeaseRelationship3
    B__1 Stop | B__2 Stop | B__3 Stop | B__4 Stop | A Stop
    A Uninstall | B__1 Uninstall | B__2 Uninstall | B__3 Uninstall | B__4 Uninstall
    ");
}

#[test]
fn a_plan_is_empty_when_all_elements_are_active() {
    let topology = h_bta("2");
    assert!(up(&all_up(&topology), &topology, &NothingYet).unwrap().is_empty());
    assert!(down(&Current::default(), &topology).unwrap().is_empty());
}

#[test]
fn streamer_cluster_raises_what_an_earlier_phase_demands() {
    let network = "resource::urbancode-network::1.0";
    let existing =
        [(network, "management"), (network, "internet"), ("assembly::storage_cluster::1.0", "video-store")];
    let parameters = [
        ("deploymentLocation", "admin@local"),
        ("resourceManager", "test-rm"),
        ("tenant_key_name", "key"),
        ("management-network-name", "management"),
        ("public-network-name", "internet"),
        ("storage-name", "video-store"),
    ];
    let packages = ["c_streamer", "c_balancer", "net_video"];
    let topology = example("streamer_cluster", &packages, &existing, &parameters);
    let plan = up(&Current::default(), &topology, &NothingYet).unwrap();
    assert_snapshot!(waves(&plan), @"
    net_video Install
    streamer__1 Install | streamer__2 Install | balancer Install
    streamer__1 Create nfs_mount: target.MountStorage | streamer__2 Create nfs_mount: target.MountStorage | net_video (Inactive)
    net_video (Active)
    streamer__1 Configure | streamer__2 Configure | balancer Configure
    streamer__1 Start, Integrity | streamer__2 Start, Integrity
    balancer Create balanceStreamer: target.AddBalancedHttpServer × 2
    balancer Start, Integrity
    ");
    let plan = down(&all_up(&topology), &topology).unwrap();
    assert_snapshot!(waves(&plan), @"
    balancer Cease balanceStreamer: target.RemoveBalancedHttpServer × 2
    balancer Stop | streamer__1 Stop | streamer__2 Stop
    balancer Uninstall | streamer__1 Cease nfs_mount: target.UnmountStorage | streamer__2 Cease nfs_mount: target.UnmountStorage
    streamer__1 Uninstall | streamer__2 Uninstall
    net_video (Inactive)
    net_video Uninstall
    ");
}
