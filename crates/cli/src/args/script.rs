//! Commands for authors of scripts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::describe::{NewScriptsArgs, Style};
use super::flags::PrintArgs;

/// Run, test and create scripts, without an assembly.
///
/// Nothing is recorded: no assembly, no state, no history.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass script new vm --lang python
  windlass script run launch vm/Lifecycle/script/scripts/Install.py -i input.yaml
  windlass script test vm")]
pub(crate) struct ScriptArgs {
    #[command(subcommand)]
    pub(crate) command: ScriptCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScriptCommand {
    Run(ScriptRunArgs),
    Test(ScriptTestArgs),
    New(ScriptNewArgs),
}

/// Run one script by hand, and print its result.
///
/// The result is YAML: the update that windlass would apply to the instance document, the instances that a
/// discovery has found, or an error. Messages of the script go to standard error. A script of a package runs with
/// the other files of the package, and with the driver properties of the package.
#[derive(Debug, Args)]
#[command(after_help = "\
Kinds: launch, destroy, health-check, reconfigure, discover, command, or a transition such as Start.

The input is a YAML file with any of these entries:
  id: vm-17                      # the instance; a launch has none
  properties: {size: 3}          # of the component
  secrets: {password: x}         # further properties, which are secret
  arguments: {target: /srv}      # of an operation or command
  location: {region: eu-1}       # properties of the location
  document: {}                   # the instance document before the call
It may be the document that the script reads instead, as of `windlass schema script-input`, with one instance.

Examples:
  windlass script run launch Install.sh --style plain
  windlass script run health-check scripts/check.py -i input.yaml --image python:3")]
pub(crate) struct ScriptRunArgs {
    /// The kind of the script
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,

    /// The script
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: PathBuf,

    /// Read the input from this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Run the script in this style [default: the style of its package, else full]
    #[arg(long, value_enum, value_name = "STYLE")]
    pub(crate) style: Option<Style>,

    /// Run the script in the file system of this image
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Run the script on this runtime [default: sandbox with --image, else process]
    #[arg(long, value_name = "RUNTIME", value_parser = super::job::runtimes())]
    pub(crate) runtime: Option<String>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Run the test cases of a package, and compare their results with the expected results.
///
/// A case is a file in the folder `tests` of the package: `version: 1`, the `action`, the `input` as for `script run`, and
/// the result to `expect`. Cases run one after the other, in the order of their names.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass script test Contains/greeter
  windlass script test vm --update")]
pub(crate) struct ScriptTestArgs {
    /// The folder of the package
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// In each failed case, replace the value of `expect` by the actual result
    #[arg(long)]
    pub(crate) update: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Create an example package of a resource, with scripts and test cases that you can then change.
///
/// Existing files are never changed. `windlass init` creates an assembly with such a package.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass script new vm
  windlass script new vm --lang python --style full")]
pub(crate) struct ScriptNewArgs {
    /// The folder, which is created if missing
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Name the resource [default: the name of the folder]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) scripts: NewScriptsArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
