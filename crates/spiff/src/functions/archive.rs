//! The function `archive`, which creates a tar archive of files, and returns the archive as base64 text.

use std::io::Write as _;

use super::argument::{Outcome, done, fail, is_nil, text};
use super::outside::{Signs, options};
use super::{FunctionError, Host, Registry, convert, outside};
use crate::value::{Map, Node, Value};

pub(super) fn register(registry: &mut Registry) {
    registry.add("archive", archive);
}

/// Number of characters in a line of the base64 text that `archive` returns.
const WIDTH: usize = 60;

struct File {
    name: String,
    content: Vec<u8>,
    /// The permissions of the file, such as `0o644`.
    mode: u32,
}

const MODE: i64 = 0o644;

fn archive(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("archive takes one or two arguments");
    }
    let kind = match arguments.get(1) {
        Some(kind) => text(kind, "second argument for archive must be a string")?,
        None => "tar",
    };
    let files: Vec<File> = match arguments[0].value() {
        Value::Null | Value::Undefined => Vec::new(),
        Value::Map(map) => {
            map.iter().filter_map(|(key, node)| named(key, node).transpose()).collect::<Result<_, _>>()?
        }
        Value::List(list) => list.iter().map(unnamed).collect::<Result<_, _>>()?,
        other => {
            fail!("first argument for hash must be a file map or list, found {}", other.type_name())
        }
    };
    if !matches!(kind, "tar" | "targz") {
        fail!("invalid archive type '{kind}'");
    }
    let size: usize = files.iter().map(|file| file.content.len() + 1024).sum();
    host.spend(size as u64)?;
    let failed = |error: std::io::Error| FunctionError::failed(format!("archiving {kind} failed: {error}"));
    let tar = tar(&files, host.now().as_secs()).map_err(failed)?;
    let bytes = if kind == "tar" { tar } else { gzip(&tar).map_err(failed)? };
    done(convert::encode(&bytes, WIDTH))
}

/// Creates a file from an entry of a map. The key is the name of the file, and the value is its content or its
/// description (see [`described`]). If the value is null, returns `None`.
fn named(key: &str, node: &Node) -> Result<Option<File>, FunctionError> {
    let signs = Signs::of(key);
    let mut file = match node.value() {
        Value::Null | Value::Undefined => return Ok(None),
        Value::Map(fields) => described(Some(signs.name), fields)?,
        Value::Template(_) | Value::Lambda(_) => fail!("invalid file content type {}", node.type_name()),
        _ => {
            let options = options(None, MODE)?;
            let (_, content) = outside::content(node, &options, signs.encoded);
            File { name: signs.name.to_owned(), content, mode: options.mode }
        }
    };
    if signs.executable {
        file.mode |= 0o100;
    }
    Ok(Some(file))
}

/// Creates a file from an entry of a list. The entry must be the description of a file (see [`described`]).
fn unnamed(node: &Node) -> Result<File, FunctionError> {
    match node.value() {
        Value::Map(fields) => described(None, fields),
        other => fail!("invalid file content type {}", other.type_name()),
    }
}

/// Creates a file from its description, which is a map. The fields of the map are `path`, `mode`, and the content
/// in `data` or `base64`. If the map contains no `path`, the file is called `name`.
fn described(name: Option<&str>, fields: &Map) -> Result<File, FunctionError> {
    let field = |key: &str| match fields.get(key) {
        Some(node) if is_nil(node) => Err(FunctionError::failed(format!("{key} field must not be nil"))),
        field => Ok(field),
    };
    let name = match (field("path")?, name) {
        (Some(path), _) => match path.as_str() {
            Some(path) => path,
            None => fail!("path field must be string, found {}", path.type_name()),
        },
        (None, Some(name)) => name,
        (None, None) => fail!("path field required"),
    };
    let options = match field("mode")? {
        Some(mode) if !matches!(mode.value(), Value::Int(_) | Value::String(_)) => {
            fail!("mode field must be an integer, found {}", mode.type_name())
        }
        mode => options(mode, MODE)?,
    };
    let content = match (field("base64")?, field("data")?) {
        (Some(text), _) => match text.as_str() {
            Some(text) => convert::decode(text).map_err(|error| error.to_string())?,
            None => fail!("base64 field must be string, found {}", text.type_name()),
        },
        (None, Some(data)) => outside::content(data, &options, false).1,
        (None, None) => Vec::new(),
    };
    Ok(File { name: name.to_owned(), content, mode: options.mode })
}

fn tar(files: &[File], modified: u64) -> std::io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_ustar();
        header.set_mode(file.mode);
        header.set_size(file.content.len() as u64);
        header.set_mtime(modified);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, &file.name, file.content.as_slice())?;
    }
    builder.into_inner()
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}
