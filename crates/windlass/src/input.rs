//! The input from which an assembly is created, changed or planned.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use windlass_descriptor::GivenPlaces;
use windlass_engine::Consent;
use windlass_model::assembly::{MaxSurge, MaxUnavailable};
use windlass_model::{AssemblyName, State};
use windlass_source::Place;

/// The input for an assembly that is created, changed or planned: a descriptor, parameters and options.
#[derive(Debug, Clone)]
#[must_use]
pub struct AssemblyInput {
    pub(crate) file: PathBuf,
    pub(crate) name: Option<AssemblyName>,
    pub(crate) parameters: BTreeMap<String, Value>,
    pub(crate) places: GivenPlaces,
    pub(crate) open: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) catalog: Vec<PathBuf>,
    pub(crate) goal: State,
    pub(crate) adopt: bool,
    pub(crate) replace: Vec<String>,
    pub(crate) target: Vec<String>,
    pub(crate) except: Vec<String>,
    pub(crate) max_unavailable: Option<MaxUnavailable>,
    pub(crate) max_surge: Option<MaxSurge>,
    pub(crate) current_packages: bool,
    pub(crate) protect: bool,
    pub(crate) consent: Consent,
    pub(crate) refresh: Option<Duration>,
}

/// Default maximum time of the health checks that run before planning.
pub const REFRESH_TIMEOUT: Duration = Duration::from_secs(30);

impl AssemblyInput {
    /// Creates the input for the descriptor in a file or folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            name: None,
            parameters: BTreeMap::new(),
            places: GivenPlaces::default(),
            open: Vec::new(),
            environment: BTreeMap::new(),
            catalog: Vec::new(),
            goal: State::Active,
            adopt: false,
            replace: Vec::new(),
            target: Vec::new(),
            except: Vec::new(),
            max_unavailable: None,
            max_surge: None,
            current_packages: false,
            protect: false,
            consent: Consent::Any,
            refresh: Some(REFRESH_TIMEOUT),
        }
    }

    /// Sets the assembly's name. `None` means the name in the descriptor, such as `shop` for `assembly::shop::1.0`.
    pub fn name(mut self, name: Option<AssemblyName>) -> Self {
        self.name = name;
        self
    }

    /// Sets a parameter: the value that the user gives to the property `name` of the assembly.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Sets the source location at which a parameter is named. Messages about the parameter show this location.
    pub fn parameter_at(mut self, name: impl Into<String>, place: Place) -> Self {
        self.places.names.insert(name.into(), place);
        self
    }

    /// Sets the source locations of the entries of a list parameter. A message about an entry shows its location.
    pub fn entries_at(mut self, name: impl Into<String>, places: Vec<Place>) -> Self {
        self.places.entries.insert(name.into(), places);
        self
    }

    /// Sets the names of fields that were left out of the entries of a list parameter. For example, windlass converts
    /// an Ansible inventory to a list, and leaves out variables whose values are Jinja expressions. If a descriptor
    /// uses such a field, the error message explains why the field was left out.
    pub fn fields_left_out(mut self, name: impl Into<String>, fields: BTreeSet<String>) -> Self {
        self.places.left_out.insert(name.into(), fields);
        self
    }

    /// States that the value of the parameter `name` is the text of a file. `file` is the name of this file. Messages
    /// about the value show this name.
    pub fn parameter_from(mut self, name: impl Into<String>, file: impl Into<String>) -> Self {
        self.places.files.insert(name.into(), file.into());
        self
    }

    /// States in words how the parameter `name` got its value, such as `` by `-p nodes` ``. Messages about the value
    /// show these words.
    pub fn parameter_source(mut self, name: impl Into<String>, source: impl Into<String>) -> Self {
        self.places.sources.insert(name.into(), source.into());
        self
    }

    /// Sets a parameter whose value other people could see, for example on a command line. Planning warns if the
    /// property `name` is a secret.
    pub fn open_parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        self.open.push(name.clone());
        self.parameter(name, value)
    }

    /// Sets environment variables from which properties get their values. If [`parameter`](Self::parameter)
    /// sets a property, the variable of this property is ignored. The name of the variable is the name of the
    /// property in upper case, with `_` for `-` and `.`. For example, `NODE_COUNT` is the variable of
    /// `node-count`. Planning warns if a property gets its value from a variable and is a secret, because
    /// other people could see the value.
    ///
    /// Variables without a matching property are ignored, because a user may set variables for several
    /// assemblies at once. Variables of properties that can't be set are ignored, too.
    pub fn environment(mut self, values: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(values);
        self
    }

    /// Tells whether the input has a value for a property, as a parameter or by an environment variable.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.parameters.contains_key(name) || self.environment.contains_key(&variable(name))
    }

    /// Copies the value of the property `name` from the input `given`. In `given`, the value is a parameter or an
    /// environment variable, and the copy has the same form. If `given` contains both, only the parameter is
    /// copied. If `given` contains no value for the property, changes nothing.
    pub(crate) fn parameter_of(mut self, given: &Self, name: &str) -> Self {
        if let Some(value) = given.parameters.get(name) {
            let is_open = given.open.iter().any(|open| open == name);
            self.places.copy(&given.places, name);
            return if is_open {
                self.open_parameter(name, value.clone())
            } else {
                self.parameter(name, value.clone())
            };
        }
        let variable = variable(name);
        let value = given.environment.get(&variable).cloned();
        self.environment(value.map(|value| (variable, value)))
    }

    /// Sets the goal state of all parts. The default is Active.
    pub fn goal(mut self, goal: State) -> Self {
        self.goal = goal;
        self
    }

    /// Sets whether windlass takes over existing instances in place of creating new instances.
    pub fn adopt(mut self, adopt: bool) -> Self {
        self.adopt = adopt;
        self
    }

    /// Adds parts that are re-created even if they have not changed. The names of the parts are relative to the
    /// assembly, for example `B__1`.
    pub fn replace(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.replace.extend(parts);
        self
    }

    /// Sets the number of nodes of a group that a change may stop at the same time. The number applies to each
    /// group by itself. The default is the number that the descriptor declares for the group. Without a declared
    /// number, the default depends on the relationships of the group. If a relationship joins the group with
    /// another component, the default is 1. Otherwise, the default is all nodes of the group.
    pub fn max_unavailable(mut self, count: Option<MaxUnavailable>) -> Self {
        self.max_unavailable = count;
        self
    }

    /// Sets the number of additional nodes that a group has during a change. The number applies to each group
    /// by itself. The default is the number that the descriptor declares for the group, or 0 without a
    /// declaration.
    pub fn max_surge(mut self, count: Option<MaxSurge>) -> Self {
        self.max_surge = count;
        self
    }

    /// Sets where windlass takes the scripts from when it stops or removes parts. If `current` is true, it takes them
    /// from the packages on disk. If `current` is false, it takes them from the pinned packages. These are the copies
    /// that the store has kept since the creation of the parts. The default is false.
    pub fn current_packages(mut self, current: bool) -> Self {
        self.current_packages = current;
        self
    }

    /// Limits the plan to some parts and their dependencies. The names of the parts are relative to the assembly, for
    /// example `B__1`.
    pub fn target(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.target.extend(parts);
        self
    }

    /// Excludes some parts from the plan, so that these parts do not change. The names of the parts are relative to the
    /// assembly, for example `B__1`. Planning fails if another part needs an excluded part that does not exist yet.
    pub fn except(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.except.extend(parts);
        self
    }

    /// Sets whether all parts are protected. windlass refuses an intent that would remove or replace a protected
    /// part. The protection also holds for later intents, until the next `up` without this setting.
    pub fn protect(mut self, protect: bool) -> Self {
        self.protect = protect;
        self
    }

    /// Sets the user's consent. A plan needs the consent if it removes or replaces installed parts. By default, the
    /// user consents to every such plan.
    pub fn consent(mut self, consent: Consent) -> Self {
        self.consent = consent;
        self
    }

    /// Sets the maximum time for the health checks before planning. The plan repairs the parts that
    /// are gone or broken according to the checks. `None` disables the checks. Default: [`REFRESH_TIMEOUT`].
    pub fn refresh(mut self, within: Option<Duration>) -> Self {
        self.refresh = within;
        self
    }

    /// Adds folders that are searched for descriptors.
    pub fn catalog(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.catalog.extend(folders);
        self
    }
}

/// Returns the name of the environment variable for a property. For example, `NODE_COUNT` is the variable for the
/// property `node-count`.
pub(crate) fn variable(property: &str) -> String {
    property.to_uppercase().replace(['-', '.'], "_")
}
