//! Statements about packages.

pub(super) const PUT_PACKAGE: &str =
    "INSERT INTO package (digest, name, manifest) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

pub(super) const PUT_FILE: &str = "INSERT INTO package_file (package, path, executable, content)
    VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
