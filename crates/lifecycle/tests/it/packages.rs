//! Plans after a change of a package whose version stays the same.

use insta::assert_snapshot;
use windlass_lifecycle::{Current, ElementChangeKind, ElementNow, Options, Planned};
use windlass_model::State;
use windlass_model::assembly::PackageDigest;

use crate::intents::{change_from, name, show, web};

fn digest(text: &str) -> PackageDigest {
    PackageDigest(text.to_owned())
}

/// Plans an assembly with a part `a` whose package has changed. `kept` tells whether the driver keeps the
/// instance.
fn planned(kind: &str, state: State, kept: bool, options: Options) -> Planned {
    let topology = web(&format!("composition: {{a: {{type: resource::{kind}::1.0}}}}"));
    let mut current = Current::default();
    let now = ElementNow { package: Some(digest("old")), ..ElementNow::new(state, true) };
    current.element(name("t__a"), now);
    let packages = [(format!("resource::{kind}::1.0").parse().expect("valid"), digest("new"))].into();
    let kept = kept.then(|| (digest("old"), digest("new"))).into_iter().collect();
    change_from(&current, &topology, &topology, &Options { packages, kept, ..options })
        .expect("there is a plan")
}

fn shown(kind: &str, state: State, kept: bool, options: Options) -> String {
    show(&planned(kind, state, kept, options))
}

#[test]
fn a_kept_part_is_reconfigured_where_it_declares_that() {
    assert_snapshot!(shown("live", State::Active, true, Options::default()), @"
    ~ a changed, its package has changed

    a Reconfigure
    ");
}

#[test]
fn another_kept_part_uses_its_new_package_without_a_call() {
    assert_snapshot!(shown("r", State::Active, true, Options::default()), @"
    ~ a changed, its package has changed

    a (new package)
    ");
    assert_snapshot!(shown("live", State::Inactive, true, Options::goal(State::Inactive)), @"
    ~ a changed, its package has changed

    a (new package)
    ");
}

#[test]
fn a_kept_part_that_moves_uses_its_new_package_on_the_way() {
    assert_snapshot!(shown("live", State::Inactive, true, Options::default()), @"
    ~ a changed, its package has changed, Inactive → Active

    a Start
    ");
    assert_snapshot!(shown("live", State::Active, true, Options::goal(State::Inactive)), @"
    ~ a changed, its package has changed, Active → Inactive

    a Stop
    a (new package)
    ");
    assert_snapshot!(shown("live", State::Broken, true, Options::default()), @"
    ↻ a restarted, its package has changed

    a Stop
    a Start
    ");
}

/// A declared effect of a changed package overrides the default.
#[test]
fn a_declared_effect_of_a_package_takes_place() {
    assert_snapshot!(shown("kept", State::Active, true, Options::default()), @"
    ~ a changed, its package has changed

    a (new package)
    ");
    assert_snapshot!(shown("renewed", State::Active, true, Options::default()), @"
    -/+ a replaced, its package has changed

    a Stop
    a Uninstall
    a Install
    a (Inactive)
    a Start
    ");
    let replaced = |kept| shown("renewed", State::Active, kept, Options::default());
    assert_eq!(replaced(false), replaced(true));
    assert_eq!(
        planned("renewed", State::Absent, true, Options::default()).diff.elements[0].kind,
        ElementChangeKind::Added
    );
}

#[test]
fn a_part_that_its_driver_does_not_keep_stays_as_it_is() {
    for state in [State::Active, State::Broken, State::Inactive] {
        let planned = planned("live", state, false, Options::default());
        assert_eq!(planned.diff.outdated, [name("t__a")]);
        assert!(planned.diff.elements.iter().all(|change| !change.repackaged));
    }
    assert_snapshot!(shown("live", State::Active, false, Options::default()), @"
    = a keeps its old package; `up --replace a` re-creates it with the new one
    ");
}

#[test]
fn a_part_that_is_replaced_gets_its_new_package() {
    for kept in [true, false] {
        let replace = Options { replace: [name("t__a")].into(), ..Options::default() };
        let planned = planned("r", State::Active, kept, replace);
        assert_eq!(planned.diff.to_string(), "-/+ a replaced, its package has changed\n");
        assert_eq!(planned.diff.outdated, []);
    }
}

#[test]
fn a_value_that_needs_a_new_part_outweighs_a_kept_package() {
    let with = |value: &str| {
        web(&format!(
            "composition: {{a: {{type: resource::live::1.0, properties: {{in: {{value: {value}}}}}}}}}"
        ))
    };
    let mut current = Current::default();
    let now = ElementNow { package: Some(digest("old")), ..ElementNow::new(State::Active, true) };
    current.element(name("t__a"), now);
    let packages = [("resource::live::1.0".parse().unwrap(), digest("new"))].into();
    let kept = [(digest("old"), digest("new"))].into();
    let options = Options { packages, kept, ..Options::default() };
    let planned = change_from(&current, &with("x"), &with("y"), &options).unwrap();
    assert_snapshot!(planned.diff.to_string(), @"
    -/+ a replaced, its package has changed
        in: x → y
    ");
}
