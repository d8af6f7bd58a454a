//! Reads the lists and maps that the user gives as text, for example by `-p hosts=@hosts.yaml`.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_source::{Diagnostic, LoadOptions, Node, Reading, Source, load_one};

use super::request::GivenPlaces;
use crate::codes;
use crate::document::AssemblyDescriptor;
use crate::property_types::{Sort, sort};

/// The parameters of a request, after the texts of lists and maps were read.
pub(super) struct Collections {
    pub(super) parameters: BTreeMap<String, Value>,
    pub(super) places: GivenPlaces,
    /// The texts that are no list or map.
    pub(super) warnings: Vec<Diagnostic>,
}

/// Reads the texts of those parameters that the assembly declares as lists or maps. A text is YAML, which includes
/// JSON. Returns `None` if there is no such text.
pub(super) fn read(
    assembly: &AssemblyDescriptor,
    parameters: &BTreeMap<String, Value>,
    places: &GivenPlaces,
) -> Option<Collections> {
    let mut read: Option<Collections> = None;
    for (name, decl) in &assembly.properties {
        let Some(Value::String(text)) = parameters.get(name.as_str()) else { continue };
        let declared = decl.kind.as_ref().and_then(|kind| sort(&kind.value, &assembly.data_types));
        let Some(sort @ (Sort::List | Sort::Map)) = declared else { continue };
        let read = read.get_or_insert_with(|| Collections {
            parameters: parameters.clone(),
            places: places.clone(),
            warnings: Vec::new(),
        });
        let file = places.files.get(name.as_str()).cloned();
        let source = Source::new(file.unwrap_or_else(|| format!("value of {name}")), text.as_str());
        let loaded = load_one(&source, &LoadOptions::default());
        let root = loaded.root.filter(|_| !loaded.diagnostics.has_errors());
        let is_right = |root: &Node| match sort {
            Sort::List => root.as_sequence().is_some(),
            _ => root.as_mapping().is_some(),
        };
        match root.filter(is_right) {
            Some(root) => {
                read.parameters.insert(name.to_string(), root.to_value(Reading::Text));
                let items = root.as_sequence().unwrap_or_default();
                let items = items.iter().map(|item| source.place(item.span())).collect();
                read.places.entries.insert(name.to_string(), items);
            }
            None if text.is_empty() => {}
            None => {
                let message =
                    format!("`{name}` is declared as `{}`, and the given text is not {sort}", decl.kind());
                let warning = Diagnostic::warning(codes::MISFIT, message)
                    .at(assembly.source.place(decl.name_span))
                    .help("the text is taken as it stands; give the value as YAML or JSON");
                read.warnings.push(warning);
            }
        }
    }
    read
}
