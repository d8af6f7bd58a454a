//! Removal of the password from the address of a store, for messages.

/// Removes the password from a store's address. The password has the form `USER:PASSWORD@HOST` or
/// `password=…`.
///
/// ```
/// let shown = windlass_store::without_password("postgres://me:hunter2@db/shop");
/// assert_eq!(shown, "postgres://me@db/shop");
/// ```
pub fn without_password(url: &str) -> String {
    let url = match url.split_once("://") {
        Some((scheme, rest)) => match rest.split_once('@') {
            Some((user, host)) => {
                format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default())
            }
            None => url.to_owned(),
        },
        None => url.to_owned(),
    };
    let parts = url.split_inclusive([' ', '&', '?']);
    let masked = parts.map(|part| match part.strip_prefix("password=") {
        Some(rest) => {
            let end = rest.chars().last().filter(|c| [' ', '&', '?'].contains(c));
            format!("password=***{}", end.map(String::from).unwrap_or_default())
        }
        None => part.to_owned(),
    });
    masked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_message() {
        let cases = [
            ("postgres://me:hunter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me@db/windlass?sslmode=disable", "postgres://me@db/windlass?sslmode=disable"),
            (
                "postgres://db/windlass?password=hunter2&user=me",
                "postgres://db/windlass?password=***&user=me",
            ),
            ("host=db password=hunter2", "host=db password=***"),
        ];
        for (url, shown) in cases {
            assert_eq!(without_password(url), shown);
        }
    }
}
