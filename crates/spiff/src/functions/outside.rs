//! Functions that access files, commands and environment variables. The functions call the [`Host`] for each
//! access. The host refuses an access that the caller has not granted.

use std::path::Path;

use windlass_source::Source;

use super::argument::{Outcome, done, fail, list, quoted, simple, text, texts};
use super::{Denied, FunctionError, Host, Registry, convert};
use crate::value::{Node, Value, number};
use crate::yaml::{read_document, to_yaml};

pub(super) fn register(registry: &mut Registry) {
    registry.add("exec", |host, arguments| exec(host, arguments, true));
    registry.add("exec_uncached", |host, arguments| exec(host, arguments, false));
    registry.add("pipe", |host, arguments| pipe(host, arguments, true));
    registry.add("pipe_uncached", |host, arguments| pipe(host, arguments, false));
    registry.add("read", read).add("read_uncached", read).add("write", write);
    registry.add("mkdir", mkdir).add("tempfile", tempfile);
    registry.add("lookup_file", |host, arguments| lookup(host, arguments, false));
    registry.add("lookup_dir", |host, arguments| lookup(host, arguments, true));
    registry.add("list_files", |host, arguments| list_folder(host, arguments, false));
    registry.add("list_dirs", |host, arguments| list_folder(host, arguments, true));
    registry.add("env", env);
}

/// Returns a function that converts a refused or failed access ([`Denied`]) to an error. The message of the error
/// begins with `name`. This is the name of the template function that needs the access, spelled as in the messages of
/// the Go program spiff++. For example, `listFiles` stands for the function `list_files`.
fn denied(name: &str) -> impl Fn(Denied) -> FunctionError {
    let name = name.to_owned();
    move |error| FunctionError::failed(format!("{name}: {error}"))
}

/// Converts a value to text for a command or a file. Strings, numbers and booleans become plain text. Lists
/// and maps become a YAML document. Null becomes `None`.
pub(super) fn written(node: &Node) -> Option<String> {
    match node.value() {
        Value::Null | Value::Undefined => None,
        Value::String(text) => Some(text.to_string()),
        Value::Int(value) => Some(value.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Float(value) => Some(exponential(*value)),
        _ => Some(format!("---\n{}", to_yaml(node))),
    }
}

/// Formats a float with 64 decimal places and an exponent, as the Go program spiff++ passes it to commands.
fn exponential(value: f64) -> String {
    let text = format!("{value:.64e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

/// Returns the program and the arguments of a command. If the function has a list as its only argument, the
/// entries of the list are the command. Otherwise, the arguments of the function are the command.
fn command(arguments: &[Node]) -> Result<Vec<String>, FunctionError> {
    let parts = match arguments {
        [only] if only.as_list().is_some_and(|items| !items.is_empty()) => only.as_list().unwrap_or_default(),
        [first, ..] if first.as_list().is_some() => fail!("list not allowed for command argument"),
        _ => arguments,
    };
    if matches!(parts.first().map(Node::value), None | Some(Value::List(_) | Value::Map(_))) {
        fail!("command argument must be string");
    }
    match parts.iter().map(written).collect() {
        Some(command) => Ok(command),
        None => fail!("command argument must be string"),
    }
}

/// Converts the output of a command to a node. If the output is the YAML text of a map, the node is this map. If
/// the output is YAML and begins with the line `---`, the node is the content of the YAML document. Any other
/// output becomes an integer or a text.
fn output(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(node) = read_document(&Source::new("exec", text.as_ref()))
        && (text.starts_with("---\n") || node.as_map().is_some())
    {
        return Ok(node);
    }
    let text = text.trim_end_matches('\n');
    match number::parse_int(text) {
        Some(value) => done(value),
        None => done(text),
    }
}

fn run(host: &mut dyn Host, name: &str, command: &[String], input: Option<&[u8]>, cached: bool) -> Outcome {
    let program = command.first().map_or("", String::as_str);
    match host.run(command, input, cached) {
        Ok(bytes) => output(&bytes),
        Err(Denied::Io(error)) => fail!("execution '{program}' failed: {error}"),
        Err(error) => Err(denied(name)(error)),
    }
}

fn exec(host: &mut dyn Host, arguments: &[Node], cached: bool) -> Outcome {
    if arguments.is_empty() {
        fail!("exec: argument required");
    }
    run(host, "exec", &command(arguments)?, None, cached)
}

fn pipe(host: &mut dyn Host, arguments: &[Node], cached: bool) -> Outcome {
    let [input, command_arguments @ ..] = arguments else { fail!("pipe requires at least two arguments") };
    if command_arguments.is_empty() {
        fail!("pipe requires at least two arguments");
    }
    let Some(input) = written(input) else { fail!("command argument must be string") };
    run(host, "pipe", &command(command_arguments)?, Some(input.as_bytes()), cached)
}

fn read(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("read takes a maximum of two arguments");
    }
    let path = text(&arguments[0], "string value required for file path")?;
    let document = [".yml", ".yaml", ".json"].iter().any(|ending| path.ends_with(ending));
    let mode = match arguments.get(1) {
        Some(mode) => text(mode, "string value required for type")?,
        None if document => "yaml",
        None => "text",
    };
    let content = host.read(path).map_err(|error| match error {
        Denied::Io(error) if error.kind() == std::io::ErrorKind::NotFound => FunctionError::failed(format!(
            "read: error reading [{path}]: open {path}: no such file or directory"
        )),
        error => denied("read")(error),
    })?;
    convert::parse_as(host, path, &content, mode)
}

/// The options of a file that is written.
pub(super) struct Options {
    pub(super) mode: u32,
    /// Whether the content is base64.
    pub(super) binary: bool,
    /// Whether the content is a list of documents.
    multi: bool,
}

/// Parses the options of a file, such as `0600`, `binary` or `binary,0600`. `mode` contains the
/// default permissions. If `node` is `None`, there are no options.
pub(super) fn options(node: Option<&Node>, mut mode: i64) -> Result<Options, FunctionError> {
    let (mut binary, mut multi) = (false, false);
    match node.map(Node::value) {
        None => {}
        Some(Value::Int(value)) => mode = *value,
        Some(Value::String(options)) => {
            let mut modes = Vec::new();
            for option in options.split(',').map(str::trim) {
                match option {
                    "binary" | "#" => binary = true,
                    "multiyaml" => multi = true,
                    other => modes.push(other),
                }
            }
            match modes[..] {
                [] => {}
                [text] => {
                    let base = if text.starts_with('0') { 8 } else { 10 };
                    mode = i64::from_str_radix(text, base).map_err(|error| {
                        format!(
                            "permissions must be given as int or int string: {} is none: {error}",
                            quoted(text)
                        )
                    })?;
                }
                _ => fail!("invalid options [{}], expecting file mode", modes.join(" ")),
            }
        }
        Some(other) => {
            fail!("permissions must be given as int or int string, found {}", other.type_name())
        }
    }
    match u32::try_from(mode).ok().filter(|mode| *mode <= 0o7777) {
        Some(mode) => Ok(Options { mode, binary, multi }),
        None => fail!("permissions must be from 0 to 07777, found {mode}"),
    }
}

/// A file name with prefix characters. `*` makes the file executable, `#` marks base64 content, and `-` ends
/// the prefix.
pub(super) struct Signs<'a> {
    pub(super) name: &'a str,
    pub(super) executable: bool,
    pub(super) encoded: bool,
}

impl<'a> Signs<'a> {
    pub(super) fn of(path: &'a str) -> Self {
        let mut signs = Self { name: path, executable: false, encoded: false };
        while let Some(sign) = signs.name.chars().next().filter(|sign| matches!(sign, '*' | '#' | '-')) {
            signs.name = &signs.name[1..];
            match sign {
                '*' => signs.executable = true,
                '#' => signs.encoded = true,
                _ => break,
            }
        }
        signs
    }
}

/// Converts a node to the content of a file that a function writes. `encoded` tells whether the name of the file
/// marks the content as base64. Returns the content as text, and the bytes of the file:
///
/// - In most cases, the bytes are the text in UTF-8. For null, the text and the bytes are empty.
/// - If `options.binary` is true, or if `encoded` is true and the node is a string, the function tries to decode
///   the text as base64. If the text is valid base64, the bytes are the decoded text. If not, the bytes are the
///   text in UTF-8.
/// - If the value of the node is [`Value::Bytes`], the bytes are this value, and the text is empty.
pub(super) fn content(node: &Node, options: &Options, encoded: bool) -> (String, Vec<u8>) {
    let text = match node.value() {
        Value::Bytes(bytes) => return (String::new(), bytes.to_vec()),
        Value::List(documents) if options.multi => {
            documents.iter().flat_map(|document| ["---\n".to_owned(), to_yaml(document)]).collect()
        }
        _ => written(node).unwrap_or_default(),
    };
    let is_text = matches!(node.value(), Value::String(_));
    let decoded = if options.binary || (encoded && is_text) { convert::decode(&text).ok() } else { None };
    let bytes = decoded.unwrap_or_else(|| text.clone().into_bytes());
    (text, bytes)
}

fn write(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(2..=3).contains(&arguments.len()) {
        fail!("write requires two or three arguments");
    }
    let Some(path) = simple(&arguments[0]).filter(|path| !path.is_empty()) else {
        fail!("file argument must be a non-empty string");
    };
    let options = options(arguments.get(2), 0o644)?;
    let signs = Signs::of(&path);
    let (text, bytes) = content(&arguments[1], &options, signs.encoded);
    match host.write(signs.name, &bytes, options.mode) {
        Ok(()) => done(text),
        Err(Denied::Io(error)) => fail!("cannot write file: {error}"),
        Err(error) => Err(denied("write")(error)),
    }
}

fn mkdir(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("mkdir requires one or two arguments");
    }
    let path = match arguments[0].value() {
        Value::List(parts) => {
            let mut path = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                match simple(part).filter(|part| !part.is_empty()) {
                    Some(part) => path.push(part),
                    None => fail!("path component {at} must be a non-empty string"),
                }
            }
            path.join("/")
        }
        other => simple(other).ok_or("path argument must be a non-empty string")?,
    };
    if path.is_empty() {
        fail!("path argument must not be empty");
    }
    let options = options(arguments.get(1), 0o755)?;
    if options.binary {
        fail!("binary option not support -> only permissions");
    }
    if options.multi {
        fail!("multi option not support -> only permissions");
    }
    match host.make_folder(&path, options.mode) {
        Ok(()) => done(path),
        Err(Denied::Io(error)) => fail!("cannot create directory {}: {error}", quoted(&path)),
        Err(error) => Err(denied("mkdir")(error)),
    }
}

fn tempfile(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("temp_file requires exactly one or two arguments");
    }
    let options = options(arguments.get(1), 0o644)?;
    let (_, bytes) = content(&arguments[0], &options, false);
    match host.temporary_file(&bytes, options.mode) {
        Ok(path) => done(path),
        Err(Denied::Io(error)) => fail!("cannot create temporary file: {error}"),
        Err(error) => Err(denied("tempfile")(error)),
    }
}

fn lookup(host: &mut dyn Host, arguments: &[Node], folder: bool) -> Outcome {
    let [name, folders @ ..] = arguments else { fail!("lookup_file requires at least two arguments") };
    if folders.is_empty() {
        fail!("lookup_file requires at least two arguments");
    }
    let mut paths = Vec::new();
    for (at, argument) in folders.iter().enumerate() {
        match argument.value() {
            Value::String(path) => paths.push(path.to_string()),
            Value::List(items) => {
                for item in items.iter().filter(|item| !super::argument::is_nil(item)) {
                    let message = format!("lookup_file: argument {at} must be a list of strings");
                    paths.push(text(item, &message)?.to_owned());
                }
            }
            _ => fail!("lookup_file: argument {at} must be a string or a list of strings"),
        }
    }
    let name = text(name, "lookup_file: first argument must be a string")?;
    if name.is_empty() {
        fail!("lookup_file: first argument is empty string");
    }
    let candidates: Vec<String> = if Path::new(name).is_absolute() {
        vec![name.to_owned()]
    } else {
        paths.iter().filter(|path| !path.is_empty()).map(|path| format!("{path}/{name}")).collect()
    };
    let mut found = Vec::new();
    for candidate in candidates {
        match host.exists(Path::new(&candidate)) {
            Ok(Some(is_folder)) if is_folder == folder => found.push(candidate),
            Ok(_) | Err(Denied::Io(_) | Denied::Outside { .. }) => {}
            Err(error) => return Err(denied("lookup")(error)),
        }
    }
    done(texts(found))
}

fn list_folder(host: &mut dyn Host, arguments: &[Node], folders: bool) -> Outcome {
    let [path] = arguments else { fail!("list requires exactly one arguments") };
    let path = text(path, "list: argument must be a string")?;
    if path.is_empty() {
        fail!("list: argument is empty string");
    }
    match host.list(path) {
        Ok(entries) => {
            done(texts(entries.iter().filter(|(_, folder)| *folder == folders).map(|(name, _)| name)))
        }
        Err(Denied::Io(_)) => fail!("list: {} is no directory or does not exist", quoted(path)),
        Err(error) => Err(denied("listFiles")(error)),
    }
}

fn env(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if arguments.is_empty() {
        fail!("");
    }
    let mut names = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        match argument.value() {
            Value::Null | Value::Undefined => {}
            Value::List(_) => {
                for item in list(argument, "")? {
                    let message = || format!("elements of list(arg {at}) to join must be simple values");
                    names.push(simple(item).ok_or_else(message)?);
                }
            }
            other => names.push(
                simple(other).ok_or_else(|| format!("env argument {at} must be simple value or list"))?,
            ),
        }
    }
    if let [name] = &names[..] {
        return match host.variable(name).map_err(denied("env"))? {
            Some(value) => done(value),
            None => fail!("environment variable '{name}' not set"),
        };
    }
    let mut values = Vec::new();
    for name in names {
        if let Some(value) = host.variable(&name).map_err(denied("env"))? {
            values.push((name, Value::from(value)));
        }
    }
    done(Value::map(values))
}
