//! Tests the ways to reach an engine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream, UnixStream},
    task::JoinHandle,
};
use windlass_executor::docker::{Engine, EngineChoice, EngineError, EngineKind, Environment, Host};

use super::engines::docker;

/// Returns the socket that a test's engine listens on, if it is a local one.
fn socket(engine: &Engine) -> Option<PathBuf> {
    match &engine.endpoint().host {
        Host::Unix(path) => Some(path.clone()),
        _ => None,
    }
}

/// Serves an engine's socket on a port of this machine, until the handle is aborted.
async fn by_tcp(socket: PathBuf) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut engine = UnixStream::connect(&socket).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut engine).await });
        }
    });
    (address, served)
}

#[tokio::test]
async fn an_engine_describes_itself() {
    let Some(engine) = docker("an_engine_describes_itself").await else { return };
    let description = engine.describe().await.unwrap();
    assert!(!description.version.is_empty() && !description.api.is_empty(), "{description:?}");
    assert!(matches!(description.kind, EngineKind::Docker | EngineKind::Podman));
    assert!(description.processors > 0);
    assert!(description.tested);
}

#[tokio::test]
async fn an_engine_is_reached_by_tcp() {
    let Some(engine) = docker("an_engine_is_reached_by_tcp").await else { return };
    let Some(socket) = socket(&engine) else { return };
    let (address, served) = by_tcp(socket).await;
    let environment: Environment = [("DOCKER_HOST", format!("tcp://{address}"))].into_iter().collect();
    let far = Engine::connect(&EngineChoice::Docker, &environment).await.unwrap();
    assert_eq!(far.describe().await.unwrap().version, engine.describe().await.unwrap().version);
    served.abort();
}

#[tokio::test]
async fn an_engine_is_reached_by_a_context() {
    let Some(engine) = docker("an_engine_is_reached_by_a_context").await else { return };
    let home = tempfile::tempdir().unwrap();
    // `docker context create` names the folder by the SHA-256 of `here`.
    let digest = Command::new("sh").args(["-c", "printf here | sha256sum | cut -c1-64"]).output().unwrap();
    let digest = String::from_utf8(digest.stdout).unwrap();
    let folder = home.path().join(".docker/contexts/meta").join(digest.trim());
    fs::create_dir_all(&folder).unwrap();
    let host = &engine.endpoint().host;
    let meta = format!(r#"{{"Name":"here","Endpoints":{{"docker":{{"Host":"{host}"}}}}}}"#);
    fs::write(folder.join("meta.json"), meta).unwrap();
    fs::write(home.path().join(".docker/config.json"), r#"{"currentContext":"here"}"#).unwrap();
    let environment: Environment = [("HOME", home.path().to_str().unwrap())].into_iter().collect();
    let engine = Engine::connect(&EngineChoice::Docker, &environment).await.unwrap();
    assert_eq!(engine.endpoint().source, "the context `here`");
}

/// Creates an authority and certificates for an engine at 127.0.0.1 and for a client, with the usual names in
/// one folder.
fn certificates(dir: &Path) {
    let script = r"
        set -e
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca-key.pem -out ca.pem \
            -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
        for who in server client; do
            openssl req -newkey rsa:2048 -nodes -subj /CN=$who -keyout $who-key.pem -out $who.csr
            printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' > $who.ext
            openssl x509 -req -days 2 -in $who.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -extfile $who.ext -out $who.pem
        done
        mv client.pem cert.pem
        mv client-key.pem key.pem";
    let made = Command::new("sh").args(["-c", script]).current_dir(dir).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test]
async fn an_engine_is_reached_by_tls_and_by_nobody_else() {
    let Some(engine) = docker("an_engine_is_reached_by_tls_and_by_nobody_else").await else { return };
    let Some(socket) = socket(&engine) else { return };
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let (address, served) = by_tls(socket, dir.path()).await;
    let environment = |scheme: &str, certificates: &Path| -> Environment {
        let variables = [
            ("DOCKER_HOST", format!("{scheme}://{address}")),
            ("DOCKER_TLS_VERIFY", "1".to_owned()),
            ("DOCKER_CERT_PATH", certificates.display().to_string()),
        ];
        variables.into_iter().collect()
    };
    for scheme in ["tcp", "https"] {
        let far = Engine::connect(&EngineChoice::Docker, &environment(scheme, dir.path())).await.unwrap();
        assert!(far.endpoint().tls.is_some());
        assert_eq!(far.describe().await.unwrap().version, engine.describe().await.unwrap().version);
    }

    // Certificates of another authority are refused.
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    let refused = Engine::connect(&EngineChoice::Docker, &environment("tcp", other.path())).await;
    assert!(matches!(refused, Err(EngineError::Unreachable { .. })), "{refused:?}");
    let plain: Environment = [("DOCKER_HOST", format!("tcp://{address}"))].into_iter().collect();
    assert!(Engine::connect(&EngineChoice::Docker, &plain).await.is_err());
    served.abort();
}

/// Serves an engine's socket with TLS that requires a client certificate.
async fn by_tls(socket: PathBuf, dir: &Path) -> (String, JoinHandle<()>) {
    use rustls::{RootCertStore, ServerConfig, server::WebPkiClientVerifier};
    use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(dir.join("ca.pem")).unwrap()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone()).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![CertificateDer::from_pem_file(dir.join("server.pem")).unwrap()],
            PrivateKeyDer::from_pem_file(dir.join("server-key.pem")).unwrap(),
        )
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve_tls(client, acceptor.clone(), socket.clone()));
        }
    });
    (address, served)
}

async fn serve_tls(client: TcpStream, acceptor: tokio_rustls::TlsAcceptor, socket: PathBuf) {
    let Ok(mut client) = acceptor.accept(client).await else { return };
    let mut engine = UnixStream::connect(&socket).await.unwrap();
    let _ended = copy_bidirectional(&mut client, &mut engine).await;
}

#[tokio::test]
async fn an_https_address_without_certificates_is_refused() {
    let variables = [("DOCKER_HOST", "https://127.0.0.1:1")];
    let refused = Engine::connect(&EngineChoice::Docker, &variables.into_iter().collect()).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the engine at https://127.0.0.1:1 can't be reached: https needs certificates: set DOCKER_TLS_VERIFY=1, and \
         set DOCKER_CERT_PATH to the folder with ca.pem, cert.pem and key.pem"
    );
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_named() {
    let variables = [("DOCKER_HOST", "unix:///no/such/socket")];
    let refused = Engine::connect(&EngineChoice::Docker, &variables.into_iter().collect()).await;
    let text = refused.unwrap_err().to_string();
    assert!(text.starts_with("the engine at unix:///no/such/socket can't be reached: "), "{text}");
}

#[tokio::test]
async fn an_engine_that_says_nothing_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let host = format!("unix://{}", socket.display());
    let choice: EngineChoice = host.parse().unwrap();
    let refused = Engine::connect(&choice, &Environment::default()).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!("the engine at {host} did not answer within 2s when asked to report that it is running")
    );
    drop(listener);
}
