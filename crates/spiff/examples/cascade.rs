//! Merges a template, defaults and a user's values: `cargo run -p windlass-spiff --example cascade`.

use std::io::Write as _;

use windlass_source::Source;
use windlass_spiff::{Engine, Features};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let template = Source::new(
        "template.yaml",
        "replicas: (( merge || 1 ))\nhost: (( merge ))\nnodes: (( map[[1..replicas]|n|->host \"-\" n] ))\n",
    );
    let user = Source::new("user.yaml", "replicas: 3\n");
    let defaults = Source::new("defaults.yaml", "host: shop\nreplicas: 2\n");
    let result = Engine::new().with_features(Features::ALL).process_texts(&template, &[user, defaults])?;
    std::io::stdout().write_all(result.to_yaml().as_bytes())?;
    Ok(())
}
