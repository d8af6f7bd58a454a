//! Invisible characters, and characters that look like a space but are no space.

/// Tells whether a character has no width: zero-width spaces and joiners, direction marks, soft hyphens.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}')
        || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Tells whether a character looks like a space but is no space in YAML.
pub(crate) fn is_false_blank(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Returns the name of an invisible character, or of a character that looks like a space.
pub(crate) fn name(c: char) -> &'static str {
    match c {
        '\u{a0}' => "no-break space",
        '\u{ad}' => "soft hyphen",
        '\u{200b}' => "zero-width space",
        '\u{200c}' => "zero-width non-joiner",
        '\u{200d}' => "zero-width joiner",
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "text direction mark",
        '\u{202f}' => "narrow no-break space",
        '\u{3000}' => "ideographic space",
        '\u{feff}' => "byte-order mark",
        c if is_false_blank(c) => "space of a special width",
        _ => "invisible character",
    }
}
