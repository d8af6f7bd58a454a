//! Tests that a `Sensitive` does not reveal its value by itself.

use windlass_secret::Sensitive;

#[derive(Debug)]
#[expect(dead_code, reason = "read by Debug")]
struct Credentials {
    user: String,
    password: Sensitive<String>,
}

#[test]
fn nested_debug_output_is_masked() {
    let credentials = Credentials { user: "admin".into(), password: "hunter22".into() };
    assert_eq!(format!("{credentials:?}"), r#"Credentials { user: "admin", password: *** }"#);
    assert!(!format!("{credentials:#?}").contains("hunter22"));
}

#[test]
fn width_and_precision_tell_no_length() {
    let password = Sensitive::from("hunter22");
    assert_eq!(format!("{password:20}|{password:.1}|{password:?}"), "***|***|***");
}

#[test]
fn a_clone_exposes_the_same_value() {
    let bytes = Sensitive::new(vec![1_u8, 2, 3]);
    assert_eq!(bytes.clone().expose(), bytes.expose());
}
