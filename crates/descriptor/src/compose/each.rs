//! Evaluates the list `each` of a cluster: its entries, and the keys and fields of the entries.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use windlass_model::name::NodeKey;
use windlass_model::{ElementName, Part, PropertyName, Template};
use windlass_source::{
    Diagnostic, Kind, LoadOptions, Node, Place, Reading, Severity, Source, Span, did_you_mean, listed,
    load_one,
};

use super::composer::Composer;
use super::entry::Entry;
use super::frame::{Binder, Frame};
use super::known::Known;
use super::whole::{self, Whole};
use crate::codes;
use crate::document::EachDecl;
use crate::template::{Value, ValueKind};

/// Name of a field that each list entry from an Ansible inventory has. The field contains the name of the host up
/// to the first dot.
const SHORT_NAME: &str = "inventory_hostname_short";

/// The entries of a list that a cluster's key `each` contains or names, with their places in the source files.
struct List {
    entries: Vec<Template>,
    /// Place of the value that contains the list.
    place: Place,
    /// Places of the entries. Empty if these places are not known.
    places: Vec<Place>,
    /// Places of the entries, found by a search in the text at `place`. The search happens only if a message
    /// needs a place that `places` does not contain.
    found: OnceCell<Vec<Place>>,
    /// Name of the property that contains the list. If the key `each` contains the list itself, and not a `${…}`
    /// that names a property, this name is `each`.
    name: String,
    /// Names of Ansible variables that windlass has left out of the entries; see
    /// [`GivenPlaces::left_out`](super::GivenPlaces::left_out). Empty if the entries come from another source
    /// than an Ansible inventory.
    left_out: Arc<BTreeSet<String>>,
}

/// A problem of an entry.
///
/// The message is the second half of a sentence whose first half names the entry.
struct EntryProblem {
    message: String,
    help: Option<String>,
}

impl From<String> for EntryProblem {
    fn from(message: String) -> Self {
        Self { message, help: None }
    }
}

impl List {
    /// Returns the place of the entry with this index. If the place is not known, returns the place of the
    /// list.
    fn place(&self, at: usize) -> Place {
        self.known_place(at).unwrap_or_else(|| self.place.clone())
    }

    /// Returns the place of the entry with this index; none if the place can't be found. If `places` does not
    /// contain the place, the method searches the text that contains the list.
    fn known_place(&self, at: usize) -> Option<Place> {
        self.places.get(at).or_else(|| self.found.get_or_init(|| places_in(&self.place)).get(at)).cloned()
    }
}

impl Composer<'_> {
    /// Returns the entries of the list `each`. If the method reports an error, it returns `None`.
    pub(super) fn entries(&mut self, frame: Frame<'_>, each: &EachDecl) -> Option<Vec<Entry>> {
        let list = self.list(frame, each)?;
        let mut found = Vec::with_capacity(list.entries.len());
        let mut before: HashMap<NodeKey, usize> = HashMap::new();
        let mut is_good = true;
        for (at, entry) in list.entries.iter().enumerate() {
            match self.entry(entry, &each.key.value, &list, at) {
                Ok(entry) => {
                    if let Some(first) = before.insert(entry.key.clone(), at) {
                        let message = format!(
                            "entries {} and {} of `{}` have the same key, `{}`",
                            first + 1,
                            at + 1,
                            list.name,
                            entry.key
                        );
                        let diagnostic = Diagnostic::error(codes::BAD_EACH, message).at(list.place(at));
                        let diagnostic = match list.known_place(first) {
                            Some(first) => diagnostic.related(first, "the first of them"),
                            None => diagnostic,
                        };
                        self.diagnostics.push(diagnostic.help("give each entry a key of its own"));
                        is_good = false;
                    }
                    found.push(entry);
                }
                Err(problem) => {
                    is_good = false;
                    if !self.diagnostics.leaves_out(Severity::Error) {
                        let EntryProblem { message, help } = problem;
                        let message = format!("entry {} of `{}` {message}", at + 1, list.name);
                        let diagnostic = Diagnostic::error(codes::BAD_EACH, message).at(list.place(at));
                        self.diagnostics.push(match help {
                            Some(help) => diagnostic.help(help),
                            None => diagnostic,
                        });
                    }
                }
            }
        }
        is_good.then_some(found)
    }

    /// Converts the template of one list entry to an [`Entry`]. `at` is the index of the entry in `list`. `key` is the
    /// name of the field that contains the key of the node. Returns an error if the template is no map, or if this
    /// field contains no valid key.
    fn entry(&self, entry: &Template, key: &str, list: &List, at: usize) -> Result<Entry, EntryProblem> {
        let Template::Map(fields) = entry else { return Err("is not a map".to_owned().into()) };
        let Some(value) = fields.get(key) else {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            return Err(match names.as_slice() {
                [] => format!("has no `{key}`, its key"),
                names => format!("has no `{key}`, its key; it has {}", listed(names)),
            }
            .into());
        };
        let sort = match value {
            Template::Null => Some("no value"),
            Template::List(_) => Some("a list"),
            Template::Map(_) => Some("a mapping"),
            Template::Text(_) => None,
        };
        if let Some(sort) = sort {
            return Err(
                format!("has {sort} as its key, `{key}`; give it a text that begins with a letter").into()
            );
        }
        let Ok(known) = self.known(value) else {
            return Err(format!("has a key, `{key}`, that is not known before the assembly is made").into());
        };
        if known.sensitive {
            let message = format!("has a secret as its key, `{key}`, which would be in the name of its node");
            return Err(message.into());
        }
        if !known.text.is_empty() && known.text.bytes().all(|b| b.is_ascii_digit()) {
            let message = format!("has the number `{}` as its key; begin it with a letter", known.text);
            return Err(message.into());
        }
        let parsed = known.text.parse().map_err(|error| EntryProblem {
            message: format!("has a bad key: {error}"),
            help: if known.text.starts_with(|first: char| first.is_ascii_digit()) {
                // For example, the host has no name in the inventory, but an IP address.
                Some("give each entry a field with a name that begins with a letter, and name the field in `key`".to_owned())
            } else {
                (known.text.contains('.') && fields.contains_key(SHORT_NAME) && key != SHORT_NAME)
                    .then(|| format!("write `key: {SHORT_NAME}`, which is the name up to its first dot"))
            },
        })?;
        Ok(Entry {
            key: parsed,
            fields: fields.clone(),
            place: list.places.get(at).unwrap_or(&list.place).clone(),
            left_out: list.left_out.clone(),
        })
    }

    /// Evaluates the list `each`. If the method reports an error, it returns `None`.
    fn list(&mut self, frame: Frame<'_>, each: &EachDecl) -> Option<List> {
        let source = &frame.assembly.source;
        let place = source.place(each.list.span);
        let places = items(&each.list, source);
        let bound = self.values.bind(&each.list, frame.binder(frame.owner), false);
        let (value, last) = match self.followed(bound) {
            Ok(followed) => followed,
            Err((element, property)) => {
                if !self.parameters.is_missing(&element, &property) {
                    let message = format!(
                        "`{property}` has no list that is known before the assembly is made; give it a default, or a value as in `-p {property}=@{property}.yaml`"
                    );
                    self.error(source, codes::BAD_EACH, each.list.span, message);
                }
                return None;
            }
        };
        let Some((element, property)) = last else {
            let Template::List(entries) = value else { return None };
            return Some(List {
                entries,
                place,
                places,
                found: OnceCell::new(),
                name: "each".to_owned(),
                left_out: Arc::default(),
            });
        };
        let name = property.as_str().to_owned();
        let root = ElementName::from(self.request.name);
        let is_given = self.is_given(&element, &property);
        let place = self.place_of_value(&element, &property).unwrap_or(place);
        if self.is_secret(&element, &property) {
            // The keys become parts of element names, which messages show. So a secret list is refused.
            let message = format!("`{property}` is a secret, so its entries can't be nodes");
            let help = "declare it without `sensitive`, and give each secret as a property of its own";
            self.diagnostics.push(Diagnostic::error(codes::BAD_EACH, message).at(place).help(help));
            return None;
        }
        match value {
            Template::List(entries) => {
                let given = self.parameters.places.entries.get(&name).filter(|_| is_given);
                let is_own = element == root && *frame.owner == root && !is_given;
                let places = match frame.assembly.properties.get(&property).filter(|_| is_own) {
                    Some(decl) => decl.effective().map(|value| items(value, source)).unwrap_or_default(),
                    None => given.cloned().unwrap_or_default(),
                };
                let left_out = self.parameters.places.left_out.get(&name).filter(|_| is_given);
                let left_out = Arc::new(left_out.cloned().unwrap_or_default());
                Some(List { entries, place, places, found: OnceCell::new(), name, left_out })
            }
            Template::Text(_) => self.written(&value, is_given, name, place),
            Template::Null | Template::Map(_) => {
                let message = format!("`{name}` is not a list");
                let diagnostic = Diagnostic::error(codes::BAD_EACH, message).at(place);
                self.diagnostics.push(diagnostic.help("give a list of maps, one for each node"));
                None
            }
        }
    }

    /// Tells whether the user gives a value to the property. A user can give values only to properties of the
    /// outermost assembly.
    pub(super) fn is_given(&self, element: &ElementName, property: &PropertyName) -> bool {
        *element == ElementName::from(self.request.name)
            && self.request.parameters.contains_key(property.as_str())
    }

    fn is_secret(&self, element: &ElementName, property: &PropertyName) -> bool {
        let found = self.elements.find(element).and_then(|found| found.properties.get(property));
        found.is_some_and(|property| property.sensitive)
    }

    /// Returns the place of a property's value. A parameter from a file has the place of its name in the
    /// file. A parameter from the command line has no place. Each other value has its place in a descriptor.
    pub(super) fn place_of_value(&self, element: &ElementName, property: &PropertyName) -> Option<Place> {
        if self.is_given(element, property) {
            return self.parameters.places.names.get(property.as_str()).cloned();
        }
        let found = self.elements.find(element)?.properties.get(property)?;
        whole::place(&self.sources, found.origin.as_ref()?)
    }

    /// Returns the source of a parameter in words, if the parameter comes from an argument or an environment variable.
    pub(super) fn source_of_parameter(&self, property: &PropertyName) -> Option<&str> {
        self.parameters.places.sources.get(property.as_str()).map(String::as_str)
    }

    /// Follows a chain of properties. If `value` is a single `${…}` that reads a property, the method continues
    /// with the value of this property, and so on. Returns the value at the end of the chain, and the last property
    /// of the chain. If a property of the chain has no value, returns this property as the error.
    #[expect(clippy::type_complexity, reason = "a value with its property, or that property alone")]
    pub(super) fn followed(
        &self,
        mut value: Template,
    ) -> Result<(Template, Option<(ElementName, PropertyName)>), (ElementName, PropertyName)> {
        let mut last = None;
        let most = self.elements.len() + 1;
        for _ in 0..most {
            let Template::Text(parts) = &value else { return Ok((value, last)) };
            let [Part::Property { element, property }] = &parts[..] else { return Ok((value, last)) };
            let read = (element.clone(), property.clone());
            let found = self.elements.find(element).and_then(|found| found.properties.get(property));
            let Some(next) = found.and_then(|found| found.value.clone()) else { return Err(read) };
            (value, last) = (next, Some(read));
        }
        Err(last.expect("an assembly has a root, so a property was read"))
    }

    /// Parses a text as the YAML list that a cluster's key `each` needs. The text is the value of the property
    /// `name`, for example the content of a file that the user passes as a parameter. If the text contains no
    /// list, reports an error and returns `None`.
    fn written(&mut self, value: &Template, is_given: bool, name: String, place: Place) -> Option<List> {
        let known = match as_given(value).map_or_else(|| self.known(value), Ok) {
            Ok(known) if !known.sensitive => known,
            Ok(_) => {
                let message = format!("`{name}` is a secret, and its keys would be names of nodes");
                let help = "declare it without `sensitive`, and give each secret as a property of its own";
                self.diagnostics.push(Diagnostic::error(codes::BAD_EACH, message).at(place).help(help));
                return None;
            }
            Err(_) => {
                let message = format!("`{name}` is not known before the assembly is made");
                self.diagnostics.push(Diagnostic::error(codes::BAD_EACH, message).at(place));
                return None;
            }
        };
        let file = self.parameters.places.files.get(&name).filter(|_| is_given).cloned();
        let source = Source::new(file.unwrap_or_else(|| format!("value of {name}")), known.text);
        let loaded = load_one(&source, &LoadOptions::default());
        if loaded.diagnostics.has_errors() {
            self.diagnostics.extend(loaded.diagnostics);
            return None;
        }
        let root = loaded.root.filter(|root| !root.is_null());
        let Some(items) = root.as_ref().and_then(Node::as_sequence) else {
            let message = format!("`{name}` is not a list");
            let span = root.as_ref().map_or(Span::empty(0), Node::span);
            let diagnostic = Diagnostic::error(codes::BAD_EACH, message).at(source.place(span));
            self.diagnostics.push(diagnostic.help("give a YAML list of maps, one for each node"));
            return None;
        };
        let entries =
            items.iter().map(|item| self.values.given(&item.to_value(Reading::Text), false)).collect();
        let places = items.iter().map(|item| source.place(item.span())).collect();
        Some(List { entries, place, places, found: OnceCell::new(), name, left_out: Arc::default() })
    }
}

impl Entry {
    /// Returns a field of the entry. If the field is missing, returns the error to report.
    pub(super) fn field(
        &self,
        field: &str,
        binder: Binder<'_>,
        span: Span,
    ) -> Result<Template, Box<Diagnostic>> {
        if let Some(value) = self.fields.get(field) {
            return Ok(value.clone());
        }
        let names: Vec<&str> = self.fields.keys().map(String::as_str).collect();
        let message = format!("the entry `{}` has no field `{field}`", self.key);
        let diagnostic = Diagnostic::error(codes::BAD_EACH, message)
            .at(binder.source.place(span))
            .related(self.place.clone(), "the entry");
        if self.left_out.contains(field) {
            let help = format!(
                "the inventory's `{field}` is left out, because it is a Jinja expression, a value with a tag, or a password of a connection"
            );
            return Err(diagnostic.help(help).into());
        }
        Err(did_you_mean(diagnostic.help(format!("it has {}", listed(&names))), field, names).into())
    }
}

impl Whole<'_> {
    /// Corrects each `${…}` that names a group whose nodes have keys. For example, `${web.url}` was converted to a
    /// read of `shop__web__1`, but the nodes are `shop__web__a` and `shop__web__b`. This method replaces
    /// `shop__web__1` by `shop__web__a`, the node with the lowest key.
    pub(super) fn read_lowest_keys(&mut self) {
        let named = self.elements.lowest_keys();
        if named.is_empty() {
            return;
        }
        let elements = self.elements.all_mut().0.iter_mut().map(|element| &mut element.properties);
        let relationships = self.relationships.iter_mut().map(|relationship| &mut relationship.properties);
        let policies = self.policies.iter_mut().map(|policy| &mut policy.properties);
        for properties in elements.chain(relationships).chain(policies) {
            for value in properties.values_mut().filter_map(|property| property.value.as_mut()) {
                rename(value, &named);
            }
        }
    }
}

/// Returns the text of a template that consists of one literal. Returns `None` for all other templates. Unlike
/// [`known`](Composer::known), this function accepts a text of any length, for example the content of a file.
fn as_given(value: &Template) -> Option<Known> {
    match value {
        Template::Text(parts) => match &parts[..] {
            [Part::Literal(text)] => Some(Known { text: text.clone(), sensitive: false }),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the places of the items of the list at `place`. The function reads the text of the document again.
/// If there is no list at `place`, the result is empty.
fn places_in(place: &Place) -> Vec<Place> {
    let source = place.source();
    let mut open: Vec<Node> = load_one(source, &LoadOptions::default()).root.into_iter().collect();
    while let Some(node) = open.pop() {
        let is_it = node.span().start == place.span().start;
        match node.into_kind() {
            Kind::Sequence(items) if is_it => {
                return items.iter().map(|item| source.place(item.span())).collect();
            }
            Kind::Sequence(items) => open.extend(items),
            Kind::Mapping(mapping) => {
                open.extend(mapping.into_entries().into_iter().map(|entry| entry.value));
            }
            Kind::Scalar(_) => {}
        }
    }
    Vec::new()
}

/// Returns the places of the items of a literal list. For other values, the result is empty.
fn items(list: &Value, source: &Arc<Source>) -> Vec<Place> {
    match &list.kind {
        ValueKind::List(items) => items.iter().map(|item| source.place(item.span)).collect(),
        _ => Vec::new(),
    }
}

/// Renames elements in a template that reads their properties. Each key of `named` is an old name, and its value
/// the new name.
fn rename(value: &mut Template, named: &HashMap<ElementName, ElementName>) {
    match value {
        Template::Null => {}
        Template::Text(parts) => {
            for part in parts {
                if let Part::Property { element, .. } = part
                    && let Some(name) = named.get(element)
                {
                    *element = name.clone();
                }
            }
        }
        Template::List(items) => items.iter_mut().for_each(|item| rename(item, named)),
        Template::Map(entries) => entries.values_mut().for_each(|entry| rename(entry, named)),
    }
}
