//! Reading environments from files.

use std::sync::Arc;

use serde_json::Value;
use windlass_model::pins::{Name, ValueType};
use windlass_source::{
    Diagnostic, Diagnostics, Entry, LoadOptions, Node, Reading, Severity, Source, load_one,
};

use crate::codes;
use crate::environment::property_type;
use crate::report::Report;

/// Keys of environment files of the original platform, Tonomi (Qubell). They have no meaning for scripted
/// components.
const IGNORED: [&str; 4] = ["policies", "componentPolicies", "services", "serviceIds"];

/// The content of an environment file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// Markers to add to the environment. A marker is a name that describes the environment, such as `eu`.
    pub markers: Vec<Name>,
    /// Properties to set in the environment.
    pub properties: Vec<ImportedProperty>,
}

/// A property in an environment file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedProperty {
    /// Name of the property.
    pub name: Name,
    /// Type of the property.
    pub kind: ValueType,
    /// Value of the property, converted to the type `kind`.
    pub value: Value,
    /// Whether the property is a secret: `secret: true`.
    pub secret: bool,
}

/// Reads an environment file in YAML or JSON. The file can contain the keys `markers` and `properties`. Each
/// property has the key `value`, and can have the keys `type` and `secret`.
pub fn read_environment(source: &Arc<Source>) -> (Imported, Diagnostics) {
    let loaded = load_one(source, &LoadOptions::default());
    let mut diagnostics = loaded.diagnostics;
    let mut found = Diagnostics::new();
    let mut report = Report { source, diagnostics: &mut found };
    let imported = loaded.root.as_ref().map(|root| read_root(&mut report, root)).unwrap_or_default();
    diagnostics.extend(found);
    diagnostics.sort();
    (imported, diagnostics)
}

fn read_root(report: &mut Report<'_>, root: &Node) -> Imported {
    let mut imported = Imported::default();
    let Some(mapping) = report.mapping(root, "an environment") else { return imported };
    report.unknown_keys(
        mapping,
        &["markers", "properties", IGNORED[0], IGNORED[1], IGNORED[2], IGNORED[3]],
        "an environment",
    );
    for entry in mapping.entries().iter().filter(|entry| IGNORED.contains(&entry.key.text())) {
        let message = format!("`{}` has no meaning here and is ignored", entry.key.text());
        report.say(Severity::Warning, codes::UNKNOWN_KEY, entry.key.span(), message, |said: Diagnostic| said);
    }
    for node in report.list(mapping.get("markers"), "`markers`") {
        let node = node.as_mapping().and_then(|marker| marker.get("name")).unwrap_or(node);
        imported.markers.extend(name(report, node, "a marker"));
    }
    let properties = mapping.get("properties");
    if let Some(list) = properties.and_then(Node::as_sequence) {
        for node in list {
            let Some(body) = report.mapping(node, "a property") else { continue };
            let Some(named) = body.get("name") else {
                report.error(codes::MISSING_PART, node.span(), "the property has no `name`");
                continue;
            };
            let name = name(report, named, "the name of a property");
            imported.properties.extend(name.and_then(|name| property(report, name, node)));
        }
    } else if let Some(mapping) = properties.and_then(|node| report.mapping(node, "`properties`")) {
        for entry in mapping.entries() {
            let Entry { key, value, .. } = entry;
            let name = report.key::<Name>(key);
            imported.properties.extend(name.and_then(|name| property(report, name, value)));
        }
    }
    imported
}

fn name(report: &mut Report<'_>, node: &Node, what: &str) -> Option<Name> {
    let text = report.text(node, what)?;
    text.parse()
        .map_err(|error: windlass_model::pins::NameError| {
            report.error(codes::NAME, node.span(), error.to_string());
        })
        .ok()
}

fn property(report: &mut Report<'_>, name: Name, node: &Node) -> Option<ImportedProperty> {
    let body = report.mapping(node, &format!("property `{name}`"))?;
    report.unknown_keys(body, &["name", "type", "value", "secret"], &format!("property `{name}`"));
    let kind = match body.get("type").map(|node| (node, report.text(node, "`type`"))) {
        None => ValueType::String,
        Some((node, text)) => match property_type(text?) {
            Ok(kind) => kind,
            Err(error) => {
                report.error(codes::BAD_PROPERTY, node.span(), error.to_string());
                return None;
            }
        },
    };
    let Some(value) = body.get("value") else {
        report.error(codes::MISSING_PART, node.span(), format!("property `{name}` has no `value`"));
        return None;
    };
    let secret = body.get("secret").is_some_and(|node| report.flag(node, "`secret`"));
    match crate::value::read(&kind, value) {
        Ok(fit) => Some(ImportedProperty { name, kind, value: fit, secret }),
        Err(misfit) => {
            let message = format!("the value of `{name}` does not fit: {misfit}");
            report.error(codes::BAD_PROPERTY, value.span(), message);
            None
        }
    }
}

/// Reads the value of an argument on a command line. For the types `string` and `bytes`, the value is the text itself.
/// For all other types, the function parses the text as YAML.
///
/// The function does not check that the value has the type `kind`. The method [`ValueType::fit`] checks this.
///
/// # Errors
/// Returns the mistakes in the YAML syntax of the text.
pub fn read_value(kind: &ValueType, text: &str) -> Result<Value, Diagnostics> {
    if matches!(kind, ValueType::String | ValueType::Bytes) {
        return Ok(text.into());
    }
    let loaded = load_one(&Source::new("value", text), &LoadOptions::default());
    if loaded.diagnostics.has_errors() {
        return Err(loaded.diagnostics);
    }
    Ok(loaded.root.map_or(Value::Null, |root| root.to_value(Reading::Script)))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> (Imported, String) {
        let (imported, diagnostics) = read_environment(&Source::new("env.yaml", text));
        let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        (imported, lines.join("\n"))
    }

    #[test]
    fn both_forms_of_the_platform_are_read() {
        let (map, said) =
            read("markers: [eu]\nproperties: {size: {type: int, value: '5'}, zone: {value: 1.10}}");
        assert_eq!(said, "");
        let list = r#"{"markers": [{"name": "eu"}], "properties": [
            {"name": "size", "type": "int", "value": 5}, {"name": "zone", "type": "string", "value": "1.10"}]}"#;
        assert_eq!(read(list), (map.clone(), String::new()));
        let values: Vec<&Value> = map.properties.iter().map(|property| &property.value).collect();
        assert_eq!(values, [&json!(5), &json!("1.10")]);
    }

    #[test]
    fn mistakes_have_a_place_and_values_are_not_shown() {
        let text = "
            markrs: [eu]
            policies: []
            properties:
              a b: {value: 1}
              size: {type: int, value: hunter2}
              kind: {type: strin, value: x}
              none: {type: string}
        ";
        assert_snapshot!(read(text).1, @"
        env.yaml:2:13: error[WL0602]: an environment has no `markrs`
        env.yaml:3:13: warning[WL0602]: `policies` has no meaning here and is ignored
        env.yaml:5:15: error[WL0601]: `a b` is not a name: names have ASCII letters, digits, `_` and `-` only
        env.yaml:6:40: error[WL0657]: the value of `size` does not fit: `int` is expected, and this is text
        env.yaml:7:28: error[WL0657]: `strin` is not the type of a property: there is no type `strin`
        env.yaml:8:21: error[WL0604]: property `none` has no `value`
        ");
    }
}
