//! Inventories in the YAML form: groups with `hosts`, `vars` and `children`.

use std::sync::Arc;

use windlass_source::{Limits, LoadOptions, Mapping, Node, Reading, Source, load_one};

use super::{ALL, Draft, Variables};

/// The maximum nesting of groups.
const DEEPEST: usize = 64;

pub(super) fn read(inventory: &mut Draft, source: &Arc<Source>) {
    let limits = Limits { nodes: 500_000, ..Limits::default() };
    let loaded = load_one(source, &LoadOptions { limits, ..LoadOptions::default() });
    let has_errors = loaded.diagnostics.has_errors();
    inventory
        .diagnostics
        .extend(loaded.diagnostics.into_iter().filter(windlass_source::Diagnostic::is_error));
    let Some(root) = loaded.root.filter(|root| !has_errors && !root.is_null()) else { return };
    let Some(groups) = root.as_mapping() else {
        return inventory.error(root.span(), "a YAML inventory is a mapping of groups");
    };
    if let Some(plugin) = groups.entry("plugin") {
        let span = plugin.key.span();
        return inventory.error(span, "this configures a dynamic inventory, and windlass runs none");
    }
    for entry in groups {
        if entry.key.text() != ALL {
            inventory.group(ALL).children.insert(entry.key.text().to_owned());
        }
        group(inventory, entry.key.text(), &entry.value, DEEPEST);
    }
}

/// Reads a group and the groups in it.
fn group(inventory: &mut Draft, name: &str, node: &Node, depth: usize) {
    inventory.group(name);
    if depth == 0 {
        return inventory.error(node.span(), "more groups are inside of each other than are allowed");
    }
    let Some(body) = mapping(inventory, node, &format!("the group `{name}`")) else { return };
    for entry in body {
        match entry.key.text() {
            "hosts" => {
                let Some(hosts) = mapping(inventory, &entry.value, "`hosts`") else { continue };
                for host in hosts {
                    let own = mapping(inventory, &host.value, "a host").map(variables).unwrap_or_default();
                    inventory.add_hosts(name, host.key.text(), host.key.span(), &own);
                }
            }
            "vars" => {
                let vars = mapping(inventory, &entry.value, "`vars`").map(variables).unwrap_or_default();
                inventory.group(name).variables.extend(vars);
            }
            "children" => {
                let Some(children) = mapping(inventory, &entry.value, "`children`") else { continue };
                for child in children {
                    inventory.group(name).children.insert(child.key.text().to_owned());
                    group(inventory, child.key.text(), &child.value, depth - 1);
                }
            }
            other => {
                inventory.error(
                    entry.key.span(),
                    format!("a group has `hosts`, `vars` and `children`, not `{other}`"),
                );
            }
        }
    }
}

/// Returns a mapping; none for null, and for anything else with an error.
fn mapping<'n>(inventory: &mut Draft, node: &'n Node, what: &str) -> Option<&'n Mapping> {
    if node.as_mapping().is_none() && !node.is_null() {
        inventory.error(node.span(), format!("{what} must be a mapping, and this is {}", node.describe()));
    }
    node.as_mapping()
}

/// Returns variables without those that have a tag.
fn variables(mapping: &Mapping) -> Variables {
    let plain = mapping.iter().filter(|entry| entry.value.tag().is_none());
    plain.map(|entry| (entry.key.text().to_owned(), entry.value.to_value(Reading::Text))).collect()
}
