//! Discovery of instances by the script of a factory. The found instances are compared with the records, and
//! unknown instances are adopted.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use windlass_cron::CronExpression;
use windlass_driver::contract::Found;
use windlass_engine::{
    CheckEnd, EngineError, ExportedInstance, FoundRecorder, Stop, exported_instances, inventory,
};
use windlass_manifest::{Role, check, short_name};
use windlass_model::AssemblyName;
use windlass_model::document::DocumentName;
use windlass_model::record::AssemblyRecord;
use windlass_secret::Redactor;
use windlass_store::{Snapshot, Store, StoreError};

use super::desired::{Inputs, Launchable, desired};
use super::error::{LaunchError, described};
use super::launcher::{Launcher, location_of, taken_names};
use super::managed::{Decision, Known, known};
use super::relatives::{Relatives, is_stated, statement};
use super::title::free;
use crate::error::Error;

/// Maximum number of found instances that are recorded concurrently.
const AT_ONCE: usize = 256;

/// The options of a discovery.
#[derive(Debug, Clone, Default)]
pub struct DiscoverOptions {
    /// Whether the discovery only reports what it has found, and changes nothing.
    pub dry_run: bool,
    /// Whether the discovery also adopts the instances of exported applications.
    pub exported: bool,
    /// Natural ids that the user states to belong to several instances. The discovery adopts an instance with such an
    /// id, although an application of another factory has the same id. The configurations of the two factories must
    /// differ.
    pub same_ids: Vec<String>,
}

/// The result of a discovery.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DiscoveryView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the factory.
    pub factory: AssemblyName,
    /// The found instances, in the order of the script's output, followed by known instances that were not
    /// found.
    pub found: Vec<FoundView>,
}

/// An instance that a discovery has found, or that it should have found.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FoundView {
    /// The natural id of the instance.
    pub natural_id: String,
    /// The name of the instance for display; `None` if the script reports no name.
    pub title: Option<String>,
    /// The application of the instance, if it has one.
    pub name: Option<AssemblyName>,
    /// The result for the instance.
    /// - `new`: not adopted, because of `--dry-run` or a problem.
    /// - `adopted`: now an application.
    /// - `known`: already an application. No reported change was applied.
    /// - `changed`: already an application. Reported changes were applied, or would be applied without `--dry-run`.
    /// - `destroyed`: the script reports that the instance no longer exists. Without `--dry-run`, the application is
    ///   removed.
    /// - `gone`: the script did not find the instance. The records do not change.
    /// - `exported`: not adopted. The application of the instance was exported, so another store may manage it.
    /// - `waits`: not adopted. The launch of an application is unfinished or has failed, and may have created the
    ///   instance.
    pub result: &'static str,
    /// The reason why the instance was not adopted, or why a reported change was not applied.
    pub problem: Option<String>,
}

/// Derives a name for an application that will be adopted. The name comes from the name of the found instance or
/// from its natural id. If neither yields a valid name, the name of the published application is used. The caller
/// appends a number if the name is taken.
pub(crate) fn name_base(found: &Found, application: &AssemblyName) -> AssemblyName {
    let title = found.name.as_deref().unwrap_or(&found.natural);
    let name = short_name(title).or_else(|| short_name(&found.natural));
    name.unwrap_or_else(|| application.clone())
}

impl Launcher<'_> {
    /// Runs the discovery script of a factory. A found instance without an application becomes an application of the
    /// latest revision. Instances of exported applications are adopted only if [`DiscoverOptions::exported`] is set.
    /// Reported changes are applied to known instances. A dry run changes nothing.
    ///
    /// # Errors
    /// Fails if the factory has no discovery, or if the script or the store fails. Also fails unless exactly one
    /// environment contains the factory.
    pub async fn discover(
        &self,
        factory: &AssemblyName,
        options: DiscoverOptions,
        stop: &Stop,
    ) -> Result<DiscoveryView, Error> {
        let DiscoverOptions { dry_run, exported: adopts_exported, same_ids } = options;
        let from = self.launched_from(factory).await?;
        let of_factory = self.own_revision(factory, &from).await?;
        let checked = check(&of_factory.manifest);
        let discovery = match &checked.role {
            Some(Role::Factory(role)) => role.discovery.clone(),
            _ => None,
        };
        let discovery = discovery.ok_or_else(|| LaunchError::NoDiscovery(factory.clone()))?;
        let environment = self.environment_of(factory).await?;
        let store = self.windlass.store_of(factory).await?;
        let engine = self.windlass.engine(store.clone());
        let snapshot = self.windlass.open_snapshot(factory).await?;
        let before = (known(&*store, factory).await?, Relatives::of(&*store, &snapshot).await?);
        let mut found = inventory(&engine, factory, stop).await?.map_err(|failure| {
            LaunchError::Discovery { factory: factory.clone(), failure: Box::new(failure) }
        })?;
        // The factory may have another configuration now.
        let snapshot = self.windlass.open_snapshot(factory).await?;
        let mut known = known(&*store, factory).await?;
        let relatives = Relatives::of(&*store, &snapshot).await?;
        // The script may have listed instances that were destroyed while it ran, through this or another factory.
        let has = |(known, relatives): (&Known, &Relatives), natural: &str| {
            known.by_natural.contains_key(natural) || relatives.have(natural)
        };
        let is_removed =
            |natural: &String| has((&before.0, &before.1), natural) && !has((&known, &relatives), natural);
        found.retain(|found| !is_removed(&found.natural));
        let published = self.windlass.applications().find(&discovery.application.value, None).await?;
        let application = Launchable::new(&published, self.windlass.drivers())?;
        let holder = self.windlass.holder();
        let hidden = Redactor::new(secrets(&snapshot));
        // Another command may take a name or claim an instance in the meantime. The adoption is then refused, and the
        // next discovery tries it again.
        let mut taken = taken_names(&*store).await?;
        let mut launching = before.0.launching.iter().chain(before.1.all_launching());
        let removed = launching.find(|name| !taken.contains(*name));
        known.launching.extend_from_slice(&relatives.launching_of_twins);
        let exported = exported_of(&*store, &snapshot.assembly, &relatives).await?;
        let search = Search {
            launcher: self,
            recorder: FoundRecorder::new(&engine, &holder),
            factory,
            environment: environment.as_str(),
            location: location_of(&snapshot),
            application: &application,
            dry_run,
            exported: &exported,
            same_ids: &same_ids,
            stop,
        };
        let mut decided = Vec::new();
        for found in found {
            let mut view = FoundView {
                natural_id: hidden.mask_str(&found.natural),
                title: found.name.as_deref().map(|name| hidden.mask_str(name)),
                name: None,
                result: "new",
                problem: found.report.as_ref().err().map(described),
            };
            let work = match known.decide(&found) {
                Decision::Known(name) => {
                    view.name = Some(name.clone());
                    Some(FoundWork::Apply(name, found))
                }
                Decision::Ignored => continue,
                // Masking has changed the natural id or the title, so one of them contains a secret. The name
                // of the application would show the secret.
                Decision::Waits | Decision::New
                    if view.natural_id != found.natural || view.title != found.name =>
                {
                    view.problem = Some(
                        "its natural id or its name holds a secret of the factory, and both are shown in clear; the \
                         discovery script must report others"
                            .to_owned(),
                    );
                    None
                }
                Decision::Waits | Decision::New
                    if !adopts_exported && let Some([export, ..]) = search.exports_of(&found) =>
                {
                    view.result = "exported";
                    view.problem = Some(not_adopted(export, factory));
                    None
                }
                Decision::Waits | Decision::New if view.problem.is_some() => None,
                Decision::Waits => {
                    view.result = "waits";
                    view.problem = Some(waits_for(&known.launching));
                    None
                }
                Decision::New if let Some(launched) = removed => {
                    view.result = "waits";
                    view.problem = Some(format!(
                        "`{launched}` was removed during the discovery, and its launch may have made it; if it still \
                         exists, the next discovery adopts it"
                    ));
                    None
                }
                Decision::New
                    if let Some(refusal) = relatives.refusal(factory, &found.natural, &same_ids) =>
                {
                    view.problem = Some(refusal);
                    None
                }
                Decision::New if let launching @ [_, ..] = relatives.launching(&found.natural, &same_ids) => {
                    view.result = "waits";
                    let adopt = statement(factory, &found.natural);
                    view.problem = Some(format!(
                        "{}; if it is another instance, adopt it with {adopt}",
                        waits_for(launching)
                    ));
                    None
                }
                Decision::New if dry_run => None,
                Decision::New => {
                    let name = free(&name_base(&found, &published.name), |name| taken.contains(name));
                    taken.insert(name.clone());
                    Some(FoundWork::Adopt(name, found))
                }
            };
            decided.push((view, work));
        }
        let is_adopted = |work: &Option<FoundWork>| matches!(work, Some(FoundWork::Adopt(..)));
        search.recorder.reserve(decided.iter().filter(|(_, work)| is_adopted(work)).count()).await?;
        // The store writes the records of concurrent changes together.
        let recorded = decided.into_iter().map(|(view, work)| search.record(view, work));
        let mut views: Vec<FoundView> = stream::iter(recorded).buffered(AT_ONCE).try_collect().await?;
        let gone = known.by_natural.into_iter().map(|(natural_id, name)| FoundView {
            natural_id,
            title: None,
            name: Some(name),
            result: "gone",
            problem: None,
        });
        views.extend(gone);
        Ok(DiscoveryView { version: 1, factory: factory.clone(), found: views })
    }

    /// Returns the times at which a factory discovers instances. Returns `None` for an application, and for a
    /// factory without discovery.
    ///
    /// # Errors
    /// Fails if there is no such assembly, if the assembly is neither an application nor a factory, or if its
    /// revision is no longer published.
    pub async fn discovery_times(&self, factory: &AssemblyName) -> Result<Option<CronExpression>, Error> {
        let from = self.launched_from(factory).await?;
        let published = self.own_revision(factory, &from).await?;
        let Some(Role::Factory(role)) = check(&published.manifest).role else { return Ok(None) };
        // The schedule is valid, because the check of manifests refuses invalid schedules.
        Ok(role.discovery.and_then(|discovery| discovery.schedule.value.parse().ok()))
    }

    /// Returns the environment that contains a factory as a service. Returns an error unless there is exactly one such
    /// environment.
    async fn environment_of(&self, factory: &AssemblyName) -> Result<DocumentName, Error> {
        let environments = self.windlass.environments();
        let mut of = Vec::new();
        for environment in environments.list().await?.environments {
            if environments.find(&environment.name).await?.services.contains_key(factory) {
                of.push(environment.name);
            }
        }
        if let [only] = of.as_slice() {
            return Ok(only.clone());
        }
        let environments = of.iter().map(ToString::to_string).collect();
        Err(LaunchError::NotOneEnvironment { factory: factory.clone(), environments }.into())
    }
}

/// A change that a discovery makes to the records after it has found an instance.
enum FoundWork {
    /// Applies the report about an instance to this known application.
    Apply(AssemblyName, Found),
    /// Adopts the instance as a new application of this name.
    Adopt(AssemblyName, Found),
}

/// The context in which a discovery records the instances that it has found.
struct Search<'a> {
    launcher: &'a Launcher<'a>,
    recorder: FoundRecorder<'a>,
    factory: &'a AssemblyName,
    environment: &'a str,
    location: &'a str,
    application: &'a Launchable<'a>,
    dry_run: bool,
    /// The exports of applications whose instances the factory may find. Each key is the natural id of an instance.
    exported: &'a BTreeMap<String, Vec<Export>>,
    /// The field of [`DiscoverOptions`].
    same_ids: &'a [String],
    stop: &'a Stop,
}

impl Search<'_> {
    /// Returns the exports of a found instance; `None` if it was not exported.
    fn exports_of(&self, found: &Found) -> Option<&[Export]> {
        self.exported.get(&found.natural).map(Vec::as_slice)
    }

    /// Makes the change `work`, and writes the result into the view of the found instance. If `work` is `None`,
    /// changes nothing. In a dry run, only determines the result that the change would have. Fails if `self.stop`
    /// is triggered.
    async fn record(&self, mut view: FoundView, work: Option<FoundWork>) -> Result<FoundView, Error> {
        if self.stop.is_requested() {
            return Err(EngineError::Stopped.into());
        }
        match work {
            Some(FoundWork::Apply(name, found)) => self.apply(&name, found, &mut view).await?,
            Some(FoundWork::Adopt(name, found)) => self.adopt(name, found, &mut view).await?,
            None => {}
        }
        Ok(view)
    }

    /// Applies the report about a found instance to its application. In a dry run, changes no record.
    async fn apply(&self, name: &AssemblyName, found: Found, view: &mut FoundView) -> Result<(), Error> {
        let end = if self.dry_run {
            self.recorder.preview(name, found).await?
        } else {
            self.recorder.apply(name, found).await?
        };
        view.result = match end {
            CheckEnd::Applied { changed: true, .. } => "changed",
            CheckEnd::Destroyed if self.dry_run => "destroyed",
            CheckEnd::Destroyed => {
                // Boxed because of its size.
                Box::pin(self.launcher.finish_destroyed(name, self.stop)).await?;
                "destroyed"
            }
            CheckEnd::Dropped(why) => {
                view.problem = Some(why);
                "known"
            }
            CheckEnd::Failed(failure) => {
                view.problem = Some(described(&failure));
                "known"
            }
            _ => "known",
        };
        Ok(())
    }

    /// Records a found instance as an application of the latest revision.
    async fn adopt(&self, name: AssemblyName, found: Found, view: &mut FoundView) -> Result<(), Error> {
        let parameters = BTreeMap::new();
        let inputs = Inputs {
            name: &name,
            environment: self.environment,
            location: self.location,
            owner: Some(self.factory.clone()),
            parameters: &parameters,
            variables: &BTreeMap::new(),
            open: &[],
            adopted: true,
        };
        let (desired, _) = desired(self.application, &inputs)?;
        // The export of another instance with the same natural id stays recorded.
        let exports = self.exports_of(&found).unwrap_or_default().iter();
        let exported: Vec<ExportedInstance> =
            exports.filter(|export| export.is_same_instance).map(|export| export.instance.clone()).collect();
        let same_id = is_stated(&found.natural, self.same_ids);
        match self.recorder.adopt(desired, found, &exported, same_id).await? {
            Ok(()) => (view.name, view.result) = (Some(name), "adopted"),
            Err(failure) => view.problem = Some(described(&failure)),
        }
        Ok(())
    }
}

/// The export of an application whose instance a factory may find.
struct Export {
    instance: ExportedInstance,
    /// Whether the factory surely finds the instance of this export. If not, the factory may find another instance with
    /// the same natural id.
    is_same_instance: bool,
}

/// Reads the exports of applications whose instances `factory` may find. The keys of the result are the natural ids of
/// the instances.
async fn exported_of(
    store: &dyn Store,
    factory: &AssemblyRecord,
    relatives: &Relatives,
) -> Result<BTreeMap<String, Vec<Export>>, StoreError> {
    let mut exported = BTreeMap::<String, Vec<Export>>::new();
    for instance in exported_instances(store).await? {
        if instance.may_be_found_by(factory) {
            let of_twin = instance.is_owner_here && relatives.twins.contains(&instance.owner);
            let is_same_instance = of_twin || instance.belongs_to(factory);
            exported
                .entry(instance.natural_id.clone())
                .or_default()
                .push(Export { instance, is_same_instance });
        }
    }
    Ok(exported)
}

/// Returns the reason why the instance of an exported application is not adopted.
fn not_adopted(Export { instance, is_same_instance }: &Export, factory: &AssemblyName) -> String {
    let ExportedInstance { application, owner, is_owner_here, file, .. } = instance;
    if !is_same_instance {
        return format!(
            "the instance of `{application}`, an application of the factory `{owner}`, has the same natural id, and was \
             exported to `{file}`; if no other store manages this instance, adopt it with `windlass app discover \
             {factory} --exported`"
        );
    }
    let or = if *is_owner_here {
        format!("; take it back with `windlass import {file}`, or,")
    } else {
        format!(", and its factory `{owner}` no longer exists;")
    };
    format!(
        "it is the instance of `{application}`, which was exported to `{file}`{or} if no other store manages it, adopt \
         it with `windlass app discover {factory} --exported`"
    )
}

/// Returns the reason why an unknown instance is not adopted: the launches of the applications `launching` may have
/// created the instance.
fn waits_for(launching: &[AssemblyName]) -> String {
    /// The maximum number of applications that the returned text lists by name.
    const NAMED: usize = 5;
    if let [only] = launching {
        return format!(
            "the launch of `{only}` may have made it; finish it with `windlass retry {only}`, or end it with \
             `windlass app destroy {only}`"
        );
    }
    let named: Vec<String> = launching.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let more = match launching.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "one of the launches of {}{more} may have made it; finish each with `windlass retry NAME`, or end it with \
         `windlass app destroy NAME`",
        named.join(", ")
    )
}

/// Returns the values of the secrets of an assembly.
fn secrets(snapshot: &Snapshot) -> Vec<String> {
    let values = snapshot.secrets.values();
    values.filter_map(|value| String::from_utf8(value.expose().clone()).ok()).collect()
}
