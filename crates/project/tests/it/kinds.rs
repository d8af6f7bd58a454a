//! Kinds of runtimes that a caller registers, and their settings in `windlass.yaml`.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::json;
use windlass_driver::{Location, Registry};
use windlass_project::{ImageUse, Overlay, Project, RuntimeKind, RuntimeKinds, Setting, SettingProblem};

use crate::folder::Folder;

/// A kind without images.
struct Plain;

impl RuntimeKind for Plain {
    fn name(&self) -> &'static str {
        "process"
    }

    fn summary(&self) -> &'static str {
        "processes"
    }

    fn image(&self) -> ImageUse {
        ImageUse::None
    }
}

/// A kind with images, and a setting `port`.
struct Boxed;

impl RuntimeKind for Boxed {
    fn name(&self) -> &'static str {
        "boxed"
    }

    fn summary(&self) -> &'static str {
        "boxes"
    }

    fn image(&self) -> ImageUse {
        ImageUse::Required
    }

    fn settings(&self) -> Vec<Setting> {
        vec![Setting { key: "port", schema: json!({"type": ["string", "integer"]}) }]
    }

    fn check(&self, location: &mut Location) -> Vec<SettingProblem> {
        let problem = match location.settings.get("port").map(|port| (port, port.parse::<u16>())) {
            Some((_, Ok(_))) => return Vec::new(),
            Some((port, Err(_))) => format!("`{port}` is no port"),
            None if location.image.as_deref() == Some("bare") => "the image `bare` needs `port`".to_owned(),
            None => return Vec::new(),
        };
        vec![SettingProblem::error("port", problem)]
    }
}

pub(crate) fn kinds() -> RuntimeKinds {
    [Arc::new(Plain) as Arc<dyn RuntimeKind>, Arc::new(Boxed)].into_iter().collect()
}

fn open(locations: &str) -> (Folder, Result<Project, windlass_source::Diagnostics>) {
    let folder = Folder::with(&[("windlass.yaml", &format!("version: 1\nlocations:\n{locations}"))]);
    let start = folder.path("");
    let project = Project::open_with(&start, &start, Overlay::default(), &kinds(), &Registry::default());
    (folder, project)
}

#[test]
fn a_location_gets_the_first_kind_with_most_of_its_keys() {
    for (keys, kind) in [
        ("{}", "process"),
        ("{network: host}", "process"),
        ("{image: x}", "boxed"),
        ("{port: 1}", "boxed"),
        ("{image: x, runtime: boxed}", "boxed"),
    ] {
        let (_folder, project) = open(&format!("  a: {keys}\n"));
        assert_eq!(project.unwrap().locations().next().unwrap().runtime, kind, "{keys}");
    }
}

#[test]
fn a_kind_checks_its_settings_and_refuses_those_of_others() {
    let text = "  a: {runtime: process, image: x, port: 80}
  b: {runtime: boxed, image: x, port: many}
  c: {runtime: boxed, image: x, port: [1], prot: 1}
  d: {runtime: boxed}
  e: {runtime: bxed}
";
    let (folder, project) = open(text);
    assert_snapshot!(folder.show(&project.unwrap_err()), @"
    windlass.yaml:3:32: error[WL0324]: `image` has no meaning for the runtime `process`
        help: set `runtime: boxed`, or remove it
    windlass.yaml:3:41: error[WL0324]: `port` has no meaning for the runtime `process`
        help: set `runtime: boxed`, or remove it
    windlass.yaml:4:39: error[WL0333]: `many` is no port
    windlass.yaml:5:39: error[WL0312]: `port` must be text, and this is a list
    windlass.yaml:5:44: error[WL0311]: the location `c` has no key `prot`
        help: did you mean `port`?
    windlass.yaml:6:3: warning[WL0327]: the location `d` has the runtime `boxed` and no `image` to run scripts in
        help: set `image: NAME:TAG`, or set `runtime: process`
    windlass.yaml:7:16: error[WL0315]: there is no runtime `bxed`
        help: did you mean `boxed`?
    ");
}

#[test]
fn without_kinds_no_location_has_a_runtime() {
    let folder = Folder::with(&[("windlass.yaml", "version: 1\nlocations: {a: {runtime: process}}\n")]);
    let errors = Project::open(&folder.path(""), &folder.path("")).unwrap_err();
    assert_snapshot!(folder.show(&errors), @"
    windlass.yaml:2:26: error[WL0315]: there is no runtime `process`
        help: this program has no runtimes
    ");
}

#[test]
fn the_schema_has_the_kinds_and_their_settings() {
    let schema = windlass_project::schema::project(&kinds(), &Registry::default());
    let location = &schema["$defs"]["Location"]["properties"];
    assert_eq!(location["runtime"]["enum"], json!(["process", "boxed", null]));
    assert_eq!(location["port"], json!({"type": ["string", "integer"]}));
}

/// A key with a value of the wrong type is not a missing key. So only the type is reported.
#[test]
fn a_setting_of_the_wrong_type_is_not_missing() {
    let text = "  a: {image: bare}
  b: {image: bare, port: {x: 1}}
  c: {runtime: boxed, image: []}
  d: {runtime: [boxed], port: 1}
  e: {runtime: bxed, port: []}
";
    let (folder, project) = open(text);
    assert_snapshot!(folder.show(&project.unwrap_err()), @"
    windlass.yaml:3:3: error[WL0333]: the image `bare` needs `port`
    windlass.yaml:4:26: error[WL0312]: `port` must be text, and this is a mapping
    windlass.yaml:5:30: error[WL0312]: `image` must be text, and this is a list
    windlass.yaml:6:16: error[WL0312]: `runtime` must be text, and this is a list
    windlass.yaml:7:16: error[WL0315]: there is no runtime `bxed`
        help: did you mean `boxed`?
    windlass.yaml:7:28: error[WL0312]: `port` must be text, and this is a list
    ");
}
