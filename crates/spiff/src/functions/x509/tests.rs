//! Tests of keys and certificates: generated keys and certificates are parsed again, and examples from
//! `openssl` are parsed.

use crate::functions::testing::{call, yaml};
use crate::value::{Node, Value};
use crate::yaml::read_document;
use windlass_source::Source;

fn text(name: &str, arguments: &[Node]) -> Node {
    let written = call(name, arguments);
    assert!(!written.starts_with("error"), "{name}: {written}");
    // `call` trimmed the line break at the end.
    read_document(&Source::new("result", format!("{written}\n"))).expect("YAML")
}

fn string(text: impl AsRef<str>) -> Node {
    Node::new(text.as_ref())
}

#[test]
fn keys_of_all_curves() {
    for (curve, name) in [("P224", "224"), ("P256", "256"), ("P384", "384"), ("P521", "521")] {
        let key = text("x509genkey", &[string(curve)]);
        assert!(key.as_str().expect("text").starts_with("-----BEGIN EC PRIVATE KEY-----\n"), "{curve}");
        let public = text("x509publickey", std::slice::from_ref(&key));
        assert!(public.as_str().expect("text").starts_with("-----BEGIN ECDSA PUBLIC KEY-----\n"));
        assert_eq!(text("x509publickey", std::slice::from_ref(&public)).value(), public.value());
        let ssh = call("x509publickey", &[public, string("ssh")]);
        assert!(ssh.contains(&format!("ecdsa-sha2-nistp{name} ")), "{ssh}");
        assert_eq!(call("check", &[key.clone(), string("privatekey")]), "true");
        assert_eq!(call("check", &[key, string("publickey")]), "false");
    }
    assert_eq!(call("x509genkey", &[string("P1")]), "error: unrecognized elliptic curve: \"P1\"");
}

#[test]
fn a_certificate_has_the_requested_fields() {
    let key = text("x509genkey", &[string("P256")]);
    let spec = yaml(
        "{commonName: test, organization: org, country: [DE], validity: 100, isCA: true, hosts: [localhost, 127.0.0.1, '::1'], usage: [ServerAuth, clientauth, CertSign]}",
    );
    let mut map = spec.as_map().expect("a map").clone();
    map.insert("privateKey".into(), key.clone());
    let certificate = text("x509cert", &[Node::new(map)]);
    assert_eq!(call("check", &[certificate.clone(), string("ca")]), "true");
    let mut parsed =
        text("x509parsecert", std::slice::from_ref(&certificate)).as_map().expect("a map").clone();
    let public = parsed.remove("publicKey").expect("the key");
    assert_eq!(public.value(), text("x509publickey", &[key]).value());
    let expected = "{commonName: test, country: [DE], organization: [org], dnsNames: [localhost], hosts: [127.0.0.1, '::1', localhost], ipAddresses: [127.0.0.1, '::1'], isCA: true, usage: [Signature, KeyEncipherment, CertSign, ServerAuth, ClientAuth], validFrom: Nov 14 22:13:20 2023, validUntil: Nov 19 02:13:20 2023, validity: 100}";
    assert_eq!(Value::from(parsed), yaml(expected).into_value());
}

#[test]
fn an_authority_signs_the_key_of_another() {
    let (ca_key, key) = (text("x509genkey", &[string("P384")]), text("x509genkey", &[string("P521")]));
    let spec = |more: &[(&str, Node)]| {
        let spec = yaml("{organization: [o], usage: [], validFrom: 'Jan 2 15:04:05 2026'}");
        let mut map = spec.as_map().expect("a map").clone();
        map.extend(more.iter().map(|(key, node)| ((*key).into(), node.clone())));
        Node::new(map)
    };
    let ca = text("x509cert", &[spec(&[("isCA", Node::new(true)), ("privateKey", ca_key.clone())])]);
    let public = text("x509publickey", std::slice::from_ref(&key));
    let leaf = spec(&[
        ("publicKey", public),
        ("caCert", ca),
        ("caPrivateKey", ca_key),
        ("commonName", string("leaf")),
    ]);
    let leaf = text("x509cert", &[leaf]);
    assert_eq!(call("check", &[leaf.clone(), string("certificate")]), "true");
    assert_eq!(call("validate", &[leaf, string("ca")]), "error: condition 1 failed: is no ca certificate");
}

#[test]
fn a_key_of_openssl_is_read() {
    // The private key in `rsa.pem` was created by `openssl genrsa 1024`. From this key, `openssl rsa -pubout`
    // created `rsa.pub`, and `ssh-keygen -y` created `rsa.ssh`.
    let key = include_str!("testdata/rsa.pem");
    let ssh = include_str!("testdata/rsa.ssh");
    let pkix = include_str!("testdata/rsa.pub");
    assert_eq!(text("x509publickey", &[string(key), string("ssh")]).as_str(), Some(ssh));
    assert_eq!(text("x509publickey", &[string(key), string("pkix")]).as_str(), Some(pkix));
    assert_eq!(text("x509publickey", &[string(pkix), string("ssh")]).as_str(), Some(ssh));
}

#[test]
fn invalid_keys_are_refused() {
    let cases = [
        (
            "x509publickey",
            "[x]",
            "error: argument for x509publickey must be a private/public key or certificate in pem format: invalid private key format (expected pem block)",
        ),
        ("x509genkey", "[512]", "error: x509genkey: RSA keys have 1024 to 8192 bits, not 512"),
        (
            "x509cert",
            "[{organization: o, usage: []}]",
            "error: one of 'publicKey' or 'privKey' must be given",
        ),
        ("x509cert", "[5]", "error: argument for x509cert must be a map (found int64)"),
        (
            "x509parsecert",
            "[x]",
            "error: argument for x509parsecert must be a certificate in pem format: invalid certificate format (expected pem block)",
        ),
    ];
    for (name, arguments, expected) in cases {
        let arguments = yaml(arguments);
        assert_eq!(call(name, arguments.as_list().expect("a list")), expected);
    }
}

#[test]
fn an_rsa_key_signs() {
    let key = text("x509genkey", &[Node::new(1024)]);
    let mut map = yaml("{organization: o, usage: []}").as_map().expect("a map").clone();
    map.insert("privateKey".into(), key.clone());
    let certificate = text("x509cert", &[Node::new(map)]);
    assert_eq!(call("x509publickey", &[certificate]), call("x509publickey", &[key]));
}
