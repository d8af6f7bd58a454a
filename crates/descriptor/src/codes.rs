//! The codes of this crate: `WL0100` to `WL0199`.

windlass_source::codes! {
    NOT_A_DESCRIPTOR = "WL0100", "not a descriptor",
        "A descriptor is a mapping with a `name` such as `assembly::shop::1.0`.\n\nCheck that the file is the one you meant.";
    NAME = "WL0101", "bad name",
        "Names start with a letter, end with a letter or digit, and hold letters, digits, `_` and `-`. `__` is not allowed, since it separates the parts of an instance's name (`shop__web__2`). A descriptor's name has three parts, `kind::name::version`, with 1 to 50 characters in the middle one; a version is numbers with dots between.\n\n```yaml\nname: assembly::shop::1.0\n```";
    MISSING_NAME = "WL0102", "missing name",
        "A descriptor needs a `name`, unless a project file beside it gives one.";
    UNKNOWN_KEY = "WL0103", "unknown key",
        "The key is not part of the language and is ignored. It is often a misspelling: then what it should say is missing.";
    WRONG_SORT = "WL0104", "wrong sort of value",
        "A mapping, a list or a text was expected and something else was found.";
    MISSING_TYPE = "WL0105", "missing type",
        "Every entry of `composition` and `references` needs the `type`, the name of its descriptor:\n\n```yaml\ncomposition:\n  web:\n    type: resource::web_server::1.0\n```";
    BAD_TYPE = "WL0106", "bad type",
        "A `type` is the name of a descriptor, as `resource::web_server::1.0`. A range of versions, as `^1.0`, is for `references` only: what is made must be one version.";
    SAME_NAME = "WL0107", "name used twice",
        "An entry of `composition` and one of `references` have the same name, so `${name.property}` would be ambiguous.";
    TEMPLATE = "WL0110", "bad reference",
        "A reference is `${property}`, `${component.property}` or `${instance.name}` (also `id` and `index`); in the properties of a relationship also `${source.property}` and `${target.property}`.";
    UNKNOWN_PROPERTY = "WL0111", "unknown property",
        "The reference names a property that nobody declares: neither the entry in `composition` or `references` nor, where it is at hand, the descriptor of its type.";
    UNKNOWN_COMPONENT = "WL0112", "unknown component",
        "The name is neither in `composition` nor in `references`.";
    PROPERTY_CYCLE = "WL0113", "properties read each other in a circle",
        "Each property of the circle needs the value of the next, so none can ever have one.";
    MISPLACED_REFERENCE = "WL0114", "reference in the wrong place",
        "`${source.…}` and `${target.…}` have a meaning only in the properties of a relationship.";
    TOO_LONG = "WL0115", "value too long",
        "With all that it reads put in, the value has more than 4 MiB. Properties that read another one twice, which reads another one twice, double with each step.";
    BAD_NUMBER = "WL0120", "bad number",
        "A quantity or a cluster bound is a whole number from 0, or a reference to a property of the assembly that has one.";
    BAD_BOUNDS = "WL0121", "bad cluster bounds",
        "A cluster needs minimum-nodes <= initial-quantity <= maximum-nodes and a scaling-increment of at least 1.";
    QUANTITY_AND_CLUSTER = "WL0122", "quantity beside cluster",
        "A component with a `cluster` takes its number of nodes from there; `quantity` is ignored.";
    VALUE_AND_DEFAULT = "WL0123", "value beside default",
        "A property with a fixed `value` never uses its `default`.";
    NEVER_SATISFIED = "WL0124", "required, read-only and without a value",
        "A read-only property can't be given from outside, so without a `value` or `default` of its own it never has what `required` asks for.";
    BAD_FLAG = "WL0125", "bad flag",
        "`required`, `read-only` and `volatile` are `true` or `false`.";
    TOO_MANY_NODES = "WL0126", "too many elements",
        "An assembly may have 200 000 elements. A `quantity` inside of a `quantity` multiplies.";
    BAD_ENDPOINT = "WL0130", "bad end of a relationship",
        "`source-capabilities` and `target-requirements` are lists of `component.capability`. The bare name of a reference is a source only, since what exists already is not changed by this assembly.";
    BAD_STATE = "WL0131", "bad state",
        "`source-state` and `target-state` are `Installed`, `Inactive` or `Active`; modifiers are `pre` or `post`.";
    BAD_OPERATION = "WL0132", "bad operation",
        "A relationship calls `source.<operation>` or `target.<operation>`; an assembly promotes `<component>.<operation>`. The operation must be declared by the descriptor at that end.";
    BAD_POLICY = "WL0133", "bad policy",
        "A scaling policy needs a `metric` of a component and a `target` in `composition` that has a `cluster`.";
    MISSING_DESCRIPTOR = "WL0140", "missing descriptor",
        "No folder of the catalog has a descriptor of this name. The catalog is the folder of the assembly, upwards to the project's root, and every `--catalog` folder.";
    NESTED_IN_ITSELF = "WL0141", "assembly inside itself",
        "The assembly contains itself, directly or through others, so it would never end.";
    NESTED_TOO_DEEP = "WL0142", "assemblies nested too deep",
        "More than 64 assemblies are inside of each other. Make some of them parts of the same one.";
    UNKNOWN_PARAMETER = "WL0150", "unknown parameter",
        "The assembly declares no property of this name.";
    MISSING_PARAMETER = "WL0151", "missing parameter",
        "A `required` property has neither a value nor a default, and none was given.\n\n```console\n$ windlass up shop -p region=eu-1\n```";
    FIXED_PARAMETER = "WL0152", "parameter can't be set",
        "The property is read-only or has a fixed `value`, so nobody outside can set it.";
    OPEN_SECRET = "WL0153", "secret on the command line",
        "The value of a sensitive property stood on the command line, where other users of the machine and the shell's history see it. Take it from a file or from standard input:\n\n```console\n$ windlass up shop -p password=@/run/secrets/password\n$ windlass up shop -p password=- < /run/secrets/password\n$ windlass up shop --params secrets.yaml\n```";
    NO_INSTANCE = "WL0160", "reference resolves to nothing",
        "Nothing that exists fits the reference: an `existing:` entry of `windlass.yaml` with the same type, name and place.";
    MANY_INSTANCES = "WL0161", "reference is ambiguous",
        "More than one existing thing fits the reference. Give more of its properties, until one is left.";
    MANY_NODES = "WL0170", "one value of many nodes",
        "The reference reads a property of a component that has several nodes; the lowest node's value is taken.";
    OVERRIDES_READ_ONLY = "WL0171", "read-only property set from outside",
        "The component's own descriptor declares the property read-only, so the value given here is ignored.";
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(super::CODES, 100..=199), Vec::<String>::new());
    }
}
