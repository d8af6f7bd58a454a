//! Asks Podman whether it runs without root. The client library for the Docker API does not return this
//! property.

use std::time::Duration;

use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use super::{Endpoint, endpoint::Host};

/// Maximum time in which [`is_rootless`] sends its request and receives Podman's answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of bytes that [`is_rootless`] reads of Podman's answer.
const MOST: u64 = 1 << 20;

#[derive(Deserialize)]
struct Info {
    #[serde(rename = "Rootless")]
    rootless: bool,
}

/// Asks Podman whether it runs without root. Podman reports this in the field `Rootless` of its answer. The client
/// library drops this field, so the function sends the request itself. Returns `None` if Podman doesn't report the
/// field. Also returns `None` if the connection uses ssh or TLS, which the function does not support.
pub(crate) async fn is_rootless(endpoint: &Endpoint) -> Option<bool> {
    let answer = async {
        match (&endpoint.host, &endpoint.tls) {
            (Host::Unix(path), _) => query(UnixStream::connect(path).await.ok()?).await,
            (Host::Tcp(address), None) => query(TcpStream::connect(address).await.ok()?).await,
            (Host::Tcp(_) | Host::Https(_) | Host::Ssh(_), _) => None,
        }
    };
    timeout(LIMIT, answer).await.ok().flatten()
}

async fn query(mut line: impl AsyncRead + AsyncWrite + Unpin) -> Option<bool> {
    // The request uses HTTP 1.0, so that the answer comes in one piece and ends with the connection.
    line.write_all(b"GET /info HTTP/1.0\r\nHost: engine\r\n\r\n").await.ok()?;
    let mut answer = Vec::new();
    line.take(MOST).read_to_end(&mut answer).await.ok()?;
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    serde_json::from_slice::<Info>(&answer[body..]).ok().map(|info| info.rootless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_it_says_is_read() {
        let answer = |body: &str| format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{body}");
        for (body, expected) in [
            (r#"{"Rootless":true,"Images":0}"#, Some(true)),
            (r#"{"Rootless":false}"#, Some(false)),
            (r#"{"Images":0}"#, None),
            ("", None),
        ] {
            let (ours, mut theirs) = tokio::io::duplex(1024);
            theirs.write_all(answer(body).as_bytes()).await.unwrap();
            let asked = tokio::spawn(query(ours));
            let mut request = [0; 18];
            theirs.read_exact(&mut request).await.unwrap();
            assert_eq!(&request, b"GET /info HTTP/1.0");
            theirs.shutdown().await.unwrap();
            assert_eq!(asked.await.unwrap(), expected, "{body}");
        }
    }
}
