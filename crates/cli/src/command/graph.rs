//! `windlass graph`.

use std::process::ExitCode;

use windlass::graph::GraphView;
use windlass::model::AssemblyName;
use windlass::plan::draw::Format;

use super::{fail, open, order};
use crate::args::{GraphArgs, GraphFormat, GraphKind};
use crate::output::print;
use crate::{diagnostics, exit};

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
    let drawing = if let Some(name) = stored(args) {
        match open(None, None, "graph") {
            Ok(windlass) => windlass.graph_of(&name, view).await,
            Err(error) => Err(error),
        }
    } else {
        let order = match order(&args.assembly) {
            Ok(order) => order,
            Err(code) => return code,
        };
        match open(Some(&args.assembly.file), None, "graph") {
            Ok(windlass) => windlass.graph(&order, view).await.map(|(drawing, warnings)| {
                diagnostics::print(warnings.iter());
                drawing
            }),
            Err(error) => Err(error),
        }
    };
    match drawing {
        Ok(drawing) => {
            print(&drawing.render(format));
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}

/// Returns the name of an assembly in the store: what is no file and could be a name.
fn stored(args: &GraphArgs) -> Option<AssemblyName> {
    let file = &args.assembly.file;
    if file.exists() { None } else { file.to_str()?.parse().ok() }
}
