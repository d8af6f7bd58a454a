//! Checks values: the meaning of each `${…}`, and whether the values match the types of their properties.

use std::collections::{HashMap, HashSet};

use windlass_model::name::RESERVED;
use windlass_model::template::InstanceField;
use windlass_model::{ComponentName, PropertyName};
use windlass_source::{Diagnostic, Severity, did_you_mean, listed, suggest_unique};

use super::context::{Check, Said};
use crate::codes;
use crate::document::{Component, Descriptor};
use crate::property::{Properties, PropertyDecl};
use crate::property_types::{DataTypes, TYPES, is_known, misfits};
use crate::scope::{Has, Meaning, Scope};
use crate::template::{Reference, Value};

/// Maximum number of undeclared properties in one assembly for which the check looks for a misspelling. A property
/// is undeclared if the assembly gives it to a component, but the component's descriptor does not declare it.
///
/// The name of an undeclared property may be misspelt if the component's descriptor declares a property with a
/// similar name.
const SEARCHES: usize = 1000;

impl<'a> Check<'a, '_> {
    pub(super) fn properties(&mut self, properties: &'a Properties, scope: Scope<'_>) {
        for decl in properties.values() {
            self.declaration(decl, scope);
        }
    }

    fn declaration(&mut self, decl: &'a PropertyDecl, scope: Scope<'_>) {
        for value in decl.values() {
            self.value(value, scope);
        }
    }

    pub(super) fn value(&mut self, value: &'a Value, scope: Scope<'_>) {
        value.for_each_reference(&mut |reference| self.reference(reference, scope));
    }

    pub(super) fn reference(&mut self, reference: &Reference, scope: Scope<'_>) {
        self.one_of_many(reference);
        if self.is_found(reference, scope) {
            return;
        }
        match scope.find(reference) {
            Some(Meaning::Part(component, property)) => {
                self.property_of_part(reference, &component, &property);
            }
            Some(_) => {}
            None if self.said.leaves_out(Severity::Error) => {}
            None => self.said.diagnostics.extend(scope.meaning(reference).err().map(|said| *said)),
        }
    }

    /// Warns if a `${…}` reads one value from a component that is declared with several nodes. If the number of
    /// nodes is not a literal, this method reports nothing. The composition computes the number, and then gives the
    /// warning if necessary.
    fn one_of_many(&mut self, reference: &Reference) {
        let (name, Some(_)) = reference.split() else { return };
        let Some(part) = self.assembly.composition.get(name) else { return };
        if part.fewest_written() > 1 && !self.said.leaves_out(Severity::Warning) {
            self.said.push(many_nodes(name, "1").at(self.source().place(reference.span)));
        }
    }

    /// Tells whether a `${…}` reads an existing property of this descriptor or of a component. This test is fast,
    /// and nearly every `${…}` passes it. If the result is `false`, the caller needs the slower [`Scope::find`].
    fn is_found(&self, reference: &Reference, scope: Scope<'_>) -> bool {
        let (part, property) = reference.split();
        let Some(property) = property else { return scope.own.contains_key(part) };
        let Some(component) = self.assembly.composition.get(part).filter(|_| !RESERVED.contains(&part))
        else {
            return false;
        };
        let descriptor = || self.catalog.find(&component.kind.as_ref()?.value);
        component.properties.contains_key(property)
            || descriptor().is_some_and(|found| found.properties().contains_key(property))
    }

    /// Checks that the property of a `${component.property}` exists. A missing property of a component is an error. A
    /// missing property of an entry of `references` is only a warning.
    pub(super) fn property_of_part(
        &mut self,
        reference: &Reference,
        component: &ComponentName,
        property: &PropertyName,
    ) {
        let part = self.assembly.composition.get(component);
        // A missing property of a reference is a warning, because an existing instance may have more
        // properties than its descriptor declares.
        let severity = if part.is_some() { Severity::Error } else { Severity::Warning };
        match self.has(component, property) {
            Has::Yes | Has::CannotTell => return,
            // The engine knows the name, the id and the index of every instance.
            Has::No if InstanceField::from_word(property.as_str()).is_some() => return,
            Has::Private => {
                let message = format!("`{property}` is private to `{component}`");
                let diagnostic = self.said.at(severity, codes::UNKNOWN_PROPERTY, reference.span, message);
                let diagnostic = self.with_part(diagnostic, component);
                let help = "move it from `private-properties` to `properties` of its descriptor";
                return self.said.push(diagnostic.help(help));
            }
            Has::No => {}
        }
        if self.said.leaves_out(severity) {
            return;
        }
        let declared = self.declared_of(component);
        let message = format!("`{component}` has no property `{property}`");
        let diagnostic = self.said.at(severity, codes::UNKNOWN_PROPERTY, reference.span, message);
        let diagnostic = self.with_part(diagnostic, component);
        let names: Vec<&str> = declared.iter().map(String::as_str).collect();
        let diagnostic = if names.is_empty() {
            diagnostic.help("it declares none; declare it in its descriptor")
        } else {
            diagnostic.help(format!("it has {}", listed(&names)))
        };
        self.said.push(did_you_mean(diagnostic, property.as_str(), names));
    }

    /// Adds to a diagnostic the place where the component or reference with the name `component` is declared.
    fn with_part(&self, diagnostic: Diagnostic, component: &ComponentName) -> Diagnostic {
        let part = self.assembly.composition.get(component).map(|part| part.name_span);
        let reference = self.assembly.references.get(component).map(|reference| reference.name_span);
        match part.or(reference) {
            Some(span) => diagnostic.related(self.source().place(span), "declared here"),
            None => diagnostic,
        }
    }

    /// Checks whether the values that the assembly gives to a component match the component's descriptor.
    pub(super) fn given_values(&mut self, component: &'a Component, descriptor: &Descriptor) {
        for (name, given) in &component.properties {
            let declared = descriptor.properties().get(name);
            let is_secret = declared.is_some_and(|declared| declared.sensitive && !declared.decides_itself());
            if let Some(value) = given.effective().filter(|_| is_secret || given.sensitive) {
                value.for_each_reference(&mut |reference| self.open_source(name, reference));
            }
            let Some(declared) = declared else {
                self.private_given(name, given, descriptor);
                self.added(name, given, component, descriptor);
                continue;
            };
            let Some(value) = given.effective() else { continue };
            let place = || descriptor.source().place(declared.name_span);
            if declared.decides_itself() {
                let message = format!("`{name}` decides its value itself, so the one given here is ignored");
                let diagnostic =
                    self.said.at(Severity::Warning, codes::OVERRIDES_READ_ONLY, value.span, message);
                self.said.push(diagnostic.related(place(), "declared here"));
                continue;
            }
            for misfit in misfits(declared, value, descriptor.data_types()) {
                let diagnostic = misfit_of(self.said, name, declared.kind(), &misfit);
                self.said.push(diagnostic.related(place(), "declared here"));
            }
        }
    }

    /// Warns if the secret property `name` of a component reads a property that is not declared as a secret.
    fn open_source(&mut self, name: &PropertyName, reference: &Reference) {
        let (own, is_open) = match reference.split() {
            (own, None) => {
                let own = self.assembly.properties.get(own);
                (own, own.is_some_and(|read| !read.sensitive))
            }
            (component, Some(property)) => (None, self.publishes_open(component, property)),
        };
        if !is_open || self.said.leaves_out(Severity::Warning) {
            return;
        }
        let text = &reference.text;
        let message =
            format!("`{name}` is a secret, but `{text}` is not: its value is stored and shown in clear");
        let diagnostic = self.said.at(Severity::Warning, codes::OPEN_SOURCE, reference.span, message);
        let diagnostic = match own {
            Some(own) => diagnostic.related(self.source().place(own.name_span), "declared here"),
            None => diagnostic,
        };
        let help = format!("declare `{text}` with `type: password`, or with `sensitive: true`");
        self.said.push(diagnostic.help(help));
    }

    /// Tells whether the descriptor of a component declares a property that is no secret.
    fn publishes_open(&self, component: &str, property: &str) -> bool {
        let kind = self.assembly.composition.get(component).and_then(|component| component.kind.as_ref());
        let descriptor = kind.and_then(|kind| self.catalog.find(&kind.value));
        let declared = descriptor.as_ref().and_then(|found| found.properties().get(property));
        declared.is_some_and(|declared| !declared.sensitive)
    }

    /// Checks an added property. The assembly gives this property, `name`, to a component whose descriptor does not
    /// declare it. Warns if `name` is probably a misspelling. This is the case if the descriptor declares a property
    /// with a similar name, and the assembly does not set that property.
    fn added(
        &mut self,
        name: &PropertyName,
        given: &PropertyDecl,
        part: &Component,
        descriptor: &Descriptor,
    ) {
        let is_private = descriptor.private_properties().is_some_and(|private| private.contains_key(name));
        self.searches += 1;
        // The author probably added the property on purpose if it has a `type` or a `description`, or if
        // there are thousands of added properties.
        if self.searches > SEARCHES {
            return;
        }
        if is_private || given.kind.is_some() || given.description.is_some() || given.effective().is_none() {
            return;
        }
        let free = descriptor
            .properties()
            .iter()
            .filter(|(other, decl)| !decl.decides_itself() && !part.properties.contains_key(*other));
        let Some(near) = suggest_unique(name.as_str(), free.map(|(other, _)| other.as_str())) else { return };
        let message = format!("the component's descriptor has no property `{name}`; it is added");
        let diagnostic = self.said.at(Severity::Warning, codes::UNKNOWN_PROPERTY, given.name_span, message);
        self.said.push(diagnostic.help(format!("did you mean `{near}`?")));
    }

    fn private_given(&mut self, name: &PropertyName, given: &PropertyDecl, descriptor: &Descriptor) {
        let Some(private) = descriptor.private_properties().and_then(|private| private.get(name)) else {
            return;
        };
        let message = format!("`{name}` is private to its resource, so the value given here is ignored");
        let diagnostic =
            self.said.at(Severity::Warning, codes::OVERRIDES_READ_ONLY, given.name_span, message);
        self.said.push(diagnostic.related(descriptor.source().place(private.name_span), "declared here"));
    }
}

/// Returns the warning for a `${…}` that reads a property of the component `name`, which has several nodes. `lowest` is
/// the lowest number or key of these nodes. The `${…}` gets the value of the node with this number or key.
pub(crate) fn many_nodes(name: &str, lowest: &str) -> Diagnostic {
    let message =
        format!("`{name}` has several nodes; the value of the lowest one, `{name}__{lowest}`, is taken");
    Diagnostic::warning(codes::MANY_NODES, message)
}

fn misfit_of(
    said: &Said<'_>,
    name: &PropertyName,
    kind: &str,
    misfit: &crate::property_types::Misfit<'_>,
) -> Diagnostic {
    let message = format!("`{name}` is declared as `{kind}`, and its value is not {}", misfit.expected);
    said.at(Severity::Warning, codes::MISFIT, misfit.value.span, message)
        .help("the value is taken as it stands; types are advice")
}

/// Checks a section of properties. Reports unknown types, and values that do not match their types.
pub(super) fn types(properties: &Properties, data_types: &DataTypes, said: &mut Said<'_>) {
    for (name, decl) in properties {
        type_of(decl, data_types, said);
        for value in decl.values() {
            for misfit in misfits(decl, value, data_types) {
                let diagnostic = misfit_of(said, name, decl.kind(), &misfit);
                said.push(diagnostic);
            }
        }
    }
}

fn type_of(decl: &PropertyDecl, data_types: &DataTypes, said: &mut Said<'_>) {
    let named = decl.kind.as_ref().map(|kind| (kind.value.as_str(), kind.span));
    let entry = decl.entry_schema.as_ref().map(|entry| (entry.value.as_str(), entry.span));
    for (kind, span) in named.into_iter().chain(entry) {
        if !is_known(kind, data_types) {
            unknown_type(kind, span, data_types, said);
        }
    }
}

fn unknown_type(kind: &str, span: windlass_source::Span, data_types: &DataTypes, said: &mut Said<'_>) {
    if said.leaves_out(Severity::Warning) {
        return;
    }
    let message = format!("there is no type `{kind}`; its values are taken as text");
    let diagnostic = said.at(Severity::Warning, codes::UNKNOWN_TYPE, span, message);
    if kind.contains("${") {
        return said.push(diagnostic.help("a reference gives a value: write `value:` instead of `type:`"));
    }
    let names: Vec<&str> = data_types.keys().map(String::as_str).chain(TYPES).collect();
    let diagnostic =
        diagnostic.help(format!("there are {}; others are declared in `data-types`", listed(&TYPES)));
    said.push(did_you_mean(diagnostic, kind, names));
}

/// Checks the data types that a descriptor declares.
pub(super) fn data_types(data_types: &DataTypes, said: &mut Said<'_>) {
    let circular = own_ancestors(data_types);
    for (name, data_type) in data_types {
        types(&data_type.properties, data_types, said);
        if TYPES.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let message = format!("`{name}` is a type of the language already");
            said.error(codes::BAD_DATA_TYPE, data_type.name_span, message);
        }
        let Some(base) = &data_type.derived_from else { continue };
        if !is_known(&base.value, data_types) {
            if said.leaves_out(Severity::Error) {
                continue;
            }
            let message = format!("`{name}` is derived from `{}`, which is declared nowhere", base.value);
            let diagnostic = said.at(Severity::Error, codes::BAD_DATA_TYPE, base.span, message);
            let names = data_types.keys().map(String::as_str).filter(|other| other != name);
            said.push(did_you_mean(diagnostic, &base.value, names.chain(TYPES)));
        } else if circular.contains(name.as_str()) {
            let message = format!("`{name}` is derived from itself");
            said.error(codes::BAD_DATA_TYPE, base.span, message);
        }
    }
}

/// Returns the types that are derived from themselves, directly or through other types. A type has at most
/// one base, so the search follows one path from each type, and visits each type once.
fn own_ancestors(data_types: &DataTypes) -> HashSet<&str> {
    let base = |name: &str| {
        let base = &data_types.get(name)?.derived_from.as_ref()?.value;
        data_types.get_key_value(base).map(|(name, _)| name.as_str())
    };
    let (mut found, mut seen) = (HashSet::new(), HashMap::new());
    for (way, start) in data_types.keys().enumerate() {
        let mut next = Some(start.as_str());
        while let Some(name) = next.filter(|name| !seen.contains_key(name)) {
            seen.insert(name, way);
            next = base(name);
        }
        // If the path ended at a type without a base, `next` is `None`. Otherwise, `next` is a type that was
        // visited before. If the type was visited on this same path, the path is a cycle from this type on.
        let round = next.filter(|name| seen[name] == way);
        let circle = std::iter::successors(round, |name| base(name).filter(|name| Some(*name) != round));
        found.extend(circle);
    }
    found
}
