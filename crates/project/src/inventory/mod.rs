//! Static Ansible inventories: the hosts of a group with their variables, from INI or YAML.
//!
//! A host gets its own variables and the variables of all groups that contain it. As in Ansible, a group takes
//! precedence over the groups that contain it. Values are text. For example, the value `80` does not become a number.
//! In YAML, values may also be lists and maps. In INI, quotes, escape sequences and comments have the same meaning as
//! for Ansible.
//!
//! Three kinds of variables are left out: values with Jinja expressions (`{{` or `{%`), values with a tag
//! such as `!vault`, and passwords of connections (`ansible_…pass`, `ansible_…password`). Passwords are left
//! out because records would show them.

mod ini;
mod literal;
mod range;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};
use windlass_source::{Diagnostic, Diagnostics, Place, Severity, Source, Span, did_you_mean, listed};

use crate::codes::BAD_INVENTORY;

/// The group that contains all hosts.
pub const ALL: &str = "all";

/// The group of the hosts that are in no other group.
const UNGROUPED: &str = "ungrouped";

/// The maximum number of hosts, including the hosts of expanded ranges.
const MOST_HOSTS: usize = 100_000;

/// A host of a group.
#[derive(Debug, Clone)]
pub struct Host {
    /// The place where the inventory first mentions the host.
    pub place: Place,
    /// The variables of the host as a map. The map also contains `name` and `inventory_hostname` (the host's
    /// name in the inventory), `inventory_hostname_short` (the name up to its first dot) and `ansible_host`
    /// (by default the name).
    pub variables: Value,
    /// The names of the host's variables that `variables` does not contain.
    ///
    /// windlass leaves out a value that is a password for Ansible, contains a Jinja template, or has a YAML tag such as
    /// `!vault`.
    pub left_out: BTreeSet<String>,
}

/// The form of an inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InventoryForm {
    /// Sections with hosts and variables.
    Ini,
    /// YAML or JSON with groups as mappings.
    Yaml,
}

impl InventoryForm {
    /// Returns the form of an inventory file. As in Ansible, the extension decides: YAML for `.yaml`, `.yml` and
    /// `.json`, and INI for any other file.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension {
            "yaml" | "yml" | "json" => Self::Yaml,
            _ => Self::Ini,
        }
    }
}

/// Returns the hosts of a group and of the groups in it, in the order of the inventory.
///
/// Each host and each problem has a place in the inventory. Messages about such a place do not quote the text of
/// the file, because the value of a variable may be a secret.
///
/// # Errors
///
/// Returns all problems of the text. If the text has no problems, returns an error if the group does not exist, or if
/// the group has no hosts.
pub fn hosts(source: &Arc<Source>, form: InventoryForm, group: &str) -> Result<Vec<Host>, Diagnostics> {
    let mut inventory = Draft::new(source);
    if source.text().starts_with("#!") {
        let message = "the inventory is a program, and windlass runs no dynamic inventories";
        let help = "save its hosts: `ansible-inventory -i FILE --list --yaml > hosts.yaml`";
        inventory.diagnostics.push(
            Diagnostic::error(BAD_INVENTORY, message).at(inventory.shape.place(Span::empty(0))).help(help),
        );
    } else if form == InventoryForm::Ini && looks_like_yaml(source.text()) {
        let message = "the inventory is YAML, and its name does not end with `.yaml`, `.yml` or `.json`";
        let help = "rename the file; Ansible reads its form from its name, too";
        inventory.diagnostics.push(
            Diagnostic::error(BAD_INVENTORY, message).at(inventory.shape.place(Span::empty(0))).help(help),
        );
    } else {
        match form {
            InventoryForm::Ini => ini::read(&mut inventory, source),
            InventoryForm::Yaml => yaml::read(&mut inventory, source),
        }
    }
    inventory.hosts_of(group)
}

/// Tells whether a text begins like a YAML document: with `---`, or with a key whose value is on the next
/// line.
fn looks_like_yaml(text: &str) -> bool {
    let mut lines =
        text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    match lines.next() {
        Some(first) if first.trim_end() == "---" => true,
        Some(first) => {
            let is_key = first.trim_end().ends_with(':') && !first.contains(char::is_whitespace);
            is_key && lines.next().is_some_and(|next| next.starts_with(' '))
        }
        None => false,
    }
}

/// Variables of a host or a group, by name. `None` stands for a value that has a YAML tag, such as `!vault`.
type Variables = BTreeMap<String, Option<Value>>;

#[derive(Debug, Default)]
struct Group {
    hosts: IndexSet<String>,
    children: IndexSet<String>,
    variables: Variables,
}

/// An inventory that is being read.
struct Draft {
    /// A copy of the inventory's source in which all text is masked. The line breaks stay. The places of problems
    /// refer to this copy, because the inventory may contain secrets.
    shape: Arc<Source>,
    groups: IndexMap<String, Group>,
    hosts: IndexMap<String, (Span, Variables)>,
    diagnostics: Diagnostics,
}

impl Draft {
    fn new(source: &Arc<Source>) -> Self {
        let groups = [ALL, UNGROUPED].map(|name| (name.to_owned(), Group::default()));
        Self {
            shape: source.without_text(),
            groups: groups.into(),
            hosts: IndexMap::new(),
            diagnostics: Diagnostics::new(),
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        if !self.diagnostics.leaves_out(Severity::Error) {
            self.diagnostics.push(Diagnostic::error(BAD_INVENTORY, message).at(self.shape.place(span)));
        }
    }

    /// Reports a group that is mentioned but not defined.
    fn undefined(&mut self, name: &str, span: Span, mut known: Vec<&str>) {
        known.sort_unstable();
        let message = format!("the inventory has no group `{name}`");
        let diagnostic = Diagnostic::error(BAD_INVENTORY, message).at(self.shape.place(span));
        let diagnostic = diagnostic.help(format!("it has {}", listed(&known)));
        self.diagnostics.push(did_you_mean(diagnostic, name, known));
    }

    fn group(&mut self, name: &str) -> &mut Group {
        self.groups.entry(name.to_owned()).or_default()
    }

    /// Adds the hosts of a pattern, such as `web[01:03]`, to a group. Each host gets `variables`. `span` is the place
    /// of the pattern.
    fn add_hosts(&mut self, group: &str, pattern: &str, span: Span, variables: &Variables) {
        let names = match range::expanded(pattern, MOST_HOSTS) {
            Ok(names) => names,
            Err(problem) => return self.error(span, format!("`{pattern}` {problem}")),
        };
        for name in names {
            if self.hosts.len() == MOST_HOSTS && !self.hosts.contains_key(&name) {
                return self.error(span, format!("the inventory has more than {MOST_HOSTS} hosts"));
            }
            self.group(group).hosts.insert(name.clone());
            let (_, own) = self.hosts.entry(name).or_insert_with(|| (span, Variables::new()));
            own.extend(variables.clone());
        }
    }

    /// Adds the hosts of a pattern as [`add_hosts`](Self::add_hosts) does. A port may follow the pattern, such as in
    /// `web[01:03]:2222`. The port becomes the variable `ansible_port`, unless `variables` contains this variable.
    fn add_hosts_with_port(&mut self, group: &str, pattern: &str, span: Span, mut variables: Variables) {
        let (pattern, port) = range::split_port(pattern);
        if let Some(port) = port {
            variables.entry("ansible_port".to_owned()).or_insert_with(|| Some(port.into()));
        }
        self.add_hosts(group, pattern, span, &variables);
    }

    fn hosts_of(mut self, wanted: &str) -> Result<Vec<Host>, Diagnostics> {
        if !self.groups.contains_key(wanted) && !self.diagnostics.has_errors() {
            let names: Vec<String> = self.groups.keys().cloned().collect();
            self.undefined(wanted, Span::empty(0), names.iter().map(String::as_str).collect());
        }
        let depths = self.depths();
        if self.diagnostics.has_errors() {
            return Err(self.diagnostics);
        }
        let mut groups_of: IndexMap<&str, Vec<&str>> = IndexMap::new();
        for name in self.groups.keys() {
            for host in self.members(name) {
                groups_of.entry(host).or_default().push(name);
            }
        }
        let members = if wanted == ALL {
            self.hosts.keys().map(String::as_str).collect()
        } else if wanted == UNGROUPED {
            let is_free = |host: &&str| {
                groups_of.get(host).is_none_or(|of| of.iter().all(|name| [ALL, UNGROUPED].contains(name)))
            };
            self.hosts.keys().map(String::as_str).filter(is_free).collect()
        } else {
            self.members(wanted)
        };
        // An empty list would remove all nodes of a cluster, which is rarely intended.
        if members.is_empty() {
            let message = format!("the group `{wanted}` of the inventory has no hosts");
            let help = "a list without entries is given by `-p PROPERTY=[]`";
            let place = self.shape.place(Span::empty(0));
            return Err(vec![Diagnostic::error(BAD_INVENTORY, message).at(place).help(help)].into());
        }
        let host = |name: &str| {
            let mut groups = groups_of.get(name).cloned().unwrap_or_default();
            groups.retain(|group| *group != ALL);
            groups.sort_by_key(|group| (depths[*group], priority(&self.groups[*group]), *group));
            let (span, own) = &self.hosts[name];
            let inherited = std::iter::once(ALL).chain(groups).map(|group| &self.groups[group].variables);
            let mut variables = Map::new();
            variables.insert("ansible_host".to_owned(), name.into());
            let mut left_out = BTreeSet::new();
            for (key, value) in inherited.chain([own]).flatten() {
                if let Some(value) = value.as_ref().filter(|value| is_kept(key, value)) {
                    variables.insert(key.clone(), value.clone());
                    left_out.remove(key);
                } else {
                    // For Ansible, the host has this value. The value of an outer group must not take its place.
                    variables.remove(key);
                    left_out.insert(key.clone());
                }
            }
            let short = name.split('.').next().unwrap_or(name);
            let names = [("name", name), ("inventory_hostname", name), ("inventory_hostname_short", short)];
            variables.extend(names.map(|(key, value)| (key.to_owned(), value.into())));
            Host { place: self.shape.place(*span), variables: variables.into(), left_out }
        };
        Ok(members.into_iter().map(host).collect())
    }

    /// Returns the hosts of a group and of the groups in it.
    fn members(&self, group: &str) -> IndexSet<&str> {
        let mut members = IndexSet::new();
        let (mut open, mut seen) = (vec![group], IndexSet::new());
        while let Some(name) = open.pop() {
            let Some(group) = self.groups.get(name).filter(|_| seen.insert(name)) else { continue };
            members.extend(group.hosts.iter().map(String::as_str));
            open.extend(group.children.iter().rev().map(String::as_str));
        }
        members
    }

    /// Returns the depth of each group: the length of the longest path from the outermost group to the group.
    /// Reports groups that contain themselves.
    fn depths(&mut self) -> BTreeMap<String, usize> {
        let mut depths: BTreeMap<String, usize> = self.groups.keys().map(|name| (name.clone(), 1)).collect();
        for round in 0..=self.groups.len() {
            let mut deeper = None;
            for (name, group) in &self.groups {
                let depth = if name == ALL { 0 } else { depths[name] };
                for child in &group.children {
                    if let Some(known) = depths.get_mut(child).filter(|known| **known <= depth) {
                        *known = depth + 1;
                        deeper = Some(child.clone());
                    }
                }
            }
            match deeper {
                None => break,
                Some(child) if round == self.groups.len() => {
                    self.error(Span::empty(0), format!("the group `{child}` contains itself"));
                }
                Some(_) => {}
            }
        }
        depths
    }
}

/// Returns the precedence of a group among the groups of the same depth; the default is 1.
fn priority(group: &Group) -> i64 {
    let given = group.variables.get("ansible_group_priority").and_then(|value| value.as_ref()?.as_str());
    given.and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Tells whether windlass keeps a variable of a host. windlass leaves out three kinds of values: encrypted values,
/// values with a Jinja template, and passwords for Ansible. An example of such a password is the value of
/// `ansible_ssh_pass`.
fn is_kept(key: &str, value: &Value) -> bool {
    let is_password = key.starts_with("ansible_") && (key.ends_with("pass") || key.ends_with("password"));
    !is_password && is_plain(value)
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains("{{") && !text.contains("{%"),
        Value::Array(items) => items.iter().all(is_plain),
        // `ansible-inventory --list` prints a `!vault` value as a mapping with this key.
        Value::Object(entries) => !entries.contains_key("__ansible_vault") && entries.values().all(is_plain),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_has_a_maximum_number_of_hosts() {
        let mut draft = Draft::new(&Source::new("hosts", ""));
        draft.add_hosts(UNGROUPED, "h[1:100000]", Span::empty(0), &Variables::new());
        // Hosts that exist may be added to other groups.
        for pattern in ["h7", "h[1:60000]"] {
            draft.add_hosts("web", pattern, Span::empty(0), &Variables::new());
        }
        assert_eq!((draft.hosts.len(), draft.groups["web"].hosts.len()), (MOST_HOSTS, 60_000));
        assert!(draft.diagnostics.is_empty());
        for (count, pattern) in ["one", "more[1:2]", "h[99999:100001]"].into_iter().enumerate() {
            draft.add_hosts("web", pattern, Span::empty(0), &Variables::new());
            let problem = draft.diagnostics.iter().last().unwrap();
            assert_eq!(problem.message, "the inventory has more than 100000 hosts", "{pattern}");
            assert_eq!((draft.diagnostics.len(), draft.hosts.len()), (count + 1, MOST_HOSTS), "{pattern}");
        }
    }
}
