//! The arguments of `windlass spiff`.

use clap::{Args, Subcommand};

use crate::args::ErrorArgs;

/// Process spiff templates, which are YAML documents with expressions.
///
/// For example, packages of the Open Component Model (OCM) contain such templates. By default, a template has no access
/// to files, commands, URLs or environment variables. --allow grants the access that a template needs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SpiffArgs {
    #[command(subcommand)]
    pub(crate) command: SpiffCommand,

    #[command(flatten)]
    pub(crate) _errors: ErrorArgs,
}

impl From<SpiffCommand> for SpiffArgs {
    fn from(command: SpiffCommand) -> Self {
        Self { command, _errors: ErrorArgs::default() }
    }
}

const EXAMPLES: &str = "\
Examples:
  windlass spiff merge template.yaml values.yaml
  windlass spiff merge template.yaml -D host=example.org --trace url
  windlass spiff merge template.yaml --allow read=templates,http=example.org
  windlass spiff eval 'map[[1..3]|x|->x * x]'
  windlass spiff diff old.yaml new.yaml";

#[derive(Debug, Subcommand)]
pub(crate) enum SpiffCommand {
    Merge(MergeArgs),
    Eval(EvalArgs),
    Parse(ParseArgs),
    Convert(ConvertArgs),
    Diff(DiffArgs),
}

/// The features that a template may use.
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    /// Switch parts of the language on or off: control, interpolation, all; the prefix `no` switches off
    #[arg(long, value_name = "NAMES", default_value = "")]
    pub(crate) features: String,

    /// Grant access: read=DIR, write=DIR, http=HOST[:PORT], exec, env (comma separated, repeatable)
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
}

/// Process a template with stubs and print the result.
///
/// The stubs are processed before the template, from the last stub to the first. Each stub is processed with
/// the stubs after it. If several stubs contain a value, the template gets the value of the first of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass spiff merge template.yaml values.yaml
  windlass spiff merge template.yaml -D host=example.org --trace url")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct MergeArgs {
    /// The template; - is standard input
    #[arg(value_name = "TEMPLATE")]
    pub(crate) template: String,

    /// Documents with values that the template merges
    #[arg(value_name = "STUB")]
    pub(crate) stubs: Vec<String>,

    /// Do not fail at expressions that can't be evaluated; print these expressions themselves
    #[arg(long)]
    pub(crate) partial: bool,

    /// Print JSON instead of YAML
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only the value at this path of the result
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,

    /// Print only these fields of the result
    #[arg(long, value_name = "PATH")]
    pub(crate) select: Vec<String>,

    /// Print the value of this expression, which can refer to the fields of the result
    #[arg(long, value_name = "EXPR")]
    pub(crate) evaluate: Option<String>,

    /// Print the entries of a list as documents
    #[arg(long)]
    pub(crate) split: bool,

    /// Define each field of this YAML file as a name that expressions can use
    #[arg(long, value_name = "FILE")]
    pub(crate) bindings: Option<String>,

    /// Define a name that expressions can use, and its value; a.b=x defines a map
    #[arg(short = 'D', long, value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,

    /// Give the document FILE the tag NAME, by which expressions can refer to it
    #[arg(long = "tag", value_name = "NAME:FILE")]
    pub(crate) tags: Vec<String>,

    /// Use this file as the last stub, and afterwards write the values marked &state to it
    // This option replaces the global option `--state` of the program, so it needs the same type.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<String>,

    /// Keep ((! escapes
    #[arg(long)]
    pub(crate) preserve_escapes: bool,

    /// Keep nodes marked &temporary or &local
    #[arg(long)]
    pub(crate) preserve_temporary: bool,

    /// Print to standard error how the node at this path got its value, step by step
    #[arg(long, value_name = "PATH")]
    pub(crate) trace: Option<String>,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

/// Evaluate an expression, and print its value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass spiff eval 'map[[1..3]|x|->x * x]'
  windlass spiff eval 'host.name' --document values.yaml")]
pub(crate) struct EvalArgs {
    /// The expression, without (( and ))
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: String,

    /// A document whose fields the expression can use; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) document: Option<String>,

    /// Print JSON instead of YAML
    #[arg(long)]
    pub(crate) json: bool,

    /// Define each field of this YAML file as a name that the expression can use
    #[arg(long, value_name = "FILE")]
    pub(crate) bindings: Option<String>,

    /// Define a name that the expression can use, and its value; a.b=x defines a map
    #[arg(short = 'D', long, value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

/// Print the canonical form of an expression, or its errors.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass spiff parse 'a.b + 1'")]
pub(crate) struct ParseArgs {
    /// The expression, without (( and ))
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: String,
}

/// Print a document in canonical form, as YAML or JSON.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass spiff convert values.yaml --json
  windlass spiff convert - --path hosts.[0] < values.yaml")]
pub(crate) struct ConvertArgs {
    /// The document; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,

    /// Print JSON instead of YAML
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only the value at this path
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,

    /// Print the entries of a list as documents
    #[arg(long)]
    pub(crate) split: bool,
}

/// Compare two documents by their structure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass spiff diff old.yaml new.yaml")]
pub(crate) struct DiffArgs {
    /// The first document
    #[arg(value_name = "A")]
    pub(crate) a: String,

    /// The second document
    #[arg(value_name = "B")]
    pub(crate) b: String,
}
