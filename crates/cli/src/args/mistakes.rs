//! Suggestions for mistakes on the command line.
//!
//! The argument parser itself suggests words with a similar spelling. This module adds suggestions for words in
//! another letter case, and for words that other tools use for the same thing.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, Error, Parser as _};

use crate::{codes, exit, failure};

use super::{Cli, Command};
use crate::command::spiff::SpiffCommand;

/// Names of commands in other tools. Each entry contains such names, and the command of windlass that a user of
/// these names probably means.
const COMMANDS: [(&[&str], &str); 22] = [
    (&["start", "create", "install", "deploy", "launch", "upgrade", "converge"], "up"),
    (&["delete", "destroy", "remove", "rm", "uninstall", "teardown"], "down"),
    (&["list", "ls", "get", "show", "describe", "inspect", "state", "info"], "status"),
    (&["outputs"], "output"),
    (&["logs", "events"], "log"),
    (&["validate", "lint", "test", "verify"], "check"),
    (&["render", "compose", "template"], "resolve"),
    (&["watch", "serve", "daemon", "agent"], "run"),
    (&["processes", "tasks", "jobs", "process"], "ps"),
    (&["abort", "interrupt", "kill"], "cancel"),
    (&["undo", "revert"], "rollback"),
    (&["repair", "restart", "recover"], "heal"),
    (&["resume", "continue"], "retry"),
    (&["draw", "dot", "topology"], "graph"),
    (&["preview", "dry-run", "refresh"], "plan"),
    (&["downgrade"], "rollback"),
    (&["format", "tidy"], "fmt"),
    (&["resize", "downscale", "upscale", "autoscale"], "scale"),
    (&["unmanage", "untrack"], "forget"),
    (&["mv", "move"], "rename"),
    (&["setstate", "activate", "deactivate"], "set-state"),
    (&["completion"], "completions"),
];

/// Wrong values of arguments. Each entry contains words that a user may write, and the value that windlass accepts
/// in place of these words.
const VALUES: [(&[&str], &str); 6] = [
    (&["up", "more", "grow"], "out"),
    (&["down", "less", "fewer", "shrink"], "in"),
    (&["yes", "true"], "done"),
    (&["no", "false", "undone"], "not-done"),
    (&["text", "plain", "table"], "human"),
    (&["components", "relationships", "deps"], "topology"),
];

/// Options of other tools. Each entry contains a command of windlass, the options, and a tip. The user gets the tip
/// after writing one of the options with this command. An empty command means every command. On the command line,
/// `=VALUE` may follow an option.
const OPTIONS: [(&str, &[&str], &str); 10] = [
    ("", &["-var", "--var", "--set"], "windlass up -p KEY=VALUE sets a property"),
    ("", &["-var-file", "--var-file", "--values"], "windlass up --params FILE reads properties from a file"),
    ("", &["-f", "--file", "--filename"], "the descriptor is an argument: windlass up FILE"),
    ("", &["-target"], "the option is --target PART"),
    ("", &["-out", "--out"], "the option is -o PLAN"),
    ("", &["-auto-approve", "--auto-approve", "-y"], "the option is --yes"),
    ("", &["--watch", "-w"], "windlass status --watch shows the status until Ctrl-C"),
    (
        "up",
        &["-d", "--detach"],
        "windlass up --queue FILE leaves the work to windlass run; otherwise up waits until the assembly is Active",
    ),
    ("ps", &["-a", "--all"], "windlass ps lists all processes, also those that ended"),
    ("scale", &["--replicas", "--count", "-n"], "the number is an argument: windlass scale NAME GROUP 6"),
];

/// Parses the arguments of the program. If the arguments contain a mistake, prints an error and returns the exit
/// code. If the arguments request the help or the version, prints the requested text and exits.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    if let Some(cli) = short(std::env::args_os()) {
        return Ok(cli);
    }
    Cli::try_parse().map_err(|mut error| {
        // An argument may contain bytes that are not UTF-8.
        let given: Vec<String> =
            std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        complete(&mut error, given.into_iter());
        if !error.use_stderr() {
            // The error is a request for help or for the version, so it is printed unchanged.
            error.exit();
        }
        let text = error.render();
        if failure::is_json() {
            let text = text.to_string();
            failure::report(text.trim().trim_start_matches("error: "), Some(codes::COMMAND_LINE));
        } else {
            // The message contains the parser's own colours, which `marked` keeps.
            let title = failure::title(Some(codes::COMMAND_LINE));
            let text = text.ansi().to_string().replacen("error:", &title, 1);
            let _ = write!(anstream::stderr(), "{text}");
        }
        exit::wrong_input()
    })
}

/// Parses the arguments of a command of `windlass spiff`. The function does not build the parsers of all other
/// commands, because this would take longer than processing a small template. Returns `None` for errors, help and
/// global options. The caller then uses the full parser.
fn short(mut arguments: impl Iterator<Item = OsString>) -> Option<Cli> {
    let _program = arguments.next()?;
    let _spiff = arguments.next().filter(|word| word == "spiff")?;
    let command = arguments.next()?;
    let command = match command.to_str()? {
        "merge" => SpiffCommand::Merge(only(arguments)?),
        "eval" => SpiffCommand::Eval(only(arguments)?),
        "parse" => SpiffCommand::Parse(only(arguments)?),
        "convert" => SpiffCommand::Convert(only(arguments)?),
        "diff" => SpiffCommand::Diff(only(arguments)?),
        _ => return None,
    };
    Some(Cli { command: Command::Spiff(command.into()), state: None, max_size: None })
}

/// Parses the arguments of a command without subcommands. Returns `None` if the arguments contain an error or request
/// help.
fn only<A: clap::Args>(arguments: impl Iterator<Item = OsString>) -> Option<A> {
    // The parser is never dropped, because dropping it would take as long as processing a small template.
    let parser = Box::leak(Box::new(A::augment_args(clap::Command::new("windlass").no_binary_name(true))));
    A::from_arg_matches(&parser.try_get_matches_from_mut(arguments).ok()?).ok()
}

/// Adds a suggestion to an error.
fn complete(error: &mut Error, given: impl Iterator<Item = String> + Clone) {
    let mut given = given.peekable();
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
            if given.peek().is_some_and(|first| first == "update") && word != "update" {
                // In other tools, `update` is the command that is called `up` in windlass.
                let tip = "to update an assembly, use windlass up FILE".into();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
            } else if let Some(tip) = pausing(word).or_else(|| of_state(word, given.clone())) {
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
                error.remove(ContextKind::SuggestedSubcommand);
            } else if word == "version" {
                error.insert(
                    ContextKind::Suggested,
                    ContextValue::StyledStrs(vec!["windlass --version prints the version".into()]),
                );
                error.remove(ContextKind::SuggestedSubcommand);
            } else if let Some(meant) = command(word, given) {
                let meant = ContextValue::Strings(vec![meant]);
                error.insert(ContextKind::SuggestedSubcommand, meant);
            } else if !word.starts_with(['d', 'D']) || word.len() > "down".len() + 1 {
                spare_down(error);
            }
        }
        ErrorKind::InvalidValue => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidValue) else { return };
            let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else { return };
            if let Some(line) = in_order(word, valid, given) {
                let tip = format!("the arguments have another order: {line}").into();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
            } else if let Some(meant) = value(word, valid) {
                error.insert(ContextKind::SuggestedValue, ContextValue::String(meant));
            }
        }
        ErrorKind::ValueValidation if given.peek().is_some_and(|first| first == "scale") => {
            if let Some(line) = scaling(given) {
                let tip = format!("the direction comes first: {line}").into();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
            }
        }
        ErrorKind::UnknownArgument => {
            let command = given.peek().cloned().unwrap_or_default();
            if let Some(tip) = OPTIONS.iter().find_map(|(of, words, tip)| {
                let is_meant = |word: &String| words.contains(&word.split('=').next().unwrap_or_default());
                let applies = of.is_empty() || *of == command;
                (applies && given.clone().any(|word| is_meant(&word))).then_some(*tip)
            }) {
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
                error.remove(ContextKind::SuggestedArg);
            }
        }
        ErrorKind::MissingRequiredArgument if given.peek().is_some_and(|first| first == "apply") => {
            let tip =
                "windlass up FILE creates or changes an assembly; windlass apply PLAN executes a saved plan";
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        ErrorKind::ArgumentConflict if given.next().as_deref() == Some("ps") => {
            let tip = "to show one process, use windlass ps show PROCESS".into();
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        }
        _ => {}
    }
}

/// Returns the tip for words such as `pause`. A user who writes such a word must not get the suggestion `down`,
/// because the command `down` removes the assembly.
fn pausing(word: &str) -> Option<&'static str> {
    ["stop", "pause", "suspend", "shutdown", "halt"].contains(&word).then_some(
        "windlass set-state NAME Inactive stops the parts of an assembly and keeps them; windlass cancel NAME PROCESS stops a process",
    )
}

/// Returns the tip for the command `state rm` of terraform, and `None` for all other commands. For other commands
/// of terraform that begin with `state`, [`COMMANDS`] suggests `status`.
fn of_state(word: &str, mut given: impl Iterator<Item = String>) -> Option<&'static str> {
    let removes = word == "state" && given.any(|word| word == "rm");
    removes.then_some("windlass forget NAME PART removes records and calls nothing")
}

/// Removes the command `down` from the suggestions of the parser. The caller has found that the user probably did
/// not mean `down`, which removes the assembly.
fn spare_down(error: &mut Error) {
    if let Some(ContextValue::Strings(names)) = error.remove(ContextKind::SuggestedSubcommand) {
        let names: Vec<String> = names.into_iter().filter(|name| name != "down").collect();
        if !names.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
        }
    }
}

/// Returns the command that an unknown word probably means. The name of this command differs from the word only in
/// letter case, or the word is the name of this command in another tool (see [`COMMANDS`]). For a word after
/// `help`, the result can also be a command with a similar name, because the parser suggests nothing for such a
/// word.
fn command(word: &str, mut given: impl Iterator<Item = String>) -> Option<String> {
    let first = given.next();
    let is_top = first.as_deref() == Some(word) || first.as_deref() == Some("help");
    let lower = word.to_lowercase();
    let all = Cli::command();
    let names = || all.get_subcommands().map(clap::Command::get_name);
    let same = || names().find(|name| *name == lower);
    let other = || COMMANDS.iter().find(|(words, _)| words.contains(&lower.as_str())).map(|(_, name)| *name);
    let near = || windlass::source::suggest(word, names()).filter(|_| first.as_deref() == Some("help"));
    if !is_top {
        return None;
    }
    same().or_else(other).or_else(near).map(str::to_owned)
}

/// Returns the corrected command line, if the user has swapped two words: the wrong value `word`, and one of the
/// values in `valid`. For example, `set-state inactive shop` becomes `windlass set-state shop Inactive`.
fn in_order(word: &str, valid: &[String], given: impl Iterator<Item = String>) -> Option<String> {
    let mut words: Vec<String> = given.collect();
    if words.iter().any(|word| word.contains('=')) {
        // The value may be a secret.
        return None;
    }
    let (at, value) = words.iter().enumerate().find_map(|(at, given)| {
        let same = valid.iter().find(|valid| valid.eq_ignore_ascii_case(given))?;
        // A word after an option is the value of that option.
        let is_free = at > 0 && !words[at - 1].starts_with('-') && given != word;
        is_free.then(|| (at, same.clone()))
    })?;
    let wrong = words.iter().position(|given| given == word)?;
    word.clone_into(&mut words[at]);
    words[wrong] = value;
    Some(format!("windlass {}", words.join(" ")))
}

/// Returns the corrected command line, such as `windlass scale out shop`, if one of the user's arguments means a
/// direction. `given` contains these arguments.
fn scaling(given: impl Iterator<Item = String>) -> Option<String> {
    let mut words: Vec<String> = given.skip(1).collect();
    let ways = ["out".to_owned(), "in".to_owned()];
    let (at, way) = words.iter().enumerate().find_map(|(at, word)| Some((at, value(word, &ways)?)))?;
    words.remove(at);
    Some(format!("windlass scale {way} {}", words.join(" ")))
}

/// Returns the value of `valid` that a word probably means. The word and the value differ only in letter case, or
/// are in the same entry of [`VALUES`].
fn value(word: &str, valid: &[String]) -> Option<String> {
    let same = valid.iter().find(|valid| valid.eq_ignore_ascii_case(word)).cloned();
    let lower = word.to_lowercase();
    let others =
        || VALUES.iter().filter(|(words, _)| words.contains(&lower.as_str())).map(|(_, value)| *value);
    same.or_else(|| others().find(|other| valid.iter().any(|valid| valid == other)).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error message for a command line. The reference to `--help` at the end of the message is left
    /// out.
    fn said(line: &str) -> String {
        let words = || line.split(' ').map(str::to_owned);
        let mut error = Cli::try_parse_from(["windlass".to_owned()].into_iter().chain(words())).unwrap_err();
        complete(&mut error, words());
        error.to_string().split("\n\nFor more").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn mistyped_words_get_a_suggestion() {
        for (line, meant) in [
            ("destroy shop", "'down'"),
            ("DOWN shop", "'down'"),
            ("list", "'status'"),
            ("statsu", "'status'"),
            ("help stauts", "'status'"),
            ("help logs", "'log'"),
            ("state list", "'status'"),
            ("inspect shop", "'status'"),
            ("downgrade shop", "'rollback'"),
            ("metric psuh a 1", "'push'"),
            ("set-state shop inactive", "'Inactive'"),
            ("set-state shop ACTIVE", "'Active'"),
            ("set-state shop Instaled", "'Installed'"),
            ("retry shop --assume DONE", "'done'"),
            ("retry shop --assume no", "'not-done'"),
            ("graph shop --format SVG", "'svg'"),
            ("graph shop --view relationships", "'topology'"),
            ("status --format JSON", "'json'"),
            ("check shop --format text", "'human'"),
            ("check shop --deny warning", "'warnings'"),
            ("exec --runtime Docker -- ls", "'docker'"),
        ] {
            let said = said(line);
            assert!(said.contains(&format!("exists: {meant}")), "{line}: {said}");
        }
    }

    #[test]
    fn stop_is_not_suggested_as_down() {
        let said = said("stop shop");
        assert!(said.contains("windlass set-state NAME Inactive") && !said.contains("'down'"), "{said}");
    }

    #[test]
    fn to_update_an_assembly_is_up() {
        let said = said("update shop");
        assert!(said.contains("tip: to update an assembly, use windlass up FILE"), "{said}");
        let said = self::said("update aply shop");
        assert!(said.contains("'apply'") && said.contains("windlass up FILE"), "{said}");
    }

    #[test]
    fn words_of_other_tools_get_the_right_option() {
        assert!(
            said("version").contains("tip: windlass --version prints the version"),
            "{}",
            said("version")
        );
        for (line, tip) in [
            ("up shop -var a=1", "windlass up -p KEY=VALUE"),
            ("up shop -var=a=1", "windlass up -p KEY=VALUE"),
            ("up shop -var-file=a.yaml", "windlass up --params FILE"),
            ("up -f shop.yaml", "windlass up FILE"),
            ("up shop --auto-approve", "--yes"),
            ("up shop --watch", "windlass status --watch"),
            ("up -d shop", "windlass up --queue FILE"),
            ("ps -a", "lists all processes"),
            ("scale shop web --replicas 6", "windlass scale NAME GROUP 6"),
            ("scale shop web --replicas=6", "windlass scale NAME GROUP 6"),
            ("apply", "windlass up FILE"),
            ("state rm web", "windlass forget NAME PART"),
            ("shutdown shop", "windlass set-state NAME Inactive"),
        ] {
            let said = said(line);
            assert!(said.contains("tip: ") && said.contains(tip), "{line}: {said}");
        }
    }

    #[test]
    fn only_words_that_mean_destroying_suggest_down() {
        for line in ["destroy shop", "rm shop", "dwn shop", "DOWN shop"] {
            assert!(said(line).contains("'down'"), "{}", said(line));
        }
        for line in ["stop shop", "shutdown shop", "downgrade shop", "download shop", "own shop", "town shop"]
        {
            assert!(!said(line).contains("'down'"), "{}", said(line));
        }
    }

    #[test]
    fn arguments_in_another_order_are_recognised() {
        for (line, right) in [
            ("set-state inactive shop", "windlass set-state shop Inactive"),
            ("set-state Active shop --dry-run", "windlass set-state shop Active --dry-run"),
        ] {
            let said = said(line);
            assert!(
                said.contains(&format!("tip: the arguments have another order: {right}")),
                "{line}: {said}"
            );
        }
    }

    #[test]
    fn the_direction_of_a_scaling_is_recognised() {
        for (line, right) in [
            ("scale OUT shop web", "windlass scale out shop web"),
            ("scale up shop web", "windlass scale out shop web"),
            ("scale down shop web --yes", "windlass scale in shop web --yes"),
            ("scale shop out web", "windlass scale out shop web"),
        ] {
            let said = said(line);
            assert!(said.contains(&format!("tip: the direction comes first: {right}")), "{line}: {said}");
        }
    }

    #[test]
    fn numbers_are_asked_for_in_plain_words() {
        for (line, wanted) in [
            ("up shop --grace soon", "a number of seconds, or a time such as 30s"),
            ("up shop --refresh-timeout 0s", "a time of more than zero"),
            ("up shop --parallelism 0", "a whole number from 1"),
            ("run --health -1", "a number of seconds, or a time such as 30s"),
            ("log shop --last many", "a whole number from 1"),
            ("scale shop web few", "a whole number from 0"),
        ] {
            let said = said(line);
            assert!(said.contains(wanted), "{line}: {said}");
        }
    }

    /// The examples of all commands, including nested commands, can be parsed.
    #[test]
    fn each_command_has_an_example_that_is_right() {
        let mut open = vec![(vec!["windlass".to_owned()], Cli::command())];
        while let Some((path, command)) = open.pop() {
            let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
            open.extend(
                inner.map(|inner| ([&path[..], &[inner.get_name().to_owned()]].concat(), inner.clone())),
            );
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{path:?}: {help}"));
            for line in examples.lines() {
                let words = words(line.trim());
                assert_eq!(words[0], "windlass", "{line}");
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    /// Splits a line as a shell does, as far as the examples need it.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" > ").next().unwrap_or_default().split(" < ").next().unwrap_or_default();
        let line = line.split("    #").next().unwrap_or_default();
        let mut words = Vec::new();
        for (at, part) in line.split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words
    }

    /// The names that other tools use for commands ([`COMMANDS`]) are not names of commands of windlass.
    #[test]
    fn other_words_are_no_commands() {
        let all = Cli::command();
        let names: Vec<_> = all.get_subcommands().map(clap::Command::get_name).collect();
        for (words, name) in COMMANDS {
            assert!(names.contains(&name), "{name}");
            assert!(words.iter().all(|word| !names.contains(word)), "{words:?}");
        }
    }
}
