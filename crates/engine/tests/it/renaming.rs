//! An assembly gets another name, and its next intents find everything as it was.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::sleep;
use windlass_engine::{Bundle, Consent, Desired, EngineError, Request, Stop, exported_instances};
use windlass_model::assembly::{Cluster, Element, ElementKind, Property, Referent, Topology};
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentScope, Expected};
use windlass_model::record::{AssemblyRecord, Effect, Intent, ProcessStatus};
use windlass_model::rename::Renaming;
use windlass_model::template::InstanceField;
use windlass_model::{AssemblyName, Part, Seq, Template};
use windlass_store::{Batch, Holder, Store, StoreError};

use crate::support::{Rig, Sketch, assembly_name, element};

fn renaming(from: &str, to: &str) -> Renaming {
    Renaming { from: assembly_name(from), to: assembly_name(to) }
}

async fn rename(rig: &Rig, from: &str, to: &str) -> Result<BTreeSet<AssemblyName>, EngineError> {
    let (engine, holder) = rig.engine();
    engine.upkeep().rename(&renaming(from, to), Batch::new(), &holder, &Stop::default()).await
}

/// Returns everything that the store has of an assembly, as text, except the events about renaming.
async fn told(rig: &Rig, name: &str) -> String {
    let scope = assembly_name(name);
    let snapshot = rig.store.load(&scope).await.unwrap();
    let secrets: Vec<_> = snapshot
        .iter()
        .flat_map(|of| of.secrets.iter().map(|(name, value)| (name.clone(), value.expose().clone())))
        .collect();
    let history = rig.store.history(&scope).await.unwrap();
    let versions = rig.store.versions(&scope).await.unwrap();
    let mut events = rig.store.events_of(&scope, Seq::START, usize::MAX).await.unwrap();
    events.retain(|event| !matches!(event.draft.body, windlass_model::record::Event::Renamed { .. }));
    let assembly = snapshot.as_ref().map(|of| serde_json::to_string_pretty(&of.assembly).unwrap());
    let versions: Vec<_> = versions.iter().map(|of| serde_json::to_string_pretty(of).unwrap()).collect();
    let parts = snapshot.map(|of| (of.elements, of.instances, of.pairs, of.processes, of.calls, of.jobs));
    let texts = [format!("{parts:#?} {secrets:?} {history:#?} {events:#?}"), assembly.unwrap_or_default()];
    texts.into_iter().chain(versions).collect::<Vec<_>>().join("\n")
}

/// Compares texts line by line, and shows only the first lines that differ.
fn assert_same(found: &str, expected: &str) {
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert_eq!(differs, None);
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// Returns a desired assembly under the name `name`. The result is the same as if the descriptor of `desired` had been
/// composed under this name.
fn called(desired: Desired, name: &str) -> Desired {
    let renaming = renaming("t", name);
    let secrets = desired.secrets.into_iter().map(|(secret, value)| (renaming.secret(&secret), value));
    Desired { topology: renaming.record(&desired.topology).unwrap(), secrets: secrets.collect(), ..desired }
}

/// Returns the value `${instance.name}` of a resource.
fn own_name(resource: &str) -> Property {
    let part = Part::Instance { element: element(&format!("t__{resource}")), field: InstanceField::Name };
    Property { value: Some(Template::Text(vec![part])), ..Property::default() }
}

#[derive(Debug, Clone)]
struct Case {
    sketch: Vec<(bool, bool, bool)>,
    related: Vec<(usize, usize)>,
    nodes: u32,
    scaled: bool,
    killed_at: Option<u64>,
}

fn cases() -> impl Strategy<Value = Case> {
    let resource = (any::<bool>(), any::<bool>(), any::<bool>());
    let related = prop::collection::vec((0..4_usize, 0..4_usize), 0..4);
    let sketch = prop::collection::vec(resource, 1..5);
    (sketch, related, 0..3_u32, any::<bool>(), prop::option::of(0..60_u64)).prop_map(
        |(sketch, related, nodes, scaled, killed_at)| Case { sketch, related, nodes, scaled, killed_at },
    )
}

impl Case {
    fn sketch(&self) -> Sketch {
        let names = ["a", "b", "c", "d"];
        let names = &names[..self.sketch.len()];
        let mut sketch = Sketch::new(names);
        for (name, (secret, named, reconfigurable)) in names.iter().zip(&self.sketch) {
            if *secret {
                sketch = sketch.secret(name, "password", &format!("secret of {name}"));
            }
            if *named {
                sketch = sketch.property(name, "host", own_name(name));
            }
            if *reconfigurable {
                sketch = sketch.reconfigurable(name);
            }
        }
        let mut known = BTreeSet::new();
        for (source, target) in &self.related {
            if source < target && *target < names.len() && known.insert((source, target)) {
                sketch = sketch.relate(names[*source], names[*target]);
                if self.sketch[*source].0 {
                    sketch = sketch.told("password");
                }
            }
        }
        if self.nodes > 0 {
            sketch = sketch.group("g", self.nodes, Cluster { minimum: 0, maximum: None, increment: 1 });
        }
        sketch
    }

    async fn is_the_same_twice_renamed(&self) {
        let rig = Rig::new(Effect::Repeatable);
        let desired = self.sketch().desired();
        if let Some(millis) = self.killed_at
            && rig.up_until_killed(desired.clone(), std::time::Duration::from_millis(millis)).await
            && rig.store.load(&assembly_name("t")).await.unwrap().is_some()
        {
            let refused = rename(&rig, "t", "u").await;
            let open = !rig.look("t").await.processes.is_empty();
            assert_eq!(open, matches!(refused, Err(EngineError::Unfinished(_))), "{refused:?}");
            if !open {
                rename(&rig, "u", "t").await.unwrap();
            }
        }
        rig.up(desired.clone()).await.unwrap();
        if self.scaled && self.nodes > 0 {
            rig.ask("t", Intent::ScaleOut(element("t__g"))).await.unwrap();
        }
        let before = told(&rig, "t").await;

        rename(&rig, "t", "u").await.unwrap();
        let during = told(&rig, "u").await;
        assert!(!during.contains("\"t__"), "{during}");
        assert!(!during.contains("\"t:"), "{during}");
        assert!(rig.store.load(&assembly_name("t")).await.unwrap().is_none());
        rename(&rig, "u", "t").await.unwrap();
        assert_same(&told(&rig, "t").await, &before);

        // Under the new name a retry has nothing to do, and `down` removes everything.
        rename(&rig, "t", "u").await.unwrap();
        let (_, jobs) = (rig.ask("u", Intent::Retry).await.unwrap(), rig.jobs.submitted());
        rig.ask("u", Intent::Retry).await.unwrap();
        assert_eq!(rig.jobs.submitted(), jobs);
        let named = self.sketch.iter().any(|(_, named, _)| *named);
        rig.up(called(desired, "u")).await.unwrap();
        assert!(named || rig.jobs.submitted() == jobs, "an unchanged descriptor changes nothing");
        rig.down("u").await.unwrap();
        assert!(rig.store.load(&assembly_name("u")).await.unwrap().is_none());
    }
}

/// Returns a configuration with an eighth of the usual number of cases, because each case in this file is slow.
fn one_in_eight() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.div_ceil(8), failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(one_in_eight())]

    #[test]
    fn a_rename_there_and_back_changes_nothing(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(case.is_the_same_twice_renamed());
    }
}

/// After a rename, the value `${instance.name}` of a part must keep the old name of the assembly. So the scripts that
/// stop the part get the value with which the part was created. The next `up` must set the new value.
#[tokio::test(start_paused = true)]
async fn the_names_that_scripts_know_stay_until_the_next_up() {
    let rig = Rig::new(Effect::Repeatable);
    let sketch = Sketch::new(&["a"]).property("a", "host", own_name("a"));
    rig.up(sketch.desired()).await.unwrap();
    rename(&rig, "t", "u").await.unwrap();
    let host = async || {
        let snapshot = rig.look("u").await;
        snapshot.assembly.topology.instance_name(&element("u__a")).to_string()
    };
    assert_eq!(host().await, "t__a");
    let (engine, holder) = rig.engine();
    let stop = Stop::default();
    let request = Request::up(called(sketch.desired(), "u"));
    let prepared = engine.prepare(&assembly_name("u"), request, &holder, &stop).await.unwrap();
    let changes: Vec<String> = prepared.diff().elements.iter().map(ToString::to_string).collect();
    assert_eq!(changes, ["-/+ a replaced\n    host: t__a → u__a"]);
    prepared.run(&stop).await.unwrap();
    assert_eq!(host().await, "u__a");
}

/// A process that is killed at any batch of a rename leaves either the old name or the new name.
#[tokio::test(start_paused = true)]
async fn a_killed_rename_is_done_or_not() {
    for (batch, keeps_last) in [(1, false), (1, true), (2, false)] {
        let rig = Rig::new(Effect::Repeatable);
        rig.up(Sketch::new(&["a", "b"]).relate("a", "b").secret("a", "key", "hidden").desired())
            .await
            .unwrap();
        let before = told(&rig, "t").await;
        let (engine, holder, life) = rig.mortal(batch, keeps_last);
        let (renaming, stop) = (renaming("t", "u"), Stop::default());
        let upkeep = engine.upkeep();
        let renamed = tokio::select! {
            renamed = upkeep.rename(&renaming, Batch::new(), &holder, &stop) => renamed.is_ok(),
            () = life.dead() => false,
        };
        life.kill();
        rig.bury(&holder);
        let is_there = rig.store.load(&assembly_name("u")).await.unwrap().is_some();
        assert_eq!(is_there, keeps_last || batch == 2, "batch {batch}: {renamed}");
        if is_there {
            rename(&rig, "u", "t").await.unwrap();
        }
        assert_same(&told(&rig, "t").await, &before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_with_an_assembly_or_a_history_is_refused() {
    let rig = Rig::new(Effect::Repeatable);
    let desired = Sketch::new(&["a"]).desired();
    rig.up(desired.clone()).await.unwrap();
    rig.up(called(desired.clone(), "here")).await.unwrap();
    rig.up(called(desired, "gone")).await.unwrap();
    rig.down("gone").await.unwrap();
    let before = told(&rig, "t").await;
    let refused = async |from: &str, to: &str| rename(&rig, from, to).await.unwrap_err().to_string();
    assert_eq!(refused("t", "here").await, "an assembly `here` exists already; choose another name");
    assert_eq!(refused("t", "t").await, "an assembly `t` exists already; choose another name");
    assert_eq!(
        refused("t", "gone").await,
        "an earlier assembly had the name `gone`, and `windlass log gone` shows its history; choose another name, or remove the history with `windlass prune gone --keep 0 --older 0s`"
    );
    assert_eq!(refused("none", "new").await, "there is no assembly `none`; there are `here`, `t`");
    let holder = Holder { pid: 99, ..Holder::current("another") };
    let lease = rig.store.lease(&assembly_name("t"), &holder).await.unwrap();
    assert!(matches!(rename(&rig, "t", "new").await, Err(EngineError::Store(_))));
    rig.store.release(lease).await.unwrap();
    assert_same(&told(&rig, "t").await, &before);
    // No lease is left behind.
    rename(&rig, "t", "new").await.unwrap();
}

/// Returns the desired assembly `t`, which references other assemblies.
fn referring(others: &[&str]) -> Desired {
    let mut desired = Sketch::new(&["a"]).desired();
    let own = desired.topology.clone();
    let references = others.iter().map(|other| Element {
        name: element(&format!("t__{other}")),
        kind: ElementKind::Reference,
        parent: Some(element("t")),
        referent: Some(Referent::Assembly(assembly_name(other))),
        ..own.root().unwrap().clone()
    });
    let elements = own.elements().iter().cloned().chain(references).collect();
    desired.topology = Topology::new(assembly_name("t"), elements, own.relationships().to_vec());
    desired
}

/// Returns the references that `t` would have after a rollback to its first version.
async fn first_references(rig: &Rig) -> BTreeSet<AssemblyName> {
    rig.store.versions(&assembly_name("t")).await.unwrap()[0].assembly.references.clone()
}

/// An assembly no longer refers to the renamed assembly, and its last process was interrupted. Only its earlier version
/// contains the old name.
#[tokio::test(start_paused = true)]
async fn an_interrupted_former_referrer_does_not_prevent_a_rename() {
    let rig = Rig::new(Effect::Repeatable);
    rig.up(called(Sketch::new(&["a"]).desired(), "lb")).await.unwrap();
    rig.up(referring(&["lb"])).await.unwrap();
    // This process removes the reference. As long as it has not ended, the assembly refers to the other one.
    let desired = Sketch::new(&["a", "b"]).desired();
    assert!(rig.up_until_killed(desired.clone(), Duration::from_millis(15)).await);
    let refused = rename(&rig, "lb", "early").await.unwrap_err();
    assert!(matches!(&refused, EngineError::Unfinished(name) if *name == assembly_name("t")), "{refused}");
    rig.up(desired).await.unwrap();
    assert!(rig.up_until_killed(Sketch::new(&["a", "b", "c"]).desired(), Duration::from_millis(15)).await);
    assert!(!rig.look("t").await.processes.is_empty());

    let followed = rename(&rig, "lb", "balancer").await.unwrap();
    assert_eq!(followed, [assembly_name("t")].into());
    assert_eq!(first_references(&rig).await, [assembly_name("balancer")].into());
    rig.retry("t", None).await.unwrap();
    assert_eq!(rig.states("t").await, "a Active, b Active, c Active");
    let first = rig.store.versions(&assembly_name("t")).await.unwrap()[0].process;
    rig.ask("t", Request::from(Intent::Rollback(Some(first))).with_consent(Consent::Any)).await.unwrap();
    assert_eq!(rig.look("t").await.assembly.references, [assembly_name("balancer")].into());
}

/// While an assembly is exported, the assemblies to which it refers are renamed, and two of them exchange their names.
/// The import finds each of them.
#[tokio::test(start_paused = true)]
async fn an_import_follows_the_renames_of_referenced_assemblies() {
    let rig = Rig::new(Effect::Repeatable);
    for other in ["one", "two", "lb"] {
        rig.up(called(Sketch::new(&["a"]).desired(), other)).await.unwrap();
    }
    rig.up(referring(&["lb", "two"])).await.unwrap();
    rig.up(referring(&["one", "two"])).await.unwrap();
    let (engine, holder) = rig.engine();
    let created = async |name: &str| rig.look(name).await.assembly.created;
    let (of_one, of_two) = (created("one").await, created("two").await);
    let given = engine.upkeep().hand_over(&assembly_name("t"), &holder).await.unwrap();
    let text = serde_json::to_string(given.bundle()).unwrap();
    let packages = given.bundle().packages.clone();
    given.complete("t.json").await.unwrap();
    for (from, to) in [("one", "x"), ("two", "one"), ("x", "two"), ("lb", "renamed-0")] {
        rename(&rig, from, to).await.unwrap();
    }
    assert_eq!((created("two").await, created("one").await), (of_one, of_two));
    // A new assembly has the name of a renamed one.
    let (mut forced, other) = rig.engine();
    forced.options.force = true;
    let stop = Stop::default();
    let again = Request::up(called(Sketch::new(&["a"]).desired(), "lb"));
    let prepared = forced.prepare(&assembly_name("lb"), again, &other, &stop).await.unwrap();
    prepared.run(&stop).await.unwrap();

    let bundle = Bundle { packages, ..serde_json::from_str(&text).unwrap() };
    engine.upkeep().can_take_over(bundle.clone()).await.unwrap();
    engine.upkeep().take_over(bundle, "t.json", &holder, &stop).await.unwrap();
    let topology = rig.look("t").await.assembly.topology;
    let target = |reference: &str| topology.get(&element(reference)).unwrap().referent.clone();
    assert_eq!(target("t__one"), Some(Referent::Assembly(assembly_name("two"))));
    assert_eq!(target("t__two"), Some(Referent::Assembly(assembly_name("one"))));
    let names = ["one", "renamed-0"].map(assembly_name);
    assert_eq!(first_references(&rig).await, names.into());
    // A retry has nothing to do.
    let jobs = rig.jobs.submitted();
    rig.retry("t", None).await.unwrap();
    assert_eq!(rig.jobs.submitted(), jobs);
}

/// While a process waits for the leases of further assemblies, it keeps the leases that it has taken.
#[tokio::test(start_paused = true)]
async fn the_lease_of_a_referenced_assembly_is_renewed_while_others_are_awaited() {
    let rig = Rig::new(Effect::Once);
    let others = ["b", "c", "d", "e", "f", "g"];
    let (engine, holder) = rig.engine();
    let mut held = Vec::new();
    for other in others {
        rig.up(called(Sketch::new(&["a"]).desired(), other)).await.unwrap();
    }
    for other in &others[1..] {
        held.push(engine.store.lease(&assembly_name(other), &holder).await.unwrap());
    }
    let frees = async {
        while !held.is_empty() {
            for _ in 0..8 {
                sleep(Duration::from_secs(1)).await;
                for lease in &held {
                    engine.store.renew(lease).await.unwrap();
                }
            }
            engine.store.release(held.remove(0)).await.unwrap();
        }
    };
    let comes = async {
        sleep(Duration::from_secs(36)).await;
        engine.store.lease(&assembly_name("b"), &holder).await
    };
    let renewed = async {
        let ups = rig.up(referring(&others));
        futures::join!(ups, comes)
    };
    let ((), (ended, came)) = futures::join!(frees, renewed);
    assert!(matches!(came, Err(StoreError::Held { .. })), "{came:?}");
    assert_eq!(ended.unwrap().process.status, ProcessStatus::Completed);
}

/// The import of an application waits for a lease. Meanwhile, another assembly claims the natural id of the
/// application's instance. The import must then fail, and record nothing.
#[tokio::test(start_paused = true)]
async fn an_import_without_its_natural_id_records_nothing() {
    let rig = Rig::new(Effect::Once);
    rig.up(Sketch::new(&["a"]).desired()).await.unwrap();
    rig.up(called(Sketch::new(&["a"]).desired(), "factory")).await.unwrap();
    let (engine, holder) = rig.engine();
    let (name, factory, twin) = (assembly_name("t"), assembly_name("factory"), assembly_name("twin"));
    let given = engine.upkeep().hand_over(&name, &holder).await.unwrap();
    let mut bundle = given.bundle().clone();
    given.complete("t.json").await.unwrap();
    bundle.assembly.owner = Some(factory.clone());
    bundle.assembly.references = [factory.clone()].into();
    bundle.instances[0].natural = Some("i-1".to_owned());
    let record = AssemblyRecord { name: twin.clone(), ..bundle.assembly.clone() };
    let held = engine.store.lease(&factory, &rig.engine().1).await.unwrap();
    let adopts = async {
        sleep(Duration::from_secs(1)).await;
        let batch = Batch::new().put_assembly(record).claim("i-1".to_owned());
        assert!(engine.store.create(&twin, &holder, batch).await.unwrap());
        engine.store.release(held).await.unwrap();
    };
    let (upkeep, stop) = (engine.upkeep(), Stop::default());
    let (imported, ()) = futures::join!(upkeep.take_over(bundle, "t.json", &holder, &stop), adopts);
    let error = imported.unwrap_err();
    assert!(matches!(error, EngineError::Store(StoreError::Claimed { .. })), "{error}");
    assert!(engine.store.assembly(&name).await.unwrap().is_none());
    assert!(engine.store.holder(&name).await.unwrap().is_none());
}

/// Stores a document of the project as an earlier build has written it.
async fn put_earlier(rig: &Rig, kind: &str, name: &str, body: Value) {
    let (scope, packages) = (DocumentScope::Project, BTreeSet::new());
    let key = DocumentKey { scope, kind: kind.parse().unwrap(), name: name.parse().unwrap() };
    let draft = DocumentDraft { key, expected: Expected::Any, version: 1, body, secrets: None, packages };
    rig.store.put_document(draft, Vec::new()).await.unwrap();
}

/// Earlier builds stored one document for each old name of an assembly. windlass must refuse `up` with such a name,
/// even if the document lacks the creation time of the assembly.
#[tokio::test(start_paused = true)]
async fn old_names_of_earlier_builds_are_refused() {
    let rig = Rig::new(Effect::Repeatable);
    let desired = Sketch::new(&["a"]).desired();
    rig.up(called(desired.clone(), "u")).await.unwrap();
    let created = rig.look("u").await.assembly.created;
    let to = json!({"assembly": "u"});
    for body in [json!({"to": to, "last": null}), json!({"to": to, "last": null, "created": created})] {
        put_earlier(&rig, "moved", "t", body).await;
        let refused = rig.up(desired.clone()).await.map(drop).unwrap_err();
        assert!(matches!(refused, EngineError::Moved { .. }), "{refused}");
    }
    // The entry of the earlier build stays when another assembly loses the name.
    let (mut engine, holder) = rig.engine();
    engine.options.force = true;
    let stop = Stop::default();
    let prepared = engine.prepare(&assembly_name("t"), Request::up(desired.clone()), &holder, &stop).await;
    prepared.unwrap().run(&stop).await.unwrap();
    rename(&rig, "t", "v").await.unwrap();
    rig.down("v").await.unwrap();
    let refused = rig.up(desired.clone()).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("`t` was renamed to `u`"), "{refused}");
    rig.down("u").await.unwrap();
    rig.up(desired).await.unwrap();
}

/// Earlier builds stored neither the manifest of the factory nor the time at which the factory was created.
#[tokio::test(start_paused = true)]
async fn exports_of_earlier_builds_are_read() {
    let rig = Rig::new(Effect::Repeatable);
    for name in ["factory", "other"] {
        rig.up(called(Sketch::new(&["a"]).desired(), name)).await.unwrap();
    }
    let body = json!({"application": "vm", "owner": "factory", "natural": "i-1", "file": "vm.export"});
    put_earlier(&rig, "exported", "a1b2", body).await;
    let found = async || {
        let [instance] = &exported_instances(&rig.store).await.unwrap()[..] else { panic!("one export") };
        let mut finders = Vec::new();
        for name in ["factory", "machines", "other"] {
            let record = rig.store.assembly(&assembly_name(name)).await.unwrap();
            finders.extend(record.filter(|record| instance.may_be_found_by(record)).map(|_| name));
        }
        finders
    };
    assert_eq!(found().await, ["factory"]);
    rename(&rig, "factory", "machines").await.unwrap();
    assert_eq!(found().await, ["machines"]);
    rig.down("machines").await.unwrap();
    assert_eq!(found().await, ["other"]);
}
