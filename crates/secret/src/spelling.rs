//! The ways in which a value may be written in what a program prints.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use zeroize::Zeroizing;

/// Values shorter than this are not masked: `1` or `no` would be masked everywhere, and tell by it what they
/// are.
pub(crate) const SHORTEST: usize = 4;

/// A line of a value of several lines is masked on its own from this length; shorter ones, as `data:` in a
/// configuration file, are no secrets.
const SHORTEST_LINE: usize = 8;

/// Pieces of base64 are masked from this length; a shorter one may be part of any word.
const SHORTEST_BASE64: usize = 6;

/// The patterns that give a value away.
pub(crate) type Spellings = Vec<Zeroizing<Vec<u8>>>;

/// Adds the spellings of a value. Says whether it is long enough to be masked.
pub(crate) fn spell(value: &[u8], out: &mut Spellings) -> bool {
    // A value read from a file ends with a line break that is not printed with it.
    let value = value.strip_suffix(b"\n").map_or(value, |rest| rest.strip_suffix(b"\r").unwrap_or(rest));
    if value.len() < SHORTEST {
        return false;
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
    true
}

/// The lines of a value that has several, without spaces around.
fn lines(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let several = value.contains(&b'\n');
    value
        .split(|&b| b == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(move |line| several && line.len() >= SHORTEST_LINE)
}

/// In JSON and double-quoted YAML, as Rust and as Python write it; in single-quoted YAML; in a URL.
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

/// On its own, and as part of something longer: there the characters at its borders depend on what stands
/// beside, and the others on whether it starts at the first, second or third of three bytes.
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
            // Characters of six bits each that come from the value alone.
            let inner = (before * 8).div_ceil(6)..shifted.len() * 8 / 6;
            out.push(encoded[inner].to_owned());
        }
    }
    out.retain(|spelling| spelling.len() >= SHORTEST_BASE64);
    out
}
