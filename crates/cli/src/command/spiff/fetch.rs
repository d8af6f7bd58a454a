//! HTTP access of templates, limited to granted hosts.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::LOCATION;
use hyper::{Request, Response, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use windlass_spiff::Fetch;

/// Maximum time for a response.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum size of a response in bytes.
const LARGEST: usize = 64 * 1024 * 1024;
/// Maximum number of redirects.
const REDIRECTS: usize = 10;

/// Returns a function that fetches the content of addresses at the granted hosts. A host has the form
/// `example.org`, or `example.org:8443` for a single port.
pub(super) fn from(hosts: Vec<String>) -> Fetch {
    Arc::new(move |address| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let content = runtime.block_on(async {
            tokio::time::timeout(PATIENCE, read(&hosts, address))
                .await
                .unwrap_or_else(|_| Err(io::Error::other(format!("no answer in {PATIENCE:?}"))))
        });
        runtime.shutdown_background();
        content
    })
}

async fn read(hosts: &[String], address: &str) -> io::Result<Vec<u8>> {
    let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().build();
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let mut uri: Uri = address.parse().map_err(io::Error::other)?;
    for _ in 0..=REDIRECTS {
        granted(hosts, &uri)?;
        let request = Request::get(&uri)
            .header("user-agent", "windlass")
            .body(Empty::new())
            .map_err(io::Error::other)?;
        let response = client.request(request).await.map_err(|error| with_causes(&error))?;
        if response.status().is_redirection()
            && let Some(next) = next(&uri, &response)
        {
            uri = next;
            continue;
        }
        if !response.status().is_success() {
            return Err(io::Error::other(format!("{} of {uri}", response.status())));
        }
        let body = Limited::new(response.into_body(), LARGEST).collect().await.map_err(io::Error::other)?;
        return Ok(body.to_bytes().to_vec());
    }
    Err(io::Error::other(format!("{address} leads to other addresses more than {REDIRECTS} times")))
}

/// Returns an I/O error whose message contains an error with all its causes.
fn with_causes(error: &dyn std::error::Error) -> io::Error {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    io::Error::other(text)
}

/// Checks that the host of an address, or of a redirect's target, is granted.
fn granted(hosts: &[String], uri: &Uri) -> io::Result<()> {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    let named = |grant: &String| {
        let (name, only) = match grant.rsplit_once(':').map(|(name, port)| (name, port.parse::<u16>())) {
            Some((name, Ok(only))) => (name, Some(only)),
            _ => (grant.as_str(), None),
        };
        name.eq_ignore_ascii_case(host) && only.is_none_or(|only| only == port)
    };
    if hosts.iter().any(named) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("--allow http={host} is not given")))
}

/// Returns the target of a redirect.
fn next<B>(here: &Uri, response: &Response<B>) -> Option<Uri> {
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let uri: Uri = location.parse().ok()?;
    if uri.host().is_some() {
        return Some(uri);
    }
    Uri::builder()
        .scheme(here.scheme()?.clone())
        .authority(here.authority()?.clone())
        .path_and_query(location)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(hosts: &[&str], address: &str) -> bool {
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        granted(&hosts, &address.parse().expect("an address")).is_ok()
    }

    #[test]
    fn only_named_hosts_are_read() {
        assert!(may(&["example.org"], "https://example.org/a"));
        assert!(may(&["example.org"], "http://EXAMPLE.org:8080/a"));
        assert!(may(&["example.org:8443"], "https://example.org:8443/"));
        assert!(may(&["example.org:443"], "https://example.org/"));
        assert!(!may(&["example.org:8443"], "https://example.org/"));
        assert!(!may(&["example.org"], "https://www.example.org/"));
        assert!(!may(&["example.org"], "https://example.org.evil.test/"));
        assert!(!may(&["example.org"], "https://example.org@evil.test/"));
        assert!(!may(&[], "https://example.org/"));
    }

    #[test]
    fn a_redirect_may_be_relative() {
        let here: Uri = "https://example.org/a/b".parse().expect("an address");
        let to = |location: &str| {
            let response = Response::builder().header(LOCATION, location).body(()).expect("a response");
            next(&here, &response).map(|uri| uri.to_string())
        };
        assert_eq!(to("/c?d").as_deref(), Some("https://example.org/c?d"));
        assert_eq!(to("http://other.test/").as_deref(), Some("http://other.test/"));
    }
}
