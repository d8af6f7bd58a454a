//! The crate through its public interface.

mod corpus;
