//! The codes of all crates, in one registry.

use windlass_source::CodeInfo;

/// Returns every code, in order.
pub fn codes() -> Vec<&'static CodeInfo> {
    let tables: [&'static [CodeInfo]; 5] = [
        windlass_source::codes::CODES,
        windlass_descriptor::codes::CODES,
        windlass_project::codes::CODES,
        windlass_driver::codes::CODES,
        windlass_script::codes::CODES,
    ];
    let mut all: Vec<&CodeInfo> = tables.into_iter().flatten().collect();
    all.sort_by_key(|info| info.code.as_str());
    all
}

/// Finds what a code means.
pub fn explain(code: &str) -> Option<&'static CodeInfo> {
    codes().into_iter().find(|info| info.code.as_str().eq_ignore_ascii_case(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_there_once() {
        let codes: Vec<&str> = codes().iter().map(|info| info.code.as_str()).collect();
        let mut unique = codes.clone();
        unique.dedup();
        assert_eq!(codes, unique);
        assert!(explain("wl0112").is_some());
        assert!(explain("WL9999").is_none());
    }
}
