//! The change of an assembly's name.

use windlass_secret::SecretRef;

use crate::document::DocumentScope;
use crate::name::{AssemblyName, ElementName};

/// A change of the name of an assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    /// The old name of the assembly.
    pub from: AssemblyName,
    /// The new name of the assembly.
    pub to: AssemblyName,
}

impl Renaming {
    /// Returns the new name of an assembly. An assembly with another name than `from` keeps its name.
    pub fn assembly(&self, name: &AssemblyName) -> AssemblyName {
        if *name == self.from { self.to.clone() } else { name.clone() }
    }

    /// Returns the name of an element after the renaming. The name changes only if the element belongs to the
    /// assembly `from`.
    pub fn element(&self, name: &ElementName) -> ElementName {
        if name.assembly() == self.from { name.within(&self.to) } else { name.clone() }
    }

    /// Returns the new scope of a document. The scope of the assembly `from` becomes the scope of the assembly `to`.
    /// Other scopes stay the same.
    pub fn scope(&self, scope: &DocumentScope) -> DocumentScope {
        match scope {
            DocumentScope::Project => DocumentScope::Project,
            DocumentScope::Assembly(name) => DocumentScope::Assembly(self.assembly(name)),
        }
    }

    /// Returns the name of a secret after the renaming. The name changes only if it begins with `from` and a colon,
    /// because such a secret belongs to the assembly `from`.
    pub fn secret(&self, secret: &SecretRef) -> SecretRef {
        let renamed = self.secret_id(secret.id()).and_then(|id| id.parse().ok());
        renamed.unwrap_or_else(|| secret.clone())
    }

    pub(super) fn secret_id(&self, id: &str) -> Option<String> {
        let (assembly, rest) = id.split_once(':')?;
        (assembly == self.from.as_str()).then(|| format!("{}:{rest}", self.to))
    }
}
