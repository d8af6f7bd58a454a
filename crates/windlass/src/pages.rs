//! Reading all assemblies of a store in pages, because a store can contain more assemblies than fit in
//! memory.

use windlass_model::record::AssemblyRecord;
use windlass_store::{Store, StoreError};

/// Maximum number of assemblies that are in memory at once.
const PAGE: usize = 256;

/// Calls `visit` for each assembly of a store, sorted by name.
pub(crate) async fn for_each_assembly(
    store: &dyn Store,
    mut visit: impl FnMut(AssemblyRecord),
) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let page = store.assemblies(last.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        last = page.last().map(|assembly| assembly.name.clone());
        page.into_iter().for_each(&mut visit);
        if is_last {
            return Ok(());
        }
    }
}
