//! Short names of applications, which are made of the applications' titles.

use windlass_model::AssemblyName;
use windlass_model::name::MAX_NAME;

/// Returns the short name of an application's title. The short name contains the letters and digits of the title in
/// lower case. Each sequence of other characters between them becomes one `-`. Assemblies and records use the short
/// name as their name.
///
/// Returns `None` if the short name is not a valid assembly name: it is empty, begins with a digit, or is
/// reserved.
///
/// ```
/// use windlass_manifest::short_name;
///
/// assert_eq!(short_name("VM Factory (EU)").unwrap().as_str(), "vm-factory-eu");
/// assert!(short_name("42").is_none());
/// ```
pub fn short_name(title: &str) -> Option<AssemblyName> {
    let mut name = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(MAX_NAME);
    name.trim_end_matches('-').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_have_a_short_name() {
        let short = |title: &str| short_name(title).map(|name| name.to_string());
        assert_eq!(short("PetClinic").as_deref(), Some("petclinic"));
        assert_eq!(short("  VM -- Factory_2 ").as_deref(), Some("vm-factory-2"));
        assert_eq!(short(&"x".repeat(100)).map(|name| name.as_str().len()), Some(50));
        assert_eq!((short("2nd"), short("Käse"), short("instance")), (None, Some("k-se".to_owned()), None));
    }
}
