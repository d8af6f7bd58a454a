//! The function `x509parsecert`, which converts a certificate to a map.

use std::net::IpAddr;

use x509_cert::certificate::Certificate;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, Utf8StringRef};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{ExtendedKeyUsage, KeyUsage, SubjectAltName};
use x509_cert::spki::ObjectIdentifier;
use x509_cert::time::Time;

use super::certificate::{key_of, may_sign, read};
use super::usage::{basic_names, extended_name};
use crate::functions::argument::{Outcome, done, fail, text, texts};
use crate::functions::{FunctionError, Host};
use crate::value::{Map, Node, Value};

pub(super) fn parse(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("invalid argument count for x509parsecert") };
    let pem = text(argument, "argument for x509parsecert must be a certificate in pem format")?;
    let certificate = read(pem).map_err(|error| {
        FunctionError::failed(format!(
            "argument for x509parsecert must be a certificate in pem format: {error}"
        ))
    })?;
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.into(), Node::new(value));
    };
    put("isCA", may_sign(&certificate).into());
    if let Some(name) = subject(&certificate, "2.5.4.3").pop() {
        put("commonName", name.into());
    }
    for (key, oid) in [("country", "2.5.4.6"), ("organization", "2.5.4.10")] {
        let found = subject(&certificate, oid);
        if !found.is_empty() {
            put(key, texts(found));
        }
    }
    let (names, addresses) = hosts(&certificate);
    if !names.is_empty() {
        put("hosts", texts(addresses.iter().chain(&names)));
        put("dnsNames", texts(names));
    }
    if !addresses.is_empty() {
        put("ipAddresses", texts(addresses));
    }
    let validity = certificate.tbs_certificate().validity();
    let end = seconds(validity.not_after);
    put("validFrom", date(seconds(validity.not_before)).into());
    put("validUntil", date(end).into());
    let now = i64::try_from(host.now().as_nanos() / 1_000_000_000).unwrap_or(0);
    let started = i64::from(host.now().subsec_nanos() > 0);
    // The number of whole hours until the end of the validity.
    put("validity", ((end - now - started) / 3600).into());
    put("usage", texts(usages(&certificate)));
    put(
        "publicKey",
        key_of(&certificate).and_then(|key| key.to_pem()).map_err(FunctionError::failed)?.into(),
    );
    done(map)
}

/// Returns the values of one attribute in the subject of a certificate. `oid` identifies the attribute. For example,
/// `2.5.4.10` is the organization.
fn subject(certificate: &Certificate, oid: &str) -> Vec<String> {
    let oid = ObjectIdentifier::new_unwrap(oid);
    let name = certificate.tbs_certificate().subject();
    name.iter()
        .filter(|part| part.oid == oid)
        .filter_map(|part| {
            let value = &part.value;
            let utf8 = value.decode_as::<Utf8StringRef<'_>>().map(|text| text.as_str().to_owned());
            let printable =
                || value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned());
            let ia5 = |_| value.decode_as::<Ia5StringRef<'_>>().map(|text| text.as_str().to_owned());
            utf8.or_else(|_| printable()).or_else(ia5).ok()
        })
        .collect()
}

/// Returns the DNS names and the IP addresses of a certificate, each in the certificate's order.
fn hosts(certificate: &Certificate) -> (Vec<String>, Vec<String>) {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    let found = certificate.tbs_certificate().get_extension::<SubjectAltName>();
    for host in found.ok().flatten().map(|(_, hosts)| hosts.0).unwrap_or_default() {
        match host {
            GeneralName::DnsName(name) => names.push(name.as_str().to_owned()),
            GeneralName::IpAddress(bytes) => addresses.extend(address(bytes.as_bytes())),
            _ => {}
        }
    }
    (names, addresses)
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let v6 = |_| <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(v6).ok().map(|address| address.to_string())
}

fn usages(certificate: &Certificate) -> Vec<&'static str> {
    let content = certificate.tbs_certificate();
    let basic = content.get_extension::<KeyUsage>().ok().flatten();
    let extended = content.get_extension::<ExtendedKeyUsage>().ok().flatten();
    let mut names: Vec<&'static str> =
        basic.map(|(_, usage)| basic_names(usage.0).collect()).unwrap_or_default();
    names.extend(extended.iter().flat_map(|(_, usages)| usages.0.iter().map(extended_name)));
    names
}

fn seconds(time: Time) -> i64 {
    i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX)
}

/// Formats a time as `Mar 11 15:34:36 2019`.
fn date(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.strftime("%b %-d %H:%M:%S %Y").to_string()
}
