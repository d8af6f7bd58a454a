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
        r"Names start with a letter, end with a letter or digit, and hold letters, digits, `_` and `-`. `__` is not allowed,
since it separates the parts of an instance's name (`shop__web__2`). `instance`, `source` and `target` are kept for
`${…}`. A descriptor's name has three parts, `kind::name::version`, with 1 to 50 characters in the middle one; a version
is numbers with dots between, never a range.

```yaml
name: assembly::shop::v1.0
```

`name: assembly::shop::1.0` is right.

A dot in the name of a property is an error in an assembly's own section, since `${a.b}` is the property `b` of the
component `a`. In a resource it is a warning.";
    MISSING_NAME = "WL0102", "missing name",
        r"A descriptor is found by its `name`, and needs one. Where a `lmproject.yml` above the file gives the name, as the
tool `lmctl` has it, this is a warning.

```yaml
description: a shop without a name
composition:
  web:
    type: resource::web::1.0
```

Begin with `name: assembly::shop::1.0`.";
    UNKNOWN_KEY = "WL0103", "unknown key",
        r"The key is not part of the language here. A key that differs in one or two letters from one that is known is a
misspelling: it is an error, since what it should say is missing. So is every unknown name in the `lifecycle` of a
relationship, which has Create and Cease only. Other unknown keys are warned of and ignored; the help says where a key
belongs that stands elsewhere. Some misspellings are common (`descripion`, `read_only`, `require`): they are read as what
they mean, with a warning.

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
        r"A `type` is the name of a descriptor, as `resource::web::1.0`. A range of versions, as `^1.0`, is for `references`
only: what is made must be one version.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::^1.0
```

Ranges of references: `1.0` is that version and no other, `^1.2` is 1.2 and later below 2, `~1.2` is 1.2 and later below
1.3, `1.*` is all of 1, `>=1.0, <1.5` is what it says. Missing parts of a version are zero.";
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
        r"Later versions of the language have templates of assemblies, and descriptors of types. windlass makes nothing from
them, and doesn't check them.

```yaml
name: assembly-template::shop::1.0
template: |
  name: {{ name }}
```";
    OTHER_NAME = "WL0109", "not the project's name",
        r"The file `lmproject.yml` of a project gives each descriptor in it a name, and other descriptors of the project find it
by that name. This one calls itself differently. Leave the name out, or write the one that the project gives.

```yaml
name: assembly::shop::2.0
```

With `name: shop` and `version: 1.0` in `lmproject.yml` this must be `assembly::shop::1.0`.";
    TEMPLATE = "WL0110", "bad reference",
        r"A reference is `${property}`, `${component.property}` or `${instance.name}` (also `id` and `index`); in the
properties of a relationship also `${source.property}` and `${target.property}`. There are no blanks in it, and nothing
is computed.

```yaml
name: assembly::shop::1.0
properties:
  host: {default: shop}
  url: {value: 'http://${ host }/'}
```";
    UNKNOWN_PROPERTY = "WL0111", "unknown property",
        r"The reference names a property that nobody declares: neither the entry in `composition` or `references` nor, where it
is at hand, the descriptor of its type. Private properties of a resource can't be read from outside.

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
        r"Each property of the circle needs the value of the next, so none can ever have one. The same holds for components: an
output is known once its component is installed, so two components that read each other's outputs wait for ever. The
circle is shown edge by edge.

```yaml
name: assembly::shop::1.0
properties:
  a: {value: '${b}'}
  b: {value: '${a}'}
```

Give one of them a value of its own. Where two components must know each other, make a relationship between them: its
operations run when both are there.";
    MISPLACED_REFERENCE = "WL0114", "reference in the wrong place",
        r"`${source.…}` and `${target.…}` have a meaning only in the properties of a relationship.

```yaml
name: assembly::shop::1.0
properties:
  url: {value: '${source.url}'}
```

Name the component instead: `${web.url}`.";
    TOO_LONG = "WL0115", "value too long",
        r"With all that it reads put in, the value has more than 4 MiB, or all values together have read more than 64 MiB.
Properties that read another one twice, which reads another one twice, double with each step: 30 lines are enough.

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
        r"Types of properties are `string`, `integer`, `float`, `boolean`, `uuid`, `password`, `key`, `resourceKeyId`, `map` and
`list`; case doesn't count. Others are declared in `data-types`. A type is advice: all values keep their spelling, and
those of an unknown type are taken as text. `read_only` is no type, though it is written as one; it is read as the flag
`read-only: true`.

```yaml
name: assembly::shop::1.0
properties:
  region: {type: stirng}
```";
    MISFIT = "WL0117", "value not of its type",
        r"The value doesn't look like the type of its property. It is taken as it stands.

```yaml
name: assembly::shop::1.0
properties:
  replicas: {type: integer, default: three}
```";
    EMPTY_ENTRY = "WL0118", "empty entry",
        r"The entry has a name and nothing else. A component, reference or relationship can't be made from nothing. A property
can, but it is often a line that was forgotten; `{}` says that it was not.

```yaml
name: assembly::shop::1.0
composition:
  web:
```";
    MISPLACED_KEY = "WL0119", "key in the wrong place",
        r"A value for a property stands beside `properties`, not in it, so it is ignored. Or a section stands where it has no
meaning, as `private-properties` in an assembly.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    port:
      value: 8080
```

Right is

```text
  web:
    type: resource::web::1.0
    properties:
      port:
        value: 8080
```";
    BAD_NUMBER = "WL0120", "bad number",
        r"A quantity or a cluster bound is a whole number from 0, or a reference to a property of the assembly that has one. It
can't depend on a component: it must be known before any is made.

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

Left out, minimum-nodes is 1, initial-quantity is minimum-nodes, scaling-increment is 1, and there is no maximum.";
    QUANTITY_AND_CLUSTER = "WL0122", "quantity beside cluster",
        r"A component with a `cluster` takes its number of nodes from there; `quantity` is ignored.

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
        r"A read-only property can't be given from outside, so without a `value` or `default` of its own it never has what
`required` asks for.

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
        r"An assembly may have 200 000 elements. Of these, 10 000 may come of `quantity`, `cluster` and of assemblies that are
nested again, which a few lines can ask for: a `quantity` inside of a `quantity` multiplies. A project that needs more
says so in its `windlass.yaml`:

    limits:
      nodes: 50000

What all of them copy out of their descriptors is bounded too, to 64 MiB and 4 KiB for each element.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    quantity: 4000000
```";
    UNEVEN_STEP = "WL0127", "last step of scaling can't be made",
        r"The distance between initial-quantity (minimum-nodes, where it is not given) and maximum-nodes is no multiple of
scaling-increment. Steps are whole, so scaling out from there never reaches the maximum.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    cluster: {minimum-nodes: 1, maximum-nodes: 4, scaling-increment: 2}
```";
    BAD_VOLATILE = "WL0128", "volatile and unchangeable",
        r"A volatile property may be changed while its part is Active. One that is read-only, or has a fixed `value`, can't be
changed by anybody.

```yaml
name: resource::cache::1.0
properties:
  size: {volatile: true, value: 64}
```

`default: 64` leaves it open.";
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
        r"`source-capabilities` and `target-requirements` are lists of `component.capability`. The bare name of a reference is a
source only, because this assembly does not change existing instances.

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
        r"`source-state` and `target-state` are `Installed`, `Inactive` or `Active`; modifiers are `pre` or `post`. Capitals
count.

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

The states are the least that each end must have. Left out, source-state-modifier is `post` (once the source is there)
and target-state-modifier is `pre` (before the target gets there).";
    BAD_OPERATION = "WL0132", "bad operation",
        r"A relationship calls `source.<operation>` or `target.<operation>`; an assembly promotes `<component>.<operation>`. The
operation must be declared by the descriptor at that end. Of references, other assemblies have the operations that they promote,
what `windlass.yaml` lists has those of its `package`, and what a driver finds has those of its resource.

```yaml
name: assembly::shop::1.0
composition:
  web: {type: resource::web::1.0}
operations:
  Register: {source-operation: web.Jion}
```";
    BAD_POLICY = "WL0133", "bad policy",
        r"`policy::scale` belongs to an assembly: it reads a load, `metric: component.metric`, and has a `target` in
`composition` that has a `cluster`. `policy::heal` belongs to a resource and reads its integrity.

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
        r"A metric of a resource has a type, `metric::load` or `metric::integrity`, and perhaps a `publication-period` in whole
seconds (60 if none is given, 0 for one that is not published). A metric of an assembly has a `source-metric`, as
`balancer.load`, and takes the type of its source.

```yaml
name: resource::cache::1.0
metrics:
  load: {type: 'metric::load', publication-period: often}
```";
    UNKNOWN_METRIC = "WL0135", "unknown metric",
        r"The metric is not declared: not by the descriptor of the component that is named before the dot, or, without a
component, not by this descriptor.

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
        r"Thresholds are loads in percent, from 0 to 100, and scaleIn_threshold is less than scaleOut_threshold. `smoothing` is
the number of periods, at least 1, that a threshold must be passed in a row; scaleOut_smoothing and scaleIn_smoothing
say it for each direction. Both `smoothing: 3` and `smoothing: {value: 3}` are fine.

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
        r"The descriptor at this end declares capabilities (or requirements), and not this one. Nothing depends on it: such
words are what people agree on.

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
        r"With `source-state: Installed` and `source-state-modifier: pre` the relationship is made before its source is
installed, and so an operation of the source is called on nothing.

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
        r"Older versions of the language wrote this differently; it is read as it was meant. `infrastructure-type` of a driver
now stands below `selector`, and the settings of a policy below `properties`.

```yaml
name: resource::cache::1.0
lifecycle: [Install]
default-driver:
  script:
    infrastructure-type: [Local]
```";
    MISSING_DESCRIPTOR = "WL0140", "missing descriptor",
        r"No folder of the catalog has a descriptor of this name. The catalog is the folder of the assembly, upwards to the
project's root, and every `--catalog` folder. A check leaves out what depends on it; nothing can be made without it.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::wbe::1.0
```";
    NESTED_IN_ITSELF = "WL0141", "assembly inside itself",
        r"The assembly contains itself, directly or through others, so it would never end.

```yaml
name: assembly::shop::1.0
composition:
  branch:
    type: assembly::shop::1.0
```";
    NESTED_TOO_DEEP = "WL0142", "assemblies nested too deep",
        r"More than 64 assemblies are inside of each other. Make some of them parts of the same one.

```yaml
name: assembly::level0::1.0
composition:
  deeper:
    type: assembly::level1::1.0
```

(and so on, up to `level65`).";
    PLACEHOLDER = "WL0143", "placeholder that means nothing",
        r"The tool `lmctl` replaces `$lmctl:/contains:/web:/descriptor_name` by the name of the package `web` that the project
contains. windlass does the same where a `lmproject.yml` above the file lists it. Without such a file, what depends on
the component is not checked, and nothing can be made from it.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: $lmctl:/contains:/web:/descriptor_name
```";
    UNPLACED = "WL0144", "reference without a place",
        r"Of the things of a type that exist, `resourceManager` and `deploymentLocation` together name one place. A reference to
a resource that doesn't give them takes what fits from any place, and two that fit are an error.

```yaml
name: assembly::shop::1.0
references:
  net:
    type: resource::net::1.0
    properties:
      name: {value: VIDEO}
```";
    BAD_DATA_TYPE = "WL0145", "bad data type",
        r"An entry of `data-types` has `properties`, and perhaps `derived-from`, the name of another entry or of a type of the
language. It can't be called as one of the language, nor be derived from itself.

```yaml
name: assembly::shop::1.0
data-types:
  Place: {properties: {street: {type: string}}}
  Address: {derived-from: Plaec, properties: {name: {type: string}}}
```";
    UNKNOWN_TRANSITION = "WL0146", "unknown transition",
        r"The transitions of a resource are Create, Install, Configure, Start, Integrity, Reconfigure, Stop, Uninstall, Delete and
Adopt. Another one would never be called. `Upgrade`, which later versions of the language have, is ignored, and so are
`CreateInfrastructure` and `DeleteInfrastructure` of older ones, with a warning.

```yaml
name: resource::cache::1.0
lifecycle: [Instal, Start]
```";
    TYPOGRAPHIC = "WL0147", "typographic quotes",
        r"The text begins and ends with quotes as word processors and web pages make them. YAML knows only `'` and straight
double quotes, so these are a part of the text. Where they are meant, put straight quotes around them.

```yaml
name: resource::cache::1.0
properties:
  size: {default: “80”}
```";
    BAD_PACKAGE_CHANGE = "WL0148", "bad effect of a changed package",
        r"`on-package-change` is `keep`, `reconfigure` or `replace`. It is what a changed package of the same version does to an
instance: the instance uses the new scripts from then on, is reconfigured, or is removed and re-created. `reconfigure` needs the
transition Reconfigure.

```yaml
name: resource::web::1.0
lifecycle: [Install, Uninstall]
on-package-change: reconfigure
```";
    BAD_UPDATE = "WL0149", "bad rules for an update",
        r"`update` tells how a change of a component with several nodes goes in batches. `max-unavailable` is the number of nodes
that may be down at once: a number from 1, a percentage of the nodes, or `all`. A percentage is rounded down to at least 1.
`max-surge` is the number of additional nodes during the change, or a percentage, which is rounded up; a cluster with `each`
has none. `pause` is the time between two batches, such as `10s` or `1m30s`, up to a week. `on-failure` is `stop` or
`rollback`.

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
        r"A `required` property has neither a value nor a default, and none was given. null is no value.

```yaml
name: assembly::shop::1.0
properties:
  region: {required: true}
```

```console
$ windlass up shop -p region=eu-1
```";
    FIXED_PARAMETER = "WL0152", "parameter can't be set",
        r"The property is read-only or has a fixed `value`, so nobody outside can set it. Here `region` was given:

```yaml
name: assembly::shop::1.0
properties:
  region: {value: eu-1}
```

With `default` instead of `value` it can be set.";
    OPEN_SECRET = "WL0153", "secret on the command line",
        r"The value of a sensitive property stood on the command line, where other users of the machine and the shell's history
see it. Take it from a file or from standard input:

```console
$ windlass up shop -p password=@/run/secrets/password
$ windlass up shop -p password=- < /run/secrets/password
$ windlass up shop --params secrets.yaml
```";
    NO_INSTANCE = "WL0160", "reference resolves to nothing",
        r"Nothing that exists fits the reference: no other assembly of the store, no `existing:` entry of `windlass.yaml`, and
nothing that `queries` of its resource find has the same type, name and place. What it must look like has to be known before
anything is made.

```yaml
name: assembly::shop::1.0
references:
  storage:
    type: assembly::storage::^1.0
    properties:
      name: {value: shelf}
```";
    MANY_INSTANCES = "WL0161", "reference is ambiguous",
        r"More than one existing thing fits the reference; of several versions the newest counts. Give more of its properties,
until one is left.

```yaml
name: assembly::shop::1.0
references:
  twins:
    type: assembly::twin::1.0
```";
    MANY_NODES = "WL0170", "one value of many nodes",
        r"The reference reads a property of a component that has several nodes; the lowest node's value is taken. Of a group
without nodes there is none.

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
        r"The component's own descriptor declares the property read-only, private, or with a fixed value, so the value given here
is ignored.

```yaml
name: assembly::shop::1.0
composition:
  web:
    type: resource::web::1.0
    properties:
      url: {value: 'http://shop/'}
```";
    DEPENDENCY_CYCLE = "WL0172", "components that depend on each other",
        r"Each of these components must be Active before the next one begins, so none of them can begin. `depends-on` of one of
them has an entry too many.

```yaml
name: assembly::shop::1.0
composition:
  db: {type: resource::web::1.0, depends-on: [web]}
  web: {type: resource::web::1.0, depends-on: [db]}
```";
    BAD_EACH = "WL0173", "bad list of nodes",
        r"`each` of a cluster is a list of maps, with one node for each. The field that `key` names identifies the node, and is
the last part of its name: so each entry has this field, no two have the same key, and a key has the form of a component's name.
It is no number. The other fields are values of the node: `${each.address}` in the properties of the component. The list is known
before anything is made, is no secret, and has no bounds beside it. Numbers of nodes are changed by changing the list.

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
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(super::CODES, 100..=199), Vec::<String>::new());
    }
}
