//! The function `rand`. The caller of the engine supplies the random bytes, and can therefore make the results
//! reproducible.

use super::argument::{Outcome, done, draw, fail, go_type, int, quoted};
use super::pattern::Pattern;
use super::{FunctionError, Host, Registry};
use crate::value::{Node, Value};

pub(super) fn register(registry: &mut Registry) {
    registry.add("rand", rand);
}

/// Draws a number from 0 to `limit - 1`. All numbers are equally likely.
fn below(host: &mut dyn Host, limit: u64) -> Result<u64, FunctionError> {
    // `last` is the largest multiple of the limit in 64 bits. If the number is `last` or more, another number
    // is drawn. Otherwise, small results would be more likely.
    let last = u64::MAX - u64::MAX % limit.max(1);
    loop {
        let mut bytes = [0; 8];
        draw(host, &mut bytes)?;
        let number = u64::from_le_bytes(bytes);
        if number < last {
            return Ok(number % limit.max(1));
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn rand(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [kind, rest @ ..] = arguments else { return done(signed(below(host, i64::MAX.unsigned_abs())?)) };
    if rest.len() > 1 {
        fail!("rand takes a maximum of 2 arguments");
    }
    match kind.value() {
        Value::Int(_) if !rest.is_empty() => fail!("rand int takes only one argument"),
        Value::Int(0) => fail!("zero range not possible for integer random values"),
        Value::Int(limit) => {
            let number = signed(below(host, limit.unsigned_abs())?);
            done(if *limit < 0 { -number } else { number })
        }
        Value::Bool(_) if !rest.is_empty() => fail!("rand bool takes only one argument"),
        Value::Bool(_) => done(below(host, 2)? == 1),
        Value::String(class) => {
            let length = match rest.first() {
                None => 1,
                Some(length) => {
                    let message = format!("rand length must be an integer, found {}", go_type(length));
                    int(length, &message)?
                }
            };
            if length <= 0 {
                fail!("rand length must be positive, found {length}");
            }
            characters(host, class, length)
        }
        other => fail!("invalid argument type for rand: {}", other.type_name()),
    }
}

/// Returns a text of `length` random characters. `class` is a character class in the syntax of regular expressions,
/// but without the brackets, such as `a-z0-9`.
fn characters(host: &mut dyn Host, class: &str, length: i64) -> Outcome {
    let pattern = Pattern::new(&format!("^[{class}]")).map_err(|error| {
        FunctionError::failed(format!("invalid rand character set specification {}: {error}", quoted(class)))
    })?;
    // The Go program spiff++ draws four bytes, and takes the character with which they begin. So it mostly
    // returns characters of one byte. This function chooses among the characters of one byte that belong to
    // the class. It chooses among longer characters only if the class contains no character of one byte.
    let fits = |character: &char| pattern.is_match(character.encode_utf8(&mut [0; 4]));
    let mut choice: Vec<char> = ('\0'..'\u{80}').filter(fits).collect();
    if choice.is_empty() {
        host.spend(0x1_0000)?;
        choice = ('\u{80}'..'\u{ffff}').filter(fits).collect();
    }
    if choice.is_empty() {
        fail!("rand character set {} has no character", quoted(class));
    }
    host.spend(length.unsigned_abs())?;
    let mut out = String::new();
    for _ in 0..length {
        let at = below(host, choice.len() as u64)?;
        out.push(choice[usize::try_from(at).unwrap_or(0)]);
    }
    done(out)
}
