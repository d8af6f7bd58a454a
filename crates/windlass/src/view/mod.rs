//! Output data of commands: typed, versioned, ready for JSON. Secrets are masked.

pub mod application;
pub mod ask;
pub mod log;
pub mod outputs;
pub mod plan;
pub mod process;
pub mod rolling;
pub mod sarif;
pub mod status;
pub(crate) mod time;
mod views;

pub use views::Views;
