//! `check --format`: the same diagnostics for people, programs and code hosts.

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::TestEnv;

/// A file with an error with related places, and a warning with a fix. Before them is a character of two
/// UTF-16 units, because SARIF counts columns in such units.
const TEXT: &str = "\
name: resource::web::1.0
properties:
  a: {value: '${b}', default: 😀, descripion: 100%}
  b: {value: '${a}'}
lifecycle: [Install]
";

fn env() -> TestEnv {
    let env = TestEnv::bare();
    env.write("with space/a.yaml", TEXT);
    env
}

#[test]
fn github_has_one_command_a_line() {
    let run = env().run(&["check", "with space/a.yaml", "--format", "github"]);
    assert_eq!((run.code(), run.stderr.as_str()), (Some(2), ""));
    assert_snapshot!(run.out(), @"
    ::error file=with space/a.yaml,line=3,col=15,endColumn=18,title=WL0113::properties read each other in a circle: a -> b -> a%0Ahelp: give one of them a value of its own
    ::warning file=with space/a.yaml,line=3,col=31,endColumn=31,title=WL0123::the `default` is never used, since `value` decides
    ::warning file=with space/a.yaml,line=3,col=34,endColumn=43,title=WL0103::`descripion` is read as `description`%0Ahelp: write `description`
    ");
}

#[test]
fn warnings_can_be_denied() {
    let env = TestEnv::bare();
    env.write("a.yaml", "name: resource::web::1.0\ndescripion: web\nlifecycle: [Install]\n");
    assert_eq!(env.run(&["check", "a.yaml"]).code(), Some(0));
    let run = env.run(&["check", "a.yaml", "--deny", "warnings"]);
    assert_eq!(run.code(), Some(2));
    assert!(run.stderr.contains("0 errors, 1 warning (denied)\n"), "{run}");
    let run = env.run(&["check", "a.yaml", "--deny", "warnings", "--fix"]);
    assert_eq!(run.code(), Some(0), "{run}");
}

#[test]
fn explain_needs_no_file() {
    let env = TestEnv::bare();
    let explained = env.ok(&["check", "--explain", "WL0112"]).stdout;
    assert_eq!(explained, env.ok(&["explain", "WL0112"]).stdout);
    assert!(explained.starts_with("WL0112: unknown component\n"), "{explained}");
}

#[test]
fn sarif_has_rules_places_and_fixes() {
    let run = env().run(&["check", "with space/a.yaml", "--format", "sarif"]);
    assert_eq!((run.code(), run.stderr.as_str()), (Some(2), ""));
    let log = run.json();
    is_sarif(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let unknown = results.iter().find(|result| result["ruleId"] == "WL0103").unwrap();
    assert_snapshot!(serde_json::to_string_pretty(unknown).unwrap(), @r#"
    {
      "fixes": [
        {
          "artifactChanges": [
            {
              "artifactLocation": {
                "uri": "with%20space/a.yaml"
              },
              "replacements": [
                {
                  "deletedRegion": {
                    "endColumn": 45,
                    "endLine": 3,
                    "startColumn": 35,
                    "startLine": 3
                  },
                  "insertedContent": {
                    "text": "description"
                  }
                }
              ]
            }
          ],
          "description": {
            "text": "write `description`"
          }
        }
      ],
      "level": "warning",
      "locations": [
        {
          "physicalLocation": {
            "artifactLocation": {
              "uri": "with%20space/a.yaml"
            },
            "region": {
              "endColumn": 45,
              "endLine": 3,
              "startColumn": 35,
              "startLine": 3
            }
          }
        }
      ],
      "message": {
        "text": "`descripion` is read as `description`\nwrite `description`"
      },
      "ruleId": "WL0103",
      "ruleIndex": 0
    }
    "#);
    let cycle = results.iter().find(|result| result["ruleId"] == "WL0113").unwrap();
    assert_eq!(cycle["relatedLocations"].as_array().unwrap().len(), 1);
}

/// The SARIF log is valid if there are no diagnostics, or if a diagnostic has no place.
#[test]
fn sarif_of_nothing_and_of_no_place() {
    let env = TestEnv::bare();
    env.write("a.yaml", "name: resource::web::1.0\nlifecycle: [Install]\n");
    let log = env.ok(&["check", "a.yaml", "--format", "sarif"]).json();
    is_sarif(&log);
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
    let log = env.run(&["check", "nowhere", "--format", "sarif"]).json();
    is_sarif(&log);
    assert_eq!(log["runs"][0]["results"][0]["locations"], serde_json::json!([]));
}

/// Applying the SARIF replacements to the old text produces the repaired text.
#[test]
fn sarif_fixes_can_be_applied() {
    let env = env();
    let log = env.run(&["check", "with space/a.yaml", "--format", "sarif"]).json();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let mut lines: Vec<Vec<u16>> = TEXT.lines().map(|line| line.encode_utf16().collect()).collect();
    let changes = results.iter().flat_map(|result| result["fixes"].as_array().into_iter().flatten());
    for replacement in changes.flat_map(|fix| fix["artifactChanges"][0]["replacements"].as_array().unwrap()) {
        let region = &replacement["deletedRegion"];
        let at = |key: &str| usize::try_from(region[key].as_u64().unwrap()).unwrap() - 1;
        assert_eq!(region["startLine"], region["endLine"]);
        let inserted: Vec<u16> =
            replacement["insertedContent"]["text"].as_str().unwrap().encode_utf16().collect();
        lines[at("startLine")].splice(at("startColumn")..at("endColumn"), inserted);
    }
    let applied: String = lines.iter().map(|line| String::from_utf16(line).unwrap() + "\n").collect();
    env.run(&["check", "with space/a.yaml", "--fix"]);
    assert_eq!(env.read("with space/a.yaml"), applied);
}

/// Checks the requirements of SARIF 2.1.0 for a log with runs of one tool.
fn is_sarif(log: &Value) {
    has_only(log, &["$schema", "version", "runs"]);
    assert_eq!(log["version"], "2.1.0");
    let runs = log["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    has_only(&runs[0], &["tool", "columnKind", "results"]);
    let driver = &runs[0]["tool"]["driver"];
    has_only(driver, &["name", "semanticVersion", "rules"]);
    assert!(driver["name"].as_str().is_some_and(|name| !name.is_empty()));
    assert_eq!(runs[0]["columnKind"], "utf16CodeUnits");
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        has_only(rule, &["id", "shortDescription", "help"]);
        assert!(rule["id"].as_str().is_some_and(|id| id.starts_with("WL")), "{rule}");
        assert!(rule["shortDescription"]["text"].is_string() && rule["help"]["text"].is_string(), "{rule}");
    }
    for result in runs[0]["results"].as_array().unwrap() {
        has_only(
            result,
            &["ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "fixes"],
        );
        let number = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[number]["id"], result["ruleId"]);
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].is_string());
        for location in list(&result["locations"]).iter().chain(list(&result["relatedLocations"])) {
            has_only(location, &["physicalLocation", "message"]);
            has_only(&location["physicalLocation"], &["artifactLocation", "region"]);
            is_artifact(&location["physicalLocation"]["artifactLocation"]);
            is_region(&location["physicalLocation"]["region"]);
        }
        for fix in list(&result["fixes"]) {
            has_only(fix, &["description", "artifactChanges"]);
            list(&fix["artifactChanges"]).iter().for_each(is_change);
        }
    }
}

fn is_change(change: &Value) {
    has_only(change, &["artifactLocation", "replacements"]);
    is_artifact(&change["artifactLocation"]);
    let replacements = list(&change["replacements"]);
    assert!(!replacements.is_empty());
    for replacement in replacements {
        has_only(replacement, &["deletedRegion", "insertedContent"]);
        is_region(&replacement["deletedRegion"]);
        assert!(replacement["insertedContent"]["text"].is_string());
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Checks that an object has only the keys that SARIF allows.
fn has_only(object: &Value, keys: &[&str]) {
    for key in object.as_object().unwrap().keys() {
        assert!(keys.contains(&key.as_str()), "{key} in {object}");
    }
}

fn is_artifact(artifact: &Value) {
    has_only(artifact, &["uri"]);
    let uri = artifact["uri"].as_str().unwrap();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/%:@".contains(c);
    assert!(!uri.is_empty() && uri.chars().all(allowed), "{uri}");
}

fn is_region(region: &Value) {
    has_only(region, &["startLine", "startColumn", "endLine", "endColumn"]);
    let at = |key: &str| region[key].as_u64().unwrap();
    assert!(at("startLine") >= 1 && at("startColumn") >= 1, "{region}");
    assert!((at("startLine"), at("startColumn")) <= (at("endLine"), at("endColumn")), "{region}");
}

#[test]
fn standard_input_is_checked_and_not_repaired() {
    let run = env().run_with(&["check", "-", "--format", "github"], TEXT);
    assert_eq!(run.code(), Some(2));
    assert!(run.out().starts_with("::error file=<stdin>,line=3,col=15,"), "{}", run.out());
    let run = env().run_with(&["check", "-", "--fix"], TEXT);
    assert_eq!((run.code(), run.out()), (Some(2), String::new()));
}
