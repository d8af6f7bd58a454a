//! Computes the number of nodes of a component from `quantity` or `cluster`.

use windlass_model::Template;
use windlass_model::assembly::Cluster;
use windlass_source::{Diagnostic, Place};

use super::composer::Composer;
use super::frame::Frame;
use super::known::Unknown;
use crate::check::Bounds;
use crate::codes;
use crate::document::{ClusterDecl, Component};
use crate::template::Value;

/// A number is invalid or unknown, and an error about it was already reported.
struct Reported;

/// Returns the number of nodes of a component, and the bounds of its cluster. If the function reports an
/// error, it returns `None`.
pub(super) fn size(
    composer: &mut Composer<'_>,
    frame: Frame<'_>,
    decl: &Component,
) -> Option<(u32, Option<Cluster>)> {
    match &decl.cluster {
        None => Some((number(composer, frame, decl.quantity.as_ref()).ok()?.unwrap_or(1), None)),
        Some(cluster) => {
            let bounds = bounds(composer, frame, cluster).ok()?;
            if let Some(problem) = bounds.problem() {
                let steps =
                    bounds.increment == Some(0) && (Bounds { increment: None, ..bounds }).problem().is_none();
                let wrong = if steps { &cluster.increment } else { &cluster.initial };
                let span = wrong.as_ref().map_or(cluster.span, |value| value.span);
                let place = frame.assembly.source.place(span);
                let diagnostic = Diagnostic::error(codes::BAD_BOUNDS, problem).at(place);
                let template = wrong.as_ref().map(|value| bound(composer, frame, value));
                let diagnostic = match template {
                    Some(template) => given(composer, &template, diagnostic),
                    None => diagnostic,
                };
                composer.report(diagnostic);
                return None;
            }
            let minimum = bounds.minimum.unwrap_or(1);
            let increment = bounds.increment.unwrap_or(1);
            let cluster = Cluster { minimum, maximum: bounds.maximum, increment };
            Some((bounds.initial.unwrap_or(minimum), Some(cluster)))
        }
    }
}

fn bounds(composer: &mut Composer<'_>, frame: Frame<'_>, cluster: &ClusterDecl) -> Result<Bounds, Reported> {
    // All four settings of the cluster are evaluated before the first `?`, so that the errors in all settings are
    // reported.
    let minimum = number(composer, frame, cluster.minimum.as_ref());
    let maximum = number(composer, frame, cluster.maximum.as_ref());
    let initial = number(composer, frame, cluster.initial.as_ref());
    let increment = number(composer, frame, cluster.increment.as_ref());
    Ok(Bounds { minimum: minimum?.or(Some(1)), maximum: maximum?, initial: initial?, increment: increment? })
}

/// Evaluates the value of a key such as `quantity` or `minimum-nodes` to a number. Returns `Ok(None)` if the
/// descriptor does not contain the key.
fn number(
    composer: &mut Composer<'_>,
    frame: Frame<'_>,
    value: Option<&Value>,
) -> Result<Option<u32>, Reported> {
    let Some(value) = value else { return Ok(None) };
    let template = bound(composer, frame, value);
    let known = composer.known(&template);
    let source = &frame.assembly.source;
    match known.as_ref().map(|known| known.text.trim().parse()) {
        Ok(Ok(number)) => return Ok(Some(number)),
        Ok(Err(_)) => {
            let shown = match &known {
                Ok(known) if !known.sensitive => format!("this is `{}`", known.text),
                _ => "this secret is none".to_owned(),
            };
            let message = format!("a whole number from 0 is needed, and {shown}");
            let diagnostic = Diagnostic::error(codes::BAD_NUMBER, message).at(source.place(value.span));
            let diagnostic = given(composer, &template, diagnostic);
            composer.report(diagnostic);
        }
        Err(Unknown::Property(element, property)) if composer.parameters.is_missing(element, property) => {}
        Err(_) => {
            if let Some(diagnostic) = collection(composer, &template, source.place(value.span)) {
                composer.diagnostics.push(diagnostic);
            } else {
                let message = "this number is not known before the assembly is made";
                composer.error(source, codes::BAD_NUMBER, value.span, message);
            }
        }
    }
    Err(Reported)
}

/// Returns the template of the value of a key such as `quantity`.
fn bound(composer: &mut Composer<'_>, frame: Frame<'_>, value: &Value) -> Template {
    composer.values.bind(value, frame.binder(frame.owner), false)
}

/// Completes the error about a number that a `${…}` reads. If the user has given the number as a parameter, the returned
/// error names the source of the parameter.
fn given(composer: &Composer<'_>, template: &Template, diagnostic: Diagnostic) -> Diagnostic {
    let Ok((_, Some((element, property)))) = composer.followed(template.clone()) else { return diagnostic };
    if !composer.is_given(&element, &property) {
        return diagnostic;
    }
    match (composer.place_of_value(&element, &property), composer.source_of_parameter(&property)) {
        (Some(place), _) => diagnostic.related(place, "given here"),
        (None, Some(source)) => diagnostic.help(format!("`{property}` is given {source}")),
        (None, None) => diagnostic,
    }
}

/// Returns the error about a key such as `quantity: ${nodes}`, if the property `nodes` contains null, a list or a map.
/// The error has the place of this property's value. If the value comes from the command line, the error has the place
/// of the key, `number`. Returns `None` if the property contains a text.
fn collection(composer: &Composer<'_>, template: &Template, number: Place) -> Option<Diagnostic> {
    let (value, read) = composer.followed(template.clone()).ok()?;
    let sort = match value {
        Template::Null => "has no value",
        Template::List(_) => "is a list",
        Template::Map(_) => "is a mapping",
        Template::Text(_) => return None,
    };
    let (element, property) = read?;
    let message = format!("a whole number from 0 is needed, and `{property}` {sort}");
    let diagnostic = Diagnostic::error(codes::BAD_NUMBER, message);
    Some(match composer.place_of_value(&element, &property) {
        Some(place) => diagnostic.at(place).related(number, "the number"),
        None => given(composer, template, diagnostic.at(number)),
    })
}
