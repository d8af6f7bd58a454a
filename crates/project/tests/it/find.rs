//! Tests of the search for the file of an assembly. The user gives the path of a file or of a folder.

use std::path::Path;

use insta::assert_snapshot;
use rstest::rstest;
use windlass_project::{find_descriptor, load};
use windlass_source::files::MAX_SIZE;

use crate::folder::Folder;

fn problem(folder: &Folder, path: &str) -> String {
    folder.show_one(&find_descriptor(&folder.path(path)).unwrap_err())
}

#[rstest]
#[case::flat("assembly.yaml")]
#[case::short_ending("assembly.yml")]
#[case::package("Descriptor/assembly.yml")]
#[case::package_long_ending("Descriptor/assembly.yaml")]
fn a_folder_means_its_assembly(#[case] layout: &str) {
    let folder = Folder::with(&[(layout, "")]);
    assert_eq!(find_descriptor(&folder.path("")).unwrap(), folder.path(layout));
}

#[test]
fn a_file_means_itself() {
    let folder = Folder::with(&[("shop.yaml", "")]);
    assert_eq!(find_descriptor(&folder.path("shop.yaml")).unwrap(), folder.path("shop.yaml"));
}

#[test]
fn nothing_there() {
    let folder = Folder::with(&[("shop/assembly.yaml", "")]);
    assert_snapshot!(problem(&folder, "shpo"), @"
    error[WL0300]: there is no file or folder `shpo`
        help: did you mean `shop`?
    ");
    assert_snapshot!(problem(&folder, "shop/asembly.yaml"), @"
    error[WL0300]: there is no file or folder `shop/asembly.yaml`
        help: did you mean `shop/assembly.yaml`?
    ");
    assert_snapshot!(problem(&folder, "nowhere/at/all"), @"error[WL0300]: there is no file or folder `nowhere/at/all`");
}

#[test]
fn a_folder_without_an_assembly() {
    let folder = Folder::with(&[("empty/notes.txt", "")]);
    assert_snapshot!(problem(&folder, "empty"), @"
    error[WL0303]: there is no assembly descriptor in `empty`
        help: an assembly has one of `assembly.yaml`, `assembly.yml`, `Descriptor/assembly.yml` and `Descriptor/assembly.yaml`
    ");
}

#[test]
fn a_folder_of_assemblies() {
    let folder = Folder::with(&[
        ("all/one/assembly.yaml", ""),
        ("all/two/Descriptor/assembly.yml", ""),
        ("all/two/Contains/inner/assembly.yaml", ""),
        ("all/two/Contains/web/resource.yaml", ""),
    ]);
    assert_snapshot!(problem(&folder, "all"), @"
    error[WL0303]: there is no assembly descriptor in `all`
        help: did you mean `all/one` or `all/two`?
    ");
}

#[test]
fn the_package_of_a_resource() {
    let folder = Folder::with(&[("web/Definitions/lm/resource.yaml", "")]);
    assert_snapshot!(problem(&folder, "web"), @"
    error[WL0303]: there is no assembly descriptor in `web`
        help: it is the package of a resource; `windlass check` accepts `web/Definitions/lm/resource.yaml`
    ");
}

#[test]
fn several_assemblies_in_one_folder() {
    let folder = Folder::with(&[("shop/assembly.yaml", ""), ("shop/Descriptor/assembly.yml", "")]);
    assert_snapshot!(problem(&folder, "shop"), @"
    error[WL0304]: `shop` has 2 assembly descriptors: `shop/assembly.yaml`, `shop/Descriptor/assembly.yml`
        help: name the file
    ");
}

#[test]
fn loading_says_why_it_can_not() {
    let folder = Folder::with(&[("shop/assembly.yaml", "")]);
    let show = |path: &str| folder.show(&load(&folder.path(path)).diagnostics);
    assert_snapshot!(show("shop"), @"error[WL0301]: `shop` is a folder, but a file is expected");
    assert_snapshot!(show("shop/assembly.yml"), @"
    error[WL0300]: there is no file or folder `shop/assembly.yml`
        help: did you mean `shop/assembly.yaml`?
    ");
}

#[test]
fn a_document_has_a_limit() {
    let folder = Folder::new();
    folder.write("assembly.yaml", "#".repeat(MAX_SIZE + 1));
    assert_snapshot!(folder.show(&load(&folder.path("assembly.yaml")).diagnostics), @"
    error[WL0302]: `assembly.yaml` has more than 16 MiB
        help: name another file, or raise the limit, such as `--max-size 64MiB`
    ");
}

#[test]
fn files_are_called_as_from_the_working_folder() {
    // The tests run in the folder of their crate.
    let read = load(Path::new("./../../fixtures/assemblies/h_bta/assembly.yaml"));
    assert_eq!(read.descriptor.unwrap().source().name(), "../../fixtures/assemblies/h_bta/assembly.yaml");
    let absolute = Path::new("Cargo.toml").canonicalize().unwrap();
    assert_eq!(windlass_project::disk::shown(&absolute), "Cargo.toml");
}
