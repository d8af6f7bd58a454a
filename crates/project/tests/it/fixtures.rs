//! The descriptors of this repository's example assemblies are all found.

use std::collections::BTreeMap;
use std::path::Path;

use insta::assert_snapshot;
use rstest::rstest;
use windlass_descriptor::{Descriptor, Request, compose};
use windlass_driver::Registry;
use windlass_project::{DiskCatalog, Overlay, Project, find_descriptor, load};

use crate::kinds::kinds;

#[rstest]
#[case::h_bta("h_bta", &[])]
#[case::streamer_cluster(
    "streamer_cluster",
    &["deploymentLocation=admin@local", "resourceManager=test-rm", "tenant_key_name=k",
      "management-network-name=management", "public-network-name=internet", "storage-name=video-store"]
)]
fn examples_are_found_and_composed(#[case] name: &str, #[case] parameters: &[&str]) {
    let file = find_descriptor(&Path::new("../../fixtures/assemblies").join(name)).unwrap();
    let project =
        Project::open_with(&file, Path::new("."), Overlay::default(), &kinds(), &Registry::default())
            .unwrap();
    assert_eq!(project.root(), Path::new("../..").canonicalize().unwrap());
    let Some(Descriptor::Assembly(assembly)) = load(&file).descriptor else { panic!("it is an assembly") };
    let (catalog, diagnostics) = DiskCatalog::around(&file, &assembly, &project, &[]);
    assert_eq!(diagnostics.to_string(), "");

    let parameters: BTreeMap<_, _> = parameters
        .iter()
        .filter_map(|given| given.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let name = "test".parse().unwrap();
    let request = Request::new(&name, &parameters, &catalog).existing(project.existing());
    let composed = compose(&assembly, request);
    assert!(composed.topology.is_some(), "{}", composed.diagnostics);
    for resource in &composed.resources {
        let package = catalog.package(resource).unwrap();
        let scripts: Vec<_> = package.files_below("Lifecycle/script/scripts").collect();
        assert!(!scripts.is_empty() && scripts.iter().all(|(_, file)| file.executable), "{resource}");
    }
}

#[test]
fn the_files_of_an_example() {
    let (catalog, diagnostics) = DiskCatalog::scan(&["../../fixtures/assemblies/h_bta".into()]);
    assert_eq!(diagnostics.to_string(), "");
    let package = catalog.package(&"resource::t_simple::1.0".parse().unwrap()).unwrap();
    let files: Vec<_> = package.files().iter().map(|file| file.path.as_str()).collect();
    assert_snapshot!(files.join("\n"), @"
    Definitions/lm/resource.yaml
    Lifecycle/script/lib/protocol.sh
    Lifecycle/script/scripts/CeaseRelationship3.sh
    Lifecycle/script/scripts/Configure.sh
    Lifecycle/script/scripts/CreateRelationship3.sh
    Lifecycle/script/scripts/Install.sh
    Lifecycle/script/scripts/Integrity.sh
    Lifecycle/script/scripts/Reconfigure.sh
    Lifecycle/script/scripts/Start.sh
    Lifecycle/script/scripts/Stop.sh
    Lifecycle/script/scripts/Uninstall.sh
    ");
}
