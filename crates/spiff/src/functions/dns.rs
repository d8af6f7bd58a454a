//! Names of the domain name system, as Kubernetes checks them (RFC 1123).

/// Checks a label, which is a part between the dots of a domain. A label consists of at most 63 lower-case letters,
/// digits and `-`. It neither begins nor ends with `-`.
pub(super) fn label(text: &str) -> Result<(), String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(text) {
        problems.push(format!(
            "a DNS-1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
             an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
        ));
    }
    outcome(&problems)
}

/// Checks a domain: labels with dots between them, at most 253 characters.
pub(super) fn domain(text: &str) -> Result<(), String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if !text.split('.').all(is_label) {
        problems.push(format!(
            "a DNS-1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
             end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{LABEL}(\\.{LABEL})*')"
        ));
    }
    outcome(&problems)
}

/// Checks a wildcard domain: `*.`, followed by a domain.
pub(super) fn wildcard_domain(text: &str) -> Result<(), String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if !text.strip_prefix("*.").is_some_and(|rest| rest.split('.').all(is_label)) {
        problems.push(format!(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
             consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
             '*.example.com', regex used for validation is '\\*\\.{LABEL}(\\.{LABEL})*')"
        ));
    }
    outcome(&problems)
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn outcome(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(format!("[{}]", problems.join(" "))) }
}
