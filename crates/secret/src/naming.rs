//! Names that mark a value as secret.

/// Words in a name that mark its value as secret. The comparison ignores case, `-`, `_` and `.`.
const SECRET_WORDS: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "token", "credential", "privatekey", "apikey"];

/// Tells whether the name of a property or a pin marks its value as secret.
///
/// ```
/// use windlass_secret::names_a_secret;
///
/// assert!(names_a_secret("clientSecret") && names_a_secret("db-password"));
/// assert!(!names_a_secret("region"));
/// ```
pub fn names_a_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_lowercase();
    SECRET_WORDS.iter().any(|word| plain.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_that_a_value_is_secret() {
        for name in ["password", "db_Password", "access-token", "clientSecret", "private_key", "API-KEY"] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["trace", "region", "key", "image", "pass"] {
            assert!(!names_a_secret(name), "{name}");
        }
    }
}
