//! The facade: open a project, bring assemblies up and down, look at them.
