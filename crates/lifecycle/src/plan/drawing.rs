//! Turns plans into drawings.

use windlass_model::work::Reason;
use windlass_plan::draw::Drawing;
use windlass_plan::{Step, Task};

use super::planned::Plan;

/// Draws a plan.
///
/// Each edge is a wait. If a relationship or a property causes the wait, the edge has the name of this relationship or
/// property. The details of a step contain its element, its actions and its waits. Each wait has a reason and, if
/// known, the place in the descriptor where the reason is declared.
pub fn draw_plan(title: impl Into<String>, plan: &Plan) -> Drawing {
    let mut drawing = Drawing::of_plan(title, plan);
    // The edges of the drawing are in the order of the waits of the plan.
    let waits = plan.steps().flat_map(Step::waits);
    for (edge, wait) in drawing.edges.iter_mut().zip(waits) {
        edge.name = match wait.reason {
            Reason::Relationship { relationship, .. } => relationship.to_string(),
            Reason::Property { property, .. } => property.to_string(),
            _ => String::new(),
        };
    }
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
