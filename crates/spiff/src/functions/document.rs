//! Functions that use the engine: `eval` evaluates the text of an expression, `tagdef` tags a value, and `features`
//! returns the enabled features.

use super::argument::{Outcome, done, fail, quoted, text, texts};
use super::{Host, Registry};
use crate::value::Node;

pub(super) fn register(registry: &mut Registry) {
    registry.add("eval", eval).add("tagdef", tagdef).add("features", features);
}

fn eval(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [expression] = arguments else { fail!("one argument required for 'eval'") };
    host.evaluate(text(expression, "string argument required for 'eval'")?)
}

/// Returns a message about the fault in the name of a tag. Returns `None` if the name is valid.
fn tag_problem(name: &str) -> Option<String> {
    let mut length = 0;
    for character in name.chars() {
        if matches!(character, ':' | '.') {
            if length == 0 {
                return Some("empty tag component not allowed".into());
            }
            length = 0;
            continue;
        }
        length += 1;
        if character.is_ascii_digit() && length == 1 {
            return Some("tag component must start with alnum rune".into());
        }
        if !character.is_ascii_alphanumeric() {
            return Some(format!("invalid character {} in tag component", quoted(&character.to_string())));
        }
    }
    None
}

fn tagdef(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(2..=3).contains(&arguments.len()) {
        fail!("two or three arguments expected for tagdef");
    }
    let given = text(&arguments[0], "name argument for tagdef must be a string")?;
    let starred = given.strip_prefix('*').filter(|_| arguments.len() == 2);
    let name = starred.unwrap_or(given);
    if let Some(problem) = tag_problem(name) {
        fail!("invalid tag name {} for tagdef: {problem}", quoted(name));
    }
    let scope = match arguments.get(2) {
        Some(scope) => text(scope, "type argument for tagdef must be a string (local or global)")?,
        None if starred.is_some() => "global",
        None => "local",
    };
    let name = match scope {
        "local" => name.to_owned(),
        "global" => format!("*{name}"),
        _ => fail!("invalid tag type {} for tagdef: use local or global", quoted(scope)),
    };
    host.tag(&name, &arguments[1])?;
    done(arguments[1].value().clone())
}

fn features(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    match arguments {
        [] => done(texts(host.features())),
        [name] => {
            let name = text(name, "features: argument must be a string")?;
            done(host.features().iter().any(|feature| feature == name))
        }
        _ => fail!("features acctepts a maximum of one arguments"),
    }
}
