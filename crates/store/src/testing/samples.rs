//! Records to store.
