//! Removes the password from the address of a store, so that messages can show the address.

/// Removes the password from a store's address. The address contains the password as `USER:PASSWORD@HOST` or
/// `password=…`.
///
/// ```
/// let shown = windlass_store::without_password("postgres://me:hunter2@db/shop");
/// assert_eq!(shown, "postgres://me@db/shop");
/// ```
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = split_url(url) else { return without_parameter(url) };
    // A password may contain an `@`, so the last `@` separates the password from the host.
    let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
    let (base, query) = rest.split_once('?').map_or((rest, None), |(base, query)| (base, Some(query)));
    // In these addresses, it is not clear where the password begins or ends.
    if login.is_some_and(|login| login.contains("password=")) || !has_ports(base) {
        return format!("{scheme}://***");
    }
    let user = login.map(|login| format!("{}@", login.split(':').next().unwrap_or_default()));
    let query = query.map(|query| format!("?{}", masked_query(query)));
    format!("{scheme}://{}{base}{}", user.unwrap_or_default(), query.unwrap_or_default())
}

/// Tells whether every host in an address has either no `:`, or a port number after the `:`, as in `db1,db2:5432/shop`.
/// Otherwise, the text after the `:` may be a password, as in `postgres://me:hunter2/shop`.
fn has_ports(base: &str) -> bool {
    let hosts = base.split('/').next().unwrap_or_default();
    hosts.split(',').all(|host| {
        let host = host.rsplit(']').next().unwrap_or_default();
        host.split_once(':').is_none_or(|(_, port)| port.chars().all(|c| c.is_ascii_digit()))
    })
}

/// Masks the value of `password` in a query such as `sslmode=require&password=a`. A password may contain an `&`, so
/// the function also masks the rest of the query.
fn masked_query(query: &str) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for part in query.split('&') {
        let key = part.split('=').next().unwrap_or_default();
        // A key such as `passwor%64` is also the key of a password.
        if key == "password" || key.contains('%') {
            shown.push("password=***");
            break;
        }
        shown.push(part);
    }
    shown.join("&")
}

/// Splits an address into the scheme and the text after `://`. Returns `None` if the address is no URL. For
/// example, `host=db password=a://b` is no URL, but a list of parameters.
pub(crate) fn split_url(address: &str) -> Option<(&str, &str)> {
    address.split_once("://").filter(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric()))
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
        rest = &value[value_length(value)..];
    }
    shown + rest
}

/// Returns the length of the value at the beginning of a text, in bytes. If a quoted value has no closing quote, it
/// extends to the end of the text.
pub(crate) fn value_length(text: &str) -> usize {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_password_is_in_no_message() {
        let cases = [
            ("postgres://me:hunter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me@db/windlass?sslmode=disable", "postgres://me@db/windlass?sslmode=disable"),
            ("postgres://db/windlass?password=hunter2&user=me", "postgres://db/windlass?password=***"),
            ("postgres://me:hun@ter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun/ter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun?ter2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun@t?er=2@db/windlass", "postgres://me@db/windlass"),
            ("postgres://me:hun?ter2@db/w?password=hunter2", "postgres://me@db/w?password=***"),
            ("postgres://db/windlass?password=hunter2&verbose", "postgres://db/windlass?password=***"),
            (
                "postgres://me:hun?ter2@db/windlass?sslmode=disable",
                "postgres://me@db/windlass?sslmode=disable",
            ),
            ("postgres://db/windlass?user=me&password=hun@ter2", "postgres://***"),
            ("postgres://me:hun?password=ter2@db/windlass", "postgres://***"),
            ("postgres://db:5432/windlass?password=hun@ter2", "postgres://***"),
            ("postgres://me:hunter2/windlass", "postgres://***"),
            ("postgres://[::1]:5432,db:5433/windlass", "postgres://[::1]:5432,db:5433/windlass"),
            ("host=db password=hunter2", "host=db password=***"),
            ("password=://hunter2@ host=db", "password=*** host=db"),
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

    proptest! {
        #[test]
        fn no_part_of_any_password_is_shown(
            tail in "[ab:@/?&=' %\\\\]{0,6}",
            form in 0..6,
        ) {
            let password = format!("zq{tail}zq");
            let address = match form {
                0 => format!("postgres://me:{password}@db/x?sslmode=require"),
                1 => format!("postgres://me:{password}@db?a=b&password=b"),
                2 => format!("postgres://db/x?password={password}&sslmode=require"),
                3 => format!("postgres://db:5432?password={password}"),
                4 => format!("host=db password={} sslmode=require", password.replace([' ', '\'', '\\'], "")),
                _ => format!("password = '{}' host=db", password.replace(['\'', '\\'], "")),
            };
            let shown = without_password(&address);
            prop_assert!(!shown.contains("zq"), "{} is shown as {}", address, shown);
        }
    }
}
