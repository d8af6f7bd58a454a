//! Tests the messages that an author reads when an update is wrong.

use insta::assert_snapshot;
use serde_json::{Value, json};
use windlass_update_ops::{Keys, Node, Place, Problem, Shape, Step, Update};

use crate::table::instance;

/// Returns each error and each warning on a line of its own: place, message, help.
fn report(wire: &Value) -> String {
    lines(Update::parse(wire, &instance(&["cmd-1", "cmd-2"])))
}

fn lines(read: Result<windlass_update_ops::Parsed, Vec<windlass_update_ops::UpdateError>>) -> String {
    let lines: Vec<_> = match read {
        Ok(parsed) => {
            parsed.warnings.iter().map(|w| line(&w.place, &format!("warning: {w}"), w.help())).collect()
        }
        Err(errors) => errors.iter().map(|e| line(&e.place, &e.to_string(), e.help())).collect(),
    };
    lines.join("\n")
}

fn line(place: &Place, message: &str, help: Option<String>) -> String {
    let help = help.map(|help| format!(" (help: {help})")).unwrap_or_default();
    format!("{place} {message}{help}")
}

#[test]
fn operators() {
    assert_snapshot!(report(&json!({
        "$push": {"activityLog": {"message": "hi"}},
        "$sett": {"name": "web"},
        "$inc": {"n": 1},
        "$set": ["status"],
        "$unset": "status.message",
    })), @r#"
    /$inc unknown operator `$inc` (help: the operators are `$set`, `$unset` and `$pushAll`)
    /$push unknown operator `$push` (help: use `$pushAll` with a list of entries; the operators are `$set`, `$unset` and `$pushAll`)
    /$set `$set`: expected a map of paths, found a list
    /$sett unknown operator `$sett` (help: did you mean `$set`? the operators are `$set`, `$unset` and `$pushAll`)
    /$unset `$unset`: expected a map of paths, found a string
    "#);
}

#[test]
fn paths() {
    assert_snapshot!(report(&json!({
        "statsu": {},
        "status.flags.active": true,
        "configuration": {},
        "": 1,
        "$set": {
            "status.flag.active": true,
            "status.flags.Active": true,
            "status.flags.active.really": true,
            "interfaces.info.signals.address.port": 22,
            "interfaces.info.pins": {},
            "a..b": 1,
            r"a\b": 1,
        },
        "$pushAll": {"commands.cmd-3": [{}], "commands.unheard-of": [{}], "activityLog.0": [{}]},
    })), @r#"
    / the path is empty
    /$pushAll/activityLog.0 `activityLog.0`: `activityLog` is a list, and nothing inside it can be addressed
    /$pushAll/commands.cmd-3 `commands.cmd-3`: no such path (help: did you mean `commands.cmd-1`?)
    /$pushAll/commands.unheard-of `commands.unheard-of`: no such path (help: known here: `cmd-1`, `cmd-2`)
    /$set/a..b the path `a..b` has an empty key: a dot at an end, or two in a row (help: write a dot that belongs to a key as `\.`)
    /$set/a\b a `\` in the path `a\b` stands before neither `.` nor `\`
    /$set/interfaces.info.pins `interfaces.info.pins`: no such path (help: known here: `signals`, `status`)
    /$set/interfaces.info.signals.address.port `interfaces.info.signals.address.port`: `interfaces.info.signals.address` is a value, and nothing inside it can be addressed
    /$set/status.flag.active `status.flag.active`: no such path (help: did you mean `status.flags.active`?)
    /$set/status.flags.Active `status.flags.Active`: no such path (help: did you mean `status.flags.active`?)
    /$set/status.flags.active.really `status.flags.active.really`: `status.flags.active` is a boolean, and nothing inside it can be addressed
    /configuration `configuration`: no such path (help: known here: `activityLog`, `commands`, `components`, `instanceId`, `interfaces`, `name`, `status`)
    /statsu `statsu`: no such path (help: did you mean `status`?)
    /status.flags.active `status\.flags\.active`: no such path (help: a plain field is one key: write dotted paths under `$set`)
    "#);
}

#[test]
fn permissions() {
    assert_snapshot!(report(&json!({
        "activityLog": [{"message": "hi"}],
        "commands": {"cmd-1": []},
        "$set": {"commands.cmd-2": [{}]},
        "$unset": {"status.flags.active": null, "status": null, "components.blue.reference.key": null},
        "$pushAll": {"status.message": ["more"]},
    })), @r#"
    /$pushAll/status.message `status.message`: it may not be appended to (help: it is not a list: use `$set`)
    /$set/commands.cmd-2 `commands.cmd-2`: it may not be replaced (help: use `$pushAll`)
    /$unset/components.blue.reference.key `components.blue.reference.key`: it may not be removed (help: it is required)
    /$unset/status `status`: it may not be removed (help: `$set` its flags to `false`)
    /$unset/status.flags.active `status.flags.active`: it may not be removed (help: it always has a value: `$set` it)
    /activityLog `activityLog`: it may not be replaced (help: use `$pushAll`)
    /commands `commands`: it may not be replaced (help: use `$pushAll` with `commands.<id>`)
    /$set/commands.cmd-2 `commands.cmd-2`: it conflicts with `commands` at `/commands`: an update touches a path once
    /$unset/status.flags.active `status.flags.active`: it conflicts with `status` at `/$unset/status`: an update touches a path once
    /$pushAll/status.message `status.message`: it conflicts with `status` at `/$unset/status`: an update touches a path once
    "#);
}

#[test]
fn sorts() {
    assert_snapshot!(report(&json!({
        "name": 5,
        "status": null,
        "interfaces": {"info": {"signals": [], "status": {"flags": {"active": "maybe", "failed": null}, "message": 404}}},
        "components": {"blue": {"reference": {"mapping": "a.b", "kee": "v"}}},
        "$pushAll": {"activityLog": [{"message": "fine"}, {"severity": "INFO"}, "text"], "commands.cmd-1": "done"},
    })), @r#"
    /$pushAll/activityLog/1 `activityLog`: expected a map with a string `message`, found a map
    /$pushAll/activityLog/2 `activityLog`: expected a map with a string `message`, found a string
    /$pushAll/commands.cmd-1 `commands.cmd-1`: expected a list of entries, found a string
    /components/blue/reference/kee `components.blue.reference.kee`: no such path (help: did you mean `components.blue.reference.key`?)
    /components/blue/reference/key `components.blue.reference.key`: it is required and missing
    /interfaces/info/signals `interfaces.info.signals`: expected a map, found a list
    /interfaces/info/status/flags/active `interfaces.info.status.flags.active`: expected a boolean, found a string
    /interfaces/info/status/flags/failed `interfaces.info.status.flags.failed`: expected a boolean, found null
    /interfaces/info/status/message `interfaces.info.status.message`: expected a string, found a number
    /name `name`: expected a string, found a number
    /status `status`: expected a map of `flags`, `message`, found null
    "#);
    assert_snapshot!(report(&json!("status")), @r#" expected a map of fields and operators, found a string"#);
    assert_snapshot!(report(&json!([])), @r#" expected a map of fields and operators, found a list"#);
}

#[test]
fn conflicts() {
    assert_snapshot!(report(&json!({
        "status": {},
        "interfaces": {"info": {}},
        "$set": {"status.flags.active": true, "status.message": "up"},
        "$unset": {"interfaces.info.signals.address": null, "interfaces": null},
    })), @r#"
    /interfaces `interfaces`: it conflicts with `interfaces` at `/$unset/interfaces`: an update touches a path once
    /$unset/interfaces.info.signals.address `interfaces.info.signals.address`: it conflicts with `interfaces` at `/interfaces`: an update touches a path once
    /$set/status.flags.active `status.flags.active`: it conflicts with `status` at `/status`: an update touches a path once
    /$set/status.message `status.message`: it conflicts with `status` at `/status`: an update touches a path once
    "#);
}

#[test]
fn warnings() {
    assert_snapshot!(report(&json!({
        "$set": {"status.flags.active": "yes"},
        "$pushAll": {"activityLog": {"message": "alone"}},
    })), @r#"
    /$pushAll/activityLog warning: `activityLog`: `$pushAll` takes a list; the map was appended as one entry
    /$set/status.flags.active warning: `status.flags.active`: `yes` was read as `true`
    "#);
}

#[test]
fn lenient_reading_omits_unknown_keys() {
    let wire = json!({
        "color": "red",
        "interfaces": {"info": {"signals": {"a": 1}, "pins": {"b": 2}}},
        "$set": {"status.flags.activ": true, "status.message": "up"},
    });
    let parsed = Update::parse_lenient(&wire, &instance(&[])).unwrap();
    assert_eq!(
        parsed.update.to_value(),
        json!({"interfaces": {"info": {"signals": {"a": 1}}}, "$set": {"status.message": "up"}})
    );
    assert_snapshot!(lines(Ok(parsed)), @r#"
    /$set/status.flags.activ warning: `status.flags.activ`: ignored: no such path (help: did you mean `status.flags.active`?)
    /color warning: `color`: ignored: no such path (help: known here: `activityLog`, `commands`, `components`, `instanceId`, `interfaces`, `name`, `status`)
    /interfaces/info/pins warning: `interfaces.info.pins`: ignored: no such path (help: known here: `signals`, `status`)
    "#);
    let wrong = json!({"color": "red", "name": 5});
    assert_snapshot!(lines(Update::parse_lenient(&wrong, &instance(&[]))), @r#"/name `name`: expected a string, found a number"#);
}

#[test]
fn errors_of_key_rules_and_tests_name_the_expected_form() {
    let keys = Keys::matching("a name of small letters", |key| key.bytes().all(|b| b.is_ascii_lowercase()));
    let port = Node::number().matching("a port number", |v| v.as_u64().is_some_and(|port| port < 65536));
    let shape = Shape::new([("ports", Node::map(keys, port))]);
    let wire = json!({"ports": {"ssh": 22, "WWW": 80, "far": 70000}, "$set": {"ports.X": 1}});
    assert_snapshot!(lines(Update::parse(&wire, &shape)), @r#"
    /$set/ports.X `ports.X`: the key is not a name of small letters
    /ports/WWW `ports.WWW`: the key is not a name of small letters
    /ports/far `ports.far`: expected a port number, found a number
    "#);
}

#[test]
fn a_place_leads_back_to_the_written_key() {
    let wire = json!({"$pushAll": {"activityLog": [{"message": "fine"}, {"message": 1}]}});
    let errors = Update::parse(&wire, &instance(&[])).unwrap_err();
    let steps: Vec<_> = errors[0].place.steps().iter().collect();
    assert_eq!(steps, [&Step::Key("$pushAll".into()), &Step::Key("activityLog".into()), &Step::Index(1)]);
    assert_eq!(wire.pointer(&errors[0].place.to_string()), Some(&json!({"message": 1})));
}

#[test]
fn values_never_show_in_messages() {
    let secret = "hunter2";
    let wire = json!({"name": {"x": secret}, "status": secret, "$set": {"status.flags.active": secret}, "activityLog": secret});
    for error in Update::parse(&wire, &instance(&[])).unwrap_err() {
        assert!(!format!("{error} {error:?} {:?}", error.help()).contains(secret), "{error:?}");
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |value, _| json!({"x": value}));
    let read =
        |value: Value| Update::parse(&json!({"$set": {"interfaces.i.signals.p": value}}), &instance(&[]));
    let update = read(nested(96)).unwrap().update;
    let mut document = json!({});
    update.apply(&mut document).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&document.to_string()).unwrap(), document);
    assert_eq!(read(nested(97)).unwrap_err()[0].problem, Problem::TooDeep);
}

#[test]
fn a_document_is_checked_as_a_whole() {
    let shape = instance(&[]);
    let update =
        Update::parse(&json!({"$set": {"components.c.reference.key": "v-1"}}), &shape).unwrap().update;
    let mut document = json!({});
    update.apply(&mut document).unwrap();
    let errors = shape.check(&document).unwrap_err();
    assert_snapshot!(lines(Err(errors)), @r#"/components/c/reference/mapping `components.c.reference.mapping`: it is required and missing"#);
    assert_eq!(shape.check(&json!({"activityLog": [{"message": "m"}], "status": {}})), Ok(()));
}

/// The document itself may block an operation.
#[test]
fn a_document_that_is_a_list() {
    let update = Update::parse(&json!({"$set": {"a.b": 1}}), &Shape::untyped()).unwrap().update;
    let refused = |mut document| update.apply(&mut document).unwrap_err().to_string();
    assert_snapshot!(refused(json!([])), @"`a.b` can't be written: the document is a list, not a map");
    assert_snapshot!(refused(json!({"a": []})), @"`a.b` can't be written: `a` is a list, not a map");
}
