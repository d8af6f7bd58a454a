//! Renaming of an assembly.

use serde::Serialize;
use windlass_engine::Stop;
use windlass_model::AssemblyName;
use windlass_model::rename::Renaming;
use windlass_store::Batch;

use crate::error::Error;
use crate::upkeep::Upkeep;
use crate::wiring::move_past_targets;

/// The result of renaming an assembly.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RenameView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The new name of the assembly.
    pub assembly: AssemblyName,
    /// The previous name of the assembly.
    pub from: AssemblyName,
    /// The title of the application from which the assembly was launched; `None` for an assembly with a
    /// descriptor.
    pub application: Option<String>,
    /// The assemblies that reference the renamed assembly, and the applications of a renamed factory. Their
    /// records contain the new name.
    pub followed: Vec<AssemblyName>,
    /// The names of the environments of which the assembly is a service. The records of these environments contain the
    /// new name.
    pub environments: Vec<String>,
}

impl Upkeep<'_> {
    /// Gives an assembly another name in all of its records, and calls no driver. Instances keep their ids. The values
    /// of `${instance.name}` stay until the next `up`.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or if the new name is in use or has a history. Fails if another program
    /// holds the lease of this assembly or of an assembly that refers to it. Fails if the last process of one of these
    /// assemblies was interrupted. In all these cases, nothing is changed.
    pub async fn rename(
        &self,
        from: &AssemblyName,
        to: &AssemblyName,
        stop: &Stop,
    ) -> Result<RenameView, Error> {
        let store = self.windlass.store_of(from).await?;
        let renaming = Renaming { from: from.clone(), to: to.clone() };
        let drafts = self.windlass.environments().renamed(&*store, &renaming).await?;
        let environments = drafts.iter().map(|draft| draft.key.name.to_string()).collect();
        let documents = drafts.into_iter().fold(Batch::new(), Batch::put_document);
        let documents = move_past_targets(&*store, &renaming, documents).await?;
        let record = store.assembly(from).await?;
        let application = record.and_then(|record| record.application).map(|launched| launched.title);
        let engine = self.windlass.engine(store);
        let followed = engine.upkeep().rename(&renaming, documents, &self.windlass.holder(), stop).await?;
        Ok(RenameView {
            version: 1,
            assembly: to.clone(),
            from: from.clone(),
            application,
            followed: followed.into_iter().collect(),
            environments,
        })
    }
}
