//! Tests that a sealed value opens only with its key and under its name. Later versions of the crate must still open
//! the sealed values of existing stores.

use std::convert::Infallible;

use proptest::prelude::*;
use windlass_secret::{Nonce, SealError, Sealed, SealingKey, SealingKeyError, SecretRef};

/// Randomness of one repeated byte, so that results are constant.
fn fill(byte: u8) -> impl FnOnce(&mut [u8]) -> Result<(), Infallible> {
    move |bytes| {
        bytes.fill(byte);
        Ok(())
    }
}

fn key(byte: u8) -> SealingKey {
    let Ok(key) = SealingKey::generate(fill(byte));
    key
}

fn nonce(byte: u8) -> Nonce {
    let Ok(nonce) = Nonce::generate(fill(byte));
    nonce
}

fn id(id: &str) -> SecretRef {
    id.parse().expect("a valid id")
}

/// Existing stores contain version 1: never change this test.
#[test]
fn version_1_stays_readable() {
    let stored =
        "01090909090909090909090909090909090909090909090909d6078cfe19d84b5071c25e7384132b59281fe6c1832b4c18";
    let sealed = Sealed::from_bytes(hex::decode(stored).unwrap()).unwrap();
    assert_eq!(key(7).open(&id("demo/db.password"), &sealed).unwrap().expose(), b"hunter22");
    assert_eq!(hex::encode(key(7).seal(&id("demo/db.password"), b"hunter22", nonce(9)).as_bytes()), stored);
}

#[test]
fn another_key_or_id_is_rejected() {
    let sealed = key(1).seal(&id("a"), b"value", nonce(2));
    assert_eq!(key(2).open(&id("a"), &sealed).unwrap_err(), SealError::Rejected(id("a")));
    assert_eq!(key(1).open(&id("b"), &sealed).unwrap_err(), SealError::Rejected(id("b")));
}

#[test]
fn foreign_bytes_are_told_apart() {
    assert_eq!(Sealed::from_bytes(Vec::new()).unwrap_err(), SealError::Truncated(0));
    assert_eq!(Sealed::from_bytes(vec![1; 40]).unwrap_err(), SealError::Truncated(40));
    let newer = Sealed::from_bytes(vec![2; 60]).unwrap_err();
    assert_eq!(newer.to_string(), "version 2 of sealed values is not known, only 1 is");
}

#[test]
fn keys_are_read_from_hex_and_base64() {
    let hex = "0707070707070707070707070707070707070707070707070707070707070707";
    let base64 = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
    for text in [hex.to_owned(), format!("{hex}\r\n"), format!("  {base64}\n\n"), hex.to_uppercase()] {
        assert_eq!(text.parse::<SealingKey>().unwrap().to_line().expose(), key(7).to_line().expose());
    }
    let error = |text: &str| text.parse::<SealingKey>().unwrap_err();
    assert_eq!(error(""), SealingKeyError::Lines(0));
    assert_eq!(error(&format!("{hex}\n{hex}\n")), SealingKeyError::Lines(2));
    assert_eq!(error(&hex[2..]), SealingKeyError::Form);
    assert_eq!(error("not a key"), SealingKeyError::Form);
    assert_eq!(format!("{:?}", key(7)), "SealingKey(***)");
}

#[test]
fn a_failing_source_of_randomness_is_passed_on() {
    assert_eq!(SealingKey::generate(|_| Err("no entropy")).unwrap_err(), "no entropy");
    assert_eq!(Nonce::generate(|_| Err("no entropy")).unwrap_err(), "no entropy");
}

proptest! {
    #[test]
    fn sealed_values_open_and_changed_ones_do_not(
        value in prop::collection::vec(any::<u8>(), 0..200),
        flip in any::<prop::sample::Index>(),
    ) {
        let sealed = key(1).seal(&id("a"), &value, nonce(3));
        let opened = key(1).open(&id("a"), &sealed).unwrap();
        prop_assert_eq!(opened.expose(), &value);
        let mut bytes = sealed.as_bytes().to_vec();
        let at = flip.index(bytes.len() - 1) + 1;
        bytes[at] ^= 1;
        prop_assert!(key(1).open(&id("a"), &Sealed::from_bytes(bytes).unwrap()).is_err());
    }
}
