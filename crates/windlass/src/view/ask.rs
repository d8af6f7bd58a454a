//! What was asked of a project and needs no process: to stop something, to move an assembly.

use std::path::PathBuf;

use serde::Serialize;
use windlass_model::{AssemblyName, ProcessId, RequestId};

/// What is asked to stop.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CancelView {
    /// The version of this form.
    pub version: u32,
    /// The assembly.
    pub assembly: AssemblyName,
    /// The process that is asked to stop.
    pub process: Option<ProcessId>,
    /// The request that is taken back.
    pub request: Option<RequestId>,
    /// Whether it was asked; else it could be.
    pub done: bool,
}

impl CancelView {
    /// Tells of a process or a request of an assembly.
    pub fn new(
        assembly: AssemblyName,
        process: Option<ProcessId>,
        request: Option<RequestId>,
        done: bool,
    ) -> Self {
        Self { version: 1, assembly, process, request, done }
    }
}

/// An assembly on its way between two stores.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TransferView {
    /// The version of this form.
    pub version: u32,
    /// The assembly.
    pub assembly: AssemblyName,
    /// The file that it goes to, or comes from.
    pub file: PathBuf,
    /// Whether it was moved; else it could be.
    pub done: bool,
}

impl TransferView {
    /// Tells of an assembly and a file.
    pub fn new(assembly: AssemblyName, file: PathBuf, done: bool) -> Self {
        Self { version: 1, assembly, file, done }
    }
}
