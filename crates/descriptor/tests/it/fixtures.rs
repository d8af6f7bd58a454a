//! Tests that windlass can compose the examples of this repository. One example was copied from a printed document,
//! together with the known mistakes of the document. The check must report these mistakes at their lines.

use insta::assert_snapshot;
use windlass_descriptor::{Composed, Descriptor, Missing, check};

use crate::support::{World, fixture, show, tree};

fn compose(world: &World, path: &str) -> Composed {
    let read = fixture(path);
    assert_eq!(show(&read.diagnostics), "");
    let Some(Descriptor::Assembly(assembly)) = read.descriptor else { panic!("it is an assembly") };
    world.compose(&assembly)
}

fn world(assembly: &str, packages: &[&str]) -> World {
    let mut world = World::default();
    for package in packages {
        world.add(fixture(&format!("assemblies/{assembly}/Contains/{package}/Definitions/lm/resource.yaml")));
    }
    let place = [("deploymentLocation", "admin@local"), ("resourceManager", "test-rm")];
    let with = |id| [("id", id), place[0], place[1]];
    world
        .existing("resource::openstack_neutron_network::1.0", "VIDEO", &with("net-video"))
        .existing("resource::openstack_neutron_network::1.0", "public", &with("net-public"))
        .existing("resource::openstack_glance_image::1.0", "xenial", &with("image-xenial"))
        .existing("resource::urbancode-network::1.0", "management", &with("net-management"))
        .existing("resource::urbancode-network::1.0", "internet", &with("net-internet"))
        .existing(
            "assembly::storage_cluster::1.2",
            "video-store",
            &[("privateIp", "10.0.0.20"), place[0], place[1]],
        )
}

#[test]
fn h_bta() {
    let world = world("h_bta", &["h_simple", "t_simple"]).given("numOfServers", 2);
    let composed = compose(&world, "assemblies/h_bta/assembly.yaml");
    assert_snapshot!(show(&composed.diagnostics), @"assemblies/h_bta/assembly.yaml:18:12: warning[WL0170]: `B` has several nodes; the value of the lowest one, `B__1`, is taken");
    assert_snapshot!(tree(&composed.topology.unwrap()), @r#"
    test (assembly of assembly::h_bta::1.0)
      data: data
      numOfServers: 2
      output (read-only): ${test__B__1.output}
      deploymentLocation: admin@local
      resourceManager: test-rm
      scaleOut_threshold: 90
      scaleIn_threshold: 10
      scale_smoothing: 4
      fail: ""
      pause: 0
      test__internal-network (reference of resource::openstack_neutron_network::1.0)
        name: VIDEO
        deploymentLocation: admin@local
        id: net-video
        resourceManager: test-rm
      test__public-network (reference of resource::openstack_neutron_network::1.0)
        name: public
        deploymentLocation: admin@local
        id: net-public
        resourceManager: test-rm
      test__xenial-image (reference of resource::openstack_glance_image::1.0)
        name: xenial
        deploymentLocation: admin@local
        id: image-xenial
        resourceManager: test-rm
      test__A (resource of resource::h_simple::1.0)
        referenced-internal-network: ${test__internal-network.id}
        reference-public-network: ${test__public-network.id}
        image: ${test__xenial-image.id}
        key_name: ACCANTO_TEST_KEY
        data: ${test.data}
        output: A_output
        server_name: ${test__A.instance.name}
        deploymentLocation: ${test.deploymentLocation}
        resourceManager: ${test.resourceManager}
        fail (volatile): ${test.fail}
        pause (volatile): ${test.pause}
        CreateRelationship3() -> test__A.CreateRelationship3
        CeaseRelationship3() -> test__A.CeaseRelationship3
      test__B (group of resource::t_simple::1.0) 1..4 by 1
        test__B__1 (resource of resource::t_simple::1.0)
          referenced-internal-network: ${test__internal-network.id}
          reference-public-network: ${test__public-network.id}
          image: ${test__xenial-image.id}
          key_name: ACCANTO_TEST_KEY
          data: ${test.data}
          output: ${test__A.output}
          server_name: ${test__B__1.instance.name}
          deploymentLocation: ${test.deploymentLocation}
          resourceManager: ${test.resourceManager}
          fail (volatile): ${test.fail}
          pause (volatile): ${test.pause}
          CreateRelationship3() -> test__B__1.CreateRelationship3
          CeaseRelationship3() -> test__B__1.CeaseRelationship3
        test__B__2 (resource of resource::t_simple::1.0)
          referenced-internal-network: ${test__internal-network.id}
          reference-public-network: ${test__public-network.id}
          image: ${test__xenial-image.id}
          key_name: ACCANTO_TEST_KEY
          data: ${test.data}
          output: ${test__A.output}
          server_name: ${test__B__2.instance.name}
          deploymentLocation: ${test.deploymentLocation}
          resourceManager: ${test.resourceManager}
          fail (volatile): ${test.fail}
          pause (volatile): ${test.pause}
          CreateRelationship3() -> test__B__2.CreateRelationship3
          CeaseRelationship3() -> test__B__2.CeaseRelationship3
    third-relationship: test__A.capability-3 (Post Active) -> test__B.requirement-3 (Pre Active)
      source: ${source.name}
      target: ${target.name}
      Create: target.CreateRelationship3, source.CreateRelationship3
      Cease: target.CeaseRelationship3, source.CeaseRelationship3
    "#);
    assert!(composed.secrets.is_empty());
}

#[test]
fn streamer_cluster() {
    let mut world = world("streamer_cluster", &["c_balancer", "c_streamer", "net_video"]);
    for (name, value) in [
        ("deploymentLocation", "admin@local"),
        ("resourceManager", "test-rm"),
        ("tenant_key_name", "demo-key"),
        ("management-network-name", "management"),
        ("public-network-name", "internet"),
        ("storage-name", "video-store"),
    ] {
        world = world.given(name, value);
    }
    let composed = compose(&world, "assemblies/streamer_cluster/assembly.yaml");
    assert_snapshot!(show(&composed.diagnostics), @"");
    assert_snapshot!(tree(&composed.topology.unwrap()), @"
    test (assembly of assembly::Streamer_cluster::1.0)
      deploymentLocation: admin@local
      resourceManager: test-rm
      numOfStreamers: 2
      tenant_key_name: demo-key
      management-network-name: management
      public-network-name: internet
      storage-name: video-store
      max_connections: 3
      cluster_public_ip_address (read-only): ${test__balancer.publicIp}
      scaleout-threshold: 80
      scalein-threshold: 10
      test__management-network (reference of resource::urbancode-network::1.0)
        name: management
        deploymentLocation: admin@local
        id: net-management
        resourceManager: test-rm
      test__public-network (reference of resource::urbancode-network::1.0)
        name: internet
        deploymentLocation: admin@local
        id: net-internet
        resourceManager: test-rm
      test__storage (reference of assembly::storage_cluster::1.2)
        name: video-store
        deploymentLocation: admin@local
        privateIp: 10.0.0.20
        resourceManager: test-rm
      test__streamer (group of resource::c_streamer::1.0) 2..10 by 2
        test__streamer__1 (resource of resource::c_streamer::1.0)
          deploymentLocation: ${test.deploymentLocation}
          resourceManager: ${test.resourceManager}
          key_name: ${test.tenant_key_name}
          flavor: m1.small
          server_name: ${test__streamer__1.instance.name}
          availability_zone: DMZ
          integrity_publication_period: 120
          number-of-intervals: 4
          referenced-management-network: ${test__management-network.id}
          referenced-video-network: ${test__net_video.network-id}
          privateIp (read-only):
          mgmtIp (read-only):
          MountStorage() -> test__streamer__1.MountStorage
          UnmountStorage() -> test__streamer__1.UnmountStorage
        test__streamer__2 (resource of resource::c_streamer::1.0)
          deploymentLocation: ${test.deploymentLocation}
          resourceManager: ${test.resourceManager}
          key_name: ${test.tenant_key_name}
          flavor: m1.small
          server_name: ${test__streamer__2.instance.name}
          availability_zone: DMZ
          integrity_publication_period: 120
          number-of-intervals: 4
          referenced-management-network: ${test__management-network.id}
          referenced-video-network: ${test__net_video.network-id}
          privateIp (read-only):
          mgmtIp (read-only):
          MountStorage() -> test__streamer__2.MountStorage
          UnmountStorage() -> test__streamer__2.UnmountStorage
      test__balancer (resource of resource::c_balancer::1.0)
        deploymentLocation: ${test.deploymentLocation}
        resourceManager: ${test.resourceManager}
        key_name: ${test.tenant_key_name}
        flavor: m1.large
        server_name: ${test__balancer.instance.name}
        availability_zone: DMZ
        integrity_publication_period: 120
        number-of-intervals: 4
        referenced-management-network: ${test__management-network.id}
        referenced-internal-network: ${test__net_video.network-id}
        referenced-public-network: ${test__public-network.id}
        privateIp (read-only):
        publicIp (read-only):
        AddBalancedHttpServer() -> test__balancer.AddBalancedHttpServer
        RemoveBalancedHttpServer() -> test__balancer.RemoveBalancedHttpServer
      test__net_video (resource of resource::net_video::1.0)
        deploymentLocation: ${test.deploymentLocation}
        resourceManager: ${test.resourceManager}
        subnetCIDR: 10.0.1.0/24
        networkName: VIDEO
        subnetDefGwIp: 10.0.1.1
        server_name: ${test__net_video.instance.name}
        network-id (read-only):
    uses-net_video: test__net_video.Network (Post Active) -> test__streamer.VideoNetwork, test__balancer.VideoNetwork (Pre Inactive)
    uses-management-network: test__management-network (Post Active) -> test__streamer.ManagementNetwork, test__balancer.ManagementNetwork (Pre Inactive)
    balancer-uses-public-network: test__public-network (Post Active) -> test__balancer.PublicNetwork (Pre Inactive)
    nfs_mount: test__storage.NFSMountpoint (Post Active) -> test__streamer.RemoteNFSMountPoint (Pre Inactive)
      remote_nfs_port: 2049
      remote_nfs_server_ip: ${source.privateIp}
      remote_mount_point: /
      local_mount_point: /mnt
      Create: target.MountStorage
      Cease: target.UnmountStorage
    balanceStreamer: test__streamer.VideoStream (Post Active) -> test__balancer.HttpServer (Pre Active)
      max_connections: ${test.max_connections}
      server_ip: ${source.privateIp}
      server_port: 8080
      Create: target.AddBalancedHttpServer
      Cease: target.RemoveBalancedHttpServer
    ");
}

#[test]
fn a_topology_is_the_same_when_read_back() {
    let world = world("h_bta", &["h_simple", "t_simple"]);
    let topology = compose(&world, "assemblies/h_bta/assembly.yaml").topology.unwrap();
    let stored = serde_json::to_string(&topology).unwrap();
    let back: windlass_model::Topology = serde_json::from_str(&stored).unwrap();
    assert_eq!(back, topology);
    assert_eq!(serde_json::to_string(&back).unwrap(), stored);
}

#[test]
fn the_printed_streamer_cluster_names_both_dangling_ends() {
    let read = fixture("negative/streamer_cluster_as_printed.yaml");
    assert_eq!(show(&read.diagnostics), "");
    let world = world("streamer_cluster", &["c_balancer", "c_streamer", "net_video"]);
    let diagnostics = check(&read.descriptor.unwrap(), world.catalog(), Missing::Refused);
    assert_snapshot!(show(&diagnostics), @"
    negative/streamer_cluster_as_printed.yaml:155:9: error[WL0112]: `storage.VideoNetwork` is at the target end, and there is no component `storage`
        help: there are `streamer`, `balancer`, `net_video`, `management-network` and `public-network`
    negative/streamer_cluster_as_printed.yaml:164:9: error[WL0112]: `storage.ManagementNetwork` is at the target end, and there is no component `storage`
        help: there are `streamer`, `balancer`, `net_video`, `management-network` and `public-network`
    ");
}
