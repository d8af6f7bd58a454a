//! The project of a file, and the placement of components.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use windlass_driver::{Location, Placement, Registry};
use windlass_model::record::LocationRecord;
use windlass_project::{Overlay, Project};

use crate::folder::Folder;
use crate::kinds::kinds;

fn placed(location: &str, manager: &str) -> Placement {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Placement { location: given(location), manager: given(manager), recorded: None }
}

fn project(text: &str) -> (Folder, Project) {
    let folder = Folder::with(&[("windlass.yaml", text)]);
    let project = Project::open(&folder.path(""), &folder.path("")).unwrap();
    (folder, project)
}

const TWO: &str = "version: 1
locations:
  admin@local: {resource-manager: test-rm}
  core1: {}
";

#[test]
fn the_nearest_file_above_counts() {
    let folder = Folder::with(&[
        ("windlass.yaml", "version: 1\n"),
        ("team/windlass.yaml", "version: 1\n"),
        ("team/shop/assembly.yaml", ""),
        ("other/assembly.yaml", ""),
    ]);
    let root =
        |start: &str| Project::open(&folder.path(start), &folder.path("other")).unwrap().root().to_path_buf();
    assert_eq!(root("team/shop/assembly.yaml"), folder.path("team"));
    assert_eq!(root("team/shop"), folder.path("team"));
    assert_eq!(root("team"), folder.path("team"));
    assert_eq!(root("other/assembly.yaml"), folder.path(""));
}

/// If no `windlass.yaml` is at or above the file, that of the other folder is used.
#[test]
fn the_file_of_the_fallback_counts() {
    let folder = Folder::with(&[
        ("app/assembly.yaml", ""),
        ("own/windlass.yaml", "version: 1\n"),
        ("own/assembly.yaml", ""),
        ("envs/windlass.yaml", "version: 1\nlocations: {farm: {}}\n"),
        ("envs/prod/note", ""),
        ("bare/note", ""),
    ]);
    let root = |start: &str, fallback: &str| {
        let project = Project::open(&folder.path(start), &folder.path(fallback)).unwrap();
        (project.root().to_path_buf(), project.locations().count())
    };
    assert_eq!(root("app/assembly.yaml", "envs/prod"), (folder.path("envs"), 1));
    assert_eq!(root("own/assembly.yaml", "envs/prod"), (folder.path("own"), 0));
    assert_eq!(root("app", "bare"), (folder.path("bare"), 0));
}

/// A function that creates something in a folder.
type Make<'a> = &'a dyn Fn(&Folder);

#[test]
fn what_has_the_name_of_the_file_is_never_passed_over() {
    let why = |make: &dyn Fn(&Folder)| {
        let folder = Folder::with(&[("windlass.yaml", "version: 1\n"), ("shop/assembly.yaml", "")]);
        make(&folder);
        folder.show(&Project::open(&folder.path("shop"), &folder.path("")).unwrap_err())
    };
    let file = "shop/windlass.yaml";
    let pipe = |folder: &Folder| {
        assert!(std::process::Command::new("mkfifo").arg(folder.path(file)).status().unwrap().success());
    };
    let cases: [(Make<'_>, &str); 4] = [
        (&|folder| std::fs::create_dir(folder.path(file)).unwrap(), "is a folder, but a file is expected"),
        (&|folder| folder.link(file, "nowhere"), "is a link to `nowhere`, which is not there"),
        (&|folder| folder.link(file, "/dev/zero"), "it is a device, and a regular file is needed"),
        (&pipe, "it is a named pipe, and a regular file is needed"),
    ];
    for (make, expected) in cases {
        let said = why(make);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn without_a_file_the_fallback_is_the_root() {
    let folder = Folder::with(&[("shop/assembly.yaml", ""), ("work/x", "")]);
    let project = Project::open(&folder.path("shop/assembly.yaml"), &folder.path("work")).unwrap();
    assert_eq!((project.root(), project.file()), (folder.path("work").as_path(), None));
    assert_eq!(project.state_dir(), folder.path("work/.windlass"));
    assert_eq!(project.location(&placed("anywhere", "any")).unwrap(), Location::local("anywhere"));
    assert_eq!(project.location(&placed("", "")).unwrap(), Location::local("local"));
}

#[test]
fn links_are_followed_before_looking_up() {
    let folder = Folder::with(&[("real/windlass.yaml", "version: 1\n"), ("real/shop/assembly.yaml", "")]);
    folder.link("shop", folder.path("real/shop"));
    let project = Project::open(&folder.path("shop"), &folder.path("")).unwrap();
    assert_eq!(project.root(), folder.path("real"));
}

#[test]
fn an_empty_path_is_the_working_folder() {
    // `Path::parent` of a bare file name is the empty path. The `windlass.yaml` of this repository is found.
    let project =
        Project::open_with(Path::new(""), Path::new(""), Overlay::default(), &kinds(), &Registry::default())
            .unwrap();
    assert_eq!(project.root(), PathBuf::from("../..").canonicalize().unwrap());
}

#[test]
fn a_start_that_is_not_there() {
    let folder = Folder::with(&[("shop/assembly.yaml", "")]);
    let errors = Project::open(&folder.path("shap"), &folder.path("")).unwrap_err();
    assert_snapshot!(folder.show(&errors), @"
    error[WL0300]: there is no file or folder `shap`
        help: did you mean `shop`?
    ");
}

#[test]
fn a_file_with_another_ending_is_not_passed_over() {
    let folder = Folder::with(&[("windlass.yml", "version: 1\n"), ("shop/assembly.yaml", "")]);
    let errors = Project::open(&folder.path("shop"), &folder.path("")).unwrap_err();
    assert_snapshot!(folder.show(&errors), @"
    error[WL0318]: `windlass.yml` is not read: a project file is called `windlass.yaml`
        help: rename it to `windlass.yaml`
    ");
}

#[test]
fn a_component_goes_to_the_location_it_names() {
    let (_folder, project) = project(TWO);
    let name = |location, manager| project.location(&placed(location, manager)).unwrap().name;
    assert_eq!(name("admin@local", "test-rm"), "admin@local");
    // A location matches if it has no resource manager, or if the component names none.
    assert_eq!(name("admin@local", ""), "admin@local");
    assert_eq!(name("core1", "any-rm"), "core1");
}

#[test]
fn a_component_that_names_none_goes_to_the_only_one() {
    let (_folder, one) = project("version: 1\nlocations:\n  here: {resource-manager: test-rm}\n");
    assert_eq!(one.location(&placed("", "")).unwrap().name, "here");
    assert_eq!(one.location(&placed("", "test-rm")).unwrap().name, "here");
    assert!(one.location(&placed("", "other")).is_err());
    let (_folder, two) = project(TWO);
    assert_eq!(two.location(&placed("", "")).unwrap(), Location::local("local"));
    let (_folder, none) = project("version: 1\n");
    assert_eq!(none.location(&placed("core1", "any")).unwrap(), Location::local("core1"));
}

#[test]
fn unknown_locations() {
    let (folder, project) = project(TWO);
    let near = project.location(&placed("admin@locl", "test-rm")).unwrap_err();
    assert_snapshot!(folder.show_one(&near.diagnostic()), @"
    error[WL0320]: `windlass.yaml` declares no location `admin@locl`
        help: did you mean `admin@local`?
    ");
    let far = project.location(&placed("moon", "test-rm")).unwrap_err();
    assert_snapshot!(folder.show_one(&far.diagnostic()), @"
    error[WL0320]: `windlass.yaml` declares no location `moon`
        help: it declares `admin@local` and `core1`
    ");
}

#[test]
fn a_location_of_another_manager() {
    let (folder, project) = project(TWO);
    let error = project.location(&placed("admin@local", "prod-rm")).unwrap_err();
    assert_snapshot!(folder.show_one(&error.diagnostic()), @"
    error[WL0321]: the location `admin@local` belongs to the resource manager `test-rm`, not to `prod-rm`
        windlass.yaml:3:3: declared here
        help: set the component's `resourceManager` to `test-rm`
    ");
}

/// An instance keeps its recorded location if its component names none.
#[test]
fn an_instance_keeps_its_location() {
    let (_none, none) = project("version: 1\n");
    let (_one, one) = project("version: 1\nlocations: {farm: {}}\n");
    let (_two, two) = project("version: 1\nlocations: {farm: {}, local: {network: host}}\n");
    let at = |project: &Project, location: &str, name: &str, is_declared: bool| {
        let recorded = Some(LocationRecord { name: name.to_owned(), is_declared });
        match project.location(&Placement { recorded, ..placed(location, "") }) {
            Ok(location) => format!("{} {}", location.name, location.is_declared),
            Err(error) => error.to_string().split(", which").next().unwrap().to_owned(),
        }
    };
    let gone = "its instance is at the location `farm`";
    for (project, location, name, is_declared, expected) in [
        (&none, "", "farm", true, gone),
        (&none, "farm", "farm", true, gone),
        (&none, "barn", "farm", true, gone),
        (&none, "", "local", false, "local false"),
        (&none, "", "barn", false, "barn false"),
        (&one, "", "farm", true, "farm true"),
        (&one, "", "local", false, "local false"),
        (&one, "farm", "local", false, "farm true"),
        (&two, "", "farm", true, "farm true"),
        (&two, "", "local", false, "local true"),
    ] {
        assert_eq!(at(project, location, name, is_declared), expected, "{location:?} {name} {is_declared}");
    }
}
