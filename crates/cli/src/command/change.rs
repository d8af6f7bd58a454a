//! The commands that change an assembly which is there: down, retry, set-state, scale, heal, rollback, cancel.

use std::process::ExitCode;

use windlass::Windlass;
use windlass::engine::Ask;
use windlass::lifecycle::Scale;
use windlass::model::AssemblyName;

use super::{fail, grace, open, open_against, plan, process};
use crate::args::{
    Assumption, CancelArgs, DownArgs, DryRunArgs, HealArgs, HowArgs, RetryArgs, RollbackArgs, RunArgs,
    ScaleArgs, SetStateArgs, Way,
};
use crate::output::say;
use crate::{exit, signals};

/// What is changed, and how it is told.
struct Change<'a> {
    name: &'a AssemblyName,
    /// The command, for others who want the same assembly.
    command: String,
    dry: Option<&'a DryRunArgs>,
    run: &'a RunArgs,
    force: bool,
}

impl Change<'_> {
    async fn run(self, ask: impl AsyncFnOnce(&Windlass) -> Result<Ask, windlass::Error>) -> ExitCode {
        let windlass = match open_against(None, Some(self.run), &self.command, self.force) {
            Ok(windlass) => windlass,
            Err(error) => return fail(&error),
        };
        let ask = match ask(&windlass).await {
            Ok(ask) => ask,
            Err(error) => return fail(&error),
        };
        if let Some(dry) = self.dry.filter(|dry| dry.dry_run) {
            return match windlass.preview(self.name, ask).await {
                Ok(view) => plan::show(&view, self.run.print.format, dry.detailed_exitcode),
                Err(error) => fail(&error),
            };
        }
        let stop = signals::listen(grace(self.run));
        match process::patiently(windlass.change(self.name, ask, &stop)).await {
            Ok(started) => process::run(&windlass, started, &stop, self.run.print.format).await,
            Err(error) => process::give_up(&windlass, &error).await,
        }
    }
}

pub(crate) async fn down(args: DownArgs) -> ExitCode {
    let DownArgs { name, current_packages, force, how } = &args;
    let command = format!("down {name}");
    Change { name, command, dry: Some(&how.dry), run: &how.run, force: force.force }
        .run(async |windlass| match current_packages {
            None => Ok(Ask::Down),
            Some(file) => Ok(Ask::DownWith(windlass.current_packages(name, file, &[]).await?)),
        })
        .await
}

pub(crate) async fn retry(args: RetryArgs) -> ExitCode {
    let RetryArgs { name, assume, how: HowArgs { dry, run } } = &args;
    let command = format!("retry {name}");
    let assume = assume.map(|answer| answer == Assumption::Done);
    Change { name, command, dry: Some(dry), run, force: false }.run(async |_| Ok(Ask::Retry { assume })).await
}

pub(crate) async fn set_state(args: SetStateArgs) -> ExitCode {
    let SetStateArgs { name, to, how } = &args;
    let command = format!("set-state {name} {to}");
    Change { name, command, dry: Some(&how.dry), run: &how.run, force: false }
        .run(async |_| Ok(Ask::SetState(*to)))
        .await
}

pub(crate) async fn scale(args: ScaleArgs) -> ExitCode {
    let ScaleArgs { way, name, component, how } = &args;
    let (word, scale) = match way {
        Way::Out => ("out", Scale::Out),
        Way::In => ("in", Scale::In),
    };
    let command = format!("scale {word} {name} {component}");
    let ask =
        async |windlass: &Windlass| Ok(Ask::Scale { cluster: windlass.part(name, component).await?, scale });
    Change { name, command, dry: Some(&how.dry), run: &how.run, force: false }.run(ask).await
}

pub(crate) async fn heal(args: HealArgs) -> ExitCode {
    let HealArgs { name, part, how } = &args;
    let command = format!("heal {name} {part}");
    let ask = async |windlass: &Windlass| Ok(Ask::Heal(windlass.part(name, part).await?));
    Change { name, command, dry: Some(&how.dry), run: &how.run, force: false }.run(ask).await
}

pub(crate) async fn rollback(args: RollbackArgs) -> ExitCode {
    let RollbackArgs { name, to, force, how } = &args;
    let command = format!("rollback {name}");
    Change { name, command, dry: Some(&how.dry), run: &how.run, force: force.force }
        .run(async |_| Ok(Ask::Rollback(*to)))
        .await
}

pub(crate) async fn cancel(args: CancelArgs) -> ExitCode {
    let windlass = match open(None, None, "cancel") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    if args.dry.dry_run {
        return match windlass.can_cancel(&args.name, args.process).await {
            Ok(()) => {
                say!("{} would be asked to stop", args.process);
                if args.dry.detailed_exitcode { exit::changes() } else { exit::DONE }
            }
            Err(error) => fail(&error),
        };
    }
    match windlass.cancel(&args.name, args.process).await {
        Ok(()) => {
            say!("{} is asked to stop; what runs may end", args.process);
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}
