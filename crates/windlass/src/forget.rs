//! Removal of the records of an assembly or of a part, without a call of a driver.

use std::sync::Arc;

use serde::Serialize;
use windlass_engine::{ForgottenPart, ForgottenRecords, Loss};
use windlass_model::{AssemblyName, ElementName, State};
use windlass_store::Store;

use crate::error::Error;
use crate::upkeep::Upkeep;
use crate::wiring::Removal;

/// The records that were removed, or that would be removed.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ForgetView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The part whose records are removed; `None` for the whole assembly.
    pub part: Option<ElementName>,
    /// The resources that windlass no longer manages. The resources themselves are neither stopped nor
    /// removed.
    pub resources: Vec<ForgottenView>,
    /// The number of pairs whose records are removed. A pair is a created relationship between two nodes. windlass
    /// removes only the records, and executes no operation of these relationships.
    pub relationships: usize,
    /// Whether the records were removed. If false, the removal was only checked.
    pub done: bool,
}

/// A resource whose records are removed.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ForgottenView {
    /// The name of the resource.
    pub name: ElementName,
    /// The last recorded state of the resource.
    pub state: State,
    /// The natural id of the resource; `None` if the resource has no such id, or if the id is secret.
    pub natural_id: Option<String>,
}

impl ForgetView {
    fn new(assembly: AssemblyName, part: Option<ElementName>, records: ForgottenRecords, done: bool) -> Self {
        let view = |part: ForgottenPart| ForgottenView {
            name: part.name,
            state: part.state,
            natural_id: part.natural,
        };
        let resources = records.parts.into_iter().map(view).collect();
        Self { version: 1, assembly, part, resources, relationships: records.pairs, done }
    }
}

impl Upkeep<'_> {
    /// Removes the records of an assembly, or of one of its parts, and calls no driver. If the descriptor still
    /// contains a forgotten part, the next `up` creates the part again.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or if other assemblies refer to the assembly. Also fails if another windlass
    /// program holds the lease of the assembly, or if the last intent on the assembly was interrupted. In all these
    /// cases, the records of the assembly stay unchanged.
    ///
    /// With [`Options::force`](windlass_engine::Options::force), references do not prevent the removal. An interrupted
    /// intent then prevents the removal of a single part, but does not prevent the removal of the whole assembly.
    pub async fn forget(&self, name: &AssemblyName, part: Option<&ElementName>) -> Result<ForgetView, Error> {
        let store = self.windlass.store_of(name).await?;
        let removal = self.forgotten(&store, name, part).await?;
        let engine = self.windlass.engine(store);
        let records = engine.upkeep().forget(name, part, &self.windlass.holder()).await?;
        if let Some(removal) = removal {
            self.windlass.note(&removal).await;
        }
        Ok(ForgetView::new(name.clone(), part.cloned(), records, true))
    }

    /// Returns the records that [`forget`](Self::forget) would remove. Changes nothing.
    ///
    /// # Errors
    ///
    /// Fails for the reasons for which [`forget`](Self::forget) would fail.
    pub async fn can_forget(
        &self,
        name: &AssemblyName,
        part: Option<&ElementName>,
    ) -> Result<ForgetView, Error> {
        let store = self.windlass.store_of(name).await?;
        self.forgotten(&store, name, part).await?;
        let records = self.windlass.engine(store).upkeep().forgettable(name, part).await?;
        Ok(ForgetView::new(name.clone(), part.cloned(), records, false))
    }

    /// Finds the references of applications to an assembly that will be forgotten. If only a part of the assembly
    /// will be forgotten, the result is `None`.
    ///
    /// # Errors
    /// Fails if an application refers to the assembly, and a resource of the assembly still exists. If the option
    /// `force` of the engine is set, the function does not fail for this reason. Also fails if the store can't be
    /// read.
    async fn forgotten(
        &self,
        store: &Arc<dyn Store>,
        name: &AssemblyName,
        part: Option<&ElementName>,
    ) -> Result<Option<Removal>, Error> {
        if part.is_some() {
            return Ok(None);
        }
        let removal = Removal::of(store, name).await?;
        removal.refuse(Loss::Forgotten, self.windlass.is_forced())?;
        Ok(Some(removal))
    }
}
