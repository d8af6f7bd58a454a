//! `windlass schema`: prints the JSON Schema of a document.

use std::path::Path;
use std::process::ExitCode;

use windlass::schema::{Document, parameters, schema};
use windlass::{RuntimeRegistry, drivers};

use super::{disk, fail, print_json};
use crate::args::{SchemaArgs, SchemaOf};
use crate::failure::fault;
use crate::{codes, exit};

pub(crate) fn run(args: &SchemaArgs) -> ExitCode {
    let document = match (args.document, &args.file) {
        (SchemaOf::Parameters, file) => {
            let file = file.as_deref().unwrap_or(Path::new("."));
            return match parameters(file, &disk()) {
                Ok(schema) => print_json(&schema),
                Err(error) => fail(&error),
            };
        }
        (_, Some(file)) => {
            let file = file.display();
            fault!(
                codes::COMMAND_LINE,
                "`{file}` has no use here: only `windlass schema parameters` takes a file"
            );
            return exit::wrong_input();
        }
        (SchemaOf::Assembly, None) => Document::Assembly,
        (SchemaOf::Resource, None) => Document::Resource,
        (SchemaOf::Project, None) => Document::Project,
        (SchemaOf::Manifest, None) => Document::Manifest,
        (SchemaOf::Environment, None) => Document::Environment,
        (SchemaOf::ScriptInput, None) => Document::ScriptInput,
        (SchemaOf::ScriptOutput, None) => Document::ScriptOutput,
    };
    print_json(&schema(document, &RuntimeRegistry::default(), &drivers()))
}
