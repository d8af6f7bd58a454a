//! The main use case: an assembly is created, inspected and removed.

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn h_bta_comes_up_in_its_order() {
    let env = TestEnv::with("h_bta");
    let run = env.ok(&["up", "h_bta", "--parallelism", "1"]);
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
      + A added (resource::h_simple::1.0)
      + B__1 added (resource::t_simple::1.0)
    2 to add
    h_bta: 7 steps, up to 2 at once (p1 up)
       s1 A    Install
       s2 B__1 Install
       s3 A    Configure
       s4 B__1 Configure
       s5 A    Start, Integrity
       s6 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
       s7 B__1 Start, Integrity

    ok        A Install LONG
    ok        B__1 Install LONG
    ok        A Configure LONG
    ok        B__1 Configure LONG
    ok        A Start, Integrity LONG
    info      B__1: h_bta__A and h_bta__B__1 are related
    info      A: h_bta__A and h_bta__B__1 are related
    ok        B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 LONG
    ok        B__1 Start, Integrity LONG

    done: h_bta is Active (LONG)
      output: A_output
    ");
    assert_snapshot!(env.trace().join("\n"), @"
    Install h_bta__A
    Install h_bta__B__1
    Configure h_bta__A
    Configure h_bta__B__1
    Start h_bta__A
    Integrity h_bta__A
    CreateRelationship3 h_bta__B__1 source=h_bta__A target=h_bta__B__1
    CreateRelationship3 h_bta__A source=h_bta__A target=h_bta__B__1
    Start h_bta__B__1
    Integrity h_bta__B__1
    ");
    assert_snapshot!(env.ok(&["status"]), @"
    exit 0
    ----- stdout -----
    h_bta Active assembly::h_bta::1.0, AGE
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Active active, AGE
    └─ B Active
       └─ 1 Active active, AGE
      third-relationship created × 1
      output: A_output
    ");
    assert_snapshot!(env.ok(&["plan", "h_bta"]).out(), @"h_bta: nothing to do");
    assert_snapshot!(env.ok(&["log", "h_bta", "B__1"]), @"
    exit 0
    ----- stdout -----
    p1 up completed in LONG WHEN
      succeeded B__1 Install LONG
        scripts/Install.sh exited with code 0 LONG WHEN on admin@local (process)
      succeeded B__1 Configure LONG
        scripts/Configure.sh exited with code 0 LONG WHEN on admin@local (process)
      succeeded B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3 (A → B__1) LONG
        scripts/CreateRelationship3.sh exited with code 0 LONG WHEN on admin@local (process)
        scripts/CreateRelationship3.sh exited with code 0 LONG WHEN on admin@local (process)
      WHEN INFO B__1 h_bta__A and h_bta__B__1 are related
      succeeded B__1 Start, Integrity LONG
        scripts/Start.sh exited with code 0 LONG WHEN on admin@local (process)
        scripts/Integrity.sh exited with code 0 LONG WHEN on admin@local (process)
    ");
}

/// Independent calls must run concurrently. The Install of each of two parts waits until the Install of the other part
/// has started. The two Configure calls wait for each other in the same way.
#[test]
fn independent_calls_run_concurrently() {
    let env = TestEnv::with("h_bta");
    for package in ["h_simple", "t_simple"] {
        let protocol = format!("h_bta/Contains/{package}/Lifecycle/script/lib/protocol.sh");
        let meet = r#"
begin() {
    begin_alone "$@"
    case $1 in Install | Configure)
        mkdir -p "$WINDLASS_VOLUME_STATE/$1/$name"
        until [ "$(ls "$WINDLASS_VOLUME_STATE/$1" | wc -l)" -eq 2 ]; do sleep 0.01; done ;;
    esac
}
"#;
        env.edit(&protocol, "begin() {", "begin_alone() {");
        env.write(&protocol, env.read(&protocol) + meet);
    }
    env.ok(&["up", "h_bta", "--parallelism", "2"]);
    let mut trace = env.trace();
    trace[0..2].sort();
    trace[2..4].sort();
    assert_snapshot!(trace.join("\n"), @"
    Install h_bta__A
    Install h_bta__B__1
    Configure h_bta__A
    Configure h_bta__B__1
    Start h_bta__A
    Integrity h_bta__A
    CreateRelationship3 h_bta__B__1 source=h_bta__A target=h_bta__B__1
    CreateRelationship3 h_bta__A source=h_bta__A target=h_bta__B__1
    Start h_bta__B__1
    Integrity h_bta__B__1
    ");
}

#[test]
fn a_second_up_has_nothing_to_do() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    env.clear_trace();
    assert_snapshot!(env.ok(&["up", "h_bta"]).out(), @"
    h_bta: nothing to call (p2 up)

    done: h_bta is Active (LONG)
      output: A_output
    ");
    assert_snapshot!(env.ok(&["plan", "h_bta"]).out(), @"h_bta: nothing to do");
    assert_eq!(env.changes(), [""; 0]);
}

#[test]
fn a_step_is_explained_in_sentences() {
    let env = TestEnv::with("h_bta");
    assert_snapshot!(env.ok(&["plan", "h_bta", "--why", "s1"]).out(), @"
    s1 A Install
      s1 is in the plan because of this change: A added (resource::h_simple::1.0).
      s1 waits for no other step, so it begins at once.
    ");
    assert_snapshot!(env.ok(&["plan", "h_bta", "--why", "s7"]).out(), @r#"
    s7 B__1 Start, Integrity
      s7 is in the plan because of this change: B__1 added (resource::t_simple::1.0).
      s7 waits until s4 B__1 Configure has succeeded, because B__1 must be Inactive first.
        s4 waits until s2 B__1 Install has succeeded, because B__1 must be Installed first.
        s4 waits for the condition "all parts are Installed", which holds after s1 A Install and s2 B__1 Install.
      s7 waits until s6 B__1 Create third-relationship has succeeded, because of a rule of the relationship third-relationship: it is created before target B__1 becomes Active (h_bta/assembly.yaml:150:3).
        s6 waits until s4 B__1 Configure has succeeded, because of a rule of the relationship third-relationship: target B__1 must be Inactive (h_bta/assembly.yaml:150:3) (see above).
        s6 waits until s5 A Start, Integrity has succeeded, because of a rule of the relationship third-relationship: source A must be Active (h_bta/assembly.yaml:150:3).
          s5 waits until s3 A Configure has succeeded, because A must be Inactive first.
            s3 waits until s1 A Install has succeeded, because A must be Installed first.
            s3 waits for the condition "all parts are Installed" (see above).
          s5 waits for the condition "all parts are Inactive", which holds after s3 A Configure and s4 B__1 Configure.
      s7 waits for the condition "all parts are Inactive" (see above).
    "#);
    let json = env.json(&["plan", "h_bta", "--why", "s3"]);
    assert_eq!(json["waits"][0]["reason"], "A is Installed first");
    assert!(json["waits"][0].get("clause").is_none(), "{json}");
    env.ok(&["up", "h_bta"]);
    assert_snapshot!(env.ok(&["plan", "h_bta", "--replace", "A", "--why", "s4"]).out(), @r#"
    s4 A Install
      s4 is in the plan because of this change: A replaced.
      s4 waits until s3 A Uninstall has succeeded, because A must be Absent first.
        s3 waits until s2 A Stop has succeeded, because A must be Inactive first.
          s2 waits for the condition "third-relationship is ceased everywhere", which holds after s1 B__1 Cease third-relationship (h_bta/assembly.yaml:150:3).
        s3 waits for the condition "all parts that change are stopped", which holds after s1 B__1 Cease third-relationship and s2 A Stop.
      s4 waits for the condition "all parts that change are uninstalled", which holds after s3 A Uninstall.
    "#);
}

#[test]
fn a_cluster_is_explained_in_sentences() {
    let env = TestEnv::with("streamer_cluster");
    let args = ["plan", "streamer_cluster", "--params", "streamer_cluster/params.yaml", "--why", "s12"];
    let text = env.ok(&args).stdout;
    let shown: Vec<&str> = text.lines().filter(|line| !line.starts_with("    ")).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    s12 balancer Create balanceStreamer: target.AddBalancedHttpServer × 2
      s12 is in the plan because of this change: balancer added (resource::c_balancer::1.0).
      s12 waits until s9 balancer Configure has succeeded, because of a rule of the relationship balanceStreamer: target balancer must be Inactive (streamer_cluster/assembly.yaml:211:3).
      s12 waits for the condition "all of streamer is Active", which holds after s10 streamer__1 Start, Integrity and s11 streamer__2 Start, Integrity (streamer_cluster/assembly.yaml:211:3).
    "#);
}

#[test]
fn a_plan_says_why_each_step_waits() {
    let env = TestEnv::with("h_bta");
    let before = env.files();
    assert_snapshot!(env.ok(&["plan", "h_bta", "-p", "numOfServers=2"]), @"
    exit 0
    ----- stdout -----
      + A added (resource::h_simple::1.0)
      + B__1 added (resource::t_simple::1.0)
      + B__2 added (resource::t_simple::1.0)
    3 to add
    h_bta: 11 steps, up to 3 at once
       s1 A    Install
       s2 B__1 Install
       s3 B__2 Install
       s4 A    Configure
          needs A is Installed first
          after all parts are Installed
       s5 B__1 Configure
          needs B__1 is Installed first
          after all parts are Installed
       s6 B__2 Configure
          needs B__2 is Installed first
          after all parts are Installed
       s7 A    Start, Integrity
          needs A is Inactive first
          after all parts are Inactive
       s8 B__1 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
          needs third-relationship: target B__1 must be Inactive (h_bta/assembly.yaml:150:3)
          needs third-relationship: source A must be Active (h_bta/assembly.yaml:150:3)
       s9 B__1 Start, Integrity
          needs B__1 is Inactive first
          needs third-relationship: it is created before target B__1 becomes Active (h_bta/assembly.yaml:150:3)
          after all parts are Inactive
      s10 B__2 Create third-relationship: target.CreateRelationship3, source.CreateRelationship3
          needs third-relationship: target B__2 must be Inactive (h_bta/assembly.yaml:150:3)
          needs third-relationship: source A must be Active (h_bta/assembly.yaml:150:3)
      s11 B__2 Start, Integrity
          needs B__2 is Inactive first
          needs third-relationship: it is created before target B__2 becomes Active (h_bta/assembly.yaml:150:3)
          after all parts are Inactive
    longest chain: s1 → s4 → s7 → s8 → s9
    ----- stderr -----
    warning[WL0170]: `B` has several nodes; the value of the lowest one, `B__1`, is taken
      --> h_bta/assembly.yaml:18:12
       |
    18 |     value: ${B.output}
       |            ^^^^^^^^^^^
    ");
    assert_eq!(env.files(), before);
}

#[test]
fn the_streamer_cluster_reads_what_its_scripts_publish() {
    let env = TestEnv::with("streamer_cluster");
    let run =
        env.ok(&["up", "streamer_cluster", "--params", "streamer_cluster/params.yaml", "--parallelism", "1"]);
    assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
      + streamer__1 added (resource::c_streamer::1.0)
      + streamer__2 added (resource::c_streamer::1.0)
      + balancer added (resource::c_balancer::1.0)
      + net_video added (resource::net_video::1.0)
    4 to add
    Streamer_cluster: 13 steps, up to 3 at once (p1 up)
       s1 net_video   Install
       s2 streamer__1 Install
       s3 streamer__2 Install
       s4 balancer    Install
       s5 streamer__1 Create nfs_mount: target.MountStorage
       s6 streamer__2 Create nfs_mount: target.MountStorage
       s7 streamer__1 Configure
       s8 streamer__2 Configure
       s9 balancer    Configure
      s10 streamer__1 Start, Integrity
      s11 streamer__2 Start, Integrity
      s12 balancer    Create balanceStreamer: target.AddBalancedHttpServer × 2
      s13 balancer    Start, Integrity

    ok        net_video Install LONG
    ok        streamer__1 Install LONG
    ok        streamer__2 Install LONG
    ok        balancer Install LONG
    info      streamer__1: storage of 10.0.0.20:2049 is mounted
    ok        streamer__1 Create nfs_mount: target.MountStorage LONG
    info      streamer__2: storage of 10.0.0.20:2049 is mounted
    ok        streamer__2 Create nfs_mount: target.MountStorage LONG
    ok        streamer__1 Configure LONG
    ok        streamer__2 Configure LONG
    ok        balancer Configure LONG
    ok        streamer__1 Start, Integrity LONG
    ok        streamer__2 Start, Integrity LONG
    info      balancer: 10.0.1.11 takes its share of the load
    info      balancer: 10.0.1.12 takes its share of the load
    ok        balancer Create balanceStreamer: target.AddBalancedHttpServer × 2 LONG
    ok        balancer Start, Integrity LONG

    done: Streamer_cluster is Active (LONG)
      cluster_public_ip_address: 203.0.113.10
    ");
    assert_snapshot!(env.trace().join("\n"), @"
    Install Streamer_cluster__net_video
    Install Streamer_cluster__streamer__1
    Install Streamer_cluster__streamer__2
    Install Streamer_cluster__balancer
    MountStorage Streamer_cluster__streamer__1 local_mount_point=/mnt remote_mount_point=/ remote_nfs_port=2049 remote_nfs_server_ip=10.0.0.20
    MountStorage Streamer_cluster__streamer__2 local_mount_point=/mnt remote_mount_point=/ remote_nfs_port=2049 remote_nfs_server_ip=10.0.0.20
    Configure Streamer_cluster__streamer__1
    Configure Streamer_cluster__streamer__2
    Configure Streamer_cluster__balancer
    Start Streamer_cluster__streamer__1
    Integrity Streamer_cluster__streamer__1
    Start Streamer_cluster__streamer__2
    Integrity Streamer_cluster__streamer__2
    AddBalancedHttpServer Streamer_cluster__balancer max_connections=3 server_ip=10.0.1.11 server_port=8080
    AddBalancedHttpServer Streamer_cluster__balancer max_connections=3 server_ip=10.0.1.12 server_port=8080
    Start Streamer_cluster__balancer
    Integrity Streamer_cluster__balancer
    ");
    assert_snapshot!(env.ok(&["status"]).out(), @"
    Streamer_cluster Active assembly::Streamer_cluster::1.0, AGE
    ├─ management-network exists
    ├─ public-network exists
    ├─ storage exists
    ├─ streamer Active
    │  ├─ 1 Active active, AGE
    │  │    mgmtIp: 192.0.2.11
    │  │    privateIp: 10.0.1.11
    │  └─ 2 Active active, AGE
    │       mgmtIp: 192.0.2.12
    │       privateIp: 10.0.1.12
    ├─ balancer Active active, AGE
    │    privateIp: 10.0.1.10
    │    publicIp: 203.0.113.10
    └─ net_video Active AGE
         network-id: net-VIDEO
      nfs_mount created × 2
      balanceStreamer created × 2
      cluster_public_ip_address: 203.0.113.10
    ");

    // The scripts of the streamers received the value that the network's script chose.
    let status = env.json(&["status", "Streamer_cluster"]);
    let assembly = &status["assemblies"][0];
    let component = |name: &str| {
        let components = assembly["components"].as_array().unwrap();
        components
            .iter()
            .find(|component| component["name"] == format!("Streamer_cluster__{name}"))
            .unwrap()
            .clone()
    };
    let network = component("net_video");
    let streamer = &component("streamer")["components"][0];
    let kept =
        format!(".windlass/volumes/state/{}/referenced-video-network", streamer["id"].as_str().unwrap());
    assert_eq!(env.read(&kept), network["outputs"]["network-id"].as_str().unwrap());
    assert_eq!(
        assembly["outputs"]["cluster_public_ip_address"],
        component("balancer")["outputs"]["publicIp"]
    );
}

#[test]
fn two_assemblies_of_one_descriptor_live_side_by_side() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "--name", "Red", "-p", "data=1"]);
    env.ok(&["up", "h_bta", "--name", "blue", "-p", "data=2"]);
    assert_snapshot!(env.ok(&["status"]).out(), @"
    Red Active assembly::h_bta::1.0, AGE
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Active active, AGE
    └─ B Active
       └─ 1 Active active, AGE
      third-relationship created × 1
      output: A_output

    blue Active assembly::h_bta::1.0, AGE
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Active active, AGE
    └─ B Active
       └─ 1 Active active, AGE
      third-relationship created × 1
      output: A_output
    ");
    env.ok(&["down", "Red"]);
    assert_eq!(env.json(&["status"])["assemblies"][0]["name"], "blue");
    assert_eq!(env.files().iter().filter(|file| file.ends_with("/server_name")).count(), 2);
}

/// A folder without `windlass.yaml` is also a project. The scripts of this project run on this machine.
#[test]
fn without_a_project_file_everything_is_local() {
    let env = TestEnv::bare();
    env.write_small("effect: repeatable", &[("Install", "answer"), ("Start", ""), ("Uninstall", "")]);
    for script in ["Install", "Start", "Uninstall"] {
        // Without the location of `windlass.yaml` there is no trace file.
        env.edit(&format!("{}/{script}.sh", crate::small::SCRIPTS), r#">>"$trace""#, ">/dev/null");
    }
    assert_snapshot!(env.ok(&["up", "small"]), @"
    exit 0
    ----- stdout -----
      + box added (resource::box::1.0)
    1 to add
    small: 2 steps, up to 1 at once (p1 up)
       s1 box Install
       s2 box Start

    ok        box Install LONG
    ok        box Start LONG

    done: small is Active (LONG)
    ");
    assert_snapshot!(env.ok(&["status"]), @"
    exit 0
    ----- stdout -----
    small Active assembly::small::1.0, AGE
    └─ box Active AGE
    ");
    assert_snapshot!(env.ok(&["down", "small"]), @"
    exit 0
    ----- stdout -----
      - box removed
    1 to remove
    small: 1 step, up to 1 at once (p2 down)
       s1 box Uninstall

    ok        box Uninstall LONG

    done: small is down (LONG)
    ");
}

/// A command in any subfolder of the project uses the state beside the project's `windlass.yaml`.
#[test]
fn a_command_in_a_subfolder_finds_the_project() {
    let env = TestEnv::with("h_bta");
    let run = env.run_in("h_bta/Contains", &["up", ".."]);
    assert_eq!(run.code(), Some(0), "{run}");
    let status = env.run_in("h_bta/Contains/h_simple", &["status"]);
    assert_snapshot!(status, @"
    exit 0
    ----- stdout -----
    h_bta Active assembly::h_bta::1.0, AGE
    ├─ internal-network exists
    ├─ public-network exists
    ├─ xenial-image exists
    ├─ A Active active, AGE
    └─ B Active
       └─ 1 Active active, AGE
      third-relationship created × 1
      output: A_output
    ");
    assert!(env.path(".windlass/state.db").is_file());
    assert!(!env.path("h_bta/Contains/.windlass").exists());
}

/// The last status of an active part is not shown once the part is stopped, and an empty message is omitted.
#[test]
fn status_tells_what_a_part_says_while_it_is_so() {
    let says = r#"answer; printf '    $set: {status.flags.active: true, status.message: ""}\n'"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", says), ("Start", ""), ("Stop", "")]);
    env.ok(&["up", "small"]);
    assert_snapshot!(env.ok(&["status"]).out(), @"
    small Active assembly::small::1.0, AGE
    └─ box Active active, AGE
    ");
    env.ok(&["set-state", "small", "Inactive"]);
    assert_snapshot!(env.ok(&["status"]).out(), @"
    small Inactive assembly::small::1.0, AGE
    └─ box Inactive AGE
    ");
}
