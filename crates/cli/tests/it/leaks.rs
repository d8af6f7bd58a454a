//! Secrets of many forms, with every kind of input and of failure: no secret is visible afterwards.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::containers::{IMAGE, containers, docker, engine, made_store};
use crate::env::{TestEnv, until};
use crate::kill::life::given;
use crate::proc::plainly;
use crate::small::{RESOURCE, SCRIPTS};

/// The way by which a secret reaches the component.
#[derive(Debug, Clone, Copy)]
enum Way {
    File,
    Stdin,
    Parameters,
    Environment,
    LocationFile,
    LocationEnv,
    Published,
}

/// The outcome of the script that has the secret.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// Success: the script writes the secret to stderr, its log, its message and an output.
    None,
    /// The script exits with an error.
    Exit,
    /// The script prints text that is not YAML.
    Garbage,
    /// Protocol violation: the update is invalid, and its line contains the secret.
    Protocol,
    /// The natural id that the script chooses contains the secret.
    NaturalId,
    /// The name that the script chooses contains the secret.
    Name,
    /// The script writes so much output that windlass stores and shows only parts of the output. At each point where
    /// windlass cuts the output, a copy of the secret lies across the cut.
    Flood,
}

const WAYS: [Way; 7] = [
    Way::File,
    Way::Stdin,
    Way::Parameters,
    Way::Environment,
    Way::LocationFile,
    Way::LocationEnv,
    Way::Published,
];

const FAILURES: [Failure; 7] = [
    Failure::None,
    Failure::Exit,
    Failure::Garbage,
    Failure::Protocol,
    Failure::NaturalId,
    Failure::Name,
    Failure::Flood,
];

/// Returns a project with a component that receives `secret` in the way `way`. The install script prints the secret,
/// and has the outcome `failure`. The script reads the secret from a file, because a secret in the script would need
/// shell quoting.
fn vault(secret: &str, way: Way, failure: Failure) -> TestEnv {
    let env = TestEnv::small("effect: repeatable", &[("Install", ""), ("Uninstall", "")]);
    env.edit(
        "small/assembly.yaml",
        "composition:\n",
        "properties:\n  password:\n    type: password\n  token:\n    read-only: true\n    value: ${box.token}\ncomposition:\n",
    );
    env.edit(
        "small/assembly.yaml",
        "    quantity: 1\n",
        "    quantity: 1\n    properties:\n      password:\n        value: ${password}\n",
    );
    env.edit(
        RESOURCE,
        "lifecycle:\n",
        "properties:\n  password:\n    type: password\n  token:\n    type: password\n    read-only: true\n  url:\n    read-only: true\nlifecycle:\n",
    );
    let outside = env.home().join("secret");
    fs::write(&outside, secret).unwrap();
    let yaml = serde_json::to_string(secret).unwrap();
    fs::write(env.home().join("secret.json"), &yaml[1..yaml.len() - 1]).unwrap();
    match way {
        Way::LocationFile => env.location(&format!("access: {{file: {}}}", outside.display())),
        Way::LocationEnv => env.location("access: {env: VAULT_ACCESS}"),
        _ => {}
    }
    let script = format!("{SCRIPTS}/Install.sh");
    let text = env.read(&script);
    // This script reads its input itself, so only the part of the usual head before that line is used.
    let head = text.split_once("input=").map_or(text.as_str(), |(head, _)| head);
    let body = body(env.home().as_path(), way, failure);
    env.script(&script, format!("{head}{body}"));
    env
}

/// Returns the script body: `$s` is the raw secret, `$j` its form between double quotes.
fn body(home: &Path, way: Way, failure: Failure) -> String {
    let home = home.display();
    // The job reads its own processes and its ancestors, as any process of the same user can.
    let plain = plainly();
    let start = format!(
        r#"windlass=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$PPID/stat)
for pid in $windlass $PPID $$; do
    {plain} cat /proc/$pid/cmdline /proc/$pid/environ >>{home}/processes 2>>{home}/refused || :
done
input=$(cat)
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{{n;s/^ *\([a-z0-9]*\):.*/\1/p;}}')
s=$(cat {home}/secret; echo x); s=${{s%x}}
j=$(cat {home}/secret.json)
"#
    );
    let token = if matches!(way, Way::Published) { "\"token\": \"$j\", " } else { "" };
    let answer = |id: &str, more: &str| {
        format!(
            "cat <<ANSWER\ninstances:\n  \"{id}\":\n    instanceId: \"$id\"\n    interfaces: {{properties: {{signals: {{{token}\"url\": \"see $j there\"}}}}}}\n{more}ANSWER\n"
        )
    };
    let tell = match failure {
        Failure::Flood => "",
        _ => "printf 'it is %s, you know\\n' \"$s\" >&2\n",
    };
    let end = match failure {
        Failure::None => answer(
            "$id",
            "    status: {message: \"with $j in it\"}\n    \\$pushAll:\n      activityLog:\n        - {severity: INFO, message: \"set $j\"}\n",
        ),
        Failure::Exit => format!("{}exit 3\n", answer("$id", "")),
        Failure::Garbage => format!("{}printf 'no: yaml: \"%s\\n' \"$s\"\n", answer("$id", "")),
        Failure::Protocol => answer("$id", "    status: {flags: \"so $j is\"}\n"),
        Failure::NaturalId => answer("id of $j", ""),
        Failure::Name => answer("$id", "    name: \"called $j\"\n"),
        // Of the output, the first and the last 128 KiB are stored. 8 KiB are shown, and 4 KiB are the detail
        // of the failure.
        Failure::Flood => format!(
            r#"flood() {{ yes 0123456789abcdef | tr -d '\n' | head -c "$1"; printf '%s' "$s"; }}
n=$(wc -c <{home}/secret)
{{ flood 131060; flood 300000; flood $((131060 - 8180 - n)); flood $((8180 - n - 4084)); yes 0 | head -c 4084; }} >&2
{}exit 1
"#,
            answer("$id", "")
        ),
    };
    format!("{start}{tell}{end}")
}

/// Returns the forms in which a secret may appear: raw, JSON, base64, hexadecimal, URL-encoded, and by line.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let json = serde_json::to_string(secret).unwrap();
    let url: String = secret
        .bytes()
        .map(|byte| match byte {
            b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    let mut forms = vec![
        secret.to_owned(),
        json[1..json.len() - 1].to_owned(),
        STANDARD.encode(secret),
        hex::encode(secret),
        url,
    ];
    forms.extend(secret.lines().filter(|line| line.trim().len() >= 8).map(|line| line.trim().to_owned()));
    // Output may be cut in the middle of a secret, so half of a secret also counts as a leak.
    let half = secret.chars().count().div_ceil(2).max(8);
    forms.push(secret.chars().take(half).collect());
    forms.push(secret.chars().rev().take(half).collect::<Vec<_>>().into_iter().rev().collect());
    forms.into_iter().map(String::into_bytes).collect()
}

fn has(bytes: &[u8], forms: &[Vec<u8>]) -> bool {
    forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_slice()))
}

/// Creates the assembly, inspects all output about it, takes it down, and returns the places where the secret
/// was visible.
fn seen(secret: &str, way: Way, failure: Failure) -> Vec<String> {
    let env = vault(secret, way, failure);
    let forms = &forms(secret);
    let file = env.home().join("secret");
    let given = format!("password=@{}", file.display());
    if matches!(way, Way::Parameters) {
        let json = serde_json::json!({ "password": secret }).to_string();
        fs::write(env.home().join("params.yaml"), json).unwrap();
    }
    let params = env.home().join("params.yaml").display().to_string();
    let run = |args: &[&str]| {
        let mut command = env.command(args);
        match way {
            Way::File => drop(command.args(["-p", &given])),
            Way::Stdin => drop(command.args(["-p", "password=-"])),
            Way::Parameters => drop(command.args(["--params", &params])),
            Way::Environment => drop(command.env("WINDLASS_PARAM_PASSWORD", secret)),
            Way::LocationEnv => drop(command.env("VAULT_ACCESS", secret)),
            Way::LocationFile | Way::Published => {}
        }
        if matches!(way, Way::Stdin) {
            command.stdin(fs::File::open(&file).unwrap());
        }
        env.start(command).end()
    };
    let mut said = vec![("plan", run(&["plan", "small", "-o", "small.plan"])), ("up", run(&["up", "small"]))];
    said.push(("up --format json", run(&["up", "small", "--format", "json"])));
    let others: [&[&str]; 6] = [
        &["status", "--format", "json"],
        &["status", "small", "--all"],
        &["log", "small"],
        &["log", "small", "--format", "json"],
        &["history", "small", "--format", "json"],
        &["ps", "--format", "json"],
    ];
    said.extend(others.iter().map(|args| (args[0], env.run(args))));
    let found_in = |when: &str| -> Vec<String> {
        let files = env.files().into_iter().filter(|file| env.path(file).is_file());
        let leaks = files.filter(|file| has(&fs::read(env.path(file)).unwrap(), forms));
        leaks.map(|file| format!("{when}: {file}")).collect()
    };
    let mut found = found_in("after up");
    said.push(("export", env.run(&["export", "small"])));
    found.extend(found_in("after export"));
    let _moved_back = env.run(&["import", "small.export"]);
    let mut down = env.command(&["down", "small"]);
    down.env("VAULT_ACCESS", secret);
    said.push(("down", env.start(down).end()));
    found.extend(found_in("after down"));
    // Windlass and its supervisor are protected, and the job's own process is readable.
    let processes = fs::read(env.home().join("processes")).unwrap();
    let names = String::from_utf8_lossy(&processes);
    assert!(names.contains("windlass-supervisor") && names.contains("Install.sh"), "{names}");
    let refused = fs::read_to_string(env.home().join("refused")).unwrap();
    assert!(refused.matches("ermission denied").count() >= 2, "{refused}");
    if has(&processes, forms) {
        found.push("arguments or environment of a process".to_owned());
    }
    let told =
        said.iter().filter(|(_, run)| has(run.stdout.as_bytes(), forms) || has(run.stderr.as_bytes(), forms));
    found.extend(told.map(|(what, run)| format!("{what}: {run}")));
    found
}

/// Generates secrets of at least 8 bytes: arbitrary characters, digits, several lines, quotes. Secrets that
/// occur in files by chance, such as eight equal letters, are excluded.
fn secrets() -> impl Strategy<Value = String> {
    let forms = prop_oneof![
        4 => "[!-~]{8,24}",
        2 => "[0-9]{10,20}",
        2 => "[a-zA-Z0-9]{10,16}(\n[a-zA-Z0-9+/]{10,16}){1,3}",
        2 => "[a-z]{3,6}[\"'\\\\ ][a-z0-9]{5,9}[\"'{}$`:#][a-z]{2,5}",
        1 => "[äöüßéλж]{4,8}[0-9]{4,6}",
    ];
    let is_common = |secret: &String| {
        let mut letters: Vec<char> = secret.chars().collect();
        letters.sort_unstable();
        letters.dedup();
        let begin: String = secret.chars().take(6).collect();
        letters.len() >= 6 && !"0123456789abcdef".repeat(2).contains(&begin)
    };
    // A raw value in a file must not start with a comment or an alias.
    forms.prop_filter("of too few letters", is_common)
}

fn tried(cases: u32, seed: u64) {
    let config =
        Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let strategy = (secrets(), prop::sample::select(&WAYS[..]), prop::sample::select(&FAILURES[..]));
    TestRunner::new(config)
        .run(&strategy, |(secret, way, failure)| {
            let found = seen(&secret, way, failure);
            prop_assert!(found.is_empty(), "{way:?} {failure:?} {secret:?}: {}", found.join("\n"));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Tests random secrets. `WINDLASS_TEST_CASES` sets their number, and `WINDLASS_TEST_SEED` the seed.
#[test]
fn no_secret_is_visible_in_any_form_way_or_failure() {
    let cases = given("WINDLASS_TEST_CASES").and_then(|cases| cases.try_into().ok());
    tried(cases.unwrap_or(16), given("WINDLASS_TEST_SEED").unwrap_or(1));
}

/// Tests each input and each failure with one secret.
#[test]
fn no_way_in_and_no_failure_shows_a_secret() {
    let ways = WAYS.into_iter().map(|way| (way, Failure::Exit));
    for (way, failure) in ways.chain(FAILURES.into_iter().map(|failure| (Way::File, failure))) {
        let found = seen("hunter2-Tr0ub4dor&3", way, failure);
        assert!(found.is_empty(), "{way:?} {failure:?}: {}", found.join("\n"));
    }
}

/// No container contains a secret in its configuration, because any user of the container engine can inspect
/// it.
#[test]
fn no_container_shows_a_secret() {
    if !engine("no_container_shows_a_secret") {
        return;
    }
    let secret = "hunter2-Tr0ub4dor&3";
    let env = vault(secret, Way::File, Failure::None);
    env.runtime(&["runtime: docker", &format!("image: {IMAGE}")]);
    let script = r#"#!/bin/sh
input=$(cat)
id=$(printf '%s\n' "$input" | sed -n '/^launch:$/{n;s/^ *\([a-z0-9]*\):.*/\1/p;}')
printf '%s\n' "$input" | grep -c 'hunter2-Tr0ub4dor&3' >/tmp/told
printf '%s\n' "$input" >&2
until [ -e /tmp/go ]; do sleep 0.05; done
printf 'instances:\n  "%s":\n    instanceId: "%s"\n    interfaces: {properties: {signals: {token: x, url: y}}}\n' "$id" "$id"
"#;
    env.script(&format!("{SCRIPTS}/Install.sh"), script);
    env.script(&format!("{SCRIPTS}/Uninstall.sh"), "#!/bin/sh\ncat >/dev/null\n");
    let given = format!("password=@{}", env.home().join("secret").display());
    let up = env.spawn(&["up", "small", "-p", &given]);
    let mut told = None;
    until("the script has got it", || {
        let started = made_store(&env).map(|_| containers(&env)).unwrap_or_default();
        told = started.into_iter().find(|name| {
            docker(&["exec", name, "cat", "/tmp/told"]).is_some_and(|count| count.trim() == "1")
        });
        told.is_some()
    });
    let name = told.unwrap();
    let inside = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; true";
    let shown = [
        docker(&["inspect", &name]),
        docker(&["ps", "--all", "--no-trunc", "--filter", &format!("name={name}")]),
        docker(&["top", &name]),
        docker(&["exec", &name, "sh", "-c", inside]),
    ];
    assert!(shown[0].as_deref().is_some_and(|text| text.contains("io.windlass.owner")), "{shown:?}");
    assert!(shown[3].as_deref().is_some_and(|text| text.contains("Install.sh")), "{shown:?}");
    for text in shown {
        let text = text.unwrap();
        assert!(!has(text.as_bytes(), &forms(secret)), "{text}");
    }
    docker(&["exec", &name, "touch", "/tmp/go"]).unwrap();
    let up = up.end();
    assert!(up.code() == Some(0) && !has(up.stderr.as_bytes(), &forms(secret)), "{up}");
    // The engine's log was removed with the container.
    assert_eq!(containers(&env), [""; 0]);
    env.ok(&["down", "small"]);
}
