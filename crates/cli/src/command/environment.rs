//! `windlass env`: shows and changes environments, with their services, markers and properties.

use std::process::ExitCode;

use windlass::Error;
use windlass::applications::{EnvironmentListView, EnvironmentView, ServiceName};
use windlass::manifest::environment::Choice;
use windlass::model::pins::Name;
use windlass::secret::Sensitive;
use windlass::wiring::ServiceReferenceView;

use super::{collected, fail, open, plural, print_json, status};
use crate::args::{
    EnvArgs, EnvBindArgs, EnvCommand, EnvMarkerCommand, EnvPropertyCommand, EnvPropertySetArgs,
    EnvServiceCommand, Format, ServiceArgs,
};
use crate::failure::fault;
use crate::output::{BAD, DIM, STRONG, say, styled, tell};
use crate::{codes, diagnostics, exit};

pub(crate) async fn run(args: EnvArgs) -> ExitCode {
    act(args.command).await.unwrap_or_else(|error| fail(&error))
}

async fn act(command: EnvCommand) -> Result<ExitCode, Error> {
    let windlass = open(None, None, "env")?;
    let environments = windlass.environments();
    let (view, format) = match command {
        EnvCommand::Ls(args) => return Ok(list(&environments.list().await?, args.print.format)),
        EnvCommand::Rm(args) => {
            environments.remove(&args.environment).await?;
            let view = environments.list().await?;
            if args.print.format == Format::Json {
                return Ok(print_json(&view));
            }
            say!("{} is removed", styled(STRONG, &args.environment));
            return Ok(exit::DONE);
        }
        EnvCommand::Create(args) => (environments.create(&args.environment).await?, args.print.format),
        EnvCommand::Show(args) => (environments.show(&args.environment).await?, args.print.format),
        EnvCommand::Import(args) => {
            let (view, warnings) = environments.import(&args.environment, &args.file).await?;
            diagnostics::print(warnings.iter());
            (view, args.print.format)
        }
        EnvCommand::Service(args) => match args.command {
            EnvServiceCommand::Add(args) => {
                let name = service(&args.service);
                let view = environments.add_service(&args.service.environment, &name, args.replace).await?;
                (view, args.print.format)
            }
            EnvServiceCommand::Rm(args) => {
                let name = service(&args.service);
                let view = environments.remove_service(&args.service.environment, &name).await?;
                (view, args.print.format)
            }
        },
        EnvCommand::Bind(args) => {
            let EnvBindArgs { environment, name, reference, service, print, .. } = args;
            let view = match service {
                Some(chosen) => {
                    let choice = Choice { service: name, component: reference, chosen };
                    environments.bind(&environment, &choice).await?
                }
                None => environments.unbind(&environment, &name, &reference).await?,
            };
            (view, print.format)
        }
        EnvCommand::Marker(args) => match args.command {
            EnvMarkerCommand::Set(args) => {
                (environments.set_marker(&args.environment, &args.marker).await?, args.print.format)
            }
            EnvMarkerCommand::Rm(args) => {
                (environments.remove_marker(&args.environment, &args.marker).await?, args.print.format)
            }
        },
        EnvCommand::Property(args) => match args.command {
            EnvPropertyCommand::Set(args) => {
                let (property, value) = match given(&args) {
                    Ok(given) => given,
                    Err(code) => return Ok(code),
                };
                let EnvPropertySetArgs { environment, kind, secret, print, .. } = args;
                let view = environments.set_property(&environment, &property, &kind, &value, secret).await?;
                (view, print.format)
            }
            EnvPropertyCommand::Rm(args) => {
                (environments.remove_property(&args.environment, &args.property).await?, args.print.format)
            }
        },
    };
    Ok(show(&view, format))
}

fn service(args: &ServiceArgs) -> ServiceName {
    match (&args.name, &args.location) {
        (Some(name), _) => ServiceName::Assembly(name.clone()),
        (None, location) => ServiceName::Location(location.clone().unwrap_or_default()),
    }
}

/// Reads the name and the value of a property from the arguments. On an error, prints it and returns the exit
/// code.
fn given(args: &EnvPropertySetArgs) -> Result<(Name, Sensitive<String>), ExitCode> {
    let parameters = collected("", std::slice::from_ref(&args.property), &[], &[])?;
    let (name, value) = parameters.values.into_iter().next().expect("one was given");
    let property: Name = match name.parse() {
        Ok(property) => property,
        Err(error) => {
            fault!(codes::COMMAND_LINE, "{error}");
            return Err(exit::wrong_input());
        }
    };
    if args.secret && parameters.open.contains(&name) {
        tell!(
            "warning: the value of `{name}` is visible in the process list and the history of the shell; `{name}=@FILE` and `{name}=-` are not"
        );
    }
    Ok((property, Sensitive::new(value.as_str().unwrap_or_default().to_owned())))
}

fn list(view: &EnvironmentListView, format: Format) -> ExitCode {
    if format == Format::Json {
        return print_json(view);
    }
    let width = view.environments.iter().map(|of| of.name.as_str().len()).max().unwrap_or(0);
    for of in &view.environments {
        let scripting = of.scripting.as_deref().unwrap_or("no scripting service");
        let name = styled(STRONG, format!("{:<width$}", of.name.as_str()));
        say!("{name} {}, {scripting}", plural(of.services, "service"));
    }
    exit::DONE
}

fn show(view: &EnvironmentView, format: Format) -> ExitCode {
    if format == Format::Json {
        return print_json(view);
    }
    say!("{}", styled(STRONG, &view.name));
    match &view.scripting {
        Some(location) => say!("  scripting service: {location}"),
        None => say!(
            "  no scripting service; add a location with `windlass env service add {} --location LOC`",
            view.name
        ),
    }
    for of in &view.services {
        let factory = if of.factory { ", a factory" } else { "" };
        let removed = if of.removed {
            let advice = format!("windlass env service rm {} {}", view.name, of.name);
            styled(BAD, format!(", which has been removed; `{advice}` drops the service"))
        } else {
            String::new()
        };
        say!("  service {} of {}{factory}{removed}", of.name, of.application);
    }
    for reference in &view.references {
        say!("  {}.{} {}", reference.referrer, reference.component, status::service_state(reference));
    }
    let is_shown = |choice: &&Choice| {
        let is_same =
            |of: &ServiceReferenceView| (&of.referrer, &of.component) == (&choice.service, &choice.component);
        view.references.iter().any(is_same)
    };
    for choice in view.bindings.iter().filter(|choice| !is_shown(choice)) {
        say!("  {}.{} is {}", choice.service, choice.component, choice.chosen);
    }
    for marker in &view.markers {
        say!("  marker {marker}");
    }
    for property in &view.properties {
        let value = match &property.value {
            Some(value) => value.to_string(),
            None => "***".to_owned(),
        };
        say!("  property {} = {value} {}", property.name, styled(DIM, &property.kind));
    }
    exit::DONE
}
