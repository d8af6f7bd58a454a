//! Temporary.
use std::process::ExitCode;
use windlass::applications::{Publication, ServiceName};
use crate::args::app::AppCommand;
use crate::exit;
pub(crate) async fn run(command: AppCommand) -> ExitCode {
    match command {
        AppCommand::Publish { manifest, name, scripts } => {
            let w = super::open(None, None, "app").unwrap();
            match w.applications().publish(Publication::new(manifest).title(name).scripts(scripts)).await {
                Ok(_) => exit::DONE,
                Err(e) => super::fail(&e),
            }
        }
        AppCommand::Service { name, location } => {
            let w = super::open(None, None, "app").unwrap();
            let s = match (name, location) {
                (Some(n), _) => ServiceName::Assembly(n.parse().unwrap()),
                (_, Some(l)) => ServiceName::Location(l),
                _ => panic!(),
            };
            match w.environments().add_service(&"default".parse().unwrap(), &s, false).await {
                Ok(_) => exit::DONE,
                Err(e) => super::fail(&e),
            }
        }
        AppCommand::Launch(command) => super::launch::run(command).await,
    }
}
