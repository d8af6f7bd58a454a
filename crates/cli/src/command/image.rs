//! `windlass image`: builds, imports, lists and removes images for sandboxes.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;

use windlass::images::{Contents, ImageView, Images, ImagesError, Prune};

use crate::args::{Format, ImageArgs, ImageCommand, ImagePruneArgs};
use crate::codes;
use crate::exit;
use crate::failure::fault;
use crate::output::{say, tell};

/// The unit of displayed sizes.
const MIB: f64 = 1024.0 * 1024.0;

pub(crate) async fn run(args: ImageArgs) -> ExitCode {
    let Some(folder) = super::images() else {
        fault!(codes::NO_IMAGE_FOLDER, "there is no place for images: set HOME or XDG_CACHE_HOME");
        return exit::wrong_input();
    };
    // Images are large, and all operations block on the disk.
    let done = tokio::task::spawn_blocking(move || match Images::open(&folder) {
        Ok(images) => act(&images, args.command),
        Err(error) => Err(error),
    });
    match done.await {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => refuse(&error),
        Err(_) => exit::FAILED,
    }
}

fn act(images: &Images, command: ImageCommand) -> Result<ExitCode, ImagesError> {
    let (view, format) = match command {
        ImageCommand::Build(args) => {
            let contents = args.folder.map_or(Contents::Busybox, Contents::Folder);
            let view = images.build(&contents, &args.name, args.output.as_deref())?;
            if args.output.as_deref().is_some_and(is_stdout) {
                // The image itself is written to standard output, so the text goes to standard error.
                view.images.iter().for_each(|image| tell!("{}", line(image)));
                return Ok(exit::DONE);
            }
            (view, args.print.format)
        }
        ImageCommand::Import(args) => (images.import(&args.path, args.name.as_deref())?, args.print.format),
        ImageCommand::Ls(args) => (images.list()?, args.print.format),
        ImageCommand::Prune(args) => return prune(images, &args),
    };
    if format == Format::Json {
        return Ok(super::print_json(&view));
    }
    view.images.iter().for_each(|image| say!("{}", line(image)));
    Ok(exit::DONE)
}

fn prune(images: &Images, args: &ImagePruneArgs) -> Result<ExitCode, ImagesError> {
    let pruned = images.prune(if args.all { Prune::Unused } else { Prune::Unnamed })?;
    if args.print.format == Format::Json {
        return Ok(super::print_json(&pruned));
    }
    for id in &pruned.removed {
        say!("removed {id}");
    }
    for id in &pruned.in_use {
        say!("kept {id}: a job uses it");
    }
    let removed = super::plural(pruned.removed.len(), "image");
    say!("{removed} removed, {} freed", size(pruned.bytes));
    Ok(exit::DONE)
}

/// Tells whether a path leads to the file, pipe or terminal to which this program's standard output is connected. An
/// example is `/dev/stdout`.
fn is_stdout(path: &Path) -> bool {
    let of = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    of(path).is_some_and(|file| of(Path::new("/dev/stdout")) == Some(file))
}

/// Describes an image in one line: its id, size, architecture and names.
fn line(image: &ImageView) -> String {
    let names = if image.names.is_empty() { "(no name)".to_owned() } else { image.names.join(" ") };
    format!("{}  {:>10}  {}  {names}", image.id, size(image.bytes), image.architecture)
}

#[expect(clippy::cast_precision_loss, reason = "it is shown to one digit")]
fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB)
}

/// Prints an error of the image store, and returns the exit code for this error.
pub(super) fn refuse(error: &ImagesError) -> ExitCode {
    super::complain(error, Some(error.code()));
    match error {
        // These errors are problems of the host, not of the input.
        ImagesError::Write { .. } | ImagesError::NoBusybox => exit::FAILED,
        _ => exit::wrong_input(),
    }
}
