//! The variables of the control structure `<<for`.

use std::sync::Arc;

use crate::value::{Node, Value};

/// A variable of `<<for`, with the values that it gets, one after the other.
pub(super) struct Range {
    pub(super) name: Arc<str>,
    /// Name of a second variable, which contains the index of the current value.
    pub(super) index: Arc<str>,
    /// Pairs of an index and a value. The index of a list entry is its position, counted from 0. The index of a map
    /// field is its key.
    pub(super) entries: Vec<(Value, Node)>,
}

impl Range {
    fn entries(name: &str, values: &Node) -> Result<Vec<(Value, Node)>, String> {
        match values.value() {
            Value::List(list) => {
                Ok((0..).zip(list.iter()).map(|(at, node)| (Value::Int(at), node.clone())).collect())
            }
            Value::Map(map) => {
                Ok(map.iter().map(|(key, node)| (Value::String(key.clone()), node.clone())).collect())
            }
            other => Err(format!(
                "control variable \"{name}\" requires list or map value, but got {}",
                other.type_name()
            )),
        }
    }

    fn new(name: &str, index: Option<&str>, entries: Vec<(Value, Node)>) -> Result<Self, String> {
        const NAME: &str = "[a-zA-Z0-9_]+";
        let check = |kind: &str, name: &str| {
            if name.chars().any(|c| c.is_ascii_alphanumeric() || c == '_') {
                Ok(())
            } else {
                Err(format!("invalid {kind} variable name \"{name}\" (must be {NAME})"))
            }
        };
        check("range", name)?;
        let index = match index {
            None | Some("") => format!("index-{name}"),
            Some(index) => {
                check("index", index)?;
                index.to_owned()
            }
        };
        Ok(Self { name: name.into(), index: index.into(), entries })
    }

    fn from_entry(entry: &Node) -> Result<Self, String> {
        let Some(spec) = entry.as_map() else {
            return Err(format!("control variable list entry requires may but got {}", entry.type_name()));
        };
        let name = spec.get("name").ok_or("control variable list entry requires name field")?;
        let index = match spec.get("index") {
            None => None,
            Some(index) => Some(index.as_str().ok_or_else(|| {
                format!("control index variable name must be of type string but got {}", index.type_name())
            })?),
        };
        let values = spec.get("values").ok_or("control variable list entry requires values field")?;
        let name = name.as_str().unwrap_or_default();
        let entries = Self::entries(name, values)?;
        if let Some(other) = spec.keys().find(|key| !matches!(&***key, "name" | "index" | "values")) {
            return Err(format!("invalid control variable list entry field \"{other}\""));
        }
        Self::new(name, index, entries)
    }
}

/// Reads the variables of nested loops from `value`, the value of the key `<<for`. The variable of the outermost
/// loop comes first.
pub(super) fn ranges(value: &Node) -> Result<Vec<Range>, String> {
    match value.value() {
        Value::Map(map) => {
            let mut ranges = Vec::with_capacity(map.len());
            for (spec, values) in map.iter() {
                let names: Vec<&str> = spec.split(',').map(str::trim).collect();
                let (name, index) = match names[..] {
                    [name] => (name, None),
                    [index, name] => (name, Some(index)),
                    _ => return Err(format!("invalid control variable spec \"{spec}\"")),
                };
                ranges.push(Range::new(name, index, Range::entries(name, values)?)?);
            }
            ranges.sort_by(|a, b| (&a.name, &a.index).cmp(&(&b.name, &b.index)));
            Ok(ranges)
        }
        Value::List(list) => list.iter().map(Range::from_entry).collect(),
        other => Err(format!("value field must be map but got {}", other.type_name())),
    }
}
