//! `windlass forget`: removes the records of an assembly or a part, without running scripts.

use std::process::ExitCode;
use std::time::Duration;

use windlass::Windlass;
use windlass::forget::ForgetView;
use windlass::model::{AssemblyName, ElementName};

use super::consent::{can_ask, confirm};
use super::{fail, open_against, plural, print_json};
use crate::args::{DryRunArgs, ForgetArgs, Format};
use crate::failure::fault;
use crate::output::{DIM, STRONG, one_line, say, styled};
use crate::{codes, exit, signals};

pub(crate) async fn run(args: ForgetArgs) -> ExitCode {
    let ForgetArgs { name, part, yes, force, dry, print } = args;
    let windlass = match open_against(None, None, &format!("forget {name}"), force) {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    let part = match &part {
        Some(part) => match windlass.part(&name, part).await {
            Ok(part) => Some(part),
            Err(error) => return fail(&error),
        },
        None => None,
    };
    Forgetting { yes, dry: &dry, format: print.format }.run(&windlass, &name, part.as_ref()).await
}

/// The options with which records are removed.
pub(super) struct Forgetting<'a> {
    pub(super) yes: bool,
    pub(super) dry: &'a DryRunArgs,
    pub(super) format: Format,
}

impl Forgetting<'_> {
    /// Removes the records of an assembly or of a part. Asks first, unless the user has agreed in advance.
    pub(super) async fn run(
        self,
        windlass: &Windlass,
        name: &AssemblyName,
        part: Option<&ElementName>,
    ) -> ExitCode {
        let Self { yes, dry, format } = self;
        if dry.dry_run || !yes {
            let view = match windlass.upkeep().can_forget(name, part).await {
                Ok(view) => view,
                Err(error) => return fail(&error),
            };
            if dry.dry_run {
                let code = show(&view, format);
                return if dry.detailed_exitcode && code == exit::DONE { exit::changes() } else { code };
            }
            if !can_ask(format) {
                fault!(
                    codes::FORGET,
                    "`forget` removes records that can't be restored ({}); review them with `--dry-run`, and agree to it with `--yes`",
                    plural(view.resources.len(), "part")
                );
                return exit::wrong_input();
            }
            let _shown = show(&view, format);
            let question = format!("{}: forget this?", styled(STRONG, name));
            if let Err(code) = confirm(&question, &signals::listen(Duration::ZERO)).await {
                return code;
            }
        }
        match windlass.upkeep().forget(name, part).await {
            Ok(view) => show(&view, format),
            Err(error) => fail(&error),
        }
    }
}

fn show(view: &ForgetView, format: Format) -> ExitCode {
    if format == Format::Json {
        return print_json(view);
    }
    for resource in &view.resources {
        let natural = resource.natural_id.iter().map(|id| format!(" {}", styled(DIM, one_line(id))));
        say!("  {} {}{}", resource.name.local(), resource.state, natural.collect::<String>());
    }
    let what = view.part.as_ref().map_or(view.assembly.as_str(), |part| part.local());
    let name = styled(STRONG, what);
    let relationships = match view.relationships {
        0 => String::new(),
        count => format!(" and {}", plural(count, "relationship")),
    };
    let parts = plural(view.resources.len(), "part");
    if view.done {
        say!("{name} is forgotten; windlass no longer manages {parts}{relationships}");
    } else {
        say!("{name} would be forgotten; windlass would no longer manage {parts}{relationships}");
    }
    exit::DONE
}
