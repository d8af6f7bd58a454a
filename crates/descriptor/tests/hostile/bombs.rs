//! Generated hostile documents: wide, deep, long, repetitive, or with many cross-references.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value as Json;
use windlass_descriptor::{
    AssemblyDescriptor, Catalog as _, Descriptor, Existing, MemoryCatalog, Missing, Request, check, compose,
    read, resolve,
};
use windlass_model::resolve::{NothingYet, Resolver};
use windlass_source::{LoadOptions, Source, load};

/// A generated document, and the operation to run on it.
pub(crate) struct Bomb {
    pub(crate) name: &'static str,
    /// Creates the document. Its size is the full size divided by the argument.
    pub(crate) text: fn(usize) -> String,
    pub(crate) act: fn(&str),
}

const fn bomb(name: &'static str, text: fn(usize) -> String, act: fn(&str)) -> Bomb {
    Bomb { name, text, act }
}

/// First line of an assembly's descriptor, to which other lines are appended.
const ASSEMBLY: &str = "name: assembly::a::1.0\n";
const RESOURCE: &str = "name: resource::r::1.0\n";

/// Descriptor of the components.
const PART: &str = "name: resource::part::1.0
properties:
  in: {}
  size: {default: small}
  out: {read-only: true}
operations: {Add: {}}
lifecycle: [Install, Start]
";

/// Returns `begin`, and a line for each number below `count`.
fn lines(begin: &str, count: usize, mut line: impl FnMut(&mut String, usize)) -> String {
    let mut text = begin.to_owned();
    for n in 0..count {
        line(&mut text, n);
        text.push('\n');
    }
    text
}

macro_rules! lines {
    ($begin:expr, $count:expr, |$n:ident| $($format:tt)*) => {
        lines(&$begin, $count, |text, $n| { let _ = write!(text, $($format)*); })
    };
}

fn components(count: usize) -> String {
    lines!(format!("{ASSEMBLY}composition:\n"), count, |n| "  c{n}: {{type: resource::part::1.0}}")
}

fn ends(sources: usize, targets: usize) -> String {
    let begin = format!(
        "{}relationships:\n  r:\n    source-state: Active\n    target-state: Active\n    source-capabilities:\n",
        components(sources + targets)
    );
    let begin = lines!(begin, sources, |n| "    - c{n}.x") + "    target-requirements:\n";
    lines!(begin, targets, |n| "    - c{}.x", sources + n)
}

pub(crate) const BOMBS: [Bomb; 60] = [
    // Wide.
    bomb("unknown keys of a resource", |s| lines!(RESOURCE, 100_000 / s, |n| "key{n}: 1"), check_all),
    bomb(
        "unknown keys, as many as there can be",
        |s| lines!(RESOURCE, 1_000_000 / s, |n| "k{n}: 1"),
        check_all,
    ),
    bomb(
        "unknown keys of an assembly that are nearly known",
        |s| lines!(ASSEMBLY, 500_000 / s, |n| "composition{n}:"),
        check_all,
    ),
    bomb(
        "empty properties",
        |s| lines!(format!("{RESOURCE}properties:\n"), 1_000_000 / s, |n| "  a{n}:"),
        check_all,
    ),
    bomb(
        "properties that are values",
        |s| lines!(format!("{RESOURCE}properties:\n"), 800_000 / s, |n| "  a{n}: x"),
        check_all,
    ),
    bomb(
        "three misspelt keys in each property",
        |s| {
            lines!(
                format!("{RESOURCE}properties:\n"),
                50_000 / s,
                |n| "  a{n}: {{typ: string, defualt: b, requird: true}}"
            )
        },
        check_all,
    ),
    bomb(
        "misspelt keys that are known",
        |s| {
            lines!(
                format!("{RESOURCE}properties:\n"),
                200_000 / s,
                |n| "  a{n}: {{readOnly: true, descripion: b}}"
            )
        },
        check_all,
    ),
    bomb(
        "unknown types",
        |s| lines!(format!("{RESOURCE}properties:\n"), 200_000 / s, |n| "  a{n}: {{type: strin{n}}}"),
        check_all,
    ),
    bomb(
        "unknown transitions",
        |s| lines!(format!("{RESOURCE}lifecycle:\n"), 100_000 / s, |n| "  Instal{n}: {{}}"),
        check_all,
    ),
    bomb(
        "unknown transitions in a list",
        |s| lines!(format!("{RESOURCE}lifecycle:\n"), 1_000_000 / s, |n| "- T{n}"),
        check_all,
    ),
    bomb(
        "names with a dot",
        |s| lines!(format!("{ASSEMBLY}properties:\n"), 500_000 / s, |n| "  a.{n}: {{}}"),
        check_all,
    ),
    bomb(
        "bad names",
        |s| lines!(format!("{ASSEMBLY}composition:\n"), 300_000 / s, |n| "  a__{n}: {{type: x}}"),
        check_all,
    ),
    bomb(
        "components that are empty",
        |s| lines!(format!("{ASSEMBLY}composition:\n"), 500_000 / s, |n| "  a{n}:"),
        check_all,
    ),
    bomb(
        "components without a descriptor",
        |s| {
            lines!(
                format!("{ASSEMBLY}composition:\n"),
                200_000 / s,
                |n| "  a{n}: {{type: 'resource::pat{n}::1.0'}}"
            )
        },
        check_all,
    ),
    bomb(
        "components of a misspelt descriptor",
        |s| {
            lines!(
                format!("{ASSEMBLY}composition:\n"),
                200_000 / s,
                |_n| "  a{_n}: {{type: 'resource::prat::1.0'}}"
            )
        },
        compose_all,
    ),
    bomb(
        "wrong ends",
        |s| {
            lines!(
                format!(
                    "{}relationships:\n  r:\n    source-state: Active\n    target-state: Active\n    target-requirements: [c1.x]\n    source-capabilities:\n",
                    components(10)
                ),
                100_000 / s,
                |n| "    - d{n}.x"
            )
        },
        check_all,
    ),
    bomb(
        "wrong ends among many",
        |s| {
            lines!(
                format!(
                    "{}relationships:\n  r:\n    source-state: Active\n    target-state: Active\n    target-requirements: [c1.x]\n    source-capabilities:\n",
                    components(100_000 / s)
                ),
                100_000 / s,
                |n| "    - d{n}.x"
            )
        },
        check_all,
    ),
    bomb(
        "wrong references among many",
        |s| {
            lines!(
                format!("{RESOURCE}properties:\n"),
                150_000 / s,
                |n| "  abcdefgh{n}: {{value: '${{bacdefgh{n}}}'}}"
            )
        },
        check_all,
    ),
    bomb(
        "names that are hard to tell apart",
        |s| {
            lines!(
                format!("{RESOURCE}properties:\n"),
                50_000 / s,
                |n| "  {}{n}: {{value: '${{{}{n}}}'}}",
                "ab".repeat(60),
                "ba".repeat(60)
            )
        },
        check_all,
    ),
    bomb(
        "added properties",
        |s| {
            lines!(
                components(30_000 / s)
                    .replace("1.0}", "1.0, properties: {inn: {value: a}, sise: {value: b}}}"),
                0,
                |_n| ""
            )
        },
        check_all,
    ),
    bomb(
        "unknown metrics",
        |s| {
            lines!(
                format!("{RESOURCE}metrics: {{m: {{type: metric::load}}}}\npolicies:\n"),
                100_000 / s,
                |n| "  p{n}: {{type: policy::heal, metric: n{n}}}"
            )
        },
        check_all,
    ),
    bomb(
        "unknown settings",
        |s| {
            lines!(
                format!(
                    "{RESOURCE}metrics: {{m: {{type: metric::integrity}}}}\npolicies:\n  p:\n    type: policy::heal\n    metric: m\n    properties:\n"
                ),
                300_000 / s,
                |n| "      smoothin{n}: 1"
            )
        },
        check_all,
    ),
    // Long.
    bomb("one line", |s| format!("{{{}}}", "a:,".repeat(2_900_000 / s)), check_all),
    bomb(
        "one line of different keys",
        |s| format!("{{{}}}", (0..1_000_000 / s).map(|n| format!("a{n}: x,")).collect::<String>()),
        check_all,
    ),
    bomb(
        "one line of properties",
        |s| {
            format!(
                "{{name: 'resource::r::1.0', properties: {{{}}}}}",
                (0..300_000 / s).map(|n| format!("ä{n}: {{value: '${{b}}'}},")).collect::<String>()
            )
        },
        check_all,
    ),
    bomb(
        "one long text",
        |s| format!("{RESOURCE}properties: {{a: {{value: '{}'}}}}", "${b}".repeat(4_000_000 / s)),
        check_all,
    ),
    bomb(
        "references that end nowhere",
        |s| format!("{RESOURCE}properties: {{a: {{value: '{}'}}}}", "${".repeat(8_000_000 / s)),
        check_all,
    ),
    bomb(
        "no references",
        |s| lines!(format!("{RESOURCE}properties:\n"), 400_000 / s, |n| "  a{n}: {{value: '${{ }}'}}"),
        check_all,
    ),
    bomb(
        "a long name",
        |s| {
            format!(
                "name: resource::{}::1.0\nkey{}: 1\n",
                "r".repeat(8_000_000 / s),
                "k".repeat(7_000_000 / s)
            )
        },
        check_all,
    ),
    // Repeated.
    bomb("a key a million times", |s| "a: 1\n".repeat(1_000_000 / s), check_all),
    bomb("documents", |s| "---\n".repeat(4_000_000 / s), load_all),
    bomb("documents that are read as one", |s| "---\n".repeat(4_000_000 / s), check_all),
    bomb("empty maps", |s| format!("[{}]", "{a: 0},".repeat(2_200_000 / s)), load_all),
    bomb("empty lists", |s| format!("[{}]", "[],".repeat(5_000_000 / s)), load_all),
    bomb("keys that are no text", |s| "? [a]\n: b\n".repeat(1_500_000 / s), check_all),
    bomb("a mistake at the end", |s| components(300_000 / s) + "  x: [a\n", check_all),
    bomb(
        "many mistakes of syntax",
        |s| "a: @b\ntype: x:: y\n- z\n\tt: 'u\n{\n".repeat(500_000 / s),
        check_all,
    ),
    bomb("tabs", |s| lines!(RESOURCE, 1_000_000 / s, |n| "\ta{n}: b"), check_all),
    bomb("invisible characters", |s| lines!(RESOURCE, 1_000_000 / s, |n| "\u{200b}a{n}: b"), check_all),
    bomb(
        "typographic quotes",
        |s| lines!(format!("{RESOURCE}properties:\n"), 400_000 / s, |n| "  a{n}: {{value: “x”}}"),
        check_all,
    ),
    // Aliases.
    bomb(
        "merges of 3000 keys",
        |s| {
            let keys: String = (0..3000).map(|n| format!("k{n}: 1, ")).collect();
            lines!(format!("a: &a {{{keys}}}\n"), 3000 / s, |n| "b{n}: {{<<: *a}}")
        },
        check_all,
    ),
    bomb(
        "one merge of 3000 lists",
        |s| {
            let keys: String = (0..3000).map(|n| format!("k{n}: 1, ")).collect();
            format!("a: &a {{{keys}}}\nb:\n  <<: [{}]\n", "*a, ".repeat(3000 / s))
        },
        check_all,
    ),
    bomb(
        "merges of merges",
        |s| lines!("a0: &a0 {k: 0}\n", 30_000 / s, |n| "a{}: &a{} {{<<: *a{n}, k{n}: 1}}", n + 1, n + 1),
        check_all,
    ),
    bomb(
        "written merges",
        |s| format!("a:\n{}", "  <<: {a: 1, b: 2, c: 3}\n".repeat(500_000 / s)),
        check_all,
    ),
    bomb("aliases without anchors", |s| lines!("a: &abc 1\n", 800_000 / s, |n| "- *abd{n}"), check_all),
    bomb("anchors again", |s| format!("[{}]", "&a 1,".repeat(2_500_000 / s)), load_all),
    // Cross-referencing.
    bomb(
        "one circle",
        |s| {
            let n = 100_000 / s;
            lines!(format!("{RESOURCE}properties:\n"), n, |i| "  p{i}: {{value: '${{p{}}}'}}", (i + 1) % n)
        },
        check_all,
    ),
    bomb(
        "many circles",
        |s| lines!(format!("{RESOURCE}properties:\n"), 200_000 / s, |i| "  p{i}: {{value: '${{p{i}}}'}}"),
        check_all,
    ),
    bomb(
        "types that are derived from one another",
        |s| {
            lines!(
                format!("{RESOURCE}data-types:\n"),
                150_000 / s,
                |i| "  t{i}: {{derived-from: t{}}}",
                i + 1
            )
        },
        check_all,
    ),
    bomb(
        "numbers that read a chain",
        |s| {
            let n = 60_000 / s;
            let text =
                lines!(format!("{ASSEMBLY}properties:\n"), n, |i| "  p{i}: {{value: '${{p{}}}'}}", i + 1);
            lines!(
                text + "composition:\n",
                n,
                |i| "  c{i}: {{type: 'resource::part::1.0', quantity: '${{p{i}}}'}}"
            )
        },
        check_all,
    ),
    bomb(
        "ends times operations",
        |s| {
            let text = ends(20_000 / s, 20_000 / s) + "    lifecycle:\n      Create:\n";
            lines!(text, 100_000 / s, |_n| "      - source.Add")
        },
        check_all,
    ),
    bomb(
        "ends times values",
        |s| {
            let text = ends(20_000 / s, 20_000 / s) + "    properties:\n";
            lines!(text, 50_000 / s, |n| "      p{n}: {{value: '${{source.out}}${{target.nothing}}'}}")
        },
        check_all,
    ),
    bomb(
        "a number read through empty values that double each other",
        |_| {
            let text = format!("{ASSEMBLY}properties:\n  p0: {{default: ''}}\n");
            let text = lines!(text, 40, |n| "  p{}: {{value: '${{p{n}}}${{p{n}}}'}}", n + 1);
            text + "composition:\n  c: {type: resource::part::1.0, quantity: '1${p40}'}\n"
        },
        compose_all,
    ),
    bomb(
        "values of values",
        |s| {
            let all: String = (0..1000).map(|n| format!("${{q{n}}}")).collect();
            let text = lines!(
                format!("{ASSEMBLY}properties:\n"),
                1000,
                |n| "  q{n}: {{value: '{}'}}",
                "x".repeat(1000)
            );
            lines!(text, 1000 / s, |n| "  p{n}: {{value: '{all}'}}")
        },
        resolve_all,
    ),
    bomb(
        "unknown values of values",
        |s| {
            let all: String = (0..1000).map(|n| format!("${{q{n}}}")).collect();
            let text = lines!(format!("{ASSEMBLY}properties:\n"), 1000, |n| "  q{n}: {{}}");
            lines!(text, 1000 / s, |n| "  p{n}: {{value: '{all}'}}")
        },
        resolve_all,
    ),
    bomb(
        "outputs that are waited for",
        |s| {
            let n = 5_000 / s;
            let text = components(n) + "properties:\n  p0: {value: x}\n";
            lines!(text, n, |i| "  p{}: {{value: '${{p{i}}}${{c{i}.out}}'}}", i + 1)
        },
        compose_all,
    ),
    bomb(
        "references among what exists",
        |s| {
            lines!(
                format!("{ASSEMBLY}references:\n"),
                1000 / s,
                |n| "  r{n}: {{type: 'resource::net::^1.0', properties: {{name: {{value: n{n}}}, zone: {{value: z}}}}}}"
            )
        },
        refer_all,
    ),
    bomb(
        "references that nothing fits",
        |s| {
            lines!(
                format!("{ASSEMBLY}references:\n"),
                1000 / s,
                |n| "  r{n}: {{type: 'resource::net::^1.0', properties: {{zone: {{value: y{n}}}}}}}"
            )
        },
        refer_all,
    ),
    bomb(
        "parameters that there are not",
        |s| lines!(format!("{ASSEMBLY}properties:\n"), 100_000 / s, |n| "  p{n}: {{}}"),
        give_all,
    ),
    bomb(
        "a quantity",
        |_| format!("{ASSEMBLY}composition:\n  c: {{type: resource::part::1.0, quantity: 199999}}\n"),
        compose_all,
    ),
];

/// Reads a text as a stream of YAML documents.
fn load_all(text: &str) {
    let loaded = load(&Source::new("hostile.yaml", text), &LoadOptions::default());
    drop(loaded);
}

fn catalog() -> MemoryCatalog {
    let mut catalog = MemoryCatalog::new();
    for text in [PART.to_owned(), PART.replace("part", "part2"), PART.replace("part", "port")] {
        catalog.insert(read(&Source::new("part.yaml", text)).descriptor.expect("it is a descriptor"));
    }
    assert_eq!(catalog.names().len(), 3);
    catalog
}

/// Reads a text and checks it, as `windlass check` does.
pub(crate) fn check_all(text: &str) {
    let read = read(&Source::new("hostile.yaml", text));
    let mut said = read.diagnostics;
    if let Some(descriptor) = &read.descriptor {
        said.extend(check(descriptor, &catalog(), Missing::Tolerated));
    }
    said.sort();
    assert!(said.len() <= 202, "{} problems", said.len());
    // The messages must be short as well.
    assert!(said.to_string().len() < 1 << 20, "{} bytes of messages", said.to_string().len());
}

fn assembly(text: &str) -> Option<Arc<AssemblyDescriptor>> {
    match read(&Source::new("hostile.yaml", text)) {
        read if read.diagnostics.has_errors() => None,
        read => match read.descriptor? {
            Descriptor::Assembly(assembly) => Some(assembly),
            Descriptor::Resource(_) => None,
        },
    }
}

fn composed(text: &str, existing: &[Existing], parameters: &BTreeMap<String, Json>) {
    let Some(assembly) = assembly(text) else { return };
    let (name, catalog) = ("hostile".parse().expect("a name"), catalog());
    let composed = compose(&assembly, Request::new(&name, parameters, &catalog).existing(existing));
    let Some(topology) = composed.topology else {
        assert!(composed.diagnostics.len() <= 202, "{} problems", composed.diagnostics.len());
        return;
    };
    let mut resolver = Resolver::of_all(&topology, &NothingYet);
    for (at, element) in topology.elements().iter().enumerate() {
        for property in 0..element.properties.len() {
            // An error is no failure of the test: some values can never be known.
            let _ = resolver.awaited_at(at, property, |_, _| {});
        }
    }
}

/// Composes an assembly and looks up all its values, as `windlass plan` does.
fn compose_all(text: &str) {
    composed(text, &[], &BTreeMap::new());
}

/// Composes an assembly beside 20 000 existing resources.
fn refer_all(text: &str) {
    let thing = |n: usize| {
        let properties =
            BTreeMap::from([("zone".to_owned(), Json::from("z")), ("id".to_owned(), Json::from(n))]);
        Existing::listed("resource::net::1.0".parse().expect("a name"), format!("n{n}"), properties)
    };
    let existing: Vec<Existing> = (0..20_000).map(thing).collect();
    composed(text, &existing, &BTreeMap::new());
}

/// Composes an assembly with as many parameters as its text has lines. All of them are wrong.
fn give_all(text: &str) {
    let parameters = (0..text.lines().count()).map(|n| (format!("q{n}"), Json::from("x"))).collect();
    composed(text, &[], &parameters);
}

/// Inserts known values, as `windlass resolve` does.
fn resolve_all(text: &str) {
    let Some(assembly) = assembly(text) else { return };
    let (name, catalog, parameters) = ("hostile".parse().expect("a name"), catalog(), BTreeMap::new());
    let resolved = resolve(&assembly, Request::new(&name, &parameters, &catalog));
    if let Ok(resolved) = resolved {
        assert!(resolved.text.len() < text.len() + (80 << 20), "{} bytes", resolved.text.len());
    }
}
