//! `windlass plan`: prints the plan of an `up`, and explains the waits of a step.

pub(crate) mod listing;
mod why;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use windlass::lifecycle::{
    Counts, DeclaredChange, Diff, Effect, ElementChange, ElementChangeKind, PackageDiff,
};
use windlass::model::{ElementName, StepId};
use windlass::source::Diagnostics;
use windlass::view::plan::{DriftView, PlanView, StepView, UnfinishedProcess};
use windlass::{AssemblyInput, Windlass};

use self::listing::{Listing, Waits};
use super::{fail, fail_of_file, input, open, parts_contradict, plural, print_json};
use crate::alike;
use crate::args::{Format, PlanArgs};
use crate::output::{BAD, DIM, GOOD, ODD, STRONG, say, styled, tell};
use crate::{diagnostics, exit};

pub(crate) async fn run(args: PlanArgs) -> ExitCode {
    if parts_contradict(&args.parts) {
        return exit::wrong_input();
    }
    let input = match input(&args.assembly) {
        Ok(input) => args.parts.given_to(input).refresh(args.refresh.within()),
        Err(code) => return code,
    };
    let windlass = match open(Some(&args.assembly.file), None, "plan") {
        Ok(windlass) => windlass,
        Err(error) => return fail_of_file(&error, &args.assembly.file).await,
    };
    let planned = made(&windlass, &input, args.output.as_deref()).await;
    let closed = windlass.close().await;
    match planned.and_then(|planned| closed.map(|()| planned)) {
        Ok((plan, warnings, saved)) => {
            diagnostics::print(warnings.iter());
            if let Some(step) = &args.why {
                return why::explain(&plan, step, args.print.format);
            }
            let code = show_steps(&plan, args.print.format, args.detailed_exitcode, args.all);
            if let Some(how) = saved {
                tell!("{how}");
            }
            code
        }
        Err(error) => fail(&error),
    }
}

/// Makes a plan. If `file` is given, saves the plan to this file, and also returns how to execute the saved plan.
pub(crate) async fn made(
    windlass: &Windlass,
    input: &AssemblyInput,
    file: Option<&Path>,
) -> Result<(PlanView, Diagnostics, Option<String>), windlass::Error> {
    let Some(file) = file else {
        let (view, warnings) = windlass.plan(input).await?;
        return Ok((view, warnings, None));
    };
    let (view, saved, warnings) = windlass.plan_to_save(input).await?;
    saved.write(file)?;
    let options = saved.secrets().fold(String::new(), |options, name| options + " -p " + name + "=@FILE");
    Ok((view, warnings, Some(how_to_apply(file, &options))))
}

/// Returns how to execute a saved plan. `options` contains the options that the command needs.
pub(crate) fn how_to_apply(file: &Path, options: &str) -> String {
    format!("saved; execute it with `windlass apply {}{options}`", file.display())
}

/// Prints a plan, and returns the exit code. If `detailed` is set, the exit code depends on the plan:
///
/// - The exit code is 3 if the plan would change something.
/// - If the plan would change nothing, but the health of a part is unknown, the exit code is 1. The part may have
///   changed.
pub(crate) fn show(plan: &PlanView, format: Format, detailed: bool) -> ExitCode {
    show_steps(plan, format, detailed, false)
}

fn show_steps(plan: &PlanView, format: Format, detailed: bool, whole: bool) -> ExitCode {
    warn_unknown(plan);
    tell_unfinished(plan);
    let code = if format == Format::Json { print_json(plan) } else { print(plan, whole) };
    let changes = plan.calling().next().is_some()
        || !plan.changes.is_empty()
        || !plan.protection.is_empty()
        || plan.unfinished.is_some();
    if !detailed || code != exit::DONE {
        return code;
    }
    let unknown = plan.drift.iter().flatten().any(|part| part.well.is_none());
    match (changes, unknown) {
        (true, _) => exit::changes(),
        (false, true) => {
            tell!("no changes found, but the parts that can't be checked may have changed: exit code 1");
            exit::FAILED
        }
        (false, false) => exit::DONE,
    }
}

/// Maximum number of lines in the lists of changes and steps that a command prints before it executes a plan.
/// A longer list is cut to `FEW_LISTED` lines.
pub(crate) const MOST_LISTED: usize = 100;
pub(crate) const FEW_LISTED: usize = 20;

/// Prints a list of the changes, then notes about packages and protection, and then the counts of all changes.
/// Destructive changes come first in the list.
///
/// A list with more than [`MOST_LISTED`] lines is cut to [`FEW_LISTED`] lines. If the destructive changes alone
/// need more lines, the list is cut after the last destructive change.
pub(crate) fn print_first_changes(plan: &PlanView) {
    let lines = lines(&plan.changes);
    let lost = lines.iter().filter(|(effect, _)| effect.is_destructive()).count();
    let listed = if lines.len() > MOST_LISTED { lost.max(FEW_LISTED) } else { lines.len() };
    print_lines(&lines[..listed]);
    if listed < lines.len() {
        say!("  … and {} more", lines.len() - listed);
    }
    print_notes(&plan.changes);
    print_protection(plan);
    print_counts(plan.counts);
}

/// Prints the parts that become protected, or are no longer protected.
fn print_protection(plan: &PlanView) {
    for change in &plan.protection {
        let how = if change.protected { "protected" } else { "no longer protected" };
        say!("  {}", styled(ODD, format!("~ {} {how}", change.part.local())));
    }
}

/// Prints the destructive changes, such as the removal of a part, and the counts of all changes. Also prints the
/// parts that are created again because they no longer exist.
pub(crate) fn print_destructive(changes: &Diff) {
    let is_shown = |change: &&ElementChange| {
        change.effect().is_destructive() || change.kind == ElementChangeKind::Recreated
    };
    let elements = changes.elements.iter().filter(is_shown).cloned().collect();
    let relationships = changes.relationships.iter().filter(|change| change.effect().is_destructive());
    let shown = Diff { elements, relationships: relationships.cloned().collect(), ..Diff::default() };
    print_lines(&lines(&shown));
    print_counts(Counts::of(changes));
}

/// Prints all changes and their counts.
fn print_changes(plan: &PlanView) {
    print_all_changes(&plan.changes);
    print_notes(&plan.changes);
    print_protection(plan);
    print_counts(plan.counts);
}

/// Maximum number of changed files that are listed for a package. If more files have changed, the list ends with
/// the number of the remaining files.
const FILES: usize = 20;

/// Prints the changed files of packages, and the parts that keep an outdated package.
fn print_notes(changes: &Diff) {
    for PackageDiff { descriptor, parts, drivers, files } in &changes.packages {
        say!("  package {descriptor} of {}:", alike::named(parts));
        if *drivers {
            say!("    {}", styled(ODD, "~ drivers or their properties"));
        }
        for file in files.iter().take(FILES) {
            say!("    {}", styled(ODD, file));
        }
        if let Some(more @ 1..) = files.len().checked_sub(FILES) {
            say!("    … and {}", plural(more, "more file"));
        }
    }
    for note in changes.notes() {
        say!("  {}", styled(ODD, note));
    }
}

fn print_counts(counts: Counts) {
    if !counts.is_empty() {
        say!("{counts}");
    }
}

/// Prints the changes that the plan omits.
pub(crate) fn print_undone(plan: &PlanView) {
    if plan.undone.is_empty() {
        return;
    }
    if plan.heals {
        let retry = format!("windlass retry {}", plan.assembly);
        say!("not in the plan, because `heal` replaces no other parts; `{retry}` would also do:");
    } else {
        say!("not in the plan, because of `--target` or `--except`; without them it would also do:");
    }
    for (_, line) in lines(&plan.undone) {
        say!("{}", styled(DIM, crate::output::indent(&line, "  ").trim_end()));
    }
}

/// Prints all changes, destructive ones first.
pub(crate) fn print_all_changes(changes: &Diff) {
    print_lines(&lines(changes));
}

fn print_lines(lines: &[(Effect, String)]) {
    for (effect, text) in lines {
        let style = match effect {
            Effect::Added => GOOD,
            effect if effect.is_destructive() => BAD,
            _ => ODD,
        };
        for line in text.lines() {
            say!("  {}", styled(style, line));
        }
    }
}

/// Returns the lines for changes. The lines for destructive changes come first. Equal changes of similar parts share a
/// line.
fn lines(changes: &Diff) -> Vec<(Effect, String)> {
    let text = |change: &ElementChange| alike::nameless(&change.to_string(), &change.element);
    let key = |change: &ElementChange| alike::is_numbered(change.element.local()).then(|| text(change));
    let mut lines = Vec::new();
    for alike in alike::put_together(&changes.elements, |change| key(change)) {
        let first = alike[0];
        if alike.len() == 1 {
            lines.push((first.effect(), first.to_string()));
            continue;
        }
        let names = alike::named(alike.iter().map(|change| &change.element));
        // In the text of a change, the part comes first. Only this first occurrence of the pattern is replaced
        // by the names of all parts. Later occurrences belong to the description of the change.
        let line = text(first).replacen(&alike::pattern(first.element.local()), &names, 1);
        lines.push((first.effect(), line));
    }
    lines.extend(changes.relationships.iter().map(|change| (change.effect(), change.to_string())));
    let key = |change: &&DeclaredChange| {
        let element = &change.element;
        alike::is_numbered(element.local()).then(|| alike::nameless(&change.to_string(), element))
    };
    for alike in alike::put_together(&changes.declared, key) {
        let first = alike[0];
        let names = alike::named(alike.iter().map(|change| &change.element));
        lines.push((Effect::Changed, first.to_string().replacen(first.element.local(), &names, 1)));
    }
    lines.sort_by_key(|(effect, _)| *effect);
    lines
}

/// Tells the user about an unfinished process of the assembly. The process is still running, or was interrupted.
fn tell_unfinished(plan: &PlanView) {
    let Some(UnfinishedProcess { id, intent, runs, .. }) = &plan.unfinished else { return };
    match runs {
        Some(holder) => tell!(
            "note: {id} {intent} is run by {holder}; this plan does not contain the changes that {id} still makes"
        ),
        None => tell!(
            "note: {id} {intent} was interrupted, and its last calls may still change parts; this plan does not contain \
             these changes; `windlass retry {}` resumes {id}",
            plan.assembly
        ),
    }
}

/// Warns about the parts whose condition is unknown. All parts with the same reason share a line.
pub(crate) fn warn_unknown(plan: &PlanView) {
    let mut reasons: Vec<(String, Vec<&ElementName>)> = Vec::new();
    for part in plan.drift.iter().flatten().filter(|part| part.well.is_none()) {
        let seen = alike::nameless(&part.seen, &part.element);
        match reasons.iter_mut().find(|(known, _)| *known == seen) {
            Some((_, parts)) => parts.push(&part.element),
            None => reasons.push((seen, vec![&part.element])),
        }
    }
    for (seen, parts) in reasons {
        tell!("warning: {}: {seen}; planned by the records", alike::named(parts));
    }
}

/// Prints the parts that are gone or broken according to their health checks.
pub(crate) fn print_found(plan: &PlanView, whole: bool) {
    let found = plan.drift.iter().flatten().filter(|part| part.well == Some(false));
    let seen = |part: &DriftView| alike::nameless(&part.seen, &part.element);
    let key = |part: &&DriftView| Some(seen(part));
    for parts in alike::put_together_unless(whole, found, key) {
        let first = parts[0];
        let seen = if parts.len() > 1 { seen(first) } else { first.seen.clone() };
        let names = alike::named(parts.iter().map(|part| &part.element));
        say!("  {}", styled(BAD, format!("! {names}: {seen}")));
    }
}

/// If not all checked parts are healthy, prints how many parts were checked, and how many of them are healthy.
fn print_checked(drift: &[DriftView]) {
    let well = drift.iter().filter(|part| part.well == Some(true)).count();
    if well < drift.len() {
        say!("{} checked, {well} as recorded", plural(drift.len(), "part"));
    }
}

fn print(plan: &PlanView, whole: bool) -> ExitCode {
    let name = styled(STRONG, &plan.assembly);
    print_found(plan, whole);
    print_checked(plan.drift.as_deref().unwrap_or_default());
    let calling: Vec<&StepView> = plan.calling().collect();
    if calling.is_empty() {
        say!("{name}: nothing to {}", if plan.changes.is_empty() { "do" } else { "call" });
        print_changes(plan);
        print_undone(plan);
        return exit::DONE;
    }
    print_changes(plan);
    say!("{name}: {}, up to {} at once", plural(calling.len(), "step"), plan.widest);
    Listing::new(&calling, Waits::Shown, whole).print();
    let silent = plan.steps.len() - calling.len();
    if silent > 0 {
        let change = if silent == 1 { "changes" } else { "change" };
        say!("and {} that only {change} a state", plural(silent, "step"));
    }
    // `critical_path` can contain steps that call nothing. The printed list of steps leaves these steps out,
    // so the printed chain leaves them out, too.
    let listed: BTreeSet<StepId> = calling.iter().map(|step| step.id).collect();
    let path: Vec<_> = plan.critical_path.iter().copied().filter(|step| listed.contains(step)).collect();
    say!("longest chain: {}", chain(&path, whole));
    print_undone(plan);
    exit::DONE
}

/// Number of steps that are shown at each end of a long chain of dependencies.
const ENDS: usize = 10;

fn chain(steps: &[StepId], whole: bool) -> String {
    let written = |steps: &[StepId]| steps.iter().map(StepId::to_string).collect::<Vec<_>>().join(" → ");
    if whole || steps.len() <= 3 * ENDS {
        return written(steps);
    }
    let (first, last) = (&steps[..ENDS], &steps[steps.len() - ENDS..]);
    format!("{} → … → {} ({})", written(first), written(last), plural(steps.len(), "step"))
}
