//! Images for sandboxes.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::flags::PrintArgs;

/// Build and manage images for sandboxes, without an engine or a registry.
///
/// Images are unpacked in the folder windlass/images of the user's cache and verified by their digests.
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

/// Build an image from a folder, or from this host's static busybox.
///
/// The same files produce the same image, byte for byte.
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

    /// Instead of DIR, use this host's static busybox: a shell and the usual small tools
    #[arg(long, conflicts_with = "folder")]
    pub(crate) busybox: bool,

    /// Name the image; the default tag is `latest`
    #[arg(short = 't', long = "tag", value_name = "NAME[:TAG]")]
    pub(crate) name: String,

    /// Also write the image to a file, in the format of `docker load`
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Import images from a file or folder.
///
/// The content is an archive of `docker save`, an OCI layout, or an artifact set of a component archive. Each of
/// them is a folder or a tar file, and gzip or zstd may compress the tar file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image import python.tar
  windlass image import layout/ -t tool:3")]
pub(crate) struct ImageImportArgs {
    /// The file or folder
    #[arg(value_name = "FILE|DIR")]
    pub(crate) path: PathBuf,

    /// Add a name to the names that the file declares
    #[arg(short = 't', long = "tag", value_name = "NAME[:TAG]")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// List images.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image ls
  windlass image ls --format json")]
pub(crate) struct ImageLsArgs {
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Remove images without a name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  windlass image prune
  windlass image prune --all")]
pub(crate) struct ImagePruneArgs {
    /// Also remove images that have names, except those that a job uses
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}
