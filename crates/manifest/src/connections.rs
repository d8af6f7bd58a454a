//! The pins that bindings join. A *pin* is a typed input or output of a component, and a *binding* of a manifest
//! connects two components.

use windlass_model::pins::{Name, PinType};
use windlass_source::{Severity, Spanned};

use crate::codes;
use crate::document::{Binding, Component, Composite};
use crate::grammar::Target;
use crate::name::ComponentPath;
use crate::report::Report;
use crate::visible::{LeafPin, MAX_PINS, Visible, component, unknown_pin};

/// Two pins that a binding joins. The component of the pin `from` publishes a signal or executes a command. The
/// component of the pin `to` consumes this signal or calls this command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The pin by which a component publishes a signal or receives a command. The type of the pin is
    /// `publish-signal` or `receive-command`.
    pub from: LeafPin,
    /// The pin by which another component consumes the signal that `from` publishes, or sends the command that `from`
    /// receives. The type of the pin is `consume-signal` or `send-command`.
    pub to: LeafPin,
}

/// Returns all pairs of pins that the bindings of an application join. Reports each binding that names a component
/// or interface that does not exist.
pub(crate) fn collect(
    report: &mut Report<'_>,
    application: &Composite,
    visible: &Visible,
) -> Vec<Connection> {
    let mut joiner = Joiner { report, found: Vec::new(), left: MAX_PINS };
    joiner.composite(application, visible);
    joiner.found
}

struct Joiner<'r, 'a> {
    report: &'r mut Report<'a>,
    found: Vec<Connection>,
    /// Number of interfaces and pins that may still be compared. The number is limited, because a few lines
    /// can bind many components with many pins.
    left: usize,
}

impl Joiner<'_, '_> {
    fn composite(&mut self, composite: &Composite, visible: &Visible) {
        for (name, component) in &composite.components {
            if let (Component::Composite(inner), Some(of)) = (component, visible.children.get(name)) {
                self.composite(inner, of);
            }
        }
        for binding in &composite.bindings {
            self.binding(binding, visible);
        }
    }

    fn binding(&mut self, binding: &Binding, inside: &Visible) {
        let [one, other] = &binding.sides;
        let (Some(first), Some(second)) = (self.side(one, inside), self.side(other, inside)) else { return };
        match (&one.value.interface, &other.value.interface) {
            (Some(name), Some(others)) => self.interfaces((first, name), (second, others), binding),
            (Some(name), None) | (None, Some(name)) => {
                self.interfaces((first, name), (second, name), binding);
            }
            (None, None) => {
                first
                    .interfaces
                    .keys()
                    .for_each(|name| self.interfaces((first, name), (second, name), binding));
            }
        }
    }

    fn side<'v>(&mut self, side: &Spanned<Target>, inside: &'v Visible) -> Option<&'v Visible> {
        let Target { component: path, interface } = &side.value;
        let found = component(self.report, inside, path, side.span)?;
        if let Some(interface) = interface.as_ref().filter(|name| !found.interfaces.contains_key(*name)) {
            unknown_pin(self.report, found, path, (interface, None), side.span);
        }
        Some(found)
    }

    /// Counts a comparison of two interfaces or pins. Returns false if the limit of comparisons is reached. The
    /// first call that reaches the limit also reports the binding `at`.
    fn compares(&mut self, at: &Binding) -> bool {
        match self.left {
            0 => return false,
            1 => {
                let message = format!("the bindings compare more than {MAX_PINS} interfaces and pins");
                self.report.error(codes::TOO_MANY, at.span, message);
            }
            _ => {}
        }
        self.left -= 1;
        self.left > 0
    }

    /// Joins the pins of two interfaces by name. For example, it joins the pin `state` of one interface with the pin
    /// `state` of the other interface.
    fn interfaces(
        &mut self,
        (one, name): (&Visible, &Name),
        (other, others): (&Visible, &Name),
        at: &Binding,
    ) {
        if !self.compares(at) {
            return;
        }
        let (Some(one), Some(other)) = (one.interfaces.get(name), other.interfaces.get(others)) else {
            return;
        };
        for (pin, first) in &one.pins {
            if !self.compares(at) {
                return;
            }
            let Some(second) = other.pins.get(pin) else { continue };
            let (Some(kind), Some(second_kind)) = (&first.kind, &second.kind) else { continue };
            let (Some(from), Some(to)) = (first.targets.first(), second.targets.first()) else { continue };
            match kind.joins(second_kind) {
                None => {}
                Some(true) => {
                    let is_turned = matches!(kind, PinType::ConsumeSignal(_) | PinType::SendCommand(_));
                    let (from, to) = if is_turned { (to, from) } else { (from, to) };
                    self.found.push(Connection { from: from.clone(), to: to.clone() });
                }
                Some(false) => {
                    let shown = |leaf: &LeafPin| {
                        let ComponentPath(path) = &*leaf.component;
                        path.last().map_or_else(String::new, Name::to_string)
                    };
                    let message = format!(
                        "`{pin}` is `{kind}` in `{}` and `{second_kind}` in `{}`; they are not joined",
                        shown(from),
                        shown(to)
                    );
                    self.report.say(Severity::Warning, codes::TYPE_MISMATCH, at.span, message, |said| said);
                }
            }
        }
    }
}
