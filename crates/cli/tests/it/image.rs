//! `windlass image`: build, import, list and remove.

use std::fs;

use crate::env::TestEnv;

/// Returns a project with a folder for an image.
fn env() -> TestEnv {
    let env = TestEnv::bare();
    env.script("rootfs/bin/hello", "#!/bin/sh\necho hello\n");
    env.write("rootfs/etc/demo.conf", "a=1\n");
    env
}

#[test]
fn an_image_of_a_folder_is_made_listed_and_removed() {
    let env = env();
    let built = env.ok(&["image", "build", "rootfs", "-t", "demo:1", "-o", "demo.tar"]);
    assert!(built.stdout.trim_end().ends_with("  demo:1"), "{built}");
    let listed = env.json(&["image", "ls"]);
    let image = &listed["images"][0];
    assert_eq!((&listed["version"], &image["names"][0]), (&1.into(), &"demo:1".into()));
    assert_eq!(image["bytes"], 25);
    let id = image["id"].as_str().unwrap();
    assert!(built.stdout.starts_with(id), "{built}");

    // The same files produce the same image, regardless of the source.
    env.ok(&["image", "import", "demo.tar", "-t", "other"]);
    let names = &env.json(&["image", "ls"])["images"][0]["names"];
    assert_eq!(names, &serde_json::json!(["demo:1", "other:latest"]));

    // If a name moves to another image, the first image keeps its other names.
    env.write("rootfs/etc/demo.conf", "a=22\n");
    env.ok(&["image", "build", "rootfs", "-t", "demo:1"]);
    env.ok(&["image", "build", "rootfs", "-t", "other"]);
    assert_eq!(env.ok(&["image", "prune"]).stdout, format!("removed {id}\n1 image removed, 0.0 MiB freed\n"));
    assert_eq!(env.json(&["image", "ls"])["images"].as_array().unwrap().len(), 1);
    env.ok(&["image", "prune", "--all"]);
    assert_eq!(env.ok(&["image", "ls"]).stdout, "");
}

/// `image build -o` can write the image to a pipe. windlass must also add the image to its store, although a pipe can't
/// be read again.
#[test]
fn an_image_is_written_to_a_pipe() {
    let env = env();
    env.ok(&["image", "build", "rootfs", "-t", "demo:1", "-o", "demo.tar"]);
    let id = env.json(&["image", "ls"])["images"][0]["id"].as_str().unwrap().to_owned();
    env.ok(&["image", "prune", "--all"]);

    let mut command = env.command(&["image", "build", "rootfs", "-t", "demo:1", "-o", "/dev/stdout"]);
    let done = command.stdout(std::process::Stdio::piped()).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(done.stdout == fs::read(env.path("demo.tar")).unwrap(), "the pipe got something else");
    assert!(said.starts_with(&id) && said.ends_with("  demo:1\n"), "{said}");
    assert_eq!(env.json(&["image", "ls"])["images"][0]["id"], *id);
}

#[test]
fn images_are_printed_as_json() {
    let env = env();
    let built = env.json(&["image", "build", "rootfs", "-t", "demo:1", "-o", "demo.tar"]);
    assert_eq!(built, env.json(&["image", "ls"]));
    assert_eq!(built, env.json(&["image", "import", "demo.tar"]));
    let pruned = env.json(&["image", "prune", "--all"]);
    assert_eq!((&pruned["version"], &pruned["removed"][0]), (&1.into(), &built["images"][0]["id"]));
}

#[test]
fn the_folder_of_images_follows_the_environment() {
    let env = env();
    let mut command = env.command(&["image", "build", "rootfs", "-t", "demo:1"]);
    command.env("XDG_CACHE_HOME", env.path("cache"));
    let run = env.start(command).end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert_eq!(fs::read_dir(env.path("cache/windlass/images/images")).unwrap().count(), 1);
}

#[test]
fn a_file_without_an_image_is_refused() {
    let env = env();
    env.write("text", "no archive\n");
    let refused = env.refuses(&["image", "import", "missing.tar"]);
    assert_eq!(refused, "error[WL0582]: can't open `missing.tar`: No such file or directory\n");
    let refused = env.refuses(&["image", "import", "rootfs"]);
    assert!(
        refused.starts_with("error[WL0583]: `rootfs` holds no image: it has neither a `manifest.json`"),
        "{refused}"
    );
    assert!(env.refuses(&["image", "import", "text"]).contains("`the archive` in `text` can't be used"));
    let refused = env.refuses(&["image", "build", "rootfs", "-t", "no name"]);
    assert!(refused.starts_with("error[WL0581]: `no name` names no image: expected NAME[:TAG]"), "{refused}");
    assert!(env.refuses(&["image", "build", "-t", "demo:1"]).contains("<DIR>"));
}
