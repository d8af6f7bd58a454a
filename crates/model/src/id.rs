//! Ids of stored objects. windlass assigns an id before the object exists, so the object can be found after a
//! crash.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::newtype::checked_text;

/// The error for an invalid id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not {expected}")]
pub struct IdError {
    /// The text as given.
    pub text: String,
    /// The form that the id must have.
    pub expected: &'static str,
}

/// A source of unpredictable bytes, for ids and keys.
pub trait Entropy: Send + Sync {
    /// Fills a buffer with unpredictable bytes.
    fn fill(&self, buffer: &mut [u8]);
}

fn opaque(text: &str, longest: usize, expected: &'static str) -> Result<(), IdError> {
    let mut bytes = text.bytes();
    let fits = bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && text.len() <= longest
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if fits { Ok(()) } else { Err(IdError { text: text.to_owned(), expected }) }
}

checked_text! {
    /// The id of a store. The ids of jobs contain it, so the jobs of two stores have different names in a
    /// shared container engine.
    StoreId: IdError = |text| opaque(text, 16, "a store id: a letter, then letters and digits, at most 16");

    /// The instance id, which windlass gives to an instance. It is unique over all stores. A new id consists
    /// of 24 lower-case letters and digits.
    ///
    /// The id starts with a letter, so no YAML reader parses it as a number.
    InstanceId: IdError = |text| opaque(text, 32, "an instance id: a letter, then letters, digits and `-`, at most 32");

    /// The id of an export of an assembly. The export file contains the id. A store imports the same export at most
    /// once.
    TransferId: IdError = |text| opaque(text, 32, "the id of an export: a letter, then letters, digits and `-`, at most 32");

    /// The id of a driver call. All attempts of the call have the same id.
    CallId: IdError = |text| opaque(text, 48, "a call id: a letter, then letters, digits and `-`, at most 48");

    /// The id of one call of a command. The id contains only letters and digits, because scripts write the id into
    /// dotted paths.
    CommandId: IdError = |text| {
        let fits = (1..=48).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let expected = "the id of a command: letters and digits, at most 48";
        if fits { Ok(()) } else { Err(IdError { text: text.to_owned(), expected }) }
    };
}

fn random_id(entropy: &dyn Entropy, length: usize) -> String {
    let mut bytes = vec![0; length];
    entropy.fill(&mut bytes);
    letters(&bytes)
}

/// Encodes each byte as one character. For the first byte, four bits choose one of 16 letters. For each later byte,
/// five bits choose a letter or a digit.
fn letters(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let letters = bytes.iter().enumerate().map(|(at, byte)| {
        let choices = if at == 0 { 16 } else { 32 };
        char::from(ALPHABET[usize::from(*byte) % choices])
    });
    letters.collect()
}

impl StoreId {
    /// Creates a random id of 8 characters.
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self(random_id(entropy, 8).into())
    }
}

impl InstanceId {
    /// Creates a random id of 24 characters.
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self(random_id(entropy, 24).into())
    }
}

impl TransferId {
    /// Creates a random id of 24 characters.
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self(random_id(entropy, 24).into())
    }
}

impl InstanceId {
    /// Derives an id from a text. Equal texts have equal ids. An object without a random id gets an id that is
    /// derived from its names. Example: a pair, which is a relationship between two nodes.
    pub fn of(text: &str) -> Self {
        // Two texts of the same assembly must have different ids. Texts of different assemblies may have
        // equal ids. So FNV-1a is sufficient.
        let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
        });
        let bytes: [u8; 24] = std::array::from_fn(|at| (hash >> (5 * at)).to_le_bytes()[0]);
        Self(letters(&bytes).into())
    }
}

impl CallId {
    /// Derives the id of a call. `ordinal` is the number of the call within its step, from 0. The same arguments
    /// always result in the same id. So after a crash, the id of a call can be computed again.
    pub fn of(store: &StoreId, process: ProcessId, step: StepId, ordinal: u32) -> Self {
        Self(format!("{store}-p{}-s{}-c{ordinal}", process.0, step.0).into())
    }
}

impl CommandId {
    /// Returns the id of the command that a call executes.
    pub fn of(call: &CallId) -> Self {
        Self(call.as_str().chars().filter(char::is_ascii_alphanumeric).collect())
    }

    /// Returns the process whose call executes the command with this id. Returns `None` if the id is from another
    /// store.
    pub fn process(&self, store: &StoreId) -> Option<ProcessId> {
        let store: String = store.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
        let rest = self.as_str().strip_prefix(&store)?.strip_prefix('p')?;
        rest.split_once('s')?.0.parse().ok().map(ProcessId)
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $type:ident, $inner:ty, $prefix:literal, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(pub $inner);

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl FromStr for $type {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let number = text.strip_prefix($prefix).unwrap_or(text);
                number.parse().map(Self).map_err(|_| IdError { text: text.to_owned(), expected: $expected })
            }
        }
    };
}

number_id! {
    /// The id of a process within its store, shown as `p12`.
    ProcessId, u64, "p", "a process id, such as `p12`"
}

number_id! {
    /// The id of a request within its store, shown as `q12`.
    RequestId, u64, "q", "a request id, such as `q12`"
}

number_id! {
    /// The number of a step within its process, shown as `s3`.
    StepId, u32, "s", "a step id, such as `s3`"
}

number_id! {
    /// The sequence number of an event in its store. The store numbers its events consecutively, from 1.
    Seq, u64, "", "a sequence number"
}

impl Seq {
    /// The sequence number 0. The first event has the next sequence number.
    pub const START: Self = Self(0);
}

/// The epoch of a lease. Each later lease on the same assembly has a greater epoch. So the store detects a
/// write under a lease that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub NonZeroU64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_text_is_valid_and_its_own() {
        let [one, other] = ["lab__net", "lab__neu"].map(InstanceId::of);
        assert_eq!(one, InstanceId::of("lab__net"));
        assert_ne!(one, other);
        assert_eq!(one.as_str().parse::<InstanceId>().unwrap(), one);
    }

    #[test]
    fn the_id_of_a_command_tells_its_process() {
        let store: StoreId = "sh-op".parse().unwrap();
        let id = CommandId::of(&CallId::of(&store, ProcessId(12), StepId(1), 0));
        assert_eq!(id.as_str(), "shopp12s1c0");
        assert_eq!(id.process(&store), Some(ProcessId(12)));
        for other in ["shopx12s1c0", "p12s1c0", "shopp12"] {
            assert_eq!(other.parse::<CommandId>().unwrap().process(&store), None, "{other}");
        }
        assert!("shop-p12".parse::<CommandId>().is_err());
    }

    struct Ramp;

    impl Entropy for Ramp {
        fn fill(&self, buffer: &mut [u8]) {
            for (byte, value) in buffer.iter_mut().zip(0..) {
                *byte = value;
            }
        }
    }

    #[test]
    fn random_ids_are_valid_and_start_with_a_letter() {
        let id = InstanceId::random(&Ramp);
        assert_eq!(id.as_str(), "abcdefghijkmnpqrstuvwxyz");
        assert_eq!(id.as_str().parse(), Ok(id));
    }

    #[test]
    fn numbers_read_with_and_without_their_letter() {
        assert_eq!("p12".parse(), Ok(ProcessId(12)));
        assert_eq!("12".parse(), Ok(ProcessId(12)));
        assert_eq!(
            "x".parse::<ProcessId>().unwrap_err().to_string(),
            "`x` is not a process id, such as `p12`"
        );
    }
}
