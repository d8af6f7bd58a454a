//! Tests that no input causes a panic, a hang, or the use of more memory than [`crate::memory::LIMIT`].
//! `WINDLASS_FUZZ_SECONDS` sets the duration of a target in seconds; without it, a few hundred cases run.

use std::io::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use windlass_source::Source;
use windlass_spiff::syntax::{Place, parse};
use windlass_spiff::{Engine, Features, Limits, yaml};

use crate::memory;

/// Returns an engine with small limits, so that long evaluations fail early.
fn engine() -> Engine {
    let limits =
        Limits { steps: 200_000, depth: 100, passes: 200, time: Duration::from_secs(5), output: 1024 * 1024 };
    Engine::new().with_features(Features::ALL).with_limits(limits)
}

#[expect(clippy::disallowed_methods, reason = "the tests' own setting: how long to try")]
fn seconds() -> Option<u64> {
    std::env::var("WINDLASS_FUZZ_SECONDS").ok()?.parse().ok()
}

#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where to begin")]
fn seed() -> u64 {
    std::env::var("WINDLASS_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// Checks a property with generated cases for the duration that `WINDLASS_FUZZ_SECONDS` sets. If no duration is set,
/// checks 200 cases. `WINDLASS_FUZZ_SEED` is the first seed.
fn fuzz<S: Strategy>(name: &str, strategy: &S, test: impl Fn(S::Value)) {
    let until = seconds().map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seed = seed();
    let mut rounds = 0_u64;
    let mut longest = Duration::ZERO;
    loop {
        let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&rounds.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let worst = std::cell::Cell::new(Duration::ZERO);
        TestRunner::new_with_rng(config, rng)
            .run(strategy, |value| {
                let begin = Instant::now();
                test(value);
                worst.set(worst.get().max(begin.elapsed()));
                Ok(())
            })
            .expect("no input makes it panic");
        rounds += 1;
        longest = longest.max(worst.get());
        if until.is_none_or(|until| Instant::now() >= until) {
            break;
        }
    }
    let line = format!("{name}: {} cases from seed {seed}, the longest took {longest:?}\n", rounds * 200);
    std::io::stderr().write_all(line.as_bytes()).expect("standard error is open");
    assert!(longest < Duration::from_secs(60), "{name}: an input took {longest:?}");
}

fn atom() -> impl Strategy<Value = String> {
    let words = vec![
        "a",
        "b",
        ".a.b",
        "a.[0]",
        "list",
        "map",
        "1",
        "-1",
        "2.5",
        "\"x\"",
        "true",
        "~",
        "~~",
        "merge",
        "merge none",
        "auto",
        "_",
        "__",
        "___",
        "__ctx.PATH",
        "f(1)",
        ".f(2)",
        "join(\",\", list)",
        "sort(list)",
        "10.0.0.1",
        "\"10.0.0.0/24\"",
        "[1..3]",
        "[]",
        "{}",
        "*t",
        "stub()",
        "catch(a)",
        "eval(\"a\")",
        "t::a",
        "keys(map)",
    ];
    prop_oneof![proptest::sample::select(words).prop_map(str::to_owned), "[a-z.\\[\\]()|>\"+*&!~: -]{0,12}"]
}

fn expression() -> impl Strategy<Value = String> {
    atom().prop_recursive(4, 24, 3, |inner| {
        let operators = vec!["+", "-", "*", "/", "%", "||", "//", "==", "<", "-and", "-or", ""];
        prop_oneof![
            (inner.clone(), proptest::sample::select(operators), inner.clone())
                .prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
            inner.clone().prop_map(|a| format!("( {a} )")),
            inner.clone().prop_map(|a| format!("[ {a}, 1 ]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("map[{a}|x|->{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("sum[{a}|0|s,x|->{b}]")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("{a} ? {b} :{c}")),
            inner.clone().prop_map(|a| format!("|x|->{a}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("($x={a}) {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("catch[{a}|v,e|->{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}.[{b}]")),
            inner.clone().prop_map(|a| format!("{a}.[*].b")),
            inner.clone().prop_map(|a| format!("prefer {a}")),
            inner.prop_map(|a| format!("&temporary &tag:t ({a})")),
        ]
    })
}

fn document() -> impl Strategy<Value = String> {
    let keys = vec![
        "a",
        "b",
        "c",
        "f",
        "t",
        "list",
        "map",
        "<<",
        "<<<",
        "<<if",
        "<<then",
        "<<else",
        "<<for",
        "<<do",
        "<<switch",
        "<<default",
        "<<type",
        "<<merge",
        "<<!x",
        "key:name",
        "name",
        "__map",
    ];
    let markers =
        vec!["&template", "&temporary", "&local", "&inject", "&default", "&state", "&dynamic", "&tag:t"];
    let leaf = prop_oneof![
        expression().prop_map(|text| format!("(( {text} ))")),
        expression().prop_map(|text| format!("x (( {text} )) y")),
        proptest::sample::select(markers).prop_map(|marker| format!("(( {marker} ))")),
        "[a-z0-9(!) ]{0,8}",
    ];
    let quoted = leaf.prop_map(|text| format!("'{}'", text.replace('\'', "''").replace('\n', " ")));
    quoted.prop_recursive(3, 24, 4, move |inner| {
        let entry = (proptest::sample::select(keys.clone()), inner.clone());
        prop_oneof![
            proptest::collection::vec(entry, 0..5).prop_map(|entries| {
                let fields: Vec<String> =
                    entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{ {} }}", fields.join(", "))
            }),
            proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[ {} ]", items.join(", "))),
        ]
    })
}

#[test]
fn fuzz_expressions() {
    if !memory::confined("fuzz::fuzz_expressions") {
        return;
    }
    fuzz("expressions", &expression(), |text| {
        if let Ok(expr) = parse(&text, &Place::default()) {
            let printed = expr.to_string();
            // A printed expression parses again, except forms that only people read.
            let _ = parse(&printed, &Place::default());
        }
    });
}

#[test]
fn fuzz_text() {
    if !memory::confined("fuzz::fuzz_text") {
        return;
    }
    fuzz("text", &"\\PC{0,200}", |text| {
        let _ = parse(&text, &Place::default());
        let source = Source::new("t.yml", text);
        if let Ok(node) = yaml::read_document(&source) {
            let _ = engine().process(&node, &[]);
        }
    });
}

#[test]
fn fuzz_documents() {
    if !memory::confined("fuzz::fuzz_documents") {
        return;
    }
    fuzz("documents", &document(), |text| {
        let source = Source::new("t.yml", text);
        if let Ok(node) = yaml::read_document(&source)
            && let Ok(result) = engine().process(&node, &[])
        {
            let _ = result.to_yaml();
        }
    });
}

#[test]
fn fuzz_template_with_stub() {
    if !memory::confined("fuzz::fuzz_template_with_stub") {
        return;
    }
    fuzz("template and stub", &(document(), document()), |(template, stub)| {
        let read = |name: &str, text: String| yaml::read_document(&Source::new(name, text));
        if let (Ok(template), Ok(stub)) = (read("t.yml", template), read("s.yml", stub)) {
            let _ = engine().process(&template, &[stub]);
        }
    });
}
