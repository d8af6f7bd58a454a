//! Limits on the cost of a template.

use std::time::Duration;

/// Limits on the cost of a template. Exceeding one ends the processing with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of steps. An evaluated expression and a byte of created text each count as one step. According
    /// to its memory use, a list entry counts as 64 and a map as 200. About ten million steps take a second.
    pub steps: u64,
    /// Nesting depth of calls of lambdas and templates.
    pub depth: u32,
    /// Number of passes over a document.
    pub passes: u32,
    /// Wall-clock time, including `sync`.
    pub time: Duration,
    /// Bytes of the result as YAML. References to larger values are also refused, because repeated references
    /// to one value could otherwise grow exponentially.
    pub output: usize,
}

/// Maximum nesting depth of lists and maps in a value. Functions that recurse over values rely on it.
pub(crate) const LEVELS: u32 = 2_000;
/// The cost of a list entry in steps.
pub(crate) const ENTRY: u64 = 64;
/// The cost of a map in steps.
pub(crate) const MAP: u64 = 200;

/// Returns the cost of a new value in steps: the cost of its list, map or text.
pub(crate) fn cost(value: &crate::value::Value) -> u64 {
    use crate::value::Value;
    match value {
        Value::List(list) => ENTRY * list.len() as u64,
        Value::Map(map) => MAP + ENTRY * map.len() as u64,
        Value::String(text) => text.len() as u64,
        _ => 0,
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 50_000_000,
            depth: 2_000,
            passes: 100_000,
            time: Duration::from_secs(310),
            output: 64 * 1024 * 1024,
        }
    }
}

/// Optional parts of the language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Expressions inside of longer strings: `port (( base + 1 ))`.
    pub interpolation: bool,
    /// Control structures: `<<if`, `<<switch`, `<<type`, `<<for`, `<<merge`.
    pub control: bool,
}

impl Features {
    /// The features without any optional part.
    pub const NONE: Self = Self { interpolation: false, control: false };
    /// The features with all optional parts.
    pub const ALL: Self = Self { interpolation: true, control: true };

    /// Enables the features of a comma-separated list. The prefix `no` disables a feature, and `all` stands
    /// for all features.
    ///
    /// ```
    /// use windlass_spiff::Features;
    ///
    /// assert_eq!(Features::NONE.with_names("all,nocontrol"), Ok(Features { interpolation: true, control: false }));
    /// assert_eq!(Features::NONE.with_names("contrl"), Err("contrl".to_owned()));
    /// ```
    ///
    /// # Errors
    /// The name that is no feature.
    pub fn with_names(mut self, names: &str) -> Result<Self, String> {
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let (base, on) = match name.strip_prefix("no") {
                Some(base) => (base, false),
                None => (name, true),
            };
            match base {
                "interpolation" => self.interpolation = on,
                "control" => self.control = on,
                "all" => self = if on { Self::ALL } else { Self::NONE },
                _ => return Err(name.to_owned()),
            }
        }
        Ok(self)
    }

    /// Returns the names of the enabled features.
    pub fn names(self) -> Vec<String> {
        let all = [("control", self.control), ("interpolation", self.interpolation)];
        all.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()).collect()
    }
}
