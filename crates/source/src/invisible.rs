//! Characters that can't be seen, or look like a blank and are none.

/// Whether a character takes no room on the screen: zero-width spaces and joiners, direction marks, soft hyphens.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Whether a character looks like a blank and is none for YAML.
#[expect(dead_code, reason = "used by the cause finder")]
pub(crate) fn is_false_blank(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}
