//! The usages of the key of a certificate. The usages have the same names as in the Go program spiff++.

use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::flagset::FlagSet;
use x509_cert::ext::pkix::KeyUsages;

/// A usage of the key of a certificate.
#[derive(Clone, Copy)]
pub(super) enum Usage {
    Basic(KeyUsages),
    Extended(ObjectIdentifier),
}

/// Basic usages. Each entry contains the name that `x509cert` accepts in any letter case, the name that
/// `x509parsecert` returns, and the usage. In most entries, the two names differ only in the letter case. The
/// second entry is an exception: `x509cert` accepts only `commitment`, not `ContentCommitment`.
const BASIC: [(&str, &str, KeyUsages); 9] = [
    ("signature", "Signature", KeyUsages::DigitalSignature),
    ("commitment", "ContentCommitment", KeyUsages::NonRepudiation),
    ("keyencipherment", "KeyEncipherment", KeyUsages::KeyEncipherment),
    ("dataencipherment", "DataEncipherment", KeyUsages::DataEncipherment),
    ("keyagreement", "KeyAgreement", KeyUsages::KeyAgreement),
    ("certsign", "CertSign", KeyUsages::KeyCertSign),
    ("crlsign", "CRLSign", KeyUsages::CRLSign),
    ("encipheronly", "EncipherOnly", KeyUsages::EncipherOnly),
    ("decipheronly", "DecipherOnly", KeyUsages::DecipherOnly),
];

const fn oid(text: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(text)
}

const EXTENDED: [(&str, ObjectIdentifier); 14] = [
    ("Any", oid("2.5.29.37.0")),
    ("ServerAuth", oid("1.3.6.1.5.5.7.3.1")),
    ("ClientAuth", oid("1.3.6.1.5.5.7.3.2")),
    ("CodeSigning", oid("1.3.6.1.5.5.7.3.3")),
    ("EmailProtection", oid("1.3.6.1.5.5.7.3.4")),
    ("IPSECEndSystem", oid("1.3.6.1.5.5.7.3.5")),
    ("IPSECTunnel", oid("1.3.6.1.5.5.7.3.6")),
    ("IPSECUser", oid("1.3.6.1.5.5.7.3.7")),
    ("TimeStamping", oid("1.3.6.1.5.5.7.3.8")),
    ("OCSPSigning", oid("1.3.6.1.5.5.7.3.9")),
    ("MicrosoftServerGatedCrypto", oid("1.3.6.1.4.1.311.10.3.3")),
    ("NetscapeServerGatedCrypto", oid("2.16.840.1.113730.4.1")),
    ("MicrosoftCommercialCodeSigning", oid("1.3.6.1.4.1.311.2.1.22")),
    ("MicrosoftKernelCodeSigning", oid("1.3.6.1.4.1.311.61.1.1")),
];

/// The extended usage that every created certificate has.
pub(super) const SERVER: ObjectIdentifier = EXTENDED[1].1;

impl Usage {
    /// Parses the name of a usage. The letter case has no meaning.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let lower = name.to_lowercase();
        let basic = BASIC.iter().find(|(read, ..)| *read == lower).map(|(.., usage)| Self::Basic(*usage));
        let extended = || EXTENDED.iter().find(|(shown, _)| shown.eq_ignore_ascii_case(name));
        basic.or_else(|| extended().map(|(_, oid)| Self::Extended(*oid)))
    }
}

/// Returns the names under which `x509parsecert` shows basic usages, in the order of [`BASIC`].
pub(super) fn basic_names(usages: FlagSet<KeyUsages>) -> impl Iterator<Item = &'static str> {
    BASIC.iter().filter(move |(.., usage)| usages.contains(*usage)).map(|(_, shown, _)| *shown)
}

/// Returns the name under which `x509parsecert` shows an extended usage. If the usage is unknown, this name is
/// `UnknownExtKeyUsage`.
pub(super) fn extended_name(usage: &ObjectIdentifier) -> &'static str {
    EXTENDED.iter().find(|(_, oid)| oid == usage).map_or("UnknownExtKeyUsage", |(shown, _)| shown)
}
