//! Tests with little memory. Each test starts itself a second time, in a separate process with a limited address space.

use std::process::Command;

use windlass_source::Source;
use windlass_spiff::{Engine, Features, Limits};

/// The size of the limited address space in KiB: 256 MiB.
const LIMIT: u32 = 256 * 1024;

/// The environment variable that marks the separate process with the limited address space.
const INSIDE: &str = "WINDLASS_TEST_CONFINED";

/// Returns true if this process has little memory. Otherwise, runs the test `name` in such a process, asserts that the
/// process succeeds, and returns false.
#[expect(clippy::disallowed_methods, reason = "the test starts itself again, and has to know that it did")]
pub(crate) fn confined(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("a test is a program");
    let script = format!("ulimit -v {LIMIT} && exec \"$0\" --exact \"$1\" --nocapture --test-threads=1");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(program).arg(name);
    // An arena per thread would reserve more than the limit.
    shell.env(INSIDE, "1").env("MALLOC_ARENA_MAX", "1").env("RUST_MIN_STACK", "8388608");
    let status = shell.status().expect("a shell starts");
    assert!(status.success(), "{name} with {LIMIT} KiB: {status}");
    false
}

/// Templates that would grow without end are refused by a limit.
#[test]
fn growing_results_are_refused_before_they_are_allocated() {
    if !confined("memory::growing_results_are_refused_before_they_are_allocated") {
        return;
    }
    // Each row repeats the one before ten times: a few hundred bytes would become 10^20 values.
    let again = |first: &str, form: &str| -> String {
        let rows = (1..20).map(|at| format!("a{at}: (( {} ))\n", form.replace('P', &format!("a{}", at - 1))));
        format!("a0: {first}\n{}", rows.collect::<String>())
    };
    let wide = "%1000000d".repeat(500);
    let cases = [
        again("[1, 2, 3]", "[ P, P, P, P, P, P, P, P, P, P ]"),
        again("[1, 2, 3]", "{ $x=P, $y=P, $z=P, $v=P, $w=P }"),
        again("[1, 2, 3]", "P P P P"),
        again("{x: 1}", "{ $x=P, $y=P, $z=P } { $v=P }"),
        again("xxxxxxxxxx", "P P P P P P P P"),
        again("[1, 2, 3]", "map[[1..10]|x|->P]"),
        again("[1, 2, 3]", "[ P, P, P, P, P, P, P ]") + "x: (( asjson([ a9, a9, a9, a9, a9, a9 ]) ))\n",
        again("[1, 2, 3]", "[ P, P, P, P, P, P, P ]") + "x: (( a7 == a7 ))\nq: (( &temporary(a18) ))\n",
        "f: (( |x,n|-> n == 0 ? x :_([x, x], n - 1) ))\nv: (( .f([1], 60) ))\n".to_owned(),
        "f: (( |x,n|-> n == 0 ? x :_(x x, n - 1) ))\nv: (( .f(\"xx\", 60) ))\n".to_owned(),
        "v: (( [1..100000000] ))\n".to_owned(),
        "v: (( map[[1..3000000]|x|->{ $a=x }] ))\n".to_owned(),
        "a: (( [1..100000] ))\nb: (( join(format(\"%100000d\", 1), a) ))\n".to_owned(),
        format!("a: (( format({:?}, {}) ))\n", wide, vec!["1"; 500].join(", ")),
        "x: (( format(\"%100000d\", 1) ))\na: (( replace(x, \" \", x) ))\n".to_owned(),
        "x: (( format(\"%100000d\", 1) ))\na: (( replace_match(x, \" \", x) ))\n".to_owned(),
        "x: (( format(\"%1000000d\", 1) ))\na: (( split(\"\", x x x x x x x x x x ) ))\n".to_owned(),
        "a: (( ipset([\"10.0.0.0/8\"], 16777216) ))\n".to_owned(),
        "x: (( format(\"%1000000d\", 1) ))\na: (( split_match(\"\", x x x x x x x x x x ) ))\n".to_owned(),
        "x: (( format(\"%1000000d\", 1) ))\na: (( match(\"()()()()\", x x x x x x, true) ))\n".to_owned(),
        "l: (( [1..1000] ))\nv:\n  <<for:\n    a: (( l ))\n    b: (( l ))\n    c: (( l ))\n  <<do: (( { $x=a } ))\n".to_owned(),
        "t:\n  <<: (( &template ))\n  a: 1\n  b: {c: 2}\nv: (( map[[1..1000000]|x|->*t] ))\n".to_owned(),
    ];
    // Limits below the defaults, so that the largest permitted result takes little time.
    let limits = Limits { steps: 10_000_000, output: 8 * 1024 * 1024, ..Limits::default() };
    let engine = Engine::new().with_features(Features::ALL).with_limits(limits);
    for (at, text) in cases.iter().enumerate() {
        let begin = std::time::Instant::now();
        let template = Source::new("t.yml", text.clone());
        let shown: String = text.chars().take(200).collect();
        let message = match engine.process_texts(&template, &[]) {
            Ok(_) => panic!("case {at} has a result: {shown}"),
            Err(error) => error.to_string(),
        };
        assert!(
            message.contains("limit of "),
            "case {at}: {shown}: {}",
            message.chars().take(500).collect::<String>()
        );
        let line = format!("case {at} refused after {:?}\n", begin.elapsed());
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).expect("standard error is open");
    }
}

/// The largest document that the default limits permit is created, processed and written in the limited
/// memory.
#[test]
fn results_within_the_limits_are_accepted() {
    if !confined("memory::results_within_the_limits_are_accepted") {
        return;
    }
    for text in [
        "v: (( [1..780000] ))\n",
        "l: (( [1..120000] ))\nv: (( map[l|x|->{ $a=x }] ))\n",
        "x: (( format(\"%1000000d\", 1) ))\na: (( x x x x x x x x ))\n",
        "f: (( |x,n|-> n == 0 ? x :_([x], n - 1) ))\nv: (( .f(1, 900) ))\n",
    ] {
        let template = Source::new("t.yml", text);
        let result = Engine::new().with_features(Features::ALL).process_texts(&template, &[]);
        let written = result.map(|result| result.to_yaml().len()).map_err(|error| error.to_string());
        assert!(written.as_ref().is_ok_and(|length| *length > 1000), "{text}: {written:?}");
    }
}
