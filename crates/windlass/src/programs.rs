//! Checks whether the programs that packages need are installed on this machine.

use std::collections::BTreeSet;

use windlass_descriptor::document::Component;
use windlass_descriptor::{AssemblyDescriptor, Catalog, Descriptor};
use windlass_driver::location::DEPLOYMENT_LOCATION;
use windlass_driver::{Location, NeededProgram, Package, Placement};
use windlass_model::DescriptorName;
use windlass_model::name::{DescriptorKind, DriverKind};
use windlass_project::{DiskCatalog, Project};
use windlass_source::Diagnostic;

use crate::desired::placed;
use crate::placements::{Chosen, chosen};
use crate::runtimes::RuntimeRegistry;

/// The input of the check.
#[derive(Clone, Copy)]
pub(crate) struct ProgramCheck<'a> {
    pub(crate) project: &'a Project,
    pub(crate) catalog: &'a DiskCatalog,
    pub(crate) runtimes: &'a RuntimeRegistry,
}

impl ProgramCheck<'_> {
    /// Returns a warning for each program that a resource of an assembly needs, and that no possible location of the
    /// resource has. `seen` contains the resources and locations that were checked.
    pub(crate) fn missing(
        self,
        assembly: &AssemblyDescriptor,
        seen: &mut BTreeSet<(DescriptorName, Vec<String>)>,
    ) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for component in assembly.composition.values() {
            let Some(name) = component.kind.as_ref().map(|kind| &kind.value) else { continue };
            let locations = self.locations(component, name);
            let names = locations.iter().map(|location| location.name.clone()).collect();
            if name.kind != DescriptorKind::Resource || !seen.insert((name.clone(), names)) {
                continue;
            }
            if let Ok(package) = self.catalog.package(name) {
                let problems = self.missing_everywhere(&package, &locations).into_iter();
                found
                    .extend(problems.map(|(kind, needed)| placed(self.catalog, name, &kind, needed.problem)));
            }
        }
        found
    }

    /// Returns the locations that a component may get.
    fn locations(self, component: &Component, resource: &DescriptorName) -> Vec<Location> {
        let project = self.project;
        let placement = match chosen(component) {
            Chosen::Literal(placement, _) => Some(placement),
            Chosen::Nothing if !self.declares_location(resource) => Some(Placement::default()),
            Chosen::Nothing | Chosen::Unknown => None,
        };
        let mut locations: Vec<Location> = match placement {
            Some(placement) => project.location(&placement).into_iter().collect(),
            None => project.locations().cloned().collect(),
        };
        if locations.is_empty() && project.locations().next().is_none() {
            locations.extend(project.location(&Placement::default()));
        }
        // The check does not know inherited variables. With an empty `PATH`, no program counts as missing.
        let unknown = |_: &str| Some(String::new());
        locations.into_iter().map(|location| project.with_environment(location, &unknown)).collect()
    }

    /// Tells whether a resource declares the property that names its location. The property may have a default.
    fn declares_location(self, resource: &DescriptorName) -> bool {
        match self.catalog.find(resource) {
            Some(Descriptor::Resource(resource)) => resource.properties.contains_key(DEPLOYMENT_LOCATION),
            _ => false,
        }
    }

    fn missing_everywhere(
        self,
        package: &Package,
        locations: &[Location],
    ) -> Vec<(DriverKind, NeededProgram)> {
        let mut each = locations.iter().map(|location| self.missing_at(package, location));
        let mut missing = each.next().unwrap_or_default();
        for other in each {
            missing.retain(|program| other.contains(program));
        }
        missing
    }

    fn missing_at(self, package: &Package, location: &Location) -> Vec<(DriverKind, NeededProgram)> {
        let drivers = self.project.drivers();
        let mut missing = Vec::new();
        for kind in package.bindings().drivers() {
            let needed =
                drivers.get(kind).map(|driver| driver.programs(package, location)).unwrap_or_default();
            let lacking = needed.into_iter().filter(|needed| self.runtimes.lacks(location, &needed.program));
            missing.extend(lacking.map(|needed| (kind.clone(), needed)));
        }
        missing
    }
}
