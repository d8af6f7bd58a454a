//! Saved plans, which are executed later or refused.

use insta::assert_snapshot;
use rstest::rstest;

use crate::env::{GATE, TestEnv, until};

/// Returns a project with an assembly whose part declares no actions.
fn shop() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "shop/assembly.yaml",
        "name: assembly::shop::1.0
properties: {size: {default: small}, password: {type: password}}
composition:
  web:
    type: resource::web::1.0
    cluster: {minimum-nodes: 1, maximum-nodes: 3}
    properties: {size: {value: '${size}'}, password: {value: '${password}'}}
",
    );
    env.write(
        "shop/Contains/web/resource.yaml",
        "name: resource::web::1.0
properties: {size: {}, password: {type: password}, is: {read-only: true}}
lifecycle: [Install, Start, Stop, Uninstall]
default-driver: {noop: {properties: {outputs: {is: size}}}}
",
    );
    env
}

#[test]
fn a_saved_plan_is_carried_out_once() {
    let env = shop();
    let plan = env.ok(&["plan", "shop", "-p", "size=large", "-o", "shop.plan"]);
    assert_snapshot!(plan, @"
    exit 0
    ----- stdout -----
      + web__1 added (resource::web::1.0)
    1 to add
    shop: 2 steps, up to 1 at once
       s1 web__1 Install
       s2 web__1 Start
          needs web__1 is Inactive first
          after all parts are Inactive
    and 1 step that only changes a state
    longest chain: s1 → s2
    ----- stderr -----
    saved; execute it with `windlass apply shop.plan`
    ");
    assert!(!env.path(".windlass").exists(), "planning makes no store");
    assert_snapshot!(env.ok(&["apply", "shop.plan"]).out(), @"
      + web__1 added (resource::web::1.0)
    1 to add
    shop: 2 steps, up to 1 at once (p1 up)
       s1 web__1 Install
       s2 web__1 Start

    ok        web__1 Install LONG
    ok        web__1 Start nothing to call

    done: shop is Active (LONG)
    ");
    assert_eq!(
        env.json(&["status"])["assemblies"][0]["components"][0]["components"][0]["outputs"]["is"],
        "large"
    );
    assert_snapshot!(env.refuses(&["apply", "shop.plan"]), @"error[WL0574]: the plan for `shop` was made at WHEN, and is out of date: p1 up was completed; save a new plan");
}

#[test]
fn a_saved_plan_is_refused_when_the_state_has_moved_on() {
    let env = shop();
    env.ok(&["up", "shop"]);
    env.ok(&["plan", "shop", "-p", "size=large", "-o", "shop.plan"]);
    env.ok(&["scale", "out", "shop", "web"]);
    assert_snapshot!(env.refuses(&["apply", "shop.plan"]), @"error[WL0574]: the plan for `shop` was made at WHEN, and is out of date: p2 scale out web was completed; save a new plan");
    env.ok(&["plan", "shop", "-p", "size=large", "--target", "web__1", "-o", "shop.plan"]);
    env.edit("shop/Contains/web/resource.yaml", "lifecycle: [Install,", "lifecycle: [Install, Integrity,");
    assert_snapshot!(env.refuses(&["apply", "shop.plan"]), @"error[WL0574]: the plan for `shop` was made at WHEN, and is out of date: the package of `resource::web::1.0` has changed, `web__1` would differ: the descriptor, `windlass.yaml` or a reference has changed; save a new plan");
    env.edit("shop/Contains/web/resource.yaml", "lifecycle: [Install, Integrity,", "lifecycle: [Install,");
    env.edit("shop/assembly.yaml", "default: small", "default: tiny");
    env.edit("shop/assembly.yaml", "maximum-nodes: 3", "maximum-nodes: 4");
    assert_snapshot!(env.refuses(&["apply", "shop.plan"]), @"error[WL0574]: the plan for `shop` was made at WHEN, and is out of date: `web` would differ: the descriptor, `windlass.yaml` or a reference has changed; save a new plan");
    env.edit("shop/assembly.yaml", "default: tiny", "default: small");
    env.edit("shop/assembly.yaml", "maximum-nodes: 4", "maximum-nodes: 3");
    assert_snapshot!(env.ok(&["apply", "shop.plan"]).out(), @"
      -/+ web__1 replaced
          size: small → large
    1 to replace
    shop: 4 steps, up to 1 at once (p3 up)
       s1 web__1 Stop
       s2 web__1 Uninstall
       s3 web__1 Install
       s4 web__1 Start

    ok        web__1 Install LONG
    ok        web__1 Stop nothing to call
    ok        web__1 Uninstall nothing to call
    ok        web__1 Start nothing to call

    done: shop is Active (LONG)
    not in the plan, because of `--target` or `--except`; without them it would also do:
      -/+ web__2 replaced
          size: small → large
    ");
}

#[test]
fn a_saved_plan_has_no_secrets() {
    let env = shop();
    env.write("secret", "hunter22");
    let saved = env.ok(&["plan", "shop", "-p", "password=@secret", "-o", "shop.plan"]).stderr;
    assert_eq!(saved.trim(), "saved; execute it with `windlass apply shop.plan -p password=@FILE`");
    let text = env.read("shop.plan");
    assert!(!text.contains("hunter22") && text.contains(r#""version":1"#), "{text}");
    assert_snapshot!(env.refuses(&["apply", "shop.plan"]), @"error[WL0577]: the plan needs the secret `password`, which it does not contain; pass it again with `-p password=@FILE`");
    assert_snapshot!(env.refuses(&["apply", "shop.plan", "-p", "password=@secret", "-p", "size=huge"]), @"error[WL0577]: a plan accepts only its secrets again, and `size` is not one of them; save a new plan to change parameters");
    // A file and the environment may contain more values than the plan needs.
    env.write("values.yaml", "{password: hunter22, size: huge, note: of other assemblies}");
    let dry = ["apply", "shop.plan", "--dry-run"];
    assert_eq!(env.ok(&[&dry[..], &["--params", "values.yaml"]].concat()).stderr, "");
    let mut command = env.command(&["apply", "shop.plan"]);
    command.env("WINDLASS_PARAM_PASSWORD", "hunter22").env("WINDLASS_PARAM_SIZE", "huge");
    let applied = env.start(command).end();
    assert_eq!(applied.code(), Some(0), "{applied}");
    assert_snapshot!(applied.stderr, @"
    warning[WL0153]: `password` is a secret, and its value was passed in the environment
     |
     = help: use `-p password=@FILE`, `-p password=-` or `--params FILE`
    ");
    assert_eq!(env.run(&["plan", "shop", "-p", "password=@secret", "--detailed-exitcode"]).code(), Some(0));
}

/// A saved plan needs the same secrets again. With another secret it is refused, even if its steps would be
/// the same.
#[test]
fn a_saved_plan_is_of_its_secrets() {
    let env = shop();
    env.write("first", "hunter22");
    env.write("second", "hunter33");
    env.ok(&["up", "shop", "-p", "password=@first"]);
    env.ok(&["plan", "shop", "-p", "password=@second", "-p", "size=large", "-o", "shop.plan"]);
    let other = ["apply", "shop.plan", "-p", "password=@first"];
    assert_snapshot!(env.refuses(&other), @"error[WL0575]: the steps for `shop` would differ from the saved plan; pass `password` with the value of the plan, or save a new plan");
    assert_eq!(env.refuses(&[&other[..], &["--dry-run"]].concat()), env.refuses(&other));
    env.ok(&["apply", "shop.plan", "-p", "password=@second"]);
}

/// A plan was saved, and then a referenced assembly was changed. windlass must refuse the plan, even if only a secret
/// was changed. The saved plan contains no secrets, so a comparison of values could not detect such a change.
#[test]
fn a_saved_plan_is_of_what_is_referenced() {
    let env = shop();
    env.write(
        "reader/assembly.yaml",
        "name: assembly::reader::1.0
references: {of: {type: 'assembly::shop::^1.0'}}
composition:
  page: {type: 'resource::web::1.0', properties: {size: {value: small}, password: {value: '${of.password}'}}}
",
    );
    env.write("first", "hunter22");
    env.write("second", "hunter33");
    env.ok(&["up", "shop", "-p", "password=@first"]);
    env.ok(&["plan", "reader", "--catalog", "shop", "-o", "reader.plan"]);
    env.ok(&["up", "shop", "-p", "password=@second", "--yes"]);
    let refused = env.refuses(&["apply", "reader.plan"]);
    assert!(
        refused.contains("p2 up of the referenced assembly `shop` was completed; save a new plan"),
        "{refused}"
    );
    env.ok(&["plan", "reader", "--catalog", "shop", "-o", "reader.plan"]);
    env.ok(&["apply", "reader.plan"]);
    // The error names the first processes that ran after the plan was saved.
    env.ok(&["heal", "shop", "web__1", "--dry-run", "-o", "heal.plan"]);
    for _ in 0..5 {
        env.ok(&["heal", "shop", "web__1"]);
    }
    let refused = env.refuses(&["apply", "heal.plan"]);
    assert!(
        refused.contains("p6 heal web__1 was completed, and 2 more processes; save a new plan"),
        "{refused}"
    );
}

#[test]
fn a_saved_plan_is_of_one_project_and_whole() {
    let env = shop();
    env.ok(&["plan", "shop", "-o", "shop.plan"]);
    let text = env.read("shop.plan");
    env.write("damaged.plan", text.replace("large", "small").replace("Install", "Instell"));
    assert_snapshot!(env.refuses(&["apply", "damaged.plan"]), @"error[WL0572]: `damaged.plan` is damaged: its content does not match its digest; create it again");
    env.write("newer.plan", text.replacen(r#""version":2"#, r#""version":7"#, 1));
    assert_snapshot!(env.refuses(&["apply", "newer.plan"]), @"error[WL0571]: `newer.plan` has version 7, and this windlass reads version 2");
    assert!(env.refuses(&["apply", "shop/assembly.yaml"]).contains("is not a windlass plan"));
    assert!(env.refuses(&["apply", "none.plan"]).contains("can't read `none.plan`"));
    let other = shop();
    other.write("shop.plan", &text);
    assert!(other.refuses(&["apply", "shop.plan"]).contains("the plan was made for another project"));
    // The plan is also refused if both projects have a store.
    env.ok(&["up", "shop"]);
    env.ok(&["plan", "shop", "-o", "shop.plan"]);
    other.ok(&["up", "shop"]);
    other.write("shop.plan", env.read("shop.plan"));
    assert!(other.refuses(&["apply", "shop.plan"]).contains("the plan was made for another project"));
}

/// Text and JSON output show a changed secret masked, also for a plan that is limited to a part.
#[test]
fn a_change_of_a_secret_is_masked_in_every_form() {
    let env = shop();
    env.write("first", "hunter22");
    env.write("second", "hunter33");
    env.ok(&["up", "shop", "-p", "password=@first"]);
    let change = ["shop", "-p", "password=@second", "-p", "size=large"];
    assert_snapshot!(env.ok(&[&["plan"], &change[..]].concat()).out().lines().take(3).collect::<Vec<_>>().join("\n"), @"
    -/+ web__1 replaced
        size: small → large
        password: *** → ***
    ");
    let json = env.json(&[&["plan"], &change[..]].concat());
    let properties = &json["changes"]["elements"][0]["properties"];
    assert_eq!(properties[1]["before"], "masked", "{properties:#}");
    assert_eq!(properties[0]["after"]["value"], "large", "{properties:#}");
    assert!(!json.to_string().contains("hunter"), "{json:#}");
    env.ok(&[&["up", "--yes"], &change[..]].concat());
    let diff = env.json(&["diff", "shop@p1", "shop@p2"]);
    assert!(diff.to_string().contains("masked") && !diff.to_string().contains("hunter"), "{diff:#}");
    let replaced =
        env.ok(&["plan", "shop", "-p", "password=@second", "-p", "size=large", "--replace", "web__1"]);
    assert!(replaced.stdout.contains("-/+ web__1 replaced"), "{replaced}");
}

/// The plan of every dry run can be saved. It is executed later exactly as shown, and only once.
#[rstest]
#[case::scale_out(&["scale", "out", "shop", "web"], "web__3")]
#[case::scale_in(&["scale", "in", "shop", "web"], "web__2")]
#[case::heal(&["heal", "shop", "web__1"], "web__1")]
#[case::set_state(&["set-state", "shop", "Inactive"], "web__1")]
#[case::rollback(&["rollback", "shop"], "web__2")]
#[case::rollback_to(&["rollback", "shop", "--to", "p1"], "web__2")]
#[case::retry(&["retry", "shop"], "")]
#[case::up(&["up", "shop", "-p", "size=large"], "web__1")]
#[case::up_replace(&["up", "shop", "--replace", "web__2"], "web__2")]
#[case::down(&["down", "shop"], "web__1")]
#[case::down_by_other_packages(&["down", "shop", "--current-packages", "shop"], "web__1")]
fn every_intent_can_be_saved(#[case] intent: &[&str], #[case] part: &str) {
    let env = shop();
    env.ok(&["up", "shop"]);
    env.ok(&["scale", "out", "shop", "web"]);
    let dry = [intent, &["--dry-run"]].concat();
    let before = env.json(&["status"]);
    let plan = env.ok(&[&dry[..], &["-o", "saved.plan"]].concat());
    assert_eq!(
        plan.stderr.lines().last(),
        Some("saved; execute it with `windlass apply saved.plan`"),
        "{plan}"
    );
    assert!(plan.stdout.contains(part), "{plan}");
    let told = env.ok(&["apply", "saved.plan", "--dry-run"]);
    assert_eq!(told.stdout, plan.stdout, "it is told again as it was");
    let code = if part.is_empty() { 0 } else { 3 };
    let detailed = env.run(&["apply", "saved.plan", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(detailed.code(), Some(code), "{detailed}");
    assert_eq!(env.json(&["status"]), before, "nothing was changed");
    let applied = env.ok(&["apply", "saved.plan"]);
    assert!(applied.stdout.contains(part), "{applied}");
    let again = env.refuses(&["apply", "saved.plan"]);
    assert!(again.contains("is out of date: p3 ") && again.contains("was completed"), "{again}");
}

#[test]
fn a_saved_intent_is_refused_when_something_else_was_done() {
    let env = shop();
    env.ok(&["up", "shop"]);
    env.ok(&["scale", "out", "shop", "web", "--dry-run", "-o", "out.plan"]);
    env.ok(&["down", "shop", "--current-packages", "shop", "--dry-run", "-o", "down.plan"]);
    assert_snapshot!(env.refuses(&["apply", "out.plan", "-p", "size=huge"]), @"error[WL0577]: a plan accepts only its secrets again, and `size` is not one of them; save a new plan to change parameters");
    env.edit("shop/Contains/web/resource.yaml", "Stop, Uninstall", "Stop, Uninstall, Delete");
    assert_snapshot!(env.refuses(&["apply", "down.plan"]), @"error[WL0574]: the plan for `shop` was made at WHEN, and is out of date: the package of `resource::web::1.0` has changed; save a new plan");
    env.ok(&["heal", "shop", "web__1"]);
    assert_snapshot!(env.refuses(&["apply", "out.plan"]), @"error[WL0574]: the plan for `shop` was made at WHEN, and is out of date: p2 heal web__1 was completed; save a new plan");
    assert_snapshot!(env.refuses(&["apply", "out.plan", "--dry-run"]), @"error[WL0574]: the plan for `shop` was made at WHEN, and is out of date: p2 heal web__1 was completed; save a new plan");
    let unsaved = env.refuses(&["scale", "out", "shop", "web", "-o", "out.plan"]);
    assert!(unsaved.contains("--dry-run"), "{unsaved}");
}

#[test]
fn a_saved_adoption_is_carried_out() {
    let env = shop();
    env.edit("shop/Contains/web/resource.yaml", "lifecycle: [", "lifecycle: [Adopt, ");
    let plan = env.ok(&["adopt", "shop", "--dry-run", "-o", "adopt.plan"]);
    assert!(!env.path(".windlass").exists(), "planning makes no store: {plan}");
    let applied = env.ok(&["apply", "adopt.plan"]);
    assert!(applied.stdout.contains("(p1 adopt)") && applied.stdout.contains("web__1 Adopt"), "{applied}");
}

/// An output path that is no regular file is written directly and stays. A regular file is replaced.
#[test]
fn a_pipe_is_written_to_by_each_command_with_an_output() {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta"]);
    let pipe = env.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let commands: [&[&str]; 2] = [
        &["plan", "h_bta", "-p", "data=other", "-o", "pipe"],
        &["heal", "h_bta", "A", "--dry-run", "-o", "pipe"],
    ];
    for command in commands {
        let copied = env.path("copied");
        let mut reader = std::process::Command::new("cat")
            .arg(&pipe)
            .stdout(std::fs::File::create(&copied).unwrap())
            .spawn()
            .unwrap();
        let run = env.ok(command);
        assert!(reader.wait().unwrap().success());
        assert!(std::fs::metadata(&copied).unwrap().len() > 100, "{command:?}: {run}");
        let kind = std::fs::symlink_metadata(&pipe).unwrap().file_type();
        assert!(std::os::unix::fs::FileTypeExt::is_fifo(&kind), "{command:?}: {run}");
    }
}

/// A process is running, or was interrupted. A new plan must name this process. After the process has ended, `apply`
/// must refuse a plan that was saved earlier.
#[test]
fn a_plan_beside_an_unfinished_process_names_it() {
    let env = TestEnv::small("effect: repeatable", &[("Install", GATE), ("Uninstall", "")]);
    let up = env.spawn(&["up", "small"]);
    until("the script has begun", || env.trace() == ["Install"]);
    let plan = env.run(&["plan", "small", "--detailed-exitcode", "-o", "small.plan"]);
    assert_eq!(plan.code(), Some(3), "{plan}");
    assert!(plan.stderr.contains("note: p1 up is run by `windlass up small`"), "{plan}");
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(up.end().code(), Some(0));
    let refused = env.refuses(&["apply", "small.plan"]);
    assert!(refused.contains("is out of date: p1 up was completed"), "{refused}");
    let done = env.run(&["plan", "small", "--detailed-exitcode"]);
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{done}");

    std::fs::remove_file(env.path(".windlass/volumes/state/go")).unwrap();
    env.clear_trace();
    let up = env.spawn(&["up", "small", "--replace", "box", "--yes"]);
    until("the script has begun", || env.trace().contains(&"Install".to_owned()));
    up.kill();
    let plan = env.run(&["plan", "small", "--detailed-exitcode"]);
    assert_eq!(plan.code(), Some(3), "{plan}");
    assert!(
        plan.stderr.contains("note: p2 up was interrupted, and its last calls may still change parts"),
        "{plan}"
    );
    assert_eq!(env.json(&["plan", "small"])["unfinished"]["id"], 2);
    env.write(".windlass/volumes/state/go", "");
    env.ok(&["retry", "small"]);
}
