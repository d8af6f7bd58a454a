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
    if let Some(meta) = groups.entry("_meta") {
        return listed(inventory, groups, &meta.value);
    }
    for entry in groups {
        if entry.key.text() != ALL {
            inventory.group(ALL).children.insert(entry.key.text().to_owned());
        }
        group(inventory, entry.key.text(), &entry.value, DEEPEST);
    }
}

/// Reads the output of `ansible-inventory --list`. Each group in the output contains a list of its hosts, and a
/// list of the groups in it. The key `_meta` contains the variables of each host. These variables already include
/// the variables of the host's groups.
fn listed(inventory: &mut Draft, groups: &Mapping, meta: &Node) {
    let of_hosts = meta.as_mapping().and_then(|meta| meta.entry("hostvars"));
    let of_hosts = of_hosts.and_then(|entry| entry.value.as_mapping());
    for entry in groups.iter().filter(|entry| entry.key.text() != "_meta") {
        let name = entry.key.text();
        inventory.group(name);
        let Some(body) = mapping(inventory, &entry.value, &format!("the group `{name}`")) else { continue };
        for host in names(body, "hosts") {
            let own = of_hosts.and_then(|hosts| hosts.entry(host.as_str()?)?.value.as_mapping());
            let own = own.map(variables).unwrap_or_default();
            inventory.add_hosts(name, host.as_str().unwrap_or_default(), host.span(), &own);
        }
        for child in names(body, "children").filter_map(Node::as_str) {
            inventory.group(name).children.insert(child.to_owned());
            inventory.group(child);
        }
    }
}

/// Returns the items of a list in a group.
fn names<'n>(group: &'n Mapping, key: &str) -> impl Iterator<Item = &'n Node> {
    group.entry(key).and_then(|entry| entry.value.as_sequence()).unwrap_or_default().iter()
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
                    let own = mapping(inventory, &host.value, "a host");
                    let own = own.map(variables).unwrap_or_default();
                    inventory.add_hosts_with_port(name, host.key.text(), host.key.span(), own);
                }
            }
            "vars" => {
                let vars = mapping(inventory, &entry.value, "`vars`");
                let vars = vars.map(variables).unwrap_or_default();
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

/// Returns a node as a mapping; `None` if it is no mapping. Reports a node that is neither a mapping nor null.
fn mapping<'n>(inventory: &mut Draft, node: &'n Node, what: &str) -> Option<&'n Mapping> {
    if node.as_mapping().is_none() && !node.is_null() {
        inventory.error(node.span(), format!("{what} must be a mapping, and this is {}", node.describe()));
    }
    node.as_mapping()
}

/// Returns the variables of a mapping. A variable is `None` in the result if its value has a YAML tag, or contains
/// a value with a tag.
fn variables(mapping: &Mapping) -> Variables {
    let value = |node: &Node| (!has_tag(node)).then(|| node.to_value(Reading::Text));
    mapping.iter().map(|entry| (entry.key.text().to_owned(), value(&entry.value))).collect()
}

fn has_tag(node: &Node) -> bool {
    node.tag().is_some()
        || node.as_sequence().is_some_and(|items| items.iter().any(has_tag))
        || node.as_mapping().is_some_and(|mapping| mapping.iter().any(|entry| has_tag(&entry.value)))
}
