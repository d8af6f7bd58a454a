//! Tests of the services that a manifest needs, and of their resolution in an environment.

use std::collections::BTreeMap;

use proptest::prelude::*;
use windlass_manifest::environment::{Choice, Environment, Service};
use windlass_manifest::resolution::{Offers, Provider};
use windlass_manifest::{ServiceReference, ServiceState, Services, check, resolve};
use windlass_model::AssemblyName;
use windlass_model::pins::PinId;

use crate::support::{fixture, manifest};

fn name(text: &str) -> AssemblyName {
    text.parse().unwrap()
}

fn id(text: &str) -> PinId {
    text.parse().unwrap()
}

fn services(text: &str) -> Services {
    Services::of(&check(&manifest(text)))
}

/// Returns the component `vm-factory` of the PetClinic factory. This component refers to a factory of machines.
fn reference() -> ServiceReference {
    services(&fixture("petclinic-factory.yaml")).references.remove(0)
}

/// Returns an environment with services, each of which is a factory.
fn environment(services: &[&str]) -> Environment {
    let mut of = Environment::default();
    for service in services {
        let factory = Service { application: "VM Factory".to_owned(), factory: true };
        of.add_service(name(service), factory, false).unwrap();
    }
    of
}

/// Returns the offers of services. A service whose name begins with `vms` offers the pins of a factory of
/// machines.
fn offers(services: &[&str]) -> Offers {
    let machines = self::services(&fixture("vm-factory.yaml")).exposed;
    let offer = |service: &&str| {
        (name(service), if service.starts_with("vms") { machines.clone() } else { BTreeMap::new() })
    };
    services.iter().map(offer).collect()
}

fn resolved(service: &str) -> ServiceState {
    ServiceState::Resolved(Provider::Service(name(service)))
}

fn choice(chosen: &str) -> Choice {
    Choice { service: name("pets"), component: "vm-factory".parse().unwrap(), chosen: name(chosen) }
}

#[test]
fn the_example_refers_to_machines() {
    let pets = services(&fixture("petclinic-factory.yaml"));
    assert_eq!(pets.references.len(), 1);
    assert_eq!(pets.references[0].component.to_string(), "vm-factory");
    assert!(pets.references[0].pins.contains_key(&id("vms.vm-by-id")));
    let source = pets.mappings[&id("vms.vm-by-id")].as_ref().unwrap();
    assert_eq!((source.component.to_string().as_str(), &source.pin), ("vm-factory", &id("vms.vm-by-id")));
    assert!(pets.instances.contains(&id("pets.petclinic-by-id")));
    let machines = services(&fixture("vm-factory.yaml"));
    assert!(machines.instances.contains(&id("vms.vm-by-id")) && machines.mappings.is_empty());
}

/// A manifest contains a component inside a composition, and a required interface. [`Services`] must contain the path
/// of the component, and must list the pins of the interface as required.
#[test]
fn nested_components_and_required_interfaces_count() {
    let text = "
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      required: [vms]
      interfaces:
        vms: {vm-by-id: 'consume-signal(map<string, string>)'}
        disks: {disk-by-id: 'consume-signal(map<string, string>)'}
    others:
      interfaces: {vms: {vm-by-id: bind(machines#vms.vm-by-id)}}
      components:
        machines:
          type: reference.Service
          interfaces: {vms: {vm-by-id: 'publish-signal(map<string, string>)'}}
  bindings: [[factory, others]]
";
    let services = services(text);
    let source = services.mappings[&id("vms.vm-by-id")].as_ref().unwrap();
    assert_eq!(source.component.to_string(), "others.machines");
    assert!(services.reference(&source.component).is_some());
    assert_eq!(services.mappings[&id("disks.disk-by-id")], None);
    assert_eq!(services.required.iter().map(ToString::to_string).collect::<Vec<_>>(), ["vms.vm-by-id"]);
}

#[test]
fn of_several_services_one_is_chosen() {
    let reference = reference();
    let all = offers(&["pets", "vms-eu", "vms-us"]);
    let state =
        |environment: &Environment, offers: &Offers| resolve(&reference, &name("pets"), environment, offers);
    assert_eq!(state(&environment(&["pets"]), &all), ServiceState::Missing);
    assert_eq!(state(&environment(&["pets", "vms-us"]), &all), resolved("vms-us"));
    let mut of = environment(&["pets", "vms-eu", "vms-us"]);
    assert_eq!(state(&of, &all), ServiceState::Ambiguous([name("vms-eu"), name("vms-us")].into()));
    of.bind(choice("vms-eu")).unwrap();
    assert_eq!(state(&of, &all), resolved("vms-eu"));
    assert_eq!(state(&of, &offers(&["pets", "vms-us"])), ServiceState::Dangling(name("vms-eu")));
    of.bind(choice("pets")).unwrap();
    assert_eq!(state(&of, &all), ServiceState::Unfit(name("pets")));
}

/// The markers and properties of an environment provide pins.
#[test]
fn an_environment_provides_its_markers_and_properties() {
    let reference = ServiceReference {
        component: "place".parse().unwrap(),
        pins: services(
            "application: {components: {place: {type: reference.Service, interfaces: {eu: {eu: publish-signal(unit)}, properties: {zone: publish-signal(string)}}}}}",
        )
        .references
        .remove(0)
        .pins,
    };
    let mut of = environment(&[]);
    let state = |of: &Environment| resolve(&reference, &name("pets"), of, &Offers::new());
    of.markers.insert("eu".parse().unwrap());
    assert_eq!(state(&of), ServiceState::Missing);
    let kind = windlass_manifest::environment::property_type("string").unwrap();
    of.set_property("zone".parse().unwrap(), kind, &"a".into(), None).unwrap();
    assert_eq!(state(&of), ServiceState::Resolved(Provider::Environment));
}

const NAMES: [&str; 6] = ["pets", "vms-a", "vms-b", "vms-c", "other-a", "other-b"];

proptest! {
    /// The result does not depend on the order in which services were added and chosen.
    #[test]
    fn resolution_is_independent_of_the_order(
        (added, shuffled) in proptest::sample::subsequence(NAMES.to_vec(), 0..=6)
            .prop_flat_map(|added| (Just(added.clone()), Just(added).prop_shuffle())),
        chosen in proptest::option::of(0_usize..6),
        existing in proptest::sample::subsequence(NAMES.to_vec(), 0..=6),
    ) {
        let reference = reference();
        let offers = offers(&existing);
        let of = |services: &[&str]| {
            let mut of = environment(services);
            of.bindings.extend(chosen.map(|at| choice(NAMES[at])));
            resolve(&reference, &name("pets"), &of, &offers)
        };
        prop_assert_eq!(of(&added), of(&shuffled));
    }

    /// A component is dangling exactly if its chosen service no longer exists.
    #[test]
    fn dangling_is_a_chosen_service_that_has_gone(
        added in proptest::sample::subsequence(NAMES.to_vec(), 0..=6),
        chosen in proptest::option::of(0_usize..6),
        existing in proptest::sample::subsequence(NAMES.to_vec(), 0..=6),
    ) {
        let mut of = environment(&added);
        of.bindings.extend(chosen.map(|at| choice(NAMES[at])));
        let state = resolve(&reference(), &name("pets"), &of, &offers(&existing));
        let has_gone = chosen.is_some_and(|at| !(added.contains(&NAMES[at]) && existing.contains(&NAMES[at])));
        prop_assert_eq!(state.word() == "dangling", has_gone);
        // A resolved service exists.
        if let Some(service) = state.service() {
            prop_assert!(added.contains(&service.as_str()) && existing.contains(&service.as_str()));
        }
    }
}
