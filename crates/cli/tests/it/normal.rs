//! Makes texts the same on every machine and at every time.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// What differs between two runs, and what stands for it.
static MOVING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        // Points in time, and how long something took or is ago.
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
        // What is said only where the machine is slow.
        (r"(?m)^waiting for what an interrupted run has left to end\n", ""),
        // This machine.
        (r"process \d+ on [^ )]+", "process PID on HOST"),
    ]
    .into_iter()
    .map(|(pattern, stands)| (Regex::new(pattern).unwrap(), stands))
    .collect()
});

/// Makes texts of one project the same on every machine and at every time.
#[derive(Clone)]
pub(crate) struct Normal {
    project: String,
}

impl Normal {
    pub(crate) fn new(project: &Path) -> Self {
        Self { project: project.display().to_string().trim_end_matches('/').to_owned() }
    }

    /// Returns the text as it would be elsewhere and at another time.
    pub(crate) fn text(&self, text: &str) -> String {
        let text = text.replace(&self.project, "PROJECT");
        MOVING.iter().fold(text, |text, (pattern, stands)| pattern.replace_all(&text, *stands).into_owned())
    }
}
