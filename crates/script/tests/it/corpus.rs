//! Every recorded document of real scripts: inputs are read and written, outputs are judged by the driver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::contract::{Purpose, Query};
use windlass_driver::{Call, Driver, Failure, Location};
use windlass_executor::{Captured, End, Outcome, Timestamp};
use windlass_script::{Request, Requested, Script};
use windlass_source::{EmitStyle, emit};

use crate::place::Canned;
use crate::schemas::{input_problems, output_problems, value};
use crate::world::{With, World};

/// Returns the folder of `WINDLASS_CORPUS`, or the default one beside the workspace.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where the corpus is")]
fn corpus() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    std::env::var_os("WINDLASS_CORPUS").map_or_else(beside, PathBuf::from)
}

/// A recorded run of a script.
struct Recorded {
    name: String,
    /// The path of the script.
    script: String,
    exit: i32,
    input: String,
    stdout: String,
}

/// Returns the recorded runs whose input and output files exist in the corpus. Each test checks one file of each run:
/// the input or the output. The function also returns the number of the remaining files in the folder, which the test
/// does not check. If there is no corpus, returns the reason why the test is skipped.
fn recorded() -> Result<(Vec<Recorded>, usize), String> {
    let folder = corpus().join("tonomi/traffic");
    let files: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().collect();
    let index = std::fs::read_to_string(folder.join("index.tsv"));
    let index = index
        .map_err(|_| format!("SKIPPED: there is no corpus at {}; set WINDLASS_CORPUS", folder.display()))?;
    let run = |line: &str| {
        let mut columns = line.split('\t');
        let name = columns.next()?.to_owned();
        let (script, exit) = (columns.next()?.to_owned(), columns.next()?.parse().ok()?);
        let read = |ending: &str| std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).ok();
        let (input, stdout) = (read("in.yaml")?, read("out.yaml")?);
        Some(Recorded { name, script, exit, input, stdout })
    };
    let runs: Vec<Recorded> = index.lines().skip(1).filter_map(run).collect();
    assert!(!runs.is_empty(), "the folder is there, and no run was found");
    let others = files.len() - runs.len();
    Ok((runs, others))
}

/// Returns the counts of a test as text. `others` is the number of files that the test excludes.
fn counts(failed: &[String], runs: &[Recorded], others: usize) -> String {
    let passed = runs.len() - failed.len();
    format!("{passed} passed, {} failed, {others} excluded (no documents of this kind)", failed.len())
}

/// An input is read as a request, and written back with the same meaning.
#[test]
fn corpus_of_recorded_inputs() {
    let (runs, others) = match recorded() {
        Ok(recorded) => recorded,
        Err(skipped) => return println!("{skipped}"),
    };
    let problem = |run: &Recorded| -> Option<String> {
        let request = match Request::read(&run.name, run.input.clone()) {
            Ok(request) => request,
            Err(problems) => return Some(format!("{}: {problems:?}", run.name)),
        };
        let written = value(&emit(&request.to_value(), EmitStyle::Block));
        let meant = meaning(value(&run.input));
        let of_schema = input_problems(&run.input);
        (written != meant || !of_schema.is_empty())
            .then(|| format!("{}: {written}\nnot {meant}\n{of_schema:?}", run.name))
    };
    let failed: Vec<String> = runs.iter().filter_map(problem).collect();
    println!("corpus_of_recorded_inputs: {}", counts(&failed, &runs, others));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Returns a document in the form in which this driver writes it. An absent or null configuration becomes an empty map.
fn meaning(document: Value) -> Value {
    let mut document = if document.is_null() { json!({}) } else { document };
    if document.get("script").is_some() {
        document["arguments"] = meaning(document["arguments"].take());
        return document;
    }
    let whole = |configuration: &mut Value| {
        if configuration.is_null() {
            *configuration = json!({});
        }
    };
    whole(&mut document["configuration"]);
    for key in ["launch", "launch-instances"] {
        let requests = document.get_mut(key).and_then(Value::as_object_mut);
        requests.into_iter().flatten().for_each(|(_, request)| whole(&mut request["configuration"]));
    }
    document
}

/// The driver must accept a recorded output if and only if the script succeeded and answered the requests of its input.
/// An accepted output must be valid by the schema.
#[tokio::test]
async fn corpus_of_recorded_outputs() {
    let (runs, others) = match recorded() {
        Ok(recorded) => recorded,
        Err(skipped) => return println!("{skipped}"),
    };
    let mut failed = Vec::new();
    for run in &runs {
        // The script reads `launch-instances`, so it has launched nothing.
        let is_unanswered = run.name.starts_with("02-");
        let expected = run.exit == 0 && !is_unanswered;
        let verdict = judged(run).await;
        let problems = if expected { output_problems(&run.stdout) } else { Vec::new() };
        if verdict.is_ok() != expected || !problems.is_empty() {
            failed.push(format!("{}: {verdict:?} {problems:?}", run.name));
        }
    }
    println!("corpus_of_recorded_outputs: {}", counts(&failed, &runs, others));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Lets the driver perform the calls that a recorded input document requests. No script runs: as the output of each
/// call, the driver receives the same recorded output.
async fn judged(run: &Recorded) -> Result<(), Failure> {
    let request = Request::read(&run.name, run.input.clone()).unwrap();
    let is_adapted = request.program.is_some();
    match &request.instances {
        Requested::Launch(_, instances) => {
            for id in instances.keys() {
                launched(run, id).await?;
            }
            Ok(())
        }
        Requested::Existing(instances) => {
            for id in instances.keys() {
                let call = call(action(&run.script), false).natural(id);
                settled(&call, &run.stdout, run.exit).await?;
            }
            Ok(())
        }
        _ => found(run, is_adapted).await,
    }
}

/// Returns an action of the test package. The script of this action has the same input document as the recorded script
/// with the path `script`.
fn action(script: &str) -> &'static str {
    match script.rsplit('/').next().unwrap_or_default() {
        "healthCheck.py" => "Integrity",
        "reconfigure.py" => "Reconfigure",
        "destroy.py" => "Uninstall",
        _ => "Join",
    }
}

fn call(action: &str, is_adapted: bool) -> Call {
    let world = World::new().declares(&["Install", "Integrity", "Reconfigure", "Uninstall", "Join"]);
    let scripts = ["launch", "health-check", "reconfigure", "destroy", "Join", "discover"];
    let world = scripts.iter().fold(world, |world, name| world.script(&format!("{name}.sh"), ""));
    let call = world.call(action);
    let adapter = if is_adapted { vec![("adapter", "invoke")] } else { Vec::new() };
    let scripting: BTreeMap<_, _> =
        adapter.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Call { location: Arc::new(Location { scripting, ..Location::local("here") }), ..call }
}

fn ended(stdout: &str, exit: i32) -> Canned {
    let mut outcome = Outcome::new(End::Exited(exit), Timestamp::from_millis(0));
    outcome.stdout = Captured::whole(stdout.as_bytes());
    Canned(outcome)
}

/// Judges the output of a launch. The function replaces the first character of the recorded instance id by `a`, because
/// instance ids of windlass begin with a letter.
async fn launched(run: &Recorded, id: &str) -> Result<(), Failure> {
    let own = format!("a{}", &id[1..]);
    let mut call = call("Install", false);
    call.instance = own.parse().unwrap();
    settled(&call, &run.stdout.replace(id, &own), run.exit).await
}

async fn settled(call: &Call, stdout: &str, exit: i32) -> Result<(), Failure> {
    let context = ended(stdout, exit);
    if call.action.as_str() == "Integrity" {
        return Script::default().observe(&context, std::slice::from_ref(call)).await.remove(0).map(drop);
    }
    Script::default().perform(&context, std::slice::from_ref(call)).await.remove(0).map(drop)
}

async fn found(run: &Recorded, is_adapted: bool) -> Result<(), Failure> {
    let call = call("Install", is_adapted);
    let query = Query {
        package: call.package,
        binding: call.binding,
        location: call.location,
        configuration: call.configuration,
        properties: [].into(),
        purpose: Purpose::Inventory,
    };
    Script::default().discover(&ended(&run.stdout, run.exit), &query).await.map(drop)
}
