//! `archive`: files as a tar archive, as text.

use std::io::Write as _;

use super::argument::{Outcome, done, fail, text};
use super::{FunctionError, Host, Registry, convert};
use crate::value::{Node, Value};
use crate::yaml::value_to_yaml;

pub(super) fn register(registry: &mut Registry) {
    registry.add("archive", archive);
}

/// The width of the lines of the result.
const WIDTH: usize = 60;

/// A file of the archive.
struct File<'a> {
    name: &'a str,
    content: Vec<u8>,
    executable: bool,
}

fn archive(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("archive takes one or two arguments");
    }
    let kind = match arguments.get(1) {
        Some(kind) => text(kind, "second argument for archive must be a string")?,
        None => "tar",
    };
    if !matches!(kind, "tar" | "targz") {
        fail!("invalid archive type '{kind}'");
    }
    let Some(map) = arguments[0].as_map() else { fail!("first argument for archive must be a file map") };
    let mut files = Vec::new();
    for (key, node) in map {
        files.extend(file(key, node)?);
    }
    let size: usize = files.iter().map(|file| file.content.len() + 1024).sum();
    host.spend(size as u64)?;
    let failed = |error: std::io::Error| FunctionError::failed(format!("archiving {kind} failed: {error}"));
    let tar = tar(&files, host.now().as_secs()).map_err(failed)?;
    let bytes = if kind == "tar" { tar } else { gzip(&tar).map_err(failed)? };
    done(convert::encode(&bytes, WIDTH))
}

/// A file of its key and content. Before the name, `*` makes it executable, `#` says that the content is base64, and
/// `-` ends such signs.
fn file<'a>(key: &'a str, node: &Node) -> Result<Option<File<'a>>, FunctionError> {
    let mut name = key;
    let (mut executable, mut encoded) = (false, false);
    while let Some(sign) = name.chars().next().filter(|sign| matches!(sign, '*' | '#' | '-')) {
        name = &name[1..];
        match sign {
            '*' => executable = true,
            '#' => encoded = true,
            _ => break,
        }
    }
    let content = match node.value() {
        Value::Null | Value::Undefined => return Ok(None),
        Value::String(text) if encoded => convert::decode(text).unwrap_or_else(|_| text.as_bytes().to_vec()),
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Int(value) => value.to_string().into_bytes(),
        Value::Bool(value) => value.to_string().into_bytes(),
        value @ (Value::Map(_) | Value::List(_)) => value_to_yaml(value).into_bytes(),
        other => fail!("invalid file content type {}", other.type_name()),
    };
    Ok(Some(File { name, content, executable }))
}

fn tar(files: &[File<'_>], modified: u64) -> std::io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_ustar();
        header.set_mode(if file.executable { 0o744 } else { 0o600 });
        header.set_size(file.content.len() as u64);
        header.set_mtime(modified);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, file.name, file.content.as_slice())?;
    }
    builder.into_inner()
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}
