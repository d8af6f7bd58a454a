//! The arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use windlass::model::{AssemblyName, ProcessId, State};

use crate::command::spiff::SpiffArgs;

/// The hidden command with which the program starts itself as the supervisor of jobs.
pub(crate) const SUPERVISE: &str = "supervise";

/// Bring assemblies up and down whose parts are driven by anything.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Keep the state in this PostgreSQL database instead of .windlass
    #[arg(long, value_name = "ADDRESS", global = true)]
    pub(crate) state: Option<String>,
}

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    something failed; what was done is recorded, and the same command again goes on from there
  2    wrong input; nothing was changed
  3    something would change, where --detailed-exitcode asks for that
  130  interrupted; the same command again goes on from there

Environment:
  XDG_CACHE_HOME     the folder with the folder windlass/images (default: ~/.cache)
  WINDLASS_KEY_FILE  the file with the key that secrets are sealed with (default: .windlass/key)
  WINDLASS_STATE     where the state is kept, as --state says
  NO_COLOR           print without colours
  SPIFF_FEATURES, SPIFF_ENCRYPTION_KEY  for `windlass spiff`, as the original has them

Examples:
  windlass up fixtures/assemblies/h_bta
  windlass status
  windlass down h_bta";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(UpArgs),
    Down(DownArgs),
    SetState(SetStateArgs),
    Scale(ScaleArgs),
    Heal(HealArgs),
    Adopt(AdoptArgs),
    Rollback(RollbackArgs),
    Cancel(CancelArgs),
    Ps(PsArgs),
    Run(WatchArgs),
    Metric(MetricArgs),
    History(HistoryArgs),
    Diff(DiffArgs),
    Status(StatusArgs),
    Log(LogArgs),
    Plan(PlanArgs),
    Check(CheckArgs),
    Graph(GraphArgs),
    Resolve(ResolveArgs),
    Schema(SchemaArgs),
    Retry(RetryArgs),
    Exec(ExecArgs),
    Doctor(DoctorArgs),
    Explain(ExplainArgs),
    Spiff(SpiffArgs),
    Image(ImageArgs),
}

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// As JSON, with a version.
    Json,
}

/// An assembly and its parameters.
#[derive(Debug, Args)]
pub(crate) struct AssemblyArgs {
    /// The assembly's descriptor, or the folder it is in
    #[arg(value_name = "FILE|DIR")]
    pub(crate) file: PathBuf,

    /// Name the assembly; else it has the middle part of its descriptor's name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<AssemblyName>,

    /// Give a property a value; @FILE takes it from a file, - from standard input
    #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Take values of properties from a YAML file; those given by -p come first
    #[arg(long, visible_alias = "param-file", value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,

    /// Look for descriptors in this folder too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,
}

/// How a process runs.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Run this many driver calls at once [default: 4 × cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) parallelism: Option<u16>,

    /// Let running jobs end by themselves for this many seconds when interrupted
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u32,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Whether something is done, or only said.
#[derive(Debug, Args)]
pub(crate) struct DryRunArgs {
    /// Say what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// With --dry-run, end with code 3 when something would be done
    #[arg(long, requires = "dry_run")]
    pub(crate) detailed_exitcode: bool,
}

/// Whether it is done against others.
#[derive(Debug, Args)]
pub(crate) struct ForceArgs {
    /// Take parts away from other assemblies that reference this one
    #[arg(long)]
    pub(crate) force: bool,
}

/// Which parts a plan is about.
#[derive(Debug, Args)]
pub(crate) struct PartsArgs {
    /// Limit the plan to this part and what it waits for, as `B` or `B__1`
    #[arg(long, value_name = "PART")]
    pub(crate) target: Vec<String>,

    /// Uninstall this part and install it again, whether it has changed or not
    #[arg(long, value_name = "PART")]
    pub(crate) replace: Vec<String>,
}

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
  windlass down storage --force")]
pub(crate) struct DownArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Go on with what was last asked of an assembly.
///
/// Uses the descriptor, parameters and scripts that were pinned then. When it is not known whether something happened
/// that must not happen twice, look, and say so with --assume.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass retry h_bta
  windlass retry h_bta --assume not-done")]
pub(crate) struct RetryArgs {
    /// The assembly
    pub(crate) name: AssemblyName,

    /// Say of everything that is undecided whether it happened
    #[arg(long, value_enum, value_name = "ANSWER")]
    pub(crate) assume: Option<Assumption>,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Whether something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Assumption {
    /// It happened; it is not done again.
    Done,
    /// It did not happen; it is done again.
    NotDone,
}

/// Take all parts of an assembly to a state, from above or below.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass set-state h_bta Inactive
  windlass set-state h_bta Active")]
pub(crate) struct SetStateArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The state: Installed, Inactive or Active
    pub(crate) to: State,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Add nodes to a cluster, or remove some, by its scaling-increment.
///
/// The nodes with the highest numbers go first. A cluster that was scaled keeps its size when the assembly is brought up
/// again, until its descriptor gives it another one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass scale out h_bta B
  windlass scale in h_bta B --dry-run")]
pub(crate) struct ScaleArgs {
    /// Which way
    #[arg(value_enum)]
    pub(crate) way: Way,
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The cluster
    pub(crate) component: String,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
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
    /// The part: its name below the assembly, or its id
    pub(crate) part: String,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Take over an assembly whose parts exist already.
///
/// Runs the transition Adopt of each resource instead of Create, Install, Configure and Start. Relationships are taken to
/// be there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass adopt shop.yaml --name shop-old")]
pub(crate) struct AdoptArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Make an assembly again what it was before.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass rollback h_bta
  windlass rollback h_bta --to p12")]
pub(crate) struct RollbackArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// Go back to what this process had made of it; else to what it was before the last change
    #[arg(long, value_name = "PROCESS")]
    pub(crate) to: Option<ProcessId>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) dry: DryRunArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Ask a process to stop, as Ctrl-C does where it runs.
///
/// What runs has ten seconds to end by itself. The process can be gone on with by the same command or by retry.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass cancel h_bta p12")]
pub(crate) struct CancelArgs {
    /// The assembly
    pub(crate) name: AssemblyName,
    /// The process
    pub(crate) process: ProcessId,
}

/// Watch assemblies: apply their policies to metrics, and look at their health.
///
/// Takes metrics by `POST /metrics` on the socket .windlass/metrics.sock, which only its owner can reach, and from
/// health checks. Policies scale and heal, each as a process of its own; other commands work beside it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass run
  windlass run --health 30")]
pub(crate) struct WatchArgs {
    /// Look at the health of parts every so many seconds; 0 never does
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) health: u32,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Send a metric to `windlass run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass metric push h_bta__A.load 92
  windlass metric push h_bta__B__1.integrity BROKEN")]
pub(crate) struct MetricArgs {
    #[command(subcommand)]
    pub(crate) command: MetricCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MetricCommand {
    /// Send one reading
    Push {
        /// The metric: the full name of a part, `.`, and the metric's name
        metric: String,
        /// A load from 0 to 100, or OK or BROKEN
        reading: String,
    },
}

/// List processes, or show one step by step.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  windlass ps
  windlass ps h_bta
  windlass ps show p12"
)]
pub(crate) struct PsArgs {
    #[command(subcommand)]
    pub(crate) show: Option<PsCommand>,

    /// Only those of this assembly
    pub(crate) name: Option<AssemblyName>,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PsCommand {
    /// Show what was done in a process, step by step
    Show {
        /// The process
        process: ProcessId,

        /// Print as
        #[arg(long, value_enum, default_value_t = Format::Human)]
        format: Format,
    },
}

/// List what an assembly was asked to be, and what changed each time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass history h_bta")]
pub(crate) struct HistoryArgs {
    /// The assembly, also one that is gone
    pub(crate) name: AssemblyName,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Show what is different between two versions of an assembly.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass diff h_bta@p12 h_bta@p15")]
pub(crate) struct DiffArgs {
    /// The older version: the assembly, `@`, and the process that asked for it
    #[arg(value_name = "NAME@PROCESS")]
    pub(crate) from: VersionName,

    /// The newer version
    #[arg(value_name = "NAME@PROCESS")]
    pub(crate) to: VersionName,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// An assembly as a process was asked to make it: `h_bta@p12`.
#[derive(Debug, Clone)]
pub(crate) struct VersionName {
    pub(crate) name: AssemblyName,
    pub(crate) process: ProcessId,
}

impl std::str::FromStr for VersionName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, process) =
            text.split_once('@').ok_or("expected an assembly, `@` and a process, as `h_bta@p12`")?;
        Ok(Self {
            name: name.parse().map_err(|error| format!("{error}"))?,
            process: process.parse().map_err(|error| format!("{error}"))?,
        })
    }
}

/// Show how assemblies are: their components, states, outputs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass status
  windlass status h_bta --format json")]
pub(crate) struct StatusArgs {
    /// The assembly; else all
    pub(crate) name: Option<AssemblyName>,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Show what was done for an assembly: steps, jobs, activity log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass log h_bta
  windlass log h_bta B__1 --format json")]
pub(crate) struct LogArgs {
    /// The assembly, also one that is gone
    pub(crate) name: AssemblyName,

    /// Only what concerns this component, as `B` or `B__1`
    pub(crate) component: Option<String>,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Show what up would do, and why each step waits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass plan fixtures/assemblies/h_bta
  windlass plan shop.yaml -p nodes=3 --format json
  windlass plan shop.yaml --why s7")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Explain this step instead: what it waits for, and what that waits for
    #[arg(long, value_name = "STEP")]
    pub(crate) why: Option<String>,

    /// End with code 3 when something would be done
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,

    /// Look how the parts that are up really are, and show what differs from the record
    #[arg(long)]
    pub(crate) refresh: bool,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Draw an assembly, its plan, or who reads whom in it.
///
/// An assembly that is up is drawn as it was asked for, its plan as that of its last process. The page needs no
/// network.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass graph fixtures/assemblies/h_bta
  windlass graph shop.yaml --view plan --format html > plan.html
  windlass graph h_bta --view properties --format mermaid")]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// What is drawn
    #[arg(long, value_enum, default_value_t = GraphKind::Topology)]
    pub(crate) view: GraphKind,

    /// Write as
    #[arg(long, value_enum, default_value_t = GraphFormat::Dot)]
    pub(crate) format: GraphFormat,
}

/// What is drawn of an assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphKind {
    /// Components and relationships.
    Topology,
    /// Steps and waits.
    Plan,
    /// Who reads whom.
    Properties,
}

/// How a graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Mermaid's flowchart.
    Mermaid,
    /// The data, with a version.
    Json,
    /// A picture.
    Svg,
    /// A page to move about in.
    Html,
}

/// Print an assembly's descriptor with everything filled in that is known.
///
/// What is printed is a descriptor in canonical form. A reference whose value is not known yet stays, with the reason
/// behind it; secrets are not shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass resolve fixtures/assemblies/h_bta
  windlass resolve shop.yaml --name shop-test -p nodes=3
  windlass resolve shop.yaml --params production.yaml --format json")]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Print the JSON Schema of a document, for editors and other tools.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass schema assembly > assembly.schema.json
  windlass schema project")]
pub(crate) struct SchemaArgs {
    /// The kind of document
    #[arg(value_enum)]
    pub(crate) document: SchemaOf,
}

/// A kind of document that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// An assembly descriptor.
    Assembly,
    /// A resource descriptor.
    Resource,
    /// A windlass.yaml.
    Project,
}

/// Check descriptors, packages and project files, and report all problems at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass check fixtures/assemblies/h_bta
  windlass check . --deny warnings --format github
  windlass check shop.yaml --fix --dry-run
  windlass check --explain WL0112")]
pub(crate) struct CheckArgs {
    /// Descriptors, or folders with descriptors
    #[arg(value_name = "FILE|DIR", required_unless_present = "explain")]
    pub(crate) paths: Vec<PathBuf>,

    /// Look for descriptors in this folder too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,

    /// Print as
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    pub(crate) format: CheckFormat,

    /// Fail on these too
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,

    /// Repair what can be repaired without a doubt, and leave the rest of each file as it is
    #[arg(long)]
    pub(crate) fix: bool,

    /// Only print what --fix would change
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,

    /// Explain the code of a message instead
    #[arg(long, value_name = "CODE", exclusive = true)]
    pub(crate) explain: Option<String>,
}

/// How what was found is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people.
    Human,
    /// As JSON, with a version.
    Json,
    /// As SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// As workflow commands, which GitHub shows beside the lines.
    Github,
}

/// What makes a check fail, beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    /// Warnings.
    Warnings,
}

/// Run one job by hand, as a driver would run a script.
///
/// What is piped in is its standard input, and what it writes comes out as it is written. It gets a working folder of its
/// own and no variable of this shell. Exit code 0 if it exits with 0, else 1, and a message says how it ended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass exec -- sh -c 'echo hello; id'
  windlass exec --image demo:1 --runtime docker --timeout 30s -- ./check.sh < request.yaml
  windlass exec --image demo:1 --engine podman --network bridge --env REGION=eu-1 -- env")]
pub(crate) struct ExecArgs {
    /// Run it in the file system of this image
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Run it on this runtime [default: docker with an engine, sandbox with an image, else process]
    #[arg(long, value_enum, value_name = "RUNTIME")]
    pub(crate) runtime: Option<RuntimeName>,

    /// Ask this engine for containers: docker, podman, or an address as unix:///run/docker.sock
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,

    /// Give it this network: none, bridge, host, or one of the engine
    #[arg(long, value_name = "NETWORK")]
    pub(crate) network: Option<String>,

    /// End it after this time, as 30s, 10m or 1h [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<std::time::Duration>,

    /// Set a variable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    pub(crate) command: Vec<String>,
}

/// What runs jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeName {
    /// Processes of this host.
    Process,
    /// An image without an engine.
    Sandbox,
    /// Containers of an engine.
    Docker,
}

impl RuntimeName {
    /// Returns its name, as a location gives it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Sandbox => "sandbox",
            Self::Docker => "docker",
        }
    }
}

/// Reads a time: a number and its unit.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("expected a number with a unit, as 500ms, 30s, 10m or 1h".to_owned()),
    };
    let time =
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(millis)).filter(|time| *time > 0);
    time.map(std::time::Duration::from_millis).ok_or_else(|| format!("`{number}` is no usable number"))
}

/// Show what can run jobs here, how well it shuts them in, and what is missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass doctor
  windlass doctor --format json")]
pub(crate) struct DoctorArgs {
    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Explain the code of a message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass explain WL0112")]
pub(crate) struct ExplainArgs {
    /// The code
    pub(crate) code: String,
}

/// Make and keep images for sandboxes, without an engine or a registry.
///
/// Images are kept unpacked in the folder windlass/images of the user's cache, each checked by its digests.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image build --busybox -t busybox:1
  windlass image build ./rootfs -t demo:1 -o demo.tar
  windlass image import python.tar
  windlass image ls --format json
  windlass image prune")]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    pub(crate) command: ImageCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageCommand {
    Build(ImageBuildArgs),
    Import(ImageImportArgs),
    Ls(ImageLsArgs),
    Prune(ImagePruneArgs),
}

/// Make an image of a folder, or of this host's static busybox.
///
/// The same files make the same image, byte for byte.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image build --busybox -t busybox:1
  windlass image build ./rootfs -t demo:1
  windlass image build ./rootfs -t demo:1 -o demo.tar    # for `docker load` on another host")]
pub(crate) struct ImageBuildArgs {
    /// The folder that is the root of the image
    #[arg(value_name = "DIR", required_unless_present = "busybox")]
    pub(crate) folder: Option<PathBuf>,

    /// Take the static busybox of this host instead: a shell and the usual small tools
    #[arg(long, conflicts_with = "folder")]
    pub(crate) busybox: bool,

    /// Name the image; without a tag it is `latest`
    #[arg(short = 't', long = "tag", value_name = "NAME[:TAG]")]
    pub(crate) name: String,

    /// Write the image to a file too, as `docker load` takes it
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Bring in images from a file.
///
/// It may be what `docker save` writes, an OCI layout, or an artifact set out of a component archive; a tar file, also
/// compressed by gzip or zstd, or a folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image import python.tar
  windlass image import layout/ -t tool:3")]
pub(crate) struct ImageImportArgs {
    /// The file or folder
    #[arg(value_name = "FILE|DIR")]
    pub(crate) path: PathBuf,

    /// Name the image, beside the names that the file gives it
    #[arg(short = 't', long = "tag", value_name = "NAME[:TAG]")]
    pub(crate) name: Option<String>,
}

/// List images.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image ls
  windlass image ls --format json")]
pub(crate) struct ImageLsArgs {
    /// Print as
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Remove images that have no name any more.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image prune
  windlass image prune --all")]
pub(crate) struct ImagePruneArgs {
    /// Remove those with names too, all that no job uses
    #[arg(long)]
    pub(crate) all: bool,
}
