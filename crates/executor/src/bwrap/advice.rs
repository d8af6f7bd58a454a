//! Advice for hosts where a sandbox can't be created.

use std::path::Path;

/// Returns the error text for a host without the program `bwrap`, with advice.
pub(crate) fn missing(bwrap: &Path) -> String {
    format!(
        "there is no `{}`: install bubblewrap 0.8 or later (`apt-get install bubblewrap`), or use the runtime `docker` \
         or `process`",
        bwrap.display()
    )
}

/// Returns the error text for a failed attempt of `bwrap` to create a sandbox. `words` is the error output of
/// `bwrap`. If the error is a known one, the text also says how to resolve it.
pub(crate) fn unmade(words: &str) -> String {
    let what_to_do = if words.contains("No permissions to create") || words.contains("user namespace") {
        ": allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, \
         kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap), or use the runtime `docker`"
    } else if words.contains("Unknown option") {
        ": bubblewrap 0.8 or later is needed"
    } else {
        ""
    };
    let words = if words.is_empty() { "bwrap ended without saying why" } else { words };
    format!("the sandbox can't be made: {words}{what_to_do}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_comes_with_what_to_do() {
        let refused = unmade("bwrap: No permissions to create new namespace, likely because…");
        assert!(refused.contains("kernel.unprivileged_userns_clone=1"), "{refused}");
        assert_eq!(unmade(""), "the sandbox can't be made: bwrap ended without saying why");
        assert!(missing(Path::new("bwrap")).starts_with("there is no `bwrap`: install bubblewrap"));
    }
}
