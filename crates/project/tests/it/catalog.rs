//! Descriptors on disk: found, skipped and conflicting ones.

use insta::assert_snapshot;
use rstest::rstest;
use windlass_descriptor::{Catalog as _, Descriptor};
use windlass_project::{DiskCatalog, Project, load};
use windlass_source::files::MAX_SIZE;

use crate::folder::{Folder, assembly, resource};

/// Returns the catalog of everything in and below a folder.
fn scan(folder: &Folder) -> String {
    let (catalog, diagnostics) = DiskCatalog::scan(&[folder.path("")]);
    show(folder, &catalog, &folder.show(&diagnostics))
}

/// Returns the catalog of the descriptors that an assembly can use.
fn around(folder: &Folder, file: &str, folders: &[&str]) -> String {
    let file = folder.path(file);
    let project = Project::open(&file, &folder.path("")).unwrap();
    let Some(Descriptor::Assembly(assembly)) = load(&file).descriptor else { panic!("it is an assembly") };
    let folders: Vec<_> = folders.iter().map(|below| folder.path(below)).collect();
    let (catalog, diagnostics) = DiskCatalog::around(&file, &assembly, &project, &folders);
    show(folder, &catalog, &folder.show(&diagnostics))
}

fn show(folder: &Folder, catalog: &DiskCatalog, diagnostics: &str) -> String {
    let line = |name| {
        let file = catalog.file(&name).unwrap().display().to_string();
        format!("{name}  {}\n", folder.clean(&file))
    };
    let names: String = catalog.names().into_iter().map(line).collect();
    format!("{names}{diagnostics}")
}

#[rstest]
#[case::flat("web/resource.yaml")]
#[case::short_ending("web/resource.yml")]
#[case::package("web/Definitions/lm/resource.yaml")]
#[case::package_short_ending("web/Definitions/lm/resource.yml")]
#[case::contained("Contains/web/resource.yaml")]
#[case::contained_package("Contains/web/Definitions/lm/resource.yaml")]
fn layouts_of_a_resource(#[case] layout: &str) {
    let folder =
        Folder::with(&[("assembly.yaml", &assembly("shop", &["resource::web"])), (layout, &resource("web"))]);
    let expected = format!("assembly::shop::1.0  assembly.yaml\nresource::web::1.0  {layout}\n");
    assert_eq!(around(&folder, "assembly.yaml", &[]), expected);
    assert_eq!(scan(&folder), expected);
}

#[rstest]
#[case::flat("Contains/inner/assembly.yaml")]
#[case::short_ending("Contains/inner/assembly.yml")]
#[case::package("Contains/inner/Descriptor/assembly.yml")]
fn layouts_of_an_assembly(#[case] layout: &str) {
    let folder = Folder::with(&[
        ("Descriptor/assembly.yml", &assembly("shop", &["assembly::inner"])),
        (layout, &assembly("inner", &["resource::web"])),
        ("Contains/inner/Contains/web/resource.yaml", &resource("web")),
    ]);
    let expected = format!(
        "assembly::inner::1.0  {layout}\nassembly::shop::1.0  Descriptor/assembly.yml\n\
         resource::web::1.0  Contains/inner/Contains/web/resource.yaml\n"
    );
    assert_eq!(around(&folder, "Descriptor/assembly.yml", &[]), expected);
    assert_eq!(scan(&folder), expected);
}

#[test]
fn packages_are_found_upwards_to_the_root() {
    let shop = assembly("shop", &["resource::web", "resource::db", "resource::cache"]);
    let folder = Folder::with(&[
        ("outside/resource.yaml", &resource("outside")),
        ("project/windlass.yaml", "version: 1\n"),
        ("project/cache/resource.yaml", &resource("cache")),
        ("project/team/db/resource.yaml", &resource("db")),
        ("project/team/shop/web/resource.yaml", &resource("web")),
        ("project/team/shop/assembly.yaml", &shop),
        ("project/team/shop/deep/er/resource.yaml", &resource("deeper")),
    ]);
    assert_snapshot!(around(&folder, "project/team/shop/assembly.yaml", &[]), @"
    assembly::shop::1.0  project/team/shop/assembly.yaml
    resource::cache::1.0  project/cache/resource.yaml
    resource::db::1.0  project/team/db/resource.yaml
    resource::web::1.0  project/team/shop/web/resource.yaml
    ");
}

#[test]
fn folders_of_the_user_are_searched_to_the_bottom() {
    let folder = Folder::with(&[
        ("project/windlass.yaml", "version: 1\n"),
        ("project/assembly.yaml", &assembly("shop", &["resource::web", "assembly::voice"])),
        ("library/a/b/web/resource.yaml", &resource("web")),
        ("library/voice/assembly.yaml", &assembly("voice", &["resource::pbx"])),
        ("library/voice/Contains/pbx/resource.yaml", &resource("pbx")),
        ("library/unused/assembly.yaml", &assembly("unused", &["resource::pbx"])),
        ("library/unused/Contains/pbx/resource.yaml", &resource("pbx")),
        ("packages/Contains/db/resource.yaml", &resource("db")),
    ]);
    assert_snapshot!(around(&folder, "project/assembly.yaml", &["library", "packages"]), @"
    assembly::shop::1.0  project/assembly.yaml
    assembly::unused::1.0  library/unused/assembly.yaml
    assembly::voice::1.0  library/voice/assembly.yaml
    resource::db::1.0  packages/Contains/db/resource.yaml
    resource::pbx::1.0  library/voice/Contains/pbx/resource.yaml
    resource::web::1.0  library/a/b/web/resource.yaml
    ");
}

#[test]
fn a_folder_of_the_user_that_is_not_there() {
    let folder = Folder::with(&[("assembly.yaml", &assembly("shop", &[]))]);
    assert_snapshot!(around(&folder, "assembly.yaml", &["library"]), @"
    assembly::shop::1.0  assembly.yaml
    error[WL0300]: there is no file or folder `library`
    ");
}

#[test]
fn some_folders_are_passed_over() {
    let folder = Folder::with(&[
        ("web/resource.yaml", &resource("web")),
        ("_lmctl/staging/resource.yaml", &resource("staged")),
        (".git/resource.yaml", &resource("hidden")),
        ("target/resource.yaml", &resource("built")),
        ("node_modules/x/resource.yaml", &resource("module")),
        ("web/Lifecycle/script/config/resource.yaml", &resource("inner")),
    ]);
    folder.link("web/loop", folder.path(""));
    folder.link("again", folder.path("web"));
    assert_snapshot!(scan(&folder), @"resource::web::1.0  web/resource.yaml");
}

#[test]
fn other_yaml_is_left_out_in_silence() {
    let folder = Folder::with(&[
        ("a/resource.yaml", "apiVersion: v1\nkind: List\nitems: []\n"),
        ("b/resource.yaml", "name: something-else\n"),
        ("c/resource.yaml", "- a\n- b\n"),
        ("d/resource.yaml", ""),
        ("e/resource.yaml", "{{ template }}\n"),
        ("f/web.yaml", &resource("web")),
        ("g/resource.yaml/x", ""),
    ]);
    assert_snapshot!(scan(&folder), @"");
}

#[test]
fn a_descriptor_without_a_usable_name_is_said() {
    let folder = Folder::with(&[
        ("a/resource.yaml", "lifecycle: [Install]\n"),
        ("b/resource.yaml", "name: resource:web:1.0\nlifecycle: [Install]\n"),
        ("c/assembly.yaml", "composition: {}\n"),
    ]);
    assert_snapshot!(scan(&folder), @"
    a/resource.yaml:1:1: warning[WL0331]: the descriptor has no valid name, so no assembly can use it
        help: the descriptor has no `name`
    b/resource.yaml:1:7: warning[WL0331]: the descriptor has no valid name, so no assembly can use it
        help: `resource:web:1.0` is not of the form `kind::name::version`, such as `assembly::shop::1.0`
    c/assembly.yaml:1:1: warning[WL0331]: the descriptor has no valid name, so no assembly can use it
        help: the descriptor has no `name`
    ");
}

#[test]
fn syntax_errors_do_not_hide_a_descriptor() {
    let folder = Folder::with(&[
        ("assembly.yaml", &assembly("shop", &["resource::web", "resource::db"])),
        ("web/resource.yaml", "name: resource::web::1.0\nproperties: {a: [}\nlifecycle: [Install]\n"),
        ("db/resource.yaml", "name: resource:: db::1.0\n"),
    ]);
    assert_snapshot!(around(&folder, "assembly.yaml", &[]), @"
    assembly::shop::1.0  assembly.yaml
    resource::db::1.0  db/resource.yaml
    resource::web::1.0  web/resource.yaml
    db/resource.yaml:1:16: error[WL0009]: colon and space inside the text `resource:: db::1.0`
        help: write `resource::db::1.0`
    web/resource.yaml:2:18: error[WL0019]: `[` is closed by `}`
        web/resource.yaml:2:17: opened here
        help: write `]`, or quote the text
    ");
}

#[test]
fn what_can_not_be_read_is_said_where_something_is_missing() {
    let files = |types: &[&str]| {
        let folder = Folder::with(&[
            ("assembly.yaml", &assembly("shop", types)),
            ("web/resource.yaml", &resource("web")),
            ("db/resource.yaml", "lifecycle: [Install]\n"),
        ]);
        around(&folder, "assembly.yaml", &[])
    };
    assert_snapshot!(files(&["resource::web"]), @"
    assembly::shop::1.0  assembly.yaml
    resource::web::1.0  web/resource.yaml
    ");
    assert_snapshot!(files(&["resource::web", "resource::db"]), @"
    assembly::shop::1.0  assembly.yaml
    resource::web::1.0  web/resource.yaml
    db/resource.yaml:1:1: warning[WL0331]: the descriptor has no valid name, so no assembly can use it
        help: the descriptor has no `name`
    ");
}

#[test]
fn files_that_can_not_be_read_are_said() {
    let folder = Folder::with(&[("web/resource.yaml", &resource("web"))]);
    folder.write("db/resource.yaml", b"name: \xff\n");
    folder.write("big/resource.yaml", "#".repeat(MAX_SIZE + 1));
    assert_snapshot!(scan(&folder), @"
    resource::web::1.0  web/resource.yaml
    warning[WL0302]: `big/resource.yaml` has more than 16 MiB
        help: name another file, or raise the limit, such as `--max-size 64MiB`
    db/resource.yaml:1:7: warning[WL0002]: the text is not UTF-8: byte 0xff at offset 6
        help: save the file as UTF-8; bytes that are not text can be given as base64
    ");
}

#[test]
fn two_files_with_one_name() {
    let folder = Folder::with(&[
        ("assembly.yaml", &assembly("shop", &["resource::web"])),
        ("Contains/web/resource.yaml", &resource("web")),
        ("web2/resource.yaml", "# a copy\nname: resource::web::1.0.0\n"),
    ]);
    assert_snapshot!(around(&folder, "assembly.yaml", &[]), @"
    assembly::shop::1.0  assembly.yaml
    resource::web::1.0  Contains/web/resource.yaml
    Contains/web/resource.yaml:1:7: error[WL0330]: `resource::web::1.0` is in 2 files: `Contains/web/resource.yaml`, `web2/resource.yaml`
        web2/resource.yaml:2:7: the same name
        help: remove one, or give it another version
    ");
}

#[test]
fn two_layouts_in_one_package() {
    let folder = Folder::with(&[
        ("web/resource.yaml", &resource("web")),
        ("web/Definitions/lm/resource.yaml", &resource("web")),
    ]);
    assert_snapshot!(scan(&folder), @"
    resource::web::1.0  web/Definitions/lm/resource.yaml
    web/Definitions/lm/resource.yaml:1:7: error[WL0330]: `resource::web::1.0` is in 2 files: `web/Definitions/lm/resource.yaml`, `web/resource.yaml`
        web/resource.yaml:1:7: the same name
        help: remove one, or give it another version
    ");
}

#[test]
fn a_name_that_nobody_uses_is_no_conflict() {
    let folder = Folder::with(&[
        ("shop/assembly.yaml", &assembly("shop", &["resource::web"])),
        ("shop/web/resource.yaml", &resource("web")),
        ("copy/assembly.yaml", &assembly("shop", &["resource::web"])),
        ("copy/web/resource.yaml", &resource("web")),
    ]);
    assert_snapshot!(around(&folder, "shop/assembly.yaml", &[]), @"
    assembly::shop::1.0  copy/assembly.yaml
    resource::web::1.0  shop/web/resource.yaml
    ");
}

#[test]
fn what_another_assembly_contains_is_its_own() {
    let files = |types: &[&str]| {
        Folder::with(&[
            ("shop/assembly.yaml", &assembly("shop", types)),
            ("shop/Contains/web/resource.yaml", &resource("web")),
            ("other/assembly.yaml", &assembly("other", &["resource::web"])),
            ("other/Contains/web/resource.yaml", &resource("web")),
        ])
    };
    // Neither assembly uses the other, so their packages do not conflict.
    assert_snapshot!(around(&files(&["resource::web"]), "shop/assembly.yaml", &[]), @"
    assembly::other::1.0  other/assembly.yaml
    assembly::shop::1.0  shop/assembly.yaml
    resource::web::1.0  shop/Contains/web/resource.yaml
    ");
    // One assembly has the other as a component, so both descriptors of the same name are found.
    assert_snapshot!(around(&files(&["resource::web", "assembly::other"]), "shop/assembly.yaml", &[]), @"
    assembly::other::1.0  other/assembly.yaml
    assembly::shop::1.0  shop/assembly.yaml
    resource::web::1.0  other/Contains/web/resource.yaml
    other/Contains/web/resource.yaml:1:7: error[WL0330]: `resource::web::1.0` is in 2 files: `other/Contains/web/resource.yaml`, `shop/Contains/web/resource.yaml`
        shop/Contains/web/resource.yaml:1:7: the same name
        help: remove one, or give it another version
    ");
}

/// An assembly names the nested assembly `x` as the type of a component. The search may read this name before it has
/// found the file of `x`. Nevertheless, the search must find the packages of `x`.
#[test]
fn the_order_of_components_is_irrelevant() {
    let found = |types: &[&str]| {
        let folder = Folder::with(&[
            ("assembly.yaml", &assembly("shop", types)),
            ("Contains/b/assembly.yaml", &assembly("b", &["assembly::x"])),
            ("Contains/b/Contains/x/assembly.yaml", &assembly("x", &["resource::r"])),
            ("Contains/b/Contains/x/Contains/r/resource.yaml", &resource("r")),
        ]);
        around(&folder, "assembly.yaml", &[])
    };
    let in_one_order = found(&["assembly::b", "assembly::x"]);
    assert_snapshot!(in_one_order, @"
    assembly::b::1.0  Contains/b/assembly.yaml
    assembly::shop::1.0  assembly.yaml
    assembly::x::1.0  Contains/b/Contains/x/assembly.yaml
    resource::r::1.0  Contains/b/Contains/x/Contains/r/resource.yaml
    ");
    assert_eq!(found(&["assembly::x", "assembly::b"]), in_one_order);
}

#[test]
fn mistakes_count_where_a_descriptor_is_used() {
    let folder = Folder::with(&[
        ("shop/assembly.yaml", &assembly("shop", &["resource::web"])),
        (
            "shop/Contains/web/resource.yaml",
            "name: resource::web::1.0\nproperties: {size: {required: maybe}}\n",
        ),
        ("shop/Contains/unused/resource.yaml", "name: resource::unused::1.0\nproperties: []\n"),
    ]);
    assert_snapshot!(around(&folder, "shop/assembly.yaml", &[]), @"
    assembly::shop::1.0  shop/assembly.yaml
    resource::unused::1.0  shop/Contains/unused/resource.yaml
    resource::web::1.0  shop/Contains/web/resource.yaml
    shop/Contains/web/resource.yaml:2:31: error[WL0125]: `required` must be `true` or `false`
    ");
}

#[test]
fn assemblies_inside_each_other_end() {
    let folder = Folder::with(&[
        ("assembly.yaml", &assembly("a", &["assembly::b"])),
        ("Contains/b/assembly.yaml", &assembly("b", &["assembly::a"])),
    ]);
    assert_snapshot!(around(&folder, "assembly.yaml", &[]), @"
    assembly::a::1.0  assembly.yaml
    assembly::b::1.0  Contains/b/assembly.yaml
    ");
}

#[test]
fn the_same_folder_twice_is_no_conflict() {
    let folder = Folder::with(&[
        ("assembly.yaml", &assembly("shop", &["resource::web"])),
        ("Contains/web/resource.yaml", &resource("web")),
    ]);
    let found = around(&folder, "assembly.yaml", &["Contains", "", "Contains/web"]);
    assert_eq!(found, around(&folder, "assembly.yaml", &[]));
}

#[test]
fn the_search_has_a_bottom() {
    let deep = "deep/".repeat(20);
    let folder = Folder::with(&[
        (&format!("{deep}web/resource.yaml"), &resource("web")),
        ("deep/db/resource.yaml", &resource("db")),
    ]);
    assert_snapshot!(scan(&folder), @"
    resource::db::1.0  deep/db/resource.yaml
    warning[WL0332]: the search for descriptors stops at `deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep`
        help: name the folders of the packages with `--catalog`
    ");
}
