//! Tests images in all formats: they are created here and imported into a store.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use windlass_executor::image::{Digest, FileSearch, ImageError, Prune, Reference, Store};

/// A file system of one layer with its config.
pub(crate) struct Made {
    layer: Vec<u8>,
    config: Vec<u8>,
}

impl Made {
    /// Creates an image from files `(name, mode, content)`. The content `-> x` makes a link to x.
    pub(crate) fn new(files: &[(&str, u32, &[u8])], run: &Value) -> Self {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, mode, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_mode(*mode);
            if let Some(target) = content.strip_prefix(b"-> ") {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                tar.append_link(&mut header, name, std::str::from_utf8(target).unwrap()).unwrap();
            } else {
                header.set_size(content.len() as u64);
                tar.append_data(&mut header, name, *content).unwrap();
            }
        }
        let layer = tar.into_inner().unwrap();
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let config = json!({
            "architecture": architecture, "os": "linux", "config": run,
            "rootfs": {"type": "layers", "diff_ids": [Digest::of(&layer)]},
        });
        Self { config: serde_json::to_vec(&config).unwrap(), layer }
    }

    /// Returns an image with the static busybox of this host and a link for each of its commands. Returns `None` if
    /// busybox isn't installed.
    pub(crate) fn busybox() -> Option<Self> {
        let path = ["/bin/busybox", "/usr/bin/busybox"].iter().map(Path::new).find(|path| path.exists())?;
        let binary = fs::read(path).unwrap();
        let listed = std::process::Command::new(path).arg("--list").output().unwrap().stdout;
        let listed = String::from_utf8(listed).unwrap();
        let names: Vec<String> =
            listed.lines().filter(|name| *name != "busybox").map(|name| format!("bin/{name}")).collect();
        let mut files: Vec<(&str, u32, &[u8])> = vec![("bin/busybox", 0o755, &binary)];
        files.extend(names.iter().map(|name| (name.as_str(), 0o777, &b"-> /bin/busybox"[..])));
        let run = json!({"Env": ["PATH=/bin", "FROM_IMAGE=yes"], "Cmd": ["sh"]});
        Some(Self::new(&files, &run))
    }

    pub(crate) fn id(&self) -> Digest {
        Digest::of(&self.config)
    }

    /// Writes the image in the format of `docker save`.
    pub(crate) fn docker_archive(&self, path: &Path, name: &str) {
        let config = format!("{}.json", self.id().hex());
        let manifest = json!([{"Config": config, "RepoTags": [name], "Layers": ["layer/layer.tar"]}]);
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let files =
            [(config.as_str(), &self.config), ("layer/layer.tar", &self.layer), ("manifest.json", &manifest)];
        fs::write(path, tar_of(&files)).unwrap();
    }

    /// Returns the files of an OCI layout or artifact set. `blob` gives the names of blobs; `stored` is the
    /// layer as stored.
    fn layout(&self, stored: &[u8], blob: fn(&Digest) -> String, extra: &Value) -> Vec<(String, Vec<u8>)> {
        let manifest = json!({
            "schemaVersion": 2,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": self.id(), "size": self.config.len()},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": Digest::of(stored), "size": stored.len()}],
        });
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let mut index = json!({
            "schemaVersion": 2,
            "manifests": [{
                "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": Digest::of(&manifest), "size": manifest.len(),
                "annotations": {"org.opencontainers.image.ref.name": "acme/tool:3"},
            }],
        });
        index.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        [
            ("index.json".to_owned(), serde_json::to_vec(&index).unwrap()),
            ("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
            (blob(&Digest::of(&manifest)), manifest),
            (blob(&self.id()), self.config.clone()),
            (blob(&Digest::of(stored)), stored.to_vec()),
        ]
        .into()
    }
}

fn nested(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

fn flat(digest: &Digest) -> String {
    format!("blobs/sha256.{}", digest.hex())
}

fn tar_of<N: AsRef<str>, C: AsRef<[u8]>>(files: &[(N, C)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.as_ref().len() as u64);
        tar.append_data(&mut header, name.as_ref(), content.as_ref()).unwrap();
    }
    tar.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn small() -> Made {
    Made::new(
        &[("bin/tool", 0o755, b"#!/bin/sh\n"), ("etc/link", 0o777, b"-> /etc/passwd")],
        &json!({"User": "7:8", "WorkingDir": "/srv", "Entrypoint": ["/bin/tool"], "Env": ["A=1"]}),
    )
}

fn reference(text: &str) -> Reference {
    text.parse().unwrap()
}

#[test]
fn every_form_of_an_image_is_the_same_image() {
    let made = small();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    made.docker_archive(&path("docker.tar"), "acme/tool:3");
    fs::write(path("docker.tar.gz"), gzip(&fs::read(path("docker.tar")).unwrap())).unwrap();
    let none = json!({});
    for (name, content) in made.layout(&gzip(&made.layer), nested, &none) {
        let file = path("layout").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    let zstd = zstd::encode_all(&made.layer[..], 1).unwrap();
    fs::write(path("layout.tar"), tar_of(&made.layout(&zstd, nested, &none))).unwrap();
    fs::write(path("set.tgz"), gzip(&tar_of(&made.layout(&made.layer, flat, &none)))).unwrap();
    for form in ["docker.tar", "docker.tar.gz", "layout", "layout.tar", "set.tgz"] {
        let store = Store::open(path("stores").join(form)).unwrap();
        let imported = store.import(&path(form), None).unwrap();
        assert_eq!(imported.len(), 1, "{form}");
        assert_eq!((&imported[0].id, imported[0].names[0].to_string().as_str()), (&made.id(), "acme/tool:3"));
        let image = store.resolve(&reference("acme/tool:3")).unwrap();
        assert_eq!(image, store.resolve(&reference(&made.id().to_string())).unwrap(), "{form}");
        assert_eq!((image.config.numeric_user(), image.config.env["A"].as_str()), (Some((7, Some(8))), "1"));
        assert_eq!(fs::read(image.root().join("bin/tool")).unwrap(), b"#!/bin/sh\n", "{form}");
        assert_eq!(fs::read_link(image.root().join("etc/link")).unwrap(), Path::new("/etc/passwd"));
        assert!(image.root().join("work").is_dir() && image.root().join("proc").is_dir());
    }
}

#[test]
fn an_artifact_set_is_about_its_main_artifact() {
    let (main, other) = (small(), Made::new(&[("other", 0o644, b"")], &json!({})));
    let dir = tempfile::tempdir().unwrap();
    let mut files = main.layout(&main.layer, flat, &json!({}));
    let others = other.layout(&other.layer, flat, &json!({}));
    let mut index: Value = serde_json::from_slice(&files[0].1).unwrap();
    let second: Value = serde_json::from_slice(&others[0].1).unwrap();
    let digest = index["manifests"][0]["digest"].clone();
    index["manifests"].as_array_mut().unwrap().insert(0, second["manifests"][0].clone());
    index["annotations"] = json!({"software.ocm/main": digest});
    files[0].1 = serde_json::to_vec(&index).unwrap();
    files.extend(others.into_iter().skip(2));
    fs::write(dir.path().join("set.tar"), tar_of(&files)).unwrap();
    let store = Store::open(dir.path().join("store")).unwrap();
    let imported = store.import(&dir.path().join("set.tar"), None).unwrap();
    assert_eq!(imported.iter().map(|image| image.id.clone()).collect::<Vec<_>>(), [main.id()]);
}

#[test]
fn an_image_of_another_processor_is_refused_by_name() {
    let made = small();
    let dir = tempfile::tempdir().unwrap();
    let mut files = made.layout(&made.layer, nested, &json!({}));
    let mut index: Value = serde_json::from_slice(&files[0].1).unwrap();
    index["manifests"][0]["platform"] = json!({"os": "linux", "architecture": "s390x"});
    files[0].1 = serde_json::to_vec(&index).unwrap();
    let path = dir.path().join("image.tar");
    fs::write(&path, tar_of(&files)).unwrap();
    let error = Store::open(dir.path().join("store")).unwrap().import(&path, None).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("has no image for linux/") && text.contains("it has some for linux/s390x"),
        "{text}"
    );
}

#[test]
fn what_is_damaged_is_told_and_not_kept() {
    let made = small();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image.tar");
    let store = Store::open(dir.path().join("store")).unwrap();
    let mut files = made.layout(&made.layer, nested, &json!({}));
    let layer = files.last_mut().unwrap();
    let at = layer.1.windows(9).position(|bytes| bytes == b"#!/bin/sh").unwrap();
    layer.1[at] = b'X';
    fs::write(&path, tar_of(&files)).unwrap();
    let error = store.import(&path, None).unwrap_err();
    assert!(matches!(error, ImageError::Digest { .. }), "{error}");
    assert_eq!(store.list().unwrap(), []);
    assert_eq!(fs::read_dir(dir.path().join("store/fresh")).unwrap().count(), 0);
    fs::write(&path, "no archive at all").unwrap();
    let error = store.import(&path, None).unwrap_err().to_string();
    assert!(error.contains("image.tar"), "{error}");
    fs::write(&path, tar_of(&[("a", "b")])).unwrap();
    assert!(matches!(store.import(&path, None).unwrap_err(), ImageError::NotAnImage { .. }));
    fs::write(&path, tar_of(&[("manifest.json", "[]")])).unwrap();
    for error in [
        store.import(&path, None).unwrap_err(),
        store.resolve(&reference(path.to_str().unwrap())).unwrap_err(),
    ] {
        assert!(error.to_string().contains("`manifest.json`"), "{error}");
        assert!(error.to_string().ends_with("it lists no image"), "{error}");
    }
}

#[test]
fn a_file_is_a_reference_until_it_changes() {
    let [first, second] = ["one", "two"].map(|name| Made::new(&[(name, 0o644, b"")], &json!({})));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image.tar");
    let store = Store::open(dir.path().join("store")).unwrap();
    first.docker_archive(&path, "a:1");
    let file = reference(path.to_str().unwrap());
    assert_eq!(store.resolve(&file).unwrap().id, first.id());
    assert_eq!(store.resolve(&file).unwrap().id, first.id());
    // The file is rewritten in place within one tick of the kernel's clock: only its content changes.
    let written = fs::metadata(&path).unwrap();
    second.docker_archive(&path, "a:1");
    fs::File::options().append(true).open(&path).unwrap().set_modified(written.modified().unwrap()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), written.len());
    assert_eq!(store.resolve(&file).unwrap().id, second.id());
    // A resolved file gives its image no name, so both images are removed.
    assert_eq!(store.prune(Prune::Unnamed).unwrap().removed.len(), 2);
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn many_unpack_one_image_at_a_time() {
    let made = small();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image.tar");
    made.docker_archive(&path, "a:1");
    let store = Arc::new(Store::open(dir.path().join("store")).unwrap());
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let (path, name) = (path.clone(), format!("name-{number}").parse().unwrap());
            // Each thread opens the store anew, as another process does.
            let store = Store::open(store.path()).unwrap();
            std::thread::spawn(move || store.import(&path, Some(&name)).unwrap())
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap()[0].id, made.id());
    }
    let listed = store.list().unwrap();
    assert_eq!((listed.len(), listed[0].names.len()), (1, 9));
    assert_eq!(fs::read_dir(dir.path().join("store/fresh")).unwrap().count(), 0);
}

/// Processes in different PID namespaces have equal process ids. None of them takes the folder of another.
#[test]
fn the_folder_of_another_process_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image.tar");
    small().docker_archive(&path, "a:1");
    let store = Store::open(dir.path().join("store")).unwrap();
    let others = (0..64).map(|number| {
        let folder = store.path().join(format!("fresh/{}-{number}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        let lock = fs::File::open(&folder).unwrap();
        lock.lock().unwrap();
        (folder, lock)
    });
    let others: Vec<_> = others.collect();
    store.import(&path, None).unwrap();
    assert_eq!(store.prune(Prune::Unused).unwrap().removed, [small().id()]);
    assert!(others.iter().all(|(folder, _)| folder.join("file").exists()));
}

/// A prune removes an image. Before the prune ends, the image is imported again. The prune must keep the name of the
/// image.
#[test]
fn a_prune_keeps_the_name_of_an_image_that_was_imported_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image.tar");
    small().docker_archive(&path, "a:1");
    let store = Store::open(dir.path().join("store")).unwrap();
    store.import(&path, None).unwrap();
    let image = store.path().join("images").join(small().id().hex());
    let copy = dir.path().join("copy");
    assert!(std::process::Command::new("cp").arg("-a").args([&image, &copy]).status().unwrap().success());
    // The prune removes the image, and then waits for this lock.
    let index = fs::File::options().write(true).open(store.path().join("lock")).unwrap();
    index.lock().unwrap();
    let prune = std::thread::spawn({
        let store = store.clone();
        move || store.prune(Prune::Unused).unwrap()
    });
    wait_for("the image is removed", || !image.exists());
    fs::rename(copy, image).unwrap();
    drop(index);
    assert_eq!(prune.join().unwrap().removed, [small().id()]);
    assert_eq!(store.resolve(&reference("a:1")).unwrap().id, small().id());
}

/// An image is in use from the moment when it is unpacked until it has its name.
#[test]
fn a_prune_keeps_an_image_that_gets_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image.tar");
    small().docker_archive(&path, "a:1");
    let store = Store::open(dir.path().join("store")).unwrap();
    // The import unpacks the image, and then waits for this lock.
    let index = fs::File::create(store.path().join("lock")).unwrap();
    index.lock().unwrap();
    let import = std::thread::spawn({
        let store = store.clone();
        move || store.import(&path, None).unwrap()
    });
    let image = store.path().join("images").join(small().id().hex());
    wait_for("the image is unpacked", || image.exists());
    for which in [Prune::Unnamed, Prune::Unused] {
        let (sender, pruned) = std::sync::mpsc::channel();
        let store = store.clone();
        std::thread::spawn(move || sender.send(store.prune(which).unwrap()));
        let pruned = pruned.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
        assert_eq!((pruned.removed, pruned.in_use), (vec![], vec![small().id()]));
    }
    drop(index);
    assert_eq!(import.join().unwrap()[0].id, small().id());
    assert_eq!(store.resolve(&reference("a:1")).unwrap().id, small().id());
    assert_eq!(store.prune(Prune::Unused).unwrap().removed, [small().id()]);
}

/// Polls until a condition holds.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "waited in vain until {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_named_image_is_kept_until_all_are_pruned() {
    let (first, second) = (small(), Made::new(&[("two", 0o644, b"22")], &json!({})));
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("image.tar");
    let store = Store::open(dir.path().join("store")).unwrap();
    first.docker_archive(&path, "a:1");
    store.import(&path, None).unwrap();
    second.docker_archive(&path, "a:1");
    store.import(&path, None).unwrap();
    let pruned = store.prune(Prune::Unnamed).unwrap();
    assert_eq!((pruned.removed, pruned.bytes), (vec![first.id()], 10));
    assert_eq!(store.resolve(&reference("a:1")).unwrap().id, second.id());
    assert_eq!(store.prune(Prune::Unused).unwrap().removed, [second.id()]);
    assert!(matches!(store.resolve(&reference("a:1")).unwrap_err(), ImageError::Unknown { .. }));
}

#[test]
fn the_busybox_of_this_host_makes_an_image() {
    let Some(made) = Made::busybox() else {
        crate::skipped(&"there is no static busybox on this host");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    made.docker_archive(&dir.path().join("busybox.tar"), "busybox:test");
    let store = Store::open(dir.path().join("store")).unwrap();
    let listed = &store.import(&dir.path().join("busybox.tar"), None).unwrap()[0];
    assert!(listed.bytes > 100_000, "{} bytes", listed.bytes);
    let root = store.resolve(&reference("busybox:test")).unwrap().root();
    assert_eq!(fs::read_link(root.join("bin/sh")).unwrap(), Path::new("/bin/busybox"));
}

/// The files of an image are listed without importing it, and in the same way once it is imported.
#[test]
fn files_are_listed_from_all_formats() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made::new(
        &[
            ("opt/vm/launch.py", 0o755, b"#!/usr/bin/python3"),
            ("opt/vm/data.json", 0o644, b"{}"),
            ("vm", 0o777, b"-> /opt/vm"),
        ],
        &json!({}),
    );
    let store = Store::open(dir.path().join("store")).unwrap();
    let plain = dir.path().join("plain.tar");
    made.docker_archive(&plain, "acme/vm:1");
    let compressed = dir.path().join("layout.tar.gz");
    fs::write(&compressed, gzip(&tar_of(&made.layout(&gzip(&made.layer), nested, &json!({}))))).unwrap();
    let check = |reference: &Reference| {
        let files = store.files(reference).unwrap();
        assert_eq!(files.find("/vm/launch.py"), FileSearch::Executable);
        assert_eq!(files.find("/vm/data.json"), FileSearch::NotExecutable);
        files
    };
    let listed = check(&Reference::Path(plain.clone()));
    assert_eq!(listed.paths().collect::<Vec<_>>(), ["/opt/vm/data.json", "/opt/vm/launch.py", "/vm"]);
    assert_eq!(check(&Reference::Path(compressed)), listed);
    assert_eq!(store.list().unwrap(), []);
    store.import(&plain, None).unwrap();
    check(&"acme/vm:1".parse().unwrap());
    assert!(matches!(store.files(&"acme/none".parse().unwrap()), Err(ImageError::Unknown { .. })));
}
