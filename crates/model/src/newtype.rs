//! Validated text types for names and ids.
//!
//! A topology of many elements consists mostly of names. Short text is stored inline, and longer text is shared, so
//! copies of names are cheap.

/// Declares validated text types. `check` returns an error for an invalid text.
macro_rules! checked_text {
    ($($(#[$doc:meta])* $type:ident: $error:ty = $check:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
        #[serde(try_from = "String")]
        pub struct $type(smol_str::SmolStr);

        /// Serializes the text as a newtype struct. The struct name is the name of the Rust type, such as
        /// `AssemblyName`. This struct name tells the serializer of [`crate::rename`] that the text is the name of an
        /// assembly.
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_newtype_struct(stringify!($type), self.as_str())
            }
        }

        impl $type {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $type {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let check: fn(&str) -> Result<(), $error> = $check;
                check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<String> for $type {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(checked: $type) -> String {
                checked.0.into()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )+};
}

pub(crate) use checked_text;
