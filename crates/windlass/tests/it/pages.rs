//! Tests of the explanation pages for errors in `windlass.yaml`. Each page explains one error code. The example of the
//! page must cause errors with this code, and no other errors.

use windlass::project::codes;

use crate::project::{messages, problems};

/// The codes of errors in `windlass.yaml`. The codes of folders and of other files have their own tests.
const OF_THE_FILE: std::ops::RangeInclusive<&str> = "WL0310"..="WL0317";

#[test]
fn every_page_of_the_project_file_has_an_example_that_gets_its_code() {
    let mut wrong = Vec::new();
    let mut pages = 0;
    for info in codes::CODES.iter().filter(|info| OF_THE_FILE.contains(&info.code.as_str())) {
        let code = info.code.as_str();
        let example = info.explanation.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```"));
        let Some((example, _)) = example else {
            wrong.push(format!("{code}: no example"));
            continue;
        };
        pages += 1;
        let (_folder, found) = problems(example);
        if found.is_empty() || found.iter().any(|found| found.code != info.code) {
            wrong.push(format!("{code}: the example gets {}", messages(example)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(pages, 8);
}
