//! The file layout of a package.
//!
//! ```text
//! <package>/Definitions/lm/resource.yaml     or  <package>/resource.yaml
//! <package>/Lifecycle/<driver type>/scripts/<Transition or Operation>[.ext]
//! <assembly>/Descriptor/assembly.yml         or  <assembly>/assembly.yaml
//! <assembly>/Contains/<package>/…
//! ```

use std::path::{Path, PathBuf};

/// The name of the subfolder in which an assembly keeps the packages of its parts.
pub(crate) const CONTAINS: &str = "Contains";

/// The names of the folder that contains packages, in current and in old projects.
pub(crate) const CONTAINERS: [&str; 2] = [CONTAINS, "VNFCs"];

/// Possible paths of an assembly descriptor in its package.
pub(crate) const ASSEMBLY: [&str; 4] =
    ["assembly.yaml", "assembly.yml", "Descriptor/assembly.yml", "Descriptor/assembly.yaml"];

/// Possible paths of a resource descriptor in its package.
pub(crate) const RESOURCE: [&str; 4] =
    ["Definitions/lm/resource.yaml", "Definitions/lm/resource.yml", "resource.yaml", "resource.yml"];

/// Folders of a package that contain no packages.
pub(crate) const INNER: [&str; 4] = ["Definitions", "Descriptor", "Lifecycle", "descriptor"];

/// Returns the descriptors in a package folder: the existing files among `layouts`.
pub(crate) fn descriptors_in(folder: &Path, layouts: &[&str]) -> Vec<PathBuf> {
    layouts.iter().map(|layout| folder.join(layout)).filter(|file| is_there(file)).collect()
}

/// Returns the descriptor of a resource in the layout of old packages, `web/descriptor/web.yml`.
pub(crate) fn old_descriptor_in(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?;
    let files = ["yml", "yaml"].map(|ending| folder.join("descriptor").join(format!("{name}.{ending}")));
    files.into_iter().find(|file| is_there(file))
}

/// Tells whether a path exists and is not a folder. An unreadable file counts as existing, so that the attempt
/// to read it reports the error.
fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok() && !file.is_dir()
}

/// Returns the package folder of a descriptor's file.
pub(crate) fn package_of(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new(""));
    let depth = match folder.file_name().and_then(|name| name.to_str()) {
        Some("Descriptor" | "descriptor") => 1,
        Some("lm") if folder.parent().is_some_and(|above| above.ends_with("Definitions")) => 2,
        _ => 0,
    };
    folder.ancestors().nth(depth).unwrap_or(folder).to_path_buf()
}

/// Tells whether the search for packages skips a folder.
pub(crate) fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "_lmctl" | "target" | "node_modules")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_their_package() {
        for (file, package) in [
            ("/p/Contains/web/Definitions/lm/resource.yaml", "/p/Contains/web"),
            ("/p/web/resource.yaml", "/p/web"),
            ("/p/Descriptor/assembly.yml", "/p"),
            ("/p/assembly.yaml", "/p"),
            ("/p/lm/resource.yaml", "/p/lm"),
            ("/p/VNFCs/web/descriptor/web.yml", "/p/VNFCs/web"),
        ] {
            assert_eq!(package_of(Path::new(file)), Path::new(package), "{file}");
        }
    }
}
