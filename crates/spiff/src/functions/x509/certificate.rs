//! The function `x509cert`, which creates a certificate from a map of fields.

use std::net::IpAddr;
use std::time::Duration;

use sha1::{Digest as _, Sha1};
use sha2::Sha256;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder as _, CertificateBuilder, Result as BuilderResult};
use x509_cert::certificate::{Certificate, TbsCertificate};
use x509_cert::der::asn1::{Ia5String, OctetString, PrintableStringRef, Utf8StringRef};
use x509_cert::der::flagset::FlagSet;
use x509_cert::der::{Any, DateTime, Decode as _, Encode as _};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::ext::{Extension, ToExtension};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{ObjectIdentifier, SubjectPublicKeyInfoOwned, SubjectPublicKeyInfoRef};
use x509_cert::time::{Time, Validity};

use super::key::{PrivateKey, PublicKey};
use super::pem;
use super::usage::{SERVER, Usage};
use crate::functions::argument::{Outcome, done, draw, fail, go_type, quoted};
use crate::functions::network::parse_address;
use crate::functions::{FunctionError, Host};
use crate::value::{Map, Node, Value};

/// The value of a field. If the field has the wrong type, the error contains a message about the field.
type Field<T> = Result<T, FunctionError>;

/// The argument map of `x509cert`.
struct Fields<'a>(&'a Map);

impl Fields<'_> {
    fn text(&self, name: &str) -> Field<&str> {
        match self.0.get(name).map(Node::value) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => fail!("field {} must be a string", quoted(name)),
        }
    }

    /// Returns the texts of a list, or a single text as a list.
    fn texts(&self, name: &str) -> Field<Option<Vec<String>>> {
        let wrong =
            || FunctionError::failed(format!("field {} must be a string or a list of strings", quoted(name)));
        match self.0.get(name).map(Node::value) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(vec![text.to_string()])),
            Some(Value::List(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect::<Field<_>>()
                .map(Some),
            Some(_) => Err(wrong()),
        }
    }

    fn required_texts(&self, name: &str) -> Field<Vec<String>> {
        match self.texts(name)? {
            Some(texts) => Ok(texts),
            None => fail!("field {} is required", quoted(name)),
        }
    }

    fn flag(&self, name: &str) -> Field<bool> {
        match self.0.get(name).map(Node::value) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => fail!("field {} must be a bool", quoted(name)),
        }
    }

    fn int(&self, name: &str, otherwise: i64) -> Field<i64> {
        match self.0.get(name).map(Node::value) {
            None | Some(Value::Null) => Ok(otherwise),
            Some(Value::Int(value)) => Ok(*value),
            Some(_) => fail!("field {} must be an integer", quoted(name)),
        }
    }

    fn private_key(&self, name: &str) -> Field<Option<PrivateKey>> {
        let text = self.text(name)?;
        if text.is_empty() {
            return Ok(None);
        }
        PrivateKey::from_pem(text).map(Some).map_err(FunctionError::failed)
    }
}

/// The signer of a new certificate: the private key and the certificate of the signer. If the new certificate
/// is self-signed, there is no certificate of the signer.
struct Authority {
    key: PrivateKey,
    certificate: Option<Certificate>,
}

/// The content of the new certificate, apart from its key, its serial number and its validity.
struct Content {
    subject: Name,
    issuer: Name,
    ca: bool,
    usages: FlagSet<KeyUsages>,
    extended: Vec<ObjectIdentifier>,
    hosts: Vec<GeneralName>,
    authority_key: Option<OctetString>,
}

pub(super) fn create(host: &mut dyn Host, arguments: &[Node]) -> Outcome {
    let [argument] = arguments else { fail!("invalid argument count for x509cert(<map>)") };
    let Some(map) = argument.as_map() else {
        fail!("argument for x509cert must be a map (found {})", go_type(argument));
    };
    let fields = Fields(map);
    let own = fields.private_key("privateKey")?;
    let public = match fields.text("publicKey")? {
        "" => match &own {
            Some(key) => key.public(),
            None => fail!("one of 'publicKey' or 'privKey' must be given"),
        },
        text => PublicKey::from_pem(text).map_err(FunctionError::failed)?,
    };
    let authority = authority(&fields, own)?;
    let content = content(&fields, authority.certificate.as_ref())?;
    let validity = validity(host, &fields)?;
    let mut number = [0; 16];
    draw(host, &mut number)?;
    number[0] &= 0x7f;
    host.spend(1_000)?;
    let der = sign(content, &number, validity, &public, &authority.key)
        .map_err(|error| FunctionError::failed(format!("Failed to create certificate: {error}")))?;
    done(pem::write("CERTIFICATE", &der))
}

/// Returns the signer that the fields name. If the field `caCert` is missing, the certificate is self-signed
/// by the key `own`.
fn authority(fields: &Fields<'_>, own: Option<PrivateKey>) -> Field<Authority> {
    let certificate = match fields.text("caCert")? {
        "" => None,
        text => Some(
            read(text).map_err(|error| FunctionError::failed(format!("invalid ca certificate: {error}")))?,
        ),
    };
    let key = match (&certificate, fields.text("caPrivateKey")?.is_empty()) {
        (Some(_), true) => fail!("private key for ca required"),
        (Some(_), false) => fields.private_key("caPrivateKey")?,
        (None, _) => own,
    };
    match key {
        Some(key) => Ok(Authority { key, certificate }),
        None => fail!("private key for self-signed certificate required"),
    }
}

fn content(fields: &Fields<'_>, authority: Option<&Certificate>) -> Field<Content> {
    let failed = |error: x509_cert::der::Error| {
        FunctionError::failed(format!("Failed to create certificate: {error}"))
    };
    let subject = subject(
        &fields.texts("country")?.unwrap_or_default(),
        &fields.required_texts("organization")?,
        fields.text("commonName")?,
    )
    .map_err(failed)?;
    let mut usages = KeyUsages::KeyEncipherment | KeyUsages::DigitalSignature;
    let mut extended = vec![SERVER];
    for name in fields.required_texts("usage")? {
        match Usage::parse(&name) {
            Some(Usage::Basic(usage)) => usages |= usage,
            Some(Usage::Extended(usage)) if extended.contains(&usage) => {}
            Some(Usage::Extended(usage)) => extended.push(usage),
            None => fail!("invalid usage key {}", quoted(&name)),
        }
    }
    let ca = fields.flag("isCA")? || usages.contains(KeyUsages::KeyCertSign);
    if ca {
        usages |= KeyUsages::KeyCertSign;
    }
    let mut hosts = Vec::new();
    let given = fields.texts("hosts")?.unwrap_or_default();
    let (addresses, names): (Vec<_>, Vec<_>) = given.iter().partition(|name| parse_address(name).is_some());
    for name in names {
        hosts.push(GeneralName::DnsName(Ia5String::new(name).map_err(failed)?));
    }
    for address in addresses.into_iter().filter_map(|name| parse_address(name)) {
        let bytes = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        hosts.push(GeneralName::IpAddress(OctetString::new(bytes).map_err(failed)?));
    }
    let issuer = authority.map_or_else(|| subject.clone(), |ca| ca.tbs_certificate().subject().clone());
    let authority_key = authority.and_then(|ca| {
        let found = ca.tbs_certificate().get_extension::<SubjectKeyIdentifier>();
        found.ok().flatten().map(|(_, identifier)| identifier.0)
    });
    Ok(Content { subject, issuer, ca, usages, extended, hosts, authority_key })
}

/// Creates the subject of a certificate from countries, organisations and a common name. All countries form one
/// part of the subject, all organisations form another part, and the common name is a third part.
fn subject(countries: &[String], organizations: &[String], name: &str) -> x509_cert::der::Result<Name> {
    let common_name: Vec<String> =
        Some(name.to_owned()).filter(|name| !name.is_empty()).into_iter().collect();
    let mut sequence = RdnSequence::default();
    for (oid, texts) in [("2.5.4.6", countries), ("2.5.4.10", organizations), ("2.5.4.3", &common_name)] {
        let oid = ObjectIdentifier::new_unwrap(oid);
        let values: x509_cert::der::Result<Vec<AttributeTypeAndValue>> = texts
            .iter()
            .map(|text| Ok(AttributeTypeAndValue { oid, value: directory_text(text)? }))
            .collect();
        if !texts.is_empty() {
            sequence.push(RelativeDistinguishedName::try_from(values?)?);
        }
    }
    Name::from_der(&sequence.to_der()?)
}

/// Encodes a text as `PrintableString` if its characters permit this, and as `UTF8String` if they do not.
fn directory_text(text: &str) -> x509_cert::der::Result<Any> {
    match PrintableStringRef::new(text) {
        Ok(printable) => Any::encode_from(&printable),
        Err(_) => Any::encode_from(&Utf8StringRef::new(text)?),
    }
}

fn validity(host: &dyn Host, fields: &Fields<'_>) -> Field<Validity> {
    let start = match fields.text("validFrom")? {
        "" => i64::try_from(host.now().as_secs()).unwrap_or(0),
        text => match jiff::civil::DateTime::strptime("%b %d %H:%M:%S %Y", text)
            .map(|time| time.to_zoned(jiff::tz::TimeZone::UTC))
        {
            Ok(Ok(time)) => time.timestamp().as_second(),
            _ => fail!(
                "invalid validFrom fields: {} is no time such as {}",
                quoted(text),
                quoted("Jan 2 15:04:05 2006")
            ),
        },
    };
    let hours = fields.int("validity", 24 * 365)?;
    let end = start.saturating_add(hours.saturating_mul(3600));
    let time = |seconds: i64| -> Field<Time> {
        let moment = u64::try_from(seconds)
            .ok()
            .and_then(|s| DateTime::from_unix_duration(Duration::from_secs(s)).ok());
        moment
            .map(Time::from)
            .ok_or_else(|| FunctionError::failed("Failed to create certificate: the time is out of range"))
    };
    Ok(Validity::new(time(start)?, time(end)?))
}

impl BuilderProfile for Content {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        key: SubjectPublicKeyInfoRef<'_>,
        issuer_key: SubjectPublicKeyInfoRef<'_>,
        certificate: &TbsCertificate,
    ) -> BuilderResult<Vec<Extension>> {
        let identifier = |key: SubjectPublicKeyInfoRef<'_>| {
            OctetString::new(Sha1::digest(key.subject_public_key.raw_bytes()).to_vec())
        };
        let name = certificate.subject();
        let mut extensions = vec![
            (&KeyUsage(self.usages)).to_extension(name, &[])?,
            (&ExtendedKeyUsage(self.extended.clone())).to_extension(name, &[])?,
            (true, &BasicConstraints { ca: self.ca, path_len_constraint: None }).to_extension(name, &[])?,
        ];
        if self.ca {
            extensions.push((&SubjectKeyIdentifier(identifier(key.clone())?)).to_extension(name, &[])?);
        }
        let self_signed = self.ca && self.issuer == self.subject;
        let authority = if self_signed { Some(identifier(issuer_key)?) } else { self.authority_key.clone() };
        if let Some(key_identifier) = authority {
            let authority =
                AuthorityKeyIdentifier { key_identifier: Some(key_identifier), ..Default::default() };
            extensions.push((&authority).to_extension(name, &[])?);
        }
        if !self.hosts.is_empty() {
            extensions.push((&SubjectAltName(self.hosts.clone())).to_extension(name, &[])?);
        }
        Ok(extensions)
    }
}

fn sign(
    content: Content,
    number: &[u8],
    validity: Validity,
    public: &PublicKey,
    key: &PrivateKey,
) -> Result<Vec<u8>, String> {
    let info = SubjectPublicKeyInfoOwned::from_der(&public.to_spki()?).map_err(|error| error.to_string())?;
    let number = SerialNumber::new(number).map_err(|error| error.to_string())?;
    let builder =
        CertificateBuilder::new(content, number, validity, info).map_err(|error| error.to_string())?;
    let built = match key {
        PrivateKey::Rsa(key) => {
            let signer = rsa::pkcs1v15::SigningKey::<Sha256>::new(key.as_ref().clone());
            builder.build::<_, rsa::pkcs1v15::Signature>(&signer)
        }
        PrivateKey::P224(key) => {
            builder.build::<_, p224::ecdsa::DerSignature>(&p224::ecdsa::SigningKey::from(key))
        }
        PrivateKey::P256(key) => {
            builder.build::<_, p256::ecdsa::DerSignature>(&p256::ecdsa::SigningKey::from(key))
        }
        PrivateKey::P384(key) => {
            builder.build::<_, p384::ecdsa::DerSignature>(&p384::ecdsa::SigningKey::from(key))
        }
        PrivateKey::P521(key) => {
            builder.build::<_, p521::ecdsa::DerSignature>(&p521::ecdsa::SigningKey::from(key))
        }
    };
    built.map_err(|error| error.to_string())?.to_der().map_err(|error| error.to_string())
}

/// Parses a certificate in PEM format.
pub(super) fn read(text: &str) -> Result<Certificate, String> {
    let block = pem::read(text).ok_or("invalid certificate format (expected pem block)")?;
    if block.label != "CERTIFICATE" {
        return Err(format!("unexpected pem block type for certificate: {}", quoted(&block.label)));
    }
    Certificate::from_der(&block.content).map_err(|error| format!("x509: malformed certificate: {error}"))
}

/// Returns the public key of a certificate in PEM format.
pub(super) fn public_key(text: &str) -> Result<PublicKey, String> {
    key_of(&read(text)?)
}

pub(super) fn key_of(certificate: &Certificate) -> Result<PublicKey, String> {
    let info = certificate.tbs_certificate().subject_public_key_info();
    let der = info.to_der().map_err(|error| error.to_string())?;
    PublicKey::from_spki(&der).ok_or_else(|| "unknown type of public key".to_owned())
}

/// Tells whether a certificate belongs to a certificate authority, according to its extension `BasicConstraints`.
pub(super) fn may_sign(certificate: &Certificate) -> bool {
    let found = certificate.tbs_certificate().get_extension::<BasicConstraints>();
    found.ok().flatten().is_some_and(|(_, constraints)| constraints.ca)
}

/// Checks that a text is a certificate, for the condition `certificate` of the spiff function `validate`. If the
/// text is no certificate, the error is the message of the failed condition.
pub(crate) fn is_certificate(text: &str) -> Result<(), String> {
    read(text).map(|_| ()).map_err(|error| format!("is no certificate: {error}"))
}

/// Checks that a text is the certificate of a certificate authority, for the condition `ca` of the spiff function
/// `validate`. If the text is no such certificate, the error is the message of the failed condition.
pub(crate) fn is_ca(text: &str) -> Result<(), String> {
    let certificate = read(text).map_err(|error| format!("is no certificate: {error}"))?;
    if may_sign(&certificate) { Ok(()) } else { Err("is no ca certificate".to_owned()) }
}
