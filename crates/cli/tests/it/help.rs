//! Help texts of the command.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use insta::assert_snapshot;
use rstest::rstest;

use crate::env::TestEnv;

#[test]
fn the_main_help_lists_commands_and_exit_codes() {
    let env = TestEnv::bare();
    assert_snapshot!(env.ok(&["--help"]).out(), @"
    Manage the lifecycle of assemblies: create, update, repair, scale and remove them

    Usage: windlass [OPTIONS] <COMMAND>

    Commands:
      up           Create, update or repair an assembly
      apply        Execute a plan that `windlass plan -o` or a dry run saved
      adopt        Adopt an assembly whose components exist already
      down         Remove an assembly: stop and uninstall its components
      retry        Resume the last intent of an assembly after a failure or an interruption
      set-state    Move all components of an assembly to one state
      scale        Change the number of nodes of a cluster
      heal         Repair a component: stop it and start it again
      call         Call a command of a component
      rollback     Roll back an assembly to an earlier version
      cancel       Stop a running process, or withdraw a pending request
      export       Move an assembly out of this store into a file
      import       Import an assembly that `windlass export` wrote
      rename       Give an assembly another name, without running scripts
      forget       Remove the records of an assembly or of a component, without running scripts
      prune        Remove old processes and versions from the state
      ps           List processes, or show the steps of one process
      run          Run the daemon: execute queued requests, check health, apply policies
      metric       Send a metric to `windlass run`
      history      List the processes of an assembly, and the changes of each version
      diff         Show the differences between two versions of an assembly
      status       Show the components, states and outputs of assemblies
      output       Print the outputs of an assembly, or one of them
      log          Show the steps, jobs and activity log of an assembly
      plan         Show the plan of `up`: its steps, and why each step waits
      app          Publish applications and factories, which are described by manifests, and launch them
      env          Manage environments: the services, markers and properties for applications
      simulate     Simulate a day of applications: launches, health checks, discoveries and commands
      init         Create an example assembly of one component, which you can then change
      check        Check descriptors, packages and project files, and report all problems at once
      fmt          Format the layout of descriptors and other YAML files
      graph        Draw the topology, the plan or the property references of an assembly
      resolve      Print an assembly's descriptor with all known values filled in
      schema       Print the JSON Schema of a document, for editors and other tools
      script       Run, test and create scripts, without an assembly
      exec         Run one job by hand, as a driver would run a script
      job          Show recorded jobs of applications, and parse their output again
      doctor       List the available runtimes, their isolation, and missing requirements
      explain      Explain the code of an error, warning or note
      spiff        Process spiff templates, which are YAML documents with expressions
      cron         Explain Quartz cron expressions, and list their fire times
      update       Apply, combine and compare updates, as the scripts of components print them
      image        Build and manage images for sandboxes, without an engine or a registry
      completions  Print a script that completes commands and options in a shell
      man          Write the manual pages, one for each command
      help         Print this message or the help of the given subcommand(s)

    Options:
          --state <ADDRESS>  Keep the state in this PostgreSQL database, such as
                             postgres://USER@HOST/DATABASE, instead of .windlass
          --max-size <SIZE>  Read documents up to this size, such as 64MiB [default: 16MiB]
      -h, --help             Print help
      -V, --version          Print version

    Exit codes:
      0    done
      1    something failed; the results are recorded; repeat the command to resume the work
      2    wrong input, or a plan that needs --yes; nothing changed
      3    with --detailed-exitcode: something would change
      130  interrupted; repeat the command to resume the work

    Environment:
      WINDLASS_STATE        the address of the state, as for --state
      WINDLASS_KEY_FILE     the file with the key that seals secrets (default: .windlass/key)
      WINDLASS_PARAM_<NAME> the value of a property, if neither -p nor --params sets it; NAME is the
                            property's name in upper case, with _ for - and .
      XDG_CACHE_HOME        the folder that contains windlass/images (default: ~/.cache)
      NO_COLOR              print without colours
      SPIFF_FEATURES, SPIFF_ENCRYPTION_KEY
                            for `windlass spiff`, as in the original spiff

    Examples:
      windlass up fixtures/assemblies/h_bta
      windlass status
      windlass down h_bta
    ");
}

/// Returns the names of all commands in the main help, except `help`.
fn commands(env: &TestEnv) -> Vec<String> {
    let help = env.ok(&["--help"]).stdout;
    let (_, rest) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = rest.split_once("\n\n").unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn each_command_has_examples() {
    let env = TestEnv::bare();
    for command in commands(&env) {
        let help = env.ok(&[&command, "--help"]).stdout;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        assert!(examples.starts_with(&format!("  windlass {command}")), "{help}");
        // The short help has examples, too.
        assert!(env.ok(&[&command, "-h"]).stdout.contains("Examples:\n"));
    }
}

#[test]
fn wrong_arguments() {
    let env = TestEnv::bare();
    assert_snapshot!(env.refuses(&["upp"]), @"
    error[WL0800]: unrecognized subcommand 'upp'

      tip: some similar subcommands exist: 'app', 'up'

    Usage: windlass [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["up"]), @"
    error[WL0303]: there is no assembly descriptor in `.`
     |
     = help: an assembly has one of `assembly.yaml`, `assembly.yml`, `Descriptor/assembly.yml` and `Descriptor/assembly.yaml`

    1 error; nothing was changed
    ");
    assert_snapshot!(env.refuses(&["status", "--format", "xml"]), @"
    error[WL0800]: invalid value 'xml' for '--format <FORMAT>'
      [possible values: human, json]

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["up", "x", "--paralelism", "2"]), @"
    error[WL0800]: unexpected argument '--paralelism' found

      tip: a similar argument exists: '--parallelism'

    Usage: windlass up --parallelism <N> <FILE|DIR>

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["up", "x", "--parallelism", "0"]), @"
    error[WL0800]: invalid value '0' for '--parallelism <N>': expected a whole number from 1 to 65535

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["up", "x", "--name", "9lives"]), @"
    error[WL0800]: invalid value '9lives' for '--name <NAME>': the assembly name `9lives` must start with an ASCII letter, end with one or a digit, and have only those, `_` and `-`

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["up", "x", "--name", "a__b"]), @"
    error[WL0800]: invalid value 'a__b' for '--name <NAME>': the assembly name `a__b` has `__`, which separates the parts of an instance's name

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["down", ""]), @"
    error[WL0800]: invalid value '' for '<NAME>': the assembly name is empty

    For more information, try '--help'.
    ");
    assert_snapshot!(env.refuses(&["retry", "x", "--assume", "maybe"]), @"
    error[WL0800]: invalid value 'maybe' for '--assume <ANSWER>'
      [possible values: done, not-done, failed]

    For more information, try '--help'.
    ");
}

#[test]
fn a_code_is_explained() {
    let env = TestEnv::bare();
    assert_snapshot!(env.ok(&["explain", "wl0112"]), @"
    exit 0
    ----- stdout -----
    WL0112: unknown component

    The name is neither in `composition` nor in `references`.

    ```yaml
    name: assembly::shop::1.0
    properties:
      url: {value: '${wbe.url}', read-only: true}
    composition:
      web:
        type: resource::web::1.0
    ```
    ");
    assert_snapshot!(env.refuses(&["explain", "WL0113x"]), @"error[WL0804]: there is no code `WL0113x`; did you mean `WL0113`?");
    assert_snapshot!(env.refuses(&["explain", "nonsense"]), @"
    error[WL0804]: there is no code `nonsense`
    a code follows `error`, `warning` or `note` in brackets, such as `WL0112`
    ");
}

#[test]
fn its_version() {
    let env = TestEnv::bare();
    assert_eq!(env.ok(&["--version"]).stdout, format!("windlass {}\n", env!("CARGO_PKG_VERSION")));
}

/// A command whose reader closes the pipe ends without a panic.
#[rstest]
fn a_closed_pipe_is_no_panic(
    #[values("--help", "status", "plan h_bta", "up h_bta", "log h_bta")] command: &str,
) {
    let env = TestEnv::with("h_bta");
    env.ok(&["up", "h_bta", "--name", "other"]);
    if command.starts_with("log") {
        env.ok(&["up", "h_bta"]);
    }
    let mut shell = std::process::Command::new("sh");
    env.settle(&mut shell);
    // The reader exits before anything is written.
    let script = format!("{{ sleep 0.2; \"$0\" {command}; echo \"exit $?\" >&2; }} | true");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_windlass")]);
    let run = env.start(shell).end();
    assert!(run.stderr.ends_with("exit 0\n"), "{run}");
}

/// A command line contains an argument that is not UTF-8. windlass must report an error, as for any other wrong
/// argument. With `--help`, windlass must still print the help.
#[test]
fn an_argument_may_contain_any_byte() {
    let env = TestEnv::bare();
    let with = |before: &str, after: &[&str]| {
        let mut command = env.command(&[before]);
        command.arg(OsStr::from_bytes(b"x\xff.yaml")).args(after);
        command
    };
    let refused = env.refused(with("status", &[]));
    assert!(refused.starts_with("error[WL0800]: ") && refused.contains("UTF-8"), "{refused}");
    let refused = env.refused(with("fmt", &["--bogus"]));
    assert!(refused.contains("unexpected argument '--bogus'"), "{refused}");
    let help = env.start(with("up", &["--help"])).end();
    assert!(help.code() == Some(0) && help.stdout.contains("Usage: windlass up"), "{help}");
}

/// The command is executed even if its output can't be written.
#[test]
fn a_full_standard_output_is_an_error() {
    let env = TestEnv::with("h_bta");
    let mut shell = std::process::Command::new("sh");
    env.settle(&mut shell);
    shell.args(["-c", "\"$0\" up h_bta >/dev/full 2>err; echo $?; cat err", env!("CARGO_BIN_EXE_windlass")]);
    let run = env.start(shell).end();
    assert_snapshot!(run.out(), @"
    1
    error[WL0802]: can't write to standard output: No space left on device (os error 28)
    ");
    assert_eq!(env.json(&["status"])["assemblies"][0]["state"], "Active");
    assert_eq!(env.trace().len(), 10);
}

/// Colours appear only on a terminal; a pipe gets none, even without `NO_COLOR`.
#[test]
fn colours_are_for_terminals() {
    let env = TestEnv::with("h_bta");
    let plain = |command: &mut std::process::Command| {
        command.env_remove("NO_COLOR");
    };
    let mut piped = env.command(&["plan", "h_bta"]);
    plain(&mut piped);
    let run = env.start(piped).end();
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{run}");
    let mut forced = env.command(&["plan", "h_bta"]);
    plain(&mut forced);
    forced.env("CLICOLOR_FORCE", "1");
    assert!(env.start(forced).end().stdout.contains('\u{1b}'));
}
