//! The functions `encrypt` and `decrypt`, in the format of the Go program spiff++: triple DES in CBC mode,
//! and a checksum with a key that everyone knows.
//!
//! The format is not secure. The crate contains it because documents with this format exist. Do not protect
//! new values by it: the key of the cipher is the first 16 bytes of the password.

use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use des::TdesEde3;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use sha2::Sha256;
use windlass_source::Source;

use super::argument::{Outcome, done, draw, fail, quoted, text};
use super::{FunctionError, Host, Registry};
use crate::value::Node;
use crate::yaml::{read_document, to_yaml};

/// The key of the checksum (HMAC-SHA256) of the unencrypted text.
const WORD: &[u8] = b"spiff is a cool tool";
const METHOD: &str = "3DES";
const BLOCK: usize = 8;
const CHECKSUM: usize = 32;

pub(super) fn register(registry: &mut Registry) {
    registry.add("encrypt", |host: &mut dyn Host, arguments: &[Node]| -> Outcome {
        let key = key("encrypt", host, arguments)?;
        let mut iv = [0; BLOCK];
        draw(host, &mut iv)?;
        let plain = to_yaml(&arguments[0]);
        host.spend(plain.len() as u64)?;
        done(encrypt(plain.as_bytes(), &key, iv))
    });
    registry.add("decrypt", |host: &mut dyn Host, arguments: &[Node]| -> Outcome {
        let key = key("decrypt", host, arguments)?;
        let Some(content) = arguments[0].as_str() else {
            fail!("decrypt requires string, but got {}", arguments[0].type_name());
        };
        host.spend(content.len() as u64)?;
        let plain = decrypt(content, &key)?;
        match read_document(&Source::new("decrypted value", plain)) {
            Ok(node) => Ok(node),
            Err(error) => fail!("the decrypted value is no document: {error}"),
        }
    });
}

/// Returns the key for a call of the function `name`, which is `encrypt` or `decrypt`.
///
/// The arguments are a value, a key and the encryption method `3DES`. The key and the method are optional. If the call
/// has two arguments, and the second is the text `3DES`, this text is the method. Any other text is the key. If the
/// call contains no key, `host` supplies the key.
fn key(name: &str, host: &dyn Host, arguments: &[Node]) -> Result<String, FunctionError> {
    if !(1..=3).contains(&arguments.len()) {
        fail!("{name} expects one, two or three arguments");
    }
    let mut key = host.encryption_key().unwrap_or_default();
    if let Some(given) = arguments.get(1) {
        let found = given.type_name();
        let given = text(given, &format!("{name}: 2nd argument requires string, but got {found}"))?;
        if arguments.len() == 3 || given != METHOD {
            given.clone_into(&mut key);
        }
    }
    if let Some(method) = arguments.get(2) {
        let found = method.type_name();
        let method = text(method, &format!("{name}: method requires string, but got {found}"))?;
        if method != METHOD {
            fail!("invalid encyption method {}", quoted(method));
        }
    }
    if key.is_empty() {
        fail!("invalid empty encyption key");
    }
    Ok(key)
}

/// Derives the 24 bytes of the cipher's key from the password `key`. The first 16 bytes are the beginning of the
/// password. If the password is shorter, the bytes of the MD5 hash of an empty input follow. The last eight bytes
/// of the cipher's key repeat its first eight bytes.
fn cipher_key(key: &str) -> [u8; 24] {
    let filled: Vec<u8> = key.bytes().chain(Md5::digest(b"")).collect();
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(&filled[..16]);
    bytes[16..].copy_from_slice(&filled[..8]);
    bytes
}

fn checksum(message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(WORD).expect("any length is a key");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn encrypt(plain: &[u8], key: &str, iv: [u8; BLOCK]) -> String {
    let mut content = plain.to_vec();
    content.extend(checksum(plain));
    // Padding as in TLS: the last byte contains the number of padding bytes before it, each of which has the
    // same value.
    let padding = (BLOCK - (content.len() + 1) % BLOCK) % BLOCK;
    content.resize(content.len() + padding + 1, u8::try_from(padding).unwrap_or(0));
    let cipher = cbc::Encryptor::<TdesEde3>::new(&cipher_key(key).into(), &iv.into());
    let length = content.len();
    let sealed = cipher.encrypt_padded::<NoPadding>(&mut content, length).expect("padded to whole blocks");
    hex::encode(iv) + &hex::encode(sealed)
}

fn decrypt(content: &str, key: &str) -> Result<String, FunctionError> {
    let bytes = hex::decode(content).unwrap_or_default();
    let Some((iv, sealed)) = bytes.split_first_chunk::<BLOCK>().filter(|(_, sealed)| !sealed.is_empty())
    else {
        fail!("invalid key: ciphertext too short");
    };
    if sealed.len() % BLOCK != 0 {
        fail!("invalid key: ciphertext is not a multiple of the block size");
    }
    let cipher = cbc::Decryptor::<TdesEde3>::new(&cipher_key(key).into(), &(*iv).into());
    let mut buffer = sealed.to_vec();
    let opened = cipher.decrypt_padded::<NoPadding>(&mut buffer).unwrap_or_default();
    let padding = opened.last().map_or(0, |last| usize::from(*last) + 1);
    let split = || {
        let end = opened.len().checked_sub(padding)?;
        let message = end.checked_sub(CHECKSUM).filter(|length| *length > 0)?;
        Some((&opened[..message], &opened[message..end]))
    };
    match split().filter(|(message, sum)| checksum(message) == *sum) {
        Some((message, _)) => Ok(String::from_utf8_lossy(message).into_owned()),
        None => fail!("invalid key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_decrypts() {
        for plain in ["5\n", "a: 1\nb: [x]\n", "1234567\n"] {
            let sealed = encrypt(plain.as_bytes(), "secret", [7; 8]);
            assert_eq!(decrypt(&sealed, "secret").unwrap(), plain);
            assert_eq!(decrypt(&sealed, "Secret").unwrap_err().to_string(), "invalid key");
            assert!(decrypt(&sealed[..sealed.len() - 2], "secret").is_err());
        }
        assert_eq!(decrypt("00", "k").unwrap_err().to_string(), "invalid key: ciphertext too short");
    }
}
