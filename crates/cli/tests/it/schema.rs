//! Tests the published schemas. They must equal the output of `windlass schema`. They must also accept and refuse the
//! same documents as windlass.
//!
//! The corpus is `$WINDLASS_CORPUS`, or the default folder beside the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use rstest::rstest;
use serde_json::Value;
use windlass::descriptor::{Descriptor, MemoryCatalog, Missing, check, read};
use windlass::schema::{Document, schema};
use windlass::source::{LoadOptions, Reading, Source, load_one};
use windlass::{RuntimeRegistry, drivers};

use crate::env::{TestEnv, say};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The published schemas equal the program's output. If not, regenerate them, for example with
/// `windlass schema assembly > schemas/assembly.schema.json`.
#[rstest]
#[case("assembly", Document::Assembly)]
#[case("resource", Document::Resource)]
#[case("project", Document::Project)]
#[case("manifest", Document::Manifest)]
#[case("environment", Document::Environment)]
#[case("script-input", Document::ScriptInput)]
#[case("script-output", Document::ScriptOutput)]
fn the_published_schemas_are_those_of_the_program(#[case] name: &str, #[case] document: Document) {
    let printed = TestEnv::bare().ok(&["schema", name]).stdout;
    let published = Path::new(REPOSITORY).join("schemas").join(document.file());
    let published = fs::read_to_string(&published).unwrap_or_default();
    assert!(
        printed == published,
        "schemas/{} is stale: `windlass schema {name}` prints something else",
        document.file()
    );
    assert_eq!(
        serde_json::from_str::<Value>(&printed).unwrap(),
        schema(document, &RuntimeRegistry::default(), &drivers())
    );
}

/// Validators by kind of document.
struct Schemas(Vec<(Document, Validator)>);

impl Schemas {
    fn new() -> Self {
        let make = |document: Document| {
            let schema = schema(document, &RuntimeRegistry::default(), &drivers());
            assert!(jsonschema::meta::is_valid(&schema), "{document:?}");
            (document, jsonschema::validator_for(&schema).unwrap())
        };
        Self(Document::ALL.into_iter().map(make).collect())
    }

    /// Parses a text in two ways: as editors do, and as windlass does. Returns the schema's errors for both results.
    fn problems(&self, document: Document, text: &str) -> Vec<String> {
        let root = load_one(&Source::new("a.yaml", text), &LoadOptions::default()).root;
        let (_, validator) = self.0.iter().find(|(kind, _)| *kind == document).unwrap();
        let readings = [Reading::Script, Reading::Text];
        let data = readings.map(|reading| root.as_ref().map_or(Value::Null, |root| root.to_value(reading)));
        let errors = data.iter().flat_map(|data| {
            let errors = validator.iter_errors(data);
            errors.map(|error| format!("{}: {error}", error.instance_path())).collect::<Vec<_>>()
        });
        errors.collect()
    }
}

/// Returns the kind of a descriptor if reading and checking it finds no error.
fn taken(text: &str) -> Option<Document> {
    let read = read(&Source::new("a.yaml", text));
    let descriptor = read.descriptor.filter(|_| !read.diagnostics.has_errors())?;
    let document = match &descriptor {
        Descriptor::Assembly(_) => Document::Assembly,
        Descriptor::Resource(_) => Document::Resource,
    };
    let checked = check(&descriptor, &MemoryCatalog::new(), Missing::Tolerated);
    (!checked.has_errors()).then_some(document)
}

#[test]
fn corpus_descriptors_without_errors_are_valid() {
    let Some(folder) = corpus("assemblies") else { return };
    let schemas = Schemas::new();
    let (mut passed, mut failed) = (0, Vec::new());
    let mut excluded: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files(&folder) {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        if file.extension().is_none_or(|ending| ending != "yaml") {
            *excluded.entry("not a descriptor's file").or_default() += 1;
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let Some(document) = taken(&text) else {
            *excluded.entry("with errors of the check").or_default() += 1;
            continue;
        };
        let problems = schemas.problems(document, &text);
        if problems.is_empty() {
            passed += 1;
        }
        failed.extend(problems.into_iter().map(|problem| format!("{name} {problem}")));
    }
    let reasons: Vec<_> = excluded.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let count: usize = excluded.values().sum();
    say(&format!(
        "corpus_descriptors_without_errors_are_valid: {passed} passed, {} failed, {count} excluded ({})",
        failed.len(),
        reasons.join("; ")
    ));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 0, "the folder is there, and no case was found");
}

#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
fn corpus(part: &str) -> Option<PathBuf> {
    let given = std::env::var_os("WINDLASS_CORPUS").map(PathBuf::from);
    let demanded = given.is_some();
    let folder = given.unwrap_or_else(|| Path::new(REPOSITORY).join("../shared/corpus")).join(part);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!demanded, "WINDLASS_CORPUS is set, and {} is no folder", folder.display());
    say(&format!("SKIPPED: no corpus at {}; set WINDLASS_CORPUS", folder.display()));
    None
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The documents of this repository name the schema of their kind, and are valid.
#[test]
fn examples_name_their_schema_and_are_valid() {
    let schemas = Schemas::new();
    let mut seen = 0;
    let examples = files(&Path::new(REPOSITORY).join("fixtures/assemblies"));
    for path in examples.into_iter().chain([Path::new(REPOSITORY).join("windlass.yaml")]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let document = match path.file_name().and_then(|name| name.to_str()) {
            Some("assembly.yaml") => Document::Assembly,
            Some("resource.yaml") => Document::Resource,
            Some("windlass.yaml") => Document::Project,
            _ => continue,
        };
        let line = text.lines().next().unwrap_or_default();
        let named = line
            .strip_prefix("# yaml-language-server: $schema=")
            .unwrap_or_else(|| panic!("{}: {line}", path.display()));
        let named = path.parent().unwrap().join(named).canonicalize().unwrap();
        assert_eq!(
            named,
            Path::new(REPOSITORY).join("schemas").join(document.file()).canonicalize().unwrap()
        );
        assert_eq!(schemas.problems(document, &text), Vec::<String>::new(), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

const SHOP: &str = "name: assembly::shop::1.0\n";
const PART: &str = "name: assembly::shop::1.0\ncomposition:\n  web: ";
const USES: &str = "name: assembly::shop::1.0\ncomposition: {a: {type: resource::a::1.0}, b: {type: resource::b::1.0}}\nrelationships:\n  uses: ";

/// Each kind of mistake that a schema can detect is refused by the schema and by the check.
#[rstest]
#[case::bad_name("name: assembly::9shop::1.0\ncomposition: {}\n")]
#[case::separator_in_a_name("name: assembly::a__b::1.0\ncomposition: {}\n")]
#[case::version_with_letters("name: assembly::shop::v1\ncomposition: {}\n")]
#[case::range_as_a_version("name: assembly::shop::^1.0\ncomposition: {}\n")]
#[case::long_name(
    "name: assembly::abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz::1.0\ncomposition: {}\n"
)]
#[case::properties_as_a_list(&format!("{SHOP}properties: [a]\n"))]
#[case::composition_as_text(&format!("{SHOP}composition: web\n"))]
#[case::bad_flag(&format!("{SHOP}properties: {{a: {{required: maybe}}}}\n"))]
#[case::list_as_a_flag(&format!("{SHOP}properties: {{a: {{volatile: [true]}}}}\n"))]
#[case::no_type(&format!("{PART}{{quantity: 1}}\n"))]
#[case::type_without_version(&format!("{PART}{{type: resource::web}}\n"))]
#[case::range_of_a_component(&format!("{PART}{{type: 'resource::web::^1.0'}}\n"))]
#[case::negative_quantity(&format!("{PART}{{type: resource::web::1.0, quantity: -1}}\n"))]
#[case::word_as_quantity(&format!("{PART}{{type: resource::web::1.0, quantity: many}}\n"))]
#[case::fraction_as_bound(&format!("{PART}{{type: resource::web::1.0, cluster: {{maximum-nodes: 1.5}}}}\n"))]
#[case::cluster_as_a_number(&format!("{PART}{{type: resource::web::1.0, cluster: 3}}\n"))]
#[case::reference_without_type(&format!("{SHOP}references: {{net: {{properties: {{}}}}}}\n"))]
#[case::reference_of_two_parts(&format!("{SHOP}references: {{net: {{type: resource::net}}}}\n"))]
#[case::promotion_without_source(&format!("{SHOP}operations: {{grow: {{}}}}\n"))]
#[case::relationship_without_ends(&format!("{USES}{{source-state: Active, target-state: Active}}\n"))]
#[case::relationship_without_states(&format!("{USES}{{source-capabilities: [a.x], target-requirements: [b.x]}}\n"))]
#[case::bad_state(&format!("{USES}{{source-capabilities: [a.x], target-requirements: [b.x], source-state: Started, target-state: Active}}\n"))]
#[case::case_of_a_state(&format!("{USES}{{source-capabilities: [a.x], target-requirements: [b.x], source-state: active, target-state: Active}}\n"))]
#[case::bad_modifier(&format!("{USES}{{source-capabilities: [a.x], target-requirements: [b.x], source-state: Active, target-state: Active, source-state-modifier: before}}\n"))]
#[case::operations_as_text(&format!("{USES}{{source-capabilities: [a.x], target-requirements: [b.x], source-state: Active, target-state: Active, lifecycle: {{Create: source.x}}}}\n"))]
fn errors_of_an_assembly(#[case] text: &str) {
    assert_eq!(taken(text), None, "the check finds nothing");
    assert_ne!(
        Schemas::new().problems(Document::Assembly, text),
        Vec::<String>::new(),
        "the schema takes it"
    );
}

#[rstest]
#[case::bad_name("name: resource::a-::1.0\nlifecycle: [Install]\n")]
#[case::lifecycle_as_text("name: resource::a::1.0\nlifecycle: Install\n")]
#[case::lifecycle_of_lists("name: resource::a::1.0\nlifecycle: [[Install]]\n")]
#[case::driver_as_text("name: resource::a::1.0\nlifecycle: {Install: {drivers: {script: yes please}}}\n")]
#[case::drivers_as_a_list("name: resource::a::1.0\ndefault-driver: [script]\n")]
#[case::operation_as_text("name: resource::a::1.0\noperations: {grow: yes please}\n")]
#[case::private_properties_as_a_list("name: resource::a::1.0\nprivate-properties: [a]\n")]
#[case::infrastructure_as_a_mapping(
    "name: resource::a::1.0\ndefault-driver: {script: {infrastructure-type: {a: b}}}\n"
)]
fn errors_of_a_resource(#[case] text: &str) {
    assert_eq!(taken(text), None, "the check finds nothing");
    assert_ne!(
        Schemas::new().problems(Document::Resource, text),
        Vec::<String>::new(),
        "the schema takes it"
    );
}

#[rstest]
#[case::nothing("version: 1\n")]
#[case::a_location_that_says_nothing("version: 1\nlocations: {here: {}, there: }\n")]
#[case::all_keys(
    "version: 1\nlocations: {here: {resource-manager: a, infrastructure-type: b, runtime: docker, engine: 'unix:///run/x.sock', pool: 2, image: i, network: none, properties: {a: [1]}}, there: {image: i, volumes: {v: /v}, limits: {memory: 512M, processes: 9, cpu: 1.5, open-files: 99}, max-jobs: 4}}\nexisting: [{type: resource::a::1.0, name: 7, properties: {b: c}, package: }]\nretention: {keep: 5, older: 3d}\nlimits: {nodes: 100}\n"
)]
#[case::sections_that_say_nothing("version: 1\nlocations:\nexisting:\nretention:\nlimits:\n")]
#[case::keys_that_say_nothing(
    "version: 1\nlocations: {here: {image: , runtime: , volumes: , limits: {memory: }, properties: }}\nretention: {keep: , older: }\nlimits: {nodes: }\n"
)]
fn forms_of_a_project_file(#[case] text: &str) {
    let env = TestEnv::bare();
    env.write("windlass.yaml", text);
    env.write("a.yaml", "name: resource::a::1.0\nlifecycle: [Install]\n");
    assert_eq!(env.run(&["check", "a.yaml"]).code(), Some(0));
    assert_eq!(Schemas::new().problems(Document::Project, text), Vec::<String>::new());
}

#[rstest]
#[case::limit_of_nothing("version: 1\nlocations: {here: {limits: {processes: 0}}}\n")]
#[case::limit_of_what("version: 1\nlocations: {here: {limits: {swap: 1G}}}\n")]
#[case::no_jobs("version: 1\nlocations: {here: {max-jobs: 0}}\n")]
#[case::negative_jobs("version: 1\nlocations: {here: {max-jobs: -1}}\n")]
#[case::pool_of_nothing("version: 1\nlocations: {here: {runtime: docker, pool: 0}}\n")]
#[case::engine_of_no_kind("version: 1\nlocations: {here: {runtime: docker, engine: qemu}}\n")]
#[case::age_without_a_unit("version: 1\nretention: {older: 90}\n")]
#[case::negative_number("version: 1\nretention: {keep: -1}\n")]
#[case::more_nodes_than_possible("version: 1\nlimits: {nodes: 200001}\n")]
#[case::no_version("locations: {}\n")]
#[case::newer_version("version: 2\n")]
#[case::unknown_key("version: 1\nlocation: {}\n")]
#[case::unknown_key_of_a_location("version: 1\nlocations: {here: {runtim: process}}\n")]
#[case::unknown_runtime("version: 1\nlocations: {here: {runtime: podman}}\n")]
#[case::locations_as_a_list("version: 1\nlocations: [here]\n")]
#[case::relative_volume("version: 1\nlocations: {here: {volumes: {data: var}}}\n")]
#[case::volume_with_dots("version: 1\nlocations: {here: {volumes: {data: /var/../etc}}}\n")]
#[case::name_of_a_volume("version: 1\nlocations: {here: {volumes: {Data: /var}}}\n")]
#[case::existing_without_name("version: 1\nexisting: [{type: resource::a::1.0}]\n")]
#[case::existing_of_a_range("version: 1\nexisting: [{type: 'resource::a::^1.0', name: a}]\n")]
#[case::existing_as_a_mapping("version: 1\nexisting: {type: resource::a::1.0, name: a}\n")]
fn errors_of_a_project_file(#[case] text: &str) {
    let env = TestEnv::bare();
    env.write("windlass.yaml", text);
    env.write("a.yaml", "name: resource::a::1.0\nlifecycle: [Install]\n");
    assert_eq!(env.run(&["check", "a.yaml"]).code(), Some(2), "the check finds nothing");
    assert_ne!(Schemas::new().problems(Document::Project, text), Vec::<String>::new(), "the schema takes it");
}

/// If the check accepts a manifest of the examples or of the corpus, the schema must accept this manifest, too.
#[test]
fn corpus_manifests_without_errors_are_valid() {
    let schemas = Schemas::new();
    let own = Path::new(REPOSITORY).join("fixtures/applications");
    let (mut passed, mut failed, mut excluded) = (0, Vec::new(), 0);
    for file in
        files(&own).into_iter().chain(corpus("tonomi/manifests").iter().flat_map(|folder| files(folder)))
    {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let source = Source::new("m.yaml", text.as_str());
        let is_yaml = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let read = windlass::manifest::read(&source);
        let has_errors = read.diagnostics.has_errors() || !windlass::manifest::is_manifest(&text);
        let Some(manifest) = read.manifest.filter(|_| is_yaml && !has_errors) else {
            excluded += 1;
            continue;
        };
        if windlass::manifest::check(&manifest).diagnostics.has_errors() {
            excluded += 1;
            continue;
        }
        let problems = schemas.problems(Document::Manifest, &text);
        passed += usize::from(problems.is_empty());
        failed.extend(problems.into_iter().map(|problem| format!("{} {problem}", file.display())));
    }
    let failures = failed.len();
    say(&format!(
        "corpus_manifests_without_errors_are_valid: {passed} passed, {failures} failed, {excluded} excluded"
    ));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed >= 4, "{passed}");
}

#[rstest]
#[case::no_application(Document::Manifest, "components: {}")]
#[case::no_components(Document::Manifest, "application: {interfaces: {}}")]
#[case::kind(
    Document::Manifest,
    "application: {components: {a: {type: T, interfaces: {i: {p: 'configration(string)'}}}}}"
)]
#[case::bind(Document::Manifest, "application: {interfaces: {i: {p: string}}, components: {a: {type: T}}}")]
#[case::pin_id(Document::Manifest, "application: {configuration: {a: 1}, components: {a: {type: T}}}")]
#[case::markers(Document::Environment, "markers: eu")]
#[case::value(Document::Environment, "properties: {size: {type: int}}")]
fn errors_of_applications(#[case] document: Document, #[case] text: &str) {
    assert!(!Schemas::new().problems(document, text).is_empty(), "{text}");
}
