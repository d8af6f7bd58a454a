//! Limits on the cost of a template.

use std::time::Duration;

/// Limits on the cost of a template. Exceeding one ends the processing with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Evaluated expressions and bytes of text made count as one, entries of lists as 64, maps as 200: as what they take
    /// in memory. About ten million a second.
    pub steps: u64,
    /// Calls of lambdas and templates within each other.
    pub depth: u32,
    /// The number of passes over a document.
    pub passes: u32,
    /// Wall-clock time, `sync` included.
    pub time: Duration,
    /// Bytes of the result as YAML. A value that would be larger can't be referred to either, so that nothing grows without
    /// end by referring to the same value again and again.
    pub output: usize,
}

/// How many levels of lists and maps a value may have. Functions that recurse over values rely on it.
pub(crate) const LEVELS: u32 = 2_000;
/// The cost of a list's entry in steps.
pub(crate) const ENTRY: u64 = 64;
/// The cost of a map in steps.
pub(crate) const MAP: u64 = 200;

/// The cost of a new value: its list or map, or its text.
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
    /// No optional part.
    pub const NONE: Self = Self { interpolation: false, control: false };
    /// All optional parts.
    pub const ALL: Self = Self { interpolation: true, control: true };

    /// Those of a comma-separated list; `no` before a name switches it off, and `all` is all.
    ///
    /// ```
    /// use windlass_spiff::Features;
    ///
    /// assert_eq!(Features::NONE.with_names("all,nocontrol"), Ok(Features { interpolation: true, control: false }));
    /// assert_eq!(Features::NONE.with_names("contrl"), Err("contrl".to_owned()));
    /// ```
    ///
    /// # Errors
    /// With a name that is no feature.
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

    /// The names of those that are on.
    pub fn names(self) -> Vec<String> {
        let all = [("control", self.control), ("interpolation", self.interpolation)];
        all.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()).collect()
    }
}
