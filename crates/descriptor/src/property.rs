//! Sections of properties. They have the same form in all places of a descriptor.

use indexmap::IndexMap;
use windlass_model::PropertyName;
use windlass_source::{Diagnostic, Entry, Fix, Mapping, Node, Severity, Span, suggest};

use crate::reader::{Reader, Spanned, get};
use crate::template::Value;
use crate::{codes, keys};

/// The properties of a section by name, in the order of declaration.
pub type Properties = IndexMap<PropertyName, PropertyDecl>;

/// Type of a property without the key `type`.
pub(crate) const STRING: &str = "string";

const READ_ONLY: &str = "read-only";

/// A property that a descriptor declares, or to which a descriptor gives a value.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the language, each on its own")]
pub struct PropertyDecl {
    /// Place of the name.
    pub name_span: Span,
    /// Place of the text after the name and the colon.
    pub span: Span,
    /// The key `type`, if it exists; the default type is `string`.
    pub kind: Option<Box<Spanned<String>>>,
    /// The key `entry-schema`: the type of the entries of a `map` or `list`.
    pub entry_schema: Option<Box<Spanned<String>>>,
    /// Description of the property.
    pub description: Option<Box<str>>,
    /// Whether the property must have a value. In the outermost assembly, a missing value is an error. In a nested
    /// assembly, a missing value is an error only if the property is read-only.
    pub required: bool,
    /// Whether only the component's own descriptor or driver sets the value.
    pub read_only: bool,
    /// Whether the value may change while the component is Active.
    pub volatile: bool,
    /// Whether the value is a secret: `type: password`, or `sensitive: true`.
    pub sensitive: bool,
    /// The key `default`: the value that applies if no other value is given.
    pub default: Option<Box<Value>>,
    /// The key `value`: a fixed value. Neither a parameter nor an enclosing assembly can replace this value.
    pub value: Option<Value>,
}

impl PropertyDecl {
    /// Returns the value that the declaration itself contains: `value`, or else `default`.
    pub fn effective(&self) -> Option<&Value> {
        self.value.as_ref().or(self.default.as_deref())
    }

    /// Returns `value` and `default`, as far as the declaration contains them.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.value.as_ref().into_iter().chain(self.default.as_deref())
    }

    /// Tells whether the property accepts no value from outside, because the property is read-only or has a fixed
    /// `value`.
    pub(crate) fn decides_itself(&self) -> bool {
        self.read_only || self.value.is_some()
    }

    /// Returns the name of the property's type.
    pub fn kind(&self) -> &str {
        self.kind.as_ref().map_or(STRING, |kind| &kind.value)
    }
}

/// Reads the section `properties`. If the section is missing, null or no mapping, the result is empty. `dots`
/// decides whether a name with a dot causes an error or only a warning.
pub(crate) fn read_properties(reader: &mut Reader<'_>, node: Option<&Node>, dots: Dots) -> Properties {
    let Some(mapping) = node.and_then(|node| reader.mapping(node, "`properties`")) else {
        return Properties::new();
    };
    let mut properties = Properties::with_capacity(mapping.len());
    for entry in mapping.entries() {
        let Some(Spanned { value: name, span }) = reader.key::<PropertyName>(&entry.key, codes::NAME) else {
            continue;
        };
        check_dots(reader, &name, span, dots);
        let decl = read_property(reader, entry);
        properties.insert(name, decl);
    }
    properties
}

/// The treatment of a dot in the name of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dots {
    /// A name with a dot causes an error, because `${a.b}` could also mean the property `b` of the component `a`.
    Refused,
    /// A name with a dot causes only a warning.
    Tolerated,
}

fn check_dots(reader: &mut Reader<'_>, name: &PropertyName, span: Span, dots: Dots) {
    if !name.as_str().contains('.') {
        return;
    }
    let message = format!("the property name `{name}` has a dot, which separates component and property");
    match dots {
        Dots::Refused => reader.error(codes::NAME, span, message),
        Dots::Tolerated => reader.warning(codes::NAME, span, message),
    }
}

fn read_property(reader: &mut Reader<'_>, entry: &Entry) -> PropertyDecl {
    let mut decl = PropertyDecl {
        name_span: entry.key.span(),
        span: entry.value.span(),
        kind: None,
        entry_schema: None,
        description: None,
        required: false,
        read_only: false,
        volatile: false,
        sensitive: false,
        default: None,
        value: None,
    };
    match entry.value.as_mapping() {
        Some(body) => read_body(reader, body, &mut decl),
        None if entry.value.is_null() => {
            let what = entry.key.text();
            reader.say(Severity::Warning, |source| {
                let message = format!("the property `{what}` is declared with nothing");
                Diagnostic::warning(codes::EMPTY_ENTRY, message)
                    .at(source.place(entry.key.span()))
                    .help("give it a `value`, a `default` or a `type`, or write `{}` if it needs none")
            });
        }
        None => {
            let what = entry.key.text();
            reader.say(Severity::Warning, |source| {
                let message = format!(
                    "the property `{what}` should be a mapping; what stands here is taken as its value"
                );
                Diagnostic::warning(codes::WRONG_SORT, message)
                    .at(source.place(entry.value.span()))
                    .help("write `value:` before it, on a line of its own")
            });
            decl.value = Some(Value::read(reader.source, &entry.value, reader.diagnostics));
        }
    }
    decl
}

fn read_body(reader: &mut Reader<'_>, body: &Mapping, decl: &mut PropertyDecl) {
    reader.unknown_keys(body, keys::PROPERTY.names, "a property");
    let read_only_type = read_type(reader, body, decl);
    decl.entry_schema = get(body, "entry-schema").and_then(|node| entry_schema(reader, node)).map(Box::new);
    decl.description = get(body, "description").and_then(|n| n.as_str()).map(Box::from);
    let mut flag = |key: &str| get(body, key).is_some_and(|node| reader.flag(node, &format!("`{key}`")));
    decl.required = flag("required");
    decl.read_only = flag("read-only") || read_only_type;
    decl.volatile = flag("volatile");
    decl.sensitive = flag("sensitive") || decl.kind().eq_ignore_ascii_case("password");
    let mut value = |key: &str| {
        let node = get(body, key)?;
        (!node.is_null()).then(|| Value::read(reader.source, node, reader.diagnostics))
    };
    decl.default = value("default").map(Box::new);
    decl.value = value("value");
    volatile(reader, body, decl);
    if let (Some(value), Some(default)) = (&decl.value, &decl.default) {
        let diagnostic = Diagnostic::warning(
            codes::VALUE_AND_DEFAULT,
            "the `default` is never used, since `value` decides",
        )
        .at(reader.place(default.span))
        .related(reader.place(value.span), "the value");
        reader.diagnostics.push(diagnostic);
    }
}

/// Reads the key `type`. Returns `true` if the type is `read-only` or a similar word, such as `read_only`. Some
/// published descriptors contain such a word in place of the flag `read-only: true`.
fn read_type(reader: &mut Reader<'_>, body: &Mapping, decl: &mut PropertyDecl) -> bool {
    let Some(entry) = body.entry("type") else { return false };
    let Some(kind) = reader.text(&entry.value, "`type`") else { return false };
    let read_only = suggest(&kind.value, [READ_ONLY]).is_some() || kind.value == READ_ONLY;
    if !read_only {
        decl.kind = Some(Box::new(Spanned { value: kind.value.trim().to_owned(), span: kind.span }));
        return false;
    }
    let message = format!("`{}` is no type; it is read as `{READ_ONLY}: true`", kind.value);
    let mut diagnostic =
        Diagnostic::warning(codes::UNKNOWN_TYPE, message).at(reader.place(kind.span)).help("write the flag");
    if get(body, READ_ONLY).is_none() {
        let flag = format!("{READ_ONLY}: true");
        diagnostic = diagnostic.fix(Fix::replace(format!("write `{flag}`"), entry.span(), flag));
    }
    reader.diagnostics.push(diagnostic);
    true
}

/// Reads the key `entry-schema`. Its value is a mapping with the key `type`, or only the name of a type.
fn entry_schema(reader: &mut Reader<'_>, node: &Node) -> Option<Spanned<String>> {
    let kind = match node.as_mapping() {
        Some(body) => {
            reader.unknown_keys(body, &["type", "description", "entry-schema"], "an entry schema");
            body.get("type")?
        }
        None => node,
    };
    reader.text(kind, "`entry-schema`")
}

/// Reports a volatile property whose value cannot be changed from outside, because the property is read-only, or
/// because its `value` contains no `${…}`.
fn volatile(reader: &mut Reader<'_>, body: &Mapping, decl: &PropertyDecl) {
    let Some(flag) = get(body, "volatile").filter(|_| decl.volatile) else { return };
    let (why, span) = match &decl.value {
        Some(value) if value.is_fixed() => ("has a fixed `value`", value.span),
        _ if decl.read_only => ("is read-only", decl.name_span),
        _ => return,
    };
    let message = format!("a volatile property can be changed from outside, and this one {why}");
    let diagnostic = Diagnostic::error(codes::BAD_VOLATILE, message)
        .at(reader.place(flag.span()))
        .related(reader.place(span), "this contradicts it")
        .help("remove one of the two");
    reader.diagnostics.push(diagnostic);
}
