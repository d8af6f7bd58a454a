//! Drawings of plans.

use windlass_plan::Task;
use windlass_plan::draw::Drawing;

use super::planned::Plan;

/// Draws a plan.
///
/// The details of a step name its element and its calls. The details of a wait name its origin in the
/// descriptor.
pub fn draw_plan(title: impl Into<String>, plan: &Plan) -> Drawing {
    let mut drawing = Drawing::of_plan(title, plan);
    for (node, step) in drawing.nodes.iter_mut().zip(plan.steps()) {
        for (detail, wait) in node.details.iter_mut().zip(step.waits()) {
            if let Some(origin) = wait.reason.origin() {
                detail.1 = format!("{} ({origin})", detail.1);
            }
        }
        let own = match step.task {
            Task::Barrier(label) => vec![("does".to_owned(), label.clone())],
            Task::Work(work) => {
                vec![("element".to_owned(), work.element().to_string()), ("does".to_owned(), work.verb())]
            }
        };
        node.details.splice(0..0, own);
    }
    drawing
}
