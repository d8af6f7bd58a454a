//! Changed outputs of a part that is not re-created: the parts that read them receive the new values.

use insta::assert_snapshot;

use crate::env::{TestEnv, until};

/// Returns three parts in a row. When a part is installed or reconfigured, it publishes the value of its property
/// `size` in its output `is`. If the file `start` exists, Start publishes the content of this file in `is`.
pub(crate) fn row(size: &str, kind: &str, lifecycle: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "row/assembly.yaml",
        "name: assembly::row::1.0
properties: {size: {default: small}}
composition:
  a: {type: resource::part::1.0, properties: {size: {value: '${size}'}}}
  b: {type: resource::part::1.0, properties: {size: {value: 'the ${a.is}'}}}
  c: {type: resource::part::1.0, properties: {size: {value: '${b.is}'}}}
",
    );
    env.write(
        "row/Contains/part/resource.yaml",
        format!(
            "name: resource::part::1.0
properties: {{size: {{{size}{kind}}}, is: {{read-only: true, {kind}}}}}
lifecycle: [{lifecycle}]
default-driver: {{script: {{properties: {{effect: repeatable}}}}}}
"
        ),
    );
    let publish = r#"#!/bin/sh
set -eu
input=$(cat)
trace=$(printf '%s\n' "$input" | sed -n 's/^ *location.trace: "\(.*\)"$/\1/p')
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;};/^instances:$/{n;s/^ *"\{0,1\}\([a-z0-9]*\)"\{0,1\}:.*/\1/p;}')
size=$(printf '%s\n' "$input" | sed -n 's/^ *properties.size: "\(.*\)"$/\1/p')
name=${0##*/}
name=${name%.sh}
echo "$name $size" >>"$trace"
"#;
    let answer = r#"printf 'instances:\n  "%s":\n    instanceId: "%s"\n    interfaces:\n      properties:\n        signals:\n          is: "%s"\n' "$id" "$id" "$size"
"#;
    let scripts = "row/Contains/part/Lifecycle/script/scripts";
    for transition in ["Install", "Reconfigure"] {
        env.script(&format!("{scripts}/{transition}.sh"), format!("{publish}{answer}"));
    }
    let starts = format!(
        "{publish}[ -e \"$WINDLASS_VOLUME_STATE/start\" ] || exit 0\nsize=$(cat \"$WINDLASS_VOLUME_STATE/start\")\n{answer}"
    );
    env.script(&format!("{scripts}/Start.sh"), starts);
    for transition in ["Stop", "Uninstall"] {
        env.script(&format!("{scripts}/{transition}.sh"), publish);
    }
    env
}

/// Returns the outputs of the parts.
fn outputs(env: &TestEnv) -> Vec<String> {
    let status = env.json(&["status"]);
    let parts = status["assemblies"][0]["components"].as_array().unwrap().iter();
    parts.map(|part| part["outputs"]["is"].as_str().unwrap_or_default().to_owned()).collect()
}

const ALL: &str = "Install, Start, Reconfigure, Stop, Uninstall";

#[test]
fn one_up_updates_all_readers_of_a_value() {
    let env = row("volatile: true, ", "", ALL);
    env.ok(&["up", "row"]);
    assert_eq!(outputs(&env), ["small", "the small", "the small"]);
    env.clear_trace();
    assert_snapshot!(env.ok(&["up", "row", "-p", "size=large"]).out(), @"
      ~ a changed
          size: small → large
    1 to change
    row: 1 step, up to 1 at once (p2 up)
       s1 a Reconfigure

    ok        a Reconfigure LONG

    done: row is Active (LONG)
    resuming: b has outdated inputs
      ~ b changed
          size: the small → the large
    1 to change
    row: 1 step, up to 1 at once (p3 up)
       s1 b Reconfigure

    ok        b Reconfigure LONG

    done: row is Active (LONG)
    resuming: c has outdated inputs
      ~ c changed
          size: the small → the large
    1 to change
    row: 1 step, up to 1 at once (p4 up)
       s1 c Reconfigure

    ok        c Reconfigure LONG

    done: row is Active (LONG)
    ");
    assert_eq!(env.trace(), ["Reconfigure large", "Reconfigure the large", "Reconfigure the large"]);
    assert_eq!(outputs(&env), ["large", "the large", "the large"]);
    let again = env.run(&["up", "row", "-p", "size=large", "--dry-run", "--detailed-exitcode"]);
    assert_eq!(again.code(), Some(0), "nothing is left to do: {again}");
    // JSON output contains the final result.
    let json = env.json(&["up", "row", "-p", "size=huge"]);
    assert_eq!((&json["process"], &json["status"]), (&7.into(), &"completed".into()), "{json:#}");
    assert_eq!(outputs(&env), ["huge", "the huge", "the huge"]);
}

/// `heal` does not change parts that read a changed output, but reports them.
#[test]
fn a_healed_part_with_changed_outputs_is_reported() {
    let env = row("volatile: true, ", "", ALL);
    env.ok(&["up", "row"]);
    env.clear_trace();
    env.write(".windlass/volumes/state/start", "tiny");
    assert_snapshot!(env.ok(&["heal", "row", "a"]).out(), @"
      ↻ a restarted
    1 to restart
    row: 2 steps, up to 1 at once (p2 heal a)
       s1 a Stop
       s2 a Start

    ok        a Stop LONG
    ok        a Start LONG

    done: row is Active (LONG)
      b has outdated inputs; `windlass retry row` updates them
    ");
    assert_eq!(env.trace(), ["Stop small", "Start small"]);
    assert_snapshot!(env.ok(&["plan", "row"]).out(), @"
      ~ b changed
          size: the small → the tiny
    1 to change
    row: 1 step, up to 1 at once
       s1 b Reconfigure
    longest chain: s1
    ");
    // If the outputs change back to the applied values, nothing is reported.
    env.write(".windlass/volumes/state/start", "small");
    assert!(!env.ok(&["heal", "row", "a"]).stdout.contains("has changed"));
    assert!(env.ok(&["plan", "row"]).stdout.contains("nothing to do"));
    env.write(".windlass/volumes/state/start", "tiny");
    env.ok(&["heal", "row", "a"]);
    env.ok(&["retry", "row"]);
    assert_eq!(outputs(&env), ["tiny", "the tiny", "the tiny"]);
}

/// A part that can't be reconfigured is re-created.
#[test]
fn a_part_that_cannot_be_reconfigured_is_replaced() {
    let env = row("", "", "Install, Start, Stop, Uninstall");
    env.ok(&["up", "row"]);
    env.write(".windlass/volumes/state/start", "tiny");
    env.ok(&["heal", "row", "a"]);
    std::fs::remove_file(env.path(".windlass/volumes/state/start")).unwrap();
    env.clear_trace();
    env.ok(&["up", "row", "--yes"]);
    let trace = env.trace();
    assert!(trace.contains(&"Install the tiny".to_owned()), "{trace:?}");
    assert!(!trace.contains(&"Install small".to_owned()), "{trace:?}");
    assert_eq!(outputs(&env), ["tiny", "the tiny", "the tiny"]);
    assert!(env.ok(&["plan", "row"]).stdout.contains("nothing to do"));
}

/// `apply` must make only the replacements that the saved plan contains. `retry` must ask before it replaces parts with
/// outdated inputs.
#[test]
fn apply_and_retry_replace_nothing_that_was_not_permitted() {
    let env = row("", "", "Install, Start, Stop, Uninstall");
    env.ok(&["up", "row"]);
    env.ok(&["plan", "row", "-p", "size=large", "-o", "row.plan"]);
    // Start of `a` changes an output after `b` was installed.
    env.write(".windlass/volumes/state/start", "tiny");
    let applied = env.run(&["apply", "row.plan"]);
    assert_eq!(applied.code(), Some(1), "{applied}");
    assert!(applied.stdout.contains("b, c have outdated inputs; `windlass retry row` updates"), "{applied}");
    assert!(applied.stderr.contains("error[WL0541]"), "{applied}");
    env.clear_trace();
    assert!(env.refuses(&["retry", "row"]).contains("WL0541"));
    assert!(env.trace().is_empty());
    env.ok(&["retry", "row", "--yes"]);
    assert!(env.trace().contains(&"Install the tiny".to_owned()), "{:?}", env.trace());
}

/// A changed secret is detected and passed on, and neither the old nor the new secret is stored unencrypted.
#[test]
fn a_secret_that_is_another_is_given_on_unseen() {
    let env = row("volatile: true, ", "type: password", ALL);
    env.edit("row/assembly.yaml", "default: small", "type: password");
    env.write("one", "hunter22");
    env.write("two", "hunter33");
    env.ok(&["up", "row", "-p", "size=@one"]);
    env.clear_trace();
    let run = env.ok(&["up", "row", "-p", "size=@two"]);
    assert_eq!(env.trace(), ["Reconfigure hunter33", "Reconfigure the hunter33", "Reconfigure the hunter33"]);
    assert!(run.stdout.contains("size: *** → ***") && !run.stdout.contains("hunter"), "{run}");
    let bytes = std::fs::read(env.path(".windlass/state.db")).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"hunter"), "nothing lies open in the store");
}

/// If a part fails to apply a new value, the record keeps the old value, and the next command applies the new
/// value.
#[test]
fn a_failed_reader_is_resumed() {
    let env = row("volatile: true, ", "", ALL);
    let script = "row/Contains/part/Lifecycle/script/scripts/Reconfigure.sh";
    let fails = "[ ! -e \"$WINDLASS_VOLUME_STATE/fail\" ] || [ \"$size\" = large ]\n";
    env.script(script, env.read(script).replace("printf 'inst", &format!("{fails}printf 'inst")));
    env.ok(&["up", "row"]);
    env.write(".windlass/volumes/state/fail", "");
    let run = env.run(&["up", "row", "-p", "size=large"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert_eq!(outputs(&env), ["large", "the small", "the small"], "{run}");
    assert!(env.ok(&["plan", "row", "-p", "size=large"]).stdout.contains("size: the small → the large"));
    std::fs::remove_file(env.path(".windlass/volumes/state/fail")).unwrap();
    env.ok(&["up", "row", "-p", "size=large"]);
    assert_eq!(outputs(&env), ["large", "the large", "the large"]);
}

/// The daemon executes a queued `up` with a new value. The daemon must continue until all parts have the current
/// values.
#[test]
fn a_queued_request_is_resumed() {
    let env = row("volatile: true, ", "", ALL);
    env.ok(&["up", "row"]);
    env.ok(&["up", "row", "-p", "size=large", "--queue"]);
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("all have it", || outputs(&env) == ["large", "the large", "the large"]);
    until("it is told", || keeper.stdout().contains("p5 completed"));
    keeper.signal(rustix::process::Signal::INT);
    keeper.end();
}

/// Returns the project of [`row`], and adds a health check to its parts. If the file `gone` exists, the check of `a`
/// reports that the instance no longer exists. Install of `a` deletes the file `gone`. If the file `install` exists,
/// Install of `a` publishes the content of this file.
fn checked_row(kind: &str) -> TestEnv {
    let env = row("", kind, "Install, Integrity, Uninstall");
    let scripts = "row/Contains/part/Lifecycle/script/scripts";
    let install = env.read(&format!("{scripts}/Install.sh"));
    let publishes = "gone=$WINDLASS_VOLUME_STATE/gone
install=$WINDLASS_VOLUME_STATE/install
case $size in \"the \"*) ;; *) rm -f \"$gone\"; [ ! -e \"$install\" ] || size=$(cat \"$install\");; esac
printf 'inst";
    env.script(&format!("{scripts}/Install.sh"), install.replacen("printf 'inst", publishes, 1));
    let answer = r#"flags='{active: true, converging: false, failed: false}'
case $size in "the "*) ;; *) [ ! -e "$WINDLASS_VOLUME_STATE/gone" ] || flags='{active: false, converging: false, failed: false}';; esac
printf 'instances:\n  "%s":\n    instanceId: "%s"\n    $set: {status.flags: %s}\n' "$id" "$id" "$flags"
"#;
    let check = install.split("printf 'inst").next().unwrap();
    let check = check.replace("echo \"$name $size\" >>\"$trace\"\n", "");
    env.script(&format!("{scripts}/Integrity.sh"), format!("{check}{answer}"));
    env
}

/// Heals the part `a` of [`checked_row`], whose instance no longer exists.
fn heal_gone(env: &TestEnv) {
    env.write(".windlass/volumes/state/gone", "");
    env.clear_trace();
    env.ok(&["heal", "row", "a"]);
    let trace = env.trace();
    assert!(trace.len() == 1 && trace[0].starts_with("Install "), "{trace:?}");
    env.clear_trace();
}

/// The instance of a part no longer exists, and a heal creates the part again. If the new instance publishes the same
/// outputs, the parts that read the outputs must stay as they are.
#[test]
fn a_part_created_again_with_the_same_outputs_leaves_its_readers() {
    let env = checked_row("");
    env.ok(&["up", "row"]);
    for _ in 0..2 {
        heal_gone(&env);
        let plan = env.ok(&["plan", "row"]);
        assert!(plan.stdout.contains("nothing to do"), "{plan}");
    }
    env.write(".windlass/volumes/state/install", "tiny");
    heal_gone(&env);
    // The readers do not yet use the output of the second instance, even if a third instance publishes it again.
    heal_gone(&env);
    env.ok(&["up", "row", "--yes"]);
    let trace = env.trace();
    assert!(trace.contains(&"Install the tiny".to_owned()), "{trace:?}");
    assert_eq!(outputs(&env), ["tiny", "the tiny", "the tiny"]);
    heal_gone(&env);
    assert!(env.ok(&["plan", "row"]).stdout.contains("nothing to do"));
}

/// The records do not tell whether a secret output is the same as before. So the parts that read it are re-created.
#[test]
fn a_part_created_again_with_a_secret_output_changes_its_readers() {
    let env = checked_row("type: password, ");
    env.ok(&["up", "row"]);
    heal_gone(&env);
    env.ok(&["up", "row", "--yes"]);
    let trace = env.trace();
    assert!(trace.contains(&"Install the small".to_owned()), "{trace:?}");
    assert!(env.ok(&["plan", "row"]).stdout.contains("nothing to do"));
}
