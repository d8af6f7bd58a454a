//! `windlass graph`: draws the topology, the plan or the property references of an assembly.

use std::path::Path;
use std::process::ExitCode;

use windlass::graph::GraphView;
use windlass::model::AssemblyName;
use windlass::plan::draw::Format;

use super::{fail, input, open};
use crate::args::{GraphArgs, GraphFormat, GraphKind};
use crate::failure::fault;
use crate::output::{print_document, tell};
use crate::{codes, diagnostics, exit};

pub(crate) async fn run(args: &GraphArgs) -> ExitCode {
    let view = match args.view {
        GraphKind::Topology => GraphView::Topology,
        GraphKind::Plan => GraphView::Plan,
        GraphKind::Properties => GraphView::Properties,
    };
    let format = match args.format {
        GraphFormat::Dot => Format::Dot,
        GraphFormat::Mermaid => Format::Mermaid,
        GraphFormat::Json => Format::Json,
        GraphFormat::Svg => Format::Svg,
        GraphFormat::Html => Format::Html,
    };
    let name = match stored(args) {
        Ok(name) => name,
        Err(code) => return code,
    };
    let drawing = if let Some(name) = name {
        match open(None, None, "graph") {
            Ok(windlass) => windlass.views().graph_of(&name, view).await,
            Err(error) => Err(error),
        }
    } else {
        note_assembly_of_name(&args.assembly.file).await;
        let input = match input(&args.assembly) {
            Ok(input) => input,
            Err(code) => return code,
        };
        match open(Some(&args.assembly.file), None, "graph") {
            Ok(windlass) => windlass.views().graph(&input, view).await.map(|(drawing, warnings)| {
                diagnostics::print(warnings.iter());
                drawing
            }),
            Err(error) => Err(error),
        }
    };
    match drawing {
        Ok(drawing) => {
            print_document(&drawing.render(format));
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}

/// Returns the name of the stored assembly to draw; `None` if the argument is the path of a descriptor. With
/// `--stored`, the argument is always a name. Without `--stored`, the argument is a name if two conditions
/// hold: it is a valid name of an assembly, and it is not the path of an existing file or folder.
fn stored(args: &GraphArgs) -> Result<Option<AssemblyName>, ExitCode> {
    let given = &args.assembly;
    let name = given.file.to_string_lossy().parse::<AssemblyName>();
    if args.stored {
        return name.map(Some).map_err(|error| {
            fault!(windlass::codes::NAME, "{error}");
            exit::wrong_input()
        });
    }
    let Some(name) = name.ok().filter(|_| !given.file.exists()) else { return Ok(None) };
    let of_descriptor = given.name.is_some()
        || !(given.parameters.is_empty() && given.params.is_empty() && given.inventory.is_empty())
        || !given.catalog.is_empty();
    if of_descriptor {
        fault!(
            codes::COMMAND_LINE,
            "there is no file or folder `{name}`; --name, -p, --params, --inventory and --catalog apply to descriptors only"
        );
        return Err(exit::wrong_input());
    }
    Ok(Some(name))
}

/// Prints a note if a file was drawn although an assembly has the same name. The note tells how to draw that
/// assembly.
async fn note_assembly_of_name(file: &Path) {
    let Some(name) = file.to_str().and_then(|file| file.parse::<AssemblyName>().ok()) else { return };
    let Ok(windlass) = open(None, None, "graph") else { return };
    if windlass.views().assemblies().await.is_ok_and(|known| known.contains(&name)) {
        let what = if file.is_dir() { "folder" } else { "file" };
        tell!(
            "note: this is the {what} `{name}`; `windlass graph {name} --stored` draws the existing assembly"
        );
    }
}
