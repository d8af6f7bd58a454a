//! Drawings of assemblies and plans.

use std::collections::BTreeMap;

use windlass_engine::{Request, Stop};
use windlass_lifecycle::{Plan, draw_plan, draw_properties, draw_topology};
use windlass_model::assembly::ElementKind;
use windlass_model::{AssemblyName, Element, ElementName, State, Topology};
use windlass_plan::draw::{Drawing, Sign, Tone};
use windlass_source::Diagnostics;
use windlass_store::Snapshot;

use crate::error::Error;
use crate::input::AssemblyInput;
use crate::view::Views;
use crate::view::status::lowest;

/// The content of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphView {
    /// Components and relationships of the assembly.
    Topology,
    /// Steps of a plan and their dependencies.
    Plan,
    /// The flow of data between properties.
    Properties,
}

impl Views<'_> {
    /// Draws the assembly that an input describes. For [`GraphView::Plan`], draws the plan that would change
    /// the recorded assembly to match the input.
    ///
    /// # Errors
    ///
    /// Returns all problems of the input that prevent a plan.
    pub async fn graph(
        &self,
        input: &AssemblyInput,
        view: GraphView,
    ) -> Result<(Drawing, Diagnostics), Error> {
        let (desired, warnings) = self.windlass.desired(input, &Stop::default()).await?;
        let drawing = match view {
            GraphView::Topology => draw_topology(&desired.topology),
            GraphView::Properties => draw_properties(&desired.topology),
            GraphView::Plan => {
                let name = desired.topology.name().clone();
                let title = format!("{name}: plan");
                let preview = match self.windlass.store(false).await? {
                    Some(store) => self.windlass.engine(store).preview(&name, Request::up(desired)).await?,
                    None => self.windlass.engine_env().preview_new(Request::up(desired))?,
                };
                draw_plan(title, &preview.plan)
            }
        };
        Ok((drawing, warnings))
    }

    /// Draws the desired version of an assembly of the store. For [`GraphView::Plan`], draws the plan of the assembly's
    /// last process.
    ///
    /// # Errors
    ///
    /// Fails if there is no such assembly, or the store can't be read.
    pub async fn graph_of(&self, name: &AssemblyName, view: GraphView) -> Result<Drawing, Error> {
        let snapshot = self.windlass.snapshot(name).await?;
        let topology = &snapshot.assembly.topology;
        Ok(match view {
            GraphView::Topology => with_states(draw_topology(topology), &snapshot),
            GraphView::Properties => with_states(draw_properties(topology), &snapshot),
            GraphView::Plan => {
                let last = self.windlass.store_of(name).await?.processes_of(name, None, 1).await?.pop();
                let plan = last
                    .as_ref()
                    .and_then(|process| serde_json::from_str::<Plan>(process.plan.as_str()).ok());
                match (plan.filter(|plan| plan.work().next().is_some()), last) {
                    (Some(plan), _) => draw_plan(format!("{name}: plan of the last process"), &plan),
                    (None, Some(process)) => {
                        Drawing::new(format!("{name}: {} {} had nothing to do", process.id, process.title()))
                    }
                    (None, None) => Drawing::new(format!("{name}: there was no process")),
                }
            }
        })
    }
}

/// Adds the states of components to a drawing. If a node of the drawing represents several components, the
/// node shows the lowest of their states (see [`lowest`]), and the number of components in this state.
fn with_states(mut drawing: Drawing, snapshot: &Snapshot) -> Drawing {
    let mut states: BTreeMap<String, Vec<State>> = BTreeMap::new();
    let topology = &snapshot.assembly.topology;
    let elements = topology.elements().iter();
    for element in elements.filter(|element| element.kind == ElementKind::Resource) {
        let state = snapshot.elements.get(&element.name).map(|record| record.state);
        states.entry(shared_name(topology, &element.name)).or_default().push(state.unwrap_or_default());
    }
    for node in &mut drawing.nodes {
        let own = node.id.parse().map_or_else(|_| node.id.clone(), |name| shared_name(topology, &name));
        let Some(states) = states.get(&own).or_else(|| states.get(&format!("{own}__*"))) else { continue };
        let lowest = lowest(states.iter().copied());
        let alike = states.iter().filter(|state| **state == lowest).count();
        let text = match states.len() {
            all if all == alike => lowest.to_string(),
            all => format!("{alike} of {all} {lowest}"),
        };
        node.label = format!("{}\n{text}", node.label);
        node.details.insert(0, ("state".to_owned(), text));
        node.tone = match lowest {
            State::Active => Some(Tone::Good),
            State::Failed | State::Broken => Some(Tone::Bad),
            State::Absent => None,
            State::Created | State::Installed | State::Inactive => Some(Tone::Pending),
        };
    }
    let tones = [(Tone::Good, "Active"), (Tone::Pending, "not Active yet"), (Tone::Bad, "Failed or Broken")];
    drawing.legend.extend(tones.map(|(tone, text)| (Sign::Tone(tone), text.to_owned())));
    drawing.trim_legend();
    drawing
}

/// Returns the name under which an element is drawn. `*` replaces the number or key of a node, so that all
/// nodes of a cluster share one name and are drawn as one.
fn shared_name(topology: &Topology, name: &ElementName) -> String {
    let parent = |element: &&Element| topology.get(element.parent.as_ref()?);
    let part = |element: &Element| match parent(&element) {
        Some(parent) if parent.kind == ElementKind::Group => "*".to_owned(),
        _ => element.name.as_str().rsplit("__").next().unwrap_or_default().to_owned(),
    };
    let mut parts: Vec<String> = std::iter::successors(topology.get(name), parent).map(part).collect();
    parts.reverse();
    parts.join("__")
}
