//! The position of the incomplete word in a command line, and the kind of name that is possible there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory as _};
use windlass::model::AssemblyName;

use crate::args::Cli;

/// A position in a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The kind of name that is possible at the position.
    pub(super) wanted: Wanted,
    /// The value of `--state`, if the line has this option.
    pub(super) state: Option<String>,
    /// The incomplete word, as far as it is typed.
    pub(super) typed: String,
}

/// The kind of name that is possible at a position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The name of an assembly.
    Assembly,
    /// The name of an assembly. The shell also offers files.
    AssemblyOrFile,
    /// The name of an assembly, or one of the words in the list.
    AssemblyOr(Vec<String>),
    /// The name of a part inside the given assembly, such as `web__2`.
    Part(AssemblyName),
    /// The name of a cluster inside the given assembly, such as `web`.
    Cluster(AssemblyName),
    /// A process of the given assembly; `None` for any assembly.
    Process(Option<AssemblyName>),
    /// An unfinished process or request of the given assembly.
    Running(AssemblyName),
    /// A version of an assembly, as `NAME@PROCESS`.
    Version,
    /// The name of a parameter, followed by an equals sign, such as `nodes=`. The path is the assembly's descriptor, or
    /// the folder of the descriptor.
    Parameter(PathBuf),
    /// The short name of a published application.
    Application,
    /// The name of a launched application.
    Launched,
    /// The name of a launched factory.
    Factory,
    /// The name of a launched application or a launched factory.
    LaunchedOrFactory,
    /// The name of an environment.
    Environment,
}

impl Place {
    /// Finds the argument to which the last word of a command line belongs, and the kind of name that this argument
    /// expects. Returns `None` if the argument expects no name from the store.
    pub(super) fn of(words: &[String]) -> Option<Self> {
        let (typed, before) = words.split_last()?;
        let mut cli = Cli::command();
        cli.build();
        let mut line =
            Line { command: &cli, path: Vec::new(), given: BTreeMap::new(), position: 0, option: None };
        for word in before {
            line.read(word)?;
        }
        let wanted = line.wanted(typed)?;
        Some(Self { wanted, state: line.given.remove("state"), typed: typed.clone() })
    }
}

/// A command line that is read word by word. The fields contain the data from the words that were read so far.
struct Line<'c> {
    command: &'c Command,
    path: Vec<&'c str>,
    given: BTreeMap<&'c str, String>,
    /// Index of the next positional argument.
    position: usize,
    /// The option whose value comes next.
    option: Option<&'c Arg>,
}

impl<'c> Line<'c> {
    /// Reads the next word. Returns `None` if no name from the store can follow.
    fn read(&mut self, word: &str) -> Option<()> {
        if let Some(option) = self.option.take() {
            self.given.insert(option.get_id().as_str(), word.to_owned());
        } else if word == "--" {
            return None;
        } else if let Some(option) = word.strip_prefix("--") {
            let (name, value) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let names = |arg: &Arg| arg.get_long_and_visible_aliases().unwrap_or_default().contains(&name);
            self.take(self.command.get_arguments().find(|arg| names(arg)), value);
        } else if let Some(option) = word.strip_prefix('-').and_then(|rest| rest.chars().next()) {
            let value = word.get(2..).filter(|value| !value.is_empty());
            self.take(self.command.get_arguments().find(|arg| arg.get_short() == Some(option)), value);
        } else if let Some(command) = self.subcommand(word) {
            self.command = command;
            self.path.push(command.get_name());
            self.position = 0;
        } else {
            if let Some(arg) = self.positional() {
                self.given.insert(arg.get_id().as_str(), word.to_owned());
            }
            self.position += 1;
        }
        Some(())
    }

    fn take(&mut self, option: Option<&'c Arg>, value: Option<&str>) {
        let Some(option) = option.filter(|option| option.get_action().takes_values()) else { return };
        match value {
            Some(value) => drop(self.given.insert(option.get_id().as_str(), value.to_owned())),
            None => self.option = Some(option),
        }
    }

    fn subcommand(&self, word: &str) -> Option<&'c Command> {
        self.command.find_subcommand(word).filter(|_| self.position == 0)
    }

    fn positional(&self) -> Option<&'c Arg> {
        let last = self.command.get_positionals().last();
        let repeats = last.filter(|arg| arg.get_num_args().is_some_and(|of| of.max_values() > 1));
        self.command.get_positionals().nth(self.position).or(repeats)
    }

    fn wanted(&self, typed: &str) -> Option<Wanted> {
        if self.option.is_none() && typed.starts_with('-') {
            return None;
        }
        let arg = self.option.or_else(|| self.positional())?.get_id().as_str();
        let of = || self.given.get("name")?.parse::<AssemblyName>().ok();
        Some(match (self.path.as_slice(), arg) {
            (["graph"], "file") => Wanted::AssemblyOrFile,
            (["ps" | "scale"], "name") => {
                let words =
                    self.command.get_subcommands().map(Command::get_name).filter(|word| *word != "help");
                Wanted::AssemblyOr(words.map(str::to_owned).collect())
            }
            (["app", "show" | "unpublish" | "launch"], "title") => Wanted::Application,
            (["env", ..] | ["app", "launch"], "environment") => Wanted::Environment,
            (["env", ..], "name") | (["env", "bind"], "service") => Wanted::LaunchedOrFactory,
            (["app", "launch" | "publish"], "name") => return None,
            (["app", "check"], "names") | (["app", "command" | "commands"], "name") => Wanted::Launched,
            (["app", "destroy" | "forget"], "names") | (["app", "reconfigure"], "name") => {
                Wanted::LaunchedOrFactory
            }
            (["app", "discover"], "factory") => Wanted::Factory,
            (_, "name") => Wanted::Assembly,
            (["scale", ..], "component") => Wanted::Cluster(of()?),
            (["status" | "log"], "component")
            | (["heal" | "call" | "forget"], "part")
            | (["retry"], "of") => Wanted::Part(of()?),
            (["ps", "show"], "process") => Wanted::Process(None),
            (["rollback"], "to") => Wanted::Process(Some(of()?)),
            (["cancel"], "what") => Wanted::Running(of()?),
            (["diff"], "from" | "to") => Wanted::Version,
            (["up" | "adopt" | "plan" | "graph" | "resolve"], "parameters") if !typed.contains('=') => {
                Wanted::Parameter(self.given.get("file").map_or_else(|| ".".into(), PathBuf::from))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Option<Wanted> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Place::of(&words).map(|place| place.wanted)
    }

    #[test]
    fn each_place_has_its_names() {
        let shop = || "shop".parse::<AssemblyName>().expect("valid");
        for (line, found) in [
            ("app show ", Some(Wanted::Application)),
            ("app publish ", None),
            ("env service add ", Some(Wanted::Environment)),
            ("env service add default ", Some(Wanted::LaunchedOrFactory)),
            ("env bind default pets vm-factory ", Some(Wanted::LaunchedOrFactory)),
            ("app launch ", Some(Wanted::Application)),
            ("app launch VM --name ", None),
            ("app launch VM --env ", Some(Wanted::Environment)),
            ("app check ", Some(Wanted::Launched)),
            ("app check vm-1 ", Some(Wanted::Launched)),
            ("app destroy ", Some(Wanted::LaunchedOrFactory)),
            ("app command ", Some(Wanted::Launched)),
            ("app discover ", Some(Wanted::Factory)),
            ("down ", Some(Wanted::Assembly)),
            ("down sh", Some(Wanted::Assembly)),
            ("down --dry-run --grace 3 ", Some(Wanted::Assembly)),
            ("--state postgres://x down ", Some(Wanted::Assembly)),
            ("down --state postgres://x ", Some(Wanted::Assembly)),
            ("down -", None),
            ("down --grace ", None),
            ("down shop ", None),
            ("up ", None),
            ("up shop.yaml --name ", Some(Wanted::Assembly)),
            ("graph ", Some(Wanted::AssemblyOrFile)),
            ("set-state shop ", None),
            ("scale ", Some(Wanted::AssemblyOr(vec!["out".to_owned(), "in".to_owned()]))),
            ("scale shop ", Some(Wanted::Cluster(shop()))),
            ("scale out ", Some(Wanted::Assembly)),
            ("scale out shop ", Some(Wanted::Cluster(shop()))),
            ("status shop web__", Some(Wanted::Part(shop()))),
            ("status --format json shop ", Some(Wanted::Part(shop()))),
            ("log shop ", Some(Wanted::Part(shop()))),
            ("heal shop ", Some(Wanted::Part(shop()))),
            ("call shop ", Some(Wanted::Part(shop()))),
            ("forget shop ", Some(Wanted::Part(shop()))),
            ("retry shop --assume done --of ", Some(Wanted::Part(shop()))),
            ("ps ", Some(Wanted::AssemblyOr(vec!["show".to_owned()]))),
            ("ps show ", Some(Wanted::Process(None))),
            ("rollback shop --to ", Some(Wanted::Process(Some(shop())))),
            ("cancel shop ", Some(Wanted::Running(shop()))),
            ("diff ", Some(Wanted::Version)),
            ("diff shop@p1 ", Some(Wanted::Version)),
            ("up -p ", Some(Wanted::Parameter(".".into()))),
            ("up shop.yaml -p reg", Some(Wanted::Parameter("shop.yaml".into()))),
            ("plan shop.yaml --param ", Some(Wanted::Parameter("shop.yaml".into()))),
            ("up shop.yaml -p region=", None),
            ("apply shop.plan -p ", None),
            ("exec -- down ", None),
            ("nonsense ", None),
            ("", None),
        ] {
            assert_eq!(wanted(line), found, "{line:?}");
        }
    }

    #[test]
    fn the_state_is_that_of_the_line() {
        let words = ["--state=postgres://x", "down", "a"].map(str::to_owned);
        let place = Place::of(&words).expect("a place for a name");
        assert_eq!((place.state.as_deref(), place.typed.as_str()), (Some("postgres://x"), "a"));
    }
}
