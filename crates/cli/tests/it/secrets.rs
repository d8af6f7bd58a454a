//! Protection of secrets: a secret reaches only the script that needs it.

use std::fs;

use insta::assert_snapshot;
use rstest::rstest;

use crate::{
    env::{TestEnv, until},
    proc::plainly,
    small::{RESOURCE, SCRIPTS},
};

const SECRET: &str = "hunter2-Tr0ub4dor&3";

/// Returns an assembly whose script prints its password to stderr, to the activity log, and as an output.
fn vault() -> TestEnv {
    let shout = r#"
password=$(printf '%s\n' "$input" | sed -n 's/^ *properties.password: "\(.*\)"$/\1/p')
printf '%s' "$password" | sha256sum | cut -c 1-64 >"$WINDLASS_VOLUME_STATE/seen"
echo "the password is $password" >&2
cat <<ANSWER
instances:
  "$id":
    instanceId: "$id"
    interfaces:
      properties:
        signals:
          url: "https://admin:$password@vault.example"
    \$pushAll:
      activityLog:
        - severity: INFO
          message: "set $password"
ANSWER
until [ -e "$WINDLASS_VOLUME_STATE/go" ]; do sleep 0.01; done
"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", shout), ("Uninstall", "")]);
    env.edit(
        "small/assembly.yaml",
        "composition:\n  box:\n    type: resource::box::1.0\n    quantity: 1\n",
        "properties:\n  password:\n    type: password\n    required: true\n  url:\n    read-only: true\n    value: ${box.url}\n\
         composition:\n  box:\n    type: resource::box::1.0\n    quantity: 1\n    properties:\n      password:\n        value: ${password}\n",
    );
    env.edit(
        RESOURCE,
        "lifecycle:\n",
        "properties:\n  password:\n    type: password\n  url:\n    read-only: true\nlifecycle:\n",
    );
    env.write("password", format!("{SECRET}\n"));
    env.write("params.yaml", format!("password: \"{SECRET}\"\n"));
    env
}

/// A call gets only the current value of a secret, so windlass does not mask a replaced value.
#[test]
fn a_replaced_value_is_no_longer_masked() {
    let env = crate::keyless::with_a_secret();
    let print = format!("echo 'the password is {SECRET}' >&2; answer");
    env.edit(&format!("{SCRIPTS}/Install.sh"), "answer", &print);
    env.ok(&["up", "small", "-p", &format!("password={SECRET}")]);
    let log = || env.ok(&["log", "small"]).stdout;
    assert!(log().contains("the password is ***") && !log().contains(SECRET), "{}", log());
    env.ok(&["up", "small", "-p", "password=another value", "--yes"]);
    assert!(log().contains(SECRET), "{}", log());
}

/// Returns the files below `.windlass` that contain the secret.
fn leaks(env: &TestEnv) -> Vec<String> {
    let has = |file: &String| {
        let bytes = fs::read(env.path(file)).unwrap();
        bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
    };
    let files =
        env.files().into_iter().filter(|file| file.starts_with(".windlass/") && env.path(file).is_file());
    files.filter(has).collect()
}

#[test]
fn a_secret_is_nowhere_but_where_it_is_needed() {
    let env = vault();
    let up = env.spawn(&["up", "small", "-p", "password=@password"]);
    until("the script has got it", || env.path(".windlass/volumes/state/seen").exists());
    for process in env.processes() {
        assert!(!process.shows(SECRET), "{process:?}");
    }
    env.write(".windlass/volumes/state/go", "");
    let up = up.end();
    assert_snapshot!(up, @"
    exit 0
    ----- stdout -----
      + box added (resource::box::1.0)
    1 to add
    small: 1 step, up to 1 at once (p1 up)
       s1 box Install

    info      box: set ***
    ok        box Install LONG

    done: small is Active (LONG)
      url: ***
    ");
    // A program that reads the value gets an error, and not the mask.
    assert_snapshot!(env.run(&["output", "small", "url", "--raw"]), @"
    exit 2
    ----- stderr -----
    error[WL0813]: `url` of `small` is a secret, and windlass prints no secrets
    ");
    assert_eq!(env.json(&["output", "small"])["secrets"], serde_json::json!(["url"]));
    let said = [
        up,
        env.ok(&["status"]),
        env.ok(&["status", "--format", "json"]),
        env.ok(&["log", "small"]),
        env.ok(&["log", "small", "--format", "json"]),
        env.ok(&["plan", "small", "-p", "password=@password"]),
    ];
    for run in &said {
        assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "{run}");
    }
    assert_snapshot!(said[1], @"
    exit 0
    ----- stdout -----
    small Active assembly::small::1.0, AGE
    └─ box Active AGE
         url: ***
      url: ***
    ");
    assert_snapshot!(said[3], @"
    exit 0
    ----- stdout -----
    p1 up completed in LONG WHEN
      succeeded box Install LONG
        scripts/Install.sh exited with code 0 LONG WHEN on admin@local (process)
          | the password is ***
      WHEN INFO box set ***
    ");
    assert_eq!(leaks(&env), [""; 0]);

    // The script received the correct secret.
    let digest = env.read(".windlass/volumes/state/seen");
    let mut sum = std::process::Command::new("sh");
    env.settle(&mut sum);
    sum.args(["-c", "printf %s \"$(cat password)\" | sha256sum | cut -c 1-64"]);
    assert_eq!(env.start(sum).end().stdout, digest);

    env.ok(&["down", "small"]);
    assert_eq!(leaks(&env), [""; 0]);
    let store = rusqlite::Connection::open(env.path(".windlass/state.db")).unwrap();
    let left: i64 = store.query_row("SELECT count(*) FROM secret", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "down wipes them");
}

#[test]
fn a_secret_on_the_command_line_is_warned_of() {
    let env = vault();
    env.write(".windlass/volumes/state/go", "");
    assert_snapshot!(env.ok(&["plan", "small", "-p", &format!("password={SECRET}")]).stderr, @"
    warning[WL0153]: `password` is a secret, and its value was passed on the command line
     |
     = help: use `-p password=@FILE`, `-p password=-` or `--params FILE`
    ");
    let quiet = |run: crate::run::Run| {
        assert_eq!((run.code(), run.stderr.as_str()), (Some(0), ""), "{run}");
    };
    quiet(env.run(&["plan", "small", "-p", "password=@password"]));
    quiet(env.run(&["plan", "small", "--params", "params.yaml"]));
    quiet(env.run(&["plan", "small", "--param-file", "params.yaml"]));
    quiet(env.run_with(&["plan", "small", "-p", "password=-"], &format!("{SECRET}\n")));
}

/// A command holds the lease of an assembly. Other commands must not show the parameters of this command, because the
/// parameters may be secrets.
#[test]
fn a_lease_does_not_tell_parameters() {
    let env = vault();
    let up = env.spawn(&["up", "-p", &format!("password={SECRET}"), "small"]);
    until("the script has got it", || env.path(".windlass/volumes/state/seen").exists());
    let run = env.run(&["up", "small", "-p", "password=@password"]);
    assert!(!run.stderr.contains(SECRET), "{run}");
    assert_eq!(run.code(), Some(1), "{run}");
    env.write(".windlass/volumes/state/go", "");
    assert_eq!(up.end().code(), Some(0));
    assert_eq!(leaks(&env), [""; 0]);
}

/// A failed script shows its stderr, masked.
#[test]
fn a_failure_shows_no_secret() {
    let env = vault();
    env.write(".windlass/volumes/state/go", "");
    let script = format!("{SCRIPTS}/Install.sh");
    env.write(&script, env.read(&script) + "exit 3\n");
    let run = env.run(&["up", "small", "-p", "password=@password"]);
    assert_snapshot!(run, @"
    exit 1
    ----- stdout -----
      + box added (resource::box::1.0)
    1 to add
    small: 1 step, up to 1 at once (p1 up)
       s1 box Install

    failed    box Install: `Install.sh` exited with code 3
              | the password is ***

    not done: up of small failed: 1 step failed
      `windlass log small` lists the steps that ran; the same command resumes the process
    ");
    assert_eq!(leaks(&env), [""; 0]);
}

/// A value computed from a secret is secret for every reader.
#[test]
fn a_published_secret_stays_one() {
    let env = vault();
    env.write(".windlass/volumes/state/go", "");
    let reader = "small/Contains/reader";
    env.write(
        &format!("{reader}/Definitions/lm/resource.yaml"),
        "name: resource::reader::1.0\nproperties:\n  from: {}\nlifecycle:\n  Install: {}\ndefault-driver:\n  script: {}\n",
    );
    let shout = "#!/bin/sh\ninput=$(cat)\necho \"$input\" >&2\necho \"$input\" >\"$WINDLASS_VOLUME_STATE/read\"\nexit 1\n";
    env.script(&format!("{reader}/Lifecycle/script/scripts/Install.sh"), shout);
    env.write(
        "small/assembly.yaml",
        env.read("small/assembly.yaml")
            + "  reader:\n    type: resource::reader::1.0\n    properties:\n      from:\n        value: ${box.url}\n",
    );
    let run = env.run(&["up", "small", "-p", "password=@password"]);
    assert_eq!(run.code(), Some(1), "{run}");
    let read = env.read(".windlass/volumes/state/read");
    assert!(read.contains(&format!("https://admin:{SECRET}@vault.example")), "{read}");
    let log = env.ok(&["log", "small"]);
    for said in [run, log] {
        assert!(!said.stdout.contains(SECRET) && said.stdout.contains("properties.from: \"***\""), "{said}");
    }
    assert_eq!(leaks(&env), [".windlass/volumes/state/read"]);
}

#[test]
fn a_queued_secret_lies_sealed_and_is_wiped() {
    let env = vault();
    let password = format!("password={SECRET}");
    env.ok(&["up", "small", "-p", &password, "--queue"]);
    assert_eq!(leaks(&env), [] as [&str; 0]);
    env.write(".windlass/volumes/state/go", "");
    let keeper = env.spawn(&["run", "--health", "0"]);
    until("it is up", || keeper.stdout().contains("p2 completed"));
    assert!(env.path(".windlass/volumes/state/seen").exists());
    keeper.signal(rustix::process::Signal::INT);
    let keeper = keeper.end();
    assert!(!keeper.stdout.contains(SECRET) && !keeper.stderr.contains(SECRET), "{keeper}");
    assert_eq!(leaks(&env), [] as [&str; 0]);
}

/// An assembly has a secret. The output of commands and the files that commands write must not contain the secret.
#[test]
fn no_command_and_no_file_tells_a_secret() {
    let env = vault();
    env.write(".windlass/volumes/state/go", "");
    // The health check also prints the secret, and fails.
    env.edit(RESOURCE, "lifecycle:\n", "lifecycle:\n  Integrity: {}\n");
    let script = env.read(&format!("{SCRIPTS}/Install.sh"));
    let head = script.split_once("password=").unwrap().0;
    env.script(
        &format!("{SCRIPTS}/Integrity.sh"),
        format!("{head}cat \"$WINDLASS_VOLUME_STATE/../../../password\" >&2; [ -e \"$WINDLASS_VOLUME_STATE/well\" ]\n"),
    );
    env.write(".windlass/volumes/state/well", "");
    env.ok(&["up", "small", "-p", "password=@password"]);
    env.write("password", "s3cond-hunter2-Tr0ub4dor&3");
    env.ok(&["up", "small", "-p", "password=@password", "--yes", "--format", "json"]);
    std::fs::remove_file(env.path(".windlass/volumes/state/well")).unwrap();
    let of_file: [&[&str]; 8] = [
        &["plan", "small", "-o", "saved.plan"],
        &["plan", "small"],
        &["plan", "small", "--replace", "box", "--why", "s1"],
        &["up", "small", "--dry-run"],
        &["resolve", "small"],
        &["graph", "small/assembly.yaml", "--view", "topology"],
        &["graph", "small/assembly.yaml", "--view", "plan"],
        &["graph", "small/assembly.yaml", "--view", "properties"],
    ];
    let of_name: [&[&str]; 15] = [
        &["status"],
        &["ps"],
        &["ps", "show", "p1"],
        &["ps", "show", "p2"],
        &["log", "small"],
        &["history", "small"],
        &["diff", "small@p1", "small@p2"],
        &["rollback", "small", "--dry-run", "-o", "back.plan"],
        &["heal", "small", "box", "--dry-run"],
        &["set-state", "small", "Inactive", "--dry-run"],
        &["retry", "small", "--dry-run"],
        &["down", "small", "--dry-run", "-o", "down.plan"],
        &["graph", "small", "--view", "topology"],
        &["graph", "small", "--view", "plan"],
        &["graph", "small", "--view", "properties"],
    ];
    let quiet = |args: &[&str]| {
        let formats: &[&str] = match args[0] {
            "graph" => &["dot", "mermaid", "json", "svg", "html"],
            _ => &["human", "json"],
        };
        for format in formats {
            let run = env.ok(&[args, &["--format", format]].concat());
            for text in [&run.stdout, &run.stderr] {
                assert!(!text.contains("hunter2"), "{}: {run}", args.join(" "));
            }
        }
    };
    quiet(&["check", "small"]);
    for args in of_file {
        quiet(&[args, &["-p", "password=@password"][..]].concat());
    }
    // Commands that take a name need no descriptor.
    std::fs::rename(env.path("small"), env.path("elsewhere")).unwrap();
    of_name.into_iter().for_each(quiet);
    env.ok(&["export", "small"]);
    env.ok(&["import", "small.export"]);
    assert_eq!(env.run(&["set-state", "small", "Inactive"]).code(), Some(0));
    let failed = env.run(&["set-state", "small", "Active"]);
    assert_eq!(failed.code(), Some(1), "{failed}");
    assert!(failed.stdout.contains("***") && !failed.stdout.contains("hunter2"), "{failed}");
    for file in ["saved.plan", "back.plan", "down.plan", "small.export"] {
        assert!(!env.read(file).contains("hunter2"), "{file}");
    }
    assert_eq!(leaks(&env), [""; 0]);
}

/// A password that a script generates is masked in all output of the script, including earlier output. It is
/// also masked if the script fails or its answer is invalid.
#[rstest]
#[case::well("", "")]
#[case::failing("", "exit 3")]
#[case::breaking_the_protocol("    extra: $password\n    activityLog: $password", "")]
#[case::not_yaml("} $password", "")]
fn a_secret_that_a_script_makes_is_masked_at_once(#[case] more: &str, #[case] end: &str) {
    // The store contains the script itself, so the script has the password in two halves.
    let (first, second) = SECRET.split_at(9);
    let script = format!(
        r#"
password='{first}''{second}'
echo "made $password" >&2
cat <<ANSWER
instances:
  "$id":
    instanceId: "$id"
    interfaces: {{properties: {{signals: {{password: "$password", url: "https://admin:$password@vault.example"}}}}}}
    status: {{flags: {{active: true}}, message: "the password is $password"}}
{more}
ANSWER
{end}"#
    );
    let env = TestEnv::small("effect: repeatable", &[("Install", &script), ("Uninstall", "")]);
    let outputs = "properties:\n  password:\n    type: password\n    read-only: true\n  url:\n    read-only: true\nlifecycle:\n";
    env.edit(RESOURCE, "lifecycle:\n", outputs);
    let up = env.run(&["up", "small"]);
    let is_well = more.is_empty() && end.is_empty();
    assert_eq!(up.code(), Some(i32::from(!is_well)), "{up}");
    let log = env.ok(&["log", "small"]);
    assert!(log.stdout.contains("| made ***"), "{log}");
    for run in [up, log, env.ok(&["status"]), env.ok(&["log", "small", "--format", "json"])] {
        assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "{run}");
    }
    assert_eq!(leaks(&env), [""; 0]);
    if is_well {
        assert_snapshot!(env.ok(&["status"]), @"
        exit 0
        ----- stdout -----
        small Active assembly::small::1.0, AGE
        └─ box Active active, AGE, the password is ***
             password: ***
             url: ***
        ");
    }
}

/// A parameter file has a mistake in a line with a secret. The error message must not show the secret.
#[test]
fn a_mistake_in_a_file_of_parameters_shows_no_line_of_it() {
    let env = vault();
    let forms = [
        "pasword: SECRET",
        "password: \"SECRET",
        "password: 'SECRET",
        "password:\n\tSECRET",
        "password: a: SECRET",
        "password: SECRET: x",
        "password: @SECRET",
        "password: `SECRET",
        "password: %SECRET",
        "password: *SECRET",
        "password: &SECRET",
        "password: !SECRET",
        "password: |SECRET",
        "password: [SECRET",
        "password: {a: SECRET",
        "password: 'x' SECRET",
        "password: \"\\SECRET\"",
        "password SECRET",
        "- SECRET",
        "SECRET",
        "password=SECRET",
        "? SECRET\n: x",
        "password: x\npassword: SECRET",
        "password: x\n  SECRET: y\n z",
        "password:SECRET",
        "password: SECRET\n---\npassword: x",
        "SECRET: x",
        "password: SECRET\u{200b}\nother: x",
    ];
    for form in forms {
        env.write("wrong.yaml", form.replace("SECRET", SECRET) + "\n");
        for command in ["plan", "up"] {
            let run = env.run(&[command, "small", "--params", "wrong.yaml"]);
            assert_eq!(run.code(), Some(2), "{form}: {run}");
            for part in [SECRET, &SECRET[..9], &SECRET[10..]] {
                assert!(!run.stderr.contains(part), "{form}: {run}");
            }
            // An anchor or a tag without a value is not an error.
            let is_empty = form.contains(['&', '!']);
            assert!(run.stderr.contains("wrong.yaml") || is_empty, "{form}: {run}");
        }
    }
    env.write("wrong.yaml", [b"password: ".as_slice(), SECRET.as_bytes(), b"\xff\n"].concat());
    let run = env.run(&["plan", "small", "--params", "wrong.yaml"]);
    assert!(run.code() == Some(2) && !run.stderr.contains(SECRET), "{run}");
    assert_eq!(leaks(&env), [""; 0]);
}

#[test]
fn a_misspelt_parameter_is_named_with_its_place() {
    let env = vault();
    env.write("wrong.yaml", format!("# mine\npasword: {SECRET}\n"));
    assert_snapshot!(env.refuses(&["plan", "small", "--params", "wrong.yaml"]), @"
    error[WL0151]: `password` is required and has no value
     --> small/assembly.yaml:3:3
      |
    3 |   password:
      |   ^^^^^^^^
      |
      = help: give it with `-p password=@FILE`, `-p password=-` or `--params FILE`

    error[WL0150]: the assembly has no property `pasword`
    --> wrong.yaml:2:1
     = help: did you mean `password`?

    2 errors; nothing was changed
    ");
    env.write("wrong.yaml", format!("password: \"{SECRET}\n"));
    let said = env.refuses(&["plan", "small", "--params", "wrong.yaml"]);
    assert!(said.contains("--> wrong.yaml:1:") && said.contains("are not shown"), "{said}");
}

/// A descriptor contains a secret by mistake. A message about the line with the secret must not show the secret.
#[test]
fn the_line_of_a_sensitive_property_is_masked() {
    let env = vault();
    let text = env.read("small/assembly.yaml");
    for (line, mistake) in [
        ("    default: SECRET\n    requierd: true\n", ""),
        ("    defualt: SECRET\n", ""),
        ("    default: @SECRET\n", ""),
        ("    default: \"SECRET\n", ""),
        ("    default: SECRET: x\n", ""),
        ("    default: SECRET\n", "relationships: {a: {source: b}}\n"),
    ] {
        let wrong = text.replace("    required: true\n", &line.replace("SECRET", SECRET)) + mistake;
        env.write("small/assembly.yaml", wrong);
        let run = env.run(&["check", "small"]);
        assert!(!run.stderr.contains(SECRET) && !run.stdout.contains(SECRET), "{line}: {run}");
        assert!(run.stderr.contains("small/assembly.yaml:"), "{line}: {run}");
        for form in ["json", "sarif", "github"] {
            let run = env.run(&["check", "small", "--format", form]);
            assert!(!run.stderr.contains(SECRET) && !run.stdout.contains(SECRET), "{line}: {run}");
            assert!(run.stdout.contains("assembly.yaml"), "{line}: {run}");
        }
    }
}

/// The diff of a fix shows no secret in the lines around the fix.
#[test]
fn repairs_show_no_secret() {
    let env = vault();
    let text = env.read("small/assembly.yaml");
    let wrong = text.replace("    required: true\n", &format!("    defualt: {SECRET}\n    requierd: true\n"));
    env.write("small/assembly.yaml", &wrong);
    let run = env.run(&["check", "small", "--fix", "--dry-run"]);
    assert!(!run.stderr.contains(SECRET) && !run.stdout.contains(SECRET), "{run}");
    assert!(run.stdout.contains("+    required: true\n") && run.stdout.contains("    default: ***"), "{run}");
    let run = env.run(&["check", "small", "--fix", "--format", "json"]);
    assert!(!run.stderr.contains(SECRET) && !run.stdout.contains(SECRET), "{run}");
    assert!(env.read("small/assembly.yaml").contains(&format!("    default: {SECRET}\n")));
}

/// A job may run as the same user as `windlass` and its supervisor. The job must not be able to read the environment or
/// the memory of these two processes. The supervisor's command line must contain two fixed words, and nothing about the
/// job.
#[test]
fn no_job_reads_what_windlass_was_told() {
    let env = TestEnv::new();
    let plain = plainly();
    let job = format!(
        r#"windlass=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$PPID/stat)
tr '\0' ' ' </proc/$windlass/cmdline
for pid in $windlass $PPID; do
  {plain} sh -c 'cat /proc/$0/environ; test -r /proc/$0/mem || echo closed' $pid 2>&1
done
echo "argv: $(tr '\0' ' ' </proc/$PPID/cmdline)"
"#
    );
    let input = env.path("job.sh");
    fs::write(&input, job).unwrap();
    let mut command = env.command(&["exec", "--", "sh"]);
    command.env("WINDLASS_PARAM_PASSWORD", SECRET).stdin(fs::File::open(input).unwrap());
    let run = env.start(command).end();
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(run.stdout.contains("exec -- sh"), "{run}");
    assert!(!run.stdout.contains(SECRET), "{run}");
    assert_eq!(run.stdout.matches("ermission denied").count(), 2, "{run}");
    assert!(run.stdout.ends_with("argv: windlass-supervisor windlass-supervise \n"), "{run}");
}

#[test]
fn an_empty_standard_input_is_no_secret() {
    let env = vault();
    let empty = env.run_with(&["plan", "small", "-p", "password=-"], "");
    assert_eq!(empty.code(), Some(2), "{empty}");
    assert!(empty.stderr.contains("standard input is empty"), "{empty}");
    // An empty line is a value, which is not valid for a required property.
    let empty = env.run_with(&["plan", "small", "-p", "password=-"], "\n");
    assert_eq!(empty.code(), Some(2), "{empty}");
    assert!(
        empty.stderr.contains("`password` is a required secret, and the value that is given is empty"),
        "{empty}"
    );
    // A mapping is no valid value for a secret.
    env.write("wrong.yaml", "password: {a: hunter2}\n");
    let said = env.refuses(&["plan", "small", "--params", "wrong.yaml"]);
    assert!(
        said.contains("of type `password`, and a mapping is given") && !said.contains("hunter2"),
        "{said}"
    );
}

/// A secret of a location, from a file or a variable, is masked like all other secrets.
#[test]
fn a_secret_of_a_location_is_masked() {
    let shout = r#"answer
printf '%s\n' "$input" >&2
printf '    interfaces: {properties: {signals: {url: "https://%s@vault"}}}\n' \
    "$(printf '%s\n' "$input" | sed -n 's/^ *location.access: "\(.*\)"$/\1/p')"
"#;
    let env = TestEnv::small("effect: repeatable", &[("Install", shout), ("Uninstall", "")]);
    env.edit(RESOURCE, "lifecycle:\n", "properties: {url: {read-only: true}}\nlifecycle:\n");
    for source in ["{file: access}", "{env: ACCESS}", "{file: none}"] {
        env.location(&format!("access: {source}\nregion: eu-central-1"));
        env.write("access", format!("{SECRET}\n"));
        let mut up = env.command(&["up", "small"]);
        up.env("ACCESS", SECRET);
        let up = env.start(up).end();
        if source == "{file: none}" {
            assert_eq!(up.code(), Some(2), "{up}");
            assert!(
                up.stderr.contains("the property `access` of the location `admin@local` is to be read from"),
                "{up}"
            );
            continue;
        }
        assert_eq!(up.code(), Some(0), "{up}");
        let log = env.ok(&["log", "small"]);
        assert!(
            log.stdout.contains("location.access: \"***\"") && log.stdout.contains("eu-central-1"),
            "{log}"
        );
        let status = env.ok(&["status"]);
        assert!(status.stdout.contains("url: ***"), "{status}");
        std::fs::remove_file(env.path("access")).unwrap();
        assert_eq!(leaks(&env), [""; 0]);
        let mut down = env.command(&["down", "small"]);
        down.env("ACCESS", SECRET);
        env.write("access", format!("{SECRET}\n"));
        assert_eq!(env.start(down).end().code(), Some(0));
    }
}

/// A call fails if its natural id contains a secret, because the id is visible wherever the instance is
/// named.
#[test]
fn an_id_that_holds_a_secret_fails_the_call_and_is_kept_for_the_end() {
    let env = vault();
    env.write(".windlass/volumes/state/go", "");
    let script = format!("{SCRIPTS}/Install.sh");
    env.edit(&script, "instances:\n  \"$id\":", "instances:\n  \"i-$password\":");
    env.script(&format!("{SCRIPTS}/Uninstall.sh"), "#!/bin/sh\ncat >\"$WINDLASS_VOLUME_STATE/gone\"\n");
    let up = env.run(&["up", "small", "-p", "password=@password"]);
    assert_eq!(up.code(), Some(1), "{up}");
    assert!(
        up.stdout.contains("the id of the instance holds the value of `password`, which is secret"),
        "{up}"
    );
    assert_eq!(leaks(&env), [""; 0]);
    let said = env.ok(&["status", "--format", "json"]).stdout + &env.ok(&["log", "small"]).stdout;
    assert!(!said.contains(SECRET), "{said}");
    env.ok(&["down", "small"]);
    let gone = env.read(".windlass/volumes/state/gone");
    assert!(gone.contains(&format!("i-{SECRET}")), "{gone}");
    std::fs::remove_file(env.path(".windlass/volumes/state/gone")).unwrap();
    assert_eq!(leaks(&env), [""; 0]);
}
