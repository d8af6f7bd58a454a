//! Projects of the tool `lmctl`: names and placeholders come from `lmproject.yml`.

use windlass_descriptor::{Catalog as _, Descriptor, Missing, check};
use windlass_project::{DiskCatalog, Project, load};

use crate::folder::Folder;

const PROJECT: &str = "schema: 2.0
name: shop
version: 1.2
type: Assembly
contains:
  - name: web
    type: Resource
    directory: frontend
    resource-manager: brent
  - name: depot
    contains:
      - {name: shelf, type: Resource, resource-manager: brent}
";

fn project() -> Folder {
    Folder::with(&[
        ("lmproject.yml", PROJECT),
        (
            "Descriptor/assembly.yml",
            "composition:
  web: {type: '$lmctl:/contains:/web:/descriptor_name'}
  depot: {type: '$lmctl:/contains:/depot:/descriptor_name'}
  spare: {type: '$lmctl:/contains:/depot:/contains:/shelf:/descriptor_name'}
",
        ),
        ("Contains/frontend/Definitions/lm/resource.yaml", "description: the front\nlifecycle: [Install]\n"),
        (
            "Contains/depot/Descriptor/assembly.yml",
            "composition:\n  shelf: {type: '$lmctl:/contains:/shelf:/descriptor_name'}\n",
        ),
        ("Contains/depot/Contains/shelf/Definitions/lm/resource.yaml", "lifecycle: [Install]\n"),
    ])
}

#[test]
fn descriptors_take_their_names_from_the_project() {
    let folder = project();
    let names: Vec<String> = [
        "Descriptor/assembly.yml",
        "Contains/frontend/Definitions/lm/resource.yaml",
        "Contains/depot/Contains/shelf/Definitions/lm/resource.yaml",
    ]
    .iter()
    .map(|file| {
        let read = load(&folder.path(file));
        assert!(!read.diagnostics.has_errors(), "{}", read.diagnostics);
        read.descriptor.unwrap().name().unwrap().to_string()
    })
    .collect();
    assert_eq!(names, ["assembly::shop::1.2", "resource::web-shop::1.2", "resource::shelf-depot-shop::1.2"]);
}

#[test]
fn placeholders_lead_to_what_the_project_contains() {
    let folder = project();
    let file = folder.path("Descriptor/assembly.yml");
    let Some(Descriptor::Assembly(assembly)) = load(&file).descriptor else { panic!("it is an assembly") };
    let project = Project::open(&file, &folder.path("")).unwrap();
    let (catalog, found) = DiskCatalog::around(&file, &assembly, &project, &[]);
    assert!(!found.has_errors(), "{}", folder.show(&found));
    let names: Vec<String> = catalog.names().iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "assembly::depot-shop::1.2",
            "assembly::shop::1.2",
            "resource::shelf-depot-shop::1.2",
            "resource::web-shop::1.2"
        ]
    );
    let said = check(&Descriptor::Assembly(assembly), &catalog, Missing::Refused);
    assert_eq!(folder.show(&said), "");
}

#[test]
fn a_placeholder_for_what_the_project_does_not_contain_is_an_error() {
    let folder = project();
    folder.write(
        "Descriptor/assembly.yml",
        "composition:\n  web: {type: '$lmctl:/contains:/wbe:/descriptor_name'}\n",
    );
    let read = load(&folder.path("Descriptor/assembly.yml"));
    insta::assert_snapshot!(folder.show(&read.diagnostics), @"
    Descriptor/assembly.yml:1:1: warning[WL0102]: the descriptor has no `name`; the project file makes it `assembly::shop::1.2`
        help: write `name: assembly::shop::1.2`
    Descriptor/assembly.yml:2:15: error[WL0143]: `$lmctl:/contains:/wbe:/descriptor_name` names nothing that the project contains
        help: did you mean `$lmctl:/contains:/web:/descriptor_name`?
    ");
    assert_eq!(read.diagnostics.fixes().count(), 1);
}

#[test]
fn a_placeholder_that_is_near_to_nothing_is_told_once() {
    let folder = project();
    folder.write(
        "Descriptor/assembly.yml",
        "name: assembly::shop::1.2\ncomposition:\n  a: {type: '$lmctl:/contains:/cellar:/descriptor_name'}\n",
    );
    let file = folder.path("Descriptor/assembly.yml");
    let read = load(&file);
    let Some(descriptor) = read.descriptor else { panic!("it is an assembly") };
    insta::assert_snapshot!(folder.show(&read.diagnostics), @"
    Descriptor/assembly.yml:3:13: error[WL0143]: `$lmctl:/contains:/cellar:/descriptor_name` names nothing that the project contains
        help: the project contains `$lmctl:/contains:/depot:/descriptor_name`, `$lmctl:/contains:/depot:/contains:/shelf:/descriptor_name` and `$lmctl:/contains:/web:/descriptor_name`
    ");
    let said = check(&descriptor, &windlass_descriptor::MemoryCatalog::new(), Missing::Tolerated);
    assert_eq!(folder.show(&said), "");
}

#[test]
fn another_name_than_the_project_gives_is_an_error() {
    let folder = project();
    folder.write("Contains/frontend/Definitions/lm/resource.yaml", "name: resource::web::1.2\n");
    let read = load(&folder.path("Contains/frontend/Definitions/lm/resource.yaml"));
    insta::assert_snapshot!(folder.show(&read.diagnostics), @"
    Contains/frontend/Definitions/lm/resource.yaml:1:7: error[WL0109]: the project file makes this `resource::web-shop::1.2`, and it calls itself `resource::web::1.2`
        help: leave the name out, or write the project's
    ");
}

#[test]
fn what_a_build_has_made_stands_for_itself() {
    let folder = project();
    let file = "_lmctl/staging/Contains/frontend/Definitions/lm/resource.yaml";
    folder.write(file, "name: resource::web::9.9\n");
    assert_eq!(folder.show(&load(&folder.path(file)).diagnostics), "");
}

#[test]
fn old_projects_keep_their_parts_elsewhere() {
    let folder = Folder::with(&[
        ("lmproject.yml", "name: shop\nversion: 1.0\nvnfcs:\n  definitions:\n    web: {directory: front}\n"),
        ("VNFCs/front/descriptor/front.yml", "lifecycle: [Install]\n"),
    ]);
    let read = load(&folder.path("VNFCs/front/descriptor/front.yml"));
    assert_eq!(read.descriptor.unwrap().name().unwrap().to_string(), "resource::web-shop::1.0");
}
