//! Private state of drivers, and data in their log entries.

use serde_json::{Value, json};
use windlass_driver::Report;
use windlass_model::assembly::Property;
use windlass_model::instance::LogEntry;
use windlass_model::record::{Effect, ElementRecord, Severity};
use windlass_model::{Seq, State};
use windlass_secret::{SecretRef, Sensitive};
use windlass_store::{Batch, Holder, Store as _};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, assembly_name, element};

const PASSWORD: &str = "hunter2-hunter2";

fn sketch() -> Sketch {
    Sketch::new(&["a", "b"]).secret("a", "password", PASSWORD)
}

/// Sets the private state that the next call named `call` reports.
fn keep(rig: &Rig, call: &str, private: Value) {
    rig.strings.act(call, Act::Answer(Report { private: Some(private), ..Report::settled() }));
}

async fn record(rig: &Rig) -> ElementRecord {
    rig.look("t").await.elements[&element("t__a")].clone()
}

/// Returns the names of the sealed parts of private state.
async fn sealed(rig: &Rig) -> Vec<String> {
    let secrets = rig.look("t").await.secrets.into_keys();
    secrets.map(|secret| secret.id().to_owned()).filter(|id| id.starts_with("t:private/")).collect()
}

/// Returns the names of all secrets of the assembly.
async fn secrets(rig: &Rig) -> Vec<String> {
    rig.look("t").await.secrets.into_keys().map(|secret| secret.id().to_owned()).collect()
}

/// Makes `a` publish a secret, and passes the secret to `b`.
fn publishing(rig: &Rig) -> Sketch {
    rig.strings.act("a Install", Act::Publish(json!({ "token": PASSWORD })));
    let sealed = Property { read_only: true, sensitive: true, ..Property::default() };
    Sketch::new(&["a", "b"]).property("a", "token", sealed).relate("a", "b").told("token")
}

async fn forge(rig: &Rig, batch: Batch) {
    let lease = rig.store.lease(&assembly_name("t"), &Holder::current("test")).await.expect("it is free");
    rig.store.commit(&lease, batch).await.expect("it is taken");
    rig.store.release(lease).await.expect("it is held");
}

#[tokio::test(start_paused = true)]
async fn parts_of_private_state_that_hold_a_secret_are_sealed() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Install", Act::Hide("published-by-job"));
    let state = json!({
        "id": "i-7", "url": format!("tcp://me:{PASSWORD}@db"), "keys": ["published-by-job"], "tries": 1,
    });
    keep(&rig, "a Install", state.clone());
    rig.up(sketch().desired()).await.unwrap();
    let snapshot = rig.look("t").await;
    let kept = record(&rig).await.private["puppet"].clone();
    assert_eq!((&kept["id"], &kept["tries"]), (&json!("i-7"), &json!(1)));
    for part in [&kept["url"], &kept["keys"][0]] {
        let secret = SecretRef::from_value(part).expect("it is sealed");
        assert!(snapshot.secrets.contains_key(&secret));
    }
    assert_eq!(rig.strings.private(), [Value::Null, state.clone(), state], "Install, Configure, Start");
}

/// Windlass seals a value in private state. If a later call reports the value in another place, windlass must seal the
/// value there, too.
#[tokio::test(start_paused = true)]
async fn private_state_stays_sealed_until_it_is_replaced() {
    let rig = Rig::new(Effect::Once);
    let url = format!("tcp://me:{PASSWORD}@db");
    keep(&rig, "b Install", json!({"other": 1}));
    keep(&rig, "a Install", json!({"url": url, "id": "i-7"}));
    rig.strings.act("a Configure", Act::Hide("unrelated-secret"));
    keep(&rig, "a Configure", json!({"id": "i-7", "moved": {"url": url}}));
    rig.up(sketch().desired()).await.unwrap();
    assert!(SecretRef::from_value(&record(&rig).await.private["puppet"]["moved"]["url"]).is_some());
    assert_eq!(sealed(&rig).await.len(), 1, "the part of the first report is dropped");
    keep(&rig, "a Stop", json!({"id": "i-7"}));
    rig.strings.act("a Uninstall", Act::Fail);
    rig.up(Sketch::new(&["b"]).desired()).await.unwrap();
    assert_eq!(record(&rig).await.private["puppet"], json!({"id": "i-7"}));
    assert_eq!(sealed(&rig).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn private_state_goes_with_its_instance() {
    let rig = Rig::new(Effect::Once);
    keep(&rig, "a Install", json!({"url": PASSWORD}));
    rig.up(sketch().desired()).await.unwrap();
    assert_eq!(sealed(&rig).await.len(), 1);
    rig.up(Sketch::new(&["b"]).desired()).await.unwrap();
    assert_eq!(sealed(&rig).await, [""; 0]);
    rig.up(sketch().desired()).await.unwrap();
    let private = rig.strings.private();
    assert_eq!(private.last(), Some(&Value::Null), "{private:?}");
}

/// An older windlass has recorded everything in clear.
#[tokio::test(start_paused = true)]
async fn private_state_of_an_older_windlass_is_read() {
    let rig = Rig::new(Effect::Once);
    rig.strings.act("a Configure", Act::Fail);
    rig.up(sketch().desired()).await.unwrap();
    let state = json!({"id": "i-7", "url": format!("tcp://me:{PASSWORD}@db")});
    let old = ElementRecord { private: [("puppet".to_owned(), state.clone())].into(), ..record(&rig).await };
    forge(&rig, Batch::new().put_element(old)).await;
    keep(&rig, "a Configure", state.clone());
    rig.up(sketch().desired()).await.unwrap();
    assert!(rig.strings.private().contains(&state));
    let now = record(&rig).await.private["puppet"].to_string();
    assert!(now.contains("i-7") && !now.contains(PASSWORD), "{now}");
}

/// A sealed part of private state is missing. windlass must refuse calls that bring the element up. Calls that remove
/// the element must get null in place of the missing part.
#[tokio::test(start_paused = true)]
async fn a_missing_part_of_private_state_does_not_keep_an_instance() {
    let rig = Rig::new(Effect::Once);
    keep(&rig, "a Install", json!({"id": "i-7", "url": PASSWORD}));
    rig.strings.act("a Configure", Act::Fail);
    rig.up(sketch().desired()).await.unwrap();
    let secret: SecretRef = sealed(&rig).await[0].parse().unwrap();
    forge(&rig, Batch::new().drop_secret(secret)).await;
    rig.up(sketch().desired()).await.unwrap();
    let failure = record(&rig).await.failure.expect("it has failed").message;
    assert!(failure.starts_with("its private state needs `secret:t:private/"), "{failure}");
    rig.down("t").await.unwrap();
    let last = rig.strings.private().into_iter().rev().find(|private| !private.is_null());
    assert_eq!(last, Some(json!({"id": "i-7", "url": null})));
}

#[tokio::test(start_paused = true)]
async fn secrets_in_the_data_of_log_entries_are_masked() {
    let rig = Rig::new(Effect::Once);
    let data = json!({"exit": 3, "url": format!("tcp://me:{PASSWORD}@db"), PASSWORD: [PASSWORD]});
    let entry = LogEntry { data: Some(data), ..LogEntry::new(Severity::Info, "it is done") };
    rig.strings.act("a Install", Act::Answer(Report { log: vec![entry], ..Report::settled() }));
    rig.up(sketch().desired()).await.unwrap();
    let events = rig.store.events_of(&assembly_name("t"), Seq::START, 1000).await.unwrap();
    let logged = events.iter().map(|event| serde_json::to_value(&event.draft.body).unwrap());
    let logged: Vec<Value> = logged.filter(|body| body.get("logged").is_some()).collect();
    assert_eq!(logged.len(), 1, "{logged:?}");
    let masked = json!({"exit": 3, "url": "tcp://me:***@db", "***": ["***"]});
    assert_eq!(logged[0]["logged"]["data"], masked);
}

/// Of all records of all kinds, only the sealed parts of private state contain the secret.
#[tokio::test(start_paused = true)]
async fn no_record_has_a_secret_of_private_state_in_clear() {
    let rig = Rig::new(Effect::Once);
    keep(&rig, "a Install", json!({"deep": [{"password": PASSWORD}], "by-name": {PASSWORD: 1}}));
    rig.up(sketch().desired()).await.unwrap();
    let snapshot = rig.look("t").await;
    let events = rig.store.events_of(&assembly_name("t"), Seq::START, 1000).await.unwrap();
    let history = rig.store.history(&assembly_name("t")).await.unwrap();
    let all = format!(
        "{:?} {:?} {:?} {:?} {events:?} {history:?}",
        snapshot.assembly, snapshot.elements, snapshot.instances, snapshot.pairs
    );
    assert!(!all.contains(PASSWORD));
    let clear = |value: &Sensitive<Vec<u8>>| String::from_utf8_lossy(value.expose()).contains(PASSWORD);
    assert_eq!(snapshot.secrets.values().filter(|value| clear(value)).count(), 3, "given, and two parts");
}

/// When windlass removes an instance, it must drop the instance's own secrets. It must also drop the secrets of
/// instances that an older windlass has removed. Secrets of other kinds must stay.
#[tokio::test(start_paused = true)]
async fn sealed_outputs_go_with_their_instance() {
    let rig = Rig::new(Effect::Once);
    let sketch = publishing(&rig).secret("b", "password", "of-b");
    rig.up(sketch.desired()).await.unwrap();
    assert!(secrets(&rig).await.iter().any(|secret| secret.starts_with("t:published/")));
    let left_over = ["t:published/older/0", "t:natural/older"].map(|id| id.parse::<SecretRef>().unwrap());
    let value = || Sensitive::new(b"of-older".to_vec());
    let add = |batch: Batch, secret: SecretRef| batch.put_secret(secret, assembly_name("t"), value());
    forge(&rig, left_over.into_iter().fold(Batch::new(), add)).await;
    rig.up(Sketch::new(&["b"]).secret("b", "password", "of-b").desired()).await.unwrap();
    assert_eq!(secrets(&rig).await, ["t:1"]);
}

#[tokio::test(start_paused = true)]
async fn a_sealed_output_stays_while_its_instance_exists() {
    let rig = Rig::new(Effect::Once);
    rig.up(publishing(&rig).desired()).await.unwrap();
    let before = secrets(&rig).await;
    rig.strings.act("a Stop", Act::Fail);
    rig.up(Sketch::new(&["b"]).desired()).await.unwrap();
    assert_ne!(record(&rig).await.state, State::Absent);
    let published = |secrets: Vec<String>| -> Vec<String> {
        secrets.into_iter().filter(|secret| secret.starts_with("t:published/")).collect()
    };
    assert_eq!(published(secrets(&rig).await), published(before));
}

/// A call reports a natural id that contains a secret, and then fails. windlass must seal the id. When windlass removes
/// the instance, it must also remove the sealed id.
#[tokio::test(start_paused = true)]
async fn a_sealed_natural_id_goes_with_its_instance() {
    let rig = Rig::new(Effect::Once);
    rig.strings.name_themselves();
    rig.strings.act("a Install", Act::CheckpointThenFail("i-hunter2-hunter2"));
    rig.up(sketch().desired()).await.unwrap();
    assert!(secrets(&rig).await.iter().any(|secret| secret.starts_with("t:natural/")));
    rig.up(Sketch::new(&["b"]).desired()).await.unwrap();
    assert!(!secrets(&rig).await.iter().any(|secret| secret.starts_with("t:natural/")));
}

/// When windlass forgets a part, it must drop the part's sealed outputs. It must also drop the sealed values with which
/// the part's relationships were created.
#[tokio::test(start_paused = true)]
async fn a_forgotten_part_leaves_no_secrets() {
    let rig = Rig::new(Effect::Once);
    rig.up(publishing(&rig).desired()).await.unwrap();
    assert_eq!(secrets(&rig).await.len(), 2, "{:?}", secrets(&rig).await);
    let (engine, holder) = rig.engine();
    let forgotten =
        engine.upkeep().forget(&assembly_name("t"), Some(&element("t__a")), &holder).await.unwrap();
    assert_eq!((forgotten.parts.len(), forgotten.pairs), (1, 1));
    assert_eq!(secrets(&rig).await, [""; 0]);
}
