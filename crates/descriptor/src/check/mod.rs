//! Checks that compare several parts of a descriptor, or compare a descriptor with other descriptors.
//!
//! A comparison with a missing descriptor is skipped. After a hundred errors, further errors are only
//! counted, and have no messages. The same limit holds for warnings and notes together. The limit saves time,
//! because the search for a suggestion in a message takes the most time.

mod capabilities;
mod context;
mod lists;
mod nodes;
mod policies;
mod relationships;
mod resource;
mod values;

use windlass_model::{ComponentName, DescriptorName};
use windlass_source::{Diagnostics, Severity, listed, suggest};

use crate::catalog::{Catalog, newest};
use crate::codes;
use crate::cycle;
use crate::document::{Component, Descriptor, ReferenceDecl};
use crate::reader::Spanned;
use crate::scope::Scope;
pub use context::Missing;
use context::{Check, Said};
pub use lists::check_lists;
pub(crate) use nodes::Bounds;
pub(crate) use policies::Thresholds;
pub(crate) use values::many_nodes;

/// Returns the problems in a descriptor, sorted by their places in the text. The result does not contain the
/// problems that [`read`](crate::read()) reports.
pub fn check(descriptor: &Descriptor, catalog: &dyn Catalog, missing: Missing) -> Diagnostics {
    let mut said = Said::new(descriptor.source());
    match descriptor {
        Descriptor::Assembly(assembly) => {
            let declared = assembly.references.iter();
            let referenced = declared
                .filter_map(|(name, decl)| Some((name, newest(decl.kind.as_ref()?, catalog)?)))
                .collect();
            let (names, late, searches) = (None, None, 0);
            Check { assembly, catalog, missing, referenced, names, late, searches, said: &mut said }
                .assembly();
        }
        Descriptor::Resource(resource) => resource::check(resource, &mut said),
    }
    said.finish()
}

/// Returns the name of the descriptor that the author probably means by `wanted`. The catalog has no descriptor
/// with the name `wanted`. A name has the form `KIND::NAME::VERSION`. The function first chooses the most similar
/// `NAME`. If several descriptors have this `NAME`, the function prefers the same `KIND` as in `wanted`, then the
/// same `VERSION`, then the newest `VERSION`.
fn nearest<'n>(wanted: &DescriptorName, names: &'n [DescriptorName]) -> Option<&'n DescriptorName> {
    let same = names.iter().any(|name| name.name == wanted.name);
    let near = if same {
        wanted.name.as_str()
    } else {
        suggest(wanted.name.as_str(), names.iter().map(|name| name.name.as_str()))?
    };
    let candidates = names.iter().filter(|name| name.name.as_str() == near);
    candidates.max_by_key(|name| (name.kind == wanted.kind, name.version == wanted.version, &name.version))
}

impl<'a> Check<'a, '_> {
    fn assembly(&mut self) {
        self.own_properties();
        for (name, component) in &self.assembly.composition {
            self.component(name, component);
        }
        for (name, reference) in &self.assembly.references {
            self.reference_decl(name, reference);
        }
        for relationship in self.assembly.relationships.values() {
            relationships::relationship(self, relationship);
        }
        self.promotions();
        policies::metrics(self);
        policies::policies(self);
        values::data_types(&self.assembly.data_types, self.said);
        self.said.diagnostics.extend(cycle::problems(self.assembly, self.catalog));
        self.said.diagnostics.extend(cycle::dependencies(self.assembly));
    }

    fn own_properties(&mut self) {
        for (name, decl) in &self.assembly.properties {
            if decl.required && decl.read_only && decl.effective().is_none() {
                let message = format!(
                    "`{name}` is required and read-only, so it can never be given the value it lacks"
                );
                let diagnostic =
                    self.said.at(Severity::Error, codes::NEVER_SATISFIED, decl.name_span, message);
                self.said.push(
                    diagnostic.help("remove `required`, or promote an output to it, as `value: ${web.url}`"),
                );
            }
        }
        self.properties(&self.assembly.properties, Scope::assembly(self.assembly));
        values::types(&self.assembly.properties, &self.assembly.data_types, self.said);
    }

    fn component(&mut self, name: &ComponentName, component: &'a Component) {
        let descriptor = component.kind.as_ref().and_then(|kind| self.catalog.find(&kind.value));
        match (&component.kind, &descriptor) {
            (Some(kind), None) => self.missing_descriptor(name, kind),
            (Some(_), Some(descriptor)) => self.given_values(component, descriptor),
            (None, _) => {}
        }
        for on in &component.depends_on {
            self.dependency(on);
        }
        self.placeholder(component.placeholder.as_deref());
        self.nodes(component);
        self.each(component);
        self.properties(&component.properties, Scope::component(self.assembly, component));
        values::types(&component.properties, &self.assembly.data_types, self.said);
    }

    /// Checks that an entry of `depends-on` names a component.
    fn dependency(&mut self, on: &Spanned<ComponentName>) {
        let name = &on.value;
        if self.assembly.composition.contains_key(name) {
            return;
        }
        if self.assembly.references.contains_key(name) {
            let message = format!("`depends-on` names `{name}`, which is a reference");
            let diagnostic = self.said.at(Severity::Error, codes::UNKNOWN_COMPONENT, on.span, message);
            self.said.push(diagnostic.help("a reference exists already; remove the entry"));
        } else {
            let message = format!("`depends-on` names `{name}`, and there is no such component");
            self.no_component(name.as_str(), on.span, message);
        }
    }

    fn reference_decl(&mut self, name: &ComponentName, reference: &'a ReferenceDecl) {
        if let Some(component) = self.assembly.composition.get(name) {
            let message = format!("`{name}` is a component already");
            let diagnostic = self.said.at(Severity::Error, codes::SAME_NAME, reference.name_span, message);
            let place = self.source().place(component.name_span);
            self.said.push(diagnostic.related(place, "the component").help("give one of them another name"));
        }
        self.placement(name, reference);
        self.placeholder(reference.placeholder.as_deref());
        self.properties(&reference.properties, Scope::assembly(self.assembly));
        values::types(&reference.properties, &self.assembly.data_types, self.said);
    }

    /// Reports a placeholder for which the project supplies no name. If missing descriptors are tolerated, the
    /// report is a warning, because a build by the tool `lmctl` may still replace the placeholder.
    fn placeholder(&mut self, placeholder: Option<&Spanned<String>>) {
        let Some(placeholder) = placeholder else { return };
        let severity = match self.missing {
            Missing::Tolerated => Severity::Warning,
            Missing::Refused => Severity::Error,
        };
        let message =
            format!("`{}` is a placeholder of `lmctl`, and no name of a descriptor", placeholder.value);
        let diagnostic = self.said.at(severity, codes::PLACEHOLDER, placeholder.span, message);
        let help = "it has a meaning where a `lmproject.yml` above the file lists what it contains; else name the descriptor, as `resource::web::1.0`";
        self.said.push(diagnostic.help(help));
    }

    /// Reports a note if a reference to a resource lacks at least one of the properties `deploymentLocation` and
    /// `resourceManager`.
    fn placement(&mut self, name: &ComponentName, reference: &ReferenceDecl) {
        const PLACE: [&str; 2] = ["deploymentLocation", "resourceManager"];
        let Some(kind) = reference.kind.as_ref().filter(|kind| !kind.value.is_assembly()) else { return };
        let lacks: Vec<&str> =
            PLACE.into_iter().filter(|property| !reference.properties.contains_key(*property)).collect();
        if !lacks.is_empty() {
            let message =
                format!("the reference `{name}` doesn't say where to look: it has no {}", listed(&lacks));
            let diagnostic = self.said.at(Severity::Note, codes::UNPLACED, kind.span, message);
            self.said.push(diagnostic.help("an instance at any location fits"));
        }
    }

    fn missing_descriptor(&mut self, name: &ComponentName, kind: &Spanned<DescriptorName>) {
        let severity = match self.missing {
            Missing::Refused => Severity::Error,
            Missing::Tolerated => Severity::Warning,
        };
        if self.said.leaves_out(severity) {
            return;
        }
        let (severity, message) = match self.missing {
            Missing::Refused => (
                Severity::Error,
                format!("the descriptor of `{name}`, `{}`, is not in the catalog", kind.value),
            ),
            Missing::Tolerated => (
                Severity::Warning,
                format!(
                    "the descriptor of `{name}`, `{}`, is not in the catalog; what depends on it is not checked",
                    kind.value
                ),
            ),
        };
        let catalog = self.catalog;
        let names = self.names.get_or_insert_with(|| catalog.names());
        let help = match nearest(&kind.value, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "put its package into `Contains/` beside the assembly, or name its folder with `--catalog`"
                    .to_owned()
            }
        };
        let diagnostic = self.said.at(severity, codes::MISSING_DESCRIPTOR, kind.span, message);
        self.said.push(diagnostic.help(help));
    }

    fn promotions(&mut self) {
        for promotion in self.assembly.operations.values() {
            let Some(source) = &promotion.source else { continue };
            let (component, operation) = &source.value;
            if self.assembly.composition.contains_key(component) {
                self.operation(component, operation, source.span);
            } else {
                let message = format!("there is no component `{component}` to take `{operation}` from");
                self.no_component(component.as_str(), source.span, message);
            }
        }
    }
}
