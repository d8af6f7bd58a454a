//! The parts that assembly and resource descriptors share.

#![expect(dead_code, reason = "types that only say what a document may have")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Properties by name.
pub(super) type Properties = BTreeMap<String, Property>;

/// Bodies that are kept and not looked into here, by name.
pub(super) type Named = BTreeMap<String, Anything>;

/// Anything at all.
pub(super) type Anything = serde_json::Value;

/// A property. The default type is text.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", transform = also_bare)]
pub(super) struct Property {
    /// `string` (the default), `integer`, `float`, `boolean`, `uuid`, `password`, `key`, `map`, `list`, or the name of a data type.
    #[schemars(rename = "type")]
    kind: Option<Text>,
    /// The type of the entries of a `map` or `list`.
    entry_schema: Option<Anything>,
    /// Its purpose.
    description: Option<Anything>,
    /// Whether the outermost assembly requires a value.
    required: Option<Flag>,
    /// Whether only the component's driver sets the value.
    read_only: Option<Flag>,
    /// Whether it may change while the component is Active.
    volatile: Option<Flag>,
    /// Whether its value is a secret.
    sensitive: Option<Flag>,
    /// The default value.
    default: Option<Anything>,
    /// The fixed value: text, which may contain `${property}` or `${component.property}`.
    value: Option<Anything>,
}

/// Any other value in place of a body is accepted, with a warning.
fn also_bare(schema: &mut Schema) {
    schema.remove("type");
}

/// A section or body that may be left empty.
pub(super) fn or_null(schema: &mut Schema) {
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
}

/// Text; a scalar keeps its spelling, whatever another reader takes it for.
pub(super) struct Text;

impl JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean", "null"]})
    }
}

/// `true` or `false`; `yes`, `no`, `on` and `off` are taken too.
pub(super) struct Flag;

impl JsonSchema for Flag {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Flag".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`true` or `false`",
            "type": ["boolean", "string", "null"],
            "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo]|[Oo][Nn]|[Oo][Ff][Ff])$",
        })
    }
}

/// A whole number from 0, or a reference to a property that has one.
pub(super) struct Count;

impl JsonSchema for Count {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a whole number from 0, or a `${property}` with such a value",
            "type": ["integer", "string", "null"],
            "minimum": 0,
            "maximum": u32::MAX,
            "pattern": r"^(\s*\+?[0-9]+\s*|.*\$\{.*)$",
        })
    }
}

/// The form of one word of a name: a letter first, a letter or digit last, no `__`.
pub(super) const WORD: &str = r"(?!\w*__)[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?";

/// The form of the middle part of a descriptor's name.
pub(super) const MIDDLE: &str =
    r"(?![A-Za-z0-9_-]*__)(?![A-Za-z0-9_-]{51})[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?";

/// The form of a version.
pub(super) const VERSION: &str = r"[0-9]+(\.[0-9]+)*";

/// The name of a descriptor, as `resource::web_server::1.0`, or a placeholder that the project file fills.
pub(super) struct DescriptorName;

impl JsonSchema for DescriptorName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DescriptorName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "the name of a descriptor, such as `resource::web_server::1.0`",
            "type": "string",
            "pattern": format!(r"^((assembly|resource)::{MIDDLE}::{VERSION}|\$lmctl:.*)$"),
        })
    }
}

/// The name of a descriptor.
pub(super) struct OwnName<const ASSEMBLY: bool>;

impl<const ASSEMBLY: bool> JsonSchema for OwnName<ASSEMBLY> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OwnName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kind = if ASSEMBLY { "assembly" } else { "resource" };
        json_schema!({
            "description": format!("its name, such as `{kind}::shop::1.0`; a project file may declare it instead"),
            "type": ["string", "null"],
            "pattern": format!(r"^{kind}::{MIDDLE}::{VERSION}$"),
        })
    }
}
