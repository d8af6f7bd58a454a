//! The codes of this crate: `WL0600` to `WL0699`.
//!
//! Each code has an explanation, which begins with the meaning of the code. The first YAML block of an explanation, if
//! there is one, is a manifest that causes exactly this code. A test checks this manifest. If the diagnostic offers a
//! fix, the test applies the fix and checks the manifest again.

windlass_source::codes! {
    NOT_A_MANIFEST = "WL0600", "not a manifest",
        r"A manifest is a mapping with `application`, which has the `components`.

```yaml
components:
  vm: {type: scripted.Component}
```

Put `application:` above it, and indent the rest.";
    NAME = "WL0601", "bad name",
        r"Names of components, interfaces, pins and arguments consist of ASCII letters, digits, `_` and `-`. A dot separates
the names of an interface and a pin, so a name contains no dot.

```yaml
application:
  components:
    web.server: {type: reference.Service}
```

`web-server` is right.";
    UNKNOWN_KEY = "WL0602", "unknown key",
        r"The language has no such key at this place. If the key differs from a known key in one or two letters, it is probably
a misspelling, and an error. windlass ignores any other unknown key, and warns about it.

```yaml
application:
  component: {}
  components:
    vm: {type: reference.Service}
```";
    WRONG_SORT = "WL0603", "wrong sort of value",
        r"A mapping, a list or a text was expected, and something else was found.

```yaml
application:
  components: [vm, database]
```

`components` is a mapping from names to components.";
    MISSING_PART = "WL0604", "component without a type",
        r"A component has a `type`, or is a composition with `components`. The `application` itself is a composition.

```yaml
application:
  components:
    vm:
      interfaces: {compute: {ip: publish-signal(string)}}
```

Add `type: scripted.Component`.";
    BAD_PIN = "WL0605", "bad pin",
        r"A pin of a component is one of `configuration(type)`, `publish-signal(type)`, `consume-signal(type)`,
`receive-command(arguments => results)` and `send-command(arguments => results)`. Types are `string`, `int`, `double`,
`bool`, `object`, `bytes`, `unit`, `list<type>`, `map<type, type>` and `record<type name, …>`. Arguments and results are
`type name`, with commas between. A command can also have intermediate results:
`arguments => intermediate results => results`. A pin of a composition is `bind(component#interface.pin)` instead.

```yaml
application:
  components:
    vm:
      type: reference.Service
      interfaces: {compute: {ip: publish-signal(text)}}
```

The type of texts is `string`.";
    MISPLACED_PIN = "WL0606", "pin in the wrong place",
        r"A component without `components` declares each pin by its type. A composition exposes pins of its components by
`bind(…)`.

```yaml
application:
  interfaces:
    compute: {ip: publish-signal(string)}
  components:
    vm:
      type: reference.Service
      interfaces: {compute: {ip: publish-signal(string)}}
```

Expose the pin by `ip: bind(vm#compute.ip)`.";
    BAD_BIND = "WL0607", "one pin bound to all pins",
        r#"`"*"` as the name of a pin stands for all pins of an interface, so it is bound to `.*`. Another name is bound to
single pins.

```yaml
application:
  interfaces:
    compute: {ip: bind(vm#compute.*)}
  components:
    vm:
      type: reference.Service
      interfaces: {compute: {ip: publish-signal(string)}}
```

Write `"*": bind(vm#compute.*)` or `ip: bind(vm#compute.ip)`."#;
    PIN_ID = "WL0608", "bad id of a pin",
        r"`configuration` is a flat mapping from ids of pins to values. An id is `interface.pin`, with exactly one dot.

```yaml
application:
  components:
    vm:
      type: reference.Service
      configuration:
        compute: {size: small}
      interfaces: {compute: {size: configuration(string)}}
```

Write `compute.size: small`.";
    BAD_BINDING = "WL0609", "bad binding",
        r"A binding is a list of two components that are connected: `[web, database]`. A side can name an interface,
`web#sql`, and a component inside of a composition, `main.web`.

```yaml
application:
  components:
    web: {type: reference.Service}
    database: {type: reference.Service}
  bindings:
  - [web, database, cache]
```

Write a binding for each pair.";
    UNKNOWN_COMPONENT = "WL0610", "unknown component",
        r"A `bind(…)` or a binding names a component that is not there. Names start at the composition that contains the line.

```yaml
application:
  components:
    web: {type: reference.Service}
  bindings:
  - [web, database]
```";
    UNKNOWN_PIN = "WL0611", "unknown pin",
        r"A value, a `bind(…)`, a binding or `required` names an interface or a pin that the component does not have. windlass
knows all pins of scripted components, so for these components it is an error. For components of an unknown type it is a
warning. If such a component may have a built-in interface with this name, windlass reports nothing.

```yaml
application:
  components:
    vm:
      type: reference.Service
      interfaces: {input: {size: configuration(string)}}
      required: [inptu]
```";
    WILDCARD_CLASH = "WL0612", "pin from two interfaces",
        r#"`"*"` exposes all pins of several interfaces, and two of these interfaces have a pin with the same name. An entry
beside `"*"` that names this pin takes precedence over `"*"`.

```yaml
application:
  interfaces:
    compute: {"*": "bind(one#compute.*, two#compute.*)"}
  components:
    one:
      type: reference.Service
      interfaces: {compute: {ip: publish-signal(string)}}
    two:
      type: reference.Service
      interfaces: {compute: {ip: publish-signal(string)}}
```

Add `ip: bind(one#compute.ip)`."#;
    FAN_OUT = "WL0613", "signal or command bound to several pins",
        r"The value of a configuration pin can go to several components. A signal comes from one component, and a command goes
to one.

```yaml
application:
  interfaces:
    compute: {ip: 'bind(one#compute.ip, two#compute.ip)'}
  components:
    one:
      type: reference.Service
      interfaces: {compute: {ip: publish-signal(string)}}
    two:
      type: reference.Service
      interfaces: {compute: {ip: publish-signal(string)}}
```";
    TYPE_MISMATCH = "WL0614", "types differ",
        r"A binding connects two pins with the same name, or a `bind(…)` exposes two pins as one pin. But the types of the two
pins differ. The order of arguments does not matter. windlass does not connect the two pins of the binding. The exposed
pin has the type of the first pin in `bind(…)`.

```yaml
application:
  components:
    factory:
      type: scripted.ComponentFactory
      interfaces: {vms: {vm-by-id: 'consume-signal(map<string, string>)'}}
    service:
      type: reference.Service
      interfaces:
        vms: {vm-by-id: publish-signal(string)}
  interfaces:
    component: {'*': bind(factory#component.*)}
  bindings:
  - [factory, service]
```";
    MISFIT = "WL0615", "value of another type",
        r"The value does not fit the type of its pin. Quotes do not matter: `'5'` is an `int`, and `5` a `string`.

```yaml
application:
  components:
    vm:
      type: reference.Service
      configuration: {input.count: many}
      interfaces: {input: {count: configuration(int)}}
```";
    NOT_CONFIGURATION = "WL0616", "not a configuration pin",
        r"Only configuration pins have a value in a manifest, and can be `sensitive`. Signals and results of commands come from
scripts.

```yaml
application:
  components:
    vm:
      type: reference.Service
      configuration: {compute.ip: 203.0.113.1}
      interfaces: {compute: {ip: publish-signal(string)}}
```";
    UNKNOWN_ARGUMENT = "WL0617", "unknown argument",
        r"`arguments` and `results` describe the values of a command, by the names in its signature.

```yaml
application:
  components:
    vm:
      type: reference.Service
      interfaces:
        control:
          resize:
            type: receive-command(int cores)
            arguments: {memory: {name: Memory in GB}}
```";
    TOO_MANY = "WL0618", "too many pins",
        r"Wildcards and `bind(…)` of several pins multiply pins, so a short text can declare very many pins. A manifest may have
at most 100 000 pins, and its bindings may compare at most 100 000 pins.";
    FOREIGN_COMPONENT = "WL0620", "component that windlass does not launch",
        r"windlass reads components of any type, and reports their mistakes. It launches a manifest that has one scripted
component, and perhaps services of the environment (`reference.Service`). A check warns of the first component of
another type; a launch is refused.

```yaml
application:
  components:
    web: {type: workflow.Instance}
```";
    MANY_SCRIPTED = "WL0621", "several scripted components",
        r"A manifest has one scripted component: a `scripted.Component` in an application, a `scripted.ComponentFactory` in
the application of its factory.

```yaml
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory: {type: scripted.ComponentFactory}
    other: {type: scripted.ComponentFactory}
```

Write a manifest for each.";
    MISSING_VALUE = "WL0622", "script or factory is missing",
        r"A `scripted.Component` needs `factory.name`, the title of its factory, and the paths `factory.launchScript` and
`factory.destroyScript`. Each command in `factory.commandScripts` needs a path.

```yaml
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
```

Add `factory.destroyScript: /vm/destroy.py`.";
    UNSUPPORTED_PIN = "WL0623", "pin that scripts can't serve",
        r"A `scripted.Component` has configuration pins, signals that its scripts publish, and commands that they receive. A
`scripted.ComponentFactory` has configuration pins, and mappings from natural ids to instances.

```yaml
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
      interfaces:
        network: {address: consume-signal(string)}
```";
    BUILT_IN = "WL0624", "built-in interface",
        r"The interface `factory` of a scripted component, and `component` of a factory, are built in. They have no further
pins.

```yaml
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
      interfaces:
        factory: {region: configuration(string)}
```

Declare `region` in an interface of another name, such as `configuration`.";
    UNKNOWN_COMMAND = "WL0625", "script of an unknown command",
        r"The keys of `factory.commandScripts` are ids of pins that receive commands.

```yaml
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
        factory.commandScripts: {control.reboot: /vm/reboot.py}
      interfaces:
        compute: {ip: publish-signal(string)}
```

Add the pin to `interfaces`: `control: {reboot: receive-command()}`.";
    COMMAND_WITHOUT_SCRIPT = "WL0626", "command without a script",
        r"The component receives a command for which `factory.commandScripts` has no script.

```yaml
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
      interfaces:
        control: {reboot: receive-command()}
```

Add `factory.commandScripts: {control.reboot: /vm/reboot.py}`.";
    DISCOVERY = "WL0627", "incomplete discovery",
        r"Discovery needs three values: `component.application` (the application of the found instances),
`component.discoveryScript` and `component.discoverySchedule`. A factory without discovery has none of the three.

```yaml
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: VM
        component.discoveryScript: /vm/discover.py
```

Add `component.discoverySchedule: 0 0/5 * * * ? *`.";
    OLD_PIN = "WL0628", "old id of a pin",
        r"The manifest sets the values of discovery in the interface `factory`. The right interface is `component`, but windlass
reads both.

```yaml
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        factory.application: VM
        factory.discoveryScript: /vm/discover.py
        factory.discoverySchedule: 0 0/5 * * * ? *
```";
    NOT_EXPOSED = "WL0629", "factory that is not exposed",
        r#"A service is recognised as a factory by the interface `component` of its application, with all three pins of the
factory.

```yaml
application:
  interfaces:
    vms: {vm-by-id: bind(factory#factory.instances)}
  components:
    factory: {type: scripted.ComponentFactory}
```

Add `component: {"*": bind(factory#component.*)}` to the interfaces of the application."#;
    SHORT_SCHEDULE = "WL0630", "discovery more than once a minute",
        r"Each run of discovery starts a script, possibly in a container. Intervals of more than a minute are better.

```yaml
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: VM
        component.discoveryScript: /vm/discover.py
        component.discoverySchedule: 0/30 * * * * ? *
```

`0 0/5 * * * ? *` is every five minutes.";
    BAD_SCHEDULE = "WL0631", "bad schedule",
        r"A schedule is a Quartz expression of six or seven fields: seconds, minutes, hours, day of the month, month, day of the
week, and perhaps the year. Unlike in crontab, the seconds come first.

```yaml
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: VM
        component.discoveryScript: /vm/discover.py
        component.discoverySchedule: '*/5 * * * *'
```";
    UNBOUND_MAPPING = "WL0632", "mapping without a source",
        r"A reference names a mapping, which is a pin of the factory: `vms.vm-by-id`. Its value comes from another factory,
through a binding with a `reference.Service`. Nothing is bound to this pin, so references through it are never resolved.

```yaml
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      interfaces:
        vms: {vm-by-id: 'consume-signal(map<string, string>)'}
```

Add a component `{type: reference.Service, interfaces: {vms: {vm-by-id: 'publish-signal(map<string, string>)'}}}`, and
bind the factory to it.";
    SECRET_NAME = "WL0633", "secret in plain text",
        r"A configuration pin is named like a secret. With `sensitive: true` its value is sealed in the store and masked in all
output. This is an extension of the language.

```yaml
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
      interfaces:
        configuration: {db-password: configuration(string)}
```

Write `db-password: {type: configuration(string), sensitive: true}`.";
    NO_COUNTERPART = "WL0634", "unknown title",
        r"An application names its factory by `factory.name`, and a factory its application by `component.application`. No
manifest is published under this title.

```yaml
application:
  components:
    vm:
      type: scripted.Component
      configuration:
        factory.name: VM Factry
        factory.launchScript: /vm/launch.py
        factory.destroyScript: /vm/destroy.py
```

Publish the other manifest under this title, or correct the title.";
    WRONG_COUNTERPART = "WL0635", "application and factory do not pair up",
        r"An application and its factory must name each other. This application names a manifest that is not a factory, or the
factory of another application.

```yaml
application:
  components:
    disk:
      type: scripted.Component
      configuration:
        factory.name: VM Factory
        factory.launchScript: /disk/launch.py
        factory.destroyScript: /disk/destroy.py
```

`VM Factory` manages the application `VM`, and this is `Disk`.";
    NEVER_FIRES = "WL0636", "schedule that never fires",
        r"The calendar has no date that the schedule selects, so discovery would never run. For example, February has no day 30.

```yaml
application:
  interfaces:
    component: {'*': bind(factory#component.*)}
  components:
    factory:
      type: scripted.ComponentFactory
      configuration:
        component.application: VM
        component.discoveryScript: /vm/discover.py
        component.discoverySchedule: 0 0 4 30 2 ?
```

`0 0 4 L * ?` is at 04:00 on the last day of each month. `windlass cron next EXPRESSION` lists the next times of a schedule.";
    UNKNOWN_PARAMETER = "WL0640", "unknown parameter",
        r"A parameter of a launch names a pin that the application does not expose, or one that is no configuration pin.
A launch can't set the built-in pins of the interfaces `component` and `factory` either, such as
`component.discoverySchedule`: their values come from the manifest alone. The message lists those that can be set. It is
a warning if the parameter was given to an earlier revision of the manifest, and `windlass app reconfigure NAME --latest`
drops its value.";
    NOTHING_TO_LAUNCH = "WL0641", "nothing to launch",
        r"The manifest has no scripted component, or its check has errors. `windlass check` reports them.";
    SCRIPT_MISSING = "WL0642", "script that is missing",
        r"The path of a script names no file of `--scripts DIR` or `--image IMAGE`. The path `/vm/launch.py` is the file
`vm/launch.py` of a folder, and `/vm/launch.py` of an image. Links are followed within the image. When a manifest is
published, the image of the scripting service may have the scripts that the folder lacks.

Correct the path, or add the file to the folder or the image.";
    SCRIPT_NOT_EXECUTABLE = "WL0643", "script that may not be executed",
        r"A script in `--scripts DIR` or `--image IMAGE` lacks the permission to be executed, so no call of it could begin.

Run `chmod +x FILE` in the folder, or add `RUN chmod +x FILE` to the Dockerfile of the image. Then repeat the command.";
    NOTHING_TO_LOOK_UP = "WL0644", "no manifest whose scripts are checked",
        r"`--scripts DIR` and `--image IMAGE` of `windlass check` name the place of the scripts of manifests. But none of the
checked files is a manifest, that is, a YAML document with the key `application`.

Name a manifest, or remove the option.";
    UNKNOWN_APPLICATION = "WL0650", "unknown application",
        r"No application or factory is published under this title, or it has no such revision. `windlass app ls` lists
what is published.

`windlass app publish MANIFEST --name TITLE` publishes a manifest.";
    BAD_TITLE = "WL0651", "title that can't be used",
        r"Records and assemblies are named by the short name of a title: its letters and digits in lower case, with `-`
between them. A title begins with an ASCII letter, and two titles can't have the same short name.

Choose another title with `--name`.";
    UNKNOWN_ENVIRONMENT = "WL0652", "unknown environment",
        r"There is no environment of this name. The environment `default` always exists; `windlass env ls` lists all.

`windlass env create NAME` creates one.";
    UNKNOWN_SERVICE = "WL0653", "unknown service",
        r"The environment has no such service, or no assembly or location of this name exists. A service is an assembly
that was launched from an application, such as a factory. The scripting service is a location of `windlass.yaml`.

`windlass env show NAME` lists the services of an environment, and `windlass status` all assemblies.";
    SECOND_SERVICE = "WL0654", "second service of one application",
        r"An environment has at most one scripting service, and at most one service of the same application. An exception are
factories: an environment may have several services of the same factory.

`--replace` removes the existing service. Without this option, nothing was changed.";
    SERVICE_IN_USE = "WL0655", "service or environment in use",
        r"Others refer to the service or the environment, so it is not removed. The message names them.

Remove these first.";
    UNKNOWN_PROPERTY = "WL0656", "unknown marker or property",
        r"The environment has no marker or property of this name. `windlass env show NAME` lists them.";
    BAD_PROPERTY = "WL0657", "bad property of an environment",
        r"The type of a property is unknown, or its value does not have that type. Types are those of manifests:
`string`, `int`, `double`, `bool`, `object`, `list<T>`, `map<K, V>`, `record<T name, …>`.

Pass the type with `--type`; the default is `string`. A value of another type than text is JSON.";
    ENVIRONMENT_EXISTS = "WL0658", "environment that exists",
        r"An environment of this name exists. `windlass env show NAME` shows it. Nothing was changed.";
    UNFIT_SERVICE = "WL0659", "service that does not fit",
        r"A component `reference.Service` lists the pins that its service must have. A service fits if its application
exposes all of them under the same ids and with the same types. The chosen one does not, so nothing was changed. The
message lists the services that fit.

`windlass app show TITLE` prints the pins of an application, and the ids under which it exposes them.";
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(super::CODES, 600..=699), Vec::<String>::new());
    }
}
