//! Tests of example programs that embed windlass, run as a user runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use windlass::init::{Language, Style, init};

/// Returns the path of an example program. cargo builds the examples beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    profile.join("examples").join(name)
}

/// Runs an example program on a new assembly in a folder.
fn run(name: &str, folder: &Path) -> Output {
    init(folder, Some("hello"), Language::Shell, Style::Plain).unwrap();
    let program = example(name);
    assert!(program.exists(), "`cargo build --examples` makes {}", program.display());
    Command::new(program).arg(folder).output().unwrap()
}

#[test]
fn a_program_of_its_own_brings_up_an_assembly() {
    let folder = tempfile::tempdir().unwrap();
    let output = run("embed", folder.path());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.ends_with("hello is Active\n"), "{stdout}{stderr}");
    let made = std::fs::read_dir(folder.path().join(".windlass/volumes/state")).unwrap().count();
    assert_eq!(made, 1, "{stdout}{stderr}");
}

/// The `main` of a program does not begin with `windlass::supervise()`, so the program's jobs have no supervisor.
/// windlass must start no job, and the failure must name the remedy.
#[test]
fn a_program_that_forgets_to_supervise_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = run("forgets_to_supervise", folder.path());
    let stdout = String::from_utf8_lossy(&output.stdout);
    let remedy = "let `main` begin with `windlass::supervise()`";
    assert!(stdout.contains(remedy), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read_dir(folder.path().join(".windlass/volumes/state")).unwrap().count();
    assert_eq!(made, 0);
}

/// The program registers a driver of its own, which publishes an output.
#[test]
fn a_program_with_its_own_driver_brings_up_an_assembly() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("made");
    let write = |path: &str, text: String| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "assembly.yaml",
        "name: assembly::shop::1.0
properties: {place: {read-only: true, value: '${disk.path}'}}
composition: {disk: {type: 'resource::folder::1.0'}}
"
        .to_owned(),
    );
    write(
        "Contains/folder/resource.yaml",
        format!(
            "name: resource::folder::1.0
properties: {{root: {{default: {}}}, path: {{read-only: true}}}}
lifecycle: [Install, Uninstall]
default-driver: {{folder: {{}}}}
",
            root.display()
        ),
    );
    let output = Command::new(example("own_driver")).arg(folder.path()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    let made: Vec<_> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [made] = &made[..] else { panic!("{made:?}") };
    assert_eq!(stdout, format!("place: \"{}\"\n", made.display()), "{stderr}");
}
