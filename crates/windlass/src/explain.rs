//! The explanations of error codes, such as `WL0112`. Diagnostics and errors of all windlass crates have such codes. If
//! this crate passes on an error of another windlass crate, the error keeps its code. So each code needs only one
//! explanation.

use windlass_source::CodeInfo;

/// Returns the codes of all windlass crates with their explanations, sorted by code.
pub fn codes() -> Vec<&'static CodeInfo> {
    let tables: [&'static [CodeInfo]; 11] = [
        windlass_source::codes::CODES,
        windlass_descriptor::codes::CODES,
        windlass_manifest::codes::CODES,
        windlass_store::codes::CODES,
        windlass_project::codes::CODES,
        windlass_driver::codes::CODES,
        windlass_script::codes::CODES,
        windlass_engine::codes::CODES,
        crate::codes::CODES,
        crate::launching::codes::CODES,
        crate::simulating::codes::CODES,
    ];
    let mut all: Vec<&CodeInfo> = tables.into_iter().flatten().collect();
    all.sort_by_key(|info| info.code.as_str());
    all
}

/// Finds the explanation of a code of windlass. For example, both `WL0112` and `112` find the explanation of `WL0112`.
pub fn explain(code: &str) -> Option<&'static CodeInfo> {
    find(&codes(), code)
}

/// Finds the explanation of a code in the list `codes`. For example, both `WL0112` and `112` find the explanation of
/// `WL0112`. A program that embeds windlass can pass a list that also contains its own codes.
pub fn find(codes: &[&'static CodeInfo], code: &str) -> Option<&'static CodeInfo> {
    let is_meant = |known: &str| {
        let number = known.trim_start_matches(['W', 'L']).trim_start_matches('0');
        known.eq_ignore_ascii_case(code) || number == code.trim_start_matches('0')
    };
    codes.iter().copied().find(|info| is_meant(info.code.as_str()))
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
        assert_eq!(explain("112").map(|info| info.code.as_str()), Some("WL0112"));
        assert!(explain("WL9999").is_none());
    }
}
