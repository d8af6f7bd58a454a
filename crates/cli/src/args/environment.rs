//! Environments: the services, markers (plain names) and properties to which applications can refer.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use windlass::manifest::name::ComponentPath;
use windlass::model::AssemblyName;
use windlass::model::document::DocumentName;
use windlass::model::pins::Name;

use super::flags::PrintArgs;

/// Manage environments: the services, markers and properties for applications.
///
/// An application can refer to everything in its environment. A service is usually a factory. A marker is a name, such
/// as `eu`. A property has a name and a value. The environment `default` always exists.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env service add default --location scripts
  windlass env service add default vm-factory
  windlass env show
  windlass env create staging
  windlass env property set staging region=eu-1")]
pub(crate) struct EnvArgs {
    #[command(subcommand)]
    pub(crate) command: EnvCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvCommand {
    Create(EnvNameArgs),
    Rm(EnvRmArgs),
    Ls(EnvLsArgs),
    Show(EnvShowArgs),
    Import(EnvImportArgs),
    Service(EnvServiceArgs),
    Bind(EnvBindArgs),
    Marker(EnvMarkerArgs),
    Property(EnvPropertyArgs),
}

/// Create an empty environment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env create staging")]
pub(crate) struct EnvNameArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove an environment that has no services and no applications.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env rm staging")]
pub(crate) struct EnvRmArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// List the environments.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env ls
  windlass env ls --format json")]
pub(crate) struct EnvLsArgs {
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Show an environment, with the references of its services. Values of secret properties are not shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env show
  windlass env show staging --format json")]
pub(crate) struct EnvShowArgs {
    /// The environment
    #[arg(value_name = "ENV", default_value = "default")]
    pub(crate) environment: DocumentName,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Copy markers and properties from a file to an environment.
///
/// A marker is a name, such as `eu`. A property in the file replaces the environment's property with the same name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env import staging staging.yaml")]
pub(crate) struct EnvImportArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    /// The file, in YAML or JSON, with `markers` and `properties`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Add services to an environment, or remove them.
///
/// A service is a launched application, such as a factory. The scripting service is an exception: it is a location,
/// which windlass.yaml defines. The scripts of the applications run at this location.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env service add default vm-factory
  windlass env service add default --location scripts
  windlass env service rm default vm-factory")]
pub(crate) struct EnvServiceArgs {
    #[command(subcommand)]
    pub(crate) command: EnvServiceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvServiceCommand {
    Add(EnvServiceAddArgs),
    Rm(EnvServiceRmArgs),
}

/// A service: an assembly or a location.
#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    /// The assembly of the service
    #[arg(value_name = "NAME", required_unless_present = "location", conflicts_with = "location")]
    pub(crate) name: Option<AssemblyName>,

    /// The scripting service: the name of a location in windlass.yaml
    #[arg(long, value_name = "LOC")]
    pub(crate) location: Option<String>,
}

/// Add a service to an environment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env service add default vm-factory
  windlass env service add default --location scripts --replace")]
pub(crate) struct EnvServiceAddArgs {
    #[command(flatten)]
    pub(crate) service: ServiceArgs,

    /// Replace the present service that was launched from the same application as the new service. With --location,
    /// replace the present scripting service
    #[arg(long)]
    pub(crate) replace: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove a service from an environment. The assembly stays.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env service rm default vm-factory
  windlass env service rm default --location scripts")]
pub(crate) struct EnvServiceRmArgs {
    #[command(flatten)]
    pub(crate) service: ServiceArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Choose a service for a component of the type `reference.Service`, if several services fit.
///
/// `windlass env show` lists these components and their states. `windlass app show` lists the pins that a service must
/// expose to fit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env bind default petclinic-factory vm-factory vms-eu
  windlass env bind default petclinic-factory vm-factory --remove")]
pub(crate) struct EnvBindArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    /// The service whose manifest has the component
    #[arg(value_name = "NAME")]
    pub(crate) name: AssemblyName,

    /// The component; if it is inside a composition, its path, such as `main.vm-factory`
    #[arg(value_name = "COMPONENT")]
    pub(crate) reference: ComponentPath,

    /// The service to choose for the component
    #[arg(value_name = "SERVICE", required_unless_present = "remove", conflicts_with = "remove")]
    pub(crate) service: Option<AssemblyName>,

    /// Undo the choice of a service for this component
    #[arg(long)]
    pub(crate) remove: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Set markers of an environment, or remove them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env marker set staging eu
  windlass env marker rm staging eu")]
pub(crate) struct EnvMarkerArgs {
    #[command(subcommand)]
    pub(crate) command: EnvMarkerCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvMarkerCommand {
    /// Set a marker.
    #[command(after_help = "\
Examples:
  windlass env marker set staging eu")]
    Set(MarkerArgs),
    /// Remove a marker.
    #[command(after_help = "\
Examples:
  windlass env marker rm staging eu")]
    Rm(MarkerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MarkerArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    /// The marker
    #[arg(value_name = "MARKER")]
    pub(crate) marker: Name,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Set properties of an environment, or remove them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env property set staging region=eu-1
  windlass env property set staging 'zones=[a, b]' --type 'list<string>'
  windlass env property set staging key=@key.txt --secret
  windlass env property rm staging region")]
pub(crate) struct EnvPropertyArgs {
    #[command(subcommand)]
    pub(crate) command: EnvPropertyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvPropertyCommand {
    Set(EnvPropertySetArgs),
    Rm(EnvPropertyRmArgs),
}

/// Set a property of an environment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env property set staging region=eu-1
  windlass env property set staging size=3 --type int
  windlass env property set staging key=- --secret < key.txt")]
pub(crate) struct EnvPropertySetArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    /// The property and its value; `@FILE` is the text of a file, and `-` is standard input
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) property: String,

    /// The type of the property, as in a manifest
    #[arg(long = "type", value_name = "TYPE", default_value = "string")]
    pub(crate) kind: String,

    /// Encrypt the value, and never show it
    #[arg(long)]
    pub(crate) secret: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove a property of an environment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass env property rm staging region")]
pub(crate) struct EnvPropertyRmArgs {
    /// The environment
    #[arg(value_name = "ENV")]
    pub(crate) environment: DocumentName,

    /// The property
    #[arg(value_name = "NAME")]
    pub(crate) property: Name,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
