//! The spellings in which a value may occur in the output of a program.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use zeroize::Zeroizing;

/// Minimum length of masked values in bytes. A shorter value, such as `1` or `no`, would be masked
/// everywhere, and the masks would reveal it.
pub(crate) const SHORTEST: usize = 4;

/// Minimum length in bytes of lines that are masked on their own. If a secret value has several lines, each
/// line of at least this length is masked wherever it occurs. Shorter lines, such as `data:` in a configuration file,
/// are no secrets.
const SHORTEST_LINE: usize = 8;

/// Minimum length of masked base64 pieces. A shorter piece may occur in an ordinary word by chance.
const SHORTEST_BASE64: usize = 6;

/// The patterns that reveal a value.
pub(crate) type Spellings = Vec<Zeroizing<Vec<u8>>>;

/// Adds the spellings of a secret value: the value itself, its long lines, and its escaped, base64 and hexadecimal
/// forms. A value of fewer than [`SHORTEST`] bytes has no spellings, because it is not masked.
pub(crate) fn spell(value: &[u8], out: &mut Spellings) {
    // A value read from a file often ends with a line break, which programs do not print with the value.
    let value = value.strip_suffix(b"\n").map_or(value, |rest| rest.strip_suffix(b"\r").unwrap_or(rest));
    if value.len() < SHORTEST {
        return;
    }
    let mut add = |spelling: Vec<u8>| out.push(Zeroizing::new(spelling));
    add(value.to_vec());
    for line in lines(value) {
        add(line.to_vec());
    }
    if let Ok(text) = std::str::from_utf8(value) {
        for spelling in escaped(text) {
            add(spelling.into_bytes());
        }
    }
    for spelling in base64(value) {
        add(spelling.into_bytes());
    }
    add(hex::encode(value).into_bytes());
    add(hex::encode_upper(value).into_bytes());
}

/// Returns the trimmed lines of a multi-line value.
fn lines(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let several = value.contains(&b'\n');
    value
        .split(|&b| b == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(move |line| several && line.len() >= SHORTEST_LINE)
}

/// Returns four escaped forms of a text:
///
/// 1. as in JSON and double-quoted YAML;
/// 2. like 1, but with `\u` escapes in place of non-ASCII characters;
/// 3. as in single-quoted YAML;
/// 4. as in URLs.
fn escaped(text: &str) -> [String; 4] {
    let json = serde_json::Value::from(text).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let ascii = json.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        out
    });
    let url = text.bytes().fold(String::new(), |mut out, b| {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
        out
    });
    [json, ascii, text.replace('\'', "''"), url]
}

/// Returns the base64 forms of a value, in the standard alphabet and in the URL-safe alphabet:
///
/// - the whole encoded value, with padding and without padding;
/// - three forms of the value inside a longer encoded text. Base64 encodes three bytes at a time, so the form depends on
///   the position of the value in such a group of three bytes. Each form contains only the characters that do not depend
///   on the rest of the text.
///
/// Forms of fewer than [`SHORTEST_BASE64`] characters are left out.
fn base64(value: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    for engine in [STANDARD, URL_SAFE] {
        let whole = engine.encode(value);
        out.push(whole.trim_end_matches('=').to_owned());
        out.push(whole);
        for before in 0..3 {
            let mut shifted = Zeroizing::new(vec![0; before]);
            shifted.extend_from_slice(value);
            let encoded = engine.encode(&*shifted);
            // Keep only the characters (six bits each) that depend on the value alone. The first and last
            // characters may also depend on the bytes in front of the value and behind it.
            let inner = (before * 8).div_ceil(6)..shifted.len() * 8 / 6;
            out.push(encoded[inner].to_owned());
        }
    }
    out.retain(|spelling| spelling.len() >= SHORTEST_BASE64);
    out
}
