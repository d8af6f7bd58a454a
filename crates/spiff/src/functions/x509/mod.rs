//! The functions `x509genkey`, `x509publickey`, `x509cert` and `x509parsecert`. This module also checks keys and
//! certificates for the function `validate`.

mod certificate;
mod key;
mod parse;
mod pem;
#[cfg(test)]
mod tests;
mod usage;

use std::convert::Infallible;

use rsa::rand_core::{TryCryptoRng, TryRng};

use super::argument::{Outcome, done, draw, fail, text};
use super::{FunctionError, Host, Registry};
use crate::value::{Node, Value};
use key::{PrivateKey, PublicKey};

pub(super) use certificate::{is_ca, is_certificate};

pub(super) fn register(registry: &mut Registry) {
    registry.add("x509genkey", genkey).add("x509publickey", publickey);
    registry.add("x509cert", certificate::create).add("x509parsecert", parse::parse);
}

/// A random number generator whose bytes come from the host. The crates that generate keys, such as `rsa`, use
/// this generator.
struct Lot<'h>(&'h mut dyn Host);

impl TryRng for Lot<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.random(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.random(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.random(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Lot<'_> {}

/// Permitted sizes of generated RSA keys in bits. Smaller keys are insecure, and the generation of larger
/// keys takes minutes.
const RSA_BITS: std::ops::RangeInclusive<i64> = 1024..=8192;

fn genkey(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let (bits, curve) = match arguments {
        [] => (2048, None),
        [argument] => match argument.value() {
            Value::Int(bits) => (*bits, None),
            Value::String(text) => match text.parse() {
                Ok(bits) => (bits, None),
                Err(_) => (0, Some(text.as_ref())),
            },
            _ => fail!("argument for x509genkey must be a string or integer"),
        },
        _ => fail!("invalid argument count for x509genkey([<bitsize>|<ecdsaCurve>])"),
    };
    draw(host, &mut [])?;
    let key = match curve {
        Some(curve) => PrivateKey::on_curve(&mut Lot(host), curve),
        None if RSA_BITS.contains(&bits) => {
            // The work grows with the fourth power of the key size.
            let size = bits.unsigned_abs() / 1024;
            host.spend(100_000 * size.pow(4))?;
            PrivateKey::rsa(&mut Lot(host), usize::try_from(bits).unwrap_or(2048))
        }
        None => {
            fail!("x509genkey: RSA keys have {} to {} bits, not {bits}", RSA_BITS.start(), RSA_BITS.end())
        }
    };
    done(key.and_then(|key| key.to_pem()).map_err(FunctionError::failed)?)
}

fn publickey(_: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let (key, format) = match arguments {
        [key] => (key, "pem"),
        [key, format] => (key, text(format, "format argument for x509publickey must be a string")?),
        _ => fail!("invalid argument count for x509publickey(<privatekey>)"),
    };
    let Some(text) = key.as_str() else {
        fail!("argument for x509publickey must be a private key in pem format");
    };
    let key = public_key_of(text).map_err(|error| {
        format!(
            "argument for x509publickey must be a private/public key or certificate in pem format: {error}"
        )
    })?;
    let written = match format.to_lowercase().as_str() {
        "pem" => key.to_pem(),
        "pkix" => key.to_pkix(),
        "ssh" => Ok(key.to_ssh()),
        _ => fail!("invalid format for x509publickey(<privatekey>): {format}"),
    };
    done(written.map_err(FunctionError::failed)?)
}

/// Returns the public key from a text in PEM form. The text is a private key, a public key or a certificate. For any
/// other text, returns the error of [`PrivateKey::from_pem`].
fn public_key_of(text: &str) -> Result<PublicKey, String> {
    match PrivateKey::from_pem(text) {
        Ok(key) => Ok(key.public()),
        Err(error) => PublicKey::from_pem(text).or_else(|_| certificate::public_key(text)).map_err(|_| error),
    }
}

/// Checks that a text is a private key, for the condition `privatekey` of the spiff function `validate`. If the
/// text is no private key, the error is the message of the failed condition.
pub(super) fn is_private_key(text: &str) -> Result<(), String> {
    PrivateKey::from_pem(text).map(|_| ()).map_err(|error| format!("is no private key: {error}"))
}

/// Checks that a text is a public key, for the condition `publickey` of the spiff function `validate`. If the text
/// is no public key, the error is the message of the failed condition.
pub(super) fn is_public_key(text: &str) -> Result<(), String> {
    PublicKey::from_pem(text).map(|_| ()).map_err(|error| format!("is no public key: {error}"))
}
