//! Stable codes of errors, each with a page that explains it.
//!
//! Each crate that has codes declares them with [`codes!`](crate::codes!), in one of these ranges:
//!
//! | range | crate |
//! |---|---|
//! | `WL0001`–`WL0099` | `source`: documents as text |
//! | `WL0100`–`WL0199` | `descriptor`: assembly and resource descriptors |
//! | `WL0200`–`WL0249` | `store`: errors of stores and keys |
//! | `WL0300`–`WL0349` | `project`: `windlass.yaml`, catalog, package folders |
//! | `WL0400`–`WL0449` | `script`: the driver of scripts |
//! | `WL0450`–`WL0459` | `driver`: driver properties, and the driver `noop` |
//! | `WL0460`–`WL0499` | further drivers |
//! | `WL0500`–`WL0549` | `engine`: errors of intents, and of planning in `lifecycle` |
//! | `WL0550`–`WL0599` | `windlass`: errors of the facade |
//! | `WL0600`–`WL0699` | `manifest`: application manifests |
//! | `WL0700`–`WL0749` | `spiff`: templates and expressions |
//! | `WL0750`–`WL0779` | `windlass`: launched applications |
//! | `WL0780`–`WL0799` | `windlass`: simulations |
//! | `WL0800`–`WL0849` | `cli`: the command line, its input and its output |
//!
//! The meaning of a code never changes. A code that is no longer used keeps its number and its page.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

use serde::{Serialize, Serializer};

/// A stable code such as `WL0001`.
///
/// Only [`codes!`](crate::codes!) creates codes, so that each code has a title and an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    /// Creates a code, for the macro [`codes!`](crate::codes!).
    #[doc(hidden)]
    pub const fn declare(code: &'static str) -> Self {
        Self(code)
    }

    /// Returns the code as text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// The explanation of a code: the page that `windlass explain` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CodeInfo {
    /// The code that is explained.
    pub code: Code,
    /// Title: a few words, without a full stop.
    pub title: &'static str,
    /// Explanation in Markdown: the meaning, an example, the remedy.
    pub explanation: &'static str,
}

impl CodeInfo {
    /// Creates the explanation of a code, for the macro [`codes!`](crate::codes!).
    #[doc(hidden)]
    pub const fn declare(code: Code, title: &'static str, explanation: &'static str) -> Self {
        Self { code, title, explanation }
    }
}

/// Declares a crate's codes: one constant for each code, and the table `CODES` of all codes.
///
/// ```
/// windlass_source::codes! {
///     TWO_HEADS = "WL0199", "two heads", "A dragon has one head.\n\nRemove one of them.";
/// }
///
/// assert_eq!(TWO_HEADS.as_str(), "WL0199");
/// assert_eq!(CODES[0].title, "two heads");
/// assert_eq!(windlass_source::code_problems(CODES, 100..=199), Vec::<String>::new());
/// ```
#[macro_export]
macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal, $explanation:expr;)+) => {
        $(
            #[doc = concat!("`", $code, "`: ", $title, ".")]
            pub const $name: $crate::Code = $crate::Code::declare($code);
        )+
        /// Every code of this crate, with its title and explanation.
        pub const CODES: &[$crate::CodeInfo] =
            &[$($crate::CodeInfo::declare($name, $title, $explanation)),+];
    };
}

/// Returns the problems of a crate's table of codes. Every crate with codes has a test that calls this
/// function.
///
/// Each of these is a problem:
///
/// - a code that is not `WL` with four digits, that is outside of `range`, or that is declared twice,
/// - a title that is empty or ends with a full stop,
/// - an empty explanation,
/// - codes that are not in ascending order.
pub fn code_problems(codes: &[CodeInfo], range: RangeInclusive<u16>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut problems = Vec::new();
    for info in codes {
        let code = info.code;
        match number(code) {
            None => problems.push(format!("{code}: not `WL` and four digits")),
            Some(number) if !range.contains(&number) => {
                problems.push(format!("{code}: outside {:04}–{:04}", range.start(), range.end()));
            }
            Some(_) => {}
        }
        if !seen.insert(code) {
            problems.push(format!("{code}: declared twice"));
        }
        if info.title.trim().is_empty() || info.title.ends_with('.') {
            problems.push(format!("{code}: a title is a few words without a full stop"));
        }
        if info.explanation.trim().is_empty() {
            problems.push(format!("{code}: no explanation"));
        }
    }
    if !codes.is_sorted_by_key(|info| info.code) {
        problems.push("codes are not in order".to_owned());
    }
    problems
}

fn number(code: Code) -> Option<u16> {
    let digits = code.as_str().strip_prefix("WL")?;
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
