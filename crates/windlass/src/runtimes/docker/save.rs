//! Images of this machine's container engines, saved to a file.

use tempfile::NamedTempFile;
use windlass_executor::docker::{Engine, EngineChoice};

use super::engine::environment;
use super::settings::COMMON_ENGINES;
use crate::error::chain;
use crate::runtimes::factory::Variables;

/// Saves an image of Docker or Podman to a new file, as an archive of `docker save`. If the first engine does not save
/// the image, the function asks the next engine. Each engine gets a file of its own from `new_file`, because a failed
/// engine may have written a part of the archive.
///
/// # Errors
/// The outer error is an error of `new_file`. The inner error contains, for each of the engines, the reason why it did
/// not save the image.
pub(crate) async fn save<E>(
    image: &str,
    new_file: impl Fn() -> Result<NamedTempFile, E>,
    variables: &Variables,
) -> Result<Result<NamedTempFile, Vec<String>>, E> {
    let environment = environment(variables);
    let mut reasons = Vec::new();
    for name in COMMON_ENGINES {
        let mut file = new_file()?;
        let saved = async {
            let choice: EngineChoice = name.parse().map_err(|error| chain(&error))?;
            let engine = Engine::connect(&choice, &environment).await.map_err(|error| chain(&error))?;
            if engine.image(image).await.map_err(|error| chain(&error))?.is_none() {
                return Err(format!("{name} doesn't have it"));
            }
            engine.save_image(image, file.as_file_mut()).await.map_err(|error| chain(&error))
        };
        match saved.await {
            Ok(()) => return Ok(Ok(file)),
            Err(reason) => reasons.push(reason),
        }
    }
    Ok(Err(reasons))
}
