//! Shows how a node got its value, step by step: `cargo run -p windlass-spiff --example trace`.

use std::io::Write as _;

use windlass_source::Source;
use windlass_spiff::Engine;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let template = Source::new(
        "template.yaml",
        "url: (( \"https://\" host ))\nhost: (( name \".example.org\" ))\nname: a\n",
    );
    let stub = Source::new("stub.yaml", "name: shop\n");
    let result = Engine::new().with_trace("url").process_texts(&template, &[stub])?;
    let mut out = std::io::stdout();
    for step in result.trace() {
        writeln!(out, "{} pass {}: {}: {}", step.document, step.pass, step.event, step.value)?;
    }
    Ok(())
}
