//! Functions of one number: rounding, such as `floor`, and mathematical functions, such as `sin`, `sqrt` and `abs`.

use super::argument::{Outcome, done, fail, go_type};
use super::{FunctionError, Host, Registry};
use crate::value::{Node, Value};

type Function = fn(f64) -> f64;

/// The names of the functions that round a number, and their implementations. Templates get the result as an integer.
const ROUNDING: [(&str, Function); 4] = [
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("round", f64::round),
    ("roundtoeven", f64::round_ties_even),
];

/// The names of mathematical functions, and their implementations. Templates get the result as a float.
const REAL: [(&str, Function); 12] = [
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("asinh", f64::asinh),
    ("acosh", f64::acosh),
    ("sqrt", f64::sqrt),
    ("exp", f64::exp),
    ("log", f64::ln),
    ("log10", f64::log10),
];

pub(super) fn register(registry: &mut Registry) {
    for (name, function) in ROUNDING {
        registry.add(name, move |_: &mut dyn Host, arguments: &[Node]| {
            let result = function(number(name, arguments)?);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it is an integer; what is too large saturates"
            )]
            done(result as i64)
        });
    }
    for (name, function) in REAL {
        registry.add(name, move |_: &mut dyn Host, arguments: &[Node]| {
            let result = function(number(name, arguments)?);
            if result.is_nan() {
                fail!("{name}: NaN");
            }
            done(result)
        });
    }
    registry.add("abs", |_: &mut dyn Host, arguments: &[Node]| -> Outcome {
        match arguments {
            [argument] => match argument.value() {
                Value::Int(value) => done(value.wrapping_abs()),
                _ => done(number("abs", arguments)?.abs()),
            },
            _ => fail!("abs requires one argument"),
        }
    });
}

/// Returns the only argument as a float.
fn number(name: &str, arguments: &[Node]) -> Result<f64, FunctionError> {
    let [argument] = arguments else { fail!("{name} requires one argument") };
    match argument.value() {
        #[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
        Value::Int(value) => Ok(*value as f64),
        Value::Float(value) => Ok(*value),
        Value::Bool(value) => Ok(f64::from(u8::from(*value))),
        other => fail!("invalid argument type for {name}: {}", go_type(other)),
    }
}
