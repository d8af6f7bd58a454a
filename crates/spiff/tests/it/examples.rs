//! Tests that each example in the folder of examples gives its result.

use std::fs;
use std::path::Path;

use windlass_source::Source;
use windlass_spiff::{Engine, Features};

fn source(path: &Path) -> Option<std::sync::Arc<Source>> {
    let text = fs::read_to_string(path).ok()?;
    Some(Source::new(path.file_name()?.to_string_lossy(), text))
}

#[test]
fn examples_give_their_results() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let engine = Engine::new().with_features(Features::ALL);
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        let path = entry.path();
        let template = source(&path.join("template.yaml")).unwrap();
        let stubs: Vec<_> = source(&path.join("stub.yaml")).into_iter().collect();
        let result =
            engine.process_texts(&template, &stubs).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let expected = fs::read_to_string(path.join("result.yaml")).unwrap_or_default();
        assert_eq!(result.to_yaml(), expected, "{path:?}");
        seen += 1;
    }
    assert_eq!(seen, 4, "each folder is an example");
}
