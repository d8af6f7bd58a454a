//! Commands that change an assembly.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use windlass::model::id::IdError;
use windlass::model::{AssemblyName, ProcessId, RequestId, State, record};

use super::flags::{AssemblyArgs, DryRunArgs, ForceArgs, HowArgs, PartsArgs, PrintArgs, RunArgs};

/// Bring an assembly up, change it, or repair what of it is not up.
///
/// Reads and checks the descriptor, plans, prints what changes and the plan, runs the lifecycle scripts of all components
/// and the operations between them, and ends with the assembly's output properties. Parts that have changed are
/// reconfigured where only volatile properties did, else made anew; parts that are no longer described go.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass up fixtures/assemblies/h_bta
  windlass up shop.yaml --name shop-test -p region=eu-1 -p nodes=3
  windlass up shop.yaml --params production.yaml -p password=@/run/secrets/password
  windlass up shop.yaml --dry-run
  windlass up shop.yaml --replace web__2")]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,
    #[command(flatten)]
    pub(crate) parts: PartsArgs,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Carry out a plan that `windlass plan -o` or a dry run has saved, or refuse to.
///
/// It is refused when anything was done to the assembly since, and when the descriptor, the packages or what is referenced
/// have changed. Secrets are not in the plan: give it those again that it was made with.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass apply shop.plan
  windlass apply shop.plan --dry-run
  windlass apply shop.plan -p password=@/run/secrets/password")]
pub(crate) struct ApplyArgs {
    /// The saved plan
    pub(crate) plan: PathBuf,

    /// Give a secret a value; =@FILE reads it from a file, =- from standard input. Can be repeated
    #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Take secrets from a YAML file, which may have other values, too; one given by -p goes before. Can be repeated
    #[arg(long, value_name = "FILE", visible_alias = "param-file")]
    pub(crate) params: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Take an assembly down and forget it.
///
/// The mirror image of up: relationships are ceased, components stopped and uninstalled. It runs the scripts that were
/// pinned when the assembly came up.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass down h_bta
  windlass down storage --force
  windlass down h_bta --current-packages fixtures/assemblies/h_bta")]
pub(crate) struct DownArgs {
    /// The assembly
    pub(crate) name: AssemblyName,

    /// Run the scripts that lie around this descriptor now instead of those that were pinned
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) current_packages: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Go on with what was last asked of an assembly.
///
/// Uses the descriptor, parameters and scripts that were pinned then. When it is not known whether something happened
/// that must not happen twice, look, and say so with --assume.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass retry h_bta
  windlass retry h_bta --assume not-done
  windlass retry h_bta --assume failed --of B__1
  windlass retry shop --assume done --of db --natural i-0f3a
  windlass retry shop --assume done --of db --published address=10.0.0.5 --published password=@FILE")]
pub(crate) struct RetryArgs {
    /// The assembly
    pub(crate) name: AssemblyName,

    /// Say of everything that is undecided what became of it
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub(crate) assume: Option<Assumption>,

    /// Say it of this part only; what else is undecided is asked about again
    #[arg(long, value_name = "PART", requires = "assume")]
    pub(crate) of: Vec<String>,

    /// Say under which id the part was launched, where its script chose one and its answer is lost
    #[arg(long, value_name = "ID", requires = "assume")]
    pub(crate) natural: Option<String>,

    /// Say what the part publishes that was done; @FILE takes a value from a file, - from standard input
    #[arg(long, value_name = "KEY=VALUE", requires = "assume")]
    pub(crate) published: Vec<String>,

    /// Take what it publishes from a YAML file; what is given by --published comes first
    #[arg(long, value_name = "FILE", requires = "assume")]
    pub(crate) published_from: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Assumption {
    /// It was done; it is not done again
    Done,
    /// It was not done, and nothing of it is there; it is done again
    NotDone,
    /// It was begun and has failed; what may be there of it is cleared away first
    Failed,
}

impl From<Assumption> for record::Assumption {
    fn from(said: Assumption) -> Self {
        match said {
            Assumption::Done => Self::Done,
            Assumption::NotDone => Self::NotDone,
            Assumption::Failed => Self::Failed,
        }
    }
}

/// Take all parts of an assembly to a state, from above or below.
///
/// `up` takes it to Active again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass set-state h_bta Inactive
  windlass set-state h_bta Active")]
pub(crate) struct SetStateArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The state
    #[arg(value_name = "STATE", value_parser = states())]
    pub(crate) to: State,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Returns a parser for the states that a user can request.
fn states() -> impl TypedValueParser<Value = State> {
    let state = |name: &'static str, help: &'static str| PossibleValue::new(name).help(help);
    PossibleValuesParser::new([
        state("Installed", "There, and neither configured nor started"),
        state("Inactive", "Configured, and not started"),
        state("Active", "Started"),
    ])
    .try_map(|word| word.parse::<State>())
}

/// Add nodes to a cluster, or remove some, by its scaling-increment.
///
/// The nodes with the highest numbers go first. A cluster that was scaled keeps its size when the assembly is brought up
/// again, until its descriptor gives it another one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass scale out h_bta B
  windlass scale in h_bta B --dry-run
  windlass scale in h_bta B --dry-run -o smaller.plan")]
pub(crate) struct ScaleArgs {
    /// Which way
    #[arg(value_enum)]
    pub(crate) way: Way,
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The cluster
    pub(crate) component: String,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Which way a cluster is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// More nodes.
    Out,
    /// Fewer nodes.
    In,
}

/// Stop and start a part that does not do its work.
///
/// Relationships that need the part Active are ended before and made again after.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass heal h_bta B__1
  windlass heal h_bta i-0a1b2c")]
pub(crate) struct HealArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The part, as `B__1`; or its full name, which is its metric key; or its id, windlass's own or its driver's
    pub(crate) part: String,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Take over an assembly whose parts exist already.
///
/// Runs the transition Adopt of each resource instead of Create, Install, Configure and Start, or finds what exists by the
/// `queries` of a resource that has no Adopt. Relationships are taken to be there. Nothing is made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass adopt shop.yaml --name shop-old
  windlass adopt shop.yaml --dry-run")]
pub(crate) struct AdoptArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Make an assembly again what it was before.
///
/// It gets the descriptor, the parameters and the scripts that it had then; they are kept. `windlass history NAME` lists what
/// it was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass rollback h_bta
  windlass rollback h_bta --to p12")]
pub(crate) struct RollbackArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// Go back to what this process had made of it [default: to what it was before the last change]
    #[arg(long, value_name = "PROCESS")]
    pub(crate) to: Option<ProcessId>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Ask a process to stop, as Ctrl-C does where it runs.
///
/// What runs has the --grace of the command that runs it to end by itself. The same command again, or retry, goes on with
/// the process. A request to `windlass run` that nobody has begun is taken back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass cancel h_bta p12
  windlass cancel h_bta q13")]
pub(crate) struct CancelArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The process, as `p12`, or the request, as `q13`
    #[arg(value_name = "PROCESS|REQUEST")]
    pub(crate) what: AskedFor,

    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// The argument of `cancel` and `ps show`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedFor {
    /// A process.
    Process(ProcessId),
    /// A request to the daemon.
    Request(RequestId),
}

impl FromStr for AskedFor {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.starts_with('q') { text.parse().map(Self::Request) } else { text.parse().map(Self::Process) }
    }
}

/// Write an assembly to a file and let this store forget it, to import it into another.
///
/// The file is the assembly then: keep it until it is imported. Nothing is called and no part notices. Secrets in it are
/// sealed with this project's key, or with one that is made for it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass export h_bta
  windlass export h_bta -o h_bta.export --key h_bta.key")]
pub(crate) struct ExportArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// Write it to this file [default: NAME.export]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Seal its secrets with the key in this file, which is made where it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Take over an assembly that was exported from another store.
///
/// What it references must be here before it. Import a file once, and remove it then: two stores must not own one assembly,
/// and only within one store can windlass see that it would.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass import h_bta.export
  windlass import h_bta.export --key h_bta.key --state postgres://db.example.org/windlass")]
pub(crate) struct ImportArgs {
    /// The file that `windlass export` has written
    pub(crate) file: PathBuf,
    /// Open its secrets with the key in this file; else with this project's
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
