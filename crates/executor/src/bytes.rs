//! Serde form of bytes in JSON: a string if the bytes are UTF-8, otherwise `{"hex": "…"}`.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer, Serializer,
    de::{Error, MapAccess, Visitor},
    ser::SerializeMap,
};

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return serializer.serialize_str(text);
    }
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("hex", &hex::encode(bytes))?;
    map.end()
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    deserializer.deserialize_any(Bytes)
}

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, or {\"hex\": \"…\"}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Vec<u8>, E> {
        Ok(text.into_bytes())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<u8>, A::Error> {
        match map.next_entry::<Cow<'de, str>, Cow<'de, str>>()? {
            Some((key, value)) if key == "hex" => hex::decode(value.as_ref()).map_err(A::Error::custom),
            _ => Err(A::Error::custom("expected the one key `hex`")),
        }
    }
}
