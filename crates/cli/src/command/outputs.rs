//! `windlass output`: prints the outputs of an assembly, or one of them.

use std::process::ExitCode;

use windlass::model::PropertyName;
use windlass::model::resolve::text_of;
use windlass::source::suggest;
use windlass::view::outputs::OutputsView;

use super::{fail, open_to_read, print_json};
use crate::args::{Format, OutputArgs};
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::{print_document, say};

pub(crate) async fn run(args: OutputArgs) -> ExitCode {
    let windlass = match open_to_read("output") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let OutputArgs { name, key, raw, print: how } = &args;
    let mut view = match windlass.views().outputs(name).await {
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    if let Some(key) = key {
        let Some(value) = view.outputs.remove(key) else { return unknown(key, &view) };
        if *raw {
            if view.secrets.contains(key) {
                fault!(
                    codes::SECRET_OUTPUT,
                    "`{key}` of `{name}` is a secret, and windlass prints no secrets"
                );
                return exit::wrong_input();
            }
            print_document(&text_of(&value));
            return exit::DONE;
        }
        view.outputs = [(key.clone(), value)].into();
        view.secrets.retain(|secret| secret == key);
    }
    match (how.format, key) {
        (Format::Json, _) => return print_json(&view),
        // The value is printed as JSON, which is valid YAML.
        (Format::Human, Some(_)) => view.outputs.values().for_each(|value| say!("{value}")),
        (Format::Human, None) => view.outputs.iter().for_each(|(name, value)| say!("{name}: {value}")),
    }
    exit::DONE
}

fn unknown(key: &PropertyName, view: &OutputsView) -> ExitCode {
    let known: Vec<&str> = view.outputs.keys().map(PropertyName::as_str).collect();
    let advice = match suggest(key.as_str(), known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "it has no outputs".to_owned(),
        None => format!("its outputs are `{}`", known.join("`, `")),
    };
    fault!(codes::UNKNOWN_OUTPUT, "`{}` has no output `{key}` with a known value; {advice}", view.assembly);
    exit::wrong_input()
}
