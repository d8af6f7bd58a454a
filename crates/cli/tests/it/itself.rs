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

/// The shell itself reads what is made for it.
#[test]
fn bash_completes_commands() {
    let env = TestEnv::bare();
    env.write("windlass.bash", env.ok(&["completions", "bash"]).stdout);
    let mut shell = std::process::Command::new("bash");
    env.settle(&mut shell);
    shell.args(["--norc", "-c", "source windlass.bash; COMP_WORDS=(windlass sta); COMP_CWORD=1; _windlass windlass sta windlass; echo ${COMPREPLY[@]}"]);
    let run = env.start(shell).end();
    assert_eq!((run.code(), run.stdout.as_str()), (Some(0), "status\n"), "{run}");
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
    // Again over what is there.
    env.ok(&["man", "pages/man1"]);
    assert_eq!(env.files(), pages);
}

#[test]
fn a_folder_that_can_not_be_made_is_told() {
    let env = TestEnv::bare();
    env.write("file", "");
    let run = env.run(&["man", "file/man1"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.stderr.starts_with("error: can't write manual pages to `file/man1`: "), "{run}");
}
