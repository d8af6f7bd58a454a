//! The command line arguments.

mod application;
pub(crate) mod change;
mod cron;
mod describe;
mod environment;
mod flags;
mod image;
mod itself;
mod job;
pub(crate) mod launch;
pub(crate) mod mistakes;
mod numbers;
mod script;
mod show;
mod simulate;
mod update;
mod watch;

use clap::{Parser, Subcommand};

pub(crate) use application::{AppArgs, AppCommand, AppPublishArgs, AppShowArgs};
pub(crate) use change::{
    AdoptArgs, ApplyArgs, AskedFor, CancelArgs, ChangeCommand, ExportArgs, ForgetArgs, ImportArgs,
    RenameArgs, UpArgs,
};
pub(crate) use cron::{CronArgs, CronCommand, CronExplainArgs, CronNextArgs};
pub(crate) use describe::{
    CheckArgs, CheckFormat, Deny, ExplainArgs, FmtArgs, GraphArgs, GraphFormat, GraphKind, InitArgs,
    PlanArgs, ResolveArgs, SchemaArgs, SchemaOf,
};
pub(crate) use environment::{
    EnvArgs, EnvBindArgs, EnvCommand, EnvMarkerCommand, EnvPropertyCommand, EnvPropertySetArgs,
    EnvServiceCommand, ServiceArgs,
};
pub(crate) use flags::{AssemblyArgs, DryRunArgs, ErrorArgs, Format, HowArgs, PartsArgs, PrintArgs, RunArgs};
pub(crate) use image::{ImageArgs, ImageCommand, ImagePruneArgs};
pub(crate) use itself::{CompletionsArgs, ManArgs};
pub(crate) use job::{DoctorArgs, ExecArgs, JobArgs, JobCommand, JobIdArgs, JobLsArgs};
pub(crate) use script::{ScriptArgs, ScriptCommand, ScriptNewArgs, ScriptRunArgs, ScriptTestArgs};
pub(crate) use show::{DiffArgs, HistoryArgs, LogArgs, OutputArgs, PruneArgs, PsArgs, PsCommand, StatusArgs};
pub(crate) use simulate::SimulateArgs;
pub(crate) use update::{
    RulesArgs, UpdateApplyArgs, UpdateArgs, UpdateCommand, UpdateComposeArgs, UpdateConflictsArgs,
    UpdateDiffArgs, UpdateInvertArgs,
};
pub(crate) use watch::{MetricArgs, MetricCommand, WatchArgs};

use crate::command::spiff::SpiffArgs;

/// The hidden command by which the scripts of `windlass completions` request names.
pub(crate) const COMPLETE_NAMES: &str = "complete-names";

/// Manage the lifecycle of assemblies: create, update, repair, scale and remove them.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Keep the state in this PostgreSQL database, such as postgres://USER@HOST/DATABASE, instead of .windlass
    #[arg(long, value_name = "ADDRESS", global = true)]
    pub(crate) state: Option<String>,

    /// Read documents up to this size, such as 64MiB [default: 16MiB]
    #[arg(long, value_name = "SIZE", global = true, value_parser = numbers::size)]
    pub(crate) max_size: Option<usize>,
}

const AFTER_HELP: &str = "\
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
  windlass down h_bta";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(UpArgs),
    Apply(ApplyArgs),
    Adopt(AdoptArgs),
    #[command(flatten)]
    Change(ChangeCommand),
    Cancel(CancelArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Rename(RenameArgs),
    Forget(ForgetArgs),
    Prune(PruneArgs),
    Ps(PsArgs),
    Run(WatchArgs),
    Metric(MetricArgs),
    History(HistoryArgs),
    Diff(DiffArgs),
    Status(StatusArgs),
    Output(OutputArgs),
    Log(LogArgs),
    Plan(PlanArgs),
    App(AppArgs),
    Env(EnvArgs),
    Simulate(SimulateArgs),
    Init(InitArgs),
    Check(CheckArgs),
    Fmt(FmtArgs),
    Graph(GraphArgs),
    Resolve(ResolveArgs),
    Schema(SchemaArgs),
    Script(ScriptArgs),
    Exec(ExecArgs),
    Job(JobArgs),
    Doctor(DoctorArgs),
    Explain(ExplainArgs),
    Spiff(SpiffArgs),
    Cron(CronArgs),
    Update(UpdateArgs),
    Image(ImageArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}
