//! Simulations of applications.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use windlass::simulating::ManifestFile;

use super::flags::PrintArgs;
use super::numbers::{seconds, span, whole};

/// Simulate a day of applications: launches, health checks, discoveries and commands.
///
/// The clock is virtual, so a day takes seconds. With --scripts, real scripts run, and the virtual clock advances by the
/// time that each script takes, in whole seconds. A file of answers replaces scripts, and may contain actions of operators.
/// Without --scripts, a script without an answer succeeds. Discoveries and health checks have the same schedule as in
/// `windlass run`. Nothing is recorded, but real scripts act on the outside world.
#[derive(Debug, Args)]
#[command(after_help = "\
The file of answers is YAML. The first answer that fits a script counts:
  version: 1
  actions:
  - {at: 2h, command: control.reboot, application: vm}
  - {at: 3h, destroy: vm-2}
  answers:
  - {script: health-check, applications: [vm-2], from: 1h, until: 2h, fail: connection refused}
  - {script: discover, from: 6h, instances: {i-100: {name: found}}}

Exit codes:
  0  the simulation has ended
  1  with --strict: a script has failed, or its output can't be used
  2  wrong input; no script has run

Examples:
  windlass simulate vm.yaml vm-factory.yaml
  windlass simulate vm.yaml vm-factory.yaml --scripts scripts --for 1h --count 3
  windlass simulate vm.yaml vm-factory.yaml --answers answers.yaml --for 7d --format json
  windlass simulate 'VM=apps/machine.yaml' 'VM Factory=apps/factory.yaml' -p configuration.region=eu-1")]
pub(crate) struct SimulateArgs {
    /// The manifests of applications and their factories. Without TITLE, the title comes from the name of the file:
    /// `vm-factory.yaml` matches `VM Factory`
    #[arg(value_name = "[TITLE=]MANIFEST", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) manifests: Vec<ManifestFile>,

    /// Simulate a period of this length, such as 90m or 1d
    #[arg(long = "for", value_name = "DURATION", default_value = "1d", value_parser = span)]
    pub(crate) duration: Duration,

    /// Run the scripts of this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) scripts: Option<PathBuf>,

    /// Read answers and actions from this file; a script that has a fitting answer does not run
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,

    /// Set a configuration pin of all manifests that have the pin; =@FILE reads the value from a file, =- from standard
    /// input
    #[arg(short = 'p', long = "param", value_name = "PIN=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// Read values of configuration pins from a YAML file; -p takes precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Vec<PathBuf>,

    /// Launch this many of each application at the beginning
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) count: u32,

    /// The time from one health check to the next, such as 30s or 5m; 0 disables health checks
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) health: u32,

    /// Begin at this virtual time, in UTC [default: Monday, 2026-01-05]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,

    /// Run the scripts at this location of windlass.yaml [default: its only location, else this host]
    #[arg(long, value_name = "LOCATION")]
    pub(crate) location: Option<String>,

    /// Generate the ids of instances from this seed; the same seed generates the same ids
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) seed: u32,

    /// Exit with code 1 if a script has failed
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
