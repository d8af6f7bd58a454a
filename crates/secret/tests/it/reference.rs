//! Tests ids of secrets, and their marker in JSON data.

use serde_json::json;
use windlass_secret::{SecretRef, SecretRefError};

#[test]
fn ids_are_validated() {
    let parse = |id: &str| id.parse::<SecretRef>();
    assert!(parse("a").is_ok());
    assert!(parse(&"a".repeat(128)).is_ok());
    assert_eq!(parse(""), Err(SecretRefError::Length(0)));
    assert_eq!(parse(&"a".repeat(129)), Err(SecretRefError::Length(129)));
    assert_eq!(parse("a b"), Err(SecretRefError::Character(' ')));
    assert_eq!(
        parse("naïve").unwrap_err().to_string(),
        "a secret's id has letters, digits and `-_.:/`, not 'ï'"
    );
}

#[test]
fn only_the_exact_marker_is_one() {
    let marker = |value| SecretRef::from_value(&value).map(|reference| reference.to_string());
    assert_eq!(marker(json!({"$secret": "db"})).as_deref(), Some("secret:db"));
    for other in [
        json!("secret:db"),
        json!({}),
        json!({"$secret": 1}),
        json!({"$secret": ""}),
        json!([{"$secret": "db"}]),
    ] {
        assert_eq!(marker(other), None);
    }
}

#[test]
fn serde_checks_the_id() {
    let reference: SecretRef = serde_json::from_str("\"db/main\"").unwrap();
    assert_eq!(serde_json::to_string(&reference).unwrap(), "\"db/main\"");
    let error = serde_json::from_str::<SecretRef>("\"a b\"").unwrap_err();
    assert!(error.to_string().starts_with("a secret's id has letters"), "{error}");
}
