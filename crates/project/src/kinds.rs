//! The kinds of runtimes that locations may name.
//!
//! This crate knows no kind by name. A caller registers kinds in [`RuntimeKinds`]. The reader of
//! `windlass.yaml`, the JSON Schema and the messages all use these registered kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;
use windlass_driver::{Location, Setting};
use windlass_source::{Diagnostic, listed};

use crate::codes;

/// The key of a location's image.
pub(crate) const IMAGE: &str = "image";

/// A kind of runtime: its name, and the settings that it accepts in a location.
pub trait RuntimeKind: Send + Sync {
    /// Returns the name of the kind: a value of `runtime` in a location.
    fn name(&self) -> &str;

    /// Returns a description of a few words, for help and completions.
    fn summary(&self) -> &str;

    /// Returns whether a location with this kind of runtime must, may or must not name an image for its jobs.
    fn image(&self) -> ImageUse;

    /// Returns the keys that locations of this kind may have beside the common keys of all locations. The values of
    /// the returned keys are text. The default returns no keys.
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// Checks a location of this kind, and returns the problems of the location. The caller ensures that
    /// [`Location::settings`] contains only keys that [`settings`](Self::settings) returns. If the value of a key is no
    /// text, the caller reports this. It then ignores the returned problems of this key and of the location as a whole.
    ///
    /// The method may change the location. For example, it may copy a setting to another field. The default accepts
    /// every location, and changes nothing.
    fn check(&self, location: &mut Location) -> Vec<SettingProblem> {
        let _ = location;
        Vec::new()
    }
}

/// Whether the jobs of a kind of runtime run in an image. The key `image` of a location names the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageUse {
    /// Jobs have no image. The key `image` is refused.
    None,
    /// Jobs may have an image.
    Optional,
    /// Jobs need an image. A location without the key `image` can't run jobs.
    Required,
}

/// A problem that a kind of runtime finds in a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// The key with the problem; `None` for the location as a whole.
    pub key: Option<&'static str>,
    /// The entry with the problem, such as the name of a volume. The field is set only if the value of `key` is a
    /// mapping. `None` means that the problem concerns the whole value.
    pub entry: Option<String>,
    /// The problem, without its place. The code that reads `windlass.yaml` adds the place.
    pub diagnostic: Diagnostic,
}

impl SettingProblem {
    /// Creates an error about the value of a key, with the code [`codes::BAD_SETTING`].
    pub fn error(key: &'static str, message: impl Into<String>) -> Self {
        Self { key: Some(key), entry: None, diagnostic: Diagnostic::error(codes::BAD_SETTING, message) }
    }
}

/// The reason why a location and its runtime do not match.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misfit {
    /// No kind of runtime has this name.
    #[error("there is no runtime `{0}`")]
    Unknown(String),
    /// The location has a key that its kind of runtime does not accept.
    #[error("`{key}` has no meaning for the runtime `{runtime}`")]
    Key {
        /// The key that is not accepted.
        key: String,
        /// The name of the location's kind of runtime.
        runtime: String,
        /// The names of the kinds that accept `key`, in the order of registration.
        others: Vec<String>,
    },
    /// The kind needs an image, and the location has none.
    #[error("the location `{location}` has the runtime `{runtime}` and no `image` to run scripts in")]
    NoImage {
        /// The name of the location.
        location: String,
        /// The name of the location's kind of runtime.
        runtime: String,
        /// The names of the kinds that need no image, in the order of registration.
        others: Vec<String>,
    },
    /// The kind refuses the settings.
    #[error("{}", .0.diagnostic.message)]
    Setting(SettingProblem),
}

/// The known kinds of runtimes, in the order of registration. The default is empty.
#[derive(Clone, Default)]
pub struct RuntimeKinds(Vec<Arc<dyn RuntimeKind>>);

impl FromIterator<Arc<dyn RuntimeKind>> for RuntimeKinds {
    fn from_iter<T: IntoIterator<Item = Arc<dyn RuntimeKind>>>(kinds: T) -> Self {
        Self(kinds.into_iter().collect())
    }
}

impl std::fmt::Debug for RuntimeKinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl RuntimeKinds {
    /// Finds a kind by its name.
    pub fn get(&self, name: &str) -> Option<&dyn RuntimeKind> {
        self.iter().find(|kind| kind.name() == name)
    }

    /// Returns the kinds, in the order of registration.
    pub fn iter(&self) -> impl Iterator<Item = &dyn RuntimeKind> {
        self.0.iter().map(|kind| &**kind)
    }

    /// Returns the names of the kinds.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(RuntimeKind::name)
    }

    /// Returns the settings of all kinds, each key once.
    pub fn settings(&self) -> Vec<Setting> {
        let mut all: Vec<Setting> = Vec::new();
        for setting in self.iter().flat_map(RuntimeKind::settings) {
            if all.iter().all(|known| known.key != setting.key) {
                all.push(setting);
            }
        }
        all
    }

    /// Sets the runtime and the settings of a location, and returns all reasons why the location does not match the
    /// runtime. `wanted` is the name of the requested kind of runtime.
    ///
    /// If `wanted` is `None`, the method chooses the kind that accepts the most keys of the location. If several
    /// kinds accept equally many keys, the method chooses the first of them. The method leaves out settings that
    /// the chosen kind does not accept.
    pub fn fit(
        &self,
        location: &mut Location,
        wanted: Option<&str>,
        settings: BTreeMap<String, String>,
    ) -> Vec<Misfit> {
        let image = location.image.as_ref().map(|_| IMAGE);
        let keys: Vec<&str> = settings.keys().map(String::as_str).chain(image).collect();
        let kind = match wanted {
            Some(name) => self.get(name),
            None => self.usual(&keys),
        };
        if let Some(name) = kind.map(RuntimeKind::name).or(wanted) {
            name.clone_into(&mut location.runtime);
        }
        let Some(kind) = kind else {
            return wanted.map(|name| Misfit::Unknown(name.to_owned())).into_iter().collect();
        };
        let mut misfits = Vec::new();
        for key in keys.iter().filter(|key| !has(kind, key)) {
            misfits.push(Misfit::Key {
                key: (*key).to_owned(),
                runtime: kind.name().to_owned(),
                others: self.named(|kind| has(kind, key)),
            });
        }
        if kind.image() == ImageUse::Required && location.image.is_none() {
            misfits.push(Misfit::NoImage {
                location: location.name.clone(),
                runtime: kind.name().to_owned(),
                others: self.named(|kind| kind.image() != ImageUse::Required),
            });
        }
        location.settings = settings.into_iter().filter(|(key, _)| has(kind, key)).collect();
        misfits.extend(kind.check(location).into_iter().map(Misfit::Setting));
        misfits
    }

    /// Returns the kind that accepts the most of the given keys. If several kinds accept equally many keys, returns
    /// the first of them.
    fn usual(&self, keys: &[&str]) -> Option<&dyn RuntimeKind> {
        self.iter().min_by_key(|kind| keys.iter().filter(|key| !has(*kind, key)).count())
    }

    fn named(&self, is_meant: impl Fn(&dyn RuntimeKind) -> bool) -> Vec<String> {
        self.iter().filter(|kind| is_meant(*kind)).map(|kind| kind.name().to_owned()).collect()
    }

    /// Lists the names of the kinds for a message.
    pub(crate) fn listed(&self) -> String {
        listed(self.names())
    }
}

/// Tells whether a kind of runtime accepts a key of a location. A kind accepts the key `image` if the kind uses
/// images. A kind accepts any other key if the key is one of its settings.
fn has(kind: &dyn RuntimeKind, key: &str) -> bool {
    if key == IMAGE {
        return kind.image() != ImageUse::None;
    }
    kind.settings().iter().any(|setting| setting.key == key)
}
