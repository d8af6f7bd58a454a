//! Completions and manual pages.

use rstest::rstest;

use crate::env::TestEnv;

#[rstest]
#[case::bash("bash", "complete -F _windlass")]
#[case::zsh("zsh", "#compdef windlass")]
#[case::fish("fish", "complete -c windlass")]
#[case::elvish("elvish", "edit:completion:arg-completer[windlass]")]
#[case::powershell("powershell", "Register-ArgumentCompleter")]
fn completions_know_the_commands(#[case] shell: &str, #[case] sign: &str) {
    let env = TestEnv::bare();
    let script = env.ok(&["completions", shell]).stdout;
    assert!(script.contains(sign), "{script}");
    assert!(script.contains("set-state") && script.contains("detailed-exitcode"), "{script}");
    assert!(!script.contains("supervise"), "what is hidden stays hidden");
}

/// The shell itself loads the generated script.
#[test]
fn bash_completes_commands() {
    let env = TestEnv::bare();
    env.write("windlass.bash", env.ok(&["completions", "bash"]).stdout);
    let mut shell = std::process::Command::new("bash");
    env.settle(&mut shell);
    shell.args(["--norc", "-c", "source windlass.bash; COMP_LINE='windlass sta' COMP_POINT=12 COMP_WORDS=(windlass sta) COMP_CWORD=1; _windlass windlass sta windlass; echo ${COMPREPLY[@]}"]);
    let run = env.start(shell).end();
    assert_eq!((run.code(), run.stdout.as_str()), (Some(0), "status\n"), "{run}");
}

/// Types lines into a shell, with a tab for each `→`. Returns the arguments that `windlass` receives.
fn typed(env: &TestEnv, shell: &str, lines: &[&str]) -> Vec<String> {
    let line = |line: &&str| format!("probe {}", line.replace('→', "\t"));
    let keys: Vec<String> = lines.iter().map(line).chain(["exit\n".to_owned()]).collect();
    env.write("keys", keys.join("\n"));
    let mut script = std::process::Command::new("script");
    env.settle(&mut script);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_windlass")).parent().unwrap().display();
    script.env("TERM", "dumb").env("ZDOTDIR", env.path("")).env("PS1", "");
    let shell = format!("PATH={program}:$PATH exec {shell}");
    let keys = std::fs::File::open(env.path("keys")).unwrap();
    script.args(["-qec", &shell, "/dev/null"]).stdin(keys);
    let run = env.start(script).end();
    let got = run.stdout.split("GOT<").skip(1).filter_map(|rest| rest.split_once('>'));
    let got: Vec<String> = got.map(|(words, _)| words.to_owned()).collect();
    assert_eq!(got.len(), lines.len(), "{run}");
    got
}

/// Returns a project in which `shop` is up with a cluster, and has three processes.
fn shop() -> TestEnv {
    let env = TestEnv::bare();
    env.write(
        "stall.yaml",
        "name: assembly::shop::1.0\nproperties: {region: {default: us}}\ncomposition:\n  web: {type: resource::web::1.0, cluster: {initial-quantity: 2}}\n",
    );
    env.write(
        "Contains/web/resource.yaml",
        "name: resource::web::1.0\nlifecycle: [Install, Start, Stop, Uninstall]\ndefault-driver: {noop: {}}\n",
    );
    env.ok(&["up", "stall.yaml"]);
    env.ok(&["scale", "out", "shop", "web"]);
    env.ok(&["heal", "shop", "web__1"]);
    env
}

/// Lines with tabs, and their expected completions.
const LINES: [(&str, &str); 11] = [
    ("down sh→", "down shop"),
    ("status shop w→", "status shop web"),
    ("scale out s→ w→", "scale out shop web"),
    ("scale sh→ w→ 3", "scale shop web 3"),
    ("heal shop web__3→", "heal shop web__3"),
    ("ps show p3→", "ps show p3"),
    ("rollback shop --to p1→", "rollback shop --to p1"),
    ("diff shop@p1→ shop@p2→", "diff shop@p1 shop@p2"),
    ("set-st→ sh→", "set-state shop"),
    ("plan stal→", "plan stall.yaml"),
    ("plan stall.yaml -p reg→eu", "plan stall.yaml -p region=eu"),
];

#[test]
fn bash_completes_names() {
    let env = shop();
    let script = env.ok(&["completions", "bash"]).stdout;
    env.write("rc", script + "\ncomplete -F _windlass -o nosort -o bashdefault -o default probe\nprobe() { echo \"GOT<$*>\"; }\n");
    let lines = LINES.map(|(line, _)| line);
    assert_eq!(typed(&env, "bash --noprofile --rcfile rc -i", &lines), LINES.map(|(_, whole)| whole));
}

/// Before a command, bash offers commands and no options.
#[test]
fn bash_offers_commands_before_options() {
    let env = TestEnv::bare();
    env.write("rc", env.ok(&["completions", "bash"]).stdout);
    let mut bash = std::process::Command::new("bash");
    env.settle(&mut bash);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_windlass")).parent().unwrap().display();
    let offers = |line: &str, word: &str| {
        format!(
            "COMP_LINE='{line}' COMP_POINT={} COMP_WORDS=(windlass '{word}') COMP_CWORD=1; _windlass windlass '{word}' windlass; echo \"GOT ${{COMPREPLY[*]}}\"",
            line.len()
        )
    };
    let script = format!(
        "PATH={program}:$PATH; source rc; {}; {}",
        offers("windlass ", ""),
        offers("windlass --st", "--st")
    );
    bash.args(["--noprofile", "--norc", "-c", &script]);
    let run = env.start(bash).end();
    let got: Vec<&str> = run.stdout.lines().filter_map(|line| line.strip_prefix("GOT ")).collect();
    assert!(got[0].starts_with("up apply adopt") && !got[0].contains("--"), "{run}");
    assert_eq!(got[1], "--state", "{run}");
}

#[test]
fn zsh_completes_names() {
    if std::process::Command::new("zsh").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no zsh here");
        return;
    }
    let env = shop();
    env.write("functions/_windlass", env.ok(&["completions", "zsh"]).stdout);
    env.write(".zshrc", "fpath=($PWD/functions $fpath)\nautoload -U compinit\ncompinit -u\ncompdef _windlass probe\nunsetopt zle_bracketed_paste\nprobe() { echo \"GOT<$*>\" }\n");
    let lines = LINES.map(|(line, _)| line);
    assert_eq!(typed(&env, "zsh -i", &lines), LINES.map(|(_, whole)| whole));
}

/// Completion must print nothing except names, and must not create a store.
#[test]
fn names_are_offered_in_silence() {
    let env = TestEnv::bare();
    let offers = |words: &[&str]| {
        let run = env.run(&[&["complete-names"], words].concat());
        assert_eq!(run.stderr, "", "{run}");
        (run.code().unwrap(), run.stdout)
    };
    assert_eq!(offers(&["down", ""]), (0, String::new()));
    assert_eq!(env.files(), Vec::<String>::new());
    env.write("windlass.yaml", "nonsense: [");
    assert_eq!(offers(&["down", ""]), (0, String::new()));
    assert_eq!(offers(&["--state", "postgres://me@localhost:1/none", "down", ""]), (0, String::new()));
    assert_eq!(offers(&["up", ""]), (1, String::new()));
    assert_eq!(offers(&["up", "--", ""]), (1, String::new()));
    assert_eq!(offers(&[]), (1, String::new()));

    let env = shop();
    let offers = |words: &[&str]| env.run(&[&["complete-names"], words].concat()).stdout;
    assert_eq!(offers(&["ps", ""]), "show\nshop\n");
    assert_eq!(offers(&["status", "shop", "web__"]), "web__1\nweb__2\nweb__3\n");
    assert_eq!(offers(&["diff", "shop@"]), "shop@p1\nshop@p2\nshop@p3\n");
    assert_eq!(offers(&["cancel", "shop", ""]), "", "all have ended");
    assert_eq!(offers(&["graph", "s"]), "shop\n");
    assert_eq!(offers(&["status", "shpo", ""]), "");
}

#[test]
fn an_unknown_shell_is_refused() {
    let env = TestEnv::bare();
    assert!(
        env.refuses(&["completions", "tcsh"])
            .contains("[possible values: bash, elvish, fish, powershell, zsh]")
    );
}

#[test]
fn each_command_has_a_manual_page() {
    let env = TestEnv::bare();
    env.ok(&["man", "pages/man1"]);
    let pages = env.files();
    for page in
        ["windlass", "windlass-up", "windlass-image-build", "windlass-spiff-merge", "windlass-ps-show"]
    {
        assert!(pages.contains(&format!("pages/man1/{page}.1")), "{pages:?}");
    }
    let up = env.read("pages/man1/windlass-up.1");
    assert!(up.contains(".TH windlass-up 1") && up.contains(".SH SYNOPSIS"), "{up}");
    assert!(up.contains("\\-\\-parallelism"), "{up}");
    // A second run replaces existing pages.
    env.ok(&["man", "pages/man1"]);
    assert_eq!(env.files(), pages);
}

#[test]
fn a_folder_that_can_not_be_made_is_told() {
    let env = TestEnv::bare();
    env.write("file", "");
    let run = env.run(&["man", "file/man1"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.stderr.starts_with("error[WL0802]: can't write manual pages to `file/man1`: "), "{run}");
}
