//! Input documents of scripts, byte for byte.

use serde_json::json;
use windlass_driver::contract::{Purpose, Query};
use windlass_driver::{Call, Driver, FailureKind, Location, PoolSecrets};
use windlass_executor::{Bounds, Network, OnOwnerDeath};
use windlass_script::Script;

use crate::place::Place;
use crate::world::{INSTANCE, With, World};

fn world() -> World {
    World::new()
        .declares(&[
            "Create",
            "Install",
            "Configure",
            "Integrity",
            "Reconfigure",
            "Uninstall",
            "Delete",
            "Join",
        ])
        .script("launch.sh", &format!("echo 'instances: {{i-1: {{instanceId: {INSTANCE}}}}}'"))
        .script("Install.sh", "")
        .script("Configure.sh", "")
        .script("health-check.sh", "")
        .script("reconfigure.sh", "")
        .script("Uninstall.sh", "")
        .script("destroy.sh", "")
        .script("Join.sh", "")
        .script("discover.sh", "")
        .at("region", "eu-1")
}

fn call(action: &str) -> Call {
    world().call(action).property("size", 3).property("on", "yes").property("note", "two\nlines")
}

/// Performs a call. Returns the name and the input of the job that the call starts.
async fn read(call: Call) -> String {
    let place = Place::new();
    Script::default().perform(&place, &[call]).await.remove(0).unwrap();
    let (name, text) = place.jobs().remove(0);
    format!("{name}\n{text}")
}

#[tokio::test]
async fn a_launch_names_the_request() {
    insta::assert_snapshot!(read(call("Create")).await, @r#"
    launch
    configuration:
      location.region: "eu-1"
    launch:
      abcdefghijkmnpqrstuvwxyz:
        configuration:
          properties.note: "two\nlines"
          properties.on: "yes"
          properties.size: 3
    "#);
}

#[tokio::test]
async fn a_script_can_read_json() {
    let mut call = call("Create");
    call.binding.properties.insert("input".to_owned(), "json".into());
    assert_eq!(
        read(call).await,
        "launch\n{\"configuration\":{\"location.region\":\"eu-1\"},\"launch\":{\"abcdefghijkmnpqrstuvwxyz\":{\"configuration\":{\"properties.note\":\"two\\nlines\",\"properties.on\":\"yes\",\"properties.size\":3}}}}\n"
    );
}

#[tokio::test]
async fn a_step_names_its_transition() {
    insta::assert_snapshot!(read(call("Configure").natural("i-1")).await, @r#"
    transition
    configuration:
      location.region: "eu-1"
    instances:
      i-1:
        configuration:
          properties.note: "two\nlines"
          properties.on: "yes"
          properties.size: 3
    transition: "Configure"
    "#);
}

#[tokio::test]
async fn what_no_script_launched_is_called_by_the_engines_id() {
    insta::assert_snapshot!(read(world().call("Install")).await, @r#"
    transition
    configuration:
      location.region: "eu-1"
    instances:
      abcdefghijkmnpqrstuvwxyz:
        configuration: {}
    transition: "Install"
    "#);
}

#[tokio::test]
async fn reconfiguration_has_the_new_properties() {
    insta::assert_snapshot!(read(call("Reconfigure").natural("i-1")).await, @r#"
    reconfigure
    configuration:
      location.region: "eu-1"
    instances:
      i-1:
        configuration:
          properties.note: "two\nlines"
          properties.on: "yes"
          properties.size: 3
    "#);
}

#[tokio::test]
async fn destroy_has_the_properties() {
    insta::assert_snapshot!(read(call("Delete").natural("0x10")).await, @r#"
    destroy
    configuration:
      location.region: "eu-1"
    instances:
      "0x10":
        configuration:
          properties.note: "two\nlines"
          properties.on: "yes"
          properties.size: 3
    "#);
}

#[tokio::test]
async fn a_health_check_has_the_properties() {
    insta::assert_snapshot!(read(call("Integrity").natural("i-1")).await, @r#"
    health-check
    configuration:
      location.region: "eu-1"
    instances:
      i-1:
        configuration:
          properties.note: "two\nlines"
          properties.on: "yes"
          properties.size: 3
    "#);
}

#[tokio::test]
async fn an_operation_is_a_command() {
    let call = call("Join").natural("i-1").argument("peer", "10.0.0.1").argument("weights", json!([1, 0.5]));
    insta::assert_snapshot!(read(call).await, @r#"
    command
    configuration:
      location.region: "eu-1"
    instances:
      i-1:
        commands:
          st1p1s3c1:
            operations:
              Join:
                peer: "10.0.0.1"
                weights:
                  - 1
                  - 0.5
        configuration:
          properties.note: "two\nlines"
          properties.on: "yes"
          properties.size: 3
    "#);
}

#[tokio::test]
async fn an_operation_without_arguments_is_a_command_all_the_same() {
    insta::assert_snapshot!(read(World::new().declares(&["Join"]).script("Join", "").call("Join")).await, @"
    command
    configuration: {}
    instances:
      abcdefghijkmnpqrstuvwxyz:
        commands:
          st1p1s3c1:
            operations:
              Join: {}
    ");
}

#[tokio::test]
async fn discovery_has_the_configuration_alone() {
    let place = Place::new();
    let call = world().call("Create");
    let query = Query {
        package: call.package,
        binding: call.binding,
        location: call.location,
        configuration: call.configuration,
        properties: [].into(),
        purpose: Purpose::Reference,
    };
    assert_eq!(Script::default().discover(&place, &query).await, Ok(Vec::new()));
    insta::assert_snapshot!(place.jobs()[0].1, @r#"
    configuration:
      location.region: "eu-1"
    "#);
}

#[tokio::test]
async fn the_job_has_the_whole_folder_and_nothing_else() {
    let place = Place::new();
    let call = world()
        .file("lib/words.sh", false, "greeting=hello\n")
        .call("Configure")
        .secret("password", "hunter22");
    Script::default().perform(&place, &[call]).await.remove(0).unwrap();
    let job = place.last_job();
    let files: Vec<_> = job.files.iter().map(|file| format!("{:o} {}", file.mode, file.path)).collect();
    insta::assert_snapshot!(files.join("\n"), @"
    644 lib/words.sh
    755 scripts/Configure.sh
    755 scripts/Install.sh
    755 scripts/Join.sh
    755 scripts/Uninstall.sh
    755 scripts/destroy.sh
    755 scripts/discover.sh
    755 scripts/health-check.sh
    755 scripts/launch.sh
    755 scripts/reconfigure.sh
    ");
    assert_eq!(job.program, "scripts/Configure.sh");
    assert_eq!((job.args, job.env, job.image, job.network), ([].into(), [].into(), None, Network::Default));
    assert_eq!(job.on_owner_death, OnOwnerDeath::Finish);
}

fn bounds(set: &[(&str, &str)]) -> Bounds {
    let mut bounds = Bounds::default();
    for (key, text) in set {
        bounds.set(key, text).unwrap();
    }
    bounds
}

#[tokio::test]
async fn the_location_says_what_the_job_may_use() {
    let place = Place::new();
    let mut call = call("Configure");
    let location = Location {
        image: Some("demo:1".to_owned()),
        network: Some("bridge".to_owned()),
        volumes: [("state".to_owned(), "/var/state".to_owned())].into(),
        limits: bounds(&[("memory", "64M"), ("processes", "9")]),
        ..Location::local("here")
    };
    call.location = location.into();
    // The process runtime can't provide an image, so the call fails. The test checks only the requested job.
    let failure = Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Infrastructure);
    let job = place.last_job();
    assert_eq!((job.image.as_deref(), job.network), (Some("demo:1"), Network::Bridge));
    assert_eq!(
        (job.limits.memory_bytes, job.limits.pids, job.limits.cpu_millis),
        (Some(64 << 20), Some(9), None)
    );
    assert_eq!((job.volumes[0].name.as_str(), job.volumes[0].path.as_str()), ("state", "/var/state"));
}

#[tokio::test]
async fn a_job_with_secrets_is_alone_unless_the_location_shares() {
    let place = Place::new();
    let plain = call("Configure").property("size", "4");
    let secret = call("Configure").secret("password", "hunter22");
    let mut shared = secret.clone();
    shared.location = Location { pool_secrets: PoolSecrets::Shared, ..Location::local("here") }.into();
    for (call, alone) in [(plain, false), (secret, true), (shared, false)] {
        let calls = std::slice::from_ref(&call);
        Script::default().observe(&place, calls).await.remove(0).unwrap();
        assert_eq!(place.last_job().alone, alone, "a health check with {:?}", call.properties);
        Script::default().perform(&place, calls).await.remove(0).unwrap();
        assert_eq!(place.last_job().alone, alone, "a script with {:?}", call.properties);
    }
}

/// A discovery runs in a location with a secret property. Its job must be alone in its container, unless the location
/// has [`PoolSecrets::Shared`].
#[tokio::test]
async fn a_discovery_with_secrets_is_alone_unless_the_location_shares() {
    let place = Place::new();
    for (secret, pool_secrets, alone) in [
        (false, PoolSecrets::Fresh, false),
        (true, PoolSecrets::Fresh, true),
        (true, PoolSecrets::Shared, false),
    ] {
        let call = world().call("Create");
        let mut location = Location { pool_secrets, ..Location::local("here") };
        location.properties.insert("token".to_owned(), "hunter22".into());
        location.secret.extend(secret.then(|| "token".to_owned()));
        let query = Query {
            package: call.package,
            binding: call.binding,
            location: location.into(),
            configuration: call.configuration,
            properties: [].into(),
            purpose: Purpose::Reference,
        };
        Script::default().discover(&place, &query).await.unwrap();
        assert_eq!(place.last_job().alone, alone, "{:?}", query.location);
    }
}

#[tokio::test]
async fn looking_ends_with_its_owner() {
    let place = Place::new();
    Script::default().observe(&place, &[call("Configure")]).await.remove(0).unwrap();
    assert_eq!(place.jobs()[0].0, "health-check");
    assert_eq!(place.last_job().on_owner_death, OnOwnerDeath::Kill);
}

#[tokio::test]
async fn a_script_finds_its_neighbours() {
    let place = Place::new();
    let call = World::new()
        .declares(&["Start"])
        .file("lib/words.sh", false, "greeting=hello\n")
        .script("Start.sh", ". lib/words.sh; echo \"$greeting\" >&2; exit 1")
        .call("Start");
    let failure = Script::default().perform(&place, &[call]).await.remove(0).unwrap_err();
    assert_eq!(failure.detail.as_deref(), Some("hello"));
}
