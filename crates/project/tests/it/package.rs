//! Packages: their files, and their driver bindings.

use std::fmt::Write as _;

use insta::assert_snapshot;
use windlass_driver::Package;
use windlass_project::DiskCatalog;
use windlass_source::Diagnostics;

use crate::folder::{Folder, assembly, resource};

fn package(folder: &Folder, name: &str) -> Result<Package, Diagnostics> {
    let (catalog, _) = DiskCatalog::scan(&[folder.path("")]);
    catalog.package(&name.parse().unwrap())
}

fn problems(folder: &Folder, name: &str) -> String {
    folder.show(&package(folder, name).unwrap_err())
}

fn files(package: &Package) -> String {
    let mut text = String::new();
    for file in package.files() {
        let bit = if file.executable { 'x' } else { '-' };
        writeln!(text, "{bit} {:3} {}", file.content.len(), file.path).unwrap();
    }
    text
}

#[test]
fn a_package_has_all_files_with_their_run_bits() {
    let folder = Folder::with(&[
        ("web/Definitions/lm/resource.yaml", &resource("web")),
        ("web/Lifecycle/script/config/a b.json", "{}"),
        ("web/Lifecycle/script/node_modules/x.js", "x"),
        ("web/.gitignore", "*.pyc\n"),
        ("web/empty", ""),
        ("web/.git/HEAD", "ref"),
        ("web/_lmctl/x", "x"),
        ("web/Lifecycle/script/__pycache__/a.pyc", "x"),
        ("web/Contains/part/resource.yaml", &resource("part")),
        ("web/Lifecycle/Contains/kept", "x"),
    ]);
    folder.script("web/Lifecycle/script/scripts/Install.sh");
    folder.link("web/Lifecycle/script/scripts/Start.sh", "Install.sh");
    assert_snapshot!(files(&package(&folder, "resource::web::1.0").unwrap()), @"
    -   6 .gitignore
    -  73 Definitions/lm/resource.yaml
    -   1 Lifecycle/Contains/kept
    -   2 Lifecycle/script/config/a b.json
    -   1 Lifecycle/script/node_modules/x.js
    x  10 Lifecycle/script/scripts/Install.sh
    x  10 Lifecycle/script/scripts/Start.sh
    -   0 empty
    ");
}

/// Ignored files do not belong to a package, so a change of them does not change its digest.
#[test]
fn ignored_files_are_no_part_of_a_package() {
    let folder = Folder::with(&[
        ("web/resource.yaml", &resource("web")),
        ("web/README.md", "# Web\n"),
        ("web/Lifecycle/script/lib/readme.txt", "x"),
        ("web/Lifecycle/script/scripts/Install.sh~", "x"),
        ("web/Lifecycle/script/scripts/.Install.sh.swp", "x"),
        ("web/notes/a.txt", "x"),
        ("web/Lifecycle/script/test.log", "x"),
        ("web/Lifecycle/script/kept.log", "x"),
        ("web/.windlassignore", "*.log\n!kept.log\n/notes/\n"),
    ]);
    folder.script("web/Lifecycle/script/scripts/Install.sh");
    assert_snapshot!(files(&package(&folder, "resource::web::1.0").unwrap()), @"
    -   1 Lifecycle/script/kept.log
    x  10 Lifecycle/script/scripts/Install.sh
    -  73 resource.yaml
    ");
    let folder = Folder::with(&[
        ("web/resource.yaml", &resource("web")),
        ("web/.windlassignore", "# ours\n\n*.log\na[\n"),
    ]);
    assert_snapshot!(problems(&folder, "resource::web::1.0"), @"
    web/.windlassignore:4:1: error[WL0344]: `a[` is no pattern: invalid range pattern
        help: write a path with `*`, `?`, `**` or `[a-z]`, as `*.log`
    ");
}

#[test]
fn the_same_files_have_the_same_digest() {
    let make = || {
        let folder = Folder::with(&[("web/resource.yaml", &resource("web")), ("web/data", "1")]);
        folder.script("web/Lifecycle/script/scripts/Install.sh");
        folder
    };
    let (one, two) = (make(), make());
    let digest = |folder: &Folder| package(folder, "resource::web::1.0").unwrap().digest().clone();
    assert_eq!(digest(&one), digest(&two));
    two.write("web/data", "2");
    assert_ne!(digest(&one), digest(&two));
}

#[test]
fn drivers_come_with_selectors_and_properties() {
    let folder = Folder::with(&[(
        "web/resource.yaml",
        "name: resource::web::1.0
lifecycle:
  Install: {}
  Start:
    drivers:
      ansible:
        selector: {infrastructure-type: [Openstack, Kubernetes]}
        properties: {playbook: start.yaml}
operations:
  Scale:
    drivers: {script: {}}
default-driver:
  script:
    selector: {infrastructure-type: ['*']}
    properties: {effect: repeatable, timeout: 1m}
",
    )]);
    let package = package(&folder, "resource::web::1.0").unwrap();
    insta::assert_json_snapshot!(package.bindings(), @r#"
    {
      "transitions": {
        "Install": [],
        "Start": [
          {
            "driver": "ansible",
            "infrastructure": [
              "Openstack",
              "Kubernetes"
            ],
            "properties": {
              "playbook": "start.yaml"
            }
          }
        ]
      },
      "operations": {
        "Scale": [
          {
            "driver": "script",
            "infrastructure": [
              "*"
            ],
            "properties": {}
          }
        ]
      },
      "default": [
        {
          "driver": "script",
          "infrastructure": [
            "*"
          ],
          "properties": {
            "effect": "repeatable",
            "timeout": "1m"
          }
        }
      ]
    }
    "#);
}

#[test]
fn an_assembly_has_no_package() {
    let folder =
        Folder::with(&[("assembly.yaml", &assembly("shop", &[])), ("web/resource.yaml", &resource("web"))]);
    assert_snapshot!(problems(&folder, "assembly::shop::1.0"), @"
    error[WL0340]: there is no package of the resource `assembly::shop::1.0`
        help: put it into `Contains/` beside the assembly, or name its folder with `--catalog`
    ");
    assert_snapshot!(problems(&folder, "resource::wbe::1.0"), @"
    error[WL0340]: there is no package of the resource `resource::wbe::1.0`
        help: did you mean `resource::web::1.0`?
    ");
    assert_snapshot!(problems(&folder, "resource::elsewhere::7"), @"
    error[WL0340]: there is no package of the resource `resource::elsewhere::7`
        help: put it into `Contains/` beside the assembly, or name its folder with `--catalog`
    ");
}

#[test]
fn a_name_in_two_files_has_no_package() {
    let folder =
        Folder::with(&[("a/resource.yaml", &resource("web")), ("b/resource.yaml", &resource("web"))]);
    assert_snapshot!(problems(&folder, "resource::web::1.0"), @"
    a/resource.yaml:1:7: error[WL0330]: `resource::web::1.0` is in 2 files: `a/resource.yaml`, `b/resource.yaml`
        b/resource.yaml:1:7: the same name
        help: remove one, or give it another version
    ");
}

#[test]
fn a_descriptor_with_mistakes_has_no_package() {
    let folder = Folder::with(&[("web/resource.yaml", "name: resource::web::1.0\nlifecycle: Install\n")]);
    assert_snapshot!(problems(&folder, "resource::web::1.0"), @"web/resource.yaml:2:12: error[WL0104]: `lifecycle` must be a list or a mapping, and this is text");
}

#[test]
fn links_stay_in_the_package() {
    let folder = Folder::with(&[
        ("web/resource.yaml", &resource("web")),
        ("web/lib/a.sh", ""),
        ("shared/lib.sh", ""),
        ("secret", "hidden"),
    ]);
    folder.link("web/out", "../secret");
    folder.link("web/absolute", folder.path("secret"));
    folder.link("web/shared", "../shared");
    folder.link("web/again", "lib");
    folder.link("web/loop", "loop");
    folder.link("web/gone", "nothing");
    assert_snapshot!(problems(&folder, "resource::web::1.0"), @"
    error[WL0341]: `web/absolute` is a link out of the package, to `secret`
        help: put a copy of the file there
    error[WL0341]: `web/again` is a link to a folder, and a package may link to files only
        help: put a folder with copies of the files there
    error[WL0341]: `web/gone` is a link to a missing file
        help: put a copy of the file there
    error[WL0341]: `web/loop` is a link to a missing file
        help: put a copy of the file there
    error[WL0341]: `web/out` is a link out of the package, to `secret`
        help: put a copy of the file there
    error[WL0341]: `web/shared` is a link out of the package, to `shared`
        help: put a copy of the file there
    ");
}

/// The path of a package folder may be relative, or lead through a link.
#[test]
fn a_link_inside_a_linked_folder_is_allowed() {
    let folder = Folder::with(&[("scripts/launch.sh", "true")]);
    folder.link("scripts/also.sh", "launch.sh");
    folder.link("alias", "scripts");
    let files = windlass_project::files_in(&folder.path("alias")).unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["also.sh", "launch.sh"]);
}

#[test]
fn a_package_has_files_and_folders_only() {
    let folder = Folder::with(&[("web/resource.yaml", &resource("web"))]);
    let _socket = std::os::unix::net::UnixListener::bind(folder.path("web/socket")).unwrap();
    assert_snapshot!(problems(&folder, "resource::web::1.0"), @"
    error[WL0342]: `web/socket` is neither a file nor a folder
        help: move it out of the package
    ");
}

#[test]
fn a_package_has_limits() {
    let folder = Folder::with(&[("web/resource.yaml", &resource("web"))]);
    let large = std::fs::File::create(folder.path("web/image.iso")).unwrap();
    large.set_len(windlass_project::package::MAX_BYTES + 1).unwrap();
    assert_snapshot!(problems(&folder, "resource::web::1.0"), @"
    error[WL0343]: the package `web` has more than 4096 files, 64 MiB or 32 levels of folders; `web/image.iso` is beyond that
        help: let the scripts download large files
    ");

    let folder = Folder::with(&[("web/resource.yaml", &resource("web"))]);
    for number in 0..windlass_project::package::MAX_FILES {
        folder.write(&format!("web/f{number:04}"), "");
    }
    assert_snapshot!(problems(&folder, "resource::web::1.0"), @"
    error[WL0343]: the package `web` has more than 4096 files, 64 MiB or 32 levels of folders; `web/resource.yaml` is beyond that
        help: let the scripts download large files
    ");
}
