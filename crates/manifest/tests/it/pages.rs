//! Tests of the help pages. There is one page for each diagnostic code. The example on the page must cause exactly this
//! code. If windlass offers a fix for the example, the fixed example must no longer cause the code.

use windlass_manifest::{Published, check, check_pairs, codes, read};
use windlass_source::testing::{page_problems, repaired_pages};
use windlass_source::{Diagnostics, Source};

use crate::support::{fixture, said};

/// Codes whose pages have no example. One code reports an exceeded limit. The other codes report problems that a single
/// manifest can't show: problems of launches, of folders of scripts, of titles and of environments.
const WITHOUT: [&str; 16] = [
    "WL0618", "WL0640", "WL0641", "WL0642", "WL0643", "WL0644", "WL0650", "WL0651", "WL0652", "WL0653",
    "WL0654", "WL0655", "WL0656", "WL0657", "WL0658", "WL0659",
];

/// Returns the diagnostics of an example. Two codes report an application and a factory that do not name each other.
/// For these codes, the function checks three manifests together: the example, and the fixtures `VM` and `VM Factory`.
/// The function gives the example the title `Disk`.
fn found(code: &str, text: &str) -> Diagnostics {
    let source = Source::new("example.yaml", text);
    let alone = said(&source);
    if ![codes::NO_COUNTERPART.as_str(), codes::WRONG_COUNTERPART.as_str()].contains(&code) {
        return alone;
    }
    assert_eq!(alone.to_string(), "");
    let texts =
        [("Disk", text.to_owned()), ("VM", fixture("vm.yaml")), ("VM Factory", fixture("vm-factory.yaml"))];
    let manifests: Vec<_> = texts
        .iter()
        .map(|(title, text)| (*title, read(&Source::new(*title, text.clone())).manifest.unwrap()))
        .collect();
    let roles: Vec<_> = manifests.iter().map(|(_, manifest)| check(manifest).role.unwrap()).collect();
    let published = manifests.iter().zip(&roles);
    let published: Vec<_> =
        published.map(|((title, manifest), role)| Published { title, manifest, role }).collect();
    check_pairs(&published)
}

#[test]
fn every_page_has_an_example_that_gets_its_code_and_no_other() {
    assert_eq!(page_problems(codes::CODES, &WITHOUT, found), Vec::<String>::new());
}

#[test]
fn every_fix_of_an_example_repairs_it() {
    assert_eq!(repaired_pages(codes::CODES, found), ["WL0602", "WL0611", "WL0628", "WL0634"]);
}
