//! The input of a script that a user runs by hand. The user writes the input as a document, in the format in
//! which windlass passes input to scripts.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_driver::case::CaseInput;
use windlass_script::{Request, Requested, RequestedInstance, Values};
use windlass_source::{Diagnostic, Diagnostics, Span};

use crate::codes;

/// The prefix of the names of location properties in an input document. For example, the top-level entry
/// `configuration: {location.host: a}` sets the location property `host`.
const LOCATION: &str = "location.";

/// The prefix of the names of component properties in an input document. For example, the entry
/// `instances: {i-1: {configuration: {properties.port: 80}}}` sets the component property `port`.
const PROPERTIES: &str = "properties.";

/// Converts a user's document to the input of a script.
///
/// # Errors
/// Fails if the document contains several instances or several commands. Also fails if the name of a property or an
/// argument is invalid. The name of each property needs the prefix `location.` or `properties.`. A name without such a
/// prefix would be the pin of an application, and users can't pass pins to a script.
pub(crate) fn of_request(request: &Request) -> Result<CaseInput, Diagnostics> {
    let mut reader = Reader { request, problems: Diagnostics::new() };
    let location = reader.stripped(&request.configuration, LOCATION);
    let mut input = CaseInput { location, ..CaseInput::default() };
    match &request.instances {
        Requested::Launch(_, instances) => drop(reader.only(instances, &mut input)),
        Requested::Existing(instances) => input.id = reader.only(instances, &mut input),
        _ => {}
    }
    if reader.problems.has_errors() { Err(reader.problems) } else { Ok(input) }
}

struct Reader<'r> {
    request: &'r Request,
    problems: Diagnostics,
}

impl Reader<'_> {
    fn refuse(&mut self, span: Span, message: String, help: &str) {
        let place = self.request.source.place(span);
        self.problems.push(Diagnostic::error(codes::SCRIPT, message).at(place).help(help));
    }

    /// Reads the only entry of `instances` into `input`, and returns the id of this instance. Returns `None`
    /// if `instances` is empty. Reports a problem if there is a second instance, or if the instance has a
    /// second command.
    fn only(
        &mut self,
        instances: &BTreeMap<String, RequestedInstance>,
        input: &mut CaseInput,
    ) -> Option<String> {
        let mut all = instances.iter();
        let (id, instance) = all.next()?;
        if let Some((_, other)) = all.next() {
            let message = format!(
                "a script that is run by hand has one instance, and this is the second of {}",
                instances.len()
            );
            self.refuse(other.span, message, "write a document for each instance");
        }
        let none = Values::new();
        let properties = self.stripped(instance.configuration.as_ref().unwrap_or(&none), PROPERTIES);
        input.properties = self.named(properties, instance.span);
        if let Some((_, command)) = instance.commands.first_key_value() {
            if instance.commands.len() > 1 {
                let message = format!(
                    "a script that is run by hand has one command, and `{id}` has {}",
                    instance.commands.len()
                );
                self.refuse(instance.span, message, "write a document for each command");
            }
            let arguments = command.arguments.iter();
            let arguments = arguments.map(|(name, value)| (name.clone(), value.value.clone())).collect();
            input.arguments = self.named(arguments, instance.span);
        }
        Some(id.clone())
    }

    /// Removes `prefix` from the names of values. If a name does not begin with `prefix`, reports the name as
    /// a problem.
    fn stripped(&mut self, values: &Values, prefix: &str) -> BTreeMap<String, Value> {
        let mut stripped = BTreeMap::new();
        for (name, value) in values {
            if let Some(name) = name.strip_prefix(prefix) {
                stripped.insert(name.to_owned(), value.value.clone());
            } else {
                let message = format!("a resource has `{prefix}<name>` here, and this is `{name}`");
                let help = "pins of an application can't be given to a script that is run by hand";
                self.refuse(value.span, message, help);
            }
        }
        stripped
    }

    /// Parses the names of properties or arguments.
    fn named<N: std::str::FromStr<Err: std::fmt::Display> + Ord>(
        &mut self,
        values: BTreeMap<String, Value>,
        span: Span,
    ) -> BTreeMap<N, Value> {
        let mut named = BTreeMap::new();
        for (name, value) in values {
            match name.parse() {
                Ok(name) => drop(named.insert(name, value)),
                Err(error) => self.refuse(span, format!("{error}"), "correct the name of the property"),
            }
        }
        named
    }
}
