//! Names of assemblies for the titles of applications.

use windlass_model::AssemblyName;

/// Maximum number of characters of a name that is made of a title. A number may follow.
const LONGEST: usize = 40;

/// Returns the name that a title suggests: its ASCII letters and digits in lower case, with `-` between words.
/// `None` if it has none.
pub(super) fn slug(title: &str) -> Option<AssemblyName> {
    let mut slug = String::new();
    for c in title.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(LONGEST);
    let slug = slug.trim_matches('-');
    slug.parse().or_else(|_| format!("app-{slug}").parse()).ok().filter(|_| !slug.is_empty())
}

/// Returns the first name of `base`, `base-2`, `base-3` and so on that is not taken.
pub(super) fn free(base: &AssemblyName, is_taken: impl Fn(&AssemblyName) -> bool) -> AssemblyName {
    let numbered =
        |number: u32| format!("{base}-{number}").parse().expect("a short name with a number is one");
    let mut names = std::iter::once(base.clone()).chain((2..).map(numbered));
    names.find(|name| !is_taken(name)).expect("a number is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_a_name() {
        for (title, name) in [
            ("VM", Some("vm")),
            ("PetClinic Factory", Some("petclinic-factory")),
            (" A  (b)! ", Some("a-b")),
            ("7 seas", Some("7-seas")),
            ("instance", Some("app-instance")),
            ("Ü", None),
            ("", None),
        ] {
            assert_eq!(slug(title).as_ref().map(AssemblyName::as_str), name, "{title}");
        }
        assert_eq!(slug(&"long title ".repeat(9)).unwrap().as_str().len(), LONGEST - 1);
    }

    #[test]
    fn the_first_free_number_is_used() {
        let base = slug("VM").unwrap();
        let name = free(&base, |name| ["vm", "vm-2"].contains(&name.as_str()));
        assert_eq!(name.as_str(), "vm-3");
    }
}
