//! The scripts of the example assemblies, run by the driver through a whole lifecycle.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use windlass_driver::{Binding, Bindings, Call, Driver, Failure, Location, Package, Report, Settled};
use windlass_model::Transition;
use windlass_model::instance::{InstanceView, shape};
use windlass_model::record::PackageFile;
use windlass_script::Script;
use windlass_source::{LoadOptions, Node, Reading, Source, load_one};
use windlass_update_ops::Update;

use crate::place::{Place, walk};
use crate::world::{INSTANCE, With, call};

const PACKAGES: [&str; 5] = [
    "h_bta/Contains/h_simple",
    "h_bta/Contains/t_simple",
    "streamer_cluster/Contains/c_balancer",
    "streamer_cluster/Contains/c_streamer",
    "streamer_cluster/Contains/net_video",
];

fn assemblies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/assemblies")
}

/// Reads a package from its folder, with its driver bindings.
fn package(path: &str) -> Package {
    let folder = assemblies().join(path);
    let mut files = Vec::new();
    walk(&folder, &mut |path| {
        let executable = std::fs::metadata(path).unwrap().permissions().mode() & 0o111 != 0;
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        files.push(PackageFile { path: name, executable, content: std::fs::read(path).unwrap() });
    });
    let text = std::fs::read_to_string(folder.join("Definitions/lm/resource.yaml")).unwrap();
    let root = load_one(&Source::new("resource.yaml", text), &LoadOptions::default()).root.unwrap();
    Package::new(root.get("name").unwrap().as_str().unwrap().parse().unwrap(), bindings(&root), files)
}

fn bindings(root: &Node) -> Bindings {
    let keys = |node: Option<&Node>| {
        node.and_then(Node::as_mapping)
            .into_iter()
            .flat_map(|m| m.keys().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let script = root.at_pointer("/default-driver/script").unwrap();
    let properties = script.get("properties").unwrap().to_value(Reading::Text);
    let default = Binding {
        driver: "script".parse().unwrap(),
        infrastructure: vec!["*".to_owned()],
        properties: serde_json::from_value(properties).unwrap(),
    };
    let transitions = keys(root.get("lifecycle")).into_iter().map(|name| (name.parse().unwrap(), Vec::new()));
    let operations = keys(root.get("operations")).into_iter().map(|name| (name, Vec::new()));
    Bindings {
        transitions: transitions.collect(),
        operations: operations.collect(),
        default: vec![default],
        ..Bindings::default()
    }
}

/// An instance of a package, as the engine would store it.
struct Life<'p> {
    place: &'p Place,
    package: Package,
    properties: BTreeMap<&'static str, Value>,
    natural: Option<String>,
    document: Value,
}

impl<'p> Life<'p> {
    fn new(place: &'p Place, package: &str, name: &str) -> Self {
        let properties = [("server_name", json!(name))].into();
        Self { place, package: self::package(package), properties, natural: None, document: json!({}) }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.properties.insert(name, value.into());
        self
    }

    fn call(&self, action: &str, arguments: &[(&str, &str)]) -> Call {
        let trace = json!(self.place.path("trace"));
        let mut call = call(action, self.package.clone(), [("trace".to_owned(), trace)].into());
        let location = Location {
            volumes: [("state".to_owned(), "/state".to_owned())].into(),
            ..(*call.location).clone()
        };
        call.location = location.into();
        call.natural.clone_from(&self.natural);
        call.document = self.document.clone();
        let call =
            self.properties.iter().fold(call, |call, (name, value)| call.property(name, value.clone()));
        arguments.iter().fold(call, |call, (name, value)| call.argument(name, *value))
    }

    /// Makes a call twice, as after a crash, and applies the second answer.
    async fn twice(&mut self, action: &str, arguments: &[(&str, &str)]) -> Report {
        let first = self.once(action, arguments).await.unwrap();
        let left = self.place.files("volumes");
        let second = self.once(action, arguments).await.unwrap();
        assert_eq!(first, second, "{action} answers the same");
        assert_eq!(left, self.place.files("volumes"), "{action} leaves its effect once");
        if let Some(natural) = &second.natural {
            self.natural = Some(natural.clone());
        }
        Update::parse(&second.updates, shape()).unwrap().update.apply(&mut self.document).unwrap();
        second
    }

    async fn once(&self, action: &str, arguments: &[(&str, &str)]) -> Result<Report, Failure> {
        Script::default().perform(self.place, &[self.call(action, arguments)]).await.remove(0)
    }

    fn output(&self, name: &str) -> Value {
        InstanceView::new(&self.document).output(name).cloned().unwrap_or_default()
    }
}

fn trace(place: &Place) -> String {
    let mut lines: Vec<_> =
        std::fs::read_to_string(place.path("trace")).unwrap().lines().map(str::to_owned).collect();
    lines.dedup();
    lines.join("\n")
}

#[test]
fn the_packages_are_in_order() {
    for path in PACKAGES {
        assert_eq!(Script::default().check(&package(path)), [], "{path}");
    }
}

#[test]
fn the_scripts_share_one_helper() {
    let helper =
        |path| std::fs::read(assemblies().join(path).join("Lifecycle/script/lib/protocol.sh")).unwrap();
    let helpers: BTreeSet<_> = PACKAGES.into_iter().map(helper).collect();
    assert_eq!(helpers.len(), 1, "the copies of protocol.sh differ");
}

#[test]
fn the_shell_accepts_every_script() {
    let mut scripts = 0;
    walk(&assemblies(), &mut |path| {
        if path.extension().is_some_and(|extension| extension == "sh") {
            assert!(Command::new("sh").arg("-n").arg(path).status().unwrap().success(), "{}", path.display());
            scripts += 1;
        }
    });
    assert!(scripts > PACKAGES.len());
}

#[tokio::test]
async fn a_life_of_each_server_of_the_basic_assembly() {
    for (package, name) in [(PACKAGES[0], "h_bta__A"), (PACKAGES[1], "h_bta__B__1")] {
        let place = Place::new();
        let pair = [("source", "h_bta__A"), ("target", "h_bta__B__1")];
        let mut life = Life::new(&place, package, name).with("data", "some \"data\" in a back\\slash");
        let launched = life.twice("Install", &[]).await;
        assert_eq!((launched.natural.as_deref(), launched.settled), (Some(INSTANCE), Settled::Yes));
        life.twice("Configure", &[]).await;
        life.twice("Start", &[]).await;
        assert!(InstanceView::new(&life.document).status().active);
        life.twice("Integrity", &[]).await;
        let created = life.twice("CreateRelationship3", &pair).await;
        assert_eq!(created.log[0].message, "h_bta__A and h_bta__B__1 are related");
        let data = place.path("volumes/state").join(INSTANCE).join("data");
        assert_eq!(std::fs::read_to_string(data).unwrap(), "some \"data\" in a back\\slash");
        insta::allow_duplicates! {
            insta::assert_snapshot!(place.files("volumes").join("\n"), @"
            state/abcdefghijkmnpqrstuvwxyz/data
            state/abcdefghijkmnpqrstuvwxyz/image
            state/abcdefghijkmnpqrstuvwxyz/output
            state/abcdefghijkmnpqrstuvwxyz/pause
            state/abcdefghijkmnpqrstuvwxyz/referenced-internal-network
            state/abcdefghijkmnpqrstuvwxyz/related.h_bta__A.h_bta__B__1
            state/abcdefghijkmnpqrstuvwxyz/server_name
            state/abcdefghijkmnpqrstuvwxyz/state
            ");
        }
        life.twice("CeaseRelationship3", &pair).await;
        life.twice("Stop", &[]).await;
        assert_eq!(life.twice("Uninstall", &[]).await.settled, Settled::Gone);
        assert_eq!(place.files("volumes"), [""; 0], "nothing is left");
        insta::allow_duplicates! {
            insta::assert_snapshot!(trace(&place).replace(&format!(" {name}"), " NAME"), @"
            Install NAME
            Configure NAME
            Start NAME
            Integrity NAME
            CreateRelationship3 NAME source=h_bta__A target=h_bta__B__1
            CeaseRelationship3 NAME source=h_bta__A target=h_bta__B__1
            Stop NAME
            Uninstall NAME
            ");
        }
    }
}

#[tokio::test]
async fn a_life_of_a_streamer() {
    let place = Place::new();
    let mount = [
        ("remote_nfs_server_ip", "10.0.0.20"),
        ("remote_nfs_port", "2049"),
        ("remote_mount_point", "/"),
        ("local_mount_point", "/mnt"),
    ];
    let mut life =
        Life::new(&place, PACKAGES[3], "shop__streamer__2").with("referenced-video-network", "net-VIDEO");
    life.twice("Install", &[]).await;
    assert_eq!((life.output("privateIp"), life.output("mgmtIp")), (json!("10.0.1.12"), json!("192.0.2.12")));
    let early = life.once("Configure", &[]).await.unwrap_err();
    assert_eq!(early.detail.as_deref(), Some("shop__streamer__2 has no storage: MountStorage comes first"));
    life.twice("MountStorage", &mount).await;
    for action in ["Configure", "Start", "Integrity"] {
        life.twice(action, &[]).await;
    }
    life.twice("UnmountStorage", &mount).await;
    life.twice("Stop", &[]).await;
    assert_eq!(life.twice("Uninstall", &[]).await.settled, Settled::Gone);
    assert_eq!(place.files("volumes"), [""; 0]);
}

#[tokio::test]
async fn a_life_of_the_balancer() {
    let place = Place::new();
    let server = [("server_ip", "10.0.1.12"), ("server_port", "8080"), ("max_connections", "3")];
    let mut life =
        Life::new(&place, PACKAGES[2], "shop__balancer").with("referenced-internal-network", "net-VIDEO");
    life.twice("Install", &[]).await;
    assert_eq!(life.output("publicIp"), json!("203.0.113.10"));
    for action in ["Configure", "Start", "Integrity"] {
        life.twice(action, &[]).await;
    }
    life.twice("AddBalancedHttpServer", &server).await;
    assert!(place.files("volumes").iter().any(|file| file.ends_with("/server.10.0.1.12")));
    life.twice("RemoveBalancedHttpServer", &server).await;
    life.twice("Stop", &[]).await;
    life.twice("Uninstall", &[]).await;
    assert_eq!(place.files("volumes"), [""; 0]);
}

#[tokio::test]
async fn a_life_of_the_network() {
    let place = Place::new();
    let mut life = Life::new(&place, PACKAGES[4], "shop__net_video").with("networkName", "VIDEO");
    life.twice("Install", &[]).await;
    assert_eq!(life.output("network-id"), json!("net-VIDEO"));
    life.twice("Uninstall", &[]).await;
    assert_eq!(place.files("volumes"), [""; 0]);
}

#[tokio::test]
async fn calls_fail_where_they_are_told_to() {
    let place = Place::new();
    for (name, fail, action, fails) in [
        ("h_bta__B__1", "Install", "Install", true),
        ("h_bta__B__1", "Install:1", "Install", true),
        ("h_bta__B__2", "Install:1", "Install", false),
        ("h_bta__A", "Configure Install:A", "Install", true),
        ("h_bta__A", "Configure", "Install", false),
    ] {
        let life = Life::new(&place, PACKAGES[1], name).with("fail", fail);
        let result = life.once(action, &[]).await;
        assert_eq!(result.is_err(), fails, "{action} of {name} with {fail}");
        if let Err(failure) = result {
            assert_eq!(failure.detail, Some(format!("Install of {name} fails, as it was told to")));
        }
    }
}

#[tokio::test]
async fn a_health_check_tells_a_server_at_rest_from_none() {
    let place = Place::new();
    let mut life = Life::new(&place, PACKAGES[0], "h_bta__A");
    let seen = |life: &Life<'_>| life.call("Start", &[]);
    let call = Call { natural: Some(INSTANCE.to_owned()), ..seen(&life) };
    let none = Script::default().observe(&place, &[call]).await.remove(0).unwrap();
    insta::assert_debug_snapshot!(none.observation, @"Absent");
    life.twice("Install", &[]).await;
    let rest = Script::default().observe(&place, &[seen(&life)]).await.remove(0).unwrap();
    insta::assert_debug_snapshot!(rest.observation, @r#"
    Differs(
        "it is not active",
    )
    "#);
    assert!(life.package.bindings().transitions.contains_key(&Transition::Integrity));
}
