//! The store on a PostgreSQL server that the tests start: the conformance suite, and properties that only
//! servers have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use insta::assert_snapshot;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use windlass_model::document::DocumentScope;
use windlass_model::record::{AssemblyRecord, CallState, ProcessStatus, VersionRecord};
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, Clock};
use windlass_store::postgres::{Options, PostgresStore};
use windlass_store::testing::conformance::Harness;
use windlass_store::testing::server::{Certificate, Server};
use windlass_store::testing::{CountingEntropy, Graveyard, ManualClock, SkewedClock, samples};
use windlass_store::{Batch, Holder, KeySource, Lease, LeaseTerms, Rename, Store, StoreError};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A schema with one store.
pub(crate) struct OnServer {
    server: Option<&'static Server>,
    schema: String,
    folder: TempDir,
    clock: Arc<ManualClock>,
    graveyard: Arc<Graveyard>,
    handles: AtomicU64,
}

impl OnServer {
    fn new() -> Self {
        Self {
            server: Server::get(),
            schema: format!("s{}", NEXT.fetch_add(1, Ordering::SeqCst)),
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
            clock: Arc::new(ManualClock::at(samples::TIME)),
            graveyard: Arc::default(),
            handles: AtomicU64::default(),
        }
    }

    /// Creates a schema on the shared server. If PostgreSQL is not installed, prints that the test is
    /// skipped.
    pub(crate) fn get(test: &str) -> Option<Self> {
        let place = Self::new();
        if place.server.is_none() {
            skipped(test);
        }
        place.server.is_some().then_some(place)
    }

    pub(crate) fn shared_clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }

    fn options(&self) -> Options {
        self.options_with(self.clock.clone())
    }

    fn options_with(&self, clock: Arc<dyn Clock>) -> Options {
        let entropy = CountingEntropy::seeded(self.handles.fetch_add(1, Ordering::SeqCst));
        let key = KeySource::File(self.folder.path().join("key"));
        Options::new(key, clock, Arc::new(entropy))
            .create(true)
            .schema(&self.schema)
            .processes(self.graveyard.clone())
            .poll_every(Duration::from_millis(1))
    }

    fn url(&self) -> String {
        let server = self.server.expect("asked for only where there is one");
        format!("{} application_name=windlass-{}", server.url(), self.schema)
    }

    /// Opens a connection of another program.
    async fn stranger(&self) -> tokio_postgres::Client {
        let server = self.server.expect("asked for only where there is one");
        let connected = tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the server answers");
        tokio::spawn(connection);
        client
    }

    async fn store(&self) -> PostgresStore {
        PostgresStore::open(&self.url(), self.options()).await.expect("the store can be opened")
    }

    /// Opens a store that must be refused. Returns the message with paths replaced.
    async fn refusal(&self, url: &str, options: Options) -> String {
        let error = PostgresStore::open(url, options).await.expect_err("it is refused");
        let mut text = error.to_string();
        if let Some(cause) = std::error::Error::source(&error) {
            text = format!("{text}: {cause}");
        }
        let server = self.server.expect("asked for only where there is one");
        text.replace(&server.folder().display().to_string(), "SOCKETS")
            .replace(&self.schema, "SCHEMA")
            .replace(&self.folder.path().display().to_string(), "PLACE")
    }
}

#[async_trait]
impl Harness for OnServer {
    async fn open(&self) -> Box<dyn Store> {
        Box::new(self.store().await)
    }

    async fn open_askew(&self, millis: i64) -> Box<dyn Store> {
        let clock = Arc::new(SkewedClock::new(self.clock.clone(), millis));
        let store = PostgresStore::open(&self.url(), self.options_with(clock)).await;
        Box::new(store.expect("the store can be opened"))
    }

    /// The server's clock can't be changed, so the recorded times are moved into the past.
    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        let by = i64::try_from(by.as_millis()).expect("no test takes that long");
        let sql = format!("UPDATE {}.lease SET renewed = renewed - $1", self.schema);
        self.stranger().await.execute(&sql, &[&by]).await.expect("the owner of the server may");
    }

    async fn sabotage(&self, scope: &AssemblyName) {
        let schema = &self.schema;
        let sql = format!(
            "CREATE FUNCTION {schema}.sabotage() RETURNS trigger LANGUAGE plpgsql
                AS $$ BEGIN RAISE EXCEPTION 'sabotage'; END $$;
            CREATE TRIGGER sabotage BEFORE INSERT ON {schema}.event FOR EACH ROW
                WHEN (new.assembly = '{scope}') EXECUTE FUNCTION {schema}.sabotage()"
        );
        self.stranger().await.batch_execute(&sql).await.expect("the owner of the server may");
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn graveyard(&self) -> &Graveyard {
        &self.graveyard
    }
}

/// Defines a test for each fact. If PostgreSQL is not installed, the test only prints a note.
macro_rules! on_a_server {
    ($($module:ident: $($fact:ident),+;)+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                let Some(harness) = OnServer::get(stringify!($fact)) else { return };
                windlass_store::testing::conformance::$module::$fact(&harness).await;
            }
        )+)+
    };
}

#[expect(clippy::print_stdout, reason = "a test that does not run says so")]
fn skipped(test: &str) {
    println!("SKIPPED postgres::{test}: PostgreSQL is not installed");
}

windlass_store::conformance_facts!([on_a_server]);

#[tokio::test]
async fn a_file_that_is_no_store_is_an_error() {
    let Some(place) = OnServer::get("a_file_that_is_no_store_is_an_error") else { return };
    let none = place.refusal(&place.url(), place.options().create(false)).await;
    assert_snapshot!(none, @"there is no store at `host=SOCKETS port=5432 user=windlass dbname=postgres application_name=windlass-SCHEMA`; check the folder; the first `windlass up` creates the store");
    drop(place.store().await);
    std::fs::remove_file(place.folder.path().join("key")).expect("the key is there");
    let problem = place.store().await.check_key().expect_err("the key is missing").to_string();
    assert!(
        problem.contains("/key` of the store is missing, so the store's secrets can't be opened"),
        "{problem}"
    );
    let address = "postgres://me:hunter2@localhost:1/none?connect_timeout=2";
    assert_snapshot!(place.refusal(address, place.options()).await, @"can't reach the store `postgres://me@localhost:1/none?connect_timeout=2`: Connection refused; check the address, and that a PostgreSQL server listens there");
    let other = format!("{} dbname=none", place.url());
    let refused = place.refusal(&other, place.options()).await;
    assert!(
        refused.ends_with("database \"none\" does not exist; create it with `createdb`, or name another one"),
        "{refused}"
    );
    let refused = place.refusal(&format!("{} user=nobody", place.url()), place.options()).await;
    assert!(refused.ends_with("; give the user and the password in the address"), "{refused}");
    assert_snapshot!(place.refusal("/tmp/foo", place.options()).await, @"can't use `/tmp/foo` as the address of the state: write it as `postgres://USER@HOST/DATABASE`");
    assert_snapshot!(place.refusal("postgres://me:hunter2@db/x?sslmode=maybe", place.options()).await, @"can't use `postgres://me@db/x?sslmode=maybe` as the address of the state: `sslmode` is disable, prefer, require, verify-ca or verify-full, not `maybe`");
    assert_snapshot!(place.refusal("host=db sslmode=verify-ca sslrootcert=/none.pem", place.options()).await, @"can't use `host=db sslmode=verify-ca sslrootcert=/none.pem` as the address of the state: `sslrootcert` /none.pem: I/O error: No such file or directory (os error 2)");
    assert_snapshot!(place.refusal("host=db prot=1", place.options()).await, @"can't use `host=db prot=1` as the address of the state: unknown option `prot`");
    assert_snapshot!(place.refusal(&place.url(), place.options().schema("a;b")).await, @"can't use `host=SOCKETS port=5432 user=windlass dbname=postgres application_name=windlass-SCHEMA` as the address of the state: `a;b` is no name of a schema");
}

/// A store has the old version 2. windlass must migrate the store, read its records, and store new records.
#[tokio::test]
async fn a_store_of_version_2_is_read_and_goes_on() {
    let Some(place) = OnServer::get("a_store_of_version_2_is_read_and_goes_on") else { return };
    let store = place.store().await;
    let lease = store.lease(&samples::name("h_bta"), &samples::holder(1)).await.expect("it is free");
    let first = samples::version(&lease.scope, 1, &[]);
    let mut assembly = first.assembly.clone();
    assembly.references = [samples::name("other")].into();
    let status = windlass_model::record::ProcessStatus::Completed;
    let batch = Batch::new()
        .put_assembly(assembly)
        .put_process(samples::process(&lease.scope, 1, status))
        .put_process(samples::process(&lease.scope, 2, status))
        .put_version(first.clone());
    store.commit(&lease, batch).await.expect("it is in order");
    drop(store);
    let back = format!(
        "SET search_path = {};
        DROP TABLE reference, document_pin, document;
        DROP INDEX assembly_of_owner, assembly_natural_id;
        ALTER TABLE assembly DROP COLUMN owner, DROP COLUMN natural_id;
        ALTER TABLE feed DROP COLUMN documents;
        DROP INDEX version_by_process, process_by_id;
        ALTER TABLE version DROP COLUMN base;
        CREATE INDEX version_of_assembly ON version (assembly);
        CREATE INDEX process_of_assembly ON process (assembly);
        UPDATE store SET version = 2;",
        place.schema
    );
    place.stranger().await.batch_execute(&back).await.expect("it is as it was");
    let store = place.store().await;
    assert_eq!(store.versions(&lease.scope).await.expect("they are read"), std::slice::from_ref(&first));
    let referrers = store.referrers(&samples::name("other")).await.expect("they are read");
    assert_eq!(referrers, std::slice::from_ref(&lease.scope));
    let second = samples::version(&lease.scope, 2, &[]);
    store.commit(&lease, Batch::new().put_version(second.clone())).await.expect("the lease is still good");
    assert_eq!(store.versions(&lease.scope).await.expect("they are read"), [first, second]);
    let document = samples::document(&DocumentScope::Project, "a", "new");
    store.put_document(document, Vec::new()).await.expect("the migrated store keeps documents");
}

/// Ends all connections of a schema's stores, as a failover does.
async fn cut(place: &OnServer, stranger: &tokio_postgres::Client) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = $1 AND pid <> pg_backend_pid()";
    let name = format!("windlass-{}", place.schema);
    stranger.execute(cut, &[&name]).await.expect("the owner of the server may");
}

/// Connections that the server cuts at any time are re-established. No lease is lost, and every queued batch
/// is applied once and in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_are_reopened_and_nothing_is_lost() {
    let Some(place) = OnServer::get("cut_connections_are_reopened_and_nothing_is_lost") else { return };
    let store = place.store().await;
    let stranger = place.stranger().await;
    let lease = store.lease(&samples::name("h_bta"), &samples::holder(1)).await.expect("it is free");
    cut(&place, &stranger).await;
    store.commit(&lease, Batch::new()).await.expect("the writer has another connection");
    store.renew(&lease).await.expect("so have the others");
    let mut tickets = Vec::new();
    for round in 0..10_u64 {
        for number in 0..20_u64 {
            let event = samples::event(&lease.scope, (round * 20 + number).to_string());
            tickets.push(store.commit(&lease, Batch::new().event(event)));
        }
        let first = tickets.swap_remove(usize::try_from(round * 19).expect("a few"));
        first.await.expect("it is applied");
        cut(&place, &stranger).await;
    }
    for ticket in tickets {
        ticket.await.expect("it is applied");
    }
    store.release(lease).await.expect("it was never lost");
    let events = store.events(windlass_model::Seq::START, 1000).await.expect("events can be read");
    let told: Vec<_> = events.iter().map(|event| samples::message(&event.draft).to_owned()).collect();
    assert_eq!(told, (0..200).map(|n| n.to_string()).collect::<Vec<_>>());
}

/// A relay between a store and the server. Through its socket, a test interrupts the connections of the store.
struct Relay {
    folder: TempDir,
    port: u16,
    route: watch::Sender<Route>,
}

/// The treatment of the connections of a [`Relay`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// The relay passes on all messages.
    Open,
    /// The relay passes on all messages up to the next `COMMIT`. The route then becomes `Committing`, and 200 ms
    /// later `Closed`.
    UntilCommit,
    /// The server executes the `COMMIT`. The relay passes on no answers.
    Committing,
    /// The relay refuses all connections.
    Closed,
}

impl Relay {
    fn before(server: &Server) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let name = format!(".s.PGSQL.{}", server.port());
        let (target, route) = (server.folder().join(&name), watch::Sender::new(Route::Open));
        let listener = UnixListener::bind(folder.path().join(&name)).expect("the folder is empty");
        let state = route.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *state.borrow() == Route::Closed {
                    continue;
                }
                let server = UnixStream::connect(&target).await.expect("the server runs");
                tokio::spawn(Self::pass(client, server, state.clone()));
            }
        });
        Self { folder, port: server.port(), route }
    }

    async fn pass(client: UnixStream, server: UnixStream, route: watch::Sender<Route>) {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let mut routes = route.subscribe();
        let requests = async {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
                let request = &buffer[..length];
                let is_last = *route.borrow() == Route::UntilCommit
                    && request.windows(7).any(|part| part == b"COMMIT\0");
                if is_last {
                    route.send_replace(Route::Committing);
                }
                if to_server.write_all(request).await.is_err() {
                    return;
                }
                if is_last {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    route.send_replace(Route::Closed);
                }
            }
        };
        let answers = async {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
                if *route.borrow() == Route::Committing {
                    continue;
                }
                if to_client.write_all(&buffer[..length]).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = requests => {}
            () = answers => {}
            _ = routes.wait_for(|route| *route == Route::Closed) => {}
        }
    }

    fn url(&self) -> String {
        format!("host={} port={} user=windlass dbname=postgres", self.folder.path().display(), self.port)
    }
}

/// The answer to a commit does not arrive within the time limit. The store must still apply the next batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_without_an_answer_does_not_swallow_the_next_one() {
    let Some(place) = OnServer::get("a_commit_without_an_answer_does_not_swallow_the_next_one") else {
        return;
    };
    let relay = Relay::before(place.server.expect("it is there"));
    let terms = LeaseTerms { expire_after: Duration::from_millis(500), ..LeaseTerms::default() };
    let store =
        PostgresStore::open(&relay.url(), place.options().terms(terms)).await.expect("it can be opened");
    let first = store.lease(&samples::name("first"), &samples::holder(1)).await.expect("it is free");
    let second = store.lease(&samples::name("second"), &samples::holder(1)).await.expect("it is free");
    relay.route.send_replace(Route::UntilCommit);
    let event = samples::event(&first.scope, "one".to_owned());
    store.commit(&first, Batch::new().event(event)).await.expect_err("nobody has answered");
    relay.route.send_replace(Route::Open);
    let event = samples::event(&second.scope, "two".to_owned());
    store.commit(&second, Batch::new().event(event)).await.expect("it is applied");
    let events = store.events(windlass_model::Seq::START, 10).await.expect("events can be read");
    let told: Vec<_> = events.iter().map(|event| samples::message(&event.draft)).collect();
    assert_eq!(told, ["one", "two"]);
}

/// Another program keeps a table locked. The store must wait only for a limited time, and must lose nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_another_program_is_a_timeout() {
    let Some(place) = OnServer::get("a_lock_of_another_program_is_a_timeout") else {
        return;
    };
    let store = place.store().await;
    let lease = store.lease(&samples::name("h_bta"), &samples::holder(1)).await.expect("it is free");
    let stranger = place.stranger().await;
    let lock = format!("BEGIN; LOCK TABLE {0}.assembly, {0}.event IN ACCESS EXCLUSIVE MODE", place.schema);
    stranger.batch_execute(&lock).await.expect("the owner of the server may");
    let begun = std::time::Instant::now();
    let event = samples::event(&lease.scope, "one".to_owned());
    let written = store.commit(&lease, Batch::new().event(event));
    let (read, written) = tokio::join!(store.assembly(&lease.scope), written);
    let (read, written) = (read.map(drop).unwrap_err(), written.unwrap_err());
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert!(read.to_string().contains("lock"), "{read}");
    assert!(written.to_string().contains("lock"), "{written}");
    stranger.batch_execute("ROLLBACK").await.expect("as above");
    assert_eq!(store.assembly(&lease.scope).await.expect("it is free again"), None);
    store.release(lease).await.expect("it was never lost");
}

/// A full queue refuses batches. The lease can still be released, so that the next process need not wait until the
/// lease expires.
#[tokio::test]
async fn a_lease_is_released_after_a_full_queue() {
    let Some(place) = OnServer::get("a_lease_is_released_after_a_full_queue") else { return };
    let store = place.store().await;
    let lease = store.lease(&samples::name("h_bta"), &samples::holder(1)).await.expect("it is free");
    // The runtime has one thread, so no batch is written before the first `await`.
    let refused =
        (0..).map(|_| store.commit(&lease, Batch::new())).find_map(futures::FutureExt::now_or_never);
    assert!(matches!(refused, Some(Err(StoreError::Behind { .. }))), "{refused:?}");
    store.release(lease.clone()).await.expect("a release is always accepted");
    let _again = store.lease(&lease.scope, &samples::holder(2)).await.expect("it was released");
}

/// `sslmode` and `sslrootcert` of an address control how a server on the network is reached and verified.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_the_network_is_reached_by_tls() {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a name for a certificate");
    let strange = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("as above");
    let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    let Some(server) = Server::encrypted(Certificate { certificate: &certificate, key: &key }) else {
        return skipped("a_server_on_the_network_is_reached_by_tls");
    };
    let place = OnServer::new();
    let file = |name: &str, text: &str| {
        let path = place.folder.path().join(name);
        std::fs::write(&path, text).expect("a temporary folder can be written");
        path.display().to_string()
    };
    let (known, other) = (file("known.pem", &certificate), file("other.pem", &strange.cert.pem()));
    let port = server.port();
    let open = async |address: String| {
        let opened = PostgresStore::open(&address, place.options()).await;
        opened.map(drop).map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            cause.replace(&port.to_string(), "PORT")
        })
    };
    let url = |host: &str, rest: &str| format!("postgres://windlass@{host}:{port}/postgres?{rest}");
    for well in [
        url("localhost", "sslmode=require"),
        url("localhost", "connect_timeout=5"),
        url("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={known}")),
        url("localhost", &format!("sslmode=verify-full&sslrootcert={known}")),
        format!(
            "host=localhost port={port} user=windlass dbname=postgres sslmode=require sslrootcert={known}"
        ),
    ] {
        assert_eq!(open(well.clone()).await, Ok(()), "{well}");
    }
    assert_snapshot!(open(url("localhost", "sslmode=disable")).await.unwrap_err(), @r#"no pg_hba.conf entry for host "127.0.0.1", user "windlass", database "postgres", no encryption"#);
    let guarded = url("localhost", "sslmode=require").replace("windlass@", "guarded@");
    assert_snapshot!(open(guarded).await.unwrap_err(), @"invalid configuration: password missing; add it to the address, `postgres://USER:PASSWORD@HOST/DATABASE`, and pass the address in `WINDLASS_STATE`, which others can't see");
    let full = open(url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={known}")));
    assert_snapshot!(full.await.unwrap_err(), @r#"error performing TLS handshake: invalid peer certificate: certificate not valid for name "127.0.0.1"; certificate is only valid for DnsName("localhost")"#);
    let full = open(url("localhost", &format!("sslmode=verify-full&sslrootcert={other}")));
    assert_snapshot!(full.await.unwrap_err(), @"error performing TLS handshake: invalid peer certificate: BadSignature");
    let require = open(url("localhost", &format!("sslmode=require&sslrootcert={other}")));
    assert!(require.await.is_err(), "with authorities it is as verify-ca");
    // The system does not know the signer.
    assert!(open(url("localhost", "sslmode=verify-full")).await.is_err());
}

/// A listening server is suspended, so it never answers. The kernel still accepts connections for the server. The store
/// must report a timeout.
#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = mute.local_addr().expect("it is bound").port();
    let url = format!("postgres://me@127.0.0.1:{port}/windlass?connect_timeout=1");
    let error = PostgresStore::open(&url, OnServer::new().options()).await.err();
    let Some(StoreError::Io { action: "reach the store", source, .. }) = error else { panic!("{error:?}") };
    assert_eq!(source.to_string(), "no answer within 1 s; check that the server runs and is reachable");
}

/// Creates an application of `factory`, with the records of its launch.
async fn launched(store: &PostgresStore, factory: &AssemblyName, number: u64) -> Lease {
    let scope: AssemblyName = format!("vm-{number}").parse().unwrap();
    let lease = store.lease(&scope, &Holder::current("test")).await.unwrap();
    let one = samples::package("one");
    let owned = |record| AssemblyRecord {
        owner: Some(factory.clone()),
        references: [factory.clone()].into(),
        ..record
    };
    let part = samples::part(&scope, "A");
    let version = samples::version(&scope, number, &[&one]);
    let mut batch = Batch::new()
        .put_package(one.clone())
        .put_assembly(owned(samples::assembly(&scope, &[&one])))
        .put_element(samples::element(&part, 1))
        .put_instance(samples::instance(&part, 1))
        .put_process(samples::process(&scope, number, ProcessStatus::Completed))
        .put_version(VersionRecord { assembly: owned(version.assembly), ..version })
        .put_step(samples::step(number, 1))
        .put_call(samples::call(&scope, number, 1, CallState::Succeeded));
    for _ in 0..10 {
        batch = batch.event(samples::event_of(&scope, number, "done"));
    }
    store.commit(&lease, batch).await.unwrap();
    lease
}

/// While a factory is renamed, no other program can write. So the renaming must be fast, even with many applications.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_factory_with_many_applications_is_renamed_fast() {
    let Some(place) = OnServer::get("a_factory_with_many_applications_is_renamed_fast") else { return };
    let store = place.store().await;
    let count = 500;
    let (before, after): (AssemblyName, AssemblyName) = ("vms".parse().unwrap(), "machines".parse().unwrap());
    let holder = Holder::current("test");
    let [lease, new] =
        [store.lease(&before, &holder).await.unwrap(), store.lease(&after, &holder).await.unwrap()];
    store.commit(&lease, Batch::new().put_assembly(samples::assembly(&before, &[]))).await.unwrap();
    let launches = (1..=count).map(|number| launched(&store, &before, number));
    let leases: Vec<Lease> = stream::iter(launches).buffered(64).collect().await;
    let rename = Rename {
        renaming: Renaming { from: before.clone(), to: after.clone() },
        others: leases.iter().map(|lease| lease.scope.clone()).collect(),
        plans: BTreeMap::new(),
    };
    let begun = std::time::Instant::now();
    let batch = Batch::new().rename(rename).beside(leases.iter().chain([&lease]));
    store.commit(&new, batch).await.unwrap();
    let took = begun.elapsed();
    let owned = store.owned(&after, None, usize::MAX).await.unwrap();
    assert_eq!(owned.len() as u64, count);
    let versions = store.versions(&"vm-7".parse().unwrap()).await.unwrap();
    assert_eq!(versions[0].assembly.owner, Some(after.clone()));
    assert!(store.referrers(&before).await.unwrap().is_empty());
    assert!(took < Duration::from_secs(4), "{count} applications: {took:?}");
}
