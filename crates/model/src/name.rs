//! Validated names, with one newtype for each kind of name.
//!
//! The descriptor language comes from IBM's orchestrator TNC-O. The documentation of TNC-O has one page about
//! assembly descriptors and one page about resource descriptors. For the names of assemblies and components,
//! windlass applies the rules of both pages. Such a name starts with a letter, and ends with a letter or a
//! digit. The characters between are letters, digits, `_` and `-`. The name does not contain `__`, which
//! separates the parts of an element's name.
//!
//! Names of properties, operations and similar declarations are any text without blanks.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde::{Deserialize, Serialize};
use smol_str::{SmolStr, format_smolstr};
use thiserror::Error;

use crate::newtype::checked_text;
use crate::version::{Version, VersionError};

/// The maximum length of an assembly or descriptor name, in characters.
pub const MAX_NAME: usize = 50;

/// The separator between the parts of an element's name.
pub const SEPARATOR: &str = "__";

/// The reserved words, with which a `${…}` can begin, such as `${source.port}`. No assembly or component may
/// have one of them as its name.
pub const RESERVED: [&str; 3] = ["instance", "source", "target"];

static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$").expect("the pattern is fixed"));

/// The maximum number of characters of a name that a message shows.
const SHOWN: usize = 200;

/// Returns the beginning of a name, for messages. An invalid name can be as long as the document that
/// contains it.
fn beginning(name: &str) -> String {
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The reason why a name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("the {kind} name is empty")]
    Empty {
        /// The kind of the name, for example `assembly`.
        kind: &'static str,
    },
    /// The name is longer than [`MAX_NAME`].
    #[error("the {kind} name `{}` has {length} characters, {MAX_NAME} are allowed", beginning(name))]
    TooLong {
        /// The kind of the name.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The length of the name in characters.
        length: usize,
    },
    /// The name contains a forbidden character, or the name begins or ends with a character that is forbidden
    /// there.
    #[error(
        "the {kind} name `{}` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`",
        beginning(name)
    )]
    Form {
        /// The kind of the name.
        kind: &'static str,
        /// The name as given.
        name: String,
    },
    /// The name contains `__`.
    #[error(
        "the {kind} name `{}` has `__`, which separates the parts of an instance's name",
        beginning(name)
    )]
    Separator {
        /// The kind of the name.
        kind: &'static str,
        /// The name as given.
        name: String,
    },
    /// The name is one of the [`RESERVED`] words.
    #[error("the {kind} name `{name}` is reserved for `${{{name}.…}}`")]
    Reserved {
        /// The kind of the name.
        kind: &'static str,
        /// The name as given.
        name: String,
    },
    /// The name contains a blank or a control character.
    #[error("the {kind} name `{}` has blanks or control characters", beginning(name))]
    Blank {
        /// The kind of the name.
        kind: &'static str,
        /// The name as given.
        name: String,
    },
    /// A descriptor's name does not have the three parts `kind::name::version`.
    #[error("`{}` is not of the form `kind::name::version`, such as `assembly::shop::1.0`", beginning(.0))]
    Parts(String),
    /// A descriptor's name has an unknown kind.
    #[error("`{}` is neither `assembly` nor `resource`", beginning(.0))]
    Kind(String),
    /// A descriptor's name has an invalid version.
    #[error(transparent)]
    Version(#[from] VersionError),
}

fn check_word(kind: &'static str, name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty { kind });
    }
    let owned = || name.to_owned();
    if name.contains(SEPARATOR) {
        return Err(NameError::Separator { kind, name: owned() });
    }
    if !WORD.is_match(name) {
        return Err(NameError::Form { kind, name: owned() });
    }
    Ok(())
}

fn check_length(kind: &'static str, name: &str) -> Result<(), NameError> {
    let length = name.chars().count();
    if length > MAX_NAME {
        return Err(NameError::TooLong { kind, name: name.to_owned(), length });
    }
    Ok(())
}

fn check_reserved(kind: &'static str, name: &str) -> Result<(), NameError> {
    if RESERVED.contains(&name) {
        return Err(NameError::Reserved { kind, name: name.to_owned() });
    }
    Ok(())
}

fn check_free(kind: &'static str, name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty { kind });
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(NameError::Blank { kind, name: name.to_owned() });
    }
    Ok(())
}

checked_text! {
    /// The name of an assembly in its store: 1 to 50 characters, for example `h_bta`.
    AssemblyName: NameError = |name| {
        check_word("assembly", name)?;
        check_length("assembly", name)?;
        check_reserved("assembly", name)
    };

    /// The name of a component or of a reference, for example `balancer`. A descriptor contains the name as a key of
    /// the section `composition` or `references`. The name can have any length. It contains no dot, and is none of the
    /// [`RESERVED`] words.
    ComponentName: NameError = |name| {
        check_word("component", name)?;
        check_reserved("component", name)
    };

    /// The key of a node in a group whose nodes have keys, for example `rack1`. It has the form of a
    /// component's name.
    NodeKey: NameError = |key| {
        check_word("key", key)?;
        check_reserved("key", key)
    };

    /// The name of a property: any text without blanks and control characters. The name may contain a dot. For example,
    /// an application has a property for the pin `compute.ip`. The check of descriptors is stricter: it refuses dots in
    /// the properties of an assembly, and warns of dots elsewhere.
    PropertyName: NameError = |name| check_free("property", name);

    /// The name of an operation of a resource or assembly, for example `AddBalancedHttpServer`.
    OperationName: NameError = |name| check_free("operation", name);

    /// The name of a command of a resource, for example `backup`.
    CommandName: NameError = |name| check_free("command", name);

    /// The name of a relationship within its assembly, for example `third-relationship`.
    RelationshipName: NameError = |name| check_free("relationship", name);

    /// The name of a metric of a resource or assembly, for example `lb_load`.
    MetricName: NameError = |name| check_free("metric", name);

    /// The name of a policy within its descriptor, for example `scaleStreamer`.
    PolicyName: NameError = |name| check_free("policy", name);

    /// The kind of a driver, as resource descriptors spell it: `script`, `noop`.
    DriverKind: NameError = |name| check_free("driver", name);
}

/// The full name of an element: the names on the path from the assembly to the element, joined by `__`.
///
/// Examples: `h_bta` is an assembly, and `h_bta__B` is the component `B` of this assembly. If `B` has several
/// nodes, `h_bta__B` is the group of these nodes, and `h_bta__B__2` is the second node. If the nodes of a
/// group have keys, the name of a node ends with its key instead of its number: `h_bta__web__rack1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct ElementName(SmolStr);

/// Serializes the text as a newtype struct with the struct name `ElementName`. This struct name tells the serializer of
/// [`crate::rename`] that the text is the name of an element.
impl Serialize for ElementName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("ElementName", self.as_str())
    }
}

impl ElementName {
    /// Returns the name of the component `component` inside this element.
    pub fn child(&self, component: &ComponentName) -> Self {
        Self(format_smolstr!("{}{SEPARATOR}{component}", self.0))
    }

    /// Returns the name of node `index` (from 1) of this group.
    pub fn node(&self, index: u32) -> Self {
        Self(format_smolstr!("{}{SEPARATOR}{index}", self.0))
    }

    /// Returns the name of the node `key` of this group.
    pub fn keyed(&self, key: &NodeKey) -> Self {
        Self(format_smolstr!("{}{SEPARATOR}{key}", self.0))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the assembly that the element belongs to.
    pub fn assembly(&self) -> AssemblyName {
        AssemblyName(self.root().into())
    }

    /// Returns the name without the name of the assembly, for example `B__2`. For the assembly itself,
    /// returns the whole name.
    pub fn local(&self) -> &str {
        self.separator().map_or(self.0.as_str(), |at| &self.0[at + SEPARATOR.len()..])
    }

    /// Tells whether the element is `outer`, or is inside `outer`.
    ///
    /// ```
    /// use windlass_model::ElementName;
    ///
    /// let [group, node, other] = ["shop__B", "shop__B__2", "shop__Both"].map(|name| name.parse::<ElementName>());
    /// let (group, node, other) = (group?, node?, other?);
    /// assert!(node.is_in(&group) && group.is_in(&group));
    /// assert!(!group.is_in(&node) && !other.is_in(&group));
    /// # Ok::<(), windlass_model::name::NameError>(())
    /// ```
    pub fn is_in(&self, outer: &Self) -> bool {
        let rest = self.0.strip_prefix(outer.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(SEPARATOR))
    }

    /// Returns the names of the elements around this element, from the outermost to the innermost, and then the name of
    /// this element. Example: `h_bta`, `h_bta__B` and `h_bta__B__2` for the element `h_bta__B__2`.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        let around = self.0.match_indices(SEPARATOR).map(|(end, _)| &self.0[..end]);
        around.chain([self.as_str()])
    }

    /// Returns this name with `assembly` in place of the assembly name at the beginning. For example, `shop__web__2`
    /// becomes `store__web__2`.
    #[must_use]
    pub fn within(&self, assembly: &AssemblyName) -> Self {
        Self(format_smolstr!("{}{}", assembly.0, &self.0[self.root().len()..]))
    }

    fn root(&self) -> &str {
        self.separator().map_or(self.0.as_str(), |at| &self.0[..at])
    }

    /// Returns the position of the first [`SEPARATOR`] in the name.
    ///
    /// Names are short, so this loop is faster than `str::find`, which prepares its search first.
    fn separator(&self) -> Option<usize> {
        let separator = SEPARATOR.as_bytes();
        self.0.as_bytes().windows(separator.len()).position(|bytes| bytes == separator)
    }
}

impl From<&AssemblyName> for ElementName {
    fn from(name: &AssemblyName) -> Self {
        Self(name.0.clone())
    }
}

impl FromStr for ElementName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let mut parts = name.split(SEPARATOR);
        let root = parts.next().unwrap_or_default();
        check_word("assembly", root)?;
        for part in parts {
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                check_word("element", part)?;
            }
        }
        Ok(Self(name.into()))
    }
}

impl TryFrom<String> for ElementName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        name.parse()
    }
}

impl From<ElementName> for String {
    fn from(name: ElementName) -> String {
        name.0.into()
    }
}

impl fmt::Display for ElementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kind of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DescriptorKind {
    /// An assembly, which is composed of components.
    Assembly,
    /// A part that a driver manages.
    Resource,
}

impl DescriptorKind {
    /// Returns the first word of the names of such descriptors, such as `assembly` in `assembly::shop::1.0`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Assembly => "assembly",
            Self::Resource => "resource",
        }
    }
}

impl fmt::Display for DescriptorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DescriptorKind {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text {
            "assembly" => Ok(Self::Assembly),
            "resource" => Ok(Self::Resource),
            other => Err(NameError::Kind(other.to_owned())),
        }
    }
}

/// The name of a descriptor, `kind::name::version`, for example `resource::c_balancer::1.0`.
///
/// Copies share the content, because many elements and records have the same descriptor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DescriptorName(Arc<DescriptorParts>);

/// The three parts of a descriptor's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DescriptorParts {
    /// The kind of the descriptor.
    pub kind: DescriptorKind,
    /// The middle part: `c_balancer` in `resource::c_balancer::1.0`. This part has 1 to 50 characters.
    pub name: AssemblyName,
    /// The version of the descriptor.
    pub version: Version,
}

impl Deref for DescriptorName {
    type Target = DescriptorParts;

    fn deref(&self) -> &DescriptorParts {
        &self.0
    }
}

impl From<DescriptorParts> for DescriptorName {
    fn from(parts: DescriptorParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl FromStr for DescriptorName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let parts: Vec<&str> = text.split("::").collect();
        let [kind, name, version] = parts[..] else {
            return Err(NameError::Parts(text.to_owned()));
        };
        let kind: DescriptorKind = kind.parse()?;
        let name = match kind {
            // The words are reserved only for names of assemblies and components. No assembly or component
            // gets its name from a resource descriptor. So the name of a resource descriptor may be a
            // reserved word.
            DescriptorKind::Resource if RESERVED.contains(&name) => AssemblyName(name.into()),
            _ => name.parse()?,
        };
        Ok(DescriptorParts { kind, name, version: version.parse()? }.into())
    }
}

impl TryFrom<String> for DescriptorName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<DescriptorName> for String {
    fn from(name: DescriptorName) -> String {
        name.to_string()
    }
}

impl fmt::Display for DescriptorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}::{}", self.kind, self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one_letter("A")]
    #[case::mixed("Streamer_cluster")]
    #[case::hyphen("a-b-3")]
    fn good_names(#[case] name: &str) {
        assert_eq!(name.parse::<AssemblyName>().unwrap().as_str(), name);
    }

    #[rstest]
    #[case::empty("", "the assembly name is empty")]
    #[case::reserved("source", "the assembly name `source` is reserved for `${source.…}`")]
    #[case::separator(
        "a__b",
        "the assembly name `a__b` has `__`, which separates the parts of an instance's name"
    )]
    #[case::digit(
        "1a",
        "the assembly name `1a` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`"
    )]
    fn bad_names(#[case] name: &str, #[case] message: &str) {
        assert_eq!(name.parse::<AssemblyName>().unwrap_err().to_string(), message);
    }

    /// An invalid name can be as long as the document that contains it, so a message shows only the
    /// beginning.
    #[test]
    fn a_message_repeats_the_beginning_of_a_long_name() {
        for name in ["a", "é", "a__", "a "] {
            let name = name.repeat(1_000_000);
            let errors = [
                name.parse::<AssemblyName>().unwrap_err().to_string(),
                name.parse::<DescriptorName>().unwrap_err().to_string(),
                format!("{name}::a::1.0").parse::<DescriptorName>().unwrap_err().to_string(),
            ];
            for error in errors {
                assert!(error.chars().count() < 400 && error.contains('…'), "{error}");
            }
        }
    }

    #[test]
    fn length_is_counted_for_assemblies_only() {
        let long = "a".repeat(51);
        assert!(matches!(long.parse::<AssemblyName>(), Err(NameError::TooLong { length: 51, .. })));
        assert!(long.parse::<ComponentName>().is_ok());
    }

    #[test]
    fn components_are_not_roots() {
        let error = "source".parse::<ComponentName>().unwrap_err();
        assert_eq!(error.to_string(), "the component name `source` is reserved for `${source.…}`");
    }

    #[test]
    fn descriptor_names_round_trip() {
        let name: DescriptorName = "resource::c_balancer::1.0".parse().unwrap();
        assert_eq!(name.to_string(), "resource::c_balancer::1.0");
        assert_eq!(
            "c_balancer".parse::<DescriptorName>().unwrap_err().to_string(),
            "`c_balancer` is not of the form `kind::name::version`, such as `assembly::shop::1.0`"
        );
    }

    #[test]
    fn elements_know_their_assembly() {
        let name: ElementName = "vs-test1__voip-server__1__asterisk".parse().unwrap();
        assert_eq!(name.assembly().as_str(), "vs-test1");
        assert_eq!(name.local(), "voip-server__1__asterisk");
    }
}
