//! `windlass image`.

use std::path::PathBuf;
use std::process::ExitCode;

use windlass::images::{Contents, ImageView, Images, ImagesError, ImagesView, Prune};

use crate::args::{Format, ImageArgs, ImageBuildArgs, ImageCommand};
use crate::exit;
use crate::failure::fault;
use crate::output::say;

/// The unit of displayed sizes.
const MIB: f64 = 1024.0 * 1024.0;

pub(crate) async fn run(args: ImageArgs) -> ExitCode {
    let Some(folder) = folder() else {
        fault!("there is no place for images: set HOME or XDG_CACHE_HOME");
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

/// Returns the folder of the images.
fn folder() -> Option<PathBuf> {
    let cache = super::environment("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| super::environment("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache.map(|cache| cache.join("windlass/images"))
}

fn act(images: &Images, command: ImageCommand) -> Result<ExitCode, ImagesError> {
    match command {
        ImageCommand::Build(args) => {
            let output = args.output.clone();
            let (name, contents) = contents(args);
            tell_each(&images.build(&contents, &name, output.as_deref())?);
        }
        ImageCommand::Import(args) => tell_each(&images.import(&args.path, args.name.as_deref())?),
        ImageCommand::Ls(args) => {
            let view = images.list()?;
            match args.print.format {
                Format::Json => return Ok(super::print_json(&view)),
                Format::Human => view.images.iter().for_each(show),
            }
        }
        ImageCommand::Prune(args) => {
            let pruned = images.prune(if args.all { Prune::Unused } else { Prune::Unnamed })?;
            for id in &pruned.removed {
                say!("removed {id}");
            }
            for id in &pruned.in_use {
                say!("kept {id}: a job uses it");
            }
            let removed = super::plural(pruned.removed.len(), "image");
            say!("{removed} removed, {} freed", size(pruned.bytes));
        }
    }
    Ok(exit::DONE)
}

fn contents(args: ImageBuildArgs) -> (String, Contents) {
    let contents = args.folder.map_or(Contents::Busybox, Contents::Folder);
    (args.name, contents)
}

fn tell_each(view: &ImagesView) {
    view.images.iter().for_each(show);
}

fn show(image: &ImageView) {
    let names = if image.names.is_empty() { "(no name)".to_owned() } else { image.names.join(" ") };
    say!("{}  {:>10}  {}  {names}", image.id, size(image.bytes), image.architecture);
}

#[expect(clippy::cast_precision_loss, reason = "it is shown to one digit")]
fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB)
}

fn refuse(error: &ImagesError) -> ExitCode {
    super::complain(error, None);
    match error {
        // The host is the problem, not the input.
        ImagesError::Write { .. } | ImagesError::NoBusybox => exit::FAILED,
        _ => exit::wrong_input(),
    }
}
