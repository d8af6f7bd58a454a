//! Copies of resources from an older version of the assembly. Such a resource does not have the values of the
//! newest version yet, and belongs to the version from which it got its values.
//!
//! A value of the resource may contain a `${…}` that reads a property of an assembly or a reference. The copy
//! contains the value from the older version in place of this `${…}`. For example, a value of the resource is
//! `${region}`, and `region` is a property of its assembly. In the older version, `region` is `eu`. In the newest
//! version, `region` is `us`. The copy contains `eu` in place of `${region}`.
//!
//! A `${…}` that reads a property of another resource stays as it is.
//!
//! In one case, a `${b}` that reads a property `b` of an assembly stays as it is, too: the `${b}` is a part of a longer
//! text, such as `a-${b}`, and the value of `b` is a list or a map that reads another resource. windlass can't insert
//! such a list or map into a text.

use serde_json::{Map, Value};
use windlass_model::assembly::{ElementKind, Property};
use windlass_model::resolve::text_of;
use windlass_model::template::{InstanceField, Part};
use windlass_model::{Element, Template, Topology};

/// The maximum number of [`Part`]s that the function [`element`] reads for the values of one element.
///
/// A value consists of parts: fixed texts and `${…}`. Beyond this number, each `${…}` is left as it is. Without a
/// limit, the number could grow exponentially. For example, the property `a` is `${b}${b}`, the property `b` is
/// `${c}${c}`, and so on.
const MOST: usize = 10_000;

/// The maximum length of a chain of properties in which each property reads the next one.
///
/// A `${…}` beyond this length is left as it is.
const DEEPEST: usize = 100;

/// Returns a copy of the element `element` of the topology `version`. The copy reads no properties of assemblies and
/// references: for each `${…}` that reads such a property, the copy contains the value of the property in `version`.
///
/// The caller adds the copy to a topology that contains the newest version of the assemblies and references. There,
/// the original `${…}` would read a new value, although the existing resource still has the old value.
pub(crate) fn element(version: &Topology, element: &Element) -> Element {
    let mut writer = Writer { version, left: MOST, depth: 0 };
    let written = element.properties.iter().map(|(name, property)| {
        let mut sensitive = property.sensitive;
        let value = property.value.as_ref().map(|value| writer.template(value, &mut sensitive));
        (name.clone(), Property { value, sensitive, ..property.clone() })
    });
    Element { properties: written.collect(), ..element.clone() }
}

struct Writer<'a> {
    version: &'a Topology,
    left: usize,
    depth: usize,
}

impl<'a> Writer<'a> {
    fn template(&mut self, template: &Template, sensitive: &mut bool) -> Template {
        match template {
            Template::Null => Template::Null,
            Template::Text(parts) => self.text(parts, sensitive),
            Template::List(items) => {
                Template::List(items.iter().map(|item| self.template(item, sensitive)).collect())
            }
            Template::Map(entries) => {
                let written =
                    entries.iter().map(|(key, entry)| (key.clone(), self.template(entry, sensitive)));
                Template::Map(written.collect())
            }
        }
    }

    fn text(&mut self, parts: &[Part], sensitive: &mut bool) -> Template {
        let alone = parts.len() == 1;
        let mut written = Vec::with_capacity(parts.len());
        for part in parts {
            self.left = self.left.saturating_sub(1);
            if let Some(name) = self.former_name(part) {
                written.push(name);
                continue;
            }
            let Some((value, mut tainted)) = self.read(part) else {
                written.push(part.clone());
                continue;
            };
            self.depth += 1;
            let value = self.template(value, &mut tainted);
            self.depth -= 1;
            match value {
                Template::Text(parts) => written.extend(parts),
                whole if alone => {
                    *sensitive |= tainted;
                    return whole;
                }
                whole => match literal(&whole) {
                    Some(value) => written.push(Part::Literal(text_of(&value))),
                    None => written.push(part.clone()),
                },
            }
            *sensitive |= tainted;
        }
        Template::Text(written)
    }

    /// Returns the former name of an element as a literal, if `part` is the `${instance.name}` of an element that
    /// was renamed later.
    ///
    /// For example, the assembly `shop` was renamed to `store`. In a version from before the renaming,
    /// `${instance.name}` of the element `store__web` still has the value `shop__web`.
    ///
    /// Returns `None` if `part` is no `${instance.name}`, or if the topology [`version`](Self::version) already
    /// uses the current name of the element.
    fn former_name(&self, part: &Part) -> Option<Part> {
        let Part::Instance { element, field: InstanceField::Name } = part else { return None };
        let name = self.version.instance_name(element);
        (name != *element).then(|| Part::Literal(name.to_string()))
    }

    /// Returns the value of the property that `part` reads, and whether the property is sensitive. A property without a
    /// value has the value null, as in the [`Resolver`](windlass_model::resolve::Resolver).
    ///
    /// Returns `None` in these cases:
    ///
    /// - `part` does not read a property of an assembly, a group or a reference.
    /// - The limit [`MOST`] or [`DEEPEST`] is reached.
    fn read(&self, part: &Part) -> Option<(&'a Template, bool)> {
        let Part::Property { element, property } = part else { return None };
        if self.left == 0 || self.depth == DEEPEST {
            return None;
        }
        let element = self.version.get(element).filter(|element| element.kind != ElementKind::Resource)?;
        let property = element.properties.get(property);
        let value = property.and_then(|property| property.value.as_ref()).unwrap_or(&Template::Null);
        Some((value, property.is_some_and(|property| property.sensitive)))
    }
}

/// Returns the value of a template that contains no `${…}`; `None` for other templates.
fn literal(template: &Template) -> Option<Value> {
    match template {
        Template::Null => Some(Value::Null),
        Template::Text(parts) => {
            let texts = parts.iter().map(|part| match part {
                Part::Literal(text) => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<Option<String>>().map(Value::String)
        }
        Template::List(items) => items.iter().map(literal).collect::<Option<Vec<_>>>().map(Value::Array),
        Template::Map(entries) => {
            let entries = entries.iter().map(|(key, entry)| Some((key.clone(), literal(entry)?)));
            entries.collect::<Option<Map<_, _>>>().map(Value::Object)
        }
    }
}
