//! Commands about descriptors: planning, drawing and checking them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::flags::{AssemblyArgs, PartsArgs, PrintArgs};

/// Show what up would do, and why each step waits.
///
/// Nothing is changed. `windlass apply` carries out what -o has saved as it was looked at, or refuses and says what has moved
/// since. More than ten steps that do the same to nodes of a cluster, and wait for the same, are listed as one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass plan fixtures/assemblies/h_bta
  windlass plan shop.yaml -p nodes=3 --format json
  windlass plan shop.yaml --why s7
  windlass plan shop.yaml --refresh
  windlass plan shop.yaml -o shop.plan")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Explain this step instead: what it waits for, and what that waits for
    #[arg(long, value_name = "STEP")]
    pub(crate) why: Option<String>,

    /// List each step, also of nodes that are alike
    #[arg(long, conflicts_with = "why")]
    pub(crate) all: bool,

    /// End with code 3 when something would be done, or --refresh shows a part that is not as on record
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,

    /// Look how the parts that are up really are, and show what differs from the record
    #[arg(long)]
    pub(crate) refresh: bool,

    /// Save the plan to this file, for `windlass apply`
    #[arg(short = 'o', long, value_name = "PLAN", conflicts_with = "why")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) parts: PartsArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Draw an assembly, its plan, or who reads whom in it.
///
/// A file or folder is taken as a descriptor, as up and plan do. What is neither is the name of an assembly that is up: it is
/// drawn as it was asked for, its plan as that of its last process. Where there are both, it is said which was taken:
/// --stored takes the assembly, `./NAME` the folder. The page that --format html writes needs no network.
#[derive(Debug, Args)]
#[command(
    mut_arg("file", |file| {
        file.value_name("FILE|DIR|NAME").help("The assembly's descriptor, the folder it is in, or the name of an assembly that is up")
    }),
    after_help = "\
Examples:
  windlass graph fixtures/assemblies/h_bta --format svg > h_bta.svg
  windlass graph shop.yaml --view plan --format html > plan.html
  windlass graph h_bta --stored --view properties --format mermaid    # one that is up, by its name"
)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) assembly: AssemblyArgs,

    /// Draw the assembly of this name that is up, also where a file or folder is called so
    #[arg(long, conflicts_with_all = ["name", "parameters", "params", "catalog"])]
    pub(crate) stored: bool,

    /// What is drawn
    #[arg(long, value_enum, default_value_t = GraphKind::Topology)]
    pub(crate) view: GraphKind,

    /// Write in this form
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

    #[command(flatten)]
    pub(crate) print: PrintArgs,
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
    /// Descriptors, or folders with descriptors; `-` is standard input
    #[arg(value_name = "FILE|DIR", required_unless_present = "explain")]
    pub(crate) paths: Vec<PathBuf>,

    /// Look for descriptors in this folder too
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Vec<PathBuf>,

    /// Print in this form
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    pub(crate) format: CheckFormat,

    /// End with code 2 on these too, not on errors alone
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

/// Explain the code of a message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass explain WL0112")]
pub(crate) struct ExplainArgs {
    /// The code, as `WL0112`
    pub(crate) code: String,
}
