//! Strict JSON with places. `serde_json` gives no offsets of values and YAML's parser takes more than JSON; hence
//! written by hand.

use std::sync::Arc;

use super::{LoadOptions, Loaded};
use crate::Source;

/// Reads one JSON document.
pub(super) fn load(_source: &Arc<Source>, _options: &LoadOptions) -> Loaded {
    Loaded::default()
}
