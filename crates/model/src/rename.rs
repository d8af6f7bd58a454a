//! Renaming of an assembly in its records.
//!
//! The serializer of a record learns the Rust type of each name, because names serialize as newtype structs.
//! So a [`Renaming`] finds the names of assemblies, elements and secrets in any record. No record type has to
//! list its names.
//!
//! ```
//! use windlass_model::record::Intent;
//! use windlass_model::rename::Renaming;
//!
//! let renaming = Renaming { from: "shop".parse()?, to: "store".parse()? };
//! let heal = Intent::Heal("shop__web__2".parse()?);
//! assert_eq!(renaming.record(&heal)?, Intent::Heal("store__web__2".parse()?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod renaming;
mod serializer;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::renaming::Renaming;
use self::serializer::Renamed;
use crate::record::AssemblyRecord;

impl Renaming {
    /// Returns a copy of `record` in which the new name of the assembly replaces the old name. Names inside messages
    /// for people stay unchanged.
    ///
    /// # Errors
    /// When the record can't be represented as JSON.
    pub fn record<T: Serialize + DeserializeOwned>(&self, record: &T) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.json(record)?)
    }

    /// Serializes `record` as JSON, with the new name of the assembly in place of the old name.
    ///
    /// # Errors
    /// When the record can't be represented as JSON.
    pub fn json(&self, record: &(impl Serialize + ?Sized)) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Renamed::new(record, self))
    }

    /// Returns the record of an assembly, or of one of its versions, with the new name. The values of
    /// `${instance.name}` stay unchanged, because the instances were created with these values.
    ///
    /// # Errors
    /// When the record can't be represented as JSON.
    pub fn assembly_record(&self, record: &AssemblyRecord) -> Result<AssemblyRecord, serde_json::Error> {
        let mut renamed = self.record(record)?;
        if record.name == self.from {
            renamed.topology.renamed_from(&self.from);
        }
        Ok(renamed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::name::ElementName;
    use crate::record::{Given, PairKey, PlanText};

    fn renaming() -> Renaming {
        Renaming { from: "shop".parse().unwrap(), to: "store".parse().unwrap() }
    }

    #[test]
    fn names_are_found_by_their_types() {
        let key = PairKey {
            assembly: "shop".parse().unwrap(),
            relationship: "shop".parse().unwrap(),
            source: "shop__shop__1".parse().unwrap(),
            target: "shopping__shop".parse().unwrap(),
        };
        let renamed = renaming().json(&key).unwrap();
        assert_eq!(
            renamed,
            r#"{"assembly":"store","relationship":"shop","source":"store__shop__1","target":"shopping__shop"}"#
        );
    }

    #[test]
    fn keys_of_maps_are_renamed() {
        let sizes: BTreeMap<ElementName, u32> = [("shop__web".parse().unwrap(), 3)].into();
        assert_eq!(renaming().json(&sizes).unwrap(), r#"{"store__web":3}"#);
    }

    #[test]
    fn markers_of_secrets_are_renamed_in_any_data() {
        let document = json!({
            "shop": "shop:given/1",
            "list": [{"$secret": "shop:given/1"}, {"$secret": "other:given/1"}, {"$secret": "shop/1"}],
        });
        let renamed: Value = renaming().record(&document).unwrap();
        assert_eq!(
            renamed,
            json!({
                "shop": "shop:given/1",
                "list": [{"$secret": "store:given/1"}, {"$secret": "other:given/1"}, {"$secret": "shop/1"}],
            })
        );
        let given = Given::Secret("shop:given/a/1".parse().unwrap());
        assert_eq!(renaming().record(&given).unwrap(), Given::Secret("store:given/a/1".parse().unwrap()));
    }

    #[test]
    fn a_plan_stays_as_its_writer_made_it() {
        let plan = PlanText::new(&json!({"element": "shop__web"})).unwrap();
        assert_eq!(renaming().record(&plan).unwrap(), plan);
    }
}
