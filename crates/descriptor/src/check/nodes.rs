//! Checks the numbers of nodes of components: `quantity`, and the keys of `cluster`.

use std::collections::HashMap;

use windlass_model::PropertyName;
use windlass_source::Severity;

use super::context::{Check, Late};
use crate::codes;
use crate::document::{AssemblyDescriptor, ClusterDecl, Component};
use crate::scope::{EACH, Meaning, Scope};
use crate::template::{Reference, Segment, Value, ValueKind};

/// Returns an assembly's properties that depend on a component; see [`Late`]. The run time of this function is linear
/// in the number of `${…}`.
fn late(assembly: &AssemblyDescriptor) -> Late<'_> {
    let scope = Scope::assembly(assembly);
    let mut late = Late::new();
    let mut readers: HashMap<PropertyName, Vec<&PropertyName>> = HashMap::new();
    for (name, decl) in &assembly.properties {
        let Some(fixed) = &decl.value else { continue };
        fixed.for_each_reference(&mut |reference| match scope.find(reference) {
            Some(Meaning::Part(part, _)) if assembly.composition.contains_key(&part) => {
                late.entry(name).or_insert(reference);
            }
            Some(Meaning::Own(read)) => readers.entry(read).or_default().push(name),
            _ => {}
        });
    }
    let mut open: Vec<(&PropertyName, &Reference)> = late.iter().map(|(name, at)| (*name, *at)).collect();
    open.sort_by_key(|(_, at)| at.span);
    while let Some((read, at)) = open.pop() {
        for reader in readers.remove(read).unwrap_or_default() {
            if !late.contains_key(reader) {
                late.insert(reader, at);
                open.push((reader, at));
            }
        }
    }
    late
}

impl<'a> Check<'a, '_> {
    pub(super) fn nodes(&mut self, component: &'a Component) {
        if let Some(quantity) = &component.quantity {
            self.number(quantity, "`quantity`");
        }
        if let Some(cluster) = &component.cluster {
            self.cluster(cluster);
        }
    }

    /// Checks a number in `quantity` or `cluster`, or the `${property}` in `each`. Reports a value that depends on
    /// a component, because windlass must know the value before it creates anything. `what` names the value in
    /// messages.
    fn number(&mut self, value: &'a Value, what: &str) {
        if let Some(text) = value.literal() {
            if text.trim().parse::<u32>().is_err() {
                let message = format!("{what} is a whole number from 0, and `{text}` is none");
                self.said.error(codes::BAD_NUMBER, value.span, message);
            }
            return;
        }
        if !matches!(value.kind, ValueKind::Text(_)) {
            let message = format!("{what} is a whole number from 0, and this is a list or a mapping");
            self.said.error(codes::BAD_NUMBER, value.span, message);
            return;
        }
        let scope = Scope::assembly(self.assembly);
        value.for_each_reference(&mut |reference| match scope.find(reference) {
            Some(Meaning::Part(..)) => {
                let message =
                    format!("{what} can't depend on a component: it must be known before any is made");
                self.said.error(codes::BAD_NUMBER, reference.span, message);
            }
            Some(Meaning::Own(property)) => {
                if let Some(late) = self.late(&property)
                    && !self.said.leaves_out(Severity::Error)
                {
                    let message = format!(
                        "{what} depends on a component through `${{{}}}`: it must be known before any is made",
                        reference.text
                    );
                    let diagnostic =
                        self.said.at(Severity::Error, codes::BAD_NUMBER, reference.span, message);
                    let place = self.assembly.source.place(late.span);
                    self.said.push(diagnostic.related(place, "the component is read here"));
                }
            }
            _ => self.reference(reference, scope),
        });
    }

    /// Checks the key `each` of a cluster: a literal list, or one `${property}` that does not depend on a
    /// component.
    pub(super) fn each(&mut self, component: &'a Component) {
        let Some(each) = component.each() else { return };
        if let Some(other) = self.assembly.composition.get_key_value(EACH).map(|(_, other)| other) {
            let message = "`${each.…}` would mean this component, and the entry of a list";
            let diagnostic = self.said.at(Severity::Error, codes::BAD_EACH, other.name_span, message);
            let place = self.assembly.source.place(each.list.span);
            self.said.push(diagnostic.related(place, "the list").help("give the component another name"));
        }
        match &each.list.kind {
            ValueKind::List(_) => self.value(&each.list, Scope::assembly(self.assembly)),
            ValueKind::Text(segments) if matches!(segments[..], [Segment::Reference(_)]) => {
                self.number(&each.list, "`each`");
            }
            _ => {
                let message = "`each` is a list of maps, or one `${property}` that has such a list";
                self.said.error(codes::BAD_EACH, each.list.span, message);
            }
        }
    }

    /// Searches the value of `property` for a `${…}` that reads a component, and returns this `${…}`; see [`Late`]. The
    /// search also includes the values of other properties that `property` reads. For example, `a` has the value
    /// `${b}`, and `b` has the value `${web.port}`. Then the result for `a` is `${web.port}`. Returns `None` if the
    /// value depends on no component.
    fn late(&mut self, property: &PropertyName) -> Option<&'a Reference> {
        let assembly = self.assembly;
        self.late.get_or_insert_with(|| late(assembly)).get(property).copied()
    }

    fn cluster(&mut self, cluster: &'a ClusterDecl) {
        let fields = [
            (&cluster.initial, "`initial-quantity`"),
            (&cluster.minimum, "`minimum-nodes`"),
            (&cluster.maximum, "`maximum-nodes`"),
            (&cluster.increment, "`scaling-increment`"),
        ];
        for (value, what) in fields {
            if let Some(value) = value {
                self.number(value, what);
            }
        }
        let bounds = Bounds::literal(cluster);
        if let (Some(0), Some(increment)) = (bounds.increment, &cluster.increment) {
            let message = "scaling-increment is 0, and must be at least 1";
            self.said.error(codes::BAD_BOUNDS, increment.span, message);
        }
        // `problem` returns one problem only. The increment is left out here, because a bad increment was
        // reported above.
        if let Some(problem) = (Bounds { increment: None, ..bounds }).problem() {
            self.said.error(codes::BAD_BOUNDS, cluster.span, problem);
        } else if let Some(rest) = bounds.rest() {
            let message = format!("the last {rest} up to maximum-nodes can't be reached in whole steps");
            let span = cluster.increment.as_ref().map_or(cluster.span, |increment| increment.span);
            let diagnostic = self.said.at(Severity::Note, codes::UNEVEN_STEP, span, message);
            self.said.push(diagnostic.help("steps that would go beyond are not made"));
        }
    }
}

/// The numbers in the section `cluster` of a component, for example its `minimum-nodes`. `None` stands for a
/// missing key or an unknown value. But if `minimum-nodes` is missing, `minimum` is 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) initial: Option<u32>,
    pub(crate) minimum: Option<u32>,
    pub(crate) maximum: Option<u32>,
    pub(crate) increment: Option<u32>,
}

impl Bounds {
    /// Returns the numbers that the section `cluster` contains as literals, such as `maximum-nodes: 5`. For a `${…}`,
    /// such as `maximum-nodes: ${most}`, the number is `None`. If `initial-quantity` is missing, `initial` gets the
    /// value of `minimum`.
    fn literal(cluster: &ClusterDecl) -> Self {
        let read = |value: &Option<Value>| value.as_ref()?.literal()?.trim().parse().ok();
        let minimum = read(&cluster.minimum).or(cluster.minimum.is_none().then_some(1));
        Self {
            initial: if cluster.initial.is_none() { minimum } else { read(&cluster.initial) },
            minimum,
            maximum: read(&cluster.maximum),
            increment: read(&cluster.increment),
        }
    }

    /// Checks the numbers that are not `None`. Returns the message about the first problem, such as a minimum above the
    /// maximum. Returns `None` if there is no problem.
    pub(crate) fn problem(self) -> Option<String> {
        let above = |low: Option<u32>, high: Option<u32>| Some((low?, high?)).filter(|(l, h)| l > h);
        if let Some((minimum, maximum)) = above(self.minimum, self.maximum) {
            return Some(format!("minimum-nodes is {minimum}, more than maximum-nodes, {maximum}"));
        }
        if let Some((minimum, initial)) = above(self.minimum, self.initial) {
            return Some(format!("initial-quantity is {initial}, less than minimum-nodes, {minimum}"));
        }
        if let Some((initial, maximum)) = above(self.initial, self.maximum) {
            return Some(format!("initial-quantity is {initial}, more than maximum-nodes, {maximum}"));
        }
        (self.increment == Some(0)).then(|| "scaling-increment is 0, and must be at least 1".to_owned())
    }

    /// Returns the difference between the maximum and the largest number of nodes that scaling can reach. For example,
    /// a cluster starts with 1 node, grows by 2 nodes in each step, and has a maximum of 4. The cluster can reach 3
    /// nodes, so the result is 1. Returns `None` if scaling can reach the maximum, or if a number is not known.
    fn rest(self) -> Option<u32> {
        let nodes = self.maximum?.checked_sub(self.initial?)?;
        Some(nodes.checked_rem(self.increment?)?).filter(|rest| *rest > 0)
    }
}
