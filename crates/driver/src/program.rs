//! The programs that a job needs, but that its package does not contain.

use crate::problem::PackageProblem;

/// A program that a job needs at its location, and that is not part of the package, such as an interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededProgram {
    /// An absolute path, or a name that the job looks up in its variable `PATH`.
    pub program: String,
    /// The problem to report if the location has no such program.
    pub problem: PackageProblem,
}
