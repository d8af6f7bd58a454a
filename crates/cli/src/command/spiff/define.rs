//! `-D a.b=x`: values of names, given one by one.

use windlass_spiff::value::{Map, Node, Value};

/// Adds the value of a definition to a map.
pub(super) fn define(map: &mut Map, definition: &str) -> Result<(), String> {
    let in_definitions = |message: String| format!("error in value definitions (-D): {message}");
    let (path, text) = definition
        .split_once('=')
        .ok_or_else(|| in_definitions(format!("`{definition}` is not NAME=VALUE")))?;
    let steps = steps(path).map_err(in_definitions)?;
    insert(map, &steps, path, Node::new(text).with_source("<define>")).map_err(in_definitions)
}

/// Splits a path at its dots; `\.` is a dot in a name.
fn steps(path: &str) -> Result<Vec<String>, String> {
    let (mut steps, mut last) = (Vec::new(), String::new());
    let mut chars = path.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'.') => {
                chars.next();
                last.push('.');
            }
            '.' => steps.push(std::mem::take(&mut last)),
            c => last.push(c),
        }
    }
    steps.push(last);
    if steps.iter().any(String::is_empty) {
        return Err(format!("empty path component in \"{path}\""));
    }
    Ok(steps)
}

fn insert(map: &mut Map, steps: &[String], path: &str, value: Node) -> Result<(), String> {
    let Some((first, rest)) = steps.split_first() else { return Ok(()) };
    if rest.is_empty() {
        map.insert(first.as_str().into(), value);
        return Ok(());
    }
    let mut inner = match map.get(first.as_str()) {
        None => Map::new(),
        Some(node) => match node.as_map() {
            Some(inner) => inner.clone(),
            None => return Err(format!("field \"{first}\" in {path} is no map")),
        },
    };
    insert(&mut inner, rest, path, value)?;
    map.insert(first.as_str().into(), Node::new(Value::from(inner)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use windlass_spiff::yaml::to_yaml;

    use super::*;

    fn defined(definitions: &[&str]) -> Result<String, String> {
        let mut map = Map::new();
        for definition in definitions {
            define(&mut map, definition)?;
        }
        Ok(to_yaml(&Node::new(Value::from(map))))
    }

    #[test]
    fn dots_make_maps() {
        assert_eq!(defined(&["a.b=1", "a.c=2"]).unwrap(), "a:\n  b: \"1\"\n  c: \"2\"\n");
        assert_eq!(defined(&["a\\.b=x"]).unwrap(), "a.b: x\n");
        assert_eq!(defined(&["a\\..b=x"]).unwrap(), "a.:\n  b: x\n");
    }

    #[test]
    fn wrong_definitions_are_named() {
        let message = |definitions: &[&str]| defined(definitions).unwrap_err();
        assert_eq!(
            message(&["a=1", "a.b=2"]),
            "error in value definitions (-D): field \"a\" in a.b is no map"
        );
        assert_eq!(message(&["a..b=2"]), "error in value definitions (-D): empty path component in \"a..b\"");
        assert_eq!(message(&["a"]), "error in value definitions (-D): `a` is not NAME=VALUE");
    }
}
