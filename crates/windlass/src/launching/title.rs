//! Names for newly launched assemblies.

use windlass_manifest::short_name;
use windlass_model::AssemblyName;
use windlass_model::name::MAX_NAME;

/// Number of characters that are reserved for the suffix of a name, such as `-2` in `vm-2`.
const NUMBER: usize = 10;

/// Returns the first name that is not taken. The names are `base`, `base-2`, `base-3` and so on.
pub(super) fn free(base: &AssemblyName, is_taken: impl Fn(&AssemblyName) -> bool) -> AssemblyName {
    free_from(base, 1, is_taken).0
}

/// Returns the first name that is not taken, and the number of this name. The names are `base` (number 1),
/// `base-2`, `base-3` and so on. The search begins at the number `first`.
pub(crate) fn free_from(
    base: &AssemblyName,
    first: u32,
    is_taken: impl Fn(&AssemblyName) -> bool,
) -> (AssemblyName, u32) {
    let short: String = base.as_str().chars().take(MAX_NAME - NUMBER).collect();
    let numbered = |number: u32| {
        short_name(&format!("{short} {number}")).expect("it begins with a letter, as `base` does")
    };
    let name_of = |number: u32| if number == 1 { base.clone() } else { numbered(number) };
    let mut names = (first..).map(|number| (name_of(number), number));
    names.find(|(name, _)| !is_taken(name)).expect("a number is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_number_is_used() {
        let name = |base: &str, taken: &[&str]| {
            free(&base.parse().unwrap(), |name| taken.contains(&name.as_str())).to_string()
        };
        assert_eq!(name("vm", &[]), "vm");
        assert_eq!(name("vm", &["vm", "vm-2"]), "vm-3");
        let long = "a".repeat(MAX_NAME);
        assert_eq!(name(&long, &[&long]), format!("{}-2", "a".repeat(MAX_NAME - NUMBER)));
    }
}
