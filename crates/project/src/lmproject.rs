//! `lmproject.yml`, the project file of the tool `lmctl`. The file declares the names of a project's descriptors,
//! and the nesting of their packages.
//!
//! The folder with this file is the project. The packages of the project's components are in `Contains/<directory>`
//! (`VNFCs/…` in old projects), and may contain further packages in the same way. When `lmctl` builds a
//! project, it names each descriptor `kind::name-parent::version`, and replaces
//! `$lmctl:/contains:/<name>:/descriptor_name` by the name of the component's descriptor. windlass does the
//! same when it reads a descriptor, so windlass can check and use a project without a build.

use std::path::Path;

use windlass_descriptor::Surroundings;
use windlass_model::DescriptorName;
use windlass_source::{LoadOptions, Mapping, Node, load_one};

use crate::disk::source;
use crate::layout::{CONTAINERS, package_of};

/// The possible names of the project file.
const FILE_NAMES: [&str; 2] = ["lmproject.yml", "lmproject.yaml"];

/// The version that `lmctl` gives to a project without the key `version`.
const DEFAULT_VERSION: &str = "1.0";

/// Maximum nesting depth of projects.
const MAX_DEPTH: usize = 16;

/// Returns the names that an `lmctl` project gives to descriptors: to the descriptor in `file`, and to those in the
/// folder `Contains` of the same package. If no folder above `file` is an `lmctl` project, the result is empty.
pub(crate) fn surroundings(file: &Path) -> Surroundings {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let package = package_of(&file);
    let Some((root, way)) = package.ancestors().find_map(|folder| {
        let file = FILE_NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file())?;
        Some((file, package.strip_prefix(folder).ok()?.to_path_buf()))
    }) else {
        return Surroundings::default();
    };
    let project = read(&root);
    project.as_ref().and_then(|project| project.below(&way)).map(Part::surroundings).unwrap_or_default()
}

/// A project, or a package that a project contains.
struct Part {
    name: String,
    folder: String,
    descriptor: Option<DescriptorName>,
    contains: Vec<Part>,
}

impl Part {
    /// Finds the part whose package is at a path relative to this part, such as `Contains/db/Contains/disk`.
    fn below(&self, way: &Path) -> Option<&Self> {
        let names: Option<Vec<&str>> = way.iter().map(|name| name.to_str()).collect();
        let mut part = self;
        for pair in names?.chunks(2) {
            let [container, folder] = pair else { return None };
            let inside = CONTAINERS.contains(container);
            part = part.contains.iter().find(|part| inside && part.folder == *folder)?;
        }
        Some(part)
    }

    fn surroundings(&self) -> Surroundings {
        let mut around = Surroundings { name: self.descriptor.clone(), ..Surroundings::default() };
        for part in &self.contains {
            around.contain(&part.name, &part.surroundings());
        }
        around
    }
}

/// Reads a project file as far as it is valid. Problems are not reported here, because `lmctl` reports them.
fn read(file: &Path) -> Option<Part> {
    let source = source(file).ok()?;
    let loaded = load_one(&source, &LoadOptions::default());
    let root = loaded.root?;
    let root = root.as_mapping()?;
    let version = text(root, "version").unwrap_or(DEFAULT_VERSION);
    part(root, None, version, 0)
}

fn text<'n>(mapping: &'n Mapping, key: &str) -> Option<&'n str> {
    mapping.get(key).filter(|node| !node.is_null()).and_then(Node::as_str)
}

fn part(body: &Mapping, parent: Option<&str>, version: &str, depth: usize) -> Option<Part> {
    let name = text(body, "name")?;
    Some(named(name, body, parent, version, depth))
}

/// Reads a project, or an entry of `contains`, which is a project inside another project.
///
/// - `name`: the name of the project or entry;
/// - `parent`: the full name of the project that contains the entry, such as `db-shop`;
/// - `version`: the version of the outermost project;
/// - `depth`: the number of projects that contain the entry.
fn named(name: &str, body: &Mapping, parent: Option<&str>, version: &str, depth: usize) -> Part {
    let full = parent.map_or_else(|| name.to_owned(), |parent| format!("{name}-{parent}"));
    let is_resource = text(body, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("resource"));
    let kind = if is_resource { "resource" } else { "assembly" };
    let mut contains = Vec::new();
    if depth < MAX_DEPTH {
        let items = body.get("contains").and_then(Node::as_sequence).unwrap_or_default();
        contains.extend(
            items.iter().filter_map(|item| part(item.as_mapping()?, Some(&full), version, depth + 1)),
        );
        contains.extend(old_parts(body, &full, version));
    }
    Part {
        name: name.to_owned(),
        folder: text(body, "directory").unwrap_or(name).to_owned(),
        descriptor: format!("{kind}::{full}::{version}").parse().ok(),
        contains,
    }
}

/// Reads the resources of an old project file, which has the key `vnfcs` instead of the key `contains`. The keys
/// below `vnfcs.definitions` are the names of the resources.
fn old_parts(body: &Mapping, parent: &str, version: &str) -> Vec<Part> {
    let definitions = body.get("vnfcs").and_then(|vnfcs| vnfcs.get("definitions")).and_then(Node::as_mapping);
    let entries = definitions.map(Mapping::entries).unwrap_or_default();
    let part = |entry: &windlass_source::Entry| {
        let name = entry.key.text();
        let folder = entry.value.as_mapping().and_then(|body| text(body, "directory"));
        Part {
            name: name.to_owned(),
            folder: folder.unwrap_or(name).to_owned(),
            descriptor: format!("resource::{name}-{parent}::{version}").parse().ok(),
            contains: Vec::new(),
        }
    };
    entries.iter().map(part).collect()
}
