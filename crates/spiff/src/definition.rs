//! Parses definitions of values in the form `a.b=x`.

use crate::value::{Map, Node, Value};

/// The reason why a definition is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The definition has no `=`.
    #[error("`{0}` is not NAME=VALUE")]
    NoValue(String),
    /// A part of the name is empty, such as the part between the dots of `a..b`.
    #[error("empty path component in \"{0}\"")]
    EmptyStep(String),
    /// The name leads through a field whose value is no map.
    #[error("field \"{field}\" in {path} is no map")]
    NoMap {
        /// The field that is no map.
        field: String,
        /// The whole name as given.
        path: String,
    },
}

/// Adds the value of a definition to a map.
///
/// A definition has the form `NAME=VALUE`. A dot in the name separates the keys of nested maps, and `\.` is a
/// dot in a key. If the value is a decimal integer, it becomes an integer. Any other value becomes a text.
///
/// ```
/// use windlass_spiff::{define, value::{Map, Node}, yaml::to_yaml};
///
/// let mut map = Map::new();
/// define(&mut map, "db.port=5432")?;
/// define(&mut map, "db.host=example.org")?;
/// assert_eq!(to_yaml(&Node::new(windlass_spiff::value::Value::from(map))), "db:\n  host: example.org\n  port: 5432\n");
/// # Ok::<(), windlass_spiff::DefinitionError>(())
/// ```
///
/// # Errors
/// When the definition isn't `NAME=VALUE`, a part of the name is empty, or the name leads through a field
/// whose value is no map.
pub fn define(map: &mut Map, definition: &str) -> Result<(), DefinitionError> {
    let (path, text) =
        definition.split_once('=').ok_or_else(|| DefinitionError::NoValue(definition.to_owned()))?;
    let value = match text.parse::<i64>() {
        Ok(number) => Value::Int(number),
        Err(_) => Value::from(text),
    };
    insert(map, &steps(path)?, path, Node::new(value).with_source("<values>"))
}

/// Splits a name at its dots. The text `\.` is a dot inside a part.
fn steps(path: &str) -> Result<Vec<String>, DefinitionError> {
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
        return Err(DefinitionError::EmptyStep(path.to_owned()));
    }
    Ok(steps)
}

fn insert(map: &mut Map, steps: &[String], path: &str, value: Node) -> Result<(), DefinitionError> {
    let Some((first, rest)) = steps.split_first() else { return Ok(()) };
    if rest.is_empty() {
        map.insert(first.as_str().into(), value);
        return Ok(());
    }
    let mut inner = match map.get(first.as_str()) {
        None => Map::new(),
        Some(node) => match node.as_map() {
            Some(inner) => inner.clone(),
            None => return Err(DefinitionError::NoMap { field: first.clone(), path: path.to_owned() }),
        },
    };
    insert(&mut inner, rest, path, value)?;
    map.insert(first.as_str().into(), Node::new(Value::from(inner)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::yaml::to_yaml;

    use super::*;

    fn defined(definitions: &[&str]) -> Result<String, String> {
        let mut map = Map::new();
        for definition in definitions {
            define(&mut map, definition).map_err(|error| error.to_string())?;
        }
        Ok(to_yaml(&Node::new(Value::from(map))))
    }

    #[test]
    fn dots_make_maps() {
        assert_eq!(defined(&["a.b=x", "a.c=y"]).unwrap(), "a:\n  b: x\n  c: \"y\"\n");
        assert_eq!(defined(&["a\\.b=x"]).unwrap(), "a.b: x\n");
        assert_eq!(defined(&["a\\..b=x"]).unwrap(), "a.:\n  b: x\n");
    }

    #[test]
    fn decimal_numbers_are_integers() {
        assert_eq!(defined(&["a=5", "b=-3", "c=007", "d=+1"]).unwrap(), "a: 5\nb: -3\nc: 7\nd: 1\n");
        assert_eq!(defined(&["a=1.5", "b=", "c=0x1"]).unwrap(), "a: \"1.5\"\nb: \"\"\nc: \"0x1\"\n");
    }

    #[test]
    fn wrong_definitions_are_named() {
        let message = |definitions: &[&str]| defined(definitions).unwrap_err();
        assert_eq!(message(&["a=1", "a.b=2"]), "field \"a\" in a.b is no map");
        assert_eq!(message(&["a..b=2"]), "empty path component in \"a..b\"");
        assert_eq!(message(&["a"]), "`a` is not NAME=VALUE");
    }
}
