//! The examples in the user documentation work.

use crate::env::TestEnv;

const DESCRIPTORS: &str = include_str!("../../../../docs/descriptors.md");
const PROJECTS: &str = include_str!("../../../../docs/windlass-yaml.md");
const SCRIPTS: &str = include_str!("../../../../docs/scripts.md");

/// Returns the files that a page shows: code blocks with a path after their language.
fn files(page: &str) -> Vec<(&str, String)> {
    let mut blocks = page.split("\n```");
    let mut files = Vec::new();
    // Skips the text before each block.
    while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
        let (head, body) = block.split_once('\n').expect("a block has lines");
        if let Some((_, path)) = head.split_once(' ') {
            files.push((path, format!("{body}\n")));
        }
    }
    files
}

/// Returns the words in backticks that may be names of tests.
fn names_of_tests(text: &str) -> Vec<&str> {
    let is_name = |word: &&str| {
        word.matches('_').count() >= 2
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    text.split('`').skip(1).step_by(2).filter(is_name).collect()
}

/// Returns the source texts of all tests of the workspace.
fn tests() -> String {
    let mut open = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))];
    let mut texts = String::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => open.push(path),
                path if path.extension().is_some_and(|kind| kind == "rs") => {
                    texts += &std::fs::read_to_string(path).unwrap();
                }
                _ => {}
            }
        }
    }
    texts
}

/// The table of events in the page about intents has exactly the events that `windlass run` prints as JSON.
#[test]
fn each_event_of_the_daemon_is_documented() {
    let page = include_str!("../../../../docs/intents.md");
    let source = include_str!("../../../windlass/src/daemon/notice.rs");
    let (_, table) = page.split_once("\n### Events of the daemon\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let (_, rows) = table.split_once("\n| event |").unwrap();
    let mut documented: Vec<&str> =
        rows.split("\n| `").skip(1).map(|row| row.split('`').next().unwrap()).collect();
    let (_, names) = source.split_once("pub fn event(").unwrap();
    let mut printed: Vec<&str> =
        names.split("=> \"").skip(1).map(|arm| arm.split('"').next().unwrap()).collect();
    documented.sort_unstable();
    printed.sort_unstable();
    assert!(printed.len() > 10, "{printed:?}");
    assert_eq!(documented, printed);
}

/// In the page about security, each table is followed by a line with the names of tests. Each list item also contains
/// names of tests. Items that the page marks as not promised are exempt.
#[test]
fn each_claim_about_security_names_its_tests() {
    let page = include_str!("../../../../docs/security.md");
    let tests = tests();
    let parts: Vec<&str> = page.split("\n\n").collect();
    let mut claims = 0;
    for (at, part) in parts.iter().enumerate() {
        let points: Vec<String> = if part.starts_with('|') {
            vec![parts.get(at + 1).filter(|next| next.starts_with("Tests: ")).unwrap_or(&"").to_string()]
        } else if part.starts_with("- ") && !parts[at - 1].contains("nothing is promised") {
            format!("\n{part}").split("\n- ").skip(1).map(str::to_owned).collect()
        } else {
            Vec::new()
        };
        for point in &points {
            claims += 1;
            assert!(!names_of_tests(point).is_empty(), "this names no test: {part}: {point}");
        }
    }
    assert!(claims > 15, "{claims}");
    for name in names_of_tests(page) {
        let is_there = [format!("fn {name}("), format!(" {name} "), format!(" {name}\n")];
        assert!(is_there.iter().any(|form| tests.contains(form)), "there is no test `{name}`");
    }
}

#[test]
fn the_example_of_the_page_of_descriptors_works() {
    let env = TestEnv::bare();
    let files = files(DESCRIPTORS);
    assert_eq!(files.len(), 6, "{files:?}");
    for (path, text) in files {
        env.write(path, text);
    }
    env.write("password", "hunter22");
    env.ok(&["check", "farm", "--deny", "warnings"]);
    let up = env.ok(&["up", "farm", "-p", "password=@password"]);
    assert!(up.stdout.contains("token: ***\n  url: farm__lb\n"), "{up}");
    assert!(env.ok(&["status"]).stdout.contains("balances created × 3"));
    env.ok(&["down", "farm"]);
}

#[test]
fn the_example_of_the_page_of_scripts_works() {
    let env = TestEnv::bare();
    let files = files(SCRIPTS);
    assert_eq!(files.len(), 7, "{files:?}");
    for (path, text) in files {
        let write = if path.contains("/scripts/") { TestEnv::script } else { TestEnv::write };
        write(&env, path, text);
    }
    env.ok(&["check", "meter", "--deny", "warnings"]);
    let up = env.ok(&["up", "meter"]);
    let (_, file) = up.stdout.split_once("where: ").expect("it is published");
    assert_eq!(std::fs::read_to_string(file.trim()).unwrap(), "42", "{up}");
    env.ok(&["down", "meter"]);
    assert!(!std::path::Path::new(file.trim()).exists());
}

/// Each example file of the page about `windlass.yaml` is read without a warning, and the page mentions each
/// key of the schema.
#[test]
fn the_examples_of_the_page_of_windlass_yaml_work() {
    let env = TestEnv::bare();
    let files = files(PROJECTS);
    assert_eq!(files.len(), 11, "{files:?}");
    for (path, text) in files {
        let folder = path.strip_suffix("/windlass.yaml").unwrap();
        env.write(path, text);
        env.write(&format!("{folder}/empty.yaml"), "name: assembly::empty::1.0\ncomposition: {}\n");
        let run = env.run_in(folder, &["check", "empty.yaml", "--deny", "warnings"]);
        assert_eq!(run.code(), Some(0), "{path}: {run}");
    }
    let schema = env.ok(&["schema", "project"]).json();
    let definitions = schema["$defs"].as_object().unwrap().values();
    let drivers = schema["properties"]["drivers"]["properties"].as_object().unwrap().values();
    let described = definitions.chain([&schema]).chain(drivers);
    let described = described.filter_map(|described| described["properties"].as_object());
    let keys: Vec<&String> = described.flat_map(serde_json::Map::keys).collect();
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(PROJECTS.contains(&format!("`{key}`")), "the page has no `{key}`");
    }
}
