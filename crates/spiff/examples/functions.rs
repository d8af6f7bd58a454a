//! Adds a custom function and a binding: `cargo run -p windlass-spiff --example functions`.

use std::io::Write as _;

use windlass_source::Source;
use windlass_spiff::functions::FunctionError;
use windlass_spiff::value::Node;
use windlass_spiff::{Engine, Features};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::new()
        .with_features(Features::ALL)
        .with_binding("stage", "production")
        .with_function("secret", |_host, arguments| match arguments.first().and_then(|name| name.as_str()) {
            Some("db") => Ok(Node::new("hunter2")),
            _ => Err(FunctionError::failed("there is no such secret")),
        });
    let template = Source::new("t.yaml", "url: db.(( stage )).example.org\npassword: (( secret(\"db\") ))\n");
    let result = engine.process_texts(&template, &[])?;
    std::io::stdout().write_all(result.to_yaml().as_bytes())?;
    Ok(())
}
