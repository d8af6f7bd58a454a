//! The environment of an engine, and the check that each resource can be placed.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use windlass_driver::{Location, Placement, Registry, location};
use windlass_model::assembly::{ElementKind, Origin};
use windlass_model::id::Entropy;
use windlass_model::{Action, Clock, DescriptorName, Element, Side, Topology, Transition};

use crate::error::{EngineError, Lack, Unplaced};
use crate::places::Places;
use crate::slots::JobSlots;
use crate::values;
use crate::world::World;

/// The environment of an engine, without its store.
#[derive(Clone)]
pub struct EngineEnv {
    /// The drivers that are available.
    pub drivers: Registry,
    /// The locations and their runtimes.
    pub places: Arc<dyn Places>,
    /// The job slots of all locations that limit their number of concurrent jobs (`max-jobs`). Engines with clones of
    /// this value share the slots, so their jobs together keep the limit.
    pub slots: JobSlots,
    /// The clock of the engine.
    pub clock: Arc<dyn Clock>,
    /// The source of random ids.
    pub entropy: Arc<dyn Entropy>,
    /// The host and the folder of this program, in words for people. Jobs that were started on another host or in
    /// another folder can't be found by this program.
    pub home: String,
}

impl fmt::Debug for EngineEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineEnv")
            .field("drivers", &self.drivers)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

impl EngineEnv {
    /// Checks that each resource has a location, a runtime and drivers. If `adopt` is true, also checks that each
    /// resource can be adopted. The caller calls this function before anything starts.
    pub(super) fn preflight(&self, world: &World, adopt: bool) -> Result<(), EngineError> {
        let mut looked: HashMap<(Placement, DescriptorName), Result<(), (Lack, String)>> = HashMap::new();
        let mut problems: BTreeMap<(Lack, String), Unplaced> = BTreeMap::new();
        for element in resources(world.topology()) {
            let key = (values::placement(world, element, Side::Desired), element.descriptor.clone());
            let result = looked.entry(key).or_insert_with_key(|(placement, _)| {
                let place = |why| (Lack::Place, why);
                let location = self.places.location(placement).map_err(place)?;
                self.places.check(&location).map_err(place)?;
                self.served(world, element, &location).map_err(place)?;
                if !adopt || element.declares(Transition::Adopt) || element.transitions.is_empty() {
                    return Ok(());
                }
                let package =
                    world.package(element, Side::Desired).map_err(|failure| place(failure.message))?;
                match package.bindings().query(&location.infrastructure) {
                    Some(_) => Ok(()),
                    None => Err((
                        Lack::Adopt,
                        format!("`{}` declares neither Adopt nor `queries`", element.descriptor),
                    )),
                }
            });
            if let Err(lacks) = result {
                let (lack, why) = lacks.clone();
                let problem = problems.entry(lacks.clone()).or_insert_with(|| Unplaced::new(lack, why));
                problem.elements.push(element.name.clone());
                problem.origin = problem.origin.take().or_else(|| match lack {
                    Lack::Place => placed_at(world, element),
                    Lack::Adopt => element.origin.clone(),
                });
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(EngineError::Unplaceable(problems.into_values().collect()))
        }
    }

    /// Checks that each declared transition of a resource has a driver.
    fn served(&self, world: &World, element: &Element, location: &Location) -> Result<(), String> {
        let package = world.package(element, Side::Desired).map_err(|failure| failure.message)?;
        for transition in element.transitions.iter() {
            let binding = package
                .bindings()
                .find(&Action::Transition(transition), &location.infrastructure)
                .ok_or_else(|| {
                    format!("no driver for {transition} at infrastructure type `{}`", location.infrastructure)
                })?;
            if self.drivers.get(&binding.driver).is_none() {
                let kinds: Vec<String> = self.drivers.kinds().map(|kind| format!("`{kind}`")).collect();
                return Err(format!(
                    "there is no driver `{}`; there are {}",
                    binding.driver,
                    kinds.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// Returns the origin of the declaration that chooses the location of an element. An *origin* is a file, a line and a
/// column.
///
/// The declaration is the property `deploymentLocation` or `resourceManager` of the element, or else of the assembly.
/// If neither of them declares such a property, the function returns the origin of the element itself. For an
/// application, the function returns `None`: its manifest names no location.
fn placed_at(world: &World, element: &Element) -> Option<Origin> {
    if world.assembly.application.is_some() {
        return None;
    }
    let said = |of: &Element| {
        let names = [location::DEPLOYMENT_LOCATION, location::RESOURCE_MANAGER];
        names.iter().find_map(|name| of.properties.get(*name)?.origin.clone())
    };
    said(element).or_else(|| world.topology().root().and_then(said)).or_else(|| element.origin.clone())
}

pub(super) fn resources(topology: &Topology) -> impl Iterator<Item = &Element> {
    topology.elements().iter().filter(|element| element.kind == ElementKind::Resource)
}
