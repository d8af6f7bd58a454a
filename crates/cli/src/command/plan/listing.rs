//! Printing of a plan's steps, with similar steps grouped into one line.

use std::collections::BTreeSet;

use windlass::model::StepId;
use windlass::plan::WaitKind;
use windlass::view::plan::{StepView, WaitView};

use crate::alike;
use crate::output::{DIM, say, styled};

/// Whether the listing shows the waits of each step: the earlier steps for which the step waits, and the reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The listing shows the waits. Steps that wait for different steps are not grouped.
    Shown,
    /// The listing does not show the waits. Steps are grouped even if they wait for different steps.
    Hidden,
}

/// The printed form of steps: in topological order, with similar steps grouped.
pub(crate) struct Listing<'v> {
    lines: Vec<Vec<&'v StepView>>,
    waits: Waits,
}

impl<'v> Listing<'v> {
    /// Groups steps that do the same to different nodes. If `whole` is set, no steps are grouped.
    pub(crate) fn new(steps: &[&'v StepView], waits: Waits, whole: bool) -> Self {
        let key = |step: &&StepView| {
            if !alike::is_numbered(step.element.local()) {
                return None;
            }
            let shown = waits == Waits::Shown;
            let waits: Vec<String> = step.waits.iter().filter(|_| shown).map(text).collect();
            let nameless = |text: &str| alike::nameless(text, &step.element);
            Some((alike::pattern(step.element.local()), nameless(&step.action), nameless(&waits.join("\n"))))
        };
        Self { lines: alike::put_together_unless(whole, steps.iter().copied(), key), waits }
    }

    /// Returns the number of lines, without the lines for waits.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Removes all lines after the first `lines` lines. A line stands for one step or several similar steps. Returns
    /// the number of steps on the removed lines.
    pub(crate) fn cut(&mut self, lines: usize) -> usize {
        let rest = self.lines.split_off(lines.min(self.lines.len()));
        rest.iter().map(Vec::len).sum()
    }

    /// Prints the steps of the plan.
    pub(crate) fn print(&self) {
        let lines: Vec<(String, String, &[&StepView])> = self
            .lines
            .iter()
            .map(|steps| {
                let names = alike::named(steps.iter().map(|step| &step.element));
                (ids(steps.iter().map(|step| step.id)), names, steps.as_slice())
            })
            .collect();
        let id_width = lines.iter().map(|(ids, ..)| ids.chars().count()).max().unwrap_or(0).max(5);
        let width = lines.iter().map(|(_, names, _)| names.chars().count()).max().unwrap_or(0).min(WIDEST);
        for (ids, names, steps) in lines {
            let first = steps[0];
            let of_all = |text: &str| match steps {
                [_] => text.to_owned(),
                _ => alike::nameless(text, &first.element),
            };
            let ids = styled(DIM, format!("{ids:>id_width$}"));
            say!("{ids} {names:<width$} {}", of_all(&first.action));
            if self.waits == Waits::Shown {
                for wait in &first.waits {
                    say!("{:id_width$} {}", "", styled(DIM, of_all(&text(wait))));
                }
            }
        }
    }
}

/// Maximum width of the column of names. Longer names shift the following text.
const WIDEST: usize = 40;

/// Formats a wait.
fn text(wait: &WaitView) -> String {
    let word = match wait.kind {
        WaitKind::Needs => "needs",
        WaitKind::After => "after",
    };
    let origin = wait.origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
    format!("{word} {}{origin}", wait.reason)
}

/// Formats step numbers: `s2–s301`, or `s604…s1202` if some numbers in between are missing.
fn ids(steps: impl Iterator<Item = StepId>) -> String {
    let steps: BTreeSet<u64> = steps.map(|id| u64::from(id.0)).collect();
    let Some((first, last)) = steps.first().zip(steps.last()) else { return String::new() };
    match last - first {
        0 => format!("s{first}"),
        others if others + 1 == steps.len() as u64 => format!("s{first}–s{last}"),
        _ => format!("s{first}…s{last}"),
    }
}
