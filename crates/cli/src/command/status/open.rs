//! The unfinished process of an assembly, and the undecided calls of the assembly.

use windlass::model::AssemblyName;
use windlass::view::status::{AssemblyView, UndecidedView};

use super::super::pairs;
use crate::alike;
use crate::output::{BAD, ODD, say, styled};

/// Prints one line about the unfinished or cancelled process of an assembly. Prints nothing if there is no such process.
/// `lead` is the indentation of the line.
pub(super) fn print_process(lead: &str, assembly: &AssemblyView) {
    if let Some(process) = &assembly.process {
        let how = match &process.runs {
            Some(holder) => format!("is run by {holder}"),
            None => format!("was interrupted; `windlass retry {}` resumes it", assembly.name),
        };
        let batches = process.batches.iter().map(|batch| format!(", {batch}"));
        let pauses =
            process.pauses.iter().map(|pause| format!(", {} begins at {}", pause.before, pause.until));
        let rolling: String = batches.chain(pauses).collect();
        say!("{lead}{}", styled(ODD, format!("{} {} {how}{rolling}", process.id, process.intent)));
    } else if let Some(cancelled) = &assembly.cancelled {
        let how = format!("was cancelled; `windlass retry {}` resumes it", assembly.name);
        say!("{lead}{}", styled(ODD, format!("{} {} {how}", cancelled.id, cancelled.intent)));
    }
}

/// Prints the additional nodes of an assembly: nodes that a group has only during a rolling change.
pub(super) fn print_additional(assembly: &AssemblyView) {
    if assembly.additional.is_empty() {
        return;
    }
    let names = alike::named(assembly.additional.iter());
    let (is, it) = if assembly.additional.len() == 1 {
        ("is an additional node", "it")
    } else {
        ("are additional nodes", "them")
    };
    let why = match &assembly.process {
        Some(process) if process.runs.is_some() => "while the others change".to_owned(),
        _ => format!("of a change that has not completed; the next `windlass up` removes {it}"),
    };
    say!("  {}", styled(ODD, format!("{names} {is} {why}")));
}

/// Prints the undecided calls of an assembly, with the commands that decide them.
pub(super) fn print_undecided(assembly: &AssemblyName, undecided: &[UndecidedView], whole: bool) {
    // Operations are not grouped, because each operation is shown with its relationship.
    let key = |call: &&UndecidedView| {
        let alone = call.relationship.is_none();
        alone.then(|| (alike::pattern(call.element.local()), call.action.clone()))
    };
    for calls in alike::put_together_unless(whole, undecided, key) {
        let (names, action) = (alike::named(calls.iter().map(|call| &call.element)), &calls[0].action);
        let of = match (&calls[0].relationship, &calls[0].pair) {
            (Some(relationship), Some(pair)) => format!(" of {relationship}, {}", pairs::between_two(pair)),
            _ => String::new(),
        };
        say!("  {}", styled(BAD, format!("{names} {action}{of}: its outcome is unknown")));
        // If a part has several undecided calls, the printed command names the call by its id, because the
        // calls may have ended differently.
        let shares = |call: &UndecidedView| call.element == calls[0].element && call.call != calls[0].call;
        let one =
            if undecided.iter().any(shares) { format!(" --of {}", calls[0].call) } else { String::new() };
        say!("    check it, then run `windlass retry {assembly}{one} --assume done`, `not-done` or `failed`");
    }
}
