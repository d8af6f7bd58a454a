//! `windlass plan`.

use std::process::ExitCode;

use windlass::model::StepId;
use windlass::plan::WaitKind;
use windlass::view::plan::{PlanView, StepView};

use super::{fail, open, order, plural, print_json};
use crate::args::{Format, PlanArgs};
use crate::output::{DIM, STRONG, say, styled};
use crate::{diagnostics, exit};

pub(crate) async fn run(args: PlanArgs) -> ExitCode {
    let order = match order(&args.assembly) {
        Ok(order) => order,
        Err(code) => return code,
    };
    let windlass = match open(Some(&args.assembly.file), None, "plan") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    match windlass.plan(&order).await {
        Ok((plan, warnings)) => {
            diagnostics::print(warnings.iter());
            if args.format == Format::Json { print_json(&plan) } else { print(&plan) }
        }
        Err(error) => fail(&error),
    }
}

fn print(plan: &PlanView) -> ExitCode {
    let name = styled(STRONG, &plan.assembly);
    let calling: Vec<&StepView> = plan.calling().collect();
    if calling.is_empty() {
        say!("{name}: nothing to do");
        return exit::DONE;
    }
    say!("{name}: {}, up to {} at once", plural(calling.len(), "step"), plan.widest);
    let width = calling.iter().map(|step| step.element.local().len()).max().unwrap_or(0);
    for step in &calling {
        let id = styled(DIM, format!("{:>5}", step.id.to_string()));
        say!("{id} {:<width$} {}", step.element.local(), step.action);
        for wait in &step.waits {
            let word = match wait.kind {
                WaitKind::Needs => "needs",
                WaitKind::After => "after",
            };
            let origin = wait.origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
            say!("      {}", styled(DIM, format!("{word} {}{origin}", wait.reason)));
        }
    }
    let silent = plan.steps.len() - calling.len();
    if silent > 0 {
        say!("and {} in which only a state moves on", plural(silent, "step"));
    }
    let path: Vec<String> = plan.critical_path.iter().map(StepId::to_string).collect();
    say!("longest chain: {}", path.join(" → "));
    exit::DONE
}
