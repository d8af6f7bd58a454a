//! The codes of the messages of this crate: `WL0100` to `WL0199`.
//!
//! Each code has a page, which `windlass explain` prints. The page begins with the meaning of the code. The
//! first YAML block of a page is an example document, and all messages about the document have this code.
//! Tests check this. If a message offers a fix, a test also applies the fix and checks the fixed document. An
//! example may use the descriptors that `tests/it/pages.rs` defines, such as `resource::web::1.0`.

windlass_source::codes! {
    NOT_A_DESCRIPTOR = "WL0100", "not a descriptor",
        r"A descriptor is a mapping with a `name` such as `assembly::shop::1.0`. Check that the file is the one you meant.

```yaml
- name: assembly::shop::1.0
```

This is a list; without the `- ` it is a descriptor.";
    NAME = "WL0101", "bad name",
        r"A name starts with a letter, ends with a letter or digit, and contains only letters, digits, `_` and `-`. It must not
contain `__`, which separates the parts of an instance's name (`shop__web__2`). The words `instance`, `source` and
`target` are not allowed as names, because they have a meaning in `${…}`. A descriptor's name has three parts,
`kind::name::version`. The middle part has 1 to 50 characters. The version consists of numbers with dots between them,
and is never a range.

```yaml
name: assembly::shop::v1.0
```

`name: assembly::shop::1.0` is right.

In the `properties` of an assembly, a dot in the name of a property is an error, because `${a.b}` means the property `b`
of the component `a`. In a resource, such a dot is a warning.";
    MISSING_NAME = "WL0102", "missing name",
        r"Every descriptor needs a `name`, because windlass finds it by this name. If a `lmproject.yml` of the tool `lmctl`, in a
folder above the file, gives the name, then the missing `name` is only a warning.

```yaml
description: a shop without a name
composition:
  web:
    type: resource::web::1.0
```

Begin with `name: assembly::shop::1.0`.";
    UNKNOWN_KEY = "WL0103", "unknown key",
        r"The language has no such key at this place. If a key differs from a known key in one or two letters, it is probably a
misspelling, and an error: without an error, the intended setting would have no effect. An unknown name in the
`lifecycle` of a relationship is also an error, because only Create and Cease exist there. windlass ignores every other
unknown key, and warns about it. If the key belongs to another place, the help names this place. A few misspellings are
common (`descripion`, `read_only`, `require`). windlass reads them as the intended key, with a warning.

```yaml
name: assembly::shop::1.0
descripion: read as `description`
```";
    WRONG_SORT = "WL0104", "wrong sort of value",
        r"A mapping, a list or a text was expected, and something else was found.

```yaml
name: assembly::shop::1.0
composition: [web, db]
```

`composition` is a mapping from names to components.";
    MISSING_TYPE = "WL0105", "missing type",
        r"Every entry of `composition` and `references` needs the `type`, the name of its descriptor.

```yaml
name: assembly::shop::1.0
composition:
  web:
    quantity: 2
```

Add `type: resource::web::1.0`.";
    BAD_TYPE = "WL0106", "bad type",
        r"A `type` is the name of a descriptor, such as `resource::web::1.0`. A range of versions, such as `^1.0`, is allowed
in `references` only, because windlass can create a component only from one version.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::^1.0
```

In `references`, `1.0` is this version only, `^1.2` is every version from 1.2 up to but not including 2, `~1.2` is every
version from 1.2 up to but not including 1.3, `1.*` is every version that begins with 1, and `>=1.0, <1.5` is every
version from 1.0 up to but not including 1.5. Missing parts of a version count as zero.";
    SAME_NAME = "WL0107", "name used twice",
        r"An entry of `composition` and one of `references` have the same name, so `${name.property}` would be ambiguous.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
references:
  web:
    type: assembly::shop::1.0
```";
    OTHER_KIND = "WL0108", "descriptor of another kind",
        r"The document is a template of an assembly, or a descriptor of a type. Later versions of the language have these kinds
of documents. windlass neither checks nor uses them.

```yaml
name: assembly-template::shop::1.0
template: |
  name: {{ name }}
```";
    OTHER_NAME = "WL0109", "not the project's name",
        r"The file `lmproject.yml` of a project gives each descriptor of the project a name. Other descriptors find the
descriptor by this name. But the `name` in this descriptor is a different one. Remove the `name`, or write the name that
the project gives.

```yaml
name: assembly::shop::2.0
```

With `name: shop` and `version: 1.0` in `lmproject.yml` this must be `assembly::shop::1.0`.";
    TEMPLATE = "WL0110", "bad reference",
        r"A reference is `${property}`, `${component.property}`, `${instance.name}`, `${instance.id}` or `${instance.index}`. In
the properties of a relationship, a reference can also be `${source.property}` or `${target.property}`. A reference
contains no blanks and no calculation.

```yaml
name: assembly::shop::1.0
properties:
  host: {default: shop}
  url: {value: 'http://${ host }/'}
```";
    UNKNOWN_PROPERTY = "WL0111", "unknown property",
        r"The reference `${…}` names a property that is not declared. This descriptor declares the properties of the assembly.
The properties of a component are declared by its entry in `composition` or `references`, and by the descriptor of its
type. Other descriptors can't read the private properties of a resource.

```yaml
name: assembly::shop::1.0
properties:
  region: {default: eu-1}
  label: {value: '${regoin}'}
```";
    UNKNOWN_COMPONENT = "WL0112", "unknown component",
        r"The name is neither in `composition` nor in `references`.

```yaml
name: assembly::shop::1.0
properties:
  url: {value: '${wbe.url}', read-only: true}
composition:
  web:
    type: resource::web::1.0
```";
    PROPERTY_CYCLE = "WL0113", "circle of properties",
        r"Each property of the circle needs the value of the next property, so none of them can get a value. Components can also
form such a circle: a component publishes its outputs when it is installed, so two components that read outputs of each
other would wait for ever. The message shows each step of the circle.

```yaml
name: assembly::shop::1.0
properties:
  a: {value: '${b}'}
  b: {value: '${a}'}
```

Give one of the properties a value without `${…}`. If two components must know each other, declare a relationship
between them. Its operations run when both components exist.";
    MISPLACED_REFERENCE = "WL0114", "reference in the wrong place",
        r"`${source.…}` and `${target.…}` are allowed only in the properties of a relationship.

```yaml
name: assembly::shop::1.0
properties:
  url: {value: '${source.url}'}
```

Name the component instead: `${web.url}`.";
    TOO_LONG = "WL0115", "value too long",
        r"If each `${…}` in the value is replaced by its own value, the result has more than 4 MiB. Or all values together have
read more than 64 MiB. A few lines are enough: if each property reads the next property twice, then the size doubles with
each property.

```yaml
name: assembly::shop::1.0
properties:
  a: {value: '${b}${b}${b}${b}${b}${b}${b}${b}'}
  b: {value: '${c}${c}${c}${c}${c}${c}${c}${c}'}
  c: {value: '${d}${d}${d}${d}${d}${d}${d}${d}'}
  d: {value: '${e}${e}${e}${e}${e}${e}${e}${e}'}
  e: {value: '${f}${f}${f}${f}${f}${f}${f}${f}'}
  f: {value: '${g}${g}${g}${g}${g}${g}${g}${g}'}
  g: {value: '${h}${h}${h}${h}${h}${h}${h}${h}'}
  h: {value: 'four'}
```";
    UNKNOWN_TYPE = "WL0116", "unknown property type",
        r"The types of properties are `string`, `integer`, `float`, `boolean`, `uuid`, `password`, `key`, `resourceKeyId`, `map`
and `list`, in any letter case. The section `data-types` declares further types. A type does not change the spelling of
a value. windlass treats a value of an unknown type as text. Some descriptors contain `type: read_only`, which windlass
reads as `read-only: true`.

```yaml
name: assembly::shop::1.0
properties:
  region: {type: stirng}
```";
    MISFIT = "WL0117", "value not of its type",
        r"The value does not have the form that the type of its property requires. windlass uses the value unchanged.

```yaml
name: assembly::shop::1.0
properties:
  replicas: {type: integer, default: three}
```";
    EMPTY_ENTRY = "WL0118", "empty entry",
        r"The entry has a name and no content. A component, a reference and a relationship need content. A property needs none,
but an empty property is often unfinished. Write `{}` if the property is complete.

```yaml
name: assembly::shop::1.0
composition:
  web:
```";
    MISPLACED_KEY = "WL0119", "key in the wrong place",
        r"windlass ignores a key in the wrong place. In this example, the value of a property is beside `properties` instead of
in it. Another example is a section that the document can't have, such as `private-properties` in an assembly.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    port:
      value: 8080
```

This is the right place:

```text
  web:
    type: resource::web::1.0
    properties:
      port:
        value: 8080
```";
    BAD_NUMBER = "WL0120", "bad number",
        r"The value of `quantity`, or of a bound in `cluster`, is a whole number from 0 on. A reference `${…}` to a property of
the assembly with such a number is also allowed. The number can't depend on an output of a component, because windlass
needs the number before it creates the first component.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    quantity: two
```";
    BAD_BOUNDS = "WL0121", "bad cluster bounds",
        r"A cluster needs minimum-nodes <= initial-quantity <= maximum-nodes, and a scaling-increment of at least 1.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    cluster:
      minimum-nodes: 3
      maximum-nodes: 2
```

By default, minimum-nodes is 1, initial-quantity is equal to minimum-nodes, scaling-increment is 1, and the number of
nodes has no maximum.";
    QUANTITY_AND_CLUSTER = "WL0122", "quantity beside cluster",
        r"The section `cluster` determines the number of nodes of this component, so windlass ignores `quantity`.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    quantity: 3
    cluster: {maximum-nodes: 4}
```";
    VALUE_AND_DEFAULT = "WL0123", "value beside default",
        r"A property with a fixed `value` never uses its `default`.

```yaml
name: assembly::shop::1.0
properties:
  region: {value: eu-1, default: eu-2}
```";
    NEVER_SATISFIED = "WL0124", "required, read-only and without a value",
        r"The property is `required`, but it can't get a value: it is `read-only`, so users can't set it, and it has neither a
`value` nor a `default`.

```yaml
name: assembly::shop::1.0
properties:
  url: {required: true, read-only: true}
```";
    BAD_FLAG = "WL0125", "bad flag",
        r"`required`, `read-only` and `volatile` are `true` or `false`.

```yaml
name: assembly::shop::1.0
properties:
  region: {required: maybe}
```";
    TOO_MANY_NODES = "WL0126", "too many elements",
        r"An assembly may have at most 200 000 elements. At most 10 000 of them may come from `quantity`, from `cluster`, and
from assemblies that are nested more than once. The reason for this second limit: a `quantity` inside of an assembly with
a `quantity` multiplies, so a few lines can declare very many elements. A project can raise the second limit in its
`windlass.yaml`:

    limits:
      nodes: 50000

Another limit applies to the text that all elements together copy from their descriptors: 64 MiB, and 4 KiB more for
each element.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    quantity: 4000000
```";
    UNEVEN_STEP = "WL0127", "last step of scaling can't be made",
        r"The difference between initial-quantity (by default minimum-nodes) and maximum-nodes is not a multiple of
scaling-increment. Each `scale out` adds scaling-increment nodes or none. So a cluster that begins with initial-quantity
nodes can't reach its maximum by `scale out`.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    cluster: {minimum-nodes: 1, maximum-nodes: 4, scaling-increment: 2}
```";
    BAD_VOLATILE = "WL0128", "volatile and unchangeable",
        r"The value of a `volatile` property may change while its part is Active. But no user can change the value of this
property, because it is read-only or has a fixed `value`.

```yaml
name: resource::cache::1.0
properties:
  size: {volatile: true, value: 64}
```

With `default: 64` instead of `value: 64`, users can change the value.";
    SAME_PROPERTY = "WL0129", "property declared twice",
        r"The name is in `properties` and in `private-properties`, so `${name}` would be ambiguous.

```yaml
name: resource::cache::1.0
properties:
  size: {default: 64}
private-properties:
  size: {default: 32}
```";
    BAD_ENDPOINT = "WL0130", "bad end of a relationship",
        r"`source-capabilities` is a list of `component.capability`, and `target-requirements` a list of `component.requirement`.
The name of an entry of `references` without a capability is allowed in `source-capabilities` only, because this
assembly does not change existing instances.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
relationships:
  serves:
    target-requirements: [web.Customers]
    source-state: Active
    target-state: Active
```";
    BAD_STATE = "WL0131", "bad state",
        r"`source-state` and `target-state` are `Installed`, `Inactive` or `Active`. The modifiers are `pre` or `post`. The letter
case matters.

```yaml
name: assembly::shop::1.0
composition:
  a: {type: resource::web::1.0}
  b: {type: resource::web::1.0}
relationships:
  joined:
    source-capabilities: [a.Front]
    target-requirements: [b.Back]
    source-state: active
    target-state: Active
```

By default, `source-state-modifier` is `post` and `target-state-modifier` is `pre`. So windlass creates the relationship
after the source has reached `source-state`, and before the target reaches `target-state`.";
    BAD_OPERATION = "WL0132", "bad operation",
        r"A relationship calls `source.<operation>` or `target.<operation>`. An assembly promotes `<component>.<operation>`. The
descriptor of the source, the target or the component must declare the operation. A reference to another assembly has
the operations that this assembly promotes. A reference to an entry of `existing:` in `windlass.yaml` has the operations
of the entry's `package`. A reference to a thing that a driver finds has the operations of its resource.

```yaml
name: assembly::shop::1.0
composition:
  web: {type: resource::web::1.0}
operations:
  Register: {source-operation: web.Jion}
```";
    BAD_POLICY = "WL0133", "bad policy",
        r"A `policy::scale` belongs to an assembly. It reads a load (`metric: component.metric`), and scales its `target`, a
component with a `cluster`. A `policy::heal` belongs to a resource, and reads the integrity metric of this resource.

```yaml
name: assembly::shop::1.0
composition:
  web: {type: resource::web::1.0}
policies:
  grow:
    type: policy::scale
    metric: web.load
    target: web
    properties: {scaleOut_threshold: 80, scaleIn_threshold: 20}
```

Here `web` has no `cluster` to scale.";
    BAD_METRIC = "WL0134", "bad metric",
        r"A metric of a resource has a type, `metric::load` or `metric::integrity`. Its `publication-period` is a whole number of
seconds: 60 by default, and 0 if the metric is not published. A metric of an assembly has a `source-metric`, such as
`balancer.load`, and has the same type as this metric.

```yaml
name: resource::cache::1.0
metrics:
  load: {type: 'metric::load', publication-period: often}
```";
    UNKNOWN_METRIC = "WL0135", "unknown metric",
        r"The metric is not declared. In `component.metric`, the descriptor of the component must declare the metric. A metric
without a component must be declared by this descriptor.

```yaml
name: resource::cache::1.0
metrics:
  integrity: {type: 'metric::integrity'}
policies:
  heal:
    type: policy::heal
    metric: integritty
    properties: {smoothing: 3}
```";
    BAD_SETTING = "WL0136", "bad setting of a policy",
        r"Thresholds are loads in percent, from 0 to 100. scaleIn_threshold must be less than scaleOut_threshold. `smoothing` is
the number of successive periods, at least 1, in which the load must be beyond a threshold before the policy reacts.
scaleOut_smoothing and scaleIn_smoothing set this number for one direction. Both `smoothing: 3` and
`smoothing: {value: 3}` are allowed.

```yaml
name: assembly::shop::1.0
composition:
  web: {type: resource::web::1.0, cluster: {maximum-nodes: 4}}
policies:
  grow:
    type: policy::scale
    metric: web.load
    target: web
    properties: {scaleOut_threshold: 20, scaleIn_threshold: 80}
```";
    UNKNOWN_CAPABILITY = "WL0137", "capability that nobody declares",
        r"The descriptor of the source declares capabilities, but not this one. Or the descriptor of the target declares
requirements, but not this one. This is only a note, because windlass does not need these declarations.

```yaml
name: assembly::shop::1.0
composition:
  a: {type: resource::net::1.0}
  b: {type: resource::web::1.0}
relationships:
  joined:
    source-capabilities: [a.Netwrok]
    target-requirements: [b.Back]
    source-state: Active
    target-state: Active
```";
    TOO_EARLY = "WL0138", "operation before its end exists",
        r"With `source-state: Installed` and `source-state-modifier: pre`, windlass creates the relationship before it installs
the source. So it would call the operation of the source before the source exists.

```yaml
name: assembly::shop::1.0
composition:
  a: {type: resource::web::1.0}
  b: {type: resource::web::1.0}
relationships:
  joined:
    source-capabilities: [a.Front]
    target-requirements: [b.Back]
    source-state: Installed
    source-state-modifier: pre
    target-state: Active
    lifecycle:
      Create: [source.Join]
```";
    OLD_SHAPE = "WL0139", "old spelling",
        r"This spelling comes from an older version of the language. windlass reads it like the current spelling. Today,
`selector` contains the `infrastructure-type` of a driver, and `properties` contains the settings of a policy.

```yaml
name: resource::cache::1.0
lifecycle: [Install]
default-driver:
  script:
    infrastructure-type: [Local]
```";
    MISSING_DESCRIPTOR = "WL0140", "missing descriptor",
        r"No folder of the catalog contains a descriptor with this name. The catalog consists of the folder of the assembly, the
folders above it up to the root of the project, and each folder of `--catalog`. `windlass check` skips the checks that
need the descriptor. Other commands can't create the assembly without it.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::wbe::1.0
```";
    NESTED_IN_ITSELF = "WL0141", "assembly inside itself",
        r"The assembly contains itself, directly or inside of other assemblies. So the number of its components would be
infinite.

```yaml
name: assembly::shop::1.0
composition:
  branch:
    type: assembly::shop::1.0
```";
    NESTED_TOO_DEEP = "WL0142", "assemblies nested too deep",
        r"More than 64 assemblies are nested one inside of the other. Put some of them side by side into the same assembly.

```yaml
name: assembly::level0::1.0
composition:
  deeper:
    type: assembly::level1::1.0
```

(and so on, up to `level65`).";
    PLACEHOLDER = "WL0143", "placeholder that means nothing",
        r"The tool `lmctl` replaces `$lmctl:/contains:/web:/descriptor_name` by the name of the package `web` that the project
contains. windlass does the same if a `lmproject.yml` in a folder above the file lists the package. Without such a file,
windlass can't create the component, and `windlass check` skips the checks that need its descriptor.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: $lmctl:/contains:/web:/descriptor_name
```";
    UNPLACED = "WL0144", "reference without a place",
        r"The properties `resourceManager` and `deploymentLocation` of a reference select the location of the existing thing. A
reference to a resource without these properties fits things at all locations. If it fits two things, windlass reports
an error.

```yaml
name: assembly::shop::1.0
references:
  net:
    type: resource::net::1.0
    properties:
      name: {value: VIDEO}
```";
    BAD_DATA_TYPE = "WL0145", "bad data type",
        r"An entry of `data-types` has `properties`. It can have `derived-from`, the name of another entry or of a type of the
language. An entry can't have the name of a type of the language, and can't be derived from itself.

```yaml
name: assembly::shop::1.0
data-types:
  Place: {properties: {street: {type: string}}}
  Address: {derived-from: Plaec, properties: {name: {type: string}}}
```";
    UNKNOWN_TRANSITION = "WL0146", "unknown transition",
        r"The transitions of a resource are Create, Install, Configure, Start, Integrity, Reconfigure, Stop, Uninstall, Delete and
Adopt. windlass never calls a transition with another name. Three names from other versions of the language are only a
warning, and windlass ignores them: `Upgrade`, `CreateInfrastructure` and `DeleteInfrastructure`.

```yaml
name: resource::cache::1.0
lifecycle: [Instal, Start]
```";
    TYPOGRAPHIC = "WL0147", "typographic quotes",
        r"The text begins and ends with typographic quotes, which word processors and web pages use. In YAML, only `'` and
straight double quotes are quotes, so the typographic quotes are a part of the text. If the text has to contain them,
put straight quotes around the text.

```yaml
name: resource::cache::1.0
properties:
  size: {default: “80”}
```";
    BAD_PACKAGE_CHANGE = "WL0148", "bad effect of a changed package",
        r"`on-package-change` sets the effect of a changed package with an unchanged version on existing instances. With `keep`,
windlass uses the new scripts for later calls. With `reconfigure`, windlass calls Reconfigure, which the resource must
declare. With `replace`, windlass removes and re-creates the instance.

```yaml
name: resource::web::1.0
lifecycle: [Install, Uninstall]
on-package-change: reconfigure
```";
    BAD_UPDATE = "WL0149", "bad rules for an update",
        r"The section `update` contains rules for a change of a component with several nodes, which change in batches:

- `max-unavailable` is the number of nodes that may be down at once: a number from 1, a percentage, or `all`. windlass
  rounds a percentage down, but to at least 1.
- `max-surge` is the number of additional nodes during the change, or a percentage, which windlass rounds up. A cluster
  with `each` can't have additional nodes.
- `pause` is the time between two batches, such as `10s` or `1m30s`, up to a week.
- `on-failure` is `stop` or `rollback`.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    quantity: 4
    update: {max-unavailable: 0}
```";
    UNKNOWN_PARAMETER = "WL0150", "unknown parameter",
        r"The assembly declares no property of this name. Here `regoin` was given:

```yaml
name: assembly::shop::1.0
properties:
  region: {default: eu-1}
```";
    MISSING_PARAMETER = "WL0151", "missing parameter",
        r"A `required` property has neither a `value` nor a `default`, and no parameter sets it. `null` does not count as a value.

```yaml
name: assembly::shop::1.0
properties:
  region: {required: true}
```

```console
$ windlass up shop -p region=eu-1
```";
    FIXED_PARAMETER = "WL0152", "parameter can't be set",
        r"The property is read-only or has a fixed `value`, so a parameter can't set it. Here `region` was given:

```yaml
name: assembly::shop::1.0
properties:
  region: {value: eu-1}
```

With `default` instead of `value`, a parameter can set the property.";
    OPEN_SECRET = "WL0153", "secret on the command line",
        r"The command line contains the value of a sensitive property. Other users of the machine can read the command line, and
the shell keeps it in its history. Pass the value in a file or on standard input:

```console
$ windlass up shop -p password=@/run/secrets/password
$ windlass up shop -p password=- < /run/secrets/password
$ windlass up shop --params secrets.yaml
```";
    NO_INSTANCE = "WL0160", "reference resolves to nothing",
        r"No existing thing has the type, the name and the location of the reference. windlass has searched the assemblies of the
store, the entries of `existing:` in `windlass.yaml`, and the things that the `queries` of the reference's resource
find. The properties of a reference must be known before windlass creates the first component.

```yaml
name: assembly::shop::1.0
references:
  storage:
    type: assembly::storage::^1.0
    properties:
      name: {value: shelf}
```";
    MANY_INSTANCES = "WL0161", "reference is ambiguous",
        r"More than one existing thing fits the reference. If the things have several versions, only those with the newest
version count. Add properties to the reference until it fits one thing only.

```yaml
name: assembly::shop::1.0
references:
  twins:
    type: assembly::twin::1.0
```";
    SEARCH_FAILED = "WL0162", "search for an existing thing failed",
        r"A driver has searched for the thing of a reference, and the search failed. For example, an HTTP request failed, or
the script of the search exited with an error. So windlass does not know whether the thing exists. The message contains
the reason. Nothing was changed.

Correct the cause, and repeat the command. Or declare the thing under `existing:` in `windlass.yaml`: then windlass does
not search for it.

```yaml
name: assembly::shop::1.0
references:
  net:
    type: resource::sought::1.0
    properties: {deploymentLocation: {value: here}, resourceManager: {value: rm}}
```";
    MANY_NODES = "WL0170", "one value of many nodes",
        r"The reference `${…}` reads a property of a component with several nodes. It gets the value of the first node. If the
component has no nodes, the reference has no value.

```yaml
name: assembly::shop::1.0
properties:
  url: {read-only: true, value: '${web.url}'}
composition:
  web:
    type: resource::web::1.0
    quantity: 3
```";
    OVERRIDES_READ_ONLY = "WL0171", "value for what decides itself",
        r"In the descriptor of the component's type, the property is read-only, private, or has a fixed `value`. So windlass
ignores the value that this assembly gives it.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    properties:
      url: {value: 'http://shop/'}
```";
    DEPENDENCY_CYCLE = "WL0172", "components that depend on each other",
        r"Each of these components must be Active before the next one begins, so none of them can begin. Remove an entry from
`depends-on` of one of the components.

```yaml
name: assembly::shop::1.0
composition:
  db: {type: resource::web::1.0, depends-on: [web]}
  web: {type: resource::web::1.0, depends-on: [db]}
```";
    BAD_EACH = "WL0173", "bad list of nodes",
        r"`each` of a cluster is a list of maps. The cluster has one node for each map. `key` names a field of the maps. The value
of this field is the last part of the node's name. So each map needs this field, no two maps have the same value in it,
and the value has the form of a component's name and is not a number. In the properties of the component,
`${each.FIELD}` reads any field of the node's map.

The list must be known before windlass creates the first component, and must not be a secret. A cluster with `each` has
no bounds, such as `maximum-nodes`. To change the number of nodes, change the list.

```yaml
name: assembly::shop::1.0
properties:
  hosts: {type: list, default: [{name: rack1, address: 10.0.0.1}, {name: rack2, address: 10.0.0.2}]}
composition:
  web:
    type: resource::web::1.0
    cluster: {each: '${hosts}', key: name, maximum-nodes: 4}
    properties: {address: {value: '${each.address}'}}
```";
    OPEN_SOURCE = "WL0174", "secret that is read from no secret",
        r"The property of the component is a secret, but it reads a property that is not declared as a secret. windlass stores
the value of that property in clear, and shows it, for example in `windlass history` and in saved plans. Declare that
property as a secret, too.

```yaml
name: assembly::shop::1.0
properties:
  licence: {type: string}
composition:
  web:
    type: resource::web::1.0
    properties:
      licence: {type: password, value: '${licence}'}
```";
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(super::CODES, 100..=199), Vec::<String>::new());
    }
}
