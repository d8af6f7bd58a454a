//! A folder into which layers are unpacked. No path of a layer leads out of the folder.
//!
//! The kernel resolves every path with this folder as its root (`openat2`, `RESOLVE_IN_ROOT`). So a link in a
//! layer stays inside, whatever its target is. A link as the last part of a path is never followed.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, Timespec, Timestamps, fchmod, linkat,
        mkdirat, mknodat, openat, openat2, statat, symlinkat, unlinkat, utimensat,
    },
    io::Errno,
};

/// Maximum length in bytes of one part of a path, on common file systems.
const LONGEST_NAME: usize = 255;

/// Maximum number of parts of a path in an image. Each part may be a folder that does not exist yet, so a layer with
/// few entries could otherwise create very many folders.
const MAX_PARTS: usize = 128;

/// A folder in which paths are resolved as if the folder were `/`.
#[derive(Debug)]
pub(crate) struct Root {
    folder: OwnedFd,
    /// Parent folder of the last entry that was created. It is cached, because consecutive entries often have
    /// the same parent folder.
    last: Option<(PathBuf, OwnedFd)>,
}

/// A path in a root: its opened parent folder, and its last part.
pub(crate) struct Place<'a> {
    folder: &'a OwnedFd,
    name: &'a str,
    /// Number of folders that [`Root::place`] has created for this place.
    pub(crate) created: usize,
}

/// Splits a path in an archive into its parts.
///
/// # Errors
/// The reason why the path is invalid: it leads upwards, has too many parts, or can't be the name of a file.
pub(crate) fn parts(path: &str) -> Result<Vec<&str>, &'static str> {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err("it leads out of the image");
    }
    if path.contains('\0') || parts.iter().any(|part| part.len() > LONGEST_NAME) || path.len() > 4095 {
        return Err("its name is not one that a file can have");
    }
    if parts.len() > MAX_PARTS {
        return Err("its path has more than 128 parts");
    }
    Ok(parts)
}

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { folder: openat(CWD, path, flags, Mode::empty())?, last: None })
    }

    /// Opens the parent folder of a path. Creates the parent folder if it does not exist.
    pub(crate) fn place<'a>(&'a mut self, parts: &[&'a str]) -> io::Result<Place<'a>> {
        let [above @ .., name] = parts else { return Err(io::ErrorKind::InvalidInput.into()) };
        let path: PathBuf = above.iter().collect();
        let mut created = 0;
        if self.last.as_ref().is_none_or(|(last, _)| *last != path) {
            let folder;
            (folder, created) = self.make_folders(above)?;
            self.last = Some((path, folder));
        }
        let (_, folder) = self.last.as_ref().expect("it was set above");
        Ok(Place { folder, name, created })
    }

    /// Opens the parent folder of a path. Returns `None` if the parent folder does not exist.
    pub(crate) fn existing<'a>(&'a mut self, parts: &[&'a str]) -> io::Result<Option<Place<'a>>> {
        let [above @ .., _] = parts else { return Ok(None) };
        let path: PathBuf = above.iter().collect();
        match self.open_folder(&path) {
            Ok(_) => self.place(parts).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens the parent folder of a hard link's target. Returns this folder, and the last part of the target's
    /// path.
    pub(crate) fn target(&self, parts: &[&str]) -> io::Result<(OwnedFd, String)> {
        let [above @ .., name] = parts else { return Err(io::ErrorKind::InvalidInput.into()) };
        let folder = self.open_folder(&above.iter().collect::<PathBuf>())?;
        Ok((folder, (*name).to_owned()))
    }

    /// Empties the cache `last`. Callers use this function when the cached folder may no longer exist on disk.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// Opens a folder. Creates the folder and the folders above it if they do not exist. Also returns how many folders
    /// this call created.
    fn make_folders(&self, above: &[&str]) -> io::Result<(OwnedFd, usize)> {
        let path: PathBuf = above.iter().collect();
        match self.open_folder(&path) {
            Err(Errno::NOENT) => {}
            opened => return Ok((opened?, 0)),
        }
        let mut folder = self.open_folder(Path::new(""))?;
        let mut path = PathBuf::new();
        let mut created = 0;
        for part in above {
            path.push(part);
            folder = match self.open_folder(&path) {
                Err(Errno::NOENT) => {
                    mkdirat(&folder, *part, Mode::from_raw_mode(0o755))?;
                    created += 1;
                    self.open_folder(&path)?
                }
                opened => opened?,
            };
        }
        Ok((folder, created))
    }

    fn open_folder(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(&self.folder, path, flags, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
    }
}

impl Place<'_> {
    fn kind(&self) -> io::Result<Option<FileType>> {
        match statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Tells whether the entry at the path is a folder. A link to a folder is no folder. Returns `false` if the kind of
    /// the entry can't be found out.
    pub(crate) fn is_folder(&self) -> bool {
        self.kind().is_ok_and(|kind| kind == Some(FileType::Directory))
    }

    /// Tells whether an entry exists at the path. If that can't be found out, returns `true`.
    pub(crate) fn is_there(&self) -> bool {
        !self.kind().is_ok_and(|kind| kind.is_none())
    }

    /// Creates a folder, or keeps an existing folder. If an entry of another kind exists at the path, first removes
    /// that entry. The new or existing folder gets the permission bits of `mode`. In addition, its owner always gets
    /// all permissions.
    pub(crate) fn folder(&self, mode: u32) -> io::Result<()> {
        if self.kind()? != Some(FileType::Directory) {
            self.clear()?;
            mkdirat(self.folder, self.name, Mode::from_raw_mode(0o700))?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(self.folder, self.name, flags, Mode::empty())?;
        // The user must be able to list and remove the folder.
        Ok(fchmod(folder, Mode::from_raw_mode(mode & 0o777 | 0o700))?)
    }

    /// Creates an empty file. If an entry exists at the path, first removes that entry. The file gets the permission
    /// bits of `mode`, and its owner may always read the file.
    pub(crate) fn file(&self, mode: u32) -> io::Result<File> {
        self.clear()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(self.folder, self.name, flags, Mode::RUSR | Mode::WUSR)?;
        fchmod(&file, Mode::from_raw_mode(mode & 0o777 | 0o400))?;
        Ok(file.into())
    }

    pub(crate) fn symlink(&self, target: &str) -> io::Result<()> {
        self.clear()?;
        Ok(symlinkat(target, self.folder, self.name)?)
    }

    pub(crate) fn link_to(&self, (folder, name): &(OwnedFd, String)) -> io::Result<()> {
        self.clear()?;
        Ok(linkat(folder, name.as_str(), self.folder, self.name, AtFlags::empty())?)
    }

    pub(crate) fn fifo(&self) -> io::Result<()> {
        self.clear()?;
        Ok(mknodat(self.folder, self.name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
    }

    /// Sets the modification time of the entry. The time matters because some programs compare the times of a
    /// source file and of the compiled file.
    pub(crate) fn changed_at(&self, seconds: u64) -> io::Result<()> {
        let at = Timespec { tv_sec: i64::try_from(seconds).unwrap_or(0), tv_nsec: 0 };
        let times = Timestamps { last_access: at, last_modification: at };
        Ok(utimensat(self.folder, self.name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Removes the entry, if it exists. If the entry is a folder, also removes all its content.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match self.kind()? {
            None => Ok(()),
            Some(FileType::Directory) => {
                // The path starts at the descriptor of the parent folder, so no link in a higher folder can
                // redirect the path. Inside the removed folder, `remove_dir_all` follows no link.
                std::fs::remove_dir_all(self.through_descriptor())
            }
            Some(_) => Ok(unlinkat(self.folder, self.name, AtFlags::empty())?),
        }
    }

    /// Lists the entries of the folder at this path. If the path is no folder, the list is empty.
    pub(crate) fn children(&self) -> io::Result<Vec<String>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(self.folder, self.name, flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
            opened => opened?,
        };
        let mut names = Vec::new();
        let mut space = Vec::with_capacity(8192);
        let mut listing = RawDir::new(&folder, space.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn through_descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_fd().as_raw_fd())).join(self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_paths_that_stay_inside_are_taken() {
        assert_eq!(parts("./a//b/").unwrap(), ["a", "b"]);
        assert_eq!(parts("/etc/passwd").unwrap(), ["etc", "passwd"]);
        assert_eq!(parts(&"a/".repeat(128)).unwrap(), ["a"; 128]);
        for bad in ["..", "a/../../b", "../etc", &"x".repeat(256), &"a/".repeat(129)] {
            assert!(parts(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_link_leads_to_what_it_names_inside() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("root")).unwrap();
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        symlink(dir.path().join("outside"), dir.path().join("root/absolute")).unwrap();
        symlink("../outside", dir.path().join("root/upwards")).unwrap();
        let mut root = Root::open(&dir.path().join("root")).unwrap();
        for link in ["absolute", "upwards"] {
            // Inside the root, the target of the link does not exist, so nothing can be created below it.
            assert!(root.place(&[link, "file"]).is_err(), "{link}");
        }
        assert_eq!(std::fs::read_dir(dir.path().join("outside")).unwrap().count(), 0);
        root.place(&["outside", "kept"]).unwrap().file(0o600).unwrap();
        root.place(&["upwards", "file"]).unwrap().file(0o600).unwrap();
        assert!(dir.path().join("root/outside/file").exists());
    }
}
