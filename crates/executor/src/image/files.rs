//! The files of an image, listed without a container.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    ops::Bound,
    os::unix::fs::PermissionsExt,
    path::Path,
};

use tar::EntryType;

use crate::image::{
    ImageError, ImageLimits,
    archive::{Archive, Described},
    budget::Budget,
    error::io_error,
    layer::{Added, Target, apply_all, link_target},
    root::parts,
};

/// Maximum number of links that a search follows, as in the kernel.
const MAX_LINKS: usize = 40;

/// The permission bits to execute a file: for its owner, for its group, and for others.
const EXECUTABLE: u32 = 0o111;

/// The list of the files in an image. For each file, the list tells whether the file is executable.
///
/// ```
/// use windlass_executor::image::{FileSearch, ImageFiles};
///
/// # let dir = tempfile::tempdir()?;
/// std::fs::write(dir.path().join("launch.py"), "#!/usr/bin/python3\n")?;
/// let files = ImageFiles::of_folder(dir.path())?;
/// assert_eq!(files.find("/launch.py"), FileSearch::NotExecutable);
/// assert_eq!(files.find("/destroy.py"), FileSearch::Missing);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageFiles {
    /// Entries by their path, relative to the root. The root itself has no entry.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Folder,
    File {
        executable: bool,
    },
    /// A symbolic link with this target.
    Link(String),
    /// A named pipe, a device or a socket.
    Other,
}

/// The result of the search for a file. The search follows links within the image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSearch {
    /// The path is an executable file.
    Executable,
    /// The path is a file that is not executable.
    NotExecutable,
    /// The path is a folder, a named pipe, or another special file.
    NotAFile,
    /// A link in the path has this target. The target does not exist, or leads back to the link.
    Dangling(String),
    /// Nothing has this path.
    Missing,
}

impl ImageFiles {
    /// Lists the files of an unpacked image.
    ///
    /// # Errors
    /// [`ImageError::Io`].
    pub fn of_folder(root: &Path) -> Result<Self, ImageError> {
        let mut files = Self::default();
        let mut open = vec![String::new()];
        while let Some(folder) = open.pop() {
            let path = root.join(&folder);
            for entry in fs::read_dir(&path).map_err(io_error("list", &path))? {
                let entry = entry.map_err(io_error("list", &path))?;
                let name = joined(&folder, &entry.file_name().to_string_lossy());
                let listed = listed(&entry).map_err(io_error("read", entry.path()))?;
                if listed == Entry::Folder {
                    open.push(name.clone());
                }
                files.entries.insert(name, listed);
            }
        }
        Ok(files)
    }

    /// Lists the files of an archive with exactly one image. Checks the digests of its layers.
    ///
    /// # Errors
    /// All errors of reading an archive, and [`ImageError::Several`] when the archive contains several
    /// images.
    pub fn of_archive(archive: &Archive, limits: ImageLimits) -> Result<Self, ImageError> {
        let described = archive.images()?;
        let [image] = described.as_slice() else {
            return Err(ImageError::Several { path: archive.path().to_owned(), count: described.len() });
        };
        Self::of_image(archive, image, limits)
    }

    fn of_image(archive: &Archive, image: &Described, limits: ImageLimits) -> Result<Self, ImageError> {
        let mut files = Self::default();
        apply_all(&mut files, archive, image, &mut Budget::new(limits))?;
        Ok(files)
    }

    /// Finds a file by its path in the image. A relative path counts from the root.
    pub fn find(&self, path: &str) -> FileSearch {
        match self.follow(path, &mut 0) {
            Ok(path) => match self.entries.get(&path) {
                Some(Entry::File { executable: true }) => FileSearch::Executable,
                Some(Entry::File { executable: false }) => FileSearch::NotExecutable,
                _ => FileSearch::NotAFile,
            },
            Err(found) => found,
        }
    }

    /// Returns the paths of all files and links, each with a leading `/`.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        let is_file = |entry: &Entry| matches!(entry, Entry::File { .. } | Entry::Link(_));
        self.entries.iter().filter(move |(_, entry)| is_file(entry)).map(|(path, _)| format!("/{path}"))
    }

    /// Resolves all links in a path, and returns the path without links.
    fn follow(&self, path: &str, links: &mut usize) -> Result<String, FileSearch> {
        let mut at = String::new();
        for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                at.truncate(at.rfind('/').unwrap_or(0));
                continue;
            }
            let next = joined(&at, part);
            at = match self.entries.get(&next) {
                None => return Err(FileSearch::Missing),
                Some(Entry::Link(target)) => {
                    *links += 1;
                    if *links > MAX_LINKS {
                        return Err(FileSearch::Dangling(target.clone()));
                    }
                    let from = if target.starts_with('/') { "" } else { at.as_str() };
                    self.follow(&joined(from, target), links).map_err(|found| match found {
                        FileSearch::Missing => FileSearch::Dangling(target.clone()),
                        found => found,
                    })?
                }
                Some(_) => next,
            };
        }
        Ok(at)
    }

    /// Resolves all links in the path of a folder, and returns the resolved path. Creates the missing folders of the
    /// path. `above` contains the parts of the path.
    fn folder(&mut self, above: &[&str]) -> io::Result<String> {
        let mut at = String::new();
        for part in above {
            let next = joined(&at, part);
            at = match self.entries.get(&next) {
                None => {
                    self.entries.insert(next.clone(), Entry::Folder);
                    next
                }
                Some(Entry::Folder) => next,
                Some(_) => {
                    let found = self.follow(&next, &mut 0).ok();
                    let is_folder =
                        |path: &String| path.is_empty() || self.entries.get(path) == Some(&Entry::Folder);
                    found.filter(is_folder).ok_or_else(|| {
                        io::Error::other(format!("`/{next}` is neither a folder nor a link to one"))
                    })?
                }
            };
        }
        Ok(at)
    }

    /// Joins the parts of a path, and resolves the links in all parts except the last one. Returns `None` if `parts` is
    /// empty, or if the parent folder of the last part does not exist.
    fn existing(&self, parts: &[&str]) -> Option<String> {
        let (name, above) = parts.split_last()?;
        Some(joined(&self.follow(&above.join("/"), &mut 0).ok()?, name))
    }

    /// Removes an entry and all entries below it.
    fn clear(&mut self, path: &str) {
        self.entries.remove(path);
        for below in self.below(path) {
            self.entries.remove(&below);
        }
    }

    /// Returns the paths of all entries below a folder.
    fn below(&self, folder: &str) -> Vec<String> {
        let start = format!("{folder}/");
        let range = self.entries.range::<str, _>((Bound::Included(start.as_str()), Bound::Unbounded));
        range.map(|(path, _)| path).take_while(|path| path.starts_with(&start)).cloned().collect()
    }
}

impl Target for ImageFiles {
    fn add(&mut self, parts: &[&str], entry: &mut tar::Entry<'_, impl Read>) -> io::Result<Added> {
        let Some((name, above)) = parts.split_last() else { return Ok(Added::default()) };
        let mode = entry.header().mode()?;
        let listed = match entry.header().entry_type() {
            EntryType::Directory => Entry::Folder,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                Entry::File { executable: mode & EXECUTABLE != 0 }
            }
            EntryType::Symlink => Entry::Link(link_target(entry)?),
            EntryType::Link => self.linked(&link_target(entry)?)?,
            EntryType::Fifo => Entry::Other,
            EntryType::Char | EntryType::Block | EntryType::XGlobalHeader => {
                return Ok(Added::default());
            }
            other => return Err(crate::image::layer::unknown_kind(other)),
        };
        let before = self.entries.len();
        let path = joined(&self.folder(above)?, name);
        let folders = self.entries.len() - before;
        if listed != Entry::Folder || self.entries.get(&path) != Some(&Entry::Folder) {
            self.clear(&path);
        }
        self.entries.insert(path, listed);
        Ok(Added { is_kept: true, folders })
    }

    fn remove(&mut self, parts: &[&str]) -> io::Result<()> {
        if let Some(path) = self.existing(parts) {
            self.clear(&path);
        }
        Ok(())
    }

    fn children(&mut self, parts: &[&str]) -> io::Result<Vec<String>> {
        let Some(folder) = self.existing(parts) else { return Ok(Vec::new()) };
        let names = self.below(&folder).into_iter().map(|path| path[folder.len() + 1..].to_owned());
        Ok(names.filter(|name| !name.contains('/')).collect())
    }
}

impl ImageFiles {
    /// Returns the entry of the file to which a hard link leads.
    fn linked(&self, target: &str) -> io::Result<Entry> {
        let path = self.existing(&parts(target).map_err(io::Error::other)?);
        let found = path.and_then(|path| self.entries.get(&path));
        found.cloned().ok_or_else(|| io::Error::other(format!("`{target}`, its target, isn't there")))
    }
}

/// Joins a folder and a path below it. For the root folder, `folder` is an empty text.
fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

fn listed(entry: &fs::DirEntry) -> io::Result<Entry> {
    let metadata = entry.metadata()?;
    let kind = metadata.file_type();
    Ok(if kind.is_dir() {
        Entry::Folder
    } else if kind.is_symlink() {
        Entry::Link(fs::read_link(entry.path())?.to_string_lossy().into_owned())
    } else if kind.is_file() {
        Entry::File { executable: metadata.permissions().mode() & EXECUTABLE != 0 }
    } else {
        Entry::Other
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, Entry)]) -> ImageFiles {
        let entries = entries.iter().map(|(path, entry)| ((*path).to_owned(), entry.clone()));
        ImageFiles { entries: entries.collect() }
    }

    fn link(target: &str) -> Entry {
        Entry::Link(target.to_owned())
    }

    #[test]
    fn links_are_followed_within_the_image() {
        let file = |executable| Entry::File { executable };
        let files = files(&[
            ("opt", Entry::Folder),
            ("opt/vm", Entry::Folder),
            ("opt/vm/launch.py", file(true)),
            ("opt/vm/data.json", file(false)),
            ("opt/vm/pipe", Entry::Other),
            ("vm", link("opt/vm")),
            ("again", link("/vm/../vm")),
            ("opt/up", link("../../../vm/launch.py")),
            ("gone", link("/opt/none")),
            ("loop", link("loop")),
            ("one", link("two")),
            ("two", link("/one/x")),
        ]);
        let dangling = |target: &str| FileSearch::Dangling(target.to_owned());
        for (path, found) in [
            ("/opt/vm/launch.py", FileSearch::Executable),
            ("opt//vm/./launch.py", FileSearch::Executable),
            ("/vm/launch.py", FileSearch::Executable),
            ("/again/launch.py", FileSearch::Executable),
            ("/opt/up", FileSearch::Executable),
            ("/vm/data.json", FileSearch::NotExecutable),
            ("/vm", FileSearch::NotAFile),
            ("/", FileSearch::NotAFile),
            ("/vm/pipe", FileSearch::NotAFile),
            ("/vm/destroy.py", FileSearch::Missing),
            ("/opt/vm/launch.py/x", FileSearch::Missing),
            ("/gone", dangling("/opt/none")),
            ("/gone/launch.py", dangling("/opt/none")),
            ("/loop", dangling("loop")),
            ("/one", dangling("two")),
        ] {
            assert_eq!(files.find(path), found, "{path}");
        }
    }

    /// A search ends with an error if it must follow too many links. Each link of this test names the previous link
    /// twice. So the number of followed links doubles from link to link.
    #[test]
    fn a_search_ends() {
        let links: Vec<(String, Entry)> = (1..60)
            .map(|at| (format!("l{at}"), link(&format!("l{0}/../l{0}", at - 1))))
            .chain([("l0".to_owned(), Entry::Folder)])
            .collect();
        let files = ImageFiles { entries: links.into_iter().collect() };
        assert_eq!(files.find("/l4"), FileSearch::NotAFile);
        assert!(matches!(files.find("/l59"), FileSearch::Dangling(_)));
    }
}
