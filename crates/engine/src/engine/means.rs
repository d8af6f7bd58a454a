//! What can be said of an intent without a store: what is wanted, and whether it can be placed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use windlass_driver::{Location, Placement, Registry, location};
use windlass_model::assembly::Origin;
use windlass_model::id::Entropy;
use windlass_model::{Action, Clock, DescriptorName, Element, Side, Transition};

use super::Preview;
use super::ask::Ask;
use super::draft::{Former, resources};
use crate::error::{EngineError, Lack, Unplaced};
use crate::places::Places;
use crate::world::World;

/// What an engine works with, beside its store.
#[derive(Clone)]
pub struct Means {
    /// The drivers at hand.
    pub drivers: Registry,
    /// The locations and runtimes.
    pub places: Arc<dyn Places>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub entropy: Arc<dyn Entropy>,
    /// The machine and the folder it works from, in words for people: jobs that were started from elsewhere can't be
    /// looked for.
    pub home: String,
}

impl Means {
    /// Says what [`Ask::Up`] would do, as planned or not, where nothing is there of the assembly. Nothing is read or changed.
    ///
    /// # Errors
    ///
    /// Whatever stands against bringing the assembly up.
    pub fn preview_new(&self, ask: Ask) -> Result<Preview, EngineError> {
        Ok(Preview::of(self.draft(ask, None, Former::default())?, false))
    }

    /// Looks whether every part has a place, a driver and a runtime, before anything is started.
    pub(super) fn preflight(&self, world: &World, adopt: bool) -> Result<(), EngineError> {
        let mut looked: HashMap<(Placement, DescriptorName), Result<(), (Lack, String)>> = HashMap::new();
        let mut problems: BTreeMap<(Lack, String), Unplaced> = BTreeMap::new();
        for element in resources(world.topology()) {
            let key = (world.placement(element, Side::Desired), element.descriptor.clone());
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

    /// Looks whether there is a driver for each transition that a resource declares.
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

/// Returns the place in the descriptor that says where an element goes, else that of the element.
fn placed_at(world: &World, element: &Element) -> Option<Origin> {
    let said = |of: &Element| {
        let names = [location::DEPLOYMENT_LOCATION, location::RESOURCE_MANAGER];
        names.iter().find_map(|name| of.properties.get(*name)?.origin.clone())
    };
    said(element).or_else(|| world.topology().root().and_then(said)).or_else(|| element.origin.clone())
}
