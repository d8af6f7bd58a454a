//! Commands that change an assembly.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use windlass::model::id::IdError;
use windlass::model::{AssemblyName, CommandName, ProcessId, RequestId, State, record};

use super::flags::{
    AssemblyArgs, ConsentArgs, DryRunArgs, ForceArgs, HowArgs, PartsArgs, PrintArgs, RefreshArgs, RunArgs,
};
use super::numbers::duration;
use super::numbers::whole;

/// The commands that start a process of an existing assembly, such as `down` and `scale`.
#[derive(Debug, Subcommand)]
pub(crate) enum ChangeCommand {
    Down(DownArgs),
    Retry(RetryArgs),
    SetState(SetStateArgs),
    Scale(ScaleArgs),
    Heal(HealArgs),
    Call(CallArgs),
    Rollback(RollbackArgs),
}

/// Create, update or repair an assembly.
///
/// Checks the health of the existing components, compares the descriptor with the records, prints the changes and the plan,
/// and runs the missing steps. Components that no longer exist are created again, and broken components are restarted. A
/// changed component is reconfigured if only volatile properties have changed; otherwise it is re-created. Components that
/// the descriptor no longer contains are removed. On a terminal, `up` asks before it removes or replaces components that are
/// well; elsewhere it needs --yes. The last lines are the assembly's output properties.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass up fixtures/assemblies/h_bta
  windlass up shop.yaml --name shop-test -p region=eu-1 -p nodes=3
  windlass up shop.yaml --params production.yaml -p password=@/run/secrets/password
  windlass up shop.yaml --dry-run
  windlass up shop.yaml --replace web__2 --yes")]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,
    #[command(flatten)]
    pub(crate) parts: PartsArgs,
    /// Protect all components from removal and replacement, until an `up` without this option
    #[arg(long)]
    pub(crate) protect: bool,
    /// Run the current scripts to stop and remove components [default: the scripts that created the components]
    #[arg(long)]
    pub(crate) current_packages: bool,
    #[command(flatten)]
    pub(crate) refresh: RefreshArgs,
    /// Proceed even if the assembly was renamed or exported, or if other assemblies reference components that are
    /// removed or replaced
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Execute a plan that `windlass plan -o` or a dry run saved.
///
/// windlass refuses an outdated plan. A plan is outdated if a process of the assembly has begun after the plan was saved.
/// A plan is also outdated if `windlass.yaml`, the descriptor, a package, a reference or the health of a component has
/// changed. A plan contains no secrets, so pass them again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass apply shop.plan
  windlass apply shop.plan --dry-run
  windlass apply shop.plan -p password=@/run/secrets/password")]
pub(crate) struct ApplyArgs {
    /// The saved plan
    pub(crate) plan: PathBuf,

    /// Pass the value of a secret; =@FILE reads it from a file, =- from standard input. Can be repeated
    #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Read secrets from a YAML file, and ignore its other values; -p takes precedence. Can be repeated
    #[arg(long, value_name = "FILE", visible_alias = "param-file")]
    pub(crate) params: Vec<PathBuf>,

    /// Wait this long for the health checks, unless the plan was made without them
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) refresh_timeout: Duration,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Remove an assembly: stop and uninstall its components.
///
/// First the relationships between the components are removed, then the components. `down` runs the scripts that `up`
/// has stored, even if the files have changed since. The log and the history of the assembly are kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass down h_bta
  windlass down storage --force
  windlass down h_bta --except A
  windlass down h_bta --current-packages fixtures/assemblies/h_bta")]
pub(crate) struct DownArgs {
    /// The assembly
    pub(crate) name: AssemblyName,

    /// Run the current scripts of this descriptor's packages [default: the scripts that `up` has stored]
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) current_packages: Option<PathBuf>,

    /// Remove only this component, such as `B` or `B__1`. Can be repeated
    #[arg(long, value_name = "PART")]
    pub(crate) target: Vec<String>,

    /// Leave this component, such as `B` or `B__1`, as it is. Can be repeated
    #[arg(long, value_name = "PART")]
    pub(crate) except: Vec<String>,

    /// Has no effect, because `down` does not ask
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Resume the last intent of an assembly after a failure or an interruption.
///
/// Uses the descriptor, parameters and scripts that were pinned with the intent. If the outcome of a call is unknown and the
/// call must not run twice, check the component yourself and state the outcome with --assume.
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

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,

    /// Give the value of an output of the component; =@FILE reads the value from a file, =- from standard input
    #[arg(long, value_name = "KEY=VALUE", requires = "assume")]
    pub(crate) published: Vec<String>,

    /// Read outputs of the component from a YAML file; --published takes precedence
    #[arg(long, value_name = "FILE", requires = "assume")]
    pub(crate) published_from: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) consent: ConsentArgs,

    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// The statement of a user about calls whose outcome windlass can't find out.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// State the outcome of all undecided calls, which are the calls whose outcome windlass can't find out
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub(crate) assume: Option<Assumption>,

    /// Limit --assume to the calls of this component, or to the call with this id. All other calls stay undecided
    #[arg(long, value_name = "PART|CALL", requires = "assume")]
    pub(crate) of: Vec<String>,

    /// Give the id of the instance that a launch script has created, if windlass lost the output of the script
    #[arg(long, value_name = "ID", requires = "assume")]
    pub(crate) natural: Option<String>,
}

/// The outcome of a call, as the user states it. windlass can't find out this outcome itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Assumption {
    /// The call succeeded; it does not run again
    Done,
    /// The call had no effect; it runs again
    NotDone,
    /// The call failed, perhaps with partial effects; windlass removes these before it tries again
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

/// Move all components of an assembly to one state.
///
/// From low to high, the states are Installed, Inactive and Active. A component whose state is lower than STATE is
/// installed, configured and started, as far as STATE requires. `set-state NAME Inactive` stops the Active components.
/// `set-state NAME Installed` uninstalls the Inactive and Active components, and installs them again; outside of a
/// terminal, this needs --yes. `up` makes all components Active again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass set-state h_bta Inactive
  windlass set-state h_bta Installed --yes
  windlass set-state h_bta Active")]
pub(crate) struct SetStateArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The state
    #[arg(value_name = "STATE", value_parser = states())]
    pub(crate) to: State,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Returns a parser for the states that a user can request.
fn states() -> impl TypedValueParser<Value = State> {
    let state = |name: &'static str, help: &'static str| PossibleValue::new(name).help(help);
    PossibleValuesParser::new([
        state("Installed", "Installed, but neither configured nor started"),
        state("Inactive", "Configured, but not started"),
        state("Active", "Started"),
    ])
    .try_map(|word| word.parse::<State>())
}

/// Change the number of nodes of a cluster.
///
/// The nodes with the highest numbers are removed first. Before `scale` removes nodes, it asks for confirmation.
/// Without a terminal, it needs --yes instead. `up` keeps the size of a scaled cluster until the descriptor declares
/// another size.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  windlass scale h_bta B 4
  windlass scale h_bta B=4
  windlass scale out h_bta B
  windlass scale in h_bta B --yes"
)]
pub(crate) struct ScaleArgs {
    #[command(subcommand)]
    pub(crate) step: Option<ScaleCommand>,

    /// The assembly
    #[arg(required = true)]
    pub(crate) name: Option<AssemblyName>,
    /// The cluster; its new number of nodes can follow, as in `web=3`
    #[arg(required = true, value_name = "CLUSTER[=NODES]")]
    pub(crate) component: Option<String>,
    /// The new number of nodes
    #[arg(value_parser = whole)]
    pub(crate) nodes: Option<u32>,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Tells whether nodes are added to a cluster or removed from it. The `scaling-increment` of the cluster is the number
/// of these nodes.
#[derive(Debug, Subcommand)]
pub(crate) enum ScaleCommand {
    /// Add as many nodes as the cluster's `scaling-increment` declares
    #[command(after_help = "\
Examples:
  windlass scale out h_bta B
  windlass scale out h_bta B --dry-run")]
    Out(ScaleStepArgs),
    /// Remove as many nodes as the cluster's `scaling-increment` declares
    #[command(after_help = "\
Examples:
  windlass scale in h_bta B --dry-run
  windlass scale in h_bta B --yes
  windlass scale in h_bta B --dry-run -o smaller.plan")]
    In(ScaleStepArgs),
}

/// The arguments of `scale out` and `scale in`.
#[derive(Debug, Args)]
pub(crate) struct ScaleStepArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The cluster
    pub(crate) component: String,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Repair a component: stop it and start it again.
///
/// Before the repair, the relationships that need the component Active are removed. After the repair, they are created
/// again. For a cluster, or with --all, `heal` checks the health of the components, and repairs only those that are not
/// up. The desired state of the assembly stays the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass heal h_bta B__1
  windlass heal h_bta i-0a1b2c
  windlass heal h_bta B
  windlass heal h_bta --all")]
pub(crate) struct HealArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// A component or a cluster, such as `B__1`, `h_bta__B__1` or `B`. An instance id also selects a component
    #[arg(required_unless_present = "all")]
    pub(crate) part: Option<String>,
    /// Repair all components that are not up
    #[arg(long, conflicts_with = "part")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) refresh: RefreshArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Call a command of a component.
///
/// A resource declares its commands in the section `commands` of its descriptor. A command changes neither the state of the
/// component, nor its relationships, nor other components.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass call shop db backup
  windlass call shop db backup -a target=s3://nightly -a key=@key.txt
  windlass call shop db restore --arguments restore.yaml --dry-run")]
// A call can't be saved as a plan, because its arguments may be secrets.
#[command(mut_arg("output", |output| output.hide(true)))]
pub(crate) struct CallArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The component, such as `B__1` or `h_bta__B__1`. An instance id also selects a component
    pub(crate) part: String,
    /// The command
    pub(crate) command: CommandName,
    /// Set an argument; =@FILE reads a secret value from a file, =- from standard input
    #[arg(short = 'a', long = "argument", value_name = "KEY=VALUE")]
    pub(crate) given: Vec<String>,
    /// Read arguments from a YAML file, as secrets; --argument takes precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) arguments: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Adopt an assembly whose components exist already.
///
/// Runs the transition Adopt of each resource instead of Create, Install, Configure and Start. If a resource has no Adopt,
/// its `queries` find the instance. The relationships count as existing, so none is created.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass adopt shop.yaml --name shop-old
  windlass adopt shop.yaml --dry-run")]
pub(crate) struct AdoptArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,
    /// Proceed even if the assembly was renamed or exported, or if other assemblies reference components that are
    /// removed or replaced
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Roll back an assembly to an earlier version.
///
/// The assembly gets the descriptor, parameters and scripts of that version. On a terminal, `rollback` asks before it
/// removes or replaces installed components; elsewhere it needs --yes. `windlass history NAME` lists the versions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass rollback h_bta
  windlass rollback h_bta --to p12 --yes")]
pub(crate) struct RollbackArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// Roll back to the version that the assembly had after this process [default: the version before the last change]
    #[arg(long, value_name = "PROCESS")]
    pub(crate) to: Option<ProcessId>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// Stop a running process, or withdraw a pending request.
///
/// Running jobs have time to end: the command that runs the process sets this time with --grace. To resume the process,
/// repeat that command, or use `windlass retry`. A request is pending until `windlass run` starts the process of the
/// request.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass cancel h_bta
  windlass cancel h_bta p12
  windlass cancel h_bta q13")]
pub(crate) struct CancelArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The process, such as `p12`, or the request, such as `q13` [default: the running process]
    #[arg(value_name = "PROCESS|REQUEST")]
    pub(crate) what: Option<AskedFor>,

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

/// Move an assembly out of this store into a file.
///
/// The assembly then exists only in the file: keep the file until it is imported. No script runs, and the components keep
/// running. The secrets in the file are encrypted with this project's key, or with the key of --key.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass export h_bta
  windlass export h_bta -o h_bta.export --key h_bta.key")]
pub(crate) struct ExportArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// Write to this file [default: NAME.export]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Encrypt the secrets with the key in this file, which is created if missing
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Import an assembly that `windlass export` wrote.
///
/// First import the assemblies that this assembly references. Import a file only once, and then remove it: two stores must
/// not own the same assembly. windlass refuses to import a file again into the same store, but can't see other stores.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass import h_bta.export
  windlass import h_bta.export --key h_bta.key --state postgres://db.example.org/windlass")]
pub(crate) struct ImportArgs {
    /// The file that `windlass export` wrote
    pub(crate) file: PathBuf,
    /// Decrypt the secrets with the key in this file [default: this project's key]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Give an assembly another name, without running scripts.
///
/// The records and the history then use the new name. So do all assemblies, applications and environments that refer to
/// the assembly. The components keep their ids. `${instance.name}` keeps its values until the next `up`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass rename h_bta shop
  windlass up fixtures/assemblies/h_bta --name shop")]
pub(crate) struct RenameArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The new name, which no assembly has or had
    pub(crate) new: AssemblyName,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove the records of an assembly or of a component, without running scripts.
///
/// The components themselves stay as they are, and windlass no longer manages them. Use `forget` for components that were
/// removed by hand, or whose location no longer exists. `up` creates a forgotten component again. `forget` asks for
/// confirmation. Without a terminal, it needs --yes instead.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass forget h_bta --dry-run
  windlass forget h_bta B__1 --yes
  windlass forget h_bta --yes --force")]
pub(crate) struct ForgetArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// Forget only this component, such as `B` or `B__1`
    pub(crate) part: Option<String>,
    /// Remove the records without asking for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Proceed even if other assemblies reference the assembly, or if its last process was interrupted
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
