//! TLS to the server, by rustls. `sslmode` and `sslrootcert` of an address have the same meaning as for
//! PostgreSQL's own clients.
//!
//! | `sslmode` | encrypted | accepted certificates |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer`, the default | if the server supports it | any |
//! | `require` | yes | any; if `sslrootcert` is set, the same as for `verify-ca` |
//! | `verify-ca` | yes | signed by a known authority |
//! | `verify-full` | yes | signed by a known authority, and issued for the host's name |
//!
//! The setting `sslrootcert` names the file with the known authorities. If it is not set, the known authorities are
//! those of the system.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

use crate::address::{split_url, value_length};

/// The check that a server's certificate must pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Anybody,
    Authority,
    Name,
}

/// The settings `sslmode` and `sslrootcert` of an address.
///
/// windlass removes these settings from the address before it gives the address to the crate `tokio-postgres`.
/// `tokio-postgres` knows neither the modes `verify-ca` and `verify-full` nor the setting `sslrootcert`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The value of `sslmode`.
    mode: Option<String>,
    /// The value of `sslrootcert`.
    roots: Option<String>,
}

impl Wanted {
    /// Removes `sslmode` and `sslrootcert` from an address, which is a URL or a list of `key=value`. Returns
    /// the rest and the settings.
    pub(super) fn take(address: &str) -> (String, Self) {
        let mut wanted = Self::default();
        let rest = match split_url(address) {
            Some((scheme, rest)) => {
                // Like `tokio-postgres`, this function takes the text before the first `@` as user and password. A
                // password may contain a `?`.
                let (login, rest) = rest.split_at(rest.find('@').unwrap_or(0));
                format!("{scheme}://{login}{}", wanted.take_from_url(rest))
            }
            None => wanted.take_from_list(address),
        };
        (rest, wanted)
    }

    fn take_from_url(&mut self, rest: &str) -> String {
        let Some((base, query)) = rest.split_once('?') else { return rest.to_owned() };
        let is_other = |pair: &&str| {
            let Some((key, value)) = pair.split_once('=') else { return true };
            !self.takes(&decoded(key), decoded(value))
        };
        let kept: Vec<&str> = query.split('&').filter(is_other).collect();
        if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) }
    }

    fn take_from_list(&mut self, list: &str) -> String {
        let mut kept = String::new();
        let mut rest = list;
        while let Some((key, value)) = rest.split_once('=') {
            // Like `tokio-postgres`, this function ignores the rest after a missing key.
            if key.trim().is_empty() {
                break;
            }
            let value = value.trim_start();
            let (value, after) = value.split_at(value_length(value));
            if self.takes(key.trim(), unquoted(value)) {
                kept.push_str(&key[..key.len() - key.trim_start().len()]);
                rest = after.trim_start();
            } else {
                kept.push_str(&rest[..rest.len() - after.len()]);
                rest = after;
            }
        }
        kept + rest
    }

    /// Stores the value if `key` is `sslmode` or `sslrootcert`. Returns `false` for any other key.
    fn takes(&mut self, key: &str, value: String) -> bool {
        match key {
            "sslmode" => self.mode = Some(value),
            "sslrootcert" => self.roots = Some(value),
            _ => return false,
        }
        true
    }

    /// Converts the value of `sslmode` to the type [`SslMode`] of the crate `tokio-postgres`. Also returns the
    /// TLS connector, which checks the certificate of the server.
    ///
    /// # Errors
    /// A sentence for the user, if the mode is unknown or certificates can't be loaded.
    pub(super) fn ready(&self) -> Result<(SslMode, Tls), String> {
        let (mode, trust) = match self.mode.as_deref() {
            Some("disable") => (SslMode::Disable, Trust::Anybody),
            None | Some("prefer") => (SslMode::Prefer, Trust::Anybody),
            Some("require") if self.roots.is_none() => (SslMode::Require, Trust::Anybody),
            Some("require" | "verify-ca") => (SslMode::Require, Trust::Authority),
            Some("verify-full") => (SslMode::Require, Trust::Name),
            Some(other) => {
                return Err(format!(
                    "`sslmode` is disable, prefer, require, verify-ca or verify-full, not `{other}`"
                ));
            }
        };
        let roots = self.roots.as_deref().map(Path::new);
        Ok((mode, Tls { config: Arc::new(client(trust, roots)?) }))
    }
}

/// Removes the quotes and the escaping backslashes from a value in a list of `key=value`.
fn unquoted(value: &str) -> String {
    let value = value.strip_prefix('\'').map_or(value, |inner| inner.strip_suffix('\'').unwrap_or(inner));
    let mut plain = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

/// Decodes percent-encoded bytes such as `%2F`.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, more @ ..] = rest {
        let hex = more.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[2..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn client(trust: Trust, roots: Option<&Path>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    if trust == Trust::Name {
        return Ok(builder.with_root_certificates(authorities(roots)?).with_no_client_auth());
    }
    let signed = match trust {
        Trust::Authority => {
            let roots = Arc::new(authorities(roots)?);
            let known = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            Some(known.build().map_err(|error| error.to_string())?)
        }
        _ => None,
    };
    let lenient = Arc::new(Lenient { signed, provider });
    Ok(builder.dangerous().with_custom_certificate_verifier(lenient).with_no_client_auth())
}

fn authorities(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let Some(file) = file else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(store);
    };
    let wrong = |what: String| format!("`sslrootcert` {}: {what}", file.display());
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        store.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if store.is_empty() { Err(wrong("it has no certificate".to_owned())) } else { Ok(store) }
}

/// A verifier that ignores the host name of a certificate, and optionally its signer.
#[derive(Debug)]
struct Lenient {
    /// Checks that a known authority has signed the certificate. `None` accepts every certificate.
    signed: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(signed) = &self.signed else { return Ok(ServerCertVerified::assertion()) };
        match signed.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The TLS settings, from which a connector for each host is created.
#[derive(Clone)]
pub(super) struct Tls {
    config: Arc<ClientConfig>,
}

/// A connector for one host. A Unix socket has no host name and uses no TLS.
pub(super) struct ToHost {
    config: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
}

pub(super) struct Encrypted<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = ToHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<ToHost> {
        let name = ServerName::try_from(host.to_owned()).ok();
        Ok(ToHost { config: self.config.clone(), name })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ToHost {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name =
                self.name.ok_or_else(|| io::Error::other("the host has no name that TLS could check"))?;
            let stream = tokio_rustls::TlsConnector::from(self.config).connect(name, stream).await?;
            Ok(Encrypted(Box::new(stream)))
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tls_options_are_taken_out_of_an_address() {
        let cases = [
            (
                "postgres://me@db/x?sslmode=verify-full&a=b",
                "postgres://me@db/x?a=b",
                Some("verify-full"),
                None,
            ),
            ("postgres://db/x?sslrootcert=%2Fetc%2Fca%20.pem", "postgres://db/x", None, Some("/etc/ca .pem")),
            ("host=db sslmode=require dbname=x", "host=db dbname=x", Some("require"), None),
            ("host=db sslrootcert='/ca.pem'", "host=db ", None, Some("/ca.pem")),
            ("host=db sslmode = require\tdbname=x", "host=db dbname=x", Some("require"), None),
            ("password='a sslmode=disable' host=db", "password='a sslmode=disable' host=db", None, None),
            ("sslrootcert='/my \\'ca\\'.pem' host=db", "host=db", None, Some("/my 'ca'.pem")),
            ("postgres://db/x", "postgres://db/x", None, None),
            ("postgres://me:a?b@db/x?sslmode=require", "postgres://me:a?b@db/x", Some("require"), None),
            ("postgres://me:a?sslmode=disable@db/x", "postgres://me:a?sslmode=disable@db/x", None, None),
        ];
        for (address, rest, mode, roots) in cases {
            let wanted = Wanted { mode: mode.map(str::to_owned), roots: roots.map(str::to_owned) };
            assert_eq!(Wanted::take(address), (rest.to_owned(), wanted));
        }
    }

    proptest! {
        /// [`Wanted::take`] reads the same `sslmode` from an address as the crate `tokio-postgres`, for all modes
        /// that `tokio-postgres` knows.
        #[test]
        fn the_mode_is_that_of_the_client_library(
            password in "[ab:@/?&=' %\\\\]{0,6}",
            mode in prop::sample::select(vec!["disable", "prefer", "require"]),
            form in 0..5,
        ) {
            let address = match form {
                0 => format!("postgres://me:{password}@db/x?sslmode={mode}"),
                1 => format!("postgres://me:{password}@db?a=b&sslmode={mode}"),
                2 => format!("postgres://db/x?password={password}&sslmode={mode}"),
                3 => format!("host=db password={password} sslmode={mode}"),
                _ => format!("password='{password}' sslmode = '{mode}' host=db"),
            };
            let address = address.replace("a=b&", "application_name=b&");
            if let Ok(whole) = address.parse::<tokio_postgres::Config>() {
                let (rest, wanted) = Wanted::take(&address);
                prop_assert_eq!(wanted.ready().unwrap().0, whole.get_ssl_mode(), "{}", address);
                let rest: tokio_postgres::Config = rest.parse().unwrap();
                prop_assert_eq!(rest.get_password(), whole.get_password());
                prop_assert_eq!(rest.get_hosts(), whole.get_hosts());
            }
        }
    }
}
