//! The JSON Schemas of the documents of scripts: they permit what the driver writes and accepts, and refuse wrong
//! documents as the readers do.

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use windlass_executor::Captured;
use windlass_model::instance::{shape, take_log};
use windlass_model::record::Severity;
use windlass_script::{Output, Request, schema};
use windlass_source::{LoadOptions, Reading, Source, load_one};
use windlass_update_ops::{Problem, Update};

static INPUT: LazyLock<Validator> = LazyLock::new(|| validator(&schema::input()));
static OUTPUT: LazyLock<Validator> = LazyLock::new(|| validator(&schema::output()));

/// The part of the schema that follows from the shape of instance documents.
static UPDATE: LazyLock<Validator> = LazyLock::new(|| {
    let mut schema = shape().wire_schema();
    schema.update["$defs"] = schema.definitions.into();
    validator(&schema.update)
});

fn validator(schema: &Value) -> Validator {
    assert!(jsonschema::meta::is_valid(schema), "{schema:#}");
    jsonschema::validator_for(schema).unwrap()
}

fn problems(validator: &Validator, text: &str) -> Vec<String> {
    let data = value(text);
    validator.iter_errors(&data).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Reads the input or output document of a script.
pub(crate) fn value(text: &str) -> Value {
    let root = load_one(&Source::new("a.yaml", text), &LoadOptions::default()).into_result().unwrap().0;
    root.map_or(Value::Null, |root| root.to_value(Reading::Script))
}

/// Returns the problems of an input document, by its schema.
pub(crate) fn input_problems(text: &str) -> Vec<String> {
    problems(&INPUT, text)
}

/// Returns the problems of an output document, by its schema.
pub(crate) fn output_problems(text: &str) -> Vec<String> {
    problems(&OUTPUT, text)
}

/// Checks an input that the driver has written: it is valid, and reading and writing it changes nothing. An empty input
/// is accepted, because a plain script has no input document.
pub(crate) fn check_input(text: &str) {
    if text.is_empty() {
        return;
    }
    assert_eq!(input_problems(text), Vec::<String>::new(), "{text}");
    match Request::read("input", text) {
        Ok(request) => assert_eq!(request.to_value(), value(text), "{text}"),
        Err(problems) => panic!("{text}\n{problems:?}"),
    }
}

/// Checks an output that a script has printed. If the reader accepts the output, the schema must accept it, too.
pub(crate) fn check_output(stdout: &Captured) {
    if is_accepted(stdout) {
        let text = String::from_utf8(stdout.complete().unwrap().into_owned()).unwrap();
        assert_eq!(output_problems(&text), Vec::<String>::new(), "{text}");
    }
}

/// Tells whether the reader accepts an output with all its updates and log entries.
fn is_accepted(stdout: &Captured) -> bool {
    let Ok(output) = Output::read("stdout", stdout) else { return false };
    output.instances.into_iter().all(|said| {
        // An entry without a message becomes an error entry.
        let logs_well = |update| take_log(update).1.iter().all(|entry| entry.severity != Severity::Error);
        said.update.is_ok_and(logs_well)
    })
}

#[rstest]
#[case::list("- configuration")]
#[case::text("configuration")]
#[case::unknown_key("{configuration: {}, instanses: {}}")]
#[case::configuration_as_a_list("{configuration: [a]}")]
#[case::instances_as_a_list("{configuration: {}, instances: [i-1]}")]
#[case::instance_as_text("{configuration: {}, instances: {i-1: web}}")]
#[case::unknown_key_of_an_instance("{configuration: {}, instances: {i-1: {config: {}}}}")]
#[case::launch_beside_instances("{configuration: {}, launch: {a: {}}, instances: {i-1: null}}")]
#[case::old_launch_beside_instances("{configuration: {}, launch-instances: {a: {}}, instances: {i-1: null}}")]
#[case::commands_of_a_launch("{configuration: {}, launch: {a: {commands: {}}}}")]
#[case::unknown_transition("{configuration: {}, instances: {i-1: null}, transition: Begin}")]
#[case::case_of_a_transition("{configuration: {}, instances: {i-1: null}, transition: start}")]
#[case::command_without_a_pin("{configuration: {}, instances: {i-1: {commands: {c: {control: {}}}}}}")]
#[case::command_of_two_pins(
    "{configuration: {}, instances: {i-1: {commands: {c: {control: {a: {}, b: {}}}}}}}"
)]
#[case::command_of_two_interfaces(
    "{configuration: {}, instances: {i-1: {commands: {c: {a: {b: {}}, c: {d: {}}}}}}}"
)]
#[case::arguments_as_a_list(
    "{configuration: {}, instances: {i-1: {commands: {c: {control: {reboot: [now]}}}}}}"
)]
#[case::adapted_without_a_path("{script: [a], arguments: {configuration: {}}}")]
#[case::unknown_key_of_an_adapter("{script: /a.py, arguments: {}, configuration: {}}")]
fn wrong_inputs_are_refused(#[case] text: &str) {
    assert!(Request::read("input", text).is_err(), "the reader takes it");
    assert_ne!(input_problems(text), Vec::<String>::new(), "the schema takes it");
}

#[rstest]
#[case::list("[instances]")]
#[case::unknown_key("{instance: {i-1: null}}")]
#[case::instances_as_a_list("{instances: [i-1]}")]
#[case::update_as_text("{instances: {i-1: active}}")]
#[case::unknown_field("{instances: {i-1: {state: active}}}")]
#[case::unknown_operator("{instances: {i-1: {$push: {activityLog: []}}}}")]
#[case::flag_as_a_number("{instances: {i-1: {status: {flags: {active: 1}}}}}")]
#[case::unknown_flag("{instances: {i-1: {status: {flags: {ready: true}}}}}")]
#[case::null_flags("{instances: {i-1: {status: {flags: null}}}}")]
#[case::message_as_a_list("{instances: {i-1: {status: {message: [a]}}}}")]
#[case::path_of_no_flag("{instances: {i-1: {$set: {status.flags.actve: true}}}}")]
#[case::path_with_an_empty_key("{instances: {i-1: {$set: {status..flags: {}}}}}")]
#[case::value_of_a_path("{instances: {i-1: {$set: {status.flags.active: often}}}}")]
#[case::unset_of_a_flag("{instances: {i-1: {$unset: {status.flags.active: null}}}}")]
#[case::replaced_log("{instances: {i-1: {activityLog: []}}}")]
#[case::set_log("{instances: {i-1: {$set: {activityLog: []}}}}")]
#[case::push_to_a_status("{instances: {i-1: {$pushAll: {status: [a]}}}}")]
#[case::push_of_text("{instances: {i-1: {$pushAll: {activityLog: hello}}}}")]
#[case::reference_without_a_key("{instances: {i-1: {components: {a: {reference: {mapping: a.b}}}}}}")]
#[case::nested_component("{instances: {i-1: {components: {a: {components: {b: {ref: {}}}}}}}}")]
#[case::path_of_a_nested_component("{instances: {i-1: {$set: {components.a.components.b.c: {}}}}}")]
#[case::signals_of_an_interface("{instances: {i-1: {interfaces: {web: {url: http}}}}}")]
fn wrong_outputs_are_refused(#[case] text: &str) {
    assert!(!is_accepted(&Captured::whole(text.as_bytes())), "the reader takes it");
    assert_ne!(output_problems(text), Vec::<String>::new(), "the schema takes it");
}

/// The schema must refuse a log entry without a message. The reader accepts such an entry, but replaces it by an error
/// entry.
#[test]
fn a_log_entry_has_a_message() {
    let text = "{instances: {i-1: {$pushAll: {activityLog: [{severity: INFO}]}}}}";
    assert_ne!(output_problems(text), Vec::<String>::new());
    let text = "{instances: {i-1: {$pushAll: {activityLog: {severity: odd, message: one}}}}}";
    assert_eq!(output_problems(text), Vec::<String>::new());
}

/// Paths with escaped dots, at any depth, and spellings of flags.
#[rstest]
#[case::nothing("")]
#[case::no_instances("instances:")]
#[case::spelled_flag("{instances: {i-1: {status: {flags: {active: 'yes'}}}}}")]
#[case::deep_path(
    "{instances: {i-1: {$set: {components.a.components.b.reference: {mapping: a.b, key: c}}}}}"
)]
#[case::escaped_path(r"{instances: {i-1: {$unset: {'components.10\.0\.0\.1': null}}}}")]
#[case::signal("{instances: {i-1: {$set: {interfaces.web.signals.url: [1, {a: null}]}}}}")]
#[case::no_operation("{instances: {i-1: {$set: null, $pushAll: {}}}}")]
#[case::adapted("{results: {instances: {i-1: null}}}")]
fn right_outputs_are_permitted(#[case] text: &str) {
    assert_eq!(output_problems(text), Vec::<String>::new());
}

/// Generates updates from words, paths and values that occur in real updates. Therefore, many of the generated updates
/// are valid.
fn updates() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(vec![
        "name",
        "instanceId",
        "status",
        "interfaces",
        "components",
        "activityLog",
        "commands",
        "other",
    ]);
    let path = prop::sample::select(vec![
        "name",
        "status",
        "status.flags",
        "status.flags.active",
        "status.message",
        "status.other",
        "interfaces",
        "interfaces.web",
        "interfaces.web.signals",
        "interfaces.web.signals.url",
        "interfaces.web.signals.url.host",
        "interfaces.web.status.flags.failed",
        "components.a",
        "components.a.reference",
        "components.a.reference.key",
        "components.a.components.b.components.c.reference",
        "components.a.reference.key.x",
        "activityLog",
        "commands",
        "commands.c1",
        "commands.c1.x",
        "..",
    ]);
    let value = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!("yes"),
        json!("text"),
        json!(7),
        json!({}),
        json!([{"message": "a"}]),
        json!({"flags": {"active": true}, "message": null}),
        json!({"active": false, "failed": "on"}),
        json!({"mapping": "a.b", "key": "c"}),
        json!({"mapping": "a.b"}),
        json!({"reference": {"mapping": "a.b", "key": "c"}}),
        json!({"a": {"components": {"b": {"reference": {"mapping": "a.b", "key": "c"}}}}}),
        json!({"web": {"signals": {"url": null}, "status": {"flags": {"converging": true}}}}),
        json!({"signals": {"url": [1]}}),
    ]);
    let operator = prop::sample::select(vec!["$set", "$unset", "$pushAll", "$push"]);
    prop_oneof![
        (field, value.clone()).prop_map(|(field, value)| json!({ field: value })),
        (operator, path, value).prop_map(|(operator, path, value)| json!({ operator: { path: value } })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Each tested update has one operation. The schema must accept an update if and only if the reader accepts it.
    #[test]
    fn the_schema_agrees_with_the_reader(update in updates()) {
        let parsed = Update::parse(&update, shape());
        prop_assert_eq!(UPDATE.is_valid(&update), parsed.is_ok(), "{}\n{:?}", update, parsed);
    }
}

/// Two operations of an update conflict. [`Update::parse`] must report the conflict. The schema must accept the update.
#[test]
fn conflicts_are_left_to_the_reader() {
    let update = json!({"status": {"message": "a"}, "$set": {"status.flags.active": true}});
    let errors = Update::parse(&update, shape()).unwrap_err();
    assert!(matches!(errors[..], [ref error] if matches!(error.problem, Problem::Conflict { .. })));
    assert!(OUTPUT.is_valid(&json!({ "instances": { "i-1": update } })));
}
