//! `windlass schema`.

use std::process::ExitCode;

use windlass::schema::{Document, schema};
use windlass::{RuntimeRegistry, drivers};

use super::print_json;
use crate::args::{SchemaArgs, SchemaOf};

pub(crate) fn run(args: &SchemaArgs) -> ExitCode {
    let document = match args.document {
        SchemaOf::Assembly => Document::Assembly,
        SchemaOf::Resource => Document::Resource,
        SchemaOf::Project => Document::Project,
    };
    print_json(&schema(document, &RuntimeRegistry::default(), &drivers()))
}
