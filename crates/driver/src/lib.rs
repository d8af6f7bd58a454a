//! The contract between the engine and what drives a part.
