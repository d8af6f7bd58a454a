//! The unfinished process of an assembly, and the undecided calls of the assembly.

use std::collections::HashSet;

use windlass::model::{AssemblyName, CallId, ElementName};
use windlass::view::status::{AssemblyView, UndecidedView};

use super::super::pairs;
use crate::alike;
use crate::output::{BAD, ODD, say, styled};

/// Prints one line about the unfinished or cancelled process of an assembly. Prints nothing if there is no such
/// process. `lead` is the indentation of the line.
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

/// Prints the undecided calls of an assembly, with the commands that decide them. With `whole`, each call has its own
/// command. `is_part` tells whether `undecided` contains only the calls of one part. `lead` is the indentation of the
/// lines.
pub(super) fn print_undecided(
    lead: &str,
    assembly: &AssemblyName,
    undecided: &[UndecidedView],
    whole: bool,
    is_part: bool,
) {
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
        say!("{lead}{}", styled(BAD, format!("{names} {action}{of}: its outcome is unknown")));
        let it = if calls.len() == 1 { "it" } else { "them" };
        let of = limit(&calls, undecided, is_part);
        say!(
            "{lead}  check {it}, then run `windlass retry {assembly}{of} --assume done`, `not-done` or `failed`"
        );
    }
}

/// Returns the option `--of` with its value. The option limits the user's answer to the calls in `calls`. Without the
/// option, the answer would also apply to other undecided calls, which the user may not have checked. Returns an empty
/// text if the assembly has no other undecided calls. `is_part` is as in [`print_undecided`].
fn limit(calls: &[&UndecidedView], undecided: &[UndecidedView], is_part: bool) -> String {
    let own: HashSet<&CallId> = calls.iter().map(|call| &call.call).collect();
    if own.len() == undecided.len() && !is_part {
        return String::new();
    }
    // If a part has several undecided calls, the option names the call by its id, because the calls may have ended
    // differently.
    let parts: HashSet<&ElementName> = calls.iter().map(|call| &call.element).collect();
    let shares = undecided.iter().any(|call| parts.contains(&call.element) && !own.contains(&call.call));
    match calls {
        [call] if shares => format!(" --of {}", call.call),
        [call] => format!(" --of {}", call.element.local()),
        _ if shares => " --of CALL".to_owned(),
        _ => " --of PART".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(element: &str, id: &str) -> UndecidedView {
        UndecidedView {
            element: element.parse().unwrap(),
            call: id.parse().unwrap(),
            action: "Start".to_owned(),
            relationship: None,
            pair: None,
        }
    }

    #[test]
    fn an_answer_is_limited_to_the_printed_calls() {
        let [a, b, again] = [call("shop__a", "c1"), call("shop__b", "c2"), call("shop__b", "c3")];
        let said = |calls: &[&UndecidedView], undecided: &[&UndecidedView], is_part| {
            let undecided: Vec<UndecidedView> = undecided.iter().map(|call| (*call).clone()).collect();
            limit(calls, &undecided, is_part)
        };
        for (calls, undecided, is_part, option) in [
            (&[&a][..], &[&a][..], false, ""),
            (&[&a, &b], &[&a, &b], false, ""),
            (&[&a], &[&a], true, " --of a"),
            (&[&a], &[&a, &b], false, " --of a"),
            (&[&b], &[&a, &b, &again], false, " --of c2"),
            (&[&a, &b], &[&a, &b], true, " --of PART"),
            (&[&a, &b], &[&a, &b, &again], false, " --of CALL"),
        ] {
            assert_eq!(said(calls, undecided, is_part), option, "{calls:?} of {undecided:?}");
        }
    }
}
