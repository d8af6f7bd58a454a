//! Private and public keys of RSA, and of the elliptic curves P-224, P-256, P-384 and P-521.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rsa::pkcs1::{
    DecodeRsaPrivateKey as _, DecodeRsaPublicKey as _, EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _,
};
use rsa::rand_core::CryptoRng;
use rsa::traits::PublicKeyParts as _;
use sec1::{EcParameters, EcPrivateKey};
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::spki::{DecodePublicKey as _, EncodePublicKey as _, ObjectIdentifier};

use super::pem;
use crate::functions::argument::quoted;

#[derive(Clone)]
pub(super) enum PrivateKey {
    Rsa(Box<rsa::RsaPrivateKey>),
    P224(p224::SecretKey),
    P256(p256::SecretKey),
    P384(p384::SecretKey),
    P521(p521::SecretKey),
}

#[derive(Clone)]
pub(super) enum PublicKey {
    Rsa(Box<rsa::RsaPublicKey>),
    P224(p224::PublicKey),
    P256(p256::PublicKey),
    P384(p384::PublicKey),
    P521(p521::PublicKey),
}

const P224: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.33");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");

/// Draws random numbers until one is a valid key. Nearly every number is valid.
macro_rules! draw {
    ($lot:expr, $curve:ident, $bytes:literal) => {
        loop {
            let mut bytes = [0; $bytes];
            $lot.fill_bytes(&mut bytes);
            if $bytes == 66 {
                bytes[0] &= 1;
            }
            if let Ok(key) = $curve::SecretKey::from_slice(&bytes) {
                break key;
            }
        }
    };
}

impl PrivateKey {
    /// Generates an RSA key with a modulus of `bits` bits. `lot` is the source of randomness.
    pub(super) fn rsa<R: CryptoRng>(lot: &mut R, bits: usize) -> Result<Self, String> {
        let key =
            rsa::RsaPrivateKey::new(lot, bits).map_err(|error| format!("failed to generate key: {error}"))?;
        Ok(Self::Rsa(Box::new(key)))
    }

    /// Generates a key on the elliptic curve `P224`, `P256`, `P384` or `P521`. Any other name is an error. `lot` is the
    /// source of randomness.
    pub(super) fn on_curve<R: CryptoRng>(lot: &mut R, curve: &str) -> Result<Self, String> {
        Ok(match curve {
            "P224" => Self::P224(draw!(lot, p224, 28)),
            "P256" => Self::P256(draw!(lot, p256, 32)),
            "P384" => Self::P384(draw!(lot, p384, 48)),
            "P521" => Self::P521(draw!(lot, p521, 66)),
            _ => return Err(format!("unrecognized elliptic curve: {}", quoted(curve))),
        })
    }

    pub(super) fn from_pem(text: &str) -> Result<Self, String> {
        let block = pem::read(text).ok_or("invalid private key format (expected pem block)")?;
        match block.label.as_str() {
            "RSA PRIVATE KEY" => rsa::RsaPrivateKey::from_pkcs1_der(&block.content)
                .map(|key| Self::Rsa(Box::new(key)))
                .map_err(|error| format!("failed to parse private key: {error}")),
            "EC PRIVATE KEY" => Self::from_sec1(&block.content),
            other => Err(format!("invalid pem block type {}", quoted(other))),
        }
    }

    fn from_sec1(der: &[u8]) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("failed to parse EC private key: {error}");
        let key = EcPrivateKey::from_der(der).map_err(|error| failed(&error))?;
        let curve = key.parameters.and_then(EcParameters::named_curve);
        let bytes = key.private_key;
        match curve {
            Some(P224) => p224::SecretKey::from_slice(bytes).map(Self::P224),
            Some(P256) => p256::SecretKey::from_slice(bytes).map(Self::P256),
            Some(P384) => p384::SecretKey::from_slice(bytes).map(Self::P384),
            Some(P521) => p521::SecretKey::from_slice(bytes).map(Self::P521),
            _ => return Err(failed(&"unknown elliptic curve")),
        }
        .map_err(|error| failed(&error))
    }

    pub(super) fn to_pem(&self) -> Result<String, String> {
        let failed = |error: &dyn std::fmt::Display| format!("failed to write private key: {error}");
        let sec1 = |curve, private: &[u8], public: &[u8]| {
            let parameters = Some(EcParameters::NamedCurve(curve));
            let key = EcPrivateKey { private_key: private, parameters, public_key: Some(public) };
            key.to_der().map(|der| pem::write("EC PRIVATE KEY", &der)).map_err(|error| failed(&error))
        };
        match self {
            Self::Rsa(key) => {
                let der = key.to_pkcs1_der().map_err(|error| failed(&error))?;
                Ok(pem::write("RSA PRIVATE KEY", der.as_bytes()))
            }
            Self::P224(key) => sec1(P224, &key.to_bytes(), &key.public_key().to_sec1_bytes()),
            Self::P256(key) => sec1(P256, &key.to_bytes(), &key.public_key().to_sec1_bytes()),
            Self::P384(key) => sec1(P384, &key.to_bytes(), &key.public_key().to_sec1_bytes()),
            Self::P521(key) => sec1(P521, &key.to_bytes(), &key.public_key().to_sec1_bytes()),
        }
    }

    pub(super) fn public(&self) -> PublicKey {
        match self {
            Self::Rsa(key) => PublicKey::Rsa(Box::new(key.to_public_key())),
            Self::P224(key) => PublicKey::P224(key.public_key()),
            Self::P256(key) => PublicKey::P256(key.public_key()),
            Self::P384(key) => PublicKey::P384(key.public_key()),
            Self::P521(key) => PublicKey::P521(key.public_key()),
        }
    }
}

impl PublicKey {
    /// Parses the key of a `SubjectPublicKeyInfo`.
    pub(super) fn from_spki(der: &[u8]) -> Option<Self> {
        let rsa = || rsa::RsaPublicKey::from_public_key_der(der).ok().map(|key| Self::Rsa(Box::new(key)));
        rsa()
            .or_else(|| p256::PublicKey::from_public_key_der(der).ok().map(Self::P256))
            .or_else(|| p384::PublicKey::from_public_key_der(der).ok().map(Self::P384))
            .or_else(|| p521::PublicKey::from_public_key_der(der).ok().map(Self::P521))
            .or_else(|| p224::PublicKey::from_public_key_der(der).ok().map(Self::P224))
    }

    pub(super) fn from_pem(text: &str) -> Result<Self, String> {
        let block = pem::read(text).ok_or("invalid public key format (expected pem block)")?;
        if let Some(key) = Self::from_spki(&block.content) {
            return Ok(key);
        }
        rsa::RsaPublicKey::from_pkcs1_der(&block.content)
            .map(|key| Self::Rsa(Box::new(key)))
            .map_err(|error| format!("failed to parse DER encoded public key: {error}"))
    }

    /// Encodes the key as `SubjectPublicKeyInfo`.
    pub(super) fn to_spki(&self) -> Result<Vec<u8>, String> {
        let document = match self {
            Self::Rsa(key) => key.to_public_key_der(),
            Self::P224(key) => key.to_public_key_der(),
            Self::P256(key) => key.to_public_key_der(),
            Self::P384(key) => key.to_public_key_der(),
            Self::P521(key) => key.to_public_key_der(),
        };
        document
            .map(|document| document.as_bytes().to_vec())
            .map_err(|error| format!("failed to write public key: {error}"))
    }

    /// Encodes the key as PEM. As in the Go program spiff++, the block type is `RSA PUBLIC KEY` or `ECDSA PUBLIC KEY`.
    pub(super) fn to_pem(&self) -> Result<String, String> {
        match self {
            Self::Rsa(key) => key
                .to_pkcs1_der()
                .map(|der| pem::write("RSA PUBLIC KEY", der.as_bytes()))
                .map_err(|error| format!("failed to write public key: {error}")),
            _ => Ok(pem::write("ECDSA PUBLIC KEY", &self.to_spki()?)),
        }
    }

    /// Encodes the key as PEM with the block type `PUBLIC KEY`, in the standard format PKIX.
    pub(super) fn to_pkix(&self) -> Result<String, String> {
        Ok(pem::write("PUBLIC KEY", &self.to_spki()?))
    }

    /// Formats the key as a line of the file `authorized_keys`.
    pub(super) fn to_ssh(&self) -> String {
        let point = |curve: &str, point: &[u8]| {
            let name = format!("ecdsa-sha2-{curve}");
            let parts = [name.as_bytes(), curve.as_bytes(), point].map(<[u8]>::to_vec);
            (name.clone(), parts.to_vec())
        };
        let (name, parts) = match self {
            Self::Rsa(key) => {
                let parts = vec![b"ssh-rsa".to_vec(), positive(&key.e_bytes()), positive(&key.n_bytes())];
                ("ssh-rsa".to_owned(), parts)
            }
            Self::P224(key) => point("nistp224", &key.to_sec1_bytes()),
            Self::P256(key) => point("nistp256", &key.to_sec1_bytes()),
            Self::P384(key) => point("nistp384", &key.to_sec1_bytes()),
            Self::P521(key) => point("nistp521", &key.to_sec1_bytes()),
        };
        let mut blob = Vec::new();
        for part in parts {
            blob.extend(u32::try_from(part.len()).unwrap_or(0).to_be_bytes());
            blob.extend(part);
        }
        format!("{name} {}\n", STANDARD.encode(blob))
    }
}

/// Encodes a number for SSH, without leading zero bytes. If the first bit of the first byte is 1, the function puts
/// a zero byte in front of this byte. Without the zero byte, the encoded number would be negative.
fn positive(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let digits = &bytes[start..];
    let sign = digits.first().is_some_and(|first| first & 0x80 != 0);
    std::iter::repeat_n(0, usize::from(sign)).chain(digits.iter().copied()).collect()
}
