//! Tests of the rule that applications and factories name each other.

use insta::assert_snapshot;
use windlass_manifest::{Manifest, Published, check, check_pairs, read};
use windlass_source::Source;

use crate::support::{fixture, show};

/// Returns the problems of several manifests. `texts` contains the title and the text of each manifest.
pub(crate) fn pairs(texts: &[(&str, String)]) -> String {
    let manifests: Vec<(&str, Manifest)> = texts
        .iter()
        .map(|(title, text)| {
            (*title, read(&Source::new(format!("{title}.yaml"), text.clone())).manifest.unwrap())
        })
        .collect();
    let roles: Vec<_> = manifests.iter().map(|(_, manifest)| check(manifest).role.unwrap()).collect();
    let published: Vec<Published<'_>> = manifests
        .iter()
        .zip(&roles)
        .map(|((title, manifest), role)| Published { title, manifest, role })
        .collect();
    show(&check_pairs(&published))
}

#[test]
fn examples_pair_up() {
    let all = [
        ("VM", fixture("vm.yaml")),
        ("VM Factory", fixture("vm-factory.yaml")),
        ("PetClinic", fixture("petclinic.yaml")),
        ("PetClinic Factory", fixture("petclinic-factory.yaml")),
    ];
    assert_eq!(pairs(&all), "");
}

#[test]
fn a_title_may_be_published_later() {
    let misspelt = fixture("vm.yaml").replace("name: VM Factory", "name: VM Factry");
    assert_snapshot!(pairs(&[("VM", misspelt), ("VM Factory", fixture("vm-factory.yaml"))]), @"
    VM Factory.yaml:14:32: error[WL0635]: the application `VM` names the factory `VM Factry`, and this is `VM Factory`
    VM.yaml:16:23: warning[WL0634]: no factory `VM Factry` is published
        help: did you mean `VM Factory`?
    ");
}

#[test]
fn others_are_refused() {
    let vm = fixture("vm.yaml");
    let factory = fixture("vm-factory.yaml");
    assert_snapshot!(pairs(&[("Machine", vm.clone()), ("VM Factory", factory.clone())]), @"
    Machine.yaml:16:23: error[WL0635]: the factory `VM Factory` manages `VM`, and this is `Machine`
    VM Factory.yaml:14:32: warning[WL0634]: no application `VM` is published
        help: there are `Machine` and `VM Factory`
    ");
    assert_snapshot!(pairs(&[
        ("VM", vm.replace("name: VM Factory", "name: VM")),
        ("VM Factory", factory.replace("application: VM", "application: VM Factory")),
    ]), @"
    VM Factory.yaml:14:32: error[WL0635]: `VM Factory` is a factory, not an application
    VM.yaml:16:23: error[WL0635]: `VM` is an application, not a factory
    ");
    assert_snapshot!(pairs(&[
        ("VM", vm.replace("name: VM Factory", "name: Other")),
        ("VM Factory", factory.clone()),
        ("Other", factory),
    ]), @"VM Factory.yaml:14:32: error[WL0635]: the application `VM` names the factory `Other`, and this is `VM Factory`");
}
