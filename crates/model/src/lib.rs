//! Names, ids, instances and assemblies: the nouns of windlass.
