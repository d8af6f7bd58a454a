//! A serde deserialiser of a [`Node`].
//!
//! Unlike the deserialiser of [`serde_json::Value`], this one refuses a list in place of a struct. The
//! derived code of serde would take the items of the list as fields in their order, and hide the mistake in
//! the document.

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::misfit::Misfit;
use crate::{Kind, Mapping, Node, Reading};

/// A node, and the rule ([`Reading`]) by which the scalars of the node are converted to data.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'n> {
    pub(crate) node: &'n Node,
    pub(crate) reading: Reading,
}

impl<'n> Reader<'n> {
    fn entries(
        self,
        mapping: &'n Mapping,
    ) -> MapDeserializer<'n, impl Iterator<Item = (&'n str, Reader<'n>)>, Misfit> {
        let reader = move |node| Reader { node, ..self };
        MapDeserializer::new(mapping.iter().map(move |entry| (entry.key.text(), reader(&entry.value))))
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.node.kind() {
            Kind::Scalar(_) => scalar(self.node.to_value(self.reading), visitor),
            Kind::Sequence(items) => {
                let mut items = SeqDeserializer::new(items.iter().map(|node| Reader { node, ..self }));
                let value = visitor.visit_seq(&mut items)?;
                items.end().map(|()| value)
            }
            Kind::Mapping(mapping) => visitor.visit_map(self.entries(mapping)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.node.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.node.kind() {
            Kind::Sequence(_) => Err(Misfit::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.node.kind() {
            Kind::Scalar(_) => match self.node.to_value(self.reading) {
                Value::String(variant) => visitor.visit_enum(variant.into_deserializer()),
                other => scalar(other, visitor),
            },
            Kind::Mapping(mapping) if mapping.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(self.entries(mapping)))
            }
            Kind::Mapping(_) => Err(Misfit::invalid_value(Unexpected::Map, &"a mapping with one key")),
            Kind::Sequence(_) => Err(Misfit::invalid_type(Unexpected::Seq, &visitor)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Misfit> for Reader<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn scalar<'de, V: Visitor<'de>>(value: Value, visitor: V) -> Result<V::Value, Misfit> {
    match value {
        Value::Bool(value) => visitor.visit_bool(value),
        Value::String(text) => visitor.visit_string(text),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => visitor.visit_u64(number),
            (_, Some(number), _) => visitor.visit_i64(number),
            (.., number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
        },
        // The data of a scalar is never a list or a mapping, so this case is null.
        _ => visitor.visit_unit(),
    }
}
