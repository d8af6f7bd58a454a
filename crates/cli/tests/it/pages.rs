//! What the pages for users show is what works.

use crate::env::TestEnv;

const DESCRIPTORS: &str = include_str!("../../../../docs/descriptors.md");
const SCRIPTS: &str = include_str!("../../../../docs/scripts.md");

/// Returns the files that a page shows: the blocks with a path beside their language.
fn files(page: &str) -> Vec<(&str, String)> {
    let mut blocks = page.split("\n```");
    let mut files = Vec::new();
    // What is before the first block, then in turn a block and what is between two.
    while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
        let (head, body) = block.split_once('\n').expect("a block has lines");
        if let Some((_, path)) = head.split_once(' ') {
            files.push((path, format!("{body}\n")));
        }
    }
    files
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
    assert!(env.ok(&["status"]).stdout.contains("balances made × 3"));
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
