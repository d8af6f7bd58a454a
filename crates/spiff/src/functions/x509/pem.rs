//! PEM blocks: base64 text between the lines `-----BEGIN X-----` and `-----END X-----`.

use crate::functions::convert;

/// A block, with its type and its decoded content.
pub(super) struct Block {
    pub(super) label: String,
    pub(super) content: Vec<u8>,
}

/// Reads the first block of a text.
pub(super) fn read(text: &str) -> Option<Block> {
    let (_, behind) = text.split_once("-----BEGIN ")?;
    let (label, behind) = behind.split_once("-----")?;
    let (body, _) = behind.split_once(&format!("-----END {label}-----"))?;
    // If the block has headers, they end with an empty line.
    let body = body.rsplit("\n\n").next().filter(|_| body.contains(':')).unwrap_or(body);
    let compact: String = body.split_ascii_whitespace().collect();
    Some(Block { label: label.to_owned(), content: convert::decode(&compact).ok()? })
}

/// Returns a block as text, with a line break at the end.
pub(super) fn write(label: &str, content: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", convert::encode(content, 64))
}
