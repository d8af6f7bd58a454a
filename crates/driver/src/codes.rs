//! The codes of this crate: `WL0450` to `WL0459`.

windlass_source::codes! {
    UNKNOWN_PROPERTY = "WL0450", "unknown driver property",
        "The driver has no property of this name, and ignores the value. If the name is similar to that of a known property, it is an error. The driver `script` has `effect`, `timeout`, `limits`, `style` and `input`. The driver `noop` has `effect`, `timeout` and `outputs`:\n\n```yaml\ndefault-driver:\n  noop:\n    properties:\n      effect: repeatable       # or `once`: make a call for every declared action\n      outputs:                 # publish properties when the part is created\n        address: given-address # <output property>: <input property>\n```\n\nWithout these properties, `noop` makes no call, and only the state of the part changes.";
    NOOP_VALUE = "WL0451", "driver property of `noop` that can't be read",
        "`effect` is `repeatable` or `once`. `timeout` is a time such as `30s` or `10m`. `outputs` is a mapping. Each key is an output property, and its value is the name of the input property whose value `noop` publishes:\n\n```yaml\nproperties:\n  effect: once\n  outputs:\n    address: given-address\n```\n\nEach of these properties may also be declared as `{value: …}` or `{default: …}`.";
    NOOP_UNPUBLISHED = "WL0452", "outputs that are never published",
        "The driver `noop` publishes `outputs` at Create, or at Install if the resource does not declare Create. The resource declares neither Create nor Install for this driver with these `outputs`, so the outputs never get a value.\n\nDeclare Install (or Create) for the driver `noop`, and give `outputs` there or to the default driver.";
    PANIC = "WL0453", "a driver that panicked",
        "The code of a driver panicked while it checked a package or listed its properties. This is a bug of the driver: report it to the developer of the driver. The message contains the text of the panic.";
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(CODES, 450..=459), Vec::<String>::new());
    }
}
