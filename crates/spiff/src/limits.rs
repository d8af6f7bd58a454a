//! Limits on the cost of a template.

use std::time::Duration;

/// Limits on the cost of a template. If a template exceeds one of them, the processing ends with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of steps. The evaluation of an expression costs one step. A new value costs steps for its
    /// memory: 1 step for each byte of text, 64 steps for each entry of a list or map, and 200 steps for each map.
    /// Ten million steps take about a second.
    pub steps: u64,
    /// Maximum depth of nesting of calls of lambdas and uses of templates.
    pub depth: u32,
    /// Maximum number of passes over a document.
    pub passes: u32,
    /// Maximum time of the processing, including the time in which `sync` waits.
    pub time: Duration,
    /// Maximum size of the result as YAML, in bytes. The processing also ends if an expression refers to a
    /// larger value. Without this rule, values that contain another value several times could grow
    /// exponentially.
    pub output: usize,
}

/// The limit that a template has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExceededLimit {
    /// [`Limits::steps`].
    Steps,
    /// [`Limits::depth`].
    Depth,
    /// [`Limits::passes`].
    Passes,
    /// [`Limits::time`].
    Time,
    /// [`Limits::output`]. A value that an expression refers to exceeds the limit.
    Output,
    /// The fixed limit of 2000 levels of lists and maps in a value.
    Levels,
    /// A limit of a function, which returned [`FunctionError::Limit`](crate::functions::FunctionError::Limit).
    Function,
}

/// Maximum number of levels of lists and maps in a value. Functions that recurse over values rely on this
/// limit.
pub(crate) const LEVELS: u32 = 2_000;
/// The number of steps that an entry of a list or map costs. See [`Limits::steps`].
pub(crate) const ENTRY: u64 = 64;
/// The number of steps that a map costs, in addition to the cost of its entries.
pub(crate) const MAP: u64 = 200;

/// Returns the number of steps that a new value costs, without the cost of the values inside it.
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
    /// No optional part of the language.
    pub const NONE: Self = Self { interpolation: false, control: false };
    /// All optional parts of the language.
    pub const ALL: Self = Self { interpolation: true, control: true };

    /// Enables features by name. `names` is a comma-separated list, such as `control,interpolation`. A name with
    /// the prefix `no` disables its feature. The name `all` stands for all features.
    ///
    /// ```
    /// use windlass_spiff::Features;
    ///
    /// assert_eq!(Features::NONE.with_names("all,nocontrol"), Ok(Features { interpolation: true, control: false }));
    /// assert_eq!(Features::NONE.with_names("contrl"), Err("contrl".to_owned()));
    /// ```
    ///
    /// # Errors
    /// The first name that is no feature.
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
