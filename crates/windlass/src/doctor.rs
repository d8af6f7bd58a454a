//! The runtimes of this machine: versions, limits, isolation, and missing requirements.

use serde::Serialize;

use crate::Windlass;
use crate::error::chain;
use crate::stores::{self, StoreKind};

pub use crate::runtimes::RuntimeView;

/// The result of inspecting the runtimes, as printed by `windlass doctor --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doctor {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The version of windlass.
    pub windlass: String,
    /// The store of the project's state.
    pub state: StateView,
    /// The runtimes, in the order of registration: processes, sandboxes, container engines, and kinds that a
    /// program has added.
    pub runtimes: Vec<RuntimeView>,
}

/// The store of a project's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StateView {
    /// The kind of the store, such as `SQLite`; `None` if no kind supports the address.
    pub kind: Option<&'static str>,
    /// The path or the address of the store, without a password.
    pub place: Option<String>,
    /// Whether the store exists. The first `windlass up` creates it.
    pub exists: bool,
    /// The reason why the store can't be used, or why the secrets in the store can't be decrypted.
    pub problem: Option<String>,
}

/// Inspects the runtimes of this machine, and the runtimes that the project's locations name.
pub async fn look(windlass: &Windlass) -> Doctor {
    let locations: Vec<_> = windlass.project().locations().cloned().collect();
    let mut runtimes = Vec::new();
    for kind in windlass.registry().factories() {
        let of_kind: Vec<_> =
            locations.iter().filter(|location| location.runtime == kind.name()).cloned().collect();
        runtimes.extend(kind.doctor(windlass.runtime_context(), &of_kind).await);
    }
    let state = state(windlass).await;
    Doctor { version: 1, windlass: env!("CARGO_PKG_VERSION").to_owned(), state, runtimes }
}

/// Opens the store of the project if it exists, and describes it.
async fn state(windlass: &Windlass) -> StateView {
    let settings = windlass.store_settings();
    let is_given = windlass.settings.store.is_some();
    let kind = stores::of(settings.address.as_deref()).ok().filter(|_| !is_given);
    let opened = windlass.store(false).await;
    let problem = match &opened {
        Ok(Some(store)) => store.check_key().err().map(|error| chain(&error)),
        Ok(None) => None,
        Err(error) => Some(chain(error)),
    };
    StateView {
        kind: kind.map(StoreKind::name),
        place: kind.map(|kind| kind.place(&settings)),
        exists: matches!(opened, Ok(Some(_))),
        problem,
    }
}
