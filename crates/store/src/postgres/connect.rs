//! Connects to a server, and finds or creates the store on it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Transaction};
use windlass_model::id::StoreId;

use super::fault::{Fault, Outcome};
use super::limits;
use super::options::{CONNECT_TIMEOUT, Options};
use super::tls::{Tls, Wanted};
use crate::address::without_password;
use crate::error::StoreError;
use crate::key::KeyError;
use crate::seal::Seal;

/// The address of a store: connection settings, schema, and a name for messages. The name omits the password.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) schema: String,
    pub(super) name: String,
}

/// A store that was opened and checked.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) id: StoreId,
    pub(super) seal: Seal,
}

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
];

/// The newest schema version that this program knows: the number of its migrations.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a handful")]
const KNOWN: i32 = MIGRATIONS.len() as i32;

impl Address {
    /// Parses an address such as `postgres://user@host/database`.
    pub(super) fn parse(url: &str, options: &Options) -> Result<Self, StoreError> {
        let io = |why: String| StoreError::Address { address: without_password(url), why };
        if let Some(why) = no_address(url) {
            return Err(io(why));
        }
        if !is_identifier(&options.own.schema) {
            return Err(io(format!("`{}` is no name of a schema", options.own.schema)));
        }
        let (rest, wanted) = Wanted::take(url);
        let (mode, tls) = wanted.ready().map_err(io)?;
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            io(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(io(format!("it names no host; {}", write_it())));
        }
        // A Unix socket has no TLS.
        let local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        config.ssl_mode(if local && mode == SslMode::Prefer { SslMode::Disable } else { mode });
        if config.get_application_name().is_none() {
            config.application_name("windlass");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        limits::limit_network(&mut config);
        // Options of the address take precedence: PostgreSQL uses the last value of an option.
        let given = config.get_options().map(|options| format!("{options} ")).unwrap_or_default();
        config.options(format!("{} {given}-c search_path={}", limits::of_server(), options.own.schema));
        Ok(Self { config, tls, schema: options.own.schema.clone(), name: without_password(url) })
    }

    /// Returns the time limit for establishing a connection, over all hosts of the address.
    ///
    /// The limit of the crate `tokio-postgres` covers only the TCP connection. A host, for example a suspended machine,
    /// may accept the connection and then never answer. Without the limit of this method, the client would wait forever
    /// for the answer.
    pub(super) fn patience(&self) -> Duration {
        let each = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let hosts = self.config.get_hosts().len().max(self.config.get_hostaddrs().len()).max(1);
        each.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX))
    }

    /// Returns the error for a server that did not answer in time.
    pub(super) fn silent(&self) -> StoreError {
        let seconds = self.patience().as_secs();
        let why = format!("no answer within {seconds} s; check that the server runs and is reachable");
        let source = Arc::new(io::Error::new(io::ErrorKind::TimedOut, why));
        StoreError::Io { action: "reach the store", path: PathBuf::from(&self.name), source }
    }

    /// Returns the error for a commit whose outcome can't be determined.
    pub(super) fn outcome_unknown(&self) -> StoreError {
        let detail = "the server restarted while it committed a change, and the outcome is unknown; run the same command to \
                      resume";
        StoreError::Database { path: PathBuf::from(&self.name), detail: detail.to_owned() }
    }

    /// Opens a connection, and returns its client. A spawned task drives the connection. The task ends with the client.
    pub(super) async fn connect(&self) -> Outcome<Client> {
        let connected = tokio::time::timeout(self.patience(), self.config.connect(self.tls.clone())).await;
        let (client, connection) = connected.map_err(|_| self.silent())??;
        tokio::spawn(async move {
            // The client reports a connection error to its callers, so this task ignores the error.
            let _ = connection.await;
        });
        Ok(client)
    }
}

/// Connects to the server, creates or migrates the tables, and checks the key. The task that applies batches
/// ([`WriterTask`](super::writer::WriterTask)) uses the returned connection.
pub(super) async fn open(address: &Address, options: &Options) -> Result<Opened, StoreError> {
    let at = |fault: Fault| fault.at(Path::new(&address.name));
    let mut client = address.connect().await.map_err(at)?;
    let transaction = client.transaction().await.map_err(|error| at(error.into()))?;
    let (id, seal) = prepare(&transaction, address, options).await.map_err(at)?;
    transaction.commit().await.map_err(|error| at(error.into()))?;
    Ok(Opened { client, id, seal })
}

/// Creates or migrates the tables, and returns the store's id after checking the key. Writes nothing if the tables are up
/// to date, so a user who may only read can open the store.
async fn prepare(db: &Transaction<'_>, address: &Address, options: &Options) -> Outcome<(StoreId, Seal)> {
    let mut found = version(db, address).await?;
    if found.is_none_or(|found| found < KNOWN) {
        // Programs that create or migrate the tables at the same time wait for each other at this lock.
        db.execute("SELECT pg_advisory_xact_lock(hashtext('windlass'), hashtext($1))", &[&address.schema])
            .await?;
        found = version(db, address).await?;
    }
    let path = || PathBuf::from(&address.name);
    match found {
        None if !options.create => return Err(StoreError::Missing { path: path() }.into()),
        Some(found) if found > KNOWN => {
            let (found, known) = (found.unsigned_abs(), KNOWN.unsigned_abs());
            return Err(StoreError::Newer { path: path(), found, known }.into());
        }
        _ => {}
    }
    let mut seal = match found {
        None => Seal::of_new(&options.key, &options.entropy).map_err(StoreError::from)?,
        Some(_) => Seal::of_existing(&options.key, &options.entropy),
    };
    if found.is_none() {
        db.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", address.schema)).await?;
    }
    let done = usize::try_from(found.unwrap_or(0)).unwrap_or(0);
    for migration in &MIGRATIONS[done..] {
        db.batch_execute(migration).await?;
    }
    if found.is_none() {
        let id = StoreId::random(&*options.entropy);
        let created = options.clock.now().as_millis();
        let sql = "INSERT INTO store (version, id, created, key_check, reserved) VALUES ($1, $2, $3, $4, 0)";
        db.execute(sql, &[&KNOWN, &id.as_str(), &created, &seal.check_value()?]).await?;
    } else if found < Some(KNOWN) {
        db.execute("UPDATE store SET version = $1", &[&KNOWN]).await?;
    }
    let row = db.query_opt("SELECT id, key_check FROM store", &[]).await?;
    let row = row.ok_or_else(|| Fault::Damaged("it has no id".into()))?;
    seal.verify(row.get(1), || KeyError::Wrong { key: options.key.to_string(), path: path() });
    let id: &str = row.get(0);
    let id = id.parse().map_err(|error| Fault::Damaged(format!("its id is bad: {error}")))?;
    Ok((id, seal))
}

/// Returns the schema version of the store; `None` if there is no store.
async fn version(db: &Transaction<'_>, address: &Address) -> Outcome<Option<i32>> {
    let table = format!("{}.store", address.schema);
    let there: bool = db.query_one("SELECT to_regclass($1) IS NOT NULL", &[&table]).await?.get(0);
    if !there {
        return Ok(None);
    }
    Ok(db.query_opt("SELECT version FROM store", &[]).await?.map(|row| row.get(0)))
}

/// The usual form of an address, as messages show it.
pub const FORM: &str = "postgres://USER@HOST/DATABASE";

/// The accepted schemes of an address, such as `postgres` in `postgres://db/shop`.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Common misspellings of the scheme.
const MISSPELT: [&str; 6] = ["postgre", "pg", "psql", "pgsql", "postgress", "Postgres"];

/// Tells whether a text is meant as an address of a PostgreSQL database, even if the scheme is misspelt.
pub fn is_address(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => SCHEMES.contains(&scheme) || MISSPELT.contains(&scheme),
        // The key-value form, such as `host=db user=me`.
        None => url.contains('='),
    }
}

/// Returns the reason why a text can't be an address; `None` if it may be one.
fn no_address(url: &str) -> Option<String> {
    match url.split_once("://") {
        Some((scheme, rest)) if MISSPELT.contains(&scheme) => {
            Some(format!("`{scheme}` is not `postgres`; did you mean `postgres://{}`?", without_user(rest)))
        }
        _ if is_address(url) => None,
        _ => Some(write_it()),
    }
}

fn write_it() -> String {
    format!("write it as `{FORM}`")
}

/// Removes user and password.
fn without_user(rest: &str) -> &str {
    rest.split_once('@').map_or(rest, |(_, host)| host)
}

fn is_identifier(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error messages come from this crate, and not from the crate `tokio-postgres`.
    #[test]
    fn an_unreadable_address_is_an_error() {
        let said = |url: &str| no_address(url).unwrap_or_default();
        for (url, word) in [
            ("/tmp/foo", "write it as"),
            ("", "write it as"),
            ("sqlite:///tmp/x", "write it as"),
            ("pg://me:hunter2@db/x", "did you mean `postgres://db/x`"),
        ] {
            assert!(said(url).contains(word), "{url}: {}", said(url));
            assert!(!said(url).contains("hunter2"));
        }
        for url in ["postgres://db/x", "postgresql://db/x", "host=db user=me"] {
            assert_eq!(no_address(url), None, "{url}");
        }
    }
}
