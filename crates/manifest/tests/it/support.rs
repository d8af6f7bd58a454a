//! Functions that read and check texts, and show the results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_manifest::{Checked, Compiled, Launch, Manifest, Read, check, compile, read};
use windlass_source::{Diagnostics, Source};

/// Returns the folder of example manifests.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/applications")
}

/// Returns the text of an example manifest.
pub(crate) fn fixture(name: &str) -> String {
    std::fs::read_to_string(fixtures().join(name)).unwrap()
}

/// Reads a text that must be valid.
pub(crate) fn manifest(text: &str) -> Manifest {
    let Read { manifest, diagnostics } = read(&Source::new("m.yaml", text));
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    manifest.unwrap()
}

/// Returns the diagnostics of reading and checking a text.
pub(crate) fn said(source: &Arc<Source>) -> Diagnostics {
    let Read { manifest, mut diagnostics } = read(source);
    if let Some(manifest) = &manifest {
        diagnostics.extend(check(manifest).diagnostics);
    }
    diagnostics.sort();
    diagnostics
}

/// Shows each diagnostic on a line. Lines with related places and help follow.
pub(crate) fn show(diagnostics: &Diagnostics) -> String {
    let one = |said: &windlass_source::Diagnostic| {
        let related = said.related.iter().map(|label| format!("    {}: {}\n", label.place, label.text));
        let help = said.help.iter().map(|help| format!("    help: {help}\n"));
        std::iter::once(format!("{said}\n")).chain(related).chain(help).collect::<String>()
    };
    diagnostics.iter().map(one).collect()
}

/// Returns the diagnostics of a text, in the form of [`show`].
pub(crate) fn messages(text: &str) -> String {
    show(&said(&Source::new("m.yaml", text)))
}

/// Compiles a checked manifest as the application `m`, with parameters.
pub(crate) fn launched(checked: &Checked<'_>, parameters: &BTreeMap<String, Value>) -> Compiled {
    let (name, assembly, resource) =
        ("m".parse().unwrap(), "assembly::vm::3".parse().unwrap(), "resource::vm::3".parse().unwrap());
    let launch = Launch { name: &name, assembly: &assembly, resource: &resource, parameters, adopted: false };
    compile(checked, launch)
}
