//! Normalization of texts, so that they are independent of machine and time.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Patterns of the texts that differ between runs, and the replacements of these texts.
static MOVING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        // Times, durations and ages.
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "WHEN"),
        (r#""millis": \d+"#, r#""millis": "LONG""#),
        (r"\b(\d+ ms|\d+\.\d s|\d+ min \d+ s)", "LONG"),
        (
            r"(?m)(Absent|Created|Installed|Inactive|Active|Failed|Broken|,) (\d+s|\d+m|\d+h\d+m)( to \d+s)?(,|$)",
            "$1 AGE$4",
        ),
        // Random ids.
        (r"\b[a-z2-9]{24}\b", "INSTANCE"),
        (r"\b[a-z2-9]{8}-(p\d+-s\d+-)", "STORE-$1"),
        // A message that appears only on a slow machine.
        (r"(?m)^waiting for jobs of earlier processes, for leases of other assemblies, or for health checks\n", ""),
        // The process and the host that run the test.
        (r"process \d+ on [^ )]+", "process PID on HOST"),
    ]
    .into_iter()
    .map(|(pattern, stands)| (Regex::new(pattern).unwrap(), stands))
    .collect()
});

/// Normalizes the texts of one project.
#[derive(Clone)]
pub(crate) struct Normal {
    project: String,
}

impl Normal {
    pub(crate) fn new(project: &Path) -> Self {
        Self { project: project.display().to_string().trim_end_matches('/').to_owned() }
    }

    /// Returns the normalized text.
    pub(crate) fn text(&self, text: &str) -> String {
        let text = text.replace(&self.project, "PROJECT");
        MOVING.iter().fold(text, |text, (pattern, stands)| pattern.replace_all(&text, *stands).into_owned())
    }
}
