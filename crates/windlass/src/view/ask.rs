//! The results of commands that start no process. Such a command cancels a process or a request, or moves an assembly
//! to another store.

use std::path::PathBuf;

use serde::Serialize;
use windlass_model::{AssemblyName, ProcessId, RequestId};

/// The result of a cancellation.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CancelView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The process that is asked to stop.
    pub process: Option<ProcessId>,
    /// The request that is withdrawn.
    pub request: Option<RequestId>,
    /// Whether the cancellation was requested. If false, only its possibility was checked.
    pub done: bool,
}

impl CancelView {
    /// Creates the view for a process or a request of an assembly.
    pub fn new(
        assembly: AssemblyName,
        process: Option<ProcessId>,
        request: Option<RequestId>,
        done: bool,
    ) -> Self {
        Self { version: 1, assembly, process, request, done }
    }
}

/// The result of moving an assembly between two stores.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TransferView {
    /// The version of the layout of this view, for programs that read it as JSON.
    pub version: u32,
    /// The name of the assembly.
    pub assembly: AssemblyName,
    /// The file that was exported or imported.
    pub file: PathBuf,
    /// Whether the assembly was moved. If false, only the possibility of the move was checked.
    pub done: bool,
}

impl TransferView {
    /// Creates the view for an assembly and a file.
    pub fn new(assembly: AssemblyName, file: PathBuf, done: bool) -> Self {
        Self { version: 1, assembly, file, done }
    }
}
