//! Random assemblies, and what must hold of them whatever happens: for the model checks of this crate and of those that
//! carry plans out.
//!
//! [`versions`] makes assemblies up. [`Ground`] knows what there really is of one, and says of each thing that is done to
//! it whether that may be done now.

mod ground;
mod luck;
mod random;

pub use ground::{Ground, Thing, all_pairs};
pub use luck::{Luck, few};
pub use random::{Component, Spec, Tie, has_order, versions};

use windlass_model::{ElementName, PropertyName};

fn name(text: &str) -> ElementName {
    text.parse().expect("a name made of names is one")
}

fn property(text: &str) -> PropertyName {
    text.parse().expect("a word is a name")
}
