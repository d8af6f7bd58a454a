//! Tests that templates can't run forever, exhaust the machine or access the outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use windlass_source::Source;
use windlass_spiff::value::{Map, Node, Value};
use windlass_spiff::{Engine, ExceededLimit, Features, Limits, Outside, SpiffError, yaml};

fn run(engine: &Engine, text: &str) -> Result<String, String> {
    let template = Source::new("t.yml", text);
    engine.process_texts(&template, &[]).map(|result| result.to_yaml()).map_err(|error| error.to_string())
}

fn engine() -> Engine {
    Engine::new().with_features(Features::ALL)
}

#[track_caller]
fn fails_with(engine: &Engine, text: &str, part: &str) {
    let message = run(engine, text).expect_err("a limit or a refusal");
    assert!(message.contains(part), "{message}");
}

/// A program can tell the limits apart without the text of the message.
#[test]
fn the_report_names_the_exceeded_limit() {
    let exceeded = |limits: Limits, text: &str| {
        let error = engine().with_limits(limits).process_texts(&Source::new("t.yml", text), &[]).unwrap_err();
        let SpiffError::Unresolved(report) = error else { panic!("{error}") };
        report.exceeded
    };
    let all = Limits::default();
    let recursion = "f: (( |x|->.f(x) ))\na: (( .f(1) ))\n";
    let sum = "a: (( sum[[1..100000]|0|s,x|->s + x] ))\n";
    assert_eq!(exceeded(all, "a: (( b ))\n"), None);
    assert_eq!(exceeded(all, recursion), Some(ExceededLimit::Depth));
    assert_eq!(exceeded(Limits { steps: 1000, ..all }, sum), Some(ExceededLimit::Steps));
    assert_eq!(exceeded(Limits { time: Duration::ZERO, ..all }, sum), Some(ExceededLimit::Time));
    assert_eq!(
        exceeded(Limits { passes: 1, ..all }, "a: (( b ))\nb: (( c ))\nc: 1\n"),
        Some(ExceededLimit::Passes)
    );
    let doubling = "a: (( [\"0123456789\", \"0123456789\"] ))\nb: (( [a, a, a] ))\n";
    assert_eq!(exceeded(Limits { output: 40, ..all }, doubling), Some(ExceededLimit::Output));
}

#[test]
fn endless_recursion_ends() {
    fails_with(&engine(), "f: (( |x|->_(x + 1) ))\nv: (( .f(1) ))\n", "calls within each other exceeded");
}

#[test]
fn a_template_of_itself_ends() {
    let text = "t:\n  <<: (( &template ))\n  a: (( *t ))\nv: (( *t ))\n";
    fails_with(&engine(), text, "calls within each other exceeded");
}

#[test]
fn large_ranges_are_refused_before_they_are_made() {
    fails_with(&engine(), "v: (( [1..9223372036854775807] ))\n", "steps exceeded");
}

#[test]
fn doubling_text_ends() {
    let rows: Vec<String> = (1..64).map(|at| format!("a{at}: (( a{} a{} ))\n", at - 1, at - 1)).collect();
    let text = format!("a0: (( \"xxxxxxxxxxxxxxxx\" ))\n{}", rows.concat());
    let limits = Limits { steps: 10_000_000, ..Limits::default() };
    fails_with(&engine().with_limits(limits), &text, "steps exceeded");
}

#[test]
fn a_growing_document_ends() {
    // Each pass makes the expression longer.
    let limits = Limits { passes: 200, ..Limits::default() };
    let text = "a: (( \"(( \\\"\" \"x\" \"\\\" ))\" ))\nb: (( a \"y\" ))\n";
    assert!(run(&engine().with_limits(limits), text).is_ok());
}

#[test]
fn combinations_of_control_variables_are_counted_first() {
    let range = vec!["0"; 200].join(", ");
    let text = format!(
        "v:\n  <<for:\n    a: [{range}]\n    b: [{range}]\n    c: [{range}]\n    d: [{range}]\n  <<do: 1\n"
    );
    fails_with(&engine(), &text, "steps exceeded");
}

#[test]
fn input_that_crashes_the_original_gets_a_result_or_an_error() {
    let engine = engine();
    assert_eq!(run(&engine, "l:\n  <<for:\n    x: []\n  <<do: (( x ))\n").as_deref(), Ok("l: []\n"));
    fails_with(&engine, "l: [1]\nv: (( l.[-5] ))\n", "'l.[-5]' not found");
    fails_with(&engine, "l: [1]\nv: (( map[l||->1] ))\n", "one or two arguments");
    fails_with(&engine, "v: (( 9223372036854775808 ))\n", "number out of range");
    assert!(run(&engine, "v: .nan\nw: (( v ))\n").is_ok());
}

#[test]
fn sync_of_what_can_not_change_does_not_wait() {
    let begin = Instant::now();
    fails_with(&engine(), "v: (( sync[1|x|->x == 2|x|->x|60] ))\n", "sync timeout reached");
    assert!(begin.elapsed() < Duration::from_secs(30));
}

/// While a document changes, no `sync` gives up: neither the first nor the second one that waits in the same pass.
#[test]
fn several_syncs_wait_while_the_document_changes() {
    let calls = Arc::new(AtomicI64::new(0));
    let engine = engine()
        .with_function("tick", move |_, _| Ok(Node::new(Value::Int(calls.fetch_add(1, Ordering::Relaxed)))));
    // The nodes `c…` need one pass each.
    let chain: Vec<String> = (0..9).map(|at| format!("c{at}: (( c{} ))\n", at + 1)).collect();
    let chain = chain.concat();
    let text = format!(
        "v: (( sync[tick()|x|->x >= 6|x|->true|60] ))\nw: (( sync[tick()|x|->x >= 6|x|->true|60] ))\n{chain}c9: 1\n"
    );
    let result = run(&engine, &text).unwrap();
    assert!(result.contains("v: true\nw: true\n"), "{result}");
}

#[test]
fn nested_parentheses_take_linear_time() {
    for depth in [16, 400] {
        let text = format!("v: (( {}1{} ))\n", "( ".repeat(depth), " )".repeat(depth));
        assert_eq!(run(&engine(), &text).as_deref(), Ok("v: 1\n"));
    }
    let text = format!("v: (( {}1{} ))\n", "(".repeat(100_000), ")".repeat(100_000));
    fails_with(&engine(), &text, "levels deep");
    let chain = vec!["1"; 100_000].join(" + ");
    fails_with(&engine(), &format!("v: (( {chain} ))\n"), "levels deep");
}

#[test]
fn the_output_is_limited() {
    let limits = Limits { output: 100, ..Limits::default() };
    let template = Source::new("t.yml", "v: (( map[[1..1000]|x|->x] ))\n");
    let result = engine().with_limits(limits).process_texts(&template, &[]);
    assert!(matches!(result, Err(SpiffError::Output { limit: 100 })));
}

#[test]
fn cycles_are_shown() {
    let template = Source::new("t.yml", "a: (( b ))\nb: (( c.d ))\nc:\n  d: (( a ))\nz: (( a ))\n");
    let Err(SpiffError::Unresolved(unresolved)) = engine().process_texts(&template, &[]) else {
        panic!("a cycle has no result");
    };
    assert_eq!(unresolved.cycles, [["a", "b", "c.d", "a"]]);
}

#[test]
fn nothing_outside_is_reached_unless_it_is_granted() {
    let refused = "no OS operations supported in this execution environment";
    let engine = engine();
    for call in [
        "read(\"/etc/hostname\")",
        "write(\"/tmp/windlass-spiff-never\", \"x\")",
        "exec(\"id\")",
        "pipe(\"x\", \"cat\", \"-\")",
        "env(\"HOME\")",
        "read(\"http://localhost/\")",
        "tempfile(\"x\")",
        "mkdir(\"/tmp/windlass-spiff-never\")",
        "list_files(\"/\")",
        "lookup_file(\"passwd\", \"/etc\")",
    ] {
        fails_with(&engine, &format!("v: '(( {call} ))'\n"), refused);
    }
}

#[test]
fn only_granted_folders_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(inside.join("a.txt"), "yes").unwrap();
    std::fs::write(outside.join("b.txt"), "no").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.join("b.txt"), inside.join("link.txt")).unwrap();
    let engine = engine().with_outside(Outside::none().allow_read(&inside));
    let read = |file: &std::path::Path| run(&engine, &format!("v: (( read(\"{}\") ))\n", file.display()));
    assert_eq!(read(&inside.join("a.txt")).as_deref(), Ok("v: \"yes\"\n"));
    for file in [outside.join("b.txt"), inside.join("../out/b.txt"), inside.join("link.txt")] {
        let message = read(&file).unwrap_err();
        assert!(message.contains("outside of the folders granted"), "{message}");
    }
}

/// The outputs of commands are cached. `exec("echo", "cat")` runs `echo` with the argument `cat`, but
/// `pipe("echo", "cat")` runs `cat` with the input `echo`. The cache must keep the two outputs apart.
#[test]
fn a_pipe_does_not_get_the_output_of_a_command() {
    let engine = engine().with_outside(Outside::none().allow_exec());
    let text = "a: (( pipe(\"echo\", \"cat\") ))\nb: (( exec(\"echo\", \"cat\") ))\nc: (( pipe(\"cat\", \"echo\") ))\n";
    assert_eq!(run(&engine, text).as_deref(), Ok("a: echo\nb: cat\nc: \"\"\n"));
}

#[test]
fn temporary_files_are_removed_with_their_session() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine().with_outside(Outside::none().allow_write(folder.path()));
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let document = engine.evaluate("tempfile(\"x\")", &Node::new(Value::from(Map::new()))).unwrap();
    assert!(document.as_str().unwrap().starts_with(folder.path().to_str().unwrap()));
    assert_eq!(files(), 0);
    let stub = Source::new("stub.yml", "a: (( tempfile(\"x\") ))\nb: (( nothing ))\n");
    engine.process_texts(&Source::new("t.yml", "a: (( merge ))\n"), &[stub]).unwrap_err();
    assert_eq!(files(), 0);
}

#[test]
fn results_are_the_same_each_time() {
    let text = "l: [3, 1, 2]\ns: (( sort(l) ))\nr: (( reverse(l) ))\nm: (( unknown ))\nz: (( nothing ))\n";
    let first = run(&engine(), text);
    assert_eq!(first, run(&engine(), text));
    let message = first.unwrap_err();
    assert!(message.find("unknown") < message.find("nothing"), "{message}");
}

#[test]
fn a_trace_lists_the_steps_to_a_value() {
    let template = Source::new("t.yml", "a: (( b \"!\" ))\nb: (( c ))\nc: (( merge ))\n");
    let stub = Source::new("s.yml", "c: x\n");
    let result = engine().with_trace("a").process_texts(&template, &[stub]).unwrap();
    let steps: Vec<String> =
        result.trace().iter().map(|step| format!("{}: {}", step.event, step.value)).collect();
    assert_eq!(steps, ["is an expression: b \"!\"", "waits: 'b' unresolved: b \"!\"", "evaluated: \"x!\""]);
}

#[test]
fn deep_documents_are_processed() {
    let mut text = String::new();
    for depth in 0..100 {
        text.push_str(&" ".repeat(depth));
        text.push_str("a:\n");
    }
    text.push_str(&" ".repeat(100));
    text.push_str("b: (( 1 + 1 ))\n");
    let result = run(&engine(), &text).unwrap();
    assert!(result.ends_with("b: 2\n"), "{result}");
    assert!(yaml::read_document(&Source::new("r.yml", result)).is_ok());
}

#[test]
fn an_expression_that_waits_through_many_passes_keeps_nothing_of_them() {
    let links: Vec<String> = (1..5_000).map(|at| format!("  n{at:05}: (( n{:05} + 1 ))\n", at - 1)).collect();
    let text = format!("m:\n  n00000: 1\n{}  whole: (( m ))\n", links.concat());
    fails_with(&engine(), &text, "(( m ))\tin t.yml\tm.whole\t()\t@'m' unresolved");
}

#[test]
fn values_are_no_deeper_than_functions_can_recurse() {
    let expected = "limit of 2000 levels of a value exceeded";
    fails_with(&engine(), "v: (( sum[[1..100000]|[]|s,e|->[s]] ))\n", expected);
    // Each call adds a hundred levels without a reference to a value.
    let (open, close) = ("[ ".repeat(100), " ]".repeat(100));
    let text = format!("f: (( |n|->n < 1 ? [] :{open}_(n - 1){close} ))\nv: (( .f(1000) ))\n");
    fails_with(&engine(), &text, expected);
}

#[test]
fn lambdas_that_hold_each_other_are_freed() {
    let text = "v: (( &temporary( sum[[1..20000]|0|s,e|->( |x|->s ) ] ) ))\ncount: 1\n";
    let result = run(&engine(), text);
    assert!(result.as_ref().is_ok_and(|text| text == "count: 1\n"), "{result:?}");
}
