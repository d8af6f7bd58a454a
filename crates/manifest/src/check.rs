//! The rules for one manifest. [`check()`] reports each violation. It also returns the data that a launch needs, such
//! as the paths of the scripts.

use std::collections::HashSet;

use indexmap::IndexMap;
use windlass_cron::{CronError, CronExpression};
use windlass_model::pins::{Name, PinId, PinType, ValueType};
use windlass_secret::names_a_secret;
use windlass_source::{Diagnostics, Kind, Severity, Span, Spanned};

use crate::builtin::{self, is_declared};
use crate::codes;
use crate::connections::{self, Connection};
use crate::document::{ComponentType, Leaf, Manifest, Pin};
use crate::name::ComponentPath;
use crate::report::{Report, choose};
use crate::role::{ApplicationRole, Discovery, FactoryRole, Role};
use crate::settings::{self, Settings};
use crate::visible::{self, LeafPin, Visible, VisiblePin};

/// The result of a check.
#[derive(Debug, Clone)]
#[must_use]
pub struct Checked<'m> {
    /// The manifest that was checked.
    pub manifest: &'m Manifest,
    /// The role of the manifest: an application or a factory, with its scripts.
    ///
    /// A manifest gets its role from its scripted component: a `scripted.Component` or a
    /// `scripted.ComponentFactory`. The role is `None` if the manifest has no scripted component, or if a mandatory
    /// value of the scripted component is missing.
    pub role: Option<Role>,
    /// The application with all of its pins.
    pub visible: Visible,
    /// The values that the manifest gives to pins.
    pub settings: Settings<'m>,
    /// The pairs of pins that the bindings of the manifest join.
    pub connections: Vec<Connection>,
    /// Problems, in the order of their places. The problems that [`read`](crate::read()) reported are not
    /// repeated.
    pub diagnostics: Diagnostics,
}

impl Checked<'_> {
    /// Finds a pin whose value a launch can set, and returns its id and its type. `id` is the id of the pin as text,
    /// such as `configuration.size`. Returns `None` if the application exposes no such pin.
    pub fn parameter(&self, id: &str) -> Option<(PinId, &ValueType)> {
        let id: PinId = id.parse().ok()?;
        let kind = self.settable(self.visible.pin(&id)?)?;
        Some((id, kind))
    }

    /// Returns the ids of all pins whose values a launch can set.
    pub fn parameters(&self) -> impl Iterator<Item = PinId> {
        self.visible.pins().filter(|(_, pin)| self.settable(pin).is_some()).map(|(id, _)| id)
    }

    /// Returns the type of a pin whose value a launch can set. Returns `None` for any other pin. A launch can't set
    /// built-in pins, such as the paths of scripts: their values come from the manifest alone.
    fn settable<'p>(&self, pin: &'p VisiblePin) -> Option<&'p ValueType> {
        let kind = pin.kind.as_ref()?.as_configuration()?;
        let component = self.role.as_ref().map(Role::component);
        let is_own = |target: &LeafPin| component.is_none_or(|component| *target.component == *component);
        pin.targets.iter().any(|target| is_own(target) && is_declared(&target.pin)).then_some(kind)
    }
}

/// Checks the pins, their values and the bindings of a manifest, and determines the role of the manifest.
/// [`read`](crate::read()) has created the manifest from a text.
pub fn check(manifest: &Manifest) -> Checked<'_> {
    let mut diagnostics = Diagnostics::new();
    let mut report = Report { source: &manifest.source, diagnostics: &mut diagnostics };
    let visible = visible::resolve(&mut report, &manifest.application);
    let settings = settings::collect(&mut report, &manifest.application, &visible);
    let before = report.diagnostics.count(Severity::Error) + report.diagnostics.count(Severity::Warning);
    let connections = connections::collect(&mut report, &manifest.application, &visible);
    let after = report.diagnostics.count(Severity::Error) + report.diagnostics.count(Severity::Warning);
    let mut scripted: Vec<(ComponentPath, &Leaf)> = Vec::new();
    let mut foreign = None;
    manifest.for_each_leaf(&mut |path, leaf| {
        required(&mut report, leaf);
        if leaf.kind.value.is_scripted() {
            scripted.push((path.clone(), leaf));
        } else if let ComponentType::Other(_) = leaf.kind.value {
            foreign.get_or_insert(leaf);
        }
    });
    if let Some(leaf) = foreign {
        let message =
            format!("windlass reads components of the type `{}`, and does not launch them", leaf.kind.value);
        report.say(Severity::Warning, codes::FOREIGN_COMPONENT, leaf.kind.span, message, |said| {
            said.help(
                "scripts manage a `scripted.Component`; `reference.Service` is a service of the environment",
            )
        });
    }
    let role = match &scripted[..] {
        [] => None,
        [(path, leaf), others @ ..] => {
            for (_, other) in others {
                let message = format!(
                    "a manifest has one scripted component, and this is another: {}",
                    other.kind.value
                );
                report.say(Severity::Error, codes::MANY_SCRIPTED, other.kind.span, message, |said| {
                    said.related(manifest.source.place(leaf.kind.span), "the first one")
                });
            }
            let mut checker = Checker {
                report: &mut report,
                settings: &settings,
                connections: &connections,
                bindings_are_sound: before == after && !manifest.application.has_unread_bindings(),
                path,
                leaf,
            };
            checker.role(&visible)
        }
    };
    diagnostics.sort();
    Checked { manifest, role, visible, settings, connections, diagnostics }
}

/// Reports interfaces that a component requires and does not declare.
fn required(report: &mut Report<'_>, leaf: &Leaf) {
    for required in leaf.required.iter().filter(|name| !leaf.interfaces.contains_key(&name.value)) {
        let message = format!("the component has no interface `{}`, which it requires", required.value);
        report.say(Severity::Error, codes::UNKNOWN_PIN, required.span, message, |said| {
            choose(said, required.value.as_str(), leaf.interfaces.keys().map(Name::as_str))
        });
    }
}

/// Checks the component `leaf`. Its type is `scripted.Component` or `scripted.ComponentFactory`.
struct Checker<'c, 'a> {
    report: &'c mut Report<'a>,
    settings: &'c Settings<'c>,
    connections: &'c [Connection],
    /// Whether all bindings are valid. Bindings are valid if each of them could be read, and if their check found no
    /// problem.
    bindings_are_sound: bool,
    path: &'c ComponentPath,
    leaf: &'c Leaf,
}

impl Checker<'_, '_> {
    fn role(&mut self, visible: &Visible) -> Option<Role> {
        self.declared_pins();
        match self.leaf.kind.value {
            ComponentType::Factory => self.factory(visible).map(Role::Factory),
            _ => self.application().map(Role::Application),
        }
    }

    fn id(interface: &str, pin: &str) -> PinId {
        let name = |word: &str| word.parse().expect("built-in names are valid");
        PinId { interface: name(interface), pin: name(pin) }
    }

    fn leaf_pin(&self, pin: PinId) -> LeafPin {
        LeafPin { component: self.path.clone().into(), pin }
    }

    /// Reports pins that a scripted component (`scripted.Component` or `scripted.ComponentFactory`) can't
    /// have.
    fn declared_pins(&mut self) {
        let leaf = self.leaf;
        let built_in = builtin::pins(&leaf.kind.value);
        for (interface, of) in &leaf.interfaces {
            if built_in.iter().any(|(name, ..)| *name == interface.as_str()) {
                let message = format!("the interface `{interface}` is built in, and can't be declared");
                self.report.error(codes::BUILT_IN, of.span, message);
                continue;
            }
            for (name, pin) in &of.pins {
                self.declared_pin(name, pin);
            }
        }
    }

    fn declared_pin(&mut self, name: &Name, pin: &Pin) {
        let is_factory = self.leaf.kind.value == ComponentType::Factory;
        let is_fine = match &pin.kind.value {
            PinType::Configuration(_) => true,
            PinType::PublishSignal(_) | PinType::ReceiveCommand(_) => !is_factory,
            PinType::ConsumeSignal(kind) => is_factory && *kind == ValueType::map_of_strings(),
            PinType::SendCommand(_) => false,
        };
        if !is_fine {
            let kinds = if is_factory {
                "`configuration(…)` and `consume-signal(map<string, string>)`"
            } else {
                "`configuration(…)`, `publish-signal(…)` and `receive-command(…)`"
            };
            let message = format!("a `{}` has no pin `{}`", self.leaf.kind.value, pin.kind.value);
            self.report.say(Severity::Error, codes::UNSUPPORTED_PIN, pin.kind.span, message, |said| {
                said.help(format!("it has {kinds}"))
            });
        }
        if pin.kind.value.as_configuration().is_some() && !pin.sensitive && names_a_secret(name.as_str()) {
            let message = format!("`{name}` is named like a secret, and is stored and shown as plain text");
            self.report.say(Severity::Warning, codes::SECRET_NAME, pin.span, message, |said| {
                said.help(format!("write `{{type: {}, sensitive: true}}`", pin.kind.value))
            });
        }
    }

    /// Returns the text that the manifest gives to a built-in pin of the scripted component. Blanks at the start
    /// and at the end of the text are removed. If the text is missing or empty, returns `None` without a report.
    fn text(&mut self, interface: &str, pin: &str) -> Option<Spanned<String>> {
        let id = Self::id(interface, pin);
        let value = &self.settings.get(&self.leaf_pin(id))?.value;
        let text =
            value.as_str().filter(|_| !value.is_null()).map(str::trim).filter(|text| !text.is_empty())?;
        Some(Spanned { value: text.to_owned(), span: value.span() })
    }

    fn mandatory(&mut self, pin: &str, help: &str) -> Option<Spanned<String>> {
        let found = self.text(builtin::FACTORY, pin);
        if found.is_none() {
            let message = format!("the component has no `{}.{pin}`", builtin::FACTORY);
            let span = self.leaf.span;
            self.report.say(Severity::Error, codes::MISSING_VALUE, span, message, |said| said.help(help));
        }
        found
    }

    fn application(&mut self) -> Option<ApplicationRole> {
        let factory =
            self.mandatory("name", "name the application of its factory, as `factory.name: VM Factory`");
        let launch = self
            .mandatory("launchScript", "give the path of a script, as `factory.launchScript: /vm/launch.py`");
        let destroy = self.mandatory(
            "destroyScript",
            "give the path of a script, as `factory.destroyScript: /vm/destroy.py`",
        );
        let health_check = self.text(builtin::FACTORY, "healthCheckScript");
        let reconfiguration = self.text(builtin::FACTORY, "reconfigurationScript");
        let commands = self.commands();
        Some(ApplicationRole {
            component: self.path.clone(),
            factory: factory?,
            launch: launch?,
            destroy: destroy?,
            health_check,
            reconfiguration,
            commands,
        })
    }

    /// Reads `factory.commandScripts`, whose keys are the ids of commands.
    fn commands(&mut self) -> IndexMap<PinId, Spanned<String>> {
        let leaf = self.leaf;
        let declared = leaf.interfaces.iter().flat_map(|(interface, of)| {
            of.pins
                .iter()
                .map(|(pin, declared)| (PinId { interface: interface.clone(), pin: pin.clone() }, declared))
        });
        let declared: IndexMap<PinId, &Pin> =
            declared.filter(|(_, pin)| matches!(pin.kind.value, PinType::ReceiveCommand(_))).collect();
        let ids: Vec<String> = declared.keys().map(PinId::to_string).collect();
        let setting = self.settings.get(&self.leaf_pin(Self::id(builtin::FACTORY, "commandScripts")));
        let given = match setting.map(|setting| setting.value.kind()) {
            Some(Kind::Mapping(mapping)) => mapping.entries(),
            _ => &[],
        };
        let mut commands = IndexMap::new();
        for entry in given {
            let (word, span) = (entry.key.text(), entry.key.span());
            let id = word.parse::<PinId>().ok();
            if id.as_ref().is_some_and(|id| is_unread(leaf, id)) {
                continue;
            }
            let Some(id) = id.filter(|id| declared.contains_key(id)) else {
                let message = format!("the component has no command `{word}`");
                self.report.say(Severity::Error, codes::UNKNOWN_COMMAND, span, message, |said| {
                    choose(said, word, ids.iter().map(String::as_str))
                });
                continue;
            };
            let path =
                entry.value.as_str().map(str::trim).filter(|path| !path.is_empty() && !entry.value.is_null());
            if let Some(path) = path {
                commands.insert(id, Spanned { value: path.to_owned(), span: entry.value.span() });
            } else {
                let message = format!("command `{id}` has no path of a script");
                self.report.error(codes::MISSING_VALUE, span, message);
            }
        }
        let named: HashSet<&str> = given.iter().map(|entry| entry.key.text()).collect();
        for (id, pin) in declared.iter().filter(|(id, _)| !named.contains(id.to_string().as_str())) {
            let message = format!("command `{id}` has no script, so it can't be called");
            self.report.say(Severity::Warning, codes::COMMAND_WITHOUT_SCRIPT, pin.span, message, |said| {
                said.help(format!("add it to `factory.commandScripts`, as `{id}: /scripts/{}.py`", id.pin))
            });
        }
        commands
    }

    fn factory(&mut self, visible: &Visible) -> Option<FactoryRole> {
        self.exposed(visible);
        let mappings = self.mappings();
        let [application, script, schedule] =
            builtin::DISCOVERY.map(|pin| self.text(builtin::COMPONENT, pin));
        let component = self.path.clone();
        let discovery = match (application, script, schedule) {
            (Some(application), Some(script), Some(schedule)) => Discovery { application, script, schedule },
            (None, None, None) => return Some(FactoryRole { component, discovery: None, mappings }),
            (application, script, schedule) => {
                let given = [application, script, schedule];
                let lacking = builtin::DISCOVERY.iter().zip(&given).filter(|(_, found)| found.is_none());
                let lacking: Vec<String> = lacking.map(|(pin, _)| format!("`component.{pin}`")).collect();
                let span = given.iter().flatten().next().map_or(self.leaf.span, |found| found.span);
                let message =
                    format!("discovery needs three values, and {} is missing", lacking.join(" and "));
                self.report.say(Severity::Error, codes::DISCOVERY, span, message, |said| {
                    said.help("give all three of `component.application`, `component.discoveryScript` and `component.discoverySchedule`, or none")
                });
                return None;
            }
        };
        self.schedule(&discovery.schedule);
        Some(FactoryRole { component, discovery: Some(discovery), mappings })
    }

    fn schedule(&mut self, schedule: &Spanned<String>) {
        match CronExpression::parse(&schedule.value) {
            Ok(expression) if expression.never_fires() => {
                let message = "the schedule never fires, because the calendar has no such date";
                self.report.say(Severity::Error, codes::NEVER_FIRES, schedule.span, message, |said| {
                    said.help("name a date that occurs, such as `0 0 4 L * ?`: the last day of each month, at 04:00")
                });
            }
            Ok(expression) if expression.is_under_a_minute() => {
                let message = "discovery runs more than once a minute";
                self.report.say(Severity::Warning, codes::SHORT_SCHEDULE, schedule.span, message, |said| {
                    said.help("each run starts a script; `0 0/5 * * * ? *` is every five minutes")
                });
            }
            Ok(_) => {}
            Err(errors) => errors.iter().for_each(|error| self.bad_schedule(schedule, error)),
        }
    }

    fn bad_schedule(&mut self, schedule: &Spanned<String>, error: &CronError) {
        let usual = "write seconds, minutes, hours, day of the month, month, day of the week, and perhaps the year: `0 0/5 * * * ? *`";
        let help = error.help().unwrap_or(usual);
        let message = format!("the schedule is no Quartz expression: {error}");
        let (severity, code) = (Severity::Error, codes::BAD_SCHEDULE);
        self.report.say(severity, code, schedule.span, message, |said| said.help(help));
    }

    /// Reports an error if the application does not expose the three pins of the factory's interface `component`, each
    /// under its own id. These exposed pins mark the application as a factory.
    fn exposed(&mut self, visible: &Visible) {
        let is_exposed = |pin: &&str| {
            let wanted = self.leaf_pin(Self::id(builtin::COMPONENT, pin));
            let found = visible.pin(&wanted.pin);
            found.is_some_and(|found| found.targets.contains(&wanted))
        };
        if !builtin::DISCOVERY.iter().all(is_exposed) {
            let message =
                "the factory does not expose its interface `component`, so it is not recognised as one";
            let name = self.path.0.last().map_or("factory", Name::as_str);
            self.report.say(Severity::Error, codes::NOT_EXPOSED, self.leaf.span, message, |said| {
                said.help(format!(
                    "add to `interfaces` of the application: `component: {{\"*\": bind({name}#component.*)}}`"
                ))
            });
        }
    }

    /// Returns the ids of all pins through which a factory consumes a signal. Such a pin is called a mapping. A
    /// warning reports each mapping to which the manifest binds no signal.
    fn mappings(&mut self) -> Vec<PinId> {
        let leaf = self.leaf;
        let mut mappings = Vec::new();
        let consumers: HashSet<&LeafPin> = self.connections.iter().map(|connection| &connection.to).collect();
        let mut open: Vec<(PinId, Span)> = Vec::new();
        for (interface, of) in &leaf.interfaces {
            for (pin, declared) in &of.pins {
                if !matches!(declared.kind.value, PinType::ConsumeSignal(_)) {
                    continue;
                }
                let id = PinId { interface: interface.clone(), pin: pin.clone() };
                if self.bindings_are_sound && !consumers.contains(&self.leaf_pin(id.clone())) {
                    open.push((id.clone(), declared.span));
                }
                mappings.push(id);
            }
        }
        for (id, span) in open {
            let message =
                format!("nothing is bound to the mapping `{id}`, so references through it stay open");
            self.report.say(Severity::Warning, codes::UNBOUND_MAPPING, span, message, |said| {
                said.help(format!(
                    "bind the factory to a `reference.Service` that has `{id}` as `publish-signal(map<string, string>)`"
                ))
            });
        }
        mappings
    }
}

/// Tells whether the declaration of a pin could not be read.
fn is_unread(leaf: &Leaf, id: &PinId) -> bool {
    leaf.interfaces.get(&id.interface).is_some_and(|interface| interface.unread.contains(&id.pin))
}
