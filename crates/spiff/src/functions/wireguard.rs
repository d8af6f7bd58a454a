//! WireGuard keys: `wggenkey` and `wgpublickey`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x25519_dalek::{PublicKey, StaticSecret};

use super::argument::{Outcome, done, draw, fail, quoted, text};
use super::{FunctionError, Host, Registry, convert};
use crate::value::Node;

pub(super) fn register(registry: &mut Registry) {
    registry.add("wggenkey", wggenkey).add("wgpublickey", wgpublickey);
}

fn wggenkey(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let kind = match arguments {
        [] => "private",
        [kind] => text(kind, "argument for wggenkey must be a string (private or preshared)")?,
        _ => fail!("a maximum of one argument expected for wggenkey"),
    };
    let mut key = [0; 32];
    draw(host, &mut key)?;
    match kind {
        "private" => {
            // In every private key of Curve25519, these bits have fixed values.
            key[0] &= 0xf8;
            key[31] = key[31] & 0x7f | 0x40;
        }
        "preshared" => {}
        _ => fail!("invalid key type {}, use private or preshared", quoted(kind)),
    }
    done(STANDARD.encode(key))
}

fn wgpublickey(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [key] = arguments else { fail!("one argument expected for wgpublickey") };
    let key = text(key, "argument for wgpublickey must be a string")?;
    let problem =
        |problem: String| FunctionError::failed(format!("error parsing key {}: {problem}", quoted(key)));
    let bytes = convert::decode(key)
        .map_err(|error| problem(format!("failed to parse base64-encoded key: {}", illegal(key, &error))))?;
    let Ok(bytes) = <[u8; 32]>::try_from(bytes.as_slice()) else {
        return Err(problem(format!("incorrect key size: {}", bytes.len())));
    };
    done(STANDARD.encode(PublicKey::from(&StaticSecret::from(bytes)).as_bytes()))
}

/// Returns the message about an error in a base64 text, with the words of Go's message. The message contains
/// the position of the error in the text.
fn illegal(text: &str, error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _)
        | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => *at,
        // If the length or the padding of the text is wrong, the position is the end of the last complete
        // group of four characters.
        _ => text.len() / 4 * 4,
    };
    format!("illegal base64 data at input byte {at}")
}
