//! The driver of scripts that read YAML and answer with updates.
