//! Tests of hostile inputs other than descriptors: project files, script outputs, saved plans, exported
//! assemblies and templates. The limits and mutations are those of the descriptor test.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::format_collect, reason = "texts of tests are put together once")]

#[path = "../../../descriptor/tests/hostile/harness.rs"]
mod harness;
#[path = "../../../descriptor/tests/hostile/mutation.rs"]
mod mutation;

use std::path::Path;

use harness::{Limit, SCALE, cases, in_child, measured, seed};
use sha2::{Digest as _, Sha256};
use windlass::check::check_paths;
use windlass::{SavedPlan, Settings, Windlass};
use windlass_executor::Captured;
use windlass_script::Output;
use windlass_source::Source;

const PROJECT: &str = "version: 1
locations:
  admin@local: {resource-manager: rm, runtime: process, properties: {a: 1, b: [x, y]}}
  edge: &edge
    runtime: docker
    image: windlass/python:1
    pool: 4
    volumes: {state: /var/lib/demo}
existing:
  - type: resource::net::1.0
    name: VIDEO
    properties: {id: net-1, cidr: 10.0.0.0/8}
limits: {nodes: 5000}
";

const PRINTED: &str = "instances:
  i-1:
    $set:
      status.flags.active: true
      interfaces.properties.signals.url: http://x/
    $pushAll:
      log: [{message: up, level: info}]
  i-2:
    $unset: [status.flags.converging]
";

const CONTENT: &str = r#"{"at":1,"assembly":"shop","asked":{"up":{"file":"a.yaml","catalog":[],"parameters":{"a":["x",{"b":1}]},
"secrets":[],"goal":"Active","adopt":false,"replace":[],"target":[]}},"plan":{"steps":[{"a":1}]},"changes":[]}"#;

const TEMPLATE: &str = "a: (( 1 + 2 ))
b: (( map[[1..3]|x|->x * x] ))
c: {d: (( .a )), e: (( lambda |x|->x ))}
<<: (( merge ))
";

/// Wraps content in the envelope of files that windlass writes, with a valid digest.
fn enveloped(kind: &str, content: &str) -> String {
    let digest = hex::encode(Sha256::digest(content.as_bytes()));
    format!(r#"{{"version":1,"kind":"{kind}","digest":"sha256:{digest}","content":{content}}}"#)
}

/// Opens a project whose `windlass.yaml` has this text.
fn project(text: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("windlass.yaml"), text).unwrap();
    drop(Windlass::open(Settings::new(folder.path())));
    drop(check_paths(&[folder.path().to_owned()], &[]));
}

/// Parses the output of a script.
fn printed(text: &str) {
    drop(Output::read("stdout", &Captured::whole(text.as_bytes())));
}

/// Writes a text to a file, and reads the file by `read`.
fn in_file(text: &str, read: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, text).unwrap();
    read(&file);
}

fn plan(text: &str) {
    in_file(text, |file| drop(SavedPlan::read(file)));
}

fn export(text: &str) {
    in_file(text, |file| {
        let windlass = Windlass::open(Settings::new(file.parent().unwrap())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        drop(runtime.block_on(windlass.upkeep().can_import(file, None)));
    });
}

fn template(text: &str) {
    drop(windlass_spiff::yaml::read_documents(&Source::new("template.yaml", text)));
}

/// Returns a list of maps, which need a hundred times the size of their text in memory.
fn maps(count: usize) -> String {
    format!("[{}{{}}]", r#"{"a":0},"#.repeat(count))
}

fn numbers(count: usize) -> String {
    format!("[{}0]", "0,".repeat(count))
}

type Case = (&'static str, fn(usize) -> String, fn(&str));

const BOMBS: [Case; 14] = [
    (
        "locations without end",
        |s| {
            format!(
                "version: 1\nlocations:\n{}",
                (0..500_000 / s).map(|n| format!("  l{n}: {{}}\n")).collect::<String>()
            )
        },
        project,
    ),
    (
        "unknown keys of a project",
        |s| format!("version: 1\n{}", (0..800_000 / s).map(|n| format!("l{n}: x\n")).collect::<String>()),
        project,
    ),
    (
        "properties of a location",
        |s| format!("version: 1\nlocations: {{a: {{properties: {{p: {}}}}}}}\n", maps(1_800_000 / s)),
        project,
    ),
    (
        "existing things that are all the same",
        |s| {
            format!(
                "version: 1\nexisting:\n{}",
                "- {type: 'resource::net::1.0', name: A}\n".repeat(300_000 / s)
            )
        },
        project,
    ),
    (
        "instances without a record",
        |s| {
            format!(
                "instances:\n{}",
                (0..200_000 / s)
                    .map(|n| format!("  i{n}: {{$set: {{status.flags.actve: true}}}}\n"))
                    .collect::<String>()
            )
        },
        printed,
    ),
    (
        "operators that there are not",
        |s| {
            format!(
                "instances:\n  i:\n{}",
                (0..400_000 / s).map(|n| format!("    $sett{n}: {{}}\n")).collect::<String>()
            )
        },
        printed,
    ),
    (
        "a plan of maps",
        |s| enveloped("windlass plan", &format!("{{\"plan\":{}}}", maps(1_800_000 / s))),
        plan,
    ),
    (
        "a plan of numbers",
        |s| enveloped("windlass plan", &format!("{{\"plan\":{}}}", numbers(7_000_000 / s))),
        plan,
    ),
    (
        "a plan with the wrong digest",
        |s| enveloped("windlass plan", &numbers(7_000_000 / s)).replace("sha256:", "sha256:0"),
        plan,
    ),
    ("something else than a plan", |s| format!("{{\"a\":{}}}", numbers(7_000_000 / s)), plan),
    ("brackets", |s| "[".repeat(15_000_000 / s), plan),
    (
        "an export of maps",
        |s| enveloped("windlass assembly", &format!("{{\"records\":{}}}", maps(1_800_000 / s))),
        export,
    ),
    ("documents of a template", |s| "---\n".repeat(3_900_000 / s), template),
    ("a template with a mistake at its end", |s| "a: (( 1 ))\n".repeat(700_000 / s) + "b: [", template),
];

#[test]
fn bombs_are_refused_in_time() {
    let names: Vec<&str> = BOMBS.iter().map(|(name, ..)| *name).collect();
    in_child("bombs_are_refused_in_time", &names, |wanted| {
        let (_, text, act) = BOMBS.iter().find(|(name, ..)| *name == wanted).unwrap();
        let text = text(SCALE);
        measured(|| act(&text))
    });
}

/// The function under test, which reads a text.
type Act = fn(&str);

#[test]
fn mutations_are_refused_in_time() {
    let all: [(&str, Act); 5] = [
        (PROJECT, project),
        (PRINTED, printed),
        (CONTENT, |text| plan(&enveloped("windlass plan", text.trim_end()))),
        (CONTENT, |text| export(&enveloped("windlass assembly", text.trim_end()))),
        (TEMPLATE, template),
    ];
    let mut random = mutation::Random::new(seed());
    for case in 0..cases() {
        let (text, act) = &all[random.below(all.len())];
        let text = mutation::mutated(&[(*text).to_owned()], &mut random);
        let limit = Limit::of_case();
        act(&text);
        limit.hold(&format!("case {case} of seed {}", seed()), &text);
    }
}

#[test]
fn examples_are_right_before_they_are_changed() {
    assert!(Output::read("stdout", &Captured::whole(PRINTED.as_bytes())).is_ok());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("windlass.yaml"), PROJECT).unwrap();
    Windlass::open(Settings::new(folder.path())).unwrap();
    assert!(windlass_spiff::yaml::read_documents(&Source::new("t", TEMPLATE)).is_ok());
    // The digest is valid, so the content is parsed.
    in_file(&enveloped("windlass plan", CONTENT), |file| {
        let error = SavedPlan::read(file).unwrap_err().to_string();
        assert!(!error.contains("damaged"), "{error}");
    });
}
