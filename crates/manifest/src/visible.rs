//! The pins of each component as seen from outside: declared pins, built-in pins, and pins that a composition
//! exposes.

use std::sync::Arc;

use indexmap::IndexMap;
use windlass_model::pins::{Name, PinId, PinType};
use windlass_source::{Severity, Span, Spanned};

use crate::builtin;
use crate::codes;
use crate::document::{Component, ComponentType, Composite, ExposedInterface, ExposedPin, Leaf};
use crate::grammar::PinRef;
use crate::name::ComponentPath;
use crate::report::{Report, choose};

/// Maximum number of visible pins in one manifest. A pin of a composition counts once for each leaf pin that it
/// exposes. Without this limit, a short manifest could declare a huge number of pins: a wildcard exposes many pins
/// at once, and one pin may expose several pins.
pub const MAX_PINS: usize = 100_000;

/// A pin (an input, an output or a command) of a component without inner components.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeafPin {
    /// The path of the component.
    pub component: Arc<ComponentPath>,
    /// The id of the pin.
    pub pin: PinId,
}

/// A pin as seen from outside its component.
#[derive(Debug, Clone)]
pub struct VisiblePin {
    /// Place of the pin's declaration. For a built-in pin, it is the place of the component.
    pub span: Span,
    /// Type of the pin. `None` for a pin that could not be read, and for an undeclared pin of a component
    /// type that windlass does not know.
    pub kind: Option<PinType>,
    /// The leaf pins that this pin stands for. A pin of a leaf (a component without inner components) stands for
    /// itself. A pin of a composition stands for all leaf pins that it exposes, directly or through nested
    /// compositions. The list is empty if the declaration of the pin could not be read.
    pub targets: Vec<LeafPin>,
    /// Whether the value of the pin is a secret.
    pub sensitive: bool,
}

/// An interface as seen from outside its component.
#[derive(Debug, Clone, Default)]
pub struct VisibleInterface {
    /// The pins of the interface, by name.
    pub pins: IndexMap<Name, VisiblePin>,
    /// Whether the interface may have pins that are not in `pins`. This is true if the interface exposes all pins of
    /// another component's interface, and windlass does not know all of these pins.
    pub is_open: bool,
}

/// A component with all of its pins.
#[derive(Debug, Clone, Default)]
pub struct Visible {
    /// The interfaces of the component, by name.
    pub interfaces: IndexMap<Name, VisibleInterface>,
    /// Whether the component may have interfaces that are not in `interfaces`. This is true if windlass does not know
    /// the type of the component, or could not read the component.
    pub is_open: bool,
    /// The components inside a composition, by name.
    pub children: IndexMap<Name, Visible>,
}

impl Visible {
    /// Returns the pin `id`; `None` if the component has no such pin.
    pub fn pin(&self, id: &PinId) -> Option<&VisiblePin> {
        self.interfaces.get(&id.interface)?.pins.get(&id.pin)
    }

    /// Returns all pins with their ids.
    pub fn pins(&self) -> impl Iterator<Item = (PinId, &VisiblePin)> {
        self.interfaces.iter().flat_map(|(interface, of)| {
            of.pins
                .iter()
                .map(|(pin, visible)| (PinId { interface: interface.clone(), pin: pin.clone() }, visible))
        })
    }

    /// Finds the component at a path.
    ///
    /// # Errors
    /// Returns the first name that is missing, and the component that has no child of this name.
    pub fn find<'v, 'p>(&'v self, path: &'p ComponentPath) -> Result<&'v Self, (&'p Name, &'v Self)> {
        path.0.iter().try_fold(self, |at, name| at.children.get(name).ok_or((name, at)))
    }

    /// Tells how to report the use of a pin that is not in `pins` of the interface `interface`:
    ///
    /// - An error: windlass knows all pins of the interface, so the pin does not exist.
    /// - A warning: windlass does not know the type of the component, and the manifest declares the interface
    ///   without the pin.
    /// - No report (`None`): the pin may exist. Either the interface exposes pins that windlass does not know, or
    ///   the component may have interfaces that the manifest does not declare.
    pub(crate) fn lacks(&self, interface: &Name) -> Option<Severity> {
        match self.interfaces.get(interface) {
            Some(known) if known.is_open => None,
            // windlass does not know the component's type. The interface may have built-in pins beside the
            // declared ones.
            Some(_) if self.is_open => Some(Severity::Warning),
            None if self.is_open => None,
            _ => Some(Severity::Error),
        }
    }
}

/// Computes the pins of the application and of each component in the application, as seen from outside. Reports
/// mistakes in exposed pins, for example that a composition exposes a pin that does not exist.
pub(crate) fn resolve(report: &mut Report<'_>, application: &Composite) -> Visible {
    let mut resolver = Resolver { report, left: MAX_PINS, is_cut: false };
    resolver.composite(application, &ComponentPath::default())
}

/// Finds a component, and reports it if it is missing.
pub(crate) fn component<'v>(
    report: &mut Report<'_>,
    inside: &'v Visible,
    path: &ComponentPath,
    span: Span,
) -> Option<&'v Visible> {
    let found = inside.find(path);
    if let Err((name, parent)) = &found {
        let message = format!("there is no component `{name}`");
        report.say(Severity::Error, codes::UNKNOWN_COMPONENT, span, message, |said| {
            choose(said, name.as_str(), parent.children.keys().map(Name::as_str))
        });
    }
    found.ok()
}

/// Reports that the manifest uses an unknown pin or interface of a component. Reports nothing if the pin or interface
/// may exist; see [`lacks`](Visible::lacks).
pub(crate) fn unknown_pin(
    report: &mut Report<'_>,
    of: &Visible,
    component: &ComponentPath,
    (interface, pin): (&Name, Option<&Name>),
    span: Span,
) {
    let Some(severity) = of.lacks(interface) else { return };
    let whose = match component.0.last() {
        Some(_) => format!("component `{component}`"),
        None => "the application".to_owned(),
    };
    let known = of.interfaces.get(interface);
    let (message, word) = match (known, pin) {
        (Some(_), Some(pin)) => (format!("interface `{interface}` of {whose} has no pin `{pin}`"), pin),
        _ => (format!("{whose} has no interface `{interface}`"), interface),
    };
    report.say(severity, codes::UNKNOWN_PIN, span, message, |said| match known.filter(|_| pin.is_some()) {
        Some(known) => choose(said, word.as_str(), known.pins.keys().map(Name::as_str)),
        None => choose(said, word.as_str(), of.interfaces.keys().map(Name::as_str)),
    });
}

/// Returns a pin of which only the existence is known, because its declaration could not be read.
fn unread(span: Span) -> VisiblePin {
    VisiblePin { span, kind: None, targets: Vec::new(), sensitive: false }
}

struct Resolver<'r, 'a> {
    report: &'r mut Report<'a>,
    /// Number of pins and targets that may still be added before [`MAX_PINS`] is reached.
    left: usize,
    is_cut: bool,
}

impl Resolver<'_, '_> {
    fn leaf(&mut self, leaf: &Leaf, path: &ComponentPath) -> Visible {
        let component = Arc::new(path.clone());
        let is_open = matches!(leaf.kind.value, ComponentType::Other(_));
        let mut visible = Visible { is_open, ..Visible::default() };
        let mut add = |interface: &Name, pin: &Name, span, kind: PinType, sensitive| {
            if !self.takes(1, span) {
                return;
            }
            let id = PinId { interface: interface.clone(), pin: pin.clone() };
            let targets = vec![LeafPin { component: component.clone(), pin: id }];
            let pins = &mut visible.interfaces.entry(interface.clone()).or_default().pins;
            pins.insert(pin.clone(), VisiblePin { span, kind: Some(kind), targets, sensitive });
        };
        for (interface, of) in &leaf.interfaces {
            for (name, pin) in &of.pins {
                add(interface, name, pin.span, pin.kind.value.clone(), pin.sensitive);
            }
        }
        for (interface, pin, kind) in builtin::pins(&leaf.kind.value) {
            let name = |word: &str| word.parse::<Name>().expect("built-in names are valid");
            add(&name(interface), &name(pin), leaf.span, kind, false);
        }
        for (interface, of) in &leaf.interfaces {
            let pins = &mut visible.interfaces.entry(interface.clone()).or_default().pins;
            pins.extend(of.unread.iter().map(|name| (name.clone(), unread(of.span))));
        }
        visible
    }

    fn composite(&mut self, composite: &Composite, path: &ComponentPath) -> Visible {
        let mut visible = Visible { is_open: composite.kind.is_some(), ..Visible::default() };
        for (name, component) in &composite.components {
            let path = path.child(name);
            let child = match component {
                Component::Leaf(leaf) => self.leaf(leaf, &path),
                Component::Composite(inner) => self.composite(inner, &path),
            };
            visible.children.insert(name.clone(), child);
        }
        for name in &composite.unread {
            visible.children.insert(name.clone(), Visible { is_open: true, ..Visible::default() });
        }
        for (name, interface) in &composite.interfaces {
            let made = self.interface(interface, &visible, path);
            visible.interfaces.insert(name.clone(), made);
        }
        visible
    }

    fn interface(
        &mut self,
        interface: &ExposedInterface,
        inside: &Visible,
        path: &ComponentPath,
    ) -> VisibleInterface {
        let mut made = VisibleInterface::default();
        for (name, pin) in &interface.pins {
            if let Some(found) = self.exposed(pin, inside, path) {
                made.pins.insert(name.clone(), found);
            }
        }
        made.pins.extend(interface.unread.iter().map(|name| (name.clone(), unread(interface.span))));
        let Some(wildcard) = &interface.wildcard else { return made };
        let mut from: IndexMap<Name, &Spanned<PinRef>> = IndexMap::new();
        for target in &wildcard.targets {
            let PinRef { component: at, interface: wanted, .. } = &target.value;
            let Some(of) = component(self.report, inside, at, target.span) else { continue };
            let Some(known) = of.interfaces.get(wanted) else {
                made.is_open |= of.is_open;
                unknown_pin(self.report, of, at, (wanted, None), target.span);
                continue;
            };
            made.is_open |= known.is_open || of.is_open;
            for (name, pin) in &known.pins {
                if interface.pins.contains_key(name) || interface.unread.contains(name) {
                    continue;
                }
                if let Some(first) = from.get(name) {
                    let message =
                        format!("`{name}` comes from `{}` and from `{}`", first.value, target.value);
                    self.report.say(Severity::Error, codes::WILDCARD_CLASH, target.span, message, |said| {
                        said.help(format!("say which counts: `{name}: bind({at}#{wanted}.{name})`"))
                    });
                    continue;
                }
                if !self.takes(pin.targets.len(), wildcard.span) {
                    return made;
                }
                from.insert(name.clone(), target);
                made.pins.insert(name.clone(), VisiblePin { span: wildcard.span, ..pin.clone() });
            }
        }
        made
    }

    fn exposed(&mut self, pin: &ExposedPin, inside: &Visible, path: &ComponentPath) -> Option<VisiblePin> {
        let mut made: Option<VisiblePin> = None;
        for target in &pin.targets {
            let PinRef { component: at, interface, pin: wanted } = &target.value;
            let Some(wanted) = wanted else { continue };
            let Some(of) = component(self.report, inside, at, target.span) else { continue };
            let id = PinId { interface: interface.clone(), pin: wanted.clone() };
            let found = match of.pin(&id) {
                Some(found) if !self.takes(found.targets.len(), target.span) => return made,
                Some(found) => found.clone(),
                None => {
                    unknown_pin(self.report, of, at, (interface, Some(wanted)), target.span);
                    if !of.is_open || !self.takes(1, target.span) {
                        continue;
                    }
                    let component = at.0.iter().fold(path.clone(), |path, name| path.child(name));
                    let targets = vec![LeafPin { component: Arc::new(component), pin: id }];
                    VisiblePin { span: pin.span, kind: None, targets, sensitive: false }
                }
            };
            match &mut made {
                None => made = Some(VisiblePin { span: pin.span, ..found }),
                Some(made) => self.join(made, found, target),
            }
        }
        made
    }

    /// Adds the targets of the pin `found` to the exposed pin `made`. For example,
    /// `size: bind(a#disk.size, b#disk.size)` exposes two pins as one pin. This is permitted only for configuration
    /// pins: for a signal or a command, the method reports an error and adds nothing. `target` is the text that names
    /// `found`, such as `b#disk.size`.
    fn join(&mut self, made: &mut VisiblePin, found: VisiblePin, target: &Spanned<PinRef>) {
        let is_configuration =
            |pin: &VisiblePin| pin.kind.as_ref().is_none_or(|kind| kind.as_configuration().is_some());
        if !is_configuration(made) || !is_configuration(&found) {
            let message = "only configuration pins are bound to several pins; a signal or a command has one";
            self.report.say(Severity::Error, codes::FAN_OUT, target.span, message, |said| {
                said.help("expose it under a name of its own")
            });
            return;
        }
        if let (Some(one), Some(other)) = (&made.kind, &found.kind)
            && one != other
        {
            let message = format!("`{}` is `{other}`, and the pin before it is `{one}`", target.value);
            self.report.say(Severity::Warning, codes::TYPE_MISMATCH, target.span, message, |said| said);
        }
        made.kind = made.kind.take().or(found.kind);
        made.sensitive |= found.sensitive;
        made.targets.extend(found.targets);
    }

    /// Counts `pins` further pins of the manifest. If `pins` is 0, counts one pin. Returns false if the count now
    /// exceeds [`MAX_PINS`]. The first call that returns false also reports an error at `span`.
    fn takes(&mut self, pins: usize, span: Span) -> bool {
        let left = self.left.checked_sub(pins.max(1));
        self.left = left.unwrap_or(0);
        if left.is_none() && !self.is_cut {
            self.is_cut = true;
            let message = format!("the manifest has more than {MAX_PINS} pins, with those that it exposes");
            self.report.error(codes::TOO_MANY, span, message);
        }
        left.is_some()
    }
}
