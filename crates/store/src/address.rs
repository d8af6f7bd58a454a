//! Removes the password from the address of a store, so that messages can show the address.

/// Removes the password from a store's address. The password has the form `USER:PASSWORD@HOST` or
/// `password=…`.
///
/// ```
/// let shown = windlass_store::without_password("postgres://me:hunter2@db/shop");
/// assert_eq!(shown, "postgres://me@db/shop");
/// ```
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return without_parameter(url) };
    let query = rest.match_indices('?').map(|(at, _)| at).find(|at| is_query(&rest[at + 1..]));
    let (rest, query) = rest.split_at(query.unwrap_or(rest.len()));
    // If the password contains an `@`, the last `@` of the address separates the password from the host. So
    // no part of the password is shown.
    let shown = match rest.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}{query}", user.split(':').next().unwrap_or_default()),
        None => format!("{rest}{query}"),
    };
    let parts = shown.split_inclusive(['?', '&']).map(|part| match part.strip_prefix("password=") {
        Some(value) => format!("password=***{}", if value.ends_with('&') { "&" } else { "" }),
        None => part.to_owned(),
    });
    format!("{scheme}://{}", parts.collect::<String>())
}

/// Tells whether the text after a `?` is a query such as `sslmode=require&password=a`.
///
/// A `?` may also belong to a password that is not percent-encoded. In `postgres://me:a?b=1@db/shop`, the password is
/// `a?b=1`. In such an address, the `@` before the host comes after the `?`. So a text with an `@` counts as no query,
/// unless the `@` is in the value of the parameter `password`.
fn is_query(text: &str) -> bool {
    text.split('&').all(|part| {
        part.split_once('=').is_some_and(|(key, value)| {
            key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && (key == "password" || !value.contains('@'))
        })
    })
}

/// Masks the value of `password` in an address of the form `key=value key=value`. A value with a space stands in
/// single quotes, in which a backslash escapes the next character.
fn without_parameter(address: &str) -> String {
    let mut shown = String::new();
    let mut rest = address;
    while let Some(at) = rest.find("password") {
        let (before, from) = rest.split_at(at);
        let after = from["password".len()..].trim_start();
        shown.push_str(before);
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else {
            shown.push_str("password");
            rest = &from["password".len()..];
            continue;
        };
        shown.push_str("password=***");
        rest = &value[length(value)..];
    }
    shown + rest
}

/// Returns the length of the value at the beginning of a text, in bytes. A quote that is not closed reaches to the
/// end of the text.
fn length(text: &str) -> usize {
    let quoted = text.starts_with('\'');
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(usize::from(quoted)) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\'' if quoted => return at + 1,
            c if !quoted && c.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
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
            ("postgres://me:hun@ter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun/ter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun?ter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun@t?er=2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun?ter2@db/w?password=hunter2", "postgres://me@db/w?password=***"),
            (
                "postgres://db/windlass?password=hunter2&verbose",
                "postgres://db/windlass?password=***&verbose",
            ),
            (
                "postgres://me:hun?ter2@db/windlass?sslmode=disable",
                "postgres://me@db/windlass?sslmode=disable",
            ),
            (
                "postgres://db/windlass?user=me&password=hun@ter2",
                "postgres://db/windlass?user=me&password=***",
            ),
            ("host=db password=hunter2", "host=db password=***"),
            ("password='hunter two' host=db", "password=*** host=db"),
            (r"password = 'hunter\' two' host=db", "password=*** host=db"),
            (r"password=hunter\ two host=db", "password=*** host=db"),
            ("password='hunter two host=db", "password=***"),
            ("user=password password=hunter2", "user=password password=***"),
        ];
        for (url, shown) in cases {
            assert_eq!(without_password(url), shown);
        }
    }
}
