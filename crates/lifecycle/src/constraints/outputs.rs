//! The waits that outputs cause. The *producer* of an output is the part that publishes it. A *reader* of an output is
//! a part that reads it.

use windlass_model::resolve::{NothingYet, ResolveError};
use windlass_plan::{Draft, WaitKind};

use super::elements::Constraints;
use super::soft::Priority;
use crate::changes::{Later, Part};
use crate::rank;
use crate::situation::Reads;

/// Makes the readers of outputs wait until the producers (the parts that publish the outputs) have published
/// them.
pub(crate) fn readers_up(constraints: &mut Constraints<'_>) -> Result<(), ResolveError> {
    let Constraints { situation, parts, graph, .. } = constraints;
    let Some(desired) = situation.desired else { return Ok(()) };
    let later = Later { lookup: desired.lookup, parts };
    let mut reads = Reads::all(desired.topology, &later);
    for part in &parts.list {
        let first = part.steps.up_to(rank::ABSENT).or(part.steps.reconfigure());
        let (Some(step), Some(element)) = (first, part.after) else { continue };
        for read in reads.element(part.after_at, element)? {
            let Some(producer) = parts.at(read.place) else { continue };
            if let Some(published) = producer.publishing() {
                let why = graph.note(read.by_element(&part.name, &producer.name));
                graph.need(step, published, why);
            }
        }
    }
    Ok(())
}

/// Makes each producer (a part that publishes an output) wait before the producer is uninstalled. The producer waits
/// until each reader of its outputs is uninstalled, or has got new values by a Reconfigure.
pub(crate) fn readers_down(constraints: &mut Constraints<'_>) -> Result<(), ResolveError> {
    let Some(installed) = constraints.installed() else { return Ok(()) };
    let Constraints { parts, graph, .. } = constraints;
    if !parts.any_before {
        return Ok(());
    }
    let moves = |part: &&Part<'_>| part.steps.lowest().is_some() || part.steps.reconfigure().is_some();
    // The resolver `NothingYet` treats each output as not yet published. So `reads` contains all properties that
    // read an output, even an output that was published earlier.
    let mut reads = Reads::all(installed, &NothingYet);
    for part in parts.list.iter().filter(moves) {
        let Some(element) = part.before else { continue };
        for read in reads.element(part.before_at, element)? {
            let Some(producer) = parts.get(read.producer) else { continue };
            if let Some((leaving, on, kind, priority)) = reader_first(part, producer) {
                let why = graph.note(read.by_element(&part.name, &producer.name));
                graph.constrain(leaving, on, kind, priority, why);
            }
        }
    }
    Ok(())
}

/// Returns the wait that keeps a producer installed until a reader no longer needs its output.
///
/// The result contains the waiting step of the producer, the awaited step of the reader, and the kind and priority of
/// the wait. Returns `None` if no wait is needed.
fn reader_first(reader: &Part<'_>, producer: &Part<'_>) -> Option<(Draft, Draft, WaitKind, Priority)> {
    // If the producer has no instance, its removal needs no wait.
    let leaving = producer.leaving(rank::INSTALLED).filter(|_| producer.is_there())?;
    let kind = if producer.is_unwell() { WaitKind::After } else { WaitKind::Needs };
    if let Some(gone) = reader.steps.lowest().filter(|_| reader.low < rank::INSTALLED) {
        return Some((leaving, gone, kind, Priority::Required));
    }
    // If `reader` stays installed, it should get its new values before `producer` is removed. This
    // order is impossible if the part that publishes the new values waits for the removal. So the wait may be
    // dropped.
    let changed = reader.steps.reconfigure().filter(|_| producer.end == rank::ABSENT)?;
    Some((leaving, changed, kind, Priority::Strong))
}
