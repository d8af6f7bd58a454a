//! Checks the list that a cluster has in the key `each`, if the descriptor contains this list. The list is the value
//! of `each` itself, or the value or default of the property that `each` names.
//!
//! The composition of an assembly makes the same checks for every list, for example for a list from a
//! parameter.

use std::collections::HashMap;

use windlass_model::name::NodeKey;
use windlass_source::{Diagnostics, Severity, Span};

use super::context::Said;
use crate::codes;
use crate::document::{AssemblyDescriptor, EachDecl};
use crate::scope::{Meaning, Scope};
use crate::template::{Value, ValueKind};

/// Checks the lists that clusters have in the key `each`. Each entry of such a list declares one node. A field of the
/// entry contains the node's key, which is unique in the list. The function reports an entry that is no map, or that
/// lacks this field. It also reports a node's key that is invalid or that an earlier entry already has.
///
/// The function skips an entry such as `${property}`, and a node's key that contains a `${…}`. Their values are not
/// known yet.
pub fn check_lists(assembly: &AssemblyDescriptor) -> Diagnostics {
    let mut said = Said::new(&assembly.source);
    for each in assembly.composition.values().filter_map(|component| component.each()) {
        let list = match &each.list.kind {
            ValueKind::Text(_) => own_value(assembly, &each.list),
            _ => Some(&each.list),
        };
        if let Some(ValueKind::List(items)) = list.map(|list| &list.kind) {
            entries(&mut said, each, items);
        }
    }
    said.finish()
}

/// Returns the value or the default of the property that the `${…}` in `value` names. Returns `None` if the `${…}`
/// names no property of the assembly, or a property that has neither.
fn own_value<'a>(assembly: &'a AssemblyDescriptor, value: &Value) -> Option<&'a Value> {
    let mut found = None;
    value.for_each_reference(&mut |reference| found = Some(reference));
    let Meaning::Own(property) = Scope::assembly(assembly).find(found?)? else { return None };
    assembly.properties.get(&property)?.effective()
}

fn entries(said: &mut Said<'_>, each: &EachDecl, items: &[Value]) {
    let field = each.key.value.as_str();
    let mut first: HashMap<&str, Span> = HashMap::new();
    for item in items {
        let ValueKind::Map(fields) = &item.kind else {
            // An item that contains a `${…}` is not reported, because the value of the `${…}` may be a map.
            if item.is_fixed() {
                said.error(codes::BAD_EACH, item.span, "an entry of `each` is a map, with its key");
            }
            continue;
        };
        let Some((_, value)) = fields.iter().find(|(name, _)| name == field) else {
            said.error(codes::BAD_EACH, item.span, format!("this entry has no `{field}`, its key"));
            continue;
        };
        let Some(key) = value.literal() else {
            if !matches!(value.kind, ValueKind::Text(_)) {
                let message = format!("the key `{field}` of this entry is no text");
                said.error(codes::BAD_EACH, value.span, message);
            }
            continue;
        };
        if let Err(error) = key.parse::<NodeKey>() {
            said.error(codes::BAD_EACH, value.span, format!("bad key: {error}"));
        } else if let Some(before) = first.insert(key, value.span) {
            let message = format!("two entries have the same key, `{key}`");
            let diagnostic = said.at(Severity::Error, codes::BAD_EACH, value.span, message);
            let diagnostic = diagnostic.related(said.source.place(before), "the first of them");
            said.push(diagnostic.help("give each entry a key of its own"));
        }
    }
}
