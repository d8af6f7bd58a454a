//! Commands that run jobs by hand, show recorded jobs, and list the available runtimes.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use windlass::RuntimeRegistry;
use windlass::model::AssemblyName;
use windlass::project::RuntimeKind;

use super::flags::{ErrorArgs, PrintArgs};

/// Run one job by hand, as a driver would run a script.
///
/// The job reads this command's standard input, and its output appears immediately. The job has its own working folder, and
/// no environment variables of this shell. The exit code is 0 if the job exits with 0; otherwise it is 1, and a message
/// states how the job ended. On a terminal, control characters are escaped; a pipe or file receives them unchanged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass exec -- sh -c 'echo hello; id'
  windlass exec --image demo:1 --runtime docker --timeout 30s -- ./check.sh < request.yaml
  windlass exec --image demo:1 --engine podman --network bridge --env REGION=eu-1 -- env")]
pub(crate) struct ExecArgs {
    /// Run the job in the file system of this image
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Run the job on this runtime [default: docker with --engine, sandbox with --image, else process]
    #[arg(long, value_name = "RUNTIME", value_parser = runtimes())]
    pub(crate) runtime: Option<String>,

    /// Use this container engine: docker, podman, or an address such as unix:///run/docker.sock
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,

    /// Set an option of the runtime, such as pool=4; a location in windlass.yaml has the same options
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) setting: Vec<String>,

    /// Connect the job to this network: none, bridge, host, or a network of the engine
    #[arg(long, value_name = "NETWORK")]
    pub(crate) network: Option<String>,

    /// Stop the job after this time, such as 30s, 10m or 1h [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = super::numbers::duration)]
    pub(crate) timeout: Option<std::time::Duration>,

    /// Set an environment variable of the job
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    pub(crate) command: Vec<String>,

    #[command(flatten)]
    pub(crate) _errors: ErrorArgs,
}

/// Returns the values of `--runtime`: the registered kinds.
pub(crate) fn runtimes() -> PossibleValuesParser {
    let kinds = RuntimeRegistry::default().kinds();
    let value =
        |kind: &dyn RuntimeKind| PossibleValue::new(kind.name().to_owned()).help(sentence(kind.summary()));
    kinds.iter().map(value).collect::<Vec<_>>().into()
}

/// Capitalizes a description.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// List the available runtimes, their isolation, and missing requirements.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass doctor
  windlass doctor --format json")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Show recorded jobs of applications, and parse their output again.
///
/// For each application, the encrypted input and output of the last 20 calls are kept. For each factory, those of the last
/// failed health check are kept. Other assemblies have no recorded jobs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass job ls vm
  windlass job show shopp3s1c0
  windlass job replay vm-factory")]
pub(crate) struct JobArgs {
    #[command(subcommand)]
    pub(crate) command: JobCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    Ls(JobLsArgs),
    /// Print the input and output of a job; secrets are masked
    #[command(after_help = "\
Examples:
  windlass job show shopp3s1c0
  windlass job show vm-factory    # its last failed health check")]
    Show(JobIdArgs),
    /// Parse the recorded output of a job again, and print the updates in the output and the changes that they would
    /// make; no script runs and nothing is changed
    #[command(after_help = "\
Examples:
  windlass job replay shopp3s1c0
  windlass job replay vm-factory --format json")]
    Replay(JobIdArgs),
}

/// List the recorded jobs of an application or a factory, newest first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass job ls vm
  windlass job ls vm-factory --format json")]
pub(crate) struct JobLsArgs {
    /// The application or factory
    pub(crate) name: AssemblyName,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

#[derive(Debug, Args)]
pub(crate) struct JobIdArgs {
    /// The id of a call or job, or the name of a factory. The name stands for the last failed health check of the
    /// factory
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
