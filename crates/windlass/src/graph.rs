//! Drawings of assemblies and plans.

use windlass_engine::Request;
use windlass_lifecycle::{Plan, draw_plan, draw_properties, draw_topology};
use windlass_model::AssemblyName;
use windlass_plan::draw::Drawing;
use windlass_source::Diagnostics;

use crate::error::Error;
use crate::input::AssemblyInput;
use crate::open::Windlass;

/// The subject of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphView {
    /// Components and relationships.
    Topology,
    /// Steps and their dependencies.
    Plan,
    /// Data flow between properties.
    Properties,
}

impl Windlass {
    /// Draws the assembly of an input. For the plan view, plans the input against the current state.
    ///
    /// # Errors
    ///
    /// All problems that prevent planning it.
    pub async fn graph(
        &self,
        input: &AssemblyInput,
        view: GraphView,
    ) -> Result<(Drawing, Diagnostics), Error> {
        let (desired, warnings) = self.desired(input).await?;
        let drawing = match view {
            GraphView::Topology => draw_topology(&desired.topology),
            GraphView::Properties => draw_properties(&desired.topology),
            GraphView::Plan => {
                let name = desired.topology.name().clone();
                let title = format!("{name}: plan");
                let preview = match self.store(false).await? {
                    Some(store) => self.engine(store).preview(&name, Request::up(desired)).await?,
                    None => self.engine_env().preview_new(Request::up(desired))?,
                };
                draw_plan(title, &preview.plan)
            }
        };
        Ok((drawing, warnings))
    }

    /// Draws an assembly in the store, as last requested. For the plan view, draws the plan of its last
    /// process.
    ///
    /// # Errors
    ///
    /// If there is no such assembly, or the store can't be read.
    pub async fn graph_of(&self, name: &AssemblyName, view: GraphView) -> Result<Drawing, Error> {
        let snapshot = self.snapshot(name).await?;
        let topology = &snapshot.assembly.topology;
        Ok(match view {
            GraphView::Topology => draw_topology(topology),
            GraphView::Properties => draw_properties(topology),
            GraphView::Plan => {
                let last = self.store_of(name).await?.processes_of(name, None, 1).await?.pop();
                let plan = last
                    .as_ref()
                    .and_then(|process| serde_json::from_str::<Plan>(process.plan.as_str()).ok());
                match (plan.filter(|plan| plan.work().next().is_some()), last) {
                    (Some(plan), _) => draw_plan(format!("{name}: plan of the last process"), &plan),
                    (None, Some(process)) => {
                        Drawing::new(format!("{name}: {} {} had nothing to do", process.id, process.intent))
                    }
                    (None, None) => Drawing::new(format!("{name}: there was no process")),
                }
            }
        })
    }
}
