//! Plans that are saved, reviewed, and later executed exactly as they were.
//!
//! A saved plan records its inputs: the intent, the descriptor, the parameters, the digests of packages, and
//! the last process of the assembly. Before execution, the plan is computed again under the lease. If the
//! result differs, the execution is refused. Secrets are not saved; the user provides them again.

mod carry;
mod error;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_driver::Package;
use windlass_engine::{Condition, Desired, EngineError, Preview, Selection, conditions, fingerprint};
use windlass_model::assembly::{MaxSurge, MaxUnavailable, PackageDigest};
use windlass_model::record::Intent;
use windlass_model::sorted::Sorted;
use windlass_model::{AssemblyName, DescriptorName, ElementName, ProcessId, State, Timestamp, Topology};
use windlass_project::{Project, output};
use windlass_source::files::{self, MAX_SIZE};

use crate::document::{self, Format};
use crate::error::Error;
use crate::input::AssemblyInput;
use crate::view::plan::PlanView;

pub use error::SavedPlanError;

/// The format of plan files. [`upgrade`] converts files of version 1.
const FORMAT: Format = Format { kind: "windlass plan", version: 2, upgrade };

/// A plan with its inputs, as a plan file contains it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    assembly: AssemblyName,
    made: Timestamp,
    base: Base,
    intent: Intent,
    /// The inputs of the intent `up`; `None` for other intents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    up: Option<Recipe>,
    /// The file with the assembly's descriptor. When windlass applies the plan, it searches for the packages in the
    /// folders around this file; see [`DiskCatalog::around`](windlass_project::DiskCatalog::around). Only a `down` with
    /// the packages on disk needs the file. For any other plan, the value is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packages_around: Option<PathBuf>,
    /// The parts to which the intent `down` is limited.
    #[serde(default, skip_serializing_if = "Selection::is_all")]
    selection: Selection,
    /// The digests of the packages that belong to the intent.
    packages: BTreeMap<DescriptorName, PackageDigest>,
    /// The digest of each [section](Project::sections) of `windlass.yaml`. `None` if an older version of windlass saved
    /// the plan: such a version did not compare `windlass.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<BTreeMap<String, String>>,
    /// The digest of each element and relationship that the descriptor declares.
    elements: BTreeMap<String, String>,
    /// The plan as JSON, without the source places of declarations.
    plan: Value,
    /// The changes of elements as JSON, without the source places of declarations.
    changes: Value,
    /// The parts that health checks found gone or broken; `None` if nothing was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed: Option<BTreeMap<ElementName, Condition>>,
}

/// The state on which a plan is based.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    /// The store's id; `None` if there was no store yet.
    store: Option<String>,
    /// The root of the project.
    root: PathBuf,
    /// The last process of the assembly; 0 if it had none.
    last: ProcessId,
    /// The last process of each referenced assembly. A newer process may have changed a secret of the referenced
    /// assembly, and the digests in [`SavedPlan::elements`] do not show this change. So if a newer process exists, the
    /// plan is out of date.
    #[serde(default)]
    references: BTreeMap<AssemblyName, ProcessId>,
}

/// The inputs of the intent `up`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    file: PathBuf,
    catalog: Vec<PathBuf>,
    parameters: BTreeMap<String, Value>,
    /// The names of the parameters that are secrets.
    secrets: BTreeSet<String>,
    goal: State,
    adopt: bool,
    replace: Vec<String>,
    target: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    except: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_unavailable: Option<MaxUnavailable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_surge: Option<MaxSurge>,
    /// Whether windlass stops and removes parts by the scripts of the packages on disk. If false, windlass uses the
    /// scripts of the pinned packages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    current_packages: bool,
    /// Whether the assembly is protected by `--protect`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    protect: bool,
}

/// Converts the content of a plan file from version 1 to version 2. In version 1, the key `asked` contains the intent
/// together with the intent's inputs. In version 2, the keys `intent`, `up` and `packages_around` contain them.
fn upgrade(_: u64, mut plan: Value) -> Value {
    let asked = plan.as_object_mut().and_then(|plan| plan.remove("asked")).unwrap_or_default();
    let (name, mut inputs) = match asked {
        Value::Object(mut entries) => match entries.iter_mut().next() {
            Some((name, inputs)) => (name.clone(), inputs.take()),
            None => return plan,
        },
        intent => {
            plan["intent"] = intent;
            return plan;
        }
    };
    match name.as_str() {
        "up" => {
            plan["intent"] = if inputs["adopt"] == true { "adopt" } else { "up" }.into();
            plan["up"] = inputs;
        }
        "down-with" => {
            plan["intent"] = "down".into();
            plan["packages_around"] = inputs["file"].take();
        }
        "rollback" if inputs.is_null() => plan["intent"] = json!({ name: 0 }),
        _ => plan["intent"] = json!({ name: inputs }),
    }
    plan
}

impl SavedPlan {
    /// Reads a saved plan from a file.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be read, is damaged, or is not a saved plan.
    pub fn read(file: &Path) -> Result<Self, Error> {
        Self::read_within(file, MAX_SIZE)
    }

    /// Reads a saved plan of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Fails for the reasons of [`read`](Self::read).
    pub fn read_within(file: &Path, limit: usize) -> Result<Self, Error> {
        let text = files::read_text(file, limit)
            .map_err(|source| Error::File { path: file.to_owned(), source: source.into() })?;
        let read = document::read(&FORMAT, &text);
        Ok(read.map_err(|cause| SavedPlanError::File { file: file.to_owned(), cause })?)
    }

    /// Writes the plan to a file atomically. A device or a pipe is written directly.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be written.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        let failed = |source| Error::Write { path: file.to_owned(), source };
        let text = document::write(&FORMAT, self).map_err(|error| failed(error.into()))?;
        output::write(file, text.as_bytes(), 0o666).map_err(failed)
    }

    /// Sets the plan and its changes, and returns them as a view.
    fn fill(&mut self, preview: Preview) -> PlanView {
        self.plan = fingerprint(&preview.plan);
        self.changes = fingerprint(&preview.diff);
        self.observed = preview.seen.as_deref().map(conditions);
        PlanView::of(self.assembly.clone(), preview)
    }

    /// If `error` reports a changed plan, and the plan uses secrets, returns [`SavedPlanError::OtherSecrets`] instead.
    /// Returns any other error unchanged. The user gives the secrets again for each execution. So the plan may have
    /// changed because the user gave another value of a secret.
    fn explain(&self, error: Error) -> Error {
        match (&self.up, error) {
            (Some(recipe), Error::Engine(EngineError::OtherPlan(assembly))) if !recipe.secrets.is_empty() => {
                let secrets = recipe.secrets.iter().cloned().collect();
                SavedPlanError::OtherSecrets { assembly, secrets }.into()
            }
            (_, error) => error,
        }
    }

    /// Returns the name of the assembly that the plan changes.
    pub fn assembly(&self) -> &AssemblyName {
        &self.assembly
    }

    /// Returns the names of the parameters that are secrets. The file of the plan does not contain their values.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.up.iter().flat_map(|recipe| &recipe.secrets).map(String::as_str)
    }

    /// Refuses the user's input `given` in two cases: a secret of the plan is missing, or `given` contains a
    /// parameter that is not a secret of the plan. The second case does not apply to parameters from files and
    /// environment variables, because other plans may need them.
    fn check_secrets(&self, given: &AssemblyInput) -> Result<(), SavedPlanError> {
        let none = BTreeSet::new();
        let secrets = self.up.as_ref().map_or(&none, |recipe| &recipe.secrets);
        let missing: Vec<String> = secrets.iter().filter(|name| !given.gives(name)).cloned().collect();
        let unknown = given.parameters.keys().filter(|name| !given.places.names.contains_key(*name));
        let unknown: Vec<String> = unknown.filter(|name| !secrets.contains(*name)).cloned().collect();
        if missing.is_empty() && unknown.is_empty() {
            Ok(())
        } else {
            Err(SavedPlanError::Secrets { missing, unknown })
        }
    }

    /// Rebuilds the input of an `up` plan, with the given values of its secrets.
    fn input(&self, recipe: &Recipe, root: &Path, given: &AssemblyInput) -> AssemblyInput {
        let Recipe {
            file,
            catalog,
            parameters,
            secrets,
            goal,
            adopt,
            replace,
            target,
            except,
            max_unavailable,
            max_surge,
            current_packages,
            protect,
        } = recipe;
        let mut input = AssemblyInput::new(root.join(file))
            .name(Some(self.assembly.clone()))
            .catalog(catalog.iter().map(|folder| root.join(folder)))
            .goal(*goal)
            .adopt(*adopt)
            .replace(replace.clone())
            .target(target.clone())
            .except(except.clone())
            .max_unavailable(*max_unavailable)
            .max_surge(*max_surge)
            .current_packages(*current_packages)
            .protect(*protect);
        for (name, value) in parameters {
            input = input.parameter(name, value.clone());
        }
        for name in secrets {
            input = input.parameter_of(given, name);
        }
        input
    }

    /// Lists the [sections](Project::sections) of `windlass.yaml` that have changed since the plan was saved.
    fn moved_sections(&self, project: &Project) -> Vec<String> {
        let Some(saved) = &self.project else { return Vec::new() };
        let present = project.sections();
        let names: BTreeSet<&String> = saved.keys().chain(present.keys()).collect();
        let changed = names.into_iter().filter_map(|name| {
            let change = match (saved.get(name), present.get(name)) {
                (Some(saved), Some(present)) if saved == present => return None,
                (Some(_), Some(_)) => "has changed",
                (Some(_), None) => "was removed",
                (None, _) => "was added",
            };
            Some(format!("`{name}` of `windlass.yaml` {change}"))
        });
        changed.collect()
    }

    /// Lists the packages that have changed since the plan was saved.
    fn moved_packages(&self, packages: &[Arc<Package>]) -> Vec<String> {
        let packages = packages_of(packages);
        let names: BTreeSet<&DescriptorName> = self.packages.keys().chain(packages.keys()).collect();
        let changed = names.into_iter().filter(|name| self.packages.get(*name) != packages.get(*name));
        changed.map(|name| format!("the package of `{name}` has changed")).collect()
    }

    /// Compares the saved digests with `desired`, which was built from the present files. Returns a text for each
    /// changed package, and one text about all changed elements and relationships.
    fn moved_files(&self, desired: &Desired) -> Vec<String> {
        let mut what = self.moved_packages(&desired.packages);
        let elements = elements_of(&desired.topology);
        let names: BTreeSet<&String> = self.elements.keys().chain(elements.keys()).collect();
        let changed: Vec<String> = names
            .into_iter()
            .filter(|name| self.elements.get(*name) != elements.get(*name))
            .map(|name| format!("`{name}`"))
            .collect();
        if !changed.is_empty() {
            let first = changed.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = match changed.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            what.push(format!(
                "{first}{more} would differ: the descriptor, `windlass.yaml` or a reference has changed"
            ));
        }
        what
    }
}

/// Maximum number of changed elements or processes that a message names. If there are more, the message names the
/// first ones and the number of the remaining ones.
const NAMED: usize = 3;

fn packages_of(packages: &[Arc<Package>]) -> BTreeMap<DescriptorName, PackageDigest> {
    packages.iter().map(|package| (package.name().clone(), package.digest().clone())).collect()
}

/// Returns a digest of each element and relationship. The key of an element is its name in the assembly, such as
/// `web__2`. The key of a relationship is `ASSEMBLY:NAME`. The digest stays the same if a declaration only moves to
/// another line or file.
fn elements_of(topology: &Topology) -> BTreeMap<String, String> {
    let digest = |part: Value| document::digest(&Sorted(&part).to_string());
    let local = |name: &ElementName| match name.local() {
        "" => name.to_string(),
        local => local.to_owned(),
    };
    let elements = topology.elements().iter();
    let mut all: BTreeMap<String, String> =
        elements.map(|element| (local(&element.name), digest(fingerprint(element)))).collect();
    all.extend(topology.relationships().iter().map(|relationship| {
        (format!("{}:{}", relationship.assembly, relationship.name), digest(fingerprint(relationship)))
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a plan file of version 1. `asked` is the content of the key `asked`: an intent with its inputs.
    fn v1(asked: &Value) -> SavedPlan {
        let content = json!({
            "assembly": "t", "made": 1, "base": { "store": null, "root": "/project", "last": 0 },
            "asked": asked, "packages": {}, "elements": {}, "plan": null, "changes": null,
        });
        let text = document::write(&Format::first(FORMAT.kind), &content).unwrap();
        document::read(&FORMAT, &text).unwrap()
    }

    #[test]
    fn plans_of_version_1_are_read() {
        let mut recipe = json!({
            "file": "t/assembly.yaml", "catalog": [], "parameters": { "n": 1 }, "secrets": ["key"],
            "goal": "Active", "adopt": false, "replace": [], "target": [],
        });
        let up = v1(&json!({ "up": recipe }));
        assert_eq!((up.intent, up.up.unwrap().file), (Intent::Up, "t/assembly.yaml".into()));
        recipe["adopt"] = true.into();
        assert_eq!(v1(&json!({ "up": recipe })).intent, Intent::Adopt);
        let down = v1(&json!({ "down-with": { "file": "t/assembly.yaml" } }));
        assert_eq!((down.intent, down.packages_around), (Intent::Down, Some("t/assembly.yaml".into())));
        for (asked, intent) in [
            (json!("down"), Intent::Down),
            (json!("retry"), Intent::Retry),
            (json!({ "scale-in": "t__web" }), Intent::ScaleIn("t__web".parse().unwrap())),
            (json!({ "rollback": null }), Intent::Rollback(None)),
            (json!({ "rollback": 2 }), Intent::Rollback(Some(ProcessId(2)))),
        ] {
            assert_eq!(v1(&asked).intent, intent);
        }
    }
}
