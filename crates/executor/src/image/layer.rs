//! Applies the layers of an image (OCI image spec, layer.md), the lowest first, to a folder or to a list of
//! files.

use std::{
    collections::BTreeSet,
    io::{self, Read},
};

use tar::{Entry, EntryType};

use crate::image::{
    ImageError,
    archive::{Archive, Described},
    budget::{Budget, HeaderGuard, HeaderRoom},
    error::io_error,
    root::{Place, Root, parts},
    stream::{Hashing, Plain},
};

/// Prefix of a whiteout: an entry that deletes a file of a lower layer. `OPAQUE` is the name of an opaque
/// whiteout, which deletes all files that lower layers have put into its folder.
const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// The result of [`Target::add`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Added {
    /// False if the entry was skipped, for example because it is a device.
    pub(crate) is_kept: bool,
    /// Number of created folders. Each of these folders is above the entry, and did not exist before.
    pub(crate) folders: usize,
}

/// A place to which the layers of an image are applied: a folder on the disk, or a list of files in memory. The methods
/// get a path as a list of its parts, such as `["etc", "hosts"]`. This list is never empty.
pub(crate) trait Target {
    /// Adds an entry, and removes an existing entry with the same path. If both entries are folders, the existing
    /// folder keeps its content. Creates the folders above the entry if they do not exist.
    fn add(&mut self, parts: &[&str], entry: &mut Entry<'_, impl Read>) -> io::Result<Added>;

    /// Removes an entry, if it exists. If the entry is a folder, also removes all its content.
    fn remove(&mut self, parts: &[&str]) -> io::Result<()>;

    /// Lists the names in a folder; the list is empty if the path is not a folder.
    fn children(&mut self, parts: &[&str]) -> io::Result<Vec<String>>;

    /// Ends a layer. [`apply_all`] calls this method after the last entry of each layer. The implementation for
    /// [`Root`] empties the cache of the root.
    fn end_layer(&mut self) {}
}

/// The state of applying one layer.
struct Layer<'a, T> {
    target: &'a mut T,
    /// Paths of the entries that this layer has added. A *whiteout* is an entry that deletes files of lower layers.
    /// A whiteout deletes no entry that its own layer has added, and no folder above such an entry. The order of the
    /// entry and the whiteout in the layer does not matter.
    own: BTreeSet<String>,
}

/// Applies all layers of an image, and checks the digests of each layer.
pub(crate) fn apply_all(
    target: &mut impl Target,
    archive: &Archive,
    image: &Described,
    budget: &mut Budget,
) -> Result<(), ImageError> {
    for (number, (file, diff_id)) in image.layers.iter().zip(image.config.diff_ids()).enumerate() {
        let name = format!("layer {} of `{}`", number + 1, archive.path().display());
        let stored = archive.file(&file.name)?.ok_or_else(|| archive.missing("the manifest", &file.name))?;
        let read = io_error("read", archive.path());
        let plain = Plain::new(Hashing::new(stored)).map_err(read)?;
        let mut layer = Hashing::new(plain);
        apply(target, &name, &mut layer, budget)?;
        target.end_layer();
        let (found, plain) = layer.finish().map_err(io_error("read", archive.path()))?;
        archive.same(diff_id, &found, &name)?;
        let (found, _) = plain.into_inner().finish().map_err(io_error("read", archive.path()))?;
        if let Some(expected) = &file.digest {
            archive.same(expected, &found, &name)?;
        }
    }
    Ok(())
}

/// Applies one layer. `name` is the name of the layer in error messages.
fn apply(
    target: &mut impl Target,
    name: &str,
    stream: impl Read,
    budget: &mut Budget,
) -> Result<(), ImageError> {
    let mut layer = Layer { target, own: BTreeSet::new() };
    let room = HeaderRoom::new();
    let mut archive = tar::Archive::new(HeaderGuard::new(stream, &room));
    let unreadable = |error: io::Error| {
        error.downcast().unwrap_or_else(|error| ImageError::Entry {
            layer: name.to_owned(),
            entry: "?".to_owned(),
            problem: error.to_string(),
        })
    };
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let header_bytes = room.end_headers();
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path_bytes = path.len() + entry.link_name_bytes().map_or(0, |target| target.len());
        budget.take_entry(entry.size(), path_bytes, header_bytes)?;
        let problem = |problem: String| ImageError::Entry {
            layer: name.to_owned(),
            entry: path.escape_debug().to_string(),
            problem,
        };
        if std::str::from_utf8(&entry.path_bytes()).is_err() {
            return Err(problem("its name is not UTF-8".to_owned()));
        }
        let parts = parts(&path).map_err(|why| problem(why.to_owned()))?;
        // An entry without parts is the root itself.
        if let Some((last, above)) = parts.split_last() {
            let folders = match last.strip_prefix(WHITEOUT) {
                Some(_) if *last == OPAQUE => layer.empty(above).map(|()| 0),
                Some(hidden) => layer.hide(above, hidden).map(|()| 0),
                None => layer.put(&parts, &mut entry),
            };
            let folders = folders.map_err(|error| problem(error.to_string()))?;
            budget.take_folders(folders, path.len())?;
        }
        // The content may be unread, or read in part.
        io::copy(&mut entry, &mut io::sink()).map_err(unreadable)?;
        room.end_content();
    }
    // The digest of a layer includes the bytes after the last entry.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(unreadable)?;
    Ok(())
}

impl<T: Target> Layer<'_, T> {
    /// Adds an entry that is no whiteout. Returns how many folders above the entry were created for it.
    fn put(&mut self, parts: &[&str], entry: &mut Entry<'_, impl Read>) -> io::Result<usize> {
        let added = self.target.add(parts, entry)?;
        if added.is_kept {
            self.own.insert(parts.join("/"));
        }
        Ok(added.folders)
    }

    /// Deletes the file or folder `hidden` in the folder `above`, except entries that this layer has added.
    fn hide(&mut self, above: &[&str], hidden: &str) -> io::Result<()> {
        if matches!(hidden, "" | "." | "..") {
            return Err(io::Error::other("it hides something other than a file"));
        }
        self.delete(&[above, &[hidden]].concat())
    }

    /// Deletes the entries of a folder, except entries that this layer has added.
    fn empty(&mut self, folder: &[&str]) -> io::Result<()> {
        if folder.is_empty() {
            return Err(io::Error::other("it hides the whole image"));
        }
        for child in self.target.children(folder)? {
            self.delete(&[folder, &[child.as_str()]].concat())?;
        }
        Ok(())
    }

    /// Deletes an entry and all its content. Keeps the entries that this layer has added, and the folders that contain
    /// these entries.
    fn delete(&mut self, parts: &[&str]) -> io::Result<()> {
        if !self.is_own(&parts.join("/")) {
            return self.target.remove(parts);
        }
        for child in self.target.children(parts)? {
            self.delete(&[parts, &[child.as_str()]].concat())?;
        }
        Ok(())
    }

    /// Tells whether this layer has added an entry with this path, or an entry below this path.
    fn is_own(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        let first = self.own.range(inside.clone()..).next();
        self.own.contains(path) || first.is_some_and(|first| first.starts_with(&inside))
    }
}

impl Target for Root {
    fn add(&mut self, parts: &[&str], entry: &mut Entry<'_, impl Read>) -> io::Result<Added> {
        let (kind, mode) = (entry.header().entry_type(), entry.header().mode()?);
        let changed = entry.header().mtime().unwrap_or(0);
        let target = match kind {
            EntryType::Symlink | EntryType::Link => link_target(entry)?,
            _ => String::new(),
        };
        let linked = match kind {
            EntryType::Link => Some(self.target(&self::parts(&target).map_err(io::Error::other)?)?),
            _ => None,
        };
        if kind != EntryType::Directory && self.existing(parts)?.is_some_and(|place| place.is_folder()) {
            // The entry replaces a folder. This may be the cached folder.
            self.place(parts)?.clear()?;
            self.forget();
        }
        let place = self.place(parts)?;
        let mut is_kept = true;
        match &linked {
            Some(linked) => place.link_to(linked)?,
            None if make(&place, entry, mode, &target)? => place.changed_at(changed)?,
            None => is_kept = false,
        }
        Ok(Added { is_kept, folders: place.created })
    }

    fn remove(&mut self, parts: &[&str]) -> io::Result<()> {
        if let Some(place) = self.existing(parts)? {
            place.clear()?;
        }
        self.forget();
        Ok(())
    }

    fn children(&mut self, parts: &[&str]) -> io::Result<Vec<String>> {
        self.existing(parts)?.map_or_else(|| Ok(Vec::new()), |place| place.children())
    }

    fn end_layer(&mut self) {
        self.forget();
    }
}

pub(crate) fn link_target(entry: &Entry<'_, impl Read>) -> io::Result<String> {
    let target = entry.link_name_bytes().ok_or_else(|| io::Error::other("it is a link to nothing"))?;
    String::from_utf8(target.into_owned()).map_err(|_| io::Error::other("its target is not UTF-8"))
}

/// Creates the file, folder or symbolic link of an entry. Returns `false` for an entry that is skipped.
fn make(place: &Place<'_>, entry: &mut Entry<'_, impl Read>, mode: u32, target: &str) -> io::Result<bool> {
    match entry.header().entry_type() {
        EntryType::Directory => place.folder(mode)?,
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            io::copy(entry, &mut place.file(mode)?)?;
        }
        EntryType::Symlink => place.symlink(target)?,
        EntryType::Fifo => place.fifo()?,
        // Devices are skipped, because jobs get devices of their own, and creating a device needs privileges.
        EntryType::Char | EntryType::Block => return Ok(false),
        // This entry belongs to the archive, and is not a file.
        EntryType::XGlobalHeader => return Ok(false),
        other => return Err(unknown_kind(other)),
    }
    Ok(true)
}

pub(crate) fn unknown_kind(kind: EntryType) -> io::Error {
    io::Error::other(format!("it is of no known kind (`{}`)", char::from(kind.as_byte()).escape_debug()))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use tar::{Builder, Header};

    use super::*;
    use crate::image::{ImageFiles, ImageLimits};

    /// Builds a layer. Each entry consists of a name, a kind, and a content or a link target.
    fn layer(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, text) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o755);
            let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
            header.set_size(if is_link { 0 } else { text.len() as u64 });
            // The name is written directly into the header, since the builder of the library rejects the
            // names that this test needs.
            let bytes = &mut header.as_old_mut().name;
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            if is_link {
                header.as_old_mut().linkname[..text.len()].copy_from_slice(text.as_bytes());
            }
            header.set_cksum();
            builder.append(&header, if is_link { &b""[..] } else { text.as_bytes() }).unwrap();
        }
        builder.into_inner().unwrap()
    }

    /// Unpacks layers, and also lists their files without unpacking. Checks that both ways give the same
    /// files.
    fn unpack(path: &Path, layers: &[&[(&str, EntryType, &str)]]) -> Result<(), String> {
        let mut listed = ImageFiles::default();
        let is_listed = apply_layers(&mut listed, layers).is_ok();
        let unpacked = apply_layers(&mut Root::open(path).unwrap(), layers);
        assert_eq!(is_listed, unpacked.is_ok(), "{unpacked:?}");
        if is_listed {
            assert_eq!(listed, ImageFiles::of_folder(path).unwrap());
        }
        unpacked
    }

    fn apply_layers(target: &mut impl Target, layers: &[&[(&str, EntryType, &str)]]) -> Result<(), String> {
        let mut budget = Budget::new(ImageLimits::default());
        for entries in layers {
            apply(target, "a layer", &layer(entries)[..], &mut budget).map_err(|error| error.to_string())?;
            target.end_layer();
        }
        Ok(())
    }

    fn listed(root: &Path) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut open = vec![root.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                found.push(path.strip_prefix(root).unwrap().display().to_string());
                if entry.file_type().unwrap().is_dir() {
                    open.push(path);
                }
            }
        }
        found.sort();
        found
    }

    const FILE: EntryType = EntryType::Regular;
    const DIR: EntryType = EntryType::Directory;

    #[test]
    fn layers_replace_and_take_away() {
        let dir = tempfile::tempdir().unwrap();
        unpack(
            dir.path(),
            &[
                &[
                    ("etc/", DIR, ""),
                    ("etc/a", FILE, "1"),
                    ("etc/b", FILE, "1"),
                    ("opt/x/y", FILE, "1"),
                    ("opt/x/z/deep", FILE, "1"),
                    ("was", FILE, ""),
                ],
                &[
                    ("etc/a", FILE, "2"),
                    ("etc/.wh.b", FILE, ""),
                    ("opt/x/new", FILE, ""),
                    ("opt/x/.wh..wh..opq", FILE, ""),
                    ("was", DIR, ""),
                    ("was/now", FILE, ""),
                ],
            ],
        )
        .unwrap();
        let expected = ["etc", "etc/a", "opt", "opt/x", "opt/x/new", "was", "was/now"];
        assert_eq!(listed(dir.path()), expected);
        assert_eq!(fs::read_to_string(dir.path().join("etc/a")).unwrap(), "2");
    }

    #[test]
    fn a_deleted_file_stays_deleted_in_any_order_of_the_entries() {
        let lower: &[(&str, EntryType, &str)] =
            &[("a/b/old", FILE, ""), ("a/b/c/old", FILE, ""), ("a/bc", FILE, ""), ("ab", FILE, "")];
        for (upper, expected) in [
            (vec![("a/b/new", FILE, ""), ("a/.wh..wh..opq", FILE, "")], vec!["a", "a/b", "a/b/new", "ab"]),
            (vec![("a/b/", DIR, ""), ("a/.wh..wh..opq", FILE, "")], vec!["a", "a/b", "ab"]),
            (vec![("a/new", FILE, ""), (".wh.a", FILE, "")], vec!["a", "a/new", "ab"]),
            (vec![("a/b/c/", DIR, ""), (".wh.a", FILE, "")], vec!["a", "a/b", "a/b/c", "ab"]),
            (vec![("a/b/c", FILE, ""), ("a/.wh.b", FILE, "")], vec!["a", "a/b", "a/b/c", "a/bc", "ab"]),
        ] {
            for upper in [upper.clone(), upper.into_iter().rev().collect()] {
                let dir = tempfile::tempdir().unwrap();
                unpack(dir.path(), &[lower, &upper]).unwrap();
                assert_eq!(listed(dir.path()), expected, "{upper:?}");
            }
        }
    }

    #[test]
    fn folders_and_links_replace_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let link = EntryType::Symlink;
        unpack(
            dir.path(),
            &[
                &[
                    ("a/", DIR, ""),
                    ("a/x", FILE, "1"),
                    ("b", link, "/a"),
                    ("c", FILE, ""),
                    ("d/e/f", FILE, ""),
                ],
                &[("b/y", FILE, ""), ("c/", DIR, ""), ("c/z", FILE, ""), ("d", link, "c"), ("d/w", FILE, "")],
                &[("b/", DIR, ""), ("b/own", EntryType::Link, "a/x"), ("a/.wh.y", FILE, "")],
            ],
        )
        .unwrap();
        assert_eq!(listed(dir.path()), ["a", "a/x", "b", "b/own", "c", "c/w", "c/z", "d"]);
    }

    #[test]
    fn links_are_kept_as_they_are_and_lead_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        fs::create_dir(&root).unwrap();
        fs::write(&outside, "untouched").unwrap();
        let entries: &[(&str, EntryType, &str)] = &[
            ("bin/sh", FILE, "shell"),
            ("bin/bash", EntryType::Link, "/bin/sh"),
            ("out", EntryType::Symlink, "../outside"),
            ("lib", EntryType::Symlink, "/usr/lib"),
            ("usr/lib/", DIR, ""),
            ("lib/libc", FILE, "c"),
            ("out", FILE, "mine"),
        ];
        unpack(&root, &[entries]).unwrap();
        assert_eq!(fs::read_to_string(root.join("bin/bash")).unwrap(), "shell");
        assert_eq!(fs::read_to_string(root.join("usr/lib/libc")).unwrap(), "c");
        assert_eq!(fs::read_to_string(root.join("out")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(outside).unwrap(), "untouched");
    }

    #[test]
    fn what_leads_out_is_refused() {
        for (entries, expected) in [
            (
                vec![("../evil", FILE, "")],
                "the entry `../evil` of a layer can't be unpacked: it leads out of the image",
            ),
            (
                vec![("a/.wh...", FILE, "")],
                "the entry `a/.wh...` of a layer can't be unpacked: it hides something other than a file",
            ),
            (
                vec![("link", EntryType::Link, "../../etc/passwd")],
                "the entry `link` of a layer can't be unpacked: it leads out of the image",
            ),
            (
                vec![(".wh..wh..opq", FILE, "")],
                "the entry `.wh..wh..opq` of a layer can't be unpacked: it hides the whole image",
            ),
        ] {
            let dir = tempfile::tempdir().unwrap();
            assert_eq!(unpack(dir.path(), &[&entries]).unwrap_err(), expected);
        }
        let dir = tempfile::tempdir().unwrap();
        let through = [("etc", EntryType::Symlink, "/no/such/place"), ("etc/passwd", FILE, "root")];
        unpack(dir.path(), &[&through]).unwrap_err();
        assert_eq!(listed(dir.path()), ["etc"]);
    }

    #[test]
    fn devices_are_left_out_and_set_user_id_is_dropped() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        unpack(dir.path(), &[&[("null", EntryType::Char, ""), ("pipe", EntryType::Fifo, "")]]).unwrap();
        assert_eq!(listed(dir.path()), ["pipe"]);
        let mut root = Root::open(dir.path()).unwrap();
        root.place(&["su"]).unwrap().file(0o4755).unwrap();
        assert_eq!(fs::metadata(dir.path().join("su")).unwrap().permissions().mode() & 0o7777, 0o755);
    }

    #[test]
    fn long_headers_are_refused_before_they_are_read() {
        let long = "x".repeat(2 << 20);
        let expected = "the image has more than 1048576 bytes in the headers of one entry or after the last entry of \
                        a tar file, which is the limit";
        for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
            let dir = tempfile::tempdir().unwrap();
            let entries = [("a", FILE, long.as_str()), ("long", kind, &long), ("b", FILE, "")];
            assert_eq!(unpack(dir.path(), &[&entries]).unwrap_err(), expected, "{kind:?}");
            assert_eq!(listed(dir.path()), ["a"]);
        }
        let dir = tempfile::tempdir().unwrap();
        let mut root = Root::open(dir.path()).unwrap();
        let mut bytes = layer(&[("a", FILE, &long)]);
        bytes.extend(vec![0; 2 << 20]);
        let mut budget = Budget::new(ImageLimits::default());
        let error = apply(&mut root, "a layer", &bytes[..], &mut budget).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn too_much_is_too_much() {
        let dir = tempfile::tempdir().unwrap();
        let mut root = Root::open(dir.path()).unwrap();
        let limits = ImageLimits { bytes: 3, entries: 2, ..ImageLimits::default() };
        let mut few = Budget::new(limits);
        let error = apply(&mut root, "a layer", &layer(&[("a", FILE, "1234")])[..], &mut few).unwrap_err();
        assert_eq!(error.to_string(), "the image has more than 3 bytes, which is the limit");
        let many = layer(&[("a", FILE, ""), ("b", FILE, ""), ("c", FILE, "")]);
        let error = apply(&mut root, "a layer", &many[..], &mut Budget::new(limits)).unwrap_err();
        assert_eq!(error.to_string(), "the image has more than 2 files, which is the limit");
    }

    #[test]
    fn folders_that_only_a_path_names_count_as_entries() {
        let limits = ImageLimits { entries: 5, ..ImageLimits::default() };
        let few: &[(&str, EntryType, &str)] = &[("a/b/c", FILE, ""), ("a/b/d", FILE, ""), ("a/b/", DIR, "")];
        let many: &[(&str, EntryType, &str)] = &[("a/b/c", FILE, ""), ("a/d/e", FILE, ""), ("f", FILE, "")];
        let paths = ImageLimits { path_bytes: 10, ..ImageLimits::default() };
        let short: &[(&str, EntryType, &str)] = &[("a", FILE, ""), ("b", EntryType::Symlink, "to/a")];
        let long: &[(&str, EntryType, &str)] = &[("a", FILE, ""), ("b", EntryType::Symlink, "to/a/file")];
        for (entries, limits, expected) in [
            (few, limits, None),
            (many, limits, Some("the image has more than 5 files, which is the limit")),
            (short, paths, None),
            (
                long,
                paths,
                Some("the image has more than 10 bytes in paths and link targets, which is the limit"),
            ),
            (
                many,
                paths,
                Some("the image has more than 10 bytes in paths and link targets, which is the limit"),
            ),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let bytes = layer(entries);
            let mut root = Root::open(dir.path()).unwrap();
            let unpacked = apply(&mut root, "a layer", &bytes[..], &mut Budget::new(limits));
            let mut files = ImageFiles::default();
            let listed = apply(&mut files, "a layer", &bytes[..], &mut Budget::new(limits));
            for applied in [unpacked, listed] {
                assert_eq!(applied.err().map(|error| error.to_string()).as_deref(), expected, "{entries:?}");
            }
        }
    }

    #[test]
    fn a_path_of_more_than_128_parts_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = "a/".repeat(129);
        let entries = [("././@LongLink", EntryType::GNULongName, path.as_str()), ("a", DIR, "")];
        let error = unpack(dir.path(), &[&entries]).unwrap_err();
        assert!(error.ends_with("a layer can't be unpacked: its path has more than 128 parts"), "{error}");
        assert_eq!(listed(dir.path()), [""; 0]);
    }
}
