//! The input of the planner: the recorded state of an assembly, its versions, and the options of a plan.
//!
//! Functions that prepare an input are here too. [`merged()`] joins the versions of an interrupted upgrade,
//! [`scaled`] changes the size of a cluster, and [`healable`] checks the choice of the element to heal.

mod as_of;
mod current;
mod heal;
mod merged;
mod options;
mod reads;
mod scale;
mod shown;
mod version;

pub use current::{Current, ElementNow, HalfMade};
pub(crate) use current::{OutdatedSources, OutdatedTargets};
pub(crate) use heal::listed;
pub use heal::{HealError, healable};
pub use merged::{describes, merged};
pub use options::Options;
pub(crate) use reads::Reads;
pub use scale::{Scale, ScaleError, resized, scaled, surge_nodes, surged, unsurged};
pub use shown::{Shown, ValueChange};
pub use version::{Situation, Version};
