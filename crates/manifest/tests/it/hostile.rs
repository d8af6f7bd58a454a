//! Tests of manifests that are large, or that grow by aliases, wildcards, fan-out and bindings. Each of them
//! is refused or read, in limited time and memory.

use std::fmt::Write as _;

use windlass_source::{Source, codes as syntax};

use crate::harness::{SCALE, in_child, measured};
use crate::support::said;

/// Name of the test in this file that starts itself again for each case, as a process of its own.
const TEST: &str = "hostile::large_manifests_take_limited_time_and_memory";

fn lines(begin: &str, count: usize, line: impl Fn(&mut String, usize)) -> String {
    (0..count).fold(begin.to_owned(), |mut text, n| {
        line(&mut text, n);
        text.push('\n');
        text
    })
}

/// Returns the document of a case, and the code of the error with which it is refused, if any.
fn case(name: &str) -> (String, Option<&'static str>) {
    let many = 200_000 / SCALE;
    let leaf = "  components:\n    a:\n      type: workflow.Instance\n      interfaces:\n";
    let pins = |interface: &str, count| {
        lines(&format!("        {interface}:\n"), count, |text, n| {
            write!(text, "          p{n}: publish-signal(string)").unwrap();
        })
    };
    match name {
        "64 MB" => {
            let pins = "          pin: publish-signal(string)\n".repeat((64 << 20) / 38);
            (format!("application:\n{leaf}        i:\n{pins}"), Some(syntax::LIMIT.as_str()))
        }
        "aliases" => {
            let text = lines("x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n", 30, |text, n| {
                write!(text, "x{0}: &x{0} [{1}]", n + 1, vec![format!("*x{n}"); 10].join(", ")).unwrap();
            });
            (format!("{text}application: *x30\n"), Some(syntax::LIMIT.as_str()))
        }
        "aliased components" => {
            let text = lines("c0: &c0 {type: a}\n", 12, |text, n| {
                let children = (0..10).map(|k| format!("k{k}: *c{n}")).collect::<Vec<_>>().join(", ");
                write!(text, "c{0}: &c{0} {{components: {{{children}}}}}", n + 1).unwrap();
            });
            (format!("{text}application: *c12\n"), Some(syntax::LIMIT.as_str()))
        }
        "wildcards" => {
            let exposed = lines("application:\n  interfaces:\n", 1_000, |text, n| {
                write!(text, "    i{n}: {{'*': bind(a#i.*)}}").unwrap();
            });
            (format!("{exposed}{leaf}{}", pins("i", 1_000)), Some("WL0618"))
        }
        "fan-out" => {
            let mut text = "type: a, interfaces: {i: {p: configuration(string)}}".to_owned();
            for _ in 0..20 {
                let bind = ["c#i.p"; 10].join(", ");
                text = format!("interfaces: {{i: {{p: 'bind({bind})'}}}}, components: {{c: {{{text}}}}}");
            }
            (format!("application: {{{text}}}\n"), Some("WL0618"))
        }
        "bindings" => {
            let bindings = "  - [a, a]\n".repeat(1_000);
            (format!("application:\n{leaf}{}  bindings:\n{bindings}", pins("i", 1_000)), Some("WL0618"))
        }
        "pins" => (format!("application:\n{leaf}{}", pins("i", many)), (many > 100_000).then_some("WL0618")),
        "unknown pins" => {
            let exposed = lines("application:\n  interfaces:\n    i:\n", many / 4, |text, n| {
                write!(text, "      q{n}: bind(a#i.q{n})").unwrap();
            });
            (format!("{exposed}{leaf}{}", pins("i", many / 4)), None)
        }
        "misspelt keys" => {
            let text = lines("application:\n  components:\n    a:\n      type: b\n", many, |text, n| {
                write!(text, "      intrfaces{n}: {{}}").unwrap();
            });
            (text, None)
        }
        "commands" => {
            let commands = lines("        i:\n", many / 4, |text, n| {
                write!(text, "          p{n}: receive-command()").unwrap();
            });
            let scripts = lines("        factory.commandScripts:\n", many / 4, |text, n| {
                write!(text, "          i.q{n}: /a").unwrap();
            });
            let leaf = leaf.replace("workflow.Instance", "scripted.Component");
            let leaf =
                leaf.replace("      interfaces", &format!("      configuration:\n{scripts}      interfaces"));
            (format!("application:\n{leaf}{commands}"), Some("WL0625"))
        }
        "nested" => {
            let text = "components: {c: {".repeat(60) + "type: a" + &"}}".repeat(60);
            (format!("application: {{{text}}}\n"), None)
        }
        "long type" => {
            let kind = "list<".repeat(2_000_000 / SCALE);
            (format!("application:\n{leaf}        i: {{p: 'configuration({kind})'}}\n"), Some("WL0605"))
        }
        "arguments" => {
            let arguments = (0..many).map(|n| format!("int a{n}")).collect::<Vec<_>>().join(", ");
            (format!("application:\n{leaf}        i: {{p: 'receive-command({arguments})'}}\n"), None)
        }
        other => panic!("no case {other}"),
    }
}

#[test]
fn large_manifests_take_limited_time_and_memory() {
    let names = [
        "64 MB",
        "aliases",
        "aliased components",
        "wildcards",
        "fan-out",
        "bindings",
        "pins",
        "unknown pins",
        "misspelt keys",
        "commands",
        "nested",
        "long type",
        "arguments",
    ];
    in_child(TEST, &names, |name| {
        let (text, code) = case(name);
        let source = Source::new("bomb.yaml", text);
        let mut found = None;
        let cost = measured(|| found = Some(said(&source)));
        let found = found.unwrap();
        match code {
            Some(code) => assert!(found.iter().any(|said| said.code.as_str() == code), "{name}: {found}"),
            None => assert!(found.iter().all(|said| said.code.as_str() != "WL0618"), "{name}: {found}"),
        }
        cost
    });
}
