//! Commands about descriptors: planning, drawing and checking them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::flags::{AssemblyArgs, ErrorArgs, PartsArgs, PrintArgs, RefreshArgs};

/// Show the plan of `up`: its steps, and why each step waits.
///
/// Nothing changes. The health of existing components is checked first, because the plan also repairs components that are
/// gone or broken. -o saves the plan; `windlass apply` executes exactly this plan, or refuses it if something has changed
/// since. More than ten identical steps of a cluster's nodes share a line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass plan fixtures/assemblies/h_bta
  windlass plan shop.yaml -p nodes=3 --format json
  windlass plan shop.yaml --why s7
  windlass plan shop.yaml --no-refresh
  windlass plan shop.yaml -o shop.plan")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Explain this step instead: list its dependencies, and their dependencies
    #[arg(long, value_name = "STEP")]
    pub(crate) why: Option<String>,

    /// List each step on a separate line, even identical steps of a cluster's nodes
    #[arg(long, conflicts_with = "why")]
    pub(crate) all: bool,

    /// Exit with code 3 if the plan would change or repair a component
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,

    #[command(flatten)]
    pub(crate) refresh: RefreshArgs,

    /// Save the plan to this file, for `windlass apply`
    #[arg(short = 'o', long, value_name = "PLAN", conflicts_with = "why")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) parts: PartsArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Draw the topology, the plan or the property references of an assembly.
///
/// A file or folder is read as a descriptor. Any other argument is the name of an existing assembly: its records are drawn,
/// or the plan of its last process. If a folder and an assembly share a name, --stored selects the assembly and `./NAME` the
/// folder. The page of --format html needs no network.
#[derive(Debug, Args)]
#[command(
    mut_arg("file", |file| {
        file.value_name("FILE|DIR|NAME").help("The assembly's descriptor, its folder, or the name of an existing assembly")
    }),
    after_help = "\
Examples:
  windlass graph fixtures/assemblies/h_bta --format svg > h_bta.svg
  windlass graph shop.yaml --view plan --format html > plan.html
  windlass graph h_bta --stored --view properties --format mermaid    # an existing assembly"
)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Draw the existing assembly of this name, even if a file or folder has the same name
    #[arg(long, conflicts_with_all = ["name", "parameters", "params", "inventory", "catalog"])]
    pub(crate) stored: bool,

    /// The view to draw
    #[arg(long, value_enum, default_value_t = GraphKind::Topology)]
    pub(crate) view: GraphKind,

    /// Write in this format
    #[arg(long, value_enum, default_value_t = GraphFormat::Dot)]
    pub(crate) format: GraphFormat,
}

/// The view of an assembly that `windlass graph` draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphKind {
    /// Components and relationships.
    Topology,
    /// Steps and waits.
    Plan,
    /// References between properties.
    Properties,
}

/// The format of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Mermaid's flowchart.
    Mermaid,
    /// JSON; the field `version` is the version of the format.
    Json,
    /// An image.
    Svg,
    /// An interactive page.
    Html,
}

/// Print an assembly's descriptor with all known values filled in.
///
/// The output is a descriptor in canonical form. A reference whose value is unknown stays, followed by the reason. Secrets
/// are not shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass resolve fixtures/assemblies/h_bta
  windlass resolve shop.yaml --name shop-test -p nodes=3
  windlass resolve shop.yaml --params production.yaml --format json")]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Create an example assembly of one component, which you can then change.
///
/// The assembly passes `windlass check`, and `windlass up` creates it without further changes. A windlass.yaml is added if
/// the folder belongs to no project. Existing files are never changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass init hello
  windlass init --lang python --name shop
  windlass init --style full")]
pub(crate) struct InitArgs {
    /// The folder, which is created if missing
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// Name the assembly [default: the name of the folder]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) scripts: NewScriptsArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// The scripts of a new package.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct NewScriptsArgs {
    /// Write the scripts in this language
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value_t = Language::Sh)]
    pub(crate) lang: Language,

    /// Write scripts of this style
    #[arg(long, value_enum, value_name = "STYLE", default_value_t = Style::Plain)]
    pub(crate) style: Style,
}

/// A language of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// POSIX shell.
    Sh,
    /// Python 3, with its standard library only.
    Python,
}

impl From<Language> for windlass::init::Language {
    fn from(language: Language) -> Self {
        match language {
            Language::Sh => Self::Shell,
            Language::Python => Self::Python,
        }
    }
}

/// A style of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// The script reads its input from files and writes its output to files. Its exit code states the result.
    Plain,
    /// The script reads a YAML document on stdin, and prints a YAML document on stdout.
    Full,
}

impl From<Style> for windlass::init::Style {
    fn from(style: Style) -> Self {
        match style {
            Style::Plain => Self::Plain,
            Style::Full => Self::Full,
        }
    }
}

/// Print the JSON Schema of a document, for editors and other tools.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass schema assembly > assembly.schema.json
  windlass schema project
  windlass schema manifest > manifest.schema.json
  windlass schema script-output > script-output.schema.json
  windlass schema parameters shop > shop/params.schema.json")]
pub(crate) struct SchemaArgs {
    /// The kind of document
    #[arg(value_enum)]
    pub(crate) document: SchemaOf,

    /// The assembly's descriptor, or its folder; only for the document `parameters` [default: the working folder]
    #[arg(value_name = "FILE|DIR")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) _errors: ErrorArgs,
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
    /// A parameter file of one assembly.
    Parameters,
    /// An application manifest.
    Manifest,
    /// A file with markers and properties of an environment.
    Environment,
    /// The document that a script reads.
    ScriptInput,
    /// The document that a script prints.
    ScriptOutput,
}

/// Check descriptors, packages and project files, and report all problems at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass check fixtures/assemblies/h_bta
  windlass check . --deny warnings --format github
  windlass check shop.yaml --fix --dry-run
  windlass check fixtures/applications/vm.yaml --scripts fixtures/applications/scripts
  windlass check vm.yaml vm-factory.yaml --image acme/vm-scripts:3
  windlass check --explain WL0112")]
pub(crate) struct CheckArgs {
    /// Descriptors, or folders with descriptors; `-` is standard input
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub(crate) paths: Vec<PathBuf>,

    /// Search this folder for descriptors too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,

    /// Check that the scripts of manifests are executable files of this folder
    #[arg(long, value_name = "DIR", conflicts_with = "image")]
    pub(crate) scripts: Option<PathBuf>,

    /// Check that the scripts of manifests are executable files of this image. IMAGE is a file, such as ./image.tar, or
    /// the name of an image in the store of windlass, Docker or Podman. The image is not run
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Print in this format
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    pub(crate) format: CheckFormat,

    /// Exit with code 2 not only on errors, but also on these problems
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,

    /// Apply all safe fixes, and leave the rest of each file unchanged
    #[arg(long)]
    pub(crate) fix: bool,

    /// Print the changes of --fix without writing them
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,

    /// Only explain the code of an error, warning or note
    #[arg(long, value_name = "CODE", exclusive = true)]
    pub(crate) explain: Option<String>,
}

/// Format the layout of descriptors and other YAML files.
///
/// Indents each entry by two columns, and removes blanks at the end of lines. Comments, quotes and the order of keys stay.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass fmt
  windlass fmt shop.yaml
  windlass fmt . --check")]
pub(crate) struct FmtArgs {
    /// Files, or folders with files that end in .yaml or .yml
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub(crate) paths: Vec<PathBuf>,

    /// Change nothing, list the files that would change, and exit with code 2 if any file would change
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// The output format of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Text for people.
    Human,
    /// JSON; the field `version` is the version of the format.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Workflow commands, which GitHub shows beside the lines.
    Github,
}

/// The problems that make a check fail. Errors always make it fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    /// Warnings.
    Warnings,
}

/// Explain the code of an error, warning or note.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass explain WL0112")]
pub(crate) struct ExplainArgs {
    /// The code, such as `WL0112`
    pub(crate) code: String,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
