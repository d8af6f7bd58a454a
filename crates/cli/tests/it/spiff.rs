//! `windlass spiff`: every flag, and the recorded cases of the original command.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value as Json;

use crate::env::{TestEnv, say};
use crate::run::Run;

/// Returns a project with this template.
fn template(text: &str) -> TestEnv {
    let env = TestEnv::bare();
    env.write("t.yaml", text);
    env
}

fn merge(env: &TestEnv, args: &[&str]) -> Run {
    let all: Vec<&str> = ["spiff", "merge", "t.yaml"].iter().chain(args).copied().collect();
    env.run(&all)
}

/// Returns the output of a `merge` that must succeed.
#[track_caller]
fn merged(env: &TestEnv, args: &[&str]) -> String {
    let run = merge(env, args);
    assert_eq!((run.code(), run.stderr.as_str()), (Some(0), ""), "{run}");
    run.stdout
}

/// Returns the exit code and the message of a `merge` that must fail.
#[track_caller]
fn message(env: &TestEnv, args: &[&str]) -> (i32, String) {
    let run = merge(env, args);
    assert_eq!(run.stdout, "", "{run}");
    (run.code().unwrap(), run.stderr)
}

#[test]
fn stubs_are_processed_from_the_last_to_the_first() {
    let env = template("a: (( merge ))\nb: (( merge ))\nc: (( a \"/\" b ))\n");
    env.write("s1.yaml", "a: one\n");
    env.write("s2.yaml", "a: two\nb: two\n");
    // Later stubs are also merged into earlier ones.
    assert_eq!(merged(&env, &["s1.yaml", "s2.yaml"]), "a: two\nb: two\nc: two/two\n");
    assert_eq!(merged(&env, &["s2.yaml", "s1.yaml"]), "a: one\nb: two\nc: one/two\n");
}

#[test]
fn one_file_may_be_standard_input() {
    let env = template("a: (( merge ))\n");
    let run = env.run_with(&["spiff", "merge", "t.yaml", "-"], "a: 1\n");
    assert_eq!(run.stdout, "a: 1\n", "{run}");
    let run = env.run_with(&["spiff", "merge", "-", "-"], "a: 1\n");
    assert_eq!((run.code(), run.stderr.as_str()), (Some(2), "error[WL0800]: stdin cannot be used twice\n"));
}

#[test]
fn nodes_without_value_are_reported_with_what_the_signs_mean() {
    let env = template("a: (( b ))\nb: (( a ))\nc: (( d ))\n");
    let (code, text) = message(&env, &[]);
    assert_eq!(code, 1);
    assert!(text.contains("\nerror[WL0700]: error generating manifest: unresolved nodes:\n"), "{text}");
    assert!(text.contains("\t(( d ))\tin t.yaml\tc\t()\t*'d' not found\n"), "{text}");
    assert!(text.contains("\ncycle: a -> b -> a\n"), "{text}");
    assert!(text.ends_with("-: depending on a node with an error\n"), "{text}");
}

#[test]
fn an_error_shows_the_place_of_the_expression() {
    let env = template("a: 1\n---\nb:\n- (( 1+2 ))\nc: (( merge ))\n");
    env.write("s.yaml", "c: (( nowhere ))\n");
    let (_, text) = message(&env, &["s.yaml"]);
    let (places, _) = text.split_once("error[WL0700]: error generating manifest").unwrap();
    insta::assert_snapshot!(places, @"
    error[WL0700]: `c` has no value: 'nowhere' not found
     --> s.yaml:1:4
      |
    1 | c: (( nowhere ))
      |    ^^^^^^^^^^^^^
    ");
    env.write("s.yaml", "c: 1\n");
    let (_, text) = message(&env, &["s.yaml"]);
    let (places, _) = text.split_once("error[WL0700]: error generating manifest (document 2): ").unwrap();
    insta::assert_snapshot!(places, @"
    error[WL0702]: `b.[0]` is no expression: parse error near symbol 2 - symbol 3: '1'
     --> t.yaml:4:7
      |
    4 | - (( 1+2 ))
      |       ^
    ");
}

#[test]
fn partial_keeps_what_has_no_value() {
    let env = template("a: (( b ))\nc: (( 1 + 1 ))\n");
    assert_eq!(merged(&env, &["--partial"]), "a: (( b ))\nc: 2\n");
}

#[test]
fn json_is_one_line() {
    let env = template("a: (( [1..3] ))\nb: \"<\"\n");
    assert_eq!(merged(&env, &["--json"]), "{\"a\":[1,2,3],\"b\":\"\\u003c\"}\n");
}

#[test]
fn a_path_chooses_a_node() {
    let env = template("a:\n  list:\n  - name: x\n    v: (( 1 + 1 ))\n");
    assert_eq!(merged(&env, &["--path", "a.list.x.v"]), "2\n");
    assert_eq!(merged(&env, &["--path", "a.list.[0]"]), "name: x\nv: 2\n");
    assert_eq!(message(&env, &["--path", "a.z"]), (1, "error[WL0704]: path \"a.z\" not found\n".into()));
}

#[test]
fn select_chooses_fields() {
    let env = template("a:\n  b: 1\n  c: 2\nd: 3\ne: 4\n");
    assert_eq!(merged(&env, &["--select", "a.c", "--select", "d"]), "c: 2\nd: 3\n");
    assert_eq!(message(&env, &["--select", "z"]), (1, "error[WL0704]: path \"z\" not found\n".into()));
}

#[test]
fn evaluate_makes_something_else_of_the_result() {
    let env = template("list: (( [1..4] ))\n");
    assert_eq!(merged(&env, &["--evaluate", "sum[list|0|s,x|->s + x]"]), "10\n");
    let (code, text) = message(&env, &["--evaluate", "nothing"]);
    assert_eq!(code, 1);
    assert!(
        text.contains("expression \"nothing\" failed: ") && text.contains("'nothing' not found"),
        "{text}"
    );
}

#[test]
fn split_makes_documents_of_a_list() {
    let env = template("list:\n- a: 1\n- b: 2\n");
    assert_eq!(merged(&env, &["--path", "list", "--split"]), "---\na: 1\n---\nb: 2\n");
    assert_eq!(merged(&env, &["--path", "list", "--split", "--json"]), "{\"a\":1}\n{\"b\":2}\n");
}

#[test]
fn streams_of_documents_are_processed_one_by_one() {
    let env = template("a: 1\n---\n---\nb: (( doc.1::a + 1 ))\n");
    assert_eq!(merged(&env, &[]), "---\na: 1\n---\n---\nb: 2\n");
}

#[test]
fn a_document_of_a_stream_is_named_by_its_number_and_may_be_for_others_only() {
    let env = template("<<: (( &temporary ))\na: 1\n---\nb: (( doc.1::a ))\n");
    assert_eq!(merged(&env, &[]), "b: 1\n");
    let env = template("a: 1\n---\nb: (( nothing ))\n");
    let (code, text) = message(&env, &[]);
    assert_eq!(code, 1);
    assert!(text.contains("error generating manifest (document 2): unresolved nodes:\n"), "{text}");
}

#[test]
fn the_parts_of_a_result_are_chosen_one_after_the_other() {
    let env = template("a: {b: {c: 1, d: 2}}\n");
    let all = ["--path", "a", "--evaluate", "{\"x\"=b.c, \"y\"=[b.d]}", "--select", "y"];
    assert_eq!(merged(&env, &all), "\"y\":\n- 2\n");
    assert_eq!(
        message(&env, &["--path", "a.b.c", "--evaluate", "1"]),
        (1, "error[WL0705]: no map document\n".into())
    );
}

#[test]
fn bindings_are_names_that_documents_do_not_have() {
    let env = template("a: (( who \"/\" where ))\nwhere: here\n");
    env.write("b.yaml", "who: me\nwhere: there\n");
    assert_eq!(merged(&env, &["--bindings", "b.yaml"]), "a: me/here\nwhere: here\n");
    // Definitions take precedence over bindings.
    assert_eq!(merged(&env, &["--bindings", "b.yaml", "-D", "who=you"]), "a: you/here\nwhere: here\n");
    env.write("b.yaml", "[1]\n");
    let (code, text) = message(&env, &["--bindings", "b.yaml"]);
    assert_eq!((code, text.as_str()), (2, "error[WL0701]: bindings [b.yaml] must be a map\n"));
}

#[test]
fn definitions_are_numbers_or_text_with_paths() {
    let env = template("v: (( values ))\n");
    assert_eq!(
        merged(&env, &["--define", "values.a=1", "-Dvalues.b.c=x=y"]),
        "v:\n  a: 1\n  b:\n    c: x=y\n"
    );
    assert_eq!(message(&env, &["-D", "values"]).0, 1);
}

#[test]
fn tags_are_documents_by_name() {
    let env = template("a: (( lib::v ))\n");
    env.write("lib.yaml", "v: 7\n");
    assert_eq!(merged(&env, &["--tag", "lib:lib.yaml"]), "a: 7\n");
    assert_eq!(message(&env, &["--tag", "lib"]), (2, "error[WL0800]: tag `lib` is not NAME:FILE\n".into()));
}

#[test]
fn state_is_kept_between_runs() {
    let env = template(
        "key:\n  <<: (( &state &temporary(merge none) ))\n  v: (( merge || \"first\" ))\nout: (( .key.v ))\n",
    );
    assert_eq!(merged(&env, &["--state", "state.yaml"]), "out: first\n");
    assert_eq!(env.read("state.yaml"), "key:\n  v: first\n");
    env.write("state.yaml", "key:\n  v: second\n");
    assert_eq!(merged(&env, &["--state", "state.yaml"]), "out: second\n");
    assert_eq!(merged(&env, &["--state", "state.json"]), "out: first\n");
    assert_eq!(env.read("state.json"), "{\"key\":{\"v\":\"first\"}}");
    env.write("t.yaml", "a: 1\n---\nb: 1\n");
    let (code, text) = message(&env, &["--state", "state.yaml"]);
    assert_eq!(
        (code, text.as_str()),
        (2, "error[WL0800]: state handling not supported for multi documents\n")
    );
}

#[test]
fn features_are_off_until_they_are_asked_for() {
    let env = template("a: x (( 1 )) y\n");
    assert_eq!(merged(&env, &[]), "a: x (( 1 )) y\n");
    assert_eq!(merged(&env, &["--features", "interpolation"]), "a: x 1 y\n");
    assert_eq!(merged(&env, &["--features", "all,nointerpolation"]), "a: x (( 1 )) y\n");
    let (code, text) = message(&env, &["--features", "colour"]);
    assert_eq!(
        (code, text.as_str()),
        (2, "error[WL0800]: unknown feature `colour`; there are control, interpolation, all\n")
    );
    // Features also come from the environment, and a flag can switch them off.
    let from_environment = |args: &[&str]| {
        let mut command = env.command(&[&["spiff", "merge", "t.yaml"], args].concat());
        command.env("SPIFF_FEATURES", "interpolation");
        env.start(command).end().stdout
    };
    assert_eq!(from_environment(&[]), "a: x 1 y\n");
    assert_eq!(from_environment(&["--features", "nointerpolation"]), "a: x (( 1 )) y\n");
}

#[test]
fn control_structures_are_a_feature() {
    let env = template("a:\n  <<if: (( 1 == 1 ))\n  <<then: yes it is\n");
    assert_eq!(merged(&env, &["--features", "control"]), "a: yes it is\n");
}

#[test]
fn removed_parts_may_be_kept() {
    let env = template("a: \"((! x ))\"\nb: (( &temporary(1) ))\n");
    assert_eq!(merged(&env, &[]), "a: (( x ))\n");
    assert_eq!(merged(&env, &["--preserve-escapes"]), "a: ((! x ))\n");
    assert_eq!(merged(&env, &["--preserve-temporary"]), "a: (( x ))\nb: 1\n");
}

#[test]
fn a_trace_tells_each_step() {
    let env = template("a: (( b \"!\" ))\nb: (( merge ))\n");
    env.write("s.yaml", "b: x\n");
    let run = merge(&env, &["s.yaml", "--trace", "a"]);
    assert_eq!(run.stdout, "a: x!\nb: x\n");
    let wanted = "trace of a:\n  t.yaml pass 1: is an expression: b \"!\"\n  \
                  t.yaml pass 2: waits: 'b' unresolved: b \"!\"\n  t.yaml pass 3: evaluated: \"x!\"\n";
    assert_eq!(run.stderr, wanted);
    let run = merge(&env, &["s.yaml", "--trace", "z"]);
    assert!(run.stderr.contains("no step: there is no node of that path"), "{run}");
    // Failures are traced, too.
    env.write("t.yaml", "a: (( b ))\n");
    let run = merge(&env, &["--trace", "a"]);
    assert_eq!(run.code(), Some(1));
    assert!(run.stderr.contains("failed: 'b' not found: b"), "{run}");
}

#[test]
fn nothing_outside_is_granted_by_itself() {
    for (expression, function) in [
        ("exec(\"true\")", "exec"),
        ("pipe(\"x\", \"cat\", \"-\")", "pipe"),
        ("read(\"t.yaml\")", "read"),
        ("read(\"http://127.0.0.1:9/\")", "read"),
        ("write(\"f\", \"x\")", "write"),
        ("env(\"HOME\")", "env"),
    ] {
        let env = template(&format!("a: (( {expression} ))\n"));
        let (code, text) = message(&env, &[]);
        let wanted = format!("*{function}: no OS operations supported in this execution environment");
        assert!(code == 1 && text.contains(&wanted), "{expression}: {text}");
    }
}

#[test]
fn each_grant_is_for_itself() {
    let env = template("a: (( read(\"lib/v.yaml\").v ))\n");
    env.write("lib/v.yaml", "v: 7\n");
    assert_eq!(merged(&env, &["--allow", "read=lib"]), "a: 7\n");
    let (_, text) = message(&env, &["--allow", "read=elsewhere"]);
    assert!(text.contains("*read: "), "{text}");
    let (_, text) = message(&env, &["--allow", "exec,env,write=lib"]);
    assert!(text.contains("no OS operations supported"), "{text}");

    env.write(
        "t.yaml",
        "a: (( exec(\"echo\", \"hi\") ))\nb: (( env(\"LANG\") ))\nc: (( write(\"out/f\", \"x\") ))\n",
    );
    env.write("out/.keep", "");
    assert_eq!(merged(&env, &["--allow", "exec,env", "--allow", "write=out"]), "a: hi\nb: C.UTF-8\nc: x\n");
    assert_eq!(env.read("out/f"), "x");
    let (code, text) = message(&env, &["--allow", "everything"]);
    assert_eq!(code, 2);
    assert!(text.contains("there are read=DIR, write=DIR, http=HOST, exec, env"), "{text}");
}

/// Starts a server that gives the same answer to every request while the tests run.
fn server(answer: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (mut stream, mut request) = (stream, [0; 4096]);
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn addresses_are_read_from_hosts_that_are_named() {
    let body = "v: 7\n";
    let port = server(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ));
    let env = template(&format!("a: (( read(\"http://127.0.0.1:{port}/v.yaml\").v ))\n"));
    let (code, text) = message(&env, &["--allow", "http=example.org"]);
    assert!(code == 1 && text.contains("--allow http=127.0.0.1 is not given"), "{text}");
    assert_eq!(merged(&env, &["--allow", &format!("http=127.0.0.1:{port}")]), "a: 7\n");
    // A redirect to a host that is not granted is refused.
    let away = "HTTP/1.1 302 Found\r\nlocation: http://localhost:9/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let port = server(away.to_owned());
    let env = template(&format!("a: (( read(\"http://127.0.0.1:{port}/v.yaml\") ))\n"));
    let (_, text) = message(&env, &["--allow", "http=127.0.0.1"]);
    assert!(text.contains("--allow http=localhost is not given"), "{text}");
}

#[test]
fn eval_prints_what_an_expression_is() {
    let env = TestEnv::bare();
    env.write("d.yaml", "a: [3, 4]\n");
    env.write("b.yaml", "b: 5\n");
    let out = |args: &[&str]| env.ok(&[&["spiff", "eval"], args].concat()).stdout;
    assert_eq!(out(&["-1 + 2"]), "1\n");
    assert_eq!(out(&["(a.[1] + b) c.d", "--document", "d.yaml", "--bindings", "b.yaml", "-Dc.d=x"]), "9x\n");
    assert_eq!(out(&["{ \"a\" = [1, ~] }", "--json"]), "{\"a\":[1,null]}\n");
    assert_eq!(out(&["read(\"d.yaml\").a", "--allow", "read=."]), "- 3\n- 4\n");
    let run = env.run(&["spiff", "eval", "1 +"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.stderr.contains("parse error near symbol"), "{run}");
}

#[test]
fn parse_prints_the_canonical_form() {
    let env = TestEnv::bare();
    assert_eq!(env.ok(&["spiff", "parse", "map[ a |x| -> !x ]"]).stdout, "map[a|x|->!(x)]\n");
    let run = env.run(&["spiff", "parse", "a ||"]);
    assert_eq!(run.code(), Some(2), "{run}");
    assert!(run.stderr.starts_with("error[WL0702]: parse error near symbol"), "{run}");
}

#[test]
fn convert_writes_documents_anew() {
    let env = TestEnv::bare();
    env.write("d.yaml", "b: {d: on, c: 0x10}\na: [1.0]\n");
    let out = |args: &[&str]| env.ok(&[&["spiff", "convert", "d.yaml"], args].concat()).stdout;
    assert_eq!(out(&[]), "a:\n- 1\nb:\n  c: 16\n  d: true\n");
    assert_eq!(out(&["--json"]), "{\"a\":[1],\"b\":{\"c\":16,\"d\":true}}\n");
    assert_eq!(out(&["--path", "b.c"]), "16\n");
    env.write("d.yaml", "[a: 1, b: 2]\n");
    assert_eq!(out(&["--split"]), "---\na: 1\n---\nb: 2\n");
}

#[test]
fn diff_compares_structures() {
    let env = TestEnv::bare();
    env.write("a.yaml", "l: [{name: x, v: 1}]\nm: {p: 1}\n");
    env.write("b.yaml", "m: {p: 1, q: 2}\nl: [{v: 2, name: x}]\n");
    assert_eq!(env.ok(&["spiff", "diff", "a.yaml", "a.yaml"]).stdout, "no differences!\n");
    let run = env.run(&["spiff", "diff", "a.yaml", "b.yaml"]);
    assert_eq!(run.code(), Some(1), "{run}");
    assert_eq!(
        run.stdout,
        "Difference in l.x.v:\n  a.yaml:\n    1\n  b.yaml:\n    2\n\
         Difference in m.q:\n  a.yaml: nothing there\n  b.yaml:\n    2\n"
    );
    env.write("b.yaml", "a: 1\n---\nb: 1\n");
    let run = env.run(&["spiff", "diff", "a.yaml", "b.yaml"]);
    assert!(run.stdout.contains("different number of documents (1 != 2)"), "{run}");
}

#[test]
fn files_that_can_not_be_read_are_named() {
    let env = template("a: {\n");
    let (code, text) = message(&env, &[]);
    assert_eq!(code, 2);
    assert!(text.starts_with("error[WL0701]: error parsing template [t.yaml]: "), "{text}");
    env.write("t.yaml", "a: 1\n");
    let wanted = "error[WL0801]: error reading stub [no.yaml]: open no.yaml: no such file or directory\n";
    assert_eq!(message(&env, &["no.yaml"]), (2, wanted.into()));
}

/// Runs the cases of the corpus that were recorded with the original command.
#[test]
fn corpus_of_commands() {
    let file = corpus().join("spiff/spiff_cases.jsonl");
    let Ok(text) = std::fs::read_to_string(&file) else {
        say(&format!("SKIPPED: no corpus at {}", file.display()));
        return;
    };
    let (mut passed, mut failures) = (0, Vec::new());
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        if case["kind"] != "cli" {
            continue;
        }
        match command_case(&case) {
            Ok(()) => passed += 1,
            Err(problem) => failures.push(format!("{}: {problem}", case["id"])),
        }
    }
    say(&format!("spiff commands: {passed} passed, {} failed, 0 excluded", failures.len()));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[expect(clippy::disallowed_methods, reason = "the tests' own setting: where the corpus is")]
fn corpus() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    std::env::var_os("WINDLASS_CORPUS").map_or_else(beside, PathBuf::from)
}

fn command_case(case: &Json) -> Result<(), String> {
    let env = TestEnv::bare();
    let texts = |key: &str| -> Vec<String> {
        let all = case[key].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let mut args = vec!["spiff".to_owned()];
    args.extend(texts("args"));
    if let Some(source) = case["source"].as_str() {
        env.write("template.yml", source);
        args.push("template.yml".to_owned());
    }
    for (at, stub) in texts("stubs").iter().enumerate() {
        env.write(&format!("stub{at}.yml"), stub);
        args.push(format!("stub{at}.yml"));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = env.run(&args);
    // For any error the original exits with 1, but windlass exits with 2 for invalid input.
    let exit = case["exit"].as_i64().unwrap_or(0);
    let code = i64::from(run.code().unwrap_or(-1));
    if code != exit && !(exit == 1 && code == 2) {
        return Err(format!("exit {code}, not {exit}\n{run}"));
    }
    for (stream, text) in [("stdout_regex", &run.stdout), ("stderr_regex", &run.stderr)] {
        if let Some(pattern) = case[stream].as_str()
            && !Regex::new(pattern).map_err(|error| error.to_string())?.is_match(text)
        {
            return Err(format!("{stream} {pattern:?} is not in\n{run}"));
        }
    }
    Ok(())
}
