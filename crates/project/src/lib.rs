//! windlass.yaml, the catalog on disk and package folders.
