//! Conversions between types: `string`, `integer`, `asjson`, `parse`, `base64` and similar functions.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use windlass_source::Source;

use super::argument::{Outcome, done, fail, int, quoted, text};
use super::{FunctionError, Host, Registry};
use crate::value::{Map, Node, Value, number};
use crate::yaml::{read_document, read_documents, to_json, value_to_yaml};

pub(super) fn register(registry: &mut Registry) {
    registry.add("type", type_name).add("string", string).add("integer", integer).add("float", float);
    registry.add("bool", boolean).add("asjson", asjson).add("asyaml", asyaml).add("parse", parse);
    registry.add("base64", base64).add("base64_decode", base64_decode);
}

fn type_name(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    match arguments.iter().map(Node::value).collect::<Vec<_>>()[..] {
        // The Go program spiff++ has no type name for bytes.
        [Value::Bytes(bytes)] => {
            let shown: Vec<String> = bytes.iter().take(1000).map(ToString::to_string).collect();
            fail!("unknown type for [{}]", shown.join(" "))
        }
        [argument] => done(argument.type_name()),
        _ => fail!("exactly one argument required for 'type'"),
    }
}

fn convert_error(value: &Value, to: &str) -> FunctionError {
    FunctionError::failed(format!("cannot convert {} to {to}", super::argument::go_type(value)))
}

fn string(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    match (arguments.first().map(Node::value), arguments.len()) {
        (Some(_), 1) => {}
        (Some(Value::Int(_)), 2) => {}
        (Some(Value::Int(_)), _) => fail!("string for integers requires one or two arguments"),
        _ => fail!("string requires one argument"),
    }
    match arguments[0].value() {
        Value::String(text) => done(text.as_ref()),
        Value::Int(value) => match arguments.get(1) {
            None => done(value.to_string()),
            Some(base) => {
                let base = int(base, "base argument for string requires integer value")?;
                match u32::try_from(base) {
                    Ok(base @ 2..=36) => done(in_base(*value, base)),
                    _ => fail!("base argument for string requires integer value >=2 and <=36 "),
                }
            }
        },
        Value::Float(value) => done(number::float_text(*value)),
        Value::Bool(value) => done(value.to_string()),
        other => Err(convert_error(other, "string")),
    }
}

/// Formats an integer in a base from 2 to 36.
fn in_base(value: i64, base: u32) -> String {
    let mut digits = Vec::new();
    let mut rest = value.unsigned_abs();
    loop {
        let digit = u32::try_from(rest % u64::from(base)).unwrap_or(0);
        digits.push(char::from_digit(digit, base).unwrap_or('0'));
        rest /= u64::from(base);
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

fn integer(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("integer requires one argument") };
    match argument.value() {
        Value::Int(value) => done(*value),
        Value::String(text) => match number::parse_int(text) {
            Some(value) => done(value),
            None => fail!("{} is no integer value", quoted(text)),
        },
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the fraction is to be cut off; what is too large saturates"
        )]
        Value::Float(value) => done(*value as i64),
        Value::Bool(value) => done(i64::from(*value)),
        other => Err(convert_error(other, "integer")),
    }
}

fn float(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("float requires one argument") };
    match argument.value() {
        Value::Float(value) => done(*value),
        #[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
        Value::Int(value) => done(*value as f64),
        Value::String(text) => match text.parse::<f64>() {
            Ok(value) => done(value),
            Err(_) => fail!("{} is no float value", quoted(text)),
        },
        Value::Bool(value) => done(f64::from(u8::from(*value))),
        other => Err(convert_error(other, "float")),
    }
}

fn boolean(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("bool requires one argument") };
    match argument.value() {
        Value::Null | Value::Undefined => done(false),
        Value::Bool(value) => done(*value),
        Value::Int(value) => done(*value != 0),
        Value::Float(value) => done(*value != 0.0),
        Value::String(text) if text.is_empty() => done(false),
        Value::String(text) => match number::parse_bool(text) {
            Some(value) => done(value),
            None => fail!("{} is no bool value", quoted(text)),
        },
        other => Err(convert_error(other, "bool")),
    }
}

fn asjson(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("asjson takes exactly one argument") };
    match to_json(argument) {
        Ok(text) => done(text),
        Err(error) => fail!("cannot jsonencode: {error}"),
    }
}

fn asyaml(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    match arguments {
        [argument] if super::argument::is_nil(argument) => fail!("cannot yamlencode: nil"),
        [argument] => done(value_to_yaml(argument)),
        _ => fail!("asyaml takes exactly one argument"),
    }
}

fn parse(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("parse takes one or two arguments");
    }
    let content = text(&arguments[0], "first argument for parse must be a string")?;
    let mode = match arguments.get(1) {
        Some(mode) => text(mode, "second argument for parse must be a string")?,
        None => "import",
    };
    let name = host.path().join(".");
    parse_as(host, &name, content.as_bytes(), mode)
}

/// Parses a text, or the content of a file, in one of the modes of the functions `parse` and `read`.
pub(super) fn parse_as(host: &mut dyn Host, name: &str, content: &[u8], mode: &str) -> Outcome {
    let (own_root, mode) = mode.strip_prefix('.').map_or((false, mode), |mode| (true, mode));
    host.spend(content.len() as u64)?;
    let text = || String::from_utf8_lossy(content).into_owned();
    let bad = |error: crate::yaml::ReadError| format!("error parsing file [{name}]: {error}");
    let one = || read_document(&Source::new(name, text())).map_err(bad);
    let all = || {
        let mut documents = read_documents(&Source::new(name, text())).map_err(bad)?;
        while documents.len() > 1 && documents.last().is_some_and(|last| matches!(last.value(), Value::Null))
        {
            documents.pop();
        }
        Ok::<_, String>(documents)
    };
    match mode {
        "text" => done(text()),
        "binary" => done(STANDARD.encode(content)),
        "import" => Ok(one()?),
        "importmulti" => done(all()?),
        "template" => {
            let document = as_template(one()?);
            done(host.template(document))
        }
        "templates" => {
            let documents = read_documents(&Source::new(name, text())).map_err(bad)?;
            done(Value::list(documents.into_iter().map(|document| host.template(as_template(document)))))
        }
        "yaml" => host.process(one()?, own_root),
        "multiyaml" => {
            let documents = all()?;
            host.process(Node::new(documents), own_root)
        }
        _ => fail!("invalid file type [{name}] {mode}"),
    }
}

/// Adds the marker `&template` to a document, unless the document contains a marker already.
fn as_template(document: Node) -> Node {
    let marker = || Node::new("(( &template ))").with_source(document.source());
    match document.value() {
        Value::Map(map) if !map.contains_key("<<") && !map.contains_key("<<<") => {
            let mut map = Map::clone(map);
            map.insert("<<<".into(), marker());
            document.with_value(map)
        }
        Value::List(items) if !items.iter().any(marks_template) => {
            let entry = Node::new(Map::from([("<<<".into(), marker())]));
            let items: Vec<Node> = std::iter::once(entry).chain(items.iter().cloned()).collect();
            document.with_value(items)
        }
        _ => document,
    }
}

/// Tells whether a list entry is the marker `&template`.
fn marks_template(item: &Node) -> bool {
    let inserted = item.get("<<").or_else(|| item.get("<<<"));
    inserted.and_then(|node| node.as_str()).is_some_and(|text| text.contains("&template"))
}

fn base64(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("base64 takes one or two arguments");
    }
    let content = text(&arguments[0], "first argument for base64 must be a string")?;
    let width = match arguments.get(1) {
        None => 0,
        Some(width) => match width.value() {
            Value::Int(width) => *width,
            Value::String(text) => {
                number::parse_int(text).ok_or("second argument for base64 must be an integer")?
            }
            _ => fail!("second argument for base64 must be an integer"),
        },
    };
    done(encode(content.as_bytes(), usize::try_from(width).unwrap_or(0)))
}

/// Encodes bytes as base64, in lines of `width` characters. If `width` is 0, the result is one line.
pub(super) fn encode(content: &[u8], width: usize) -> String {
    let text = STANDARD.encode(content);
    if width == 0 {
        return text;
    }
    let lines: Vec<&str> =
        (0..text.len()).step_by(width).map(|at| &text[at..text.len().min(at + width)]).collect();
    lines.join("\n")
}

/// Decodes base64 as Go does. Line breaks, and the unused bits of the last character, are ignored.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    const TOLERANT: GeneralPurpose =
        GeneralPurpose::new(&ALPHABET, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));
    TOLERANT.decode(text.replace(['\n', '\r'], ""))
}

fn base64_decode(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("base64_decode takes exactly one argument") };
    let content = text(argument, "first argument for base64_decode must be a string")?;
    match decode(content).map(String::from_utf8) {
        Ok(Ok(text)) => done(text),
        Ok(Err(_)) => fail!("the decoded string is not UTF-8"),
        Err(_) => fail!("cannot decode string"),
    }
}
