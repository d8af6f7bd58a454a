//! Images of this machine's container engines, saved to a file.

use std::fs::File;

use windlass_executor::docker::{Engine, EngineChoice};

use super::engine::environment;
use super::settings::COMMON_ENGINES;
use crate::error::chain;
use crate::runtimes::factory::Variables;

/// Saves an image of Docker or Podman, as an archive of `docker save`. The function first tries Docker. If Docker
/// does not have the image, or can't save it, the function tries Podman.
///
/// # Errors
/// Returns, for each of the engines, the reason why it did not save the image.
pub(crate) async fn save(image: &str, file: &mut File, variables: &Variables) -> Result<(), Vec<String>> {
    let environment = environment(variables);
    let mut reasons = Vec::new();
    for name in COMMON_ENGINES {
        let saved = async {
            let choice: EngineChoice = name.parse().map_err(|error| chain(&error))?;
            let engine = Engine::connect(&choice, &environment).await.map_err(|error| chain(&error))?;
            if engine.image(image).await.map_err(|error| chain(&error))?.is_none() {
                return Err(format!("{name} doesn't have it"));
            }
            engine.save_image(image, file).await.map_err(|error| chain(&error))
        };
        match saved.await {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons)
}
