//! A serializer that replaces the names of an assembly, its elements and its secrets, and nothing else.

use std::cell::Cell;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::renaming::Renaming;

/// The key of the JSON marker that stands for a secret, `{"$secret": ID}`; see
/// [`SecretRef`](windlass_secret::SecretRef).
const MARKER: &str = "$secret";

/// A value that is serialized with the new names.
pub(super) struct Renamed<'r, T: ?Sized> {
    value: &'r T,
    renaming: &'r Renaming,
    place: Place<'r>,
}

/// The place of a value in its container.
#[derive(Debug, Clone, Copy)]
enum Place<'r> {
    /// The key of a map. The serializer sets the cell to true if this key is [`MARKER`], and to false otherwise.
    Key(&'r Cell<bool>),
    /// The id in the JSON marker of a secret, `{"$secret": ID}`.
    Marker,
    Other,
}

impl<'r, T: ?Sized> Renamed<'r, T> {
    pub(super) fn new(value: &'r T, renaming: &'r Renaming) -> Self {
        Self { value, renaming, place: Place::Other }
    }
}

impl<T: Serialize + ?Sized> Serialize for Renamed<'_, T> {
    fn serialize<S: Serializer>(&self, inner: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Renamer { inner, renaming: self.renaming, place: self.place })
    }
}

struct Renamer<'r, S> {
    inner: S,
    renaming: &'r Renaming,
    place: Place<'r>,
}

/// Returns the text of the name `value` after the renaming. `of` is the name of the type of `value`, such as
/// `ElementName`. The renaming changes only the names of one assembly, its elements and its secrets.
///
/// - For any other name of an assembly or element, the result is the unchanged text.
/// - For any other name of a secret, the result is `None`.
/// - For a value that is not a name, the result is `None`.
///
/// If the result is `None`, the caller serializes `value` itself.
fn other_name<T: Serialize + ?Sized>(renaming: &Renaming, of: &str, value: &T) -> Option<String> {
    let is_name = matches!(of, "AssemblyName" | "ElementName" | "SecretRef");
    let text = is_name.then(|| serde_json::to_value(value).ok())??;
    let text = text.as_str()?;
    match of {
        "SecretRef" => renaming.secret_id(text),
        "AssemblyName" => Some(renaming.assembly(&text.parse().ok()?).to_string()),
        _ => Some(renaming.element(&text.parse().ok()?).to_string()),
    }
}

/// Implements the methods that serialize scalars. Each method passes its scalar on to the inner serializer,
/// unchanged.
macro_rules! scalars {
    ($($name:ident: $type:ty),+ $(,)?) => {$(
        fn $name(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$name(value)
        }
    )+};
}

impl<'r, S: Serializer> Serializer for Renamer<'r, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Compound<'r, S::SerializeSeq>;
    type SerializeTuple = Compound<'r, S::SerializeTuple>;
    type SerializeTupleStruct = Compound<'r, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Compound<'r, S::SerializeTupleVariant>;
    type SerializeMap = Compound<'r, S::SerializeMap>;
    type SerializeStruct = Compound<'r, S::SerializeStruct>;
    type SerializeStructVariant = Compound<'r, S::SerializeStructVariant>;

    scalars! {
        serialize_bool: bool, serialize_char: char, serialize_bytes: &[u8],
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64, serialize_unit_struct: &'static str,
    }

    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        match self.place {
            Place::Key(is_marker) => is_marker.set(text == MARKER),
            Place::Marker => {
                if let Some(id) = self.renaming.secret_id(text) {
                    return self.inner.serialize_str(&id);
                }
            }
            Place::Other => {}
        }
        self.inner.serialize_str(text)
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let Self { inner, renaming, place } = self;
        inner.serialize_some(&Renamed { value, renaming, place })
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let Self { inner, renaming, place } = self;
        match other_name(renaming, name, value) {
            Some(text) => inner.serialize_newtype_struct(name, &text),
            None => inner.serialize_newtype_struct(name, &Renamed { value, renaming, place }),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let Self { inner, renaming, place } = self;
        inner.serialize_newtype_variant(name, index, variant, &Renamed { value, renaming, place })
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        Ok(Compound::new(self.inner.serialize_seq(length)?, self.renaming))
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        Ok(Compound::new(self.inner.serialize_tuple(length)?, self.renaming))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        Ok(Compound::new(self.inner.serialize_tuple_struct(name, length)?, self.renaming))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        let inner = self.inner.serialize_tuple_variant(name, index, variant, length)?;
        Ok(Compound::new(inner, self.renaming))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let alone = length == Some(1);
        Ok(Compound { alone, ..Compound::new(self.inner.serialize_map(length)?, self.renaming) })
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeStruct, S::Error> {
        Ok(Compound::new(self.inner.serialize_struct(name, length)?, self.renaming))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        let inner = self.inner.serialize_struct_variant(name, index, variant, length)?;
        Ok(Compound::new(inner, self.renaming))
    }
}

/// A container that is being serialized, such as a list, a map or a struct.
struct Compound<'r, C> {
    inner: C,
    renaming: &'r Renaming,
    /// Whether the container is a map with exactly one entry. Only such a map can be the JSON marker of a secret,
    /// `{"$secret": ID}`.
    alone: bool,
    /// Whether the key that was serialized last is [`MARKER`].
    is_marker: Cell<bool>,
}

impl<'r, C> Compound<'r, C> {
    fn new(inner: C, renaming: &'r Renaming) -> Self {
        Self { inner, renaming, alone: false, is_marker: Cell::new(false) }
    }
}

/// Implements serde's traits for containers, such as [`SerializeSeq`] and [`SerializeStruct`]. The method for
/// an element or field wraps it in a [`Renamed`], and passes the `Renamed` on to the inner serializer.
macro_rules! containers {
    ($($trait:ident: $method:ident($($key:ident: $type:ty)?)),+ $(,)?) => {$(
        impl<C: $trait> $trait for Compound<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: $type,)? value: &T) -> Result<(), C::Error> {
                self.inner.$method($($key,)? &Renamed::new(value, self.renaming))
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        }
    )+};
}

containers! {
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(key: &'static str),
    SerializeStructVariant: serialize_field(key: &'static str),
}

impl<C: SerializeMap> SerializeMap for Compound<'_, C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        self.is_marker.set(false);
        let place = Place::Key(&self.is_marker);
        self.inner.serialize_key(&Renamed { value: key, renaming: self.renaming, place })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        let place = if self.alone && self.is_marker.get() { Place::Marker } else { Place::Other };
        self.inner.serialize_value(&Renamed { value, renaming: self.renaming, place })
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.inner.end()
    }
}
