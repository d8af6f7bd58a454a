//! Tests how windlass reads Ansible inventories of the forms INI and YAML.

use std::fmt::Write as _;

use insta::assert_snapshot;
use rstest::rstest;
use windlass_project::inventory::{InventoryForm, hosts};
use windlass_source::Source;

/// Returns the hosts of a group, each with its variables on a line, or the problems.
fn show(form: InventoryForm, text: &str, group: &str) -> String {
    let source = Source::new("hosts", text);
    match hosts(&source, form, group) {
        Ok(hosts) => {
            let lines: Vec<String> =
                hosts.iter().map(|host| format!("{}: {}\n", host.place, host.variables)).collect();
            lines.concat()
        }
        Err(problems) => {
            let one = |problem: &windlass_source::Diagnostic| {
                let help = problem.help.iter().map(|help| format!("    help: {help}\n"));
                format!("{problem}\n{}", help.collect::<String>())
            };
            problems.iter().map(one).collect()
        }
    }
}

fn ini(text: &str, group: &str) -> String {
    show(InventoryForm::Ini, text, group)
}

fn yaml(text: &str, group: &str) -> String {
    show(InventoryForm::Yaml, text, group)
}

/// Removes the variables that every host has.
fn short(shown: &str) -> String {
    let mut out = String::new();
    for line in shown.lines() {
        let (place, json) = line.split_once(": ").unwrap();
        let mut map: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap();
        for key in ["inventory_hostname", "inventory_hostname_short", "ansible_host"] {
            map.remove(key);
        }
        writeln!(out, "{place}: {}", serde_json::Value::from(map)).unwrap();
    }
    out
}

const INI: &str = "# comment
mail.example.org:2222 ansible_host=10.0.0.9

[web]
web[01:02] port=80   # both
rack7 port='8 0' note=\"a b\"

[db]
db-[a:b]
rack7

[prod:children]
web
db

[web:vars]
port=99
zone = north # kept
[prod:vars]
zone=east
ntp=ntp.example.org
[all:vars]
ntp=none
";

#[test]
fn an_ini_inventory_has_groups_with_variables() {
    assert_snapshot!(ini(INI, "all"), @r#"
    hosts:2:1: {"ansible_host":"10.0.0.9","ansible_port":"2222","inventory_hostname":"mail.example.org","inventory_hostname_short":"mail","name":"mail.example.org","ntp":"none"}
    hosts:5:1: {"ansible_host":"web01","inventory_hostname":"web01","inventory_hostname_short":"web01","name":"web01","ntp":"ntp.example.org","port":"80","zone":"north # kept"}
    hosts:5:1: {"ansible_host":"web02","inventory_hostname":"web02","inventory_hostname_short":"web02","name":"web02","ntp":"ntp.example.org","port":"80","zone":"north # kept"}
    hosts:6:1: {"ansible_host":"rack7","inventory_hostname":"rack7","inventory_hostname_short":"rack7","name":"rack7","note":"a b","ntp":"ntp.example.org","port":"8 0","zone":"north # kept"}
    hosts:9:1: {"ansible_host":"db-a","inventory_hostname":"db-a","inventory_hostname_short":"db-a","name":"db-a","ntp":"ntp.example.org","zone":"east"}
    hosts:9:1: {"ansible_host":"db-b","inventory_hostname":"db-b","inventory_hostname_short":"db-b","name":"db-b","ntp":"ntp.example.org","zone":"east"}
    "#);
    assert_snapshot!(short(&ini(INI, "web")), @r#"
    hosts:5:1: {"name":"web01","ntp":"ntp.example.org","port":"80","zone":"north # kept"}
    hosts:5:1: {"name":"web02","ntp":"ntp.example.org","port":"80","zone":"north # kept"}
    hosts:6:1: {"name":"rack7","note":"a b","ntp":"ntp.example.org","port":"8 0","zone":"north # kept"}
    "#);
    assert_snapshot!(short(&ini(INI, "prod")), @r#"
    hosts:5:1: {"name":"web01","ntp":"ntp.example.org","port":"80","zone":"north # kept"}
    hosts:5:1: {"name":"web02","ntp":"ntp.example.org","port":"80","zone":"north # kept"}
    hosts:6:1: {"name":"rack7","note":"a b","ntp":"ntp.example.org","port":"8 0","zone":"north # kept"}
    hosts:9:1: {"name":"db-a","ntp":"ntp.example.org","zone":"east"}
    hosts:9:1: {"name":"db-b","ntp":"ntp.example.org","zone":"east"}
    "#);
    assert_snapshot!(short(&ini(INI, "ungrouped")), @r#"hosts:2:1: {"ansible_port":"2222","name":"mail.example.org","ntp":"none"}"#);
}

#[test]
fn a_yaml_inventory_has_the_same() {
    let text = "all:
  hosts:
    mail.example.org: {ansible_host: 10.0.0.9}
  vars: {ntp: none}
  children:
    prod:
      vars: {zone: east, disks: [a, {b: 1.0}]}
      children:
        web:
          vars: {zone: north, port: 99}
          hosts:
            web[01:02]: {port: 080}
            rack7:
        db: {hosts: {rack7: {role: main}}}
";
    assert_snapshot!(yaml(text, "all"), @r#"
    hosts:3:5: {"ansible_host":"10.0.0.9","inventory_hostname":"mail.example.org","inventory_hostname_short":"mail","name":"mail.example.org","ntp":"none"}
    hosts:12:13: {"ansible_host":"web01","disks":["a",{"b":"1.0"}],"inventory_hostname":"web01","inventory_hostname_short":"web01","name":"web01","ntp":"none","port":"080","zone":"north"}
    hosts:12:13: {"ansible_host":"web02","disks":["a",{"b":"1.0"}],"inventory_hostname":"web02","inventory_hostname_short":"web02","name":"web02","ntp":"none","port":"080","zone":"north"}
    hosts:13:13: {"ansible_host":"rack7","disks":["a",{"b":"1.0"}],"inventory_hostname":"rack7","inventory_hostname_short":"rack7","name":"rack7","ntp":"none","port":"99","role":"main","zone":"north"}
    "#);
    assert_snapshot!(short(&yaml(text, "web")), @r#"
    hosts:12:13: {"disks":["a",{"b":"1.0"}],"name":"web01","ntp":"none","port":"080","zone":"north"}
    hosts:12:13: {"disks":["a",{"b":"1.0"}],"name":"web02","ntp":"none","port":"080","zone":"north"}
    hosts:13:13: {"disks":["a",{"b":"1.0"}],"name":"rack7","ntp":"none","port":"99","role":"main","zone":"north"}
    "#);
    assert_snapshot!(short(&yaml("web: {hosts: {a: , b: }}\n", "web")), @r#"
    hosts:1:15: {"name":"a"}
    hosts:1:20: {"name":"b"}
    "#);
}

/// The colons of ranges and of IPv6 addresses begin no port.
#[test]
fn a_port_follows_a_host_name() {
    let names = ["w1:22", "w[1:2].lan:2222", "x[a:b]c[1:1]:9", "r[1:2]", "fe80::1:22", "w2:x"];
    let expected = [
        ("w1", "22"),
        ("w1.lan", "2222"),
        ("w2.lan", "2222"),
        ("xac1", "9"),
        ("xbc1", "9"),
        ("r1", "none"),
        ("r2", "none"),
        ("fe80::1:22", "none"),
        ("w2:x", "none"),
    ];
    let shown = |form: InventoryForm, text: &str| -> Vec<(String, String)> {
        let hosts = hosts(&Source::new("hosts", text), form, "web").unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("none").to_owned();
        let host = |host: &windlass_project::inventory::Host| {
            assert_eq!(host.variables["ansible_host"], host.variables["name"]);
            (text(&host.variables["name"]), text(&host.variables["ansible_port"]))
        };
        hosts.iter().map(host).collect()
    };
    let expected = expected.map(|(name, port)| (name.to_owned(), port.to_owned()));
    assert_eq!(shown(InventoryForm::Ini, &format!("[web]\n{}\n", names.join("\n"))), expected);
    let keys = names.map(|name| format!("    '{name}':\n")).concat();
    assert_eq!(shown(InventoryForm::Yaml, &format!("web:\n  hosts:\n{keys}")), expected);
    // A variable takes precedence over a port.
    assert_snapshot!(short(&ini("a:22 ansible_port=23\n", "all")), @r#"hosts:1:1: {"ansible_port":"23","name":"a"}"#);
    assert_snapshot!(short(&yaml("web: {hosts: {'a:22': {ansible_port: 23}}}\n", "web")), @r#"hosts:1:15: {"ansible_port":"23","name":"a"}"#);
}

/// The expected values are those of ansible-core 2.19, with one difference: for windlass, lists, maps and numbers stay
/// text.
#[rstest]
#[case::backslashes(r#"re="C:\dir\new""#, r"C:\dir\new")]
#[case::escapes(r#"q="say \"hi\" \\ \$x" # note"#, r#"say "hi" \ \$x"#)]
#[case::unquoted(r"q=a\ b", "a b")]
#[case::comment("c=a#b", "a")]
#[case::comment_after_a_quote("c='a'#b", "a")]
#[case::hash_in_quotes("c='a # b'", "a # b")]
#[case::inner_quotes(r#"d='"x y"'"#, "x y")]
#[case::inner_escapes(r#"d="'it\tis' # n""#, "it\tis")]
#[case::inner_comment("d='80 # p'", "80")]
#[case::escaped_quotes(r#"d=\"q\""#, "q")]
fn a_value_on_the_line_of_a_host(#[case] variable: &str, #[case] expected: &str) {
    let source = Source::new("hosts", format!("h {variable}\n"));
    let found = hosts(&source, InventoryForm::Ini, "all").unwrap();
    let name = variable.split('=').next().unwrap();
    assert_eq!(found[0].variables[name], expected);
}

/// The expected values are those of ansible-core 2.19, with one difference: for windlass, lists, maps and numbers stay
/// text.
#[rstest]
#[case::text("north # kept", "north # kept")]
#[case::options(r#""a" -b "c""#, r#""a" -b "c""#)]
#[case::number("80 # port", "80")]
#[case::signed("-5 # c", "-5")]
#[case::hexadecimal("0x1f # c", "0x1f")]
#[case::fraction("1.5e-3 # c", "1.5e-3")]
#[case::leading_zero("007 # c", "007 # c")]
#[case::address("10.0.0.1 # c", "10.0.0.1 # c")]
#[case::numbers("80 443 # c", "80 443 # c")]
#[case::word("True # c", "True")]
#[case::empty("''", "")]
#[case::quoted("'abc' # note", "abc")]
#[case::quoted_hash(r#""a # b""#, "a # b")]
#[case::quoted_in_comment("'a' # b 'c'", "a")]
#[case::open_quote("'abc", "'abc")]
#[case::two_strings(r#""a" 'b'"#, "ab")]
#[case::three_quotes("'''x'''", "x")]
#[case::escapes(r"'a\tb\q\x41\u0042\103\\'", "a\tb\\qABC\\")]
#[case::named_character(r"'\N{BULLET}'", r"'\N{BULLET}'")]
#[case::surrogate(r"'\ud800'", r"'\ud800'")]
#[case::list("[1, 'x # y'] # c", "[1, 'x # y']")]
#[case::list_of_words("[a, b] # c", "[a, b] # c")]
#[case::open_list("[1, 2 # c", "[1, 2 # c")]
#[case::map("{'a': (1, 2.5)} # c", "{'a': (1, 2.5)}")]
#[case::bare_list("'t', 'b' # c", "'t', 'b'")]
#[case::comment_alone("# c", "# c")]
fn a_value_in_a_section_of_variables(#[case] value: &str, #[case] expected: &str) {
    let source = Source::new("hosts", format!("h\n[all:vars]\nv = {value}\n"));
    let found = hosts(&source, InventoryForm::Ini, "all").unwrap();
    assert_eq!(found[0].variables["v"], expected);
}

#[test]
fn nearer_groups_and_higher_priorities_take_precedence() {
    let text = "[b]\nh\n[a]\nh\n[outer:children]\na\nb\n[a:vars]\nv=a\n[b:vars]\nv=b\n[outer:vars]\nv=outer\nw=outer\n";
    assert_snapshot!(short(&ini(text, "outer")), @r#"hosts:2:1: {"name":"h","v":"b","w":"outer"}"#);
    let text = format!("{text}[a:vars]\nansible_group_priority=9\n");
    assert_snapshot!(short(&ini(&text, "b")), @r#"hosts:2:1: {"ansible_group_priority":"9","name":"h","v":"a","w":"outer"}"#);
}

#[test]
fn secrets_and_expressions_are_left_out() {
    let text = "[web]\na ansible_password=x ansible_become_pass=y ansible_ssh_pass=z url='http://{{ name }}' kept=1\n";
    assert_snapshot!(short(&ini(text, "web")), @r#"hosts:2:1: {"kept":"1","name":"a"}"#);
    let text = "web: {hosts: {a: {list: [1, '{{ x }}'], token: !vault abc, kept: 1}}}\n";
    assert_snapshot!(short(&yaml(text, "web")), @r#"hosts:1:15: {"kept":"1","name":"a"}"#);
}

#[test]
fn a_bad_inventory_is_refused_with_its_places() {
    assert_snapshot!(ini("[web]\nweb[1:\nweb 1 port=80\n[x:hots]\n[web:vars]\nport\nh a='b\n", "web"), @"
    hosts:2:1: error[WL0345]: `web[1:` has a range without `]`
    hosts:3:1: error[WL0345]: `web` is followed by a word without `=`
    hosts:4:1: error[WL0345]: a section is of hosts, `vars` or `children`, not `hots`
    hosts:6:1: error[WL0345]: a variable is `name=value`
    ");
    assert_snapshot!(ini("[web]\na 'b\n", "web"), @"hosts:2:1: error[WL0345]: a quote is not closed");
    assert_snapshot!(ini("[web]\na\n", "wbe"), @"
    hosts:1:1: error[WL0345]: the inventory has no group `wbe`
        help: did you mean `web`?
    ");
    assert_snapshot!(ini("[a:children]\nb\n[b:children]\na\n", "a"), @"hosts:1:1: error[WL0345]: the group `a` contains itself");
    assert_snapshot!(ini("#!/usr/bin/env python3\nprint('{}')\n", "web"), @"
    hosts:1:1: error[WL0345]: the inventory is a program, and windlass runs no dynamic inventories
        help: save its hosts: `ansible-inventory -i FILE --list --yaml > hosts.yaml`
    ");
    assert_snapshot!(yaml("plugin: aws_ec2\nregions: [eu-1]\n", "web"), @"hosts:1:1: error[WL0345]: this configures a dynamic inventory, and windlass runs none");
    assert_snapshot!(yaml("web:\n  hosts: [a, b]\n  host: {a: }\n", "web"), @"
    hosts:2:10: error[WL0345]: `hosts` must be a mapping, and this is a list
    hosts:3:3: error[WL0345]: a group has `hosts`, `vars` and `children`, not `host`
    ");
    assert_snapshot!(yaml("- a\n", "web"), @"hosts:1:1: error[WL0345]: a YAML inventory is a mapping of groups");
    assert_snapshot!(yaml("web: {hosts: [}\n", "web"), @"
    hosts:1:15: error[WL0019]: `[` is closed by `}`
        help: write `]`, or quote the text
    ");
}

/// Only a line of the form `[group]` or `[group:kind]` begins a section. Ansible has the same rule.
#[test]
fn a_line_with_a_bracket_may_be_a_host() {
    let text = "[web]\n[fe80::1]:22 port=80\n[1:2]n.lan # [x] y\n[n[3:4]]:7\n[db] # the databases\n[fe80::2]:22 x='[1]'\n";
    assert_snapshot!(short(&ini(text, "web")), @r#"
    hosts:2:1: {"ansible_port":"22","name":"fe80::1","port":"80"}
    hosts:3:1: {"name":"1n.lan"}
    hosts:3:1: {"name":"2n.lan"}
    hosts:4:1: {"ansible_port":"7","name":"n3"}
    hosts:4:1: {"ansible_port":"7","name":"n4"}
    "#);
    assert_snapshot!(short(&ini(text, "db")), @r#"hosts:6:1: {"ansible_port":"22","name":"fe80::2","x":"[1]"}"#);
    let text = "[web]\na\n[web:vars]\n[k]=v\n[k]y\n";
    assert_snapshot!(ini(text, "web"), @"hosts:5:1: error[WL0345]: a variable is `name=value`");
    for header in ["[my group]", "[]", "[a:b:c]", "[a: vars]", "[fe80::1]"] {
        let shown = ini(&format!("[web]\na\n{header}\nb\n"), "web");
        let wanted = "hosts:3:1: error[WL0345]: a section is `[group]`, `[group:vars]` or `[group:children]`, without blanks\n";
        assert_eq!(shown, wanted, "{header}");
    }
}

/// A mistake in the inventory leaves a group without hosts. windlass must report an error, because an empty list of
/// hosts would remove all nodes.
#[test]
fn a_mistake_does_not_mean_no_hosts() {
    assert_snapshot!(ini("[a:children]\nwbe\n[web]\nx\n[wob:vars]\np=1\n", "a"), @"
    hosts:2:1: error[WL0345]: the inventory has no group `wbe`
        help: did you mean `web`?
    hosts:5:1: error[WL0345]: the inventory has no group `wob`
        help: did you mean `web`?
    ");
    assert_snapshot!(ini("[web]\nw[10:1]\n", "web"), @"hosts:2:1: error[WL0345]: `w[10:1]` has `[10:1]`, a range that ends before it begins");
    assert_snapshot!(ini("[web]\n", "web"), @"
    hosts:1:1: error[WL0345]: the group `web` of the inventory has no hosts
        help: a list without entries is given by `-p PROPERTY=[]`
    ");
    assert_snapshot!(yaml("", "all"), @"
    hosts:1:1: error[WL0345]: the group `all` of the inventory has no hosts
        help: a list without entries is given by `-p PROPERTY=[]`
    ");
}

/// A line of an inventory may contain a secret, so no message quotes a line.
#[test]
fn places_show_no_lines() {
    let source = Source::new("hosts", "[web]\na token=hunter2 word\n");
    let problems = hosts(&source, InventoryForm::Ini, "web").unwrap_err();
    assert!(problems.iter().all(|problem| problem.place().unwrap().source().is_hidden()));
}

/// The output of `ansible-inventory --list`.
#[test]
fn the_listed_form_has_lists_and_variables_of_hosts() {
    let listed = r#"{"_meta": {"hostvars": {"a": {"zone": "north", "port": 80}, "b": {}}},
  "all": {"children": ["ungrouped", "web"]}, "web": {"hosts": ["a", "b"]}, "ungrouped": {"hosts": ["c"]}}"#;
    assert_snapshot!(short(&yaml(listed, "web")), @r#"
    hosts:2:64: {"name":"a","port":"80","zone":"north"}
    hosts:2:69: {"name":"b"}
    "#);
    assert_eq!(yaml(listed, "all").lines().count(), 3);
}

#[test]
fn yaml_with_another_name_is_one_error() {
    let text = "all:\n  hosts:\n    a: {}\n    b: {}\n";
    assert_snapshot!(ini(text, "all"), @"
    hosts:1:1: error[WL0345]: the inventory is YAML, and its name does not end with `.yaml`, `.yml` or `.json`
        help: rename the file; Ansible reads its form from its name, too
    ");
    assert!(ini(&format!("# hosts\n---\n{text}"), "all").contains("the inventory is YAML"));
    assert!(!ini("a:\nb\n", "all").contains("the inventory is YAML"));
}

#[test]
fn variables_that_are_left_out_are_named() {
    let text = "all:\n  vars: {free: '{{ x }}', zone: north}\n  hosts:\n    a: {key: !vault x, ansible_password: y, free: z}\n";
    let source = Source::new("hosts", text);
    let found = hosts(&source, InventoryForm::Yaml, "all").unwrap();
    assert_eq!(found[0].left_out.iter().collect::<Vec<_>>(), ["ansible_password", "key"]);
}

#[test]
fn a_variable_of_a_host_that_is_left_out_hides_the_value_of_the_group() {
    let text = "all:\n  vars: {key: outer, list: [1], port: 1, secret: a}\n  hosts:\n    \
                a: {key: '{{ x }}', list: [!vault x], port: !vault y, ansible_host: '{{ y }}', secret: {__ansible_vault: b}}\n    \
                b: {}\n";
    let source = Source::new("hosts", text);
    let found = hosts(&source, InventoryForm::Yaml, "all").unwrap();
    let all = ["ansible_host", "key", "list", "port", "secret"];
    assert_eq!(found[0].left_out.iter().collect::<Vec<_>>(), all);
    assert!(all.iter().all(|key| found[0].variables.get(key).is_none()), "{}", found[0].variables);
    assert!(found[1].left_out.is_empty());
    assert_eq!(found[1].variables["key"], "outer");
}
