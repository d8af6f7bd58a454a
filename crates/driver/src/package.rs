//! The files of a resource, and its driver bindings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use windlass_model::assembly::PackageDigest;
use windlass_model::instance::{shape, shape_of};
use windlass_model::name::DriverKind;
use windlass_model::pins::Pins;
use windlass_model::record::{PackageFile, PackageRecord};
use windlass_model::{Action, DescriptorName, PropertyName, Transition, sorted};
use windlass_update_ops::Shape;

/// The choice of a driver for an action, as `drivers:` or `default-driver:` of a resource descriptor declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The kind of the chosen driver.
    pub driver: DriverKind,
    /// The infrastructure types for which the descriptor chooses the driver; `*` stands for all.
    pub infrastructure: Vec<String>,
    /// The driver properties: `effect`, `timeout`, and those specific to the driver.
    #[serde(serialize_with = "sorted::values")]
    pub properties: BTreeMap<String, Value>,
}

/// An argument that a command declares in `properties`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandArgument {
    /// Whether each call must contain the argument. If the argument has a default, a call may omit the argument even if
    /// this field is true.
    #[serde(default)]
    pub required: bool,
    /// Whether the value is a secret, which is masked in all output.
    #[serde(default)]
    pub sensitive: bool,
    /// The value that applies if a call does not contain the argument.
    #[serde(default)]
    pub default: Option<String>,
}

impl Binding {
    fn serves(&self, infrastructure: &str) -> bool {
        self.infrastructure.iter().any(|kind| kind == "*" || kind == infrastructure)
    }
}

/// The declared actions of a resource, and their drivers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bindings {
    /// The declared transitions, each with the drivers that the descriptor names for the transition. An empty list
    /// means that the default drivers serve the transition.
    pub transitions: BTreeMap<Transition, Vec<Binding>>,
    /// The declared operations, each with the drivers that the descriptor names for the operation.
    pub operations: BTreeMap<String, Vec<Binding>>,
    /// The declared commands, each with the drivers that the descriptor names for the command.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, Vec<Binding>>,
    /// The declared arguments of the commands, by the names of the commands. A command without an entry accepts all
    /// arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, BTreeMap<PropertyName, CommandArgument>>,
    /// The default drivers: they serve the declared actions for which the descriptor names no driver.
    pub default: Vec<Binding>,
    /// The drivers that search for existing instances, from the key `queries` of the descriptor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<Binding>,
}

impl Bindings {
    /// Returns all declared actions: transitions, operations, commands.
    pub fn actions(&self) -> impl Iterator<Item = Action> {
        let transitions = self.transitions.keys().map(|transition| Action::Transition(*transition));
        let operations = self.operations.keys().filter_map(|name| name.parse().ok());
        let commands = self.commands.keys().filter_map(|name| name.parse().ok());
        transitions.chain(operations.map(Action::Operation)).chain(commands.map(Action::Command))
    }

    /// Returns the first binding of the driver `kind` for an action, for any infrastructure type. If the descriptor
    /// names drivers for the action, the method searches only these drivers. Otherwise, the method searches the
    /// default drivers.
    pub fn of_driver(&self, kind: &str, action: &Action) -> Option<&Binding> {
        let named = self.named(action)?;
        let candidates = if named.is_empty() { &self.default } else { named };
        candidates.iter().find(|binding| binding.driver.as_str() == kind)
    }

    /// Returns the drivers that the descriptor names.
    pub fn drivers(&self) -> BTreeSet<&DriverKind> {
        let actions = self.transitions.values().chain(self.operations.values()).chain(self.commands.values());
        let all = actions.chain([&self.default, &self.queries]).flatten();
        all.map(|binding| &binding.driver).collect()
    }

    /// Tells whether the resource declares the action.
    pub fn declares(&self, action: &Action) -> bool {
        self.named(action).is_some()
    }

    /// Finds the driver for an action on instances whose infrastructure has the type `infrastructure`. If the
    /// descriptor names drivers for the action, the method searches only these drivers. Otherwise, the method
    /// searches the default drivers.
    pub fn find(&self, action: &Action, infrastructure: &str) -> Option<&Binding> {
        let named = self.named(action)?;
        let candidates = if named.is_empty() { &self.default } else { named };
        candidates.iter().find(|binding| binding.serves(infrastructure))
    }

    /// Finds the driver that searches for existing instances in an infrastructure of the type `infrastructure`.
    pub fn query(&self, infrastructure: &str) -> Option<&Binding> {
        self.queries.iter().find(|binding| binding.serves(infrastructure))
    }

    /// Returns the drivers that the descriptor names for an action. The list is empty if the default drivers serve
    /// the action. Returns `None` if the resource does not declare the action.
    pub fn named(&self, action: &Action) -> Option<&Vec<Binding>> {
        match action {
            Action::Transition(transition) => self.transitions.get(transition),
            Action::Operation(operation) => self.operations.get(operation.as_str()),
            Action::Command(command) => self.commands.get(command.as_str()),
            _ => None,
        }
    }
}

/// The package of a resource: its files and its driver bindings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    digest: PackageDigest,
    name: DescriptorName,
    bindings: Bindings,
    files: Vec<PackageFile>,
    /// The pins of an application: the values and commands that the manifest of the application declares. `None` if the
    /// package belongs to an ordinary resource, because only applications have a manifest.
    pins: Option<Arc<Pinned>>,
    /// The version of the record that contains the package.
    version: u32,
}

/// The version of the records that [`Package::to_record`] writes.
///
/// A record of version 1 does not contain the order of the fields in the types of pins. The digest of an application's
/// package depends on this order. So for an application's record of version 1, windlass can't check the digest.
const VERSION: u32 = 2;

/// The pins of an application (the values and commands that its manifest declares), and the [`Shape`] of its
/// instance document. The shape contains the permitted fields of the document, and is computed from the pins.
#[derive(Debug)]
struct Pinned {
    pins: Pins,
    shape: Shape,
}

impl Pinned {
    fn new(pins: Pins) -> Arc<Self> {
        let shape = shape_of(&pins);
        Arc::new(Self { pins, shape })
    }
}

impl PartialEq for Pinned {
    fn eq(&self, other: &Self) -> bool {
        self.pins == other.pins
    }
}

impl Eq for Pinned {}

impl Package {
    /// Creates a package from files. The digest of the package covers its name, its bindings and its files. For
    /// each file, the digest covers the path, the executable bit and the content.
    pub fn new(name: DescriptorName, bindings: Bindings, mut files: Vec<PackageFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let digest = digest(&name, &bindings, &files, None);
        Self { digest, name, bindings, files, pins: None, version: VERSION }
    }

    /// Returns the package with the given [`Pins`] of an application: the values and commands that its manifest
    /// declares. The digest of the returned package also covers the pins.
    #[must_use]
    pub fn with_pins(self, pins: Pins) -> Self {
        let digest = digest(&self.name, &self.bindings, &self.files, Some(&pins));
        Self { digest, pins: Some(Pinned::new(pins)), ..self }
    }

    /// Returns the pins of an application: the values and commands that the manifest of the application declares.
    /// Returns `None` if the package belongs to an ordinary resource, because only applications have a manifest.
    pub fn pins(&self) -> Option<&Pins> {
        self.pins.as_deref().map(|pinned| &pinned.pins)
    }

    /// Returns the shape of the instance documents of all instances with this package: the fields that the
    /// documents may have.
    pub fn shape(&self) -> &Shape {
        self.pins.as_deref().map_or_else(|| shape(), |pinned| &pinned.shape)
    }

    /// Returns the digest of the package.
    pub fn digest(&self) -> &PackageDigest {
        &self.digest
    }

    /// Returns the name of the resource descriptor.
    pub fn name(&self) -> &DescriptorName {
        &self.name
    }

    /// Returns the driver bindings of the descriptor.
    pub fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// Returns all files, sorted by path.
    pub fn files(&self) -> &[PackageFile] {
        &self.files
    }

    /// Returns the files below a folder, with their paths relative to it.
    pub fn files_below<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a PackageFile)> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        self.files.iter().filter_map(move |file| Some((file.path.strip_prefix(&prefix)?, file)))
    }

    /// Returns the package as a record for the store.
    pub fn to_record(&self) -> PackageRecord {
        PackageRecord {
            digest: self.digest.clone(),
            name: self.name.clone(),
            manifest: match self.pins() {
                Some(pins) => json!({ "version": self.version, "bindings": self.bindings, "pins": pins }),
                None => json!({ "version": self.version, "bindings": self.bindings }),
            },
            files: self.files.clone(),
        }
    }

    /// Tells whether the content matches the digest. A package that was read from a record may be damaged. If an older
    /// windlass wrote the record, the digest of an application's package can't be checked, and the result is `true`.
    pub fn is_intact(&self) -> bool {
        let is_checkable = self.version >= VERSION || self.pins.is_none();
        !is_checkable || digest(&self.name, &self.bindings, &self.files, self.pins()) == self.digest
    }

    /// Reads a package from a record of the store.
    ///
    /// # Errors
    ///
    /// Returns an error if the field `manifest` of the record can't be read, for example because a newer windlass wrote
    /// the record.
    pub fn from_record(record: PackageRecord) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Manifest {
            #[serde(default = "oldest")]
            version: u32,
            bindings: Bindings,
            #[serde(default)]
            pins: Option<Pins>,
        }
        fn oldest() -> u32 {
            1
        }
        let manifest: Manifest = serde_json::from_value(record.manifest)?;
        Ok(Self {
            digest: record.digest,
            name: record.name,
            bindings: manifest.bindings,
            files: record.files,
            pins: manifest.pins.map(Pinned::new),
            version: manifest.version,
        })
    }
}

/// Returns the digest of a package: a hash of the name, the bindings, the files and the pins. The hash input contains
/// the length of each text or file in front of its bytes. So different packages always have different hash inputs.
/// The members of JSON objects are sorted, so that all programs compute the same digest.
fn digest(
    name: &DescriptorName,
    bindings: &Bindings,
    files: &[PackageFile],
    pins: Option<&Pins>,
) -> PackageDigest {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(bytes);
    };
    part(name.to_string().as_bytes());
    part(serde_json::to_string(bindings).unwrap_or_default().as_bytes());
    for file in files {
        part(file.path.as_bytes());
        part(&[u8::from(file.executable)]);
        part(&file.content);
    }
    if let Some(pins) = pins {
        part(b"pins");
        part(serde_json::to_string(pins).unwrap_or_default().as_bytes());
    }
    PackageDigest(format!("sha256:{}", hex::encode(hash.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(driver: &str, infrastructure: &str) -> Binding {
        Binding {
            driver: driver.parse().unwrap(),
            infrastructure: vec![infrastructure.to_owned()],
            properties: BTreeMap::new(),
        }
    }

    fn file(path: &str, content: &str) -> PackageFile {
        PackageFile { path: path.to_owned(), executable: true, content: content.into() }
    }

    #[test]
    fn own_drivers_come_before_the_default() {
        let bindings = Bindings {
            transitions: BTreeMap::from([
                (Transition::Install, Vec::new()),
                (Transition::Start, vec![binding("ansible", "Openstack")]),
            ]),
            default: vec![binding("script", "*")],
            ..Bindings::default()
        };
        let find = |transition, at| bindings.find(&Action::Transition(transition), at);
        assert_eq!(find(Transition::Install, "Local").unwrap().driver.as_str(), "script");
        assert_eq!(find(Transition::Start, "Openstack").unwrap().driver.as_str(), "ansible");
        assert_eq!(find(Transition::Start, "Local"), None);
        assert_eq!(find(Transition::Stop, "Local"), None);
    }

    #[test]
    fn the_digest_covers_paths_bits_and_bytes() {
        let package = |files| Package::new("resource::a::1".parse().unwrap(), Bindings::default(), files);
        let one = package(vec![file("a", "bc"), file("b", "")]);
        let same = package(vec![file("b", ""), file("a", "bc")]);
        let other = package(vec![file("ab", "c"), file("b", "")]);
        assert_eq!(one.digest(), same.digest());
        assert_ne!(one.digest(), other.digest());
        assert_eq!(Package::from_record(one.to_record()).unwrap(), one);
        let pins = json!({"compute": {"ip": {"type": {"publish-signal": "string"}}}});
        let pinned = one.clone().with_pins(serde_json::from_value(pins).unwrap());
        assert_ne!(pinned.digest(), one.digest());
        assert!(pinned.is_intact());
        assert_eq!(Package::from_record(pinned.to_record()).unwrap(), pinned);
    }

    /// Both in the store and in the files of exports, the fields of a record are sorted. Sorting must not change the
    /// digest.
    #[test]
    fn the_digest_does_not_depend_on_the_order_of_fields() {
        let pins = |signature: &str| {
            let text = format!(r#"{{"control": {{"run": {{"type": {{"receive-command": {signature}}}}}}}}}"#);
            serde_json::from_str::<Pins>(&text).unwrap()
        };
        let unsorted = pins(r#"{"arguments": {"target": "string", "keep": "int"}, "results": {}}"#);
        let sorted = pins(r#"{"arguments": {"keep": "int", "target": "string"}, "results": {}}"#);
        let package = Package::new("resource::a::1".parse().unwrap(), Bindings::default(), Vec::new());
        let package = package.with_pins(unsorted);
        assert!(Package::from_record(package.to_record()).unwrap().is_intact());
        assert_eq!(package.digest(), package.clone().with_pins(sorted).digest());
    }

    /// A program that embeds windlass may enable the feature `preserve_order` of `serde_json`. Then the members of a
    /// JSON object stay in the order of the file. The digest must be the one that all other programs compute and store.
    #[test]
    fn the_digest_does_not_depend_on_the_features_of_serde_json() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let properties = BTreeMap::from([
            ("zone".to_owned(), value(r#"{"value": {"name": "z", "id": 1, "a": [{"y": 1.5, "x": null}]}}"#)),
            ("effect".to_owned(), value(r#""once""#)),
        ]);
        let bindings = Bindings {
            default: vec![Binding { properties, ..binding("script", "*") }],
            ..Bindings::default()
        };
        let package =
            Package::new("resource::a::1".parse().unwrap(), bindings, vec![file("a", "b"), file("c", "")]);
        assert_eq!(
            package.digest().0,
            "sha256:8468bd481635eded535d5557f8de5154a8618435cab9ae370604bf33a5250462"
        );
        let pins = r#"{"control": {"run": {
            "type": {"receive-command": {"arguments": {"size": {"record": {"b": "int", "a": "int"}}}, "results": {}}},
            "defaults": {"size": {"b": 1, "a": {"z": "", "y": true}}}
        }}}"#;
        let package = package.with_pins(serde_json::from_str(pins).unwrap());
        assert_eq!(
            package.digest().0,
            "sha256:ec5ffde6050f9ae3c29f3ca581f2280c6a960b14b35be9ac079d4ce51dfc583c"
        );
        assert!(Package::from_record(package.to_record()).unwrap().is_intact());
    }

    /// A record of version 1 can be read. The digest of an application's package is not checked in this version, so
    /// even a wrong digest counts as intact.
    #[test]
    fn an_older_record_is_read() {
        let package = Package::new("resource::a::1".parse().unwrap(), Bindings::default(), Vec::new());
        let older = |package: Package| {
            let mut record = package.to_record();
            record.manifest["version"] = json!(1);
            record.digest = PackageDigest("sha256:0".to_owned());
            Package::from_record(record).unwrap()
        };
        assert!(older(package.clone().with_pins(Pins::default())).is_intact());
        assert!(!older(package).is_intact());
    }

    #[test]
    fn files_below_a_folder_are_relative_to_it() {
        let files = vec![file("Lifecycle/script/scripts/Install.sh", ""), file("Lifecycle/scripts2/x", "")];
        let package = Package::new("resource::a::1".parse().unwrap(), Bindings::default(), files);
        let below: Vec<_> = package.files_below("Lifecycle/script").map(|(path, _)| path).collect();
        assert_eq!(below, ["scripts/Install.sh"]);
    }
}
