//! Functions of URLs and paths: `basename`, `dirname`, `parseurl`.

use std::collections::BTreeMap;

use super::argument::{Outcome, done, fail, quoted, text, texts};
use super::{FunctionError, Host, Registry};
use crate::value::{Map, Node, Value};

pub(super) fn register(registry: &mut Registry) {
    registry.add("basename", |_: &mut dyn Host, arguments: &[Node]| part("basename", base, arguments));
    registry.add("dirname", |_: &mut dyn Host, arguments: &[Node]| part("dirname", directory, arguments));
    registry.add("parseurl", parseurl);
}

fn part(name: &str, part: fn(&str) -> String, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("function {name} takes exactly one argument") };
    let subject = text(argument, &format!("string argument expected for function {name}"))?;
    match Url::parse(subject) {
        Ok(url) if url.path.is_empty() => done("/"),
        Ok(url) => done(part(&url.path)),
        Err(_) => done(part(subject)),
    }
}

/// Returns the last part of a path.
fn base(path: &str) -> String {
    if path.is_empty() {
        return ".".into();
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { "/".into() } else { trimmed.rsplit('/').next().unwrap_or_default().to_owned() }
}

/// Returns a path without its last part. The parts `.` and `..` are resolved where this is possible.
fn directory(path: &str) -> String {
    clean(&path[..path.rfind('/').map_or(0, |at| at + 1)])
}

fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(&last)) if last != ".." => {
                parts.pop();
            }
            ("..", None) if rooted => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".into(),
        (false, false) => joined,
    }
}

fn parseurl(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("parseurl takes exactly one argument") };
    let subject = text(argument, "argument for parseurl must be a string")?;
    let url = Url::parse(subject).map_err(|error| {
        FunctionError::failed(format!("invalid argument for parseurl: parse {}: {error}", quoted(subject)))
    })?;
    done(url.into_map())
}

/// The parts of a URL, split as Go's `net/url` does.
#[derive(Debug, Default, PartialEq)]
struct Url {
    scheme: String,
    user: Option<(String, Option<String>)>,
    host: String,
    port: Option<String>,
    path: String,
    query: String,
    fragment: String,
}

impl Url {
    fn parse(text: &str) -> Result<Self, String> {
        if text.chars().any(|c| c < ' ' || c == '\u{7f}') {
            return Err("net/url: invalid control character in URL".into());
        }
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self { fragment: unescape(fragment, false)?, ..Self::default() };
        let (scheme, rest) = scheme(rest)?;
        url.scheme = scheme.to_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        query.clone_into(&mut url.query);
        let rest = match rest.strip_prefix("//") {
            Some(behind) if !url.scheme.is_empty() || !behind.starts_with('/') => {
                let (authority, path) = behind.split_at(behind.find('/').unwrap_or(behind.len()));
                url.authority(authority)?;
                path
            }
            _ if !url.scheme.is_empty() && !rest.starts_with('/') => "",
            _ => {
                let first = rest.split('/').next().unwrap_or_default();
                if url.scheme.is_empty() && first.contains(':') {
                    return Err("first path segment in URL cannot contain colon".into());
                }
                rest
            }
        };
        url.path = unescape(rest, false)?;
        Ok(url)
    }

    fn authority(&mut self, authority: &str) -> Result<(), String> {
        let host = match authority.rsplit_once('@') {
            None => authority,
            Some((user, host)) => {
                let (name, password) = user.split_once(':').map_or((user, None), |(n, p)| (n, Some(p)));
                let password = password.map(|password| unescape(password, false)).transpose()?;
                self.user = Some((unescape(name, false)?, password));
                host
            }
        };
        let (host, port) = match host.strip_prefix('[') {
            Some(inner) => {
                let (host, behind) = inner.split_once(']').ok_or("missing ']' in host")?;
                (host, behind.strip_prefix(':'))
            }
            None => host.rsplit_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
        };
        if let Some(port) = port.filter(|port| !port.bytes().all(|b| b.is_ascii_digit())) {
            return Err(format!("invalid port {} after host", quoted(&format!(":{port}"))));
        }
        self.host = unescape(host, false)?;
        self.port = port.filter(|port| !port.is_empty()).map(str::to_owned);
        Ok(())
    }

    fn into_map(self) -> Map {
        let mut map: Map = BTreeMap::new();
        let mut put = |key: &str, value: Value| {
            map.insert(key.into(), Node::new(value));
        };
        put("scheme", self.scheme.into());
        put("host", self.host.into());
        put("path", self.path.into());
        put("fragment", self.fragment.into());
        put("values", values(&self.query));
        put("query", self.query.into());
        if let Some(port) = self.port.and_then(|port| port.parse::<i64>().ok()) {
            put("port", port.into());
        }
        if let Some((name, password)) = self.user {
            let password = password.map(|password| ("password", Value::from(password)));
            put("userinfo", Value::map([("username", Value::from(name))].into_iter().chain(password)));
        }
        map
    }
}

/// Returns the scheme before the first colon, and the rest of the text. If the text has no scheme, the scheme
/// is empty.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, character) in text.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".into()),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// Parses the parameters of a query. Each parameter gets a list of its values.
fn values(query: &str) -> Value {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Ok(key), Ok(value)) = (unescape(key, true), unescape(value, true)) {
            values.entry(key).or_default().push(value);
        }
    }
    Value::map(values.into_iter().map(|(key, values)| (key, texts(values))))
}

/// Decodes escapes such as `%41`. In a query, `+` becomes a space.
fn unescape(text: &str, query: bool) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'%' => {
                let digits = bytes.get(at + 1..at + 3).and_then(|digits| hex::decode(digits).ok());
                let Some(digits) = digits else {
                    let part = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 3)]);
                    return Err(format!("invalid URL escape {}", quoted(&part)));
                };
                out.extend(digits);
                at += 3;
            }
            b'+' if query => {
                out.push(b' ');
                at += 1;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Ok(String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
