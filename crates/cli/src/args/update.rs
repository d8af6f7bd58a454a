//! Commands about updates of instance documents.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::flags::PrintArgs;

/// Apply, combine and compare updates, as the scripts of components print them.
///
/// An update is a map: plain fields replace fields of the document, `$set` and `$unset` change paths, and `$pushAll` appends
/// to lists. Documents and updates are files in YAML or JSON; `-` is standard input. Nothing is stored. To update an
/// assembly, use `windlass up`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass update apply instance.yaml update.yaml
  windlass update diff before.json after.json --untyped")]
pub(crate) struct UpdateArgs {
    #[command(subcommand)]
    pub(crate) command: UpdateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UpdateCommand {
    Apply(UpdateApplyArgs),
    Compose(UpdateComposeArgs),
    Diff(UpdateDiffArgs),
    Invert(UpdateInvertArgs),
    Conflicts(UpdateConflictsArgs),
}

/// The rules for updates.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct RulesArgs {
    /// Accept any document, not only the document of an instance
    #[arg(long)]
    pub(crate) untyped: bool,

    /// Also accept operations that scripts are not allowed to use; `diff` and `invert` print such operations
    #[arg(long, conflicts_with = "untyped")]
    pub(crate) trusted: bool,
}

/// Apply updates to a document, in order, and print the result.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass update apply instance.yaml update.yaml
  windlass update apply instance.yaml first.yaml second.yaml --format json
  windlass update apply any.json - --untyped < update.json")]
pub(crate) struct UpdateApplyArgs {
    /// The document
    #[arg(value_name = "DOC")]
    pub(crate) document: PathBuf,

    /// The updates
    #[arg(value_name = "UPDATE", required = true)]
    pub(crate) updates: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Combine several updates into one update with the same effect as all of them in order, and print it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass update compose first.yaml second.yaml
  windlass update compose first.json second.json third.json --untyped")]
pub(crate) struct UpdateComposeArgs {
    /// The updates
    #[arg(value_name = "UPDATE", required = true)]
    pub(crate) updates: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Print the update that changes one document into another.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass update diff before.yaml after.yaml
  windlass update diff before.json after.json --untyped --format json")]
pub(crate) struct UpdateDiffArgs {
    /// The document before the change
    #[arg(value_name = "DOC")]
    pub(crate) from: PathBuf,

    /// The document after the change
    #[arg(value_name = "DOC")]
    pub(crate) to: PathBuf,

    /// Accept any document, not only the document of an instance
    #[arg(long)]
    pub(crate) untyped: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Print the update that undoes another one.
///
/// DOC is the document before the update. An update that appends can't be undone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass update invert instance.yaml update.yaml > undo.yaml
  windlass update invert any.json update.json --untyped")]
pub(crate) struct UpdateInvertArgs {
    /// The document
    #[arg(value_name = "DOC")]
    pub(crate) document: PathBuf,

    /// The update
    #[arg(value_name = "UPDATE")]
    pub(crate) update: PathBuf,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// List the conflicts of two updates: the paths that are changed by both updates.
///
/// Updates without conflicts have the same result in both orders.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass update conflicts first.yaml second.yaml
  windlass update conflicts first.json second.json --untyped --format json")]
pub(crate) struct UpdateConflictsArgs {
    /// An update
    #[arg(value_name = "UPDATE")]
    pub(crate) first: PathBuf,

    /// Another update
    #[arg(value_name = "UPDATE")]
    pub(crate) second: PathBuf,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
