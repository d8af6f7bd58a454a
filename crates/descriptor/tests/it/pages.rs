//! Tests the page of every code. The example of a page causes exactly the page's code, and the fixed example
//! does not cause it.

use rstest::rstest;
use windlass_descriptor::{Composed, Descriptor, Missing, Surroundings, check, codes, read_in};
use windlass_source::testing::{page_problems, repaired_pages};
use windlass_source::{Diagnostics, Source, apply_fixes};

use crate::support::World;

/// Descriptors that the examples of the pages may use.
fn world() -> World {
    let level = |n: usize| {
        format!(
            "name: assembly::level{n}::1.0\ncomposition: {{deeper: {{type: 'assembly::level{}::1.0'}}}}\n",
            n + 1
        )
    };
    let levels: Vec<String> = (1..=65).map(level).collect();
    let mut descriptors = vec![
        "name: resource::web::1.0
properties: {url: {read-only: true}, port: {default: 80}}
lifecycle: [Install]
operations: {Join: {}}
metrics: {load: {type: 'metric::load'}}
",
        "name: resource::net::1.0\ncapabilities: {Network: {type: net}}\nlifecycle: [Install]\n",
        "name: resource::sought::1.0
queries: {drivers: {script: {selector: {infrastructure-type: [Local]}}}}
lifecycle: [Install]
",
        "name: assembly::level66::1.0\n",
    ];
    descriptors.extend(levels.iter().map(String::as_str));
    World::of(&descriptors)
        .existing("resource::net::1.0", "VIDEO", &[("id", "net-1")])
        .existing("assembly::twin::1.0", "left", &[])
        .existing("assembly::twin::1.0", "right", &[])
}

/// Returns the project that the example of a code needs. Only `WL0109` needs one.
fn around(code: &str) -> Surroundings {
    let name = (code == codes::OTHER_NAME.as_str()).then(|| "assembly::shop::1.0".parse().expect("valid"));
    Surroundings { name, ..Surroundings::default() }
}

/// Returns the diagnostics of reading and checking an example. If there are none, and the example is an assembly,
/// composes the assembly, and returns the diagnostics of the composition.
fn said(code: &str, text: &str) -> Diagnostics {
    let mut world = world();
    let read = read_in(&Source::new("example.yaml", text), &around(code));
    let mut diagnostics = read.diagnostics;
    let Some(descriptor) = read.descriptor else { return diagnostics };
    if code == codes::NESTED_IN_ITSELF.as_str() {
        world.add(read_in(&Source::new("0.yaml", text), &Surroundings::default()));
    }
    diagnostics.extend(check(&descriptor, world.catalog(), Missing::Tolerated));
    if let Descriptor::Assembly(assembly) = &descriptor
        && diagnostics.is_empty()
    {
        if code == codes::UNKNOWN_PARAMETER.as_str() {
            world = world.given("regoin", "x");
        }
        if code == codes::FIXED_PARAMETER.as_str() {
            world = world.given("region", "x");
        }
        if code == codes::SEARCH_FAILED.as_str() {
            world = world.failed_search("test__net", "the API answered with HTTP 500");
        }
        let Composed { diagnostics: composed, .. } = world.compose(assembly);
        diagnostics.extend(composed);
    }
    diagnostics
}

/// Codes that this crate defines, but that only the command line program reports. The pages of these codes contain no
/// example.
const RAISED_ELSEWHERE: [&str; 1] = ["WL0153"];

#[test]
fn every_page_has_an_example_that_gets_its_code_and_no_other() {
    assert_eq!(page_problems(codes::CODES, &RAISED_ELSEWHERE, said), Vec::<String>::new());
}

#[test]
fn every_fix_of_an_example_repairs_it() {
    assert_eq!(
        repaired_pages(codes::CODES, said),
        [
            "WL0101", "WL0103", "WL0111", "WL0112", "WL0116", "WL0131", "WL0132", "WL0135", "WL0137",
            "WL0145", "WL0146", "WL0147"
        ]
    );
}

/// Each case contains a document with a mistake, and the document after the fix. The fix must leave the rest of the
/// text unchanged.
#[rstest]
#[case::descripion(
    "name: resource::web::1.0\ndescripion: a   # kept\n",
    "name: resource::web::1.0\ndescription: a   # kept\n"
)]
#[case::read_only(
    "name: resource::web::1.0\nproperties:\n  a: {read_only: true} # x\n",
    "name: resource::web::1.0\nproperties:\n  a: {read-only: true} # x\n"
)]
#[case::require(
    "name: resource::web::1.0\nproperties:\n  a: {require: true}\n",
    "name: resource::web::1.0\nproperties:\n  a: {required: true}\n"
)]
#[case::type_read_only(
    "name: resource::web::1.0\nproperties:\n  a:\n    type: read_only # x\n",
    "name: resource::web::1.0\nproperties:\n  a:\n    read-only: true # x\n"
)]
#[case::type_name(
    "name: resource::web::1.0\nproperties:\n  a: {type: stirng}\n",
    "name: resource::web::1.0\nproperties:\n  a: {type: string}\n"
)]
#[case::property(
    "name: resource::web::1.0\nproperties:\n  region: {}\n  b: {value: 'in ${regoin}!'}\n",
    "name: resource::web::1.0\nproperties:\n  region: {}\n  b: {value: 'in ${region}!'}\n"
)]
#[case::instance(
    "name: resource::web::1.0\nproperties:\n  b: {value: '${instance.idd}'}\n",
    "name: resource::web::1.0\nproperties:\n  b: {value: '${instance.id}'}\n"
)]
#[case::instance_as_one_word(
    "name: resource::web::1.0\nproperties:\n  b: {value: '${instance_id}'}\n",
    "name: resource::web::1.0\nproperties:\n  b: {value: '${instance.id}'}\n"
)]
#[case::transition(
    "name: resource::web::1.0\nlifecycle:\n  install: {}\n",
    "name: resource::web::1.0\nlifecycle:\n  Install: {}\n"
)]
#[case::metric_type(
    "name: resource::web::1.0\nmetrics:\n  l: {type: 'metric::laod'}\n",
    "name: resource::web::1.0\nmetrics:\n  l: {type: 'metric::load'}\n"
)]
#[case::section(
    "name: resource::web::1.0\nlifecycel: [Install]\n",
    "name: resource::web::1.0\nlifecycle: [Install]\n"
)]
#[case::kind(
    "name: resuorce::web::1.0\nlifecycle: [Install]\n",
    "name: resource::web::1.0\nlifecycle: [Install]\n"
)]
#[case::version(
    "name: resource::web::v1.0\nlifecycle: [Install]\n",
    "name: resource::web::1.0\nlifecycle: [Install]\n"
)]
#[case::state_case(
    "name: assembly::pair::1.0\ncomposition:\n  a: {type: 'resource::web::1.0'}\nrelationships:\n  r:\n    source-capabilities: [a.x]\n    target-requirements: [a.y]\n    source-state: active # kept\n    target-state: Inactive\n",
    "name: assembly::pair::1.0\ncomposition:\n  a: {type: 'resource::web::1.0'}\nrelationships:\n  r:\n    source-capabilities: [a.x]\n    target-requirements: [a.y]\n    source-state: Active # kept\n    target-state: Inactive\n"
)]
fn repairs(#[case] before: &str, #[case] after: &str) {
    let fixed = apply_fixes(before, said("", before).fixes());
    assert_eq!(fixed, after);
    assert_eq!(said("", after).to_string(), "");
}
