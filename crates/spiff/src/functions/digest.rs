//! Hashes of content and of passwords.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

use super::argument::{Outcome, done, draw, fail, int, text};
use super::{Host, Registry};
use crate::value::Node;

pub(super) fn register(registry: &mut Registry) {
    registry.add("md5", md5).add("hash", hash);
    registry.add("bcrypt", bcrypt).add("bcrypt_check", bcrypt_check);
    registry.add("md5crypt", md5crypt).add("md5crypt_check", md5crypt_check);
}

fn md5(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [content] = arguments else { fail!("md5 takes exactly one argument") };
    let content = text(content, "first argument for md5 must be a string")?;
    host.spend(content.len() as u64)?;
    done(hex::encode(Md5::digest(content)))
}

fn hash(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("hash takes one or two arguments");
    }
    let content = text(&arguments[0], "first argument for hash must be a string")?;
    let kind = match arguments.get(1) {
        Some(kind) => text(kind, "second argument for hash must be a string")?,
        None => "sha256",
    };
    host.spend(content.len() as u64)?;
    let digest = match kind {
        // In the Go program spiff++, `md4` is the content followed by the MD4 of an empty input.
        "md4" => hex::encode(content) + "31d6cfe0d16ae931b73c59d7e0c089c0",
        "md5" => hex::encode(Md5::digest(content)),
        "sha1" => hex::encode(Sha1::digest(content)),
        "sha224" => hex::encode(Sha224::digest(content)),
        "sha256" => hex::encode(Sha256::digest(content)),
        "sha384" => hex::encode(Sha384::digest(content)),
        "sha512" => hex::encode(Sha512::digest(content)),
        "sha512/224" => hex::encode(Sha512_224::digest(content)),
        "sha512/256" => hex::encode(Sha512_256::digest(content)),
        _ => fail!("invalid hash type '{kind}'"),
    };
    done(digest)
}

/// The cost in steps of one round of bcrypt.
const BCRYPT_STEPS: u64 = 20;

fn bcrypt(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    if !(1..=2).contains(&arguments.len()) {
        fail!("brypt takes one or two arguments");
    }
    let password = text(&arguments[0], "first argument for bcrypt must be a string")?;
    let cost = match arguments.get(1) {
        Some(cost) => int(cost, "second argument for bcrypt must be an integer")?,
        None => 10,
    };
    if password.len() > 72 {
        fail!("bcrypt error: bcrypt: password length exceeds 72 bytes");
    }
    // As in Go, a cost below 4 counts as the default, 10.
    let cost = if cost < 4 { 10 } else { cost };
    let Some(cost) = u32::try_from(cost).ok().filter(|cost| *cost <= 31) else {
        fail!("bcrypt error: crypto/bcrypt: cost {cost} is outside allowed inclusive range 4..31");
    };
    host.spend(BCRYPT_STEPS << cost)?;
    let mut salt = [0; 16];
    draw(host, &mut salt)?;
    match ::bcrypt::hash_with_salt(password, cost, salt) {
        Ok(parts) => done(parts.format_for_version(::bcrypt::Version::TwoA)),
        Err(error) => fail!("bcrypt error: {error}"),
    }
}

fn bcrypt_check(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [password, hash] = arguments else { fail!("brypt_check takes two arguments") };
    let password = text(password, "first argument for bcrypt_check must be a string")?;
    let hash = text(hash, "second argument for bcrypt_check must be a string")?;
    let cost: u32 =
        hash.split('$').nth(2).and_then(|cost| cost.parse().ok()).filter(|cost| *cost <= 31).unwrap_or(0);
    host.spend(BCRYPT_STEPS << cost)?;
    done(::bcrypt::verify(password, hash).unwrap_or(false))
}

fn md5crypt(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [password] = arguments else { fail!("md5crypt takes one argument") };
    let password = text(password, "first argument for md5crypt must be a string")?;
    host.spend(20_000)?;
    let mut random = [0; 8];
    draw(host, &mut random)?;
    let salt: String = random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect();
    done(crypt(password, &salt, "$apr1$"))
}

fn md5crypt_check(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [password, hash] = arguments else { fail!("md5crypt_check takes two arguments") };
    let password = text(password, "first argument for md5crypt_check must be a string")?;
    let hash = text(hash, "second argument for md5crypt_check must be a string")?;
    let parts: Vec<&str> = hash.split('$').collect();
    let [_, magic, salt, _] = parts[..] else {
        fail!("invalid md5crypt hash: must contain three '$' characters");
    };
    host.spend(20_000)?;
    done(crypt(password, salt, &format!("${magic}$")) == hash)
}

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Computes the password hash of FreeBSD and Apache: a thousand rounds of MD5.
///
/// The function serves to check hashes that are already stored. New hashes should be made by a stronger
/// function.
fn crypt(password: &str, salt: &str, magic: &str) -> String {
    let password = password.as_bytes();
    let salt = &salt.as_bytes()[..salt.len().min(8)];
    let alternate = Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut first = Md5::new().chain_update(password).chain_update(magic).chain_update(salt);
    for chunk in password.chunks(16) {
        first.update(&alternate[..chunk.len()]);
    }
    let mut length = password.len();
    while length > 0 {
        first.update(if length & 1 == 1 { &[0][..] } else { &password[..1] });
        length >>= 1;
    }
    let mut digest: [u8; 16] = first.finalize().into();
    for round in 0..1000_u32 {
        let mut next = Md5::new();
        let odd = round & 1 == 1;
        next.update(if odd { password } else { &digest });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if odd { &digest[..] } else { password });
        digest = next.finalize().into();
    }
    format!("{magic}{}${}", String::from_utf8_lossy(salt), spelled(&digest))
}

/// Encodes a digest as the last part of a password hash, such as `iad9zxEMtoA1WSkbefK4u/`. The format of these hashes
/// has its own alphabet, and its own order of the bytes.
fn spelled(digest: &[u8; 16]) -> String {
    let group = |a: usize, b: usize, c: usize| {
        u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c])
    };
    let groups = [group(0, 6, 12), group(1, 7, 13), group(2, 8, 14), group(3, 9, 15), group(4, 10, 5)];
    let mut out = String::new();
    let mut put = |mut bits: u32, characters: usize| {
        for _ in 0..characters {
            out.push(char::from(ALPHABET[(bits & 63) as usize]));
            bits >>= 6;
        }
    };
    for bits in groups {
        put(bits, 4);
    }
    put(u32::from(digest[11]), 2);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5crypt_is_that_of_openssl() {
        // The expected texts are the outputs of `openssl passwd -1 -salt 3Qc1aanY password`,
        // `openssl passwd -apr1 -salt x a` and `openssl passwd -1 -salt abcdefgh ''`.
        let cases = [
            ("password", "3Qc1aanY", "$1$", "$1$3Qc1aanY$iad9zxEMtoA1WSkbefK4u/"),
            ("a", "x", "$apr1$", "$apr1$x$16j9.5e7KiXmuYFAYpPJM/"),
            ("", "abcdefgh", "$1$", "$1$abcdefgh$M55TzYaaccxVGbptZWaxX/"),
        ];
        for (password, salt, magic, expected) in cases {
            assert_eq!(crypt(password, salt, magic), expected);
        }
    }
}
