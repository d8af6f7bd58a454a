//! Tests descriptors in which all known values are inserted.

use std::fmt::Write as _;
use std::fs;

use insta::assert_snapshot;
use serde_json::json;
use windlass_descriptor::{Descriptor, MemoryCatalog, Request, Resolved, read, resolve};
use windlass_source::Source;

use crate::corpus::{files, folder, report};
use crate::support::World;

const WEB: &str = "name: resource::web::1.0
properties:
  ip: {read-only: true}
  port: {default: 80}
  scheme: {value: http}
  url: {value: '${scheme}://${ip}:${port}'}
  base: {value: '${scheme}://host:${port}/${instance.name}'}
  token: {sensitive: true, default: token-of-the-package}
lifecycle: [Install]
";

const INNER: &str = "name: assembly::inner::1.0
properties:
  size: {default: small}
  label: {value: '${size}-${instance.name}'}
  web-base: {read-only: true, value: '${web.base}'}
composition:
  web: {type: resource::web::1.0, properties: {port: {value: 8080}}}
";

fn world() -> World {
    World::of(&[WEB, INNER])
}

/// Returns the resolved text, or the error.
fn text(resolved: Result<Resolved, String>) -> String {
    resolved.map_or_else(|refused| refused, |resolved| resolved.text)
}

#[test]
fn known_values_are_filled_in_and_others_have_a_reason() {
    let world = world().given("nodes", "3").given("region", "eu-1").existing(
        "resource::net::1.0",
        "VIDEO",
        &[("id", "net-7"), ("zone", "eu-1")],
    );
    let resolved = world.resolve(
        "name: assembly::shop::1.0
properties:
  region: {required: true}
  nodes: {default: 1, type: integer}
  never: {required: true}
  title: {default: 'shop of ${region}'}
  address: {read-only: true, value: '${web.url}'}
composition:
  web:
    type: resource::web::1.0
    properties:
      host: {value: '${instance.name}.${region}'}
      id: {value: 'x-${instance.id}-${region}'}
      net: {value: '${net.id}'}
      gone: {value: '${gone.id}'}
      title: {value: '${title}'}
  many:
    type: resource::web::1.0
    cluster: {minimum-nodes: 1, initial-quantity: '${nodes}'}
    properties:
      host: {value: '${instance.name}'}
      at: {value: '${web.ip}/${web.port}/${web.base}'}
      missing: {value: ['${never}', '${region}']}
  inner:
    type: assembly::inner::1.0
    properties: {size: {value: '${region}'}}
  user:
    type: resource::unknown::1.0
    properties:
      label: {value: '${inner.label}'}
      base: {value: '${inner.web-base}'}
      other: {value: '${user2.what}'}
  user2: {type: resource::unknown::1.0}
references:
  net: {type: resource::net::1.0, properties: {zone: {value: '${region}'}}}
  gone: {type: resource::gone::^1.0, properties: {name: {value: nobody}}}
relationships:
  uses:
    source-capabilities: [web.http]
    target-requirements: [many.http]
    source-state: Active
    target-state: Active
    properties:
      from: {value: '${source.name} ${source.port} ${source.ip}'}
      to: {value: '${target.name}'}
",
    );
    assert_snapshot!(text(resolved), @r#"
    name: assembly::shop::1.0
    properties:
      region:
        required: true
        value: eu-1
      nodes:
        type: integer
        value: 3
      never:
        required: true
      title:
        default: shop of eu-1
      address:
        read-only: true
        value: "${web.url}"  # known once `web` is Installed
    composition:
      web:
        type: resource::web::1.0
        properties:
          host:
            value: test__web.eu-1
          id:
            value: "x-${instance.id}-eu-1"  # known once it is made
          net:
            value: net-7
          gone:
            value: "${gone.id}"  # known once the reference `gone` is found
          title:
            value: shop of eu-1
      many:
        type: resource::web::1.0
        cluster:
          minimum-nodes: 1
          initial-quantity: 3
        properties:
          host:
            value: "${instance.name}"  # differs from node to node
          at:
            value: "${web.ip}/80/http://host:80/test__web"  # known once `web` is Installed
          missing:
            value:
              - "${never}"  # give it with `-p never=…`
              - eu-1
      inner:
        type: assembly::inner::1.0
        properties:
          size:
            value: eu-1
      user:
        type: resource::unknown::1.0
        properties:
          label:
            value: eu-1-test__inner
          base:
            value: http://host:8080/test__inner__web
          other:
            value: "${user2.what}"  # the descriptor of `user2` is not at hand
      user2:
        type: resource::unknown::1.0
    references:
      net:
        type: resource::net::1.0
        properties:
          zone:
            value: eu-1
      gone:
        type: "resource::gone::^1.0"
        properties:
          name:
            value: nobody
    relationships:
      uses:
        source-capabilities:
          - web.http
        target-requirements:
          - many.http
        source-state: Active
        target-state: Active
        properties:
          from:
            value: "test__web 80 ${source.ip}"  # known once `web` is Installed
          to:
            value: "${target.name}"  # differs from node to node
    "#);
}

/// Several capabilities of one component are one source.
#[test]
fn a_source_with_two_capabilities_is_known() {
    let resolved = |sources: &str| {
        text(World::of(&[WEB]).resolve(&format!(
            "name: assembly::shop::1.0
composition: {{web: {{type: 'resource::web::1.0'}}, other: {{type: 'resource::web::1.0'}}}}
relationships:
  uses:
    source-capabilities: [{sources}]
    target-requirements: [other.http]
    source-state: Active
    target-state: Active
    properties: {{from: {{value: '${{source.name}} ${{source.port}}'}}}}
"
        )))
    };
    let both = resolved("web.http, web.https");
    assert!(both.contains("value: test__web 80\n"), "{both}");
    let differs = resolved("web.http, other.http");
    assert!(differs.contains("# differs from pair to pair"), "{differs}");
}

#[test]
fn secrets_are_not_written() {
    let resolved = World::of(&[WEB]).given("given", "given-by-hand").given("plain", "seen").resolve(
        "name: assembly::shop::1.0
properties:
  given: {type: password, required: true}
  own: {type: Password, default: own-default}
  plain: {}
  mixed: {value: 'before ${given} after'}
  open: {sensitive: true, value: '${plain}'}
composition:
  web:
    type: resource::web::1.0
    properties:
      token: {value: literal-in-the-assembly}
      copy: {value: '${given}'}
      seen: {value: '${plain}'}
      of-other: {value: '${other.token}'}
  other: {type: resource::web::1.0}
",
    );
    let text = text(resolved);
    assert!(
        !["given-by-hand", "own-default", "literal-in", "token-of"]
            .iter()
            .any(|secret| text.contains(secret))
    );
    assert_snapshot!(text, @r#"
    name: assembly::shop::1.0
    properties:
      given:  # given, and not shown: a secret
        type: password
        required: true
      own:
        type: Password
        default: "***"  # a secret
      plain:
        value: seen
      mixed:
        value: "before ${given} after"  # a secret
      open:
        sensitive: true
        value: "${plain}"  # a secret
    composition:
      web:
        type: resource::web::1.0
        properties:
          token:
            value: "***"  # a secret
          copy:
            value: "${given}"  # a secret
          seen:
            value: seen
          of-other:
            value: "${other.token}"  # a secret
      other:
        type: resource::web::1.0
    "#);
}

#[test]
fn resolve_refuses_values_that_are_invalid_in_their_place() {
    let number = "name: assembly::shop::1.0
properties: {n: {default: 1}, fixed: {value: x}}
composition:
  web: {type: resource::web::1.0, quantity: '${n}'}
";
    assert_snapshot!(text(world().given("n", "many").resolve(number)), @"a.yaml (resolved):10:15: error[WL0120]: `quantity` is a whole number from 0, and `many` is none");
    assert_snapshot!(text(world().given("fixed", "y").given("m", "1").resolve(number)), @"
    a.yaml:2:31: error[WL0152]: `fixed` has a fixed value and can't be set
    error[WL0150]: the assembly has no property `m`
        help: these can be set: `n`
    ");
    assert_snapshot!(text(world().resolve("name: assembly::shop::1.0\nproperties: {a: {value: '${b}'}, b: {value: '${a}'}}\n")), @"
    a.yaml:2:26: error[WL0113]: properties read each other in a circle: a -> b -> a
        a.yaml:2:46: `b` reads `a`
        help: give one of them a value of its own
    ");
}

/// A given text may contain `${…}`, for which the language has no escape. The text must not become a
/// reference.
#[test]
fn a_given_reference_stays_text() {
    let resolved = world()
        .given("a", "${b}")
        .resolve("name: assembly::shop::1.0\nproperties: {a: {}, b: {default: x}, c: {value: '<${a}>'}}\n");
    assert_snapshot!(text(resolved), @r#"
    name: assembly::shop::1.0
    properties:
      a: {}  # given, and not shown: it has `${` in it, which would be a reference here
      b:
        default: x
      c:
        value: "<${a}>"  # its value has `${` in it
    "#);
}

/// Descriptors of components can form cycles that no single descriptor contains.
#[test]
fn circles_and_endless_nesting_end() {
    let world = World::of(&[
        "name: resource::a::1.0\nproperties: {x: {value: '${y}'}, y: {}}\nlifecycle: [Install]\n",
        "name: assembly::self::1.0\nproperties: {p: {value: '${me.p}'}}\ncomposition: {me: {type: assembly::self::1.0}}\n",
    ]);
    let resolved = world.resolve(
        "name: assembly::shop::1.0
composition:
  a: {type: resource::a::1.0, properties: {y: {value: '${b.x}'}}}
  b: {type: resource::a::1.0, properties: {y: {value: '${a.x}'}, z: {value: '${a.x}'}}}
  c: {type: assembly::self::1.0}
  d: {type: resource::a::1.0, properties: {y: {value: '${c.p}'}}}
",
    );
    assert_snapshot!(text(resolved), @r#"
    name: assembly::shop::1.0
    composition:
      a:
        type: resource::a::1.0
        properties:
          "y":
            value: "${b.x}"  # it reads itself
      b:
        type: resource::a::1.0
        properties:
          "y":
            value: "${a.x}"  # it reads itself
          z:
            value: "${a.x}"  # it reads itself
      c:
        type: assembly::self::1.0
      d:
        type: resource::a::1.0
        properties:
          "y":
            value: "${c.p}"  # the descriptor of `c__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me__me` is not at hand
    "#);
}

#[test]
fn values_that_double_are_left() {
    let mut text = "name: assembly::laughs::1.0\nproperties:\n  p0: {default: ha}\n".to_owned();
    for number in 1..=40 {
        let read = format!("${{p{}}}", number - 1);
        writeln!(text, "  p{number}: {{value: '{read}{read}'}}").unwrap();
    }
    let resolved = World::default().resolve(&text).unwrap();
    assert_eq!(
        resolved.left.first().unwrap().reason,
        "the value would have more than 4 MiB, with all that it reads"
    );
    // At most 16 MiB are inserted into the text of the descriptor.
    assert!(resolved.text.len() < (16 << 20) + 2 * text.len(), "{}", resolved.text.len());
}

/// `resolve` and the execution of an intent have the same limit for the length of a value.
#[test]
fn a_value_that_a_run_accepts_is_filled_in() {
    let text = "name: assembly::long::1.0
properties: {half: {}, whole: {value: '${half}${half}'}, copy: {value: '${whole}'}}
";
    let half = "x".repeat(2 << 20);
    let resolved = World::default().given("half", half.as_str()).resolve(text).unwrap();
    assert_eq!(resolved.left.len(), 0);
    assert_eq!(resolved.document()["properties"]["copy"]["value"], json!(half.repeat(2)));
    let resolved = World::default().given("half", format!("{half}x")).resolve(text).unwrap();
    let left: Vec<(&str, &str)> =
        resolved.left.iter().map(|left| (left.reference.as_str(), left.reason.as_str())).collect();
    assert_eq!(left, [("whole", "the value would have more than 4 MiB, with all that it reads")]);
}

#[test]
fn a_long_chain_is_filled_in() {
    const LENGTH: usize = 10_000;
    let mut text = format!(
        "name: assembly::chain::1.0\nproperties:\n  last: {{value: '${{p{LENGTH}}}'}}\n  p0: {{default: 2}}\n"
    );
    for number in 1..=LENGTH {
        writeln!(text, "  p{number}: {{value: '${{p{}}}'}}", number - 1).unwrap();
    }
    let resolved = World::default().resolve(&text).unwrap();
    assert_eq!(resolved.left.len(), 0);
    assert_eq!(resolved.document()["properties"]["last"]["value"], json!("2"));
}

/// If a resolved descriptor is resolved again, it stays the same. The same input gives the same bytes.
#[test]
fn corpus_assemblies_are_resolved_to_valid_ones() {
    let Some(folder) = folder("assemblies") else { return };
    let (mut passed, mut failed, mut excluded) = (0, Vec::new(), std::collections::BTreeMap::new());
    for file in files(&folder) {
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        if file.extension().is_none_or(|ending| ending != "yaml") {
            *excluded.entry("not a descriptor's file").or_default() += 1;
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        match go(&text) {
            None => *excluded.entry("not an assembly").or_default() += 1,
            Some(Err(refused)) if refused.lines().any(|line| line.contains("(resolved):")) => {
                failed.push(format!("{name}: {refused}"));
            }
            Some(Err(_)) => *excluded.entry("an assembly with errors").or_default() += 1,
            Some(Ok(resolved)) => {
                let again = go(&resolved.text).unwrap().map(|again| again.text);
                let same = go(&text).unwrap().map(|same| same.text);
                if again.as_ref() == Ok(&resolved.text) && same.as_ref() == Ok(&resolved.text) {
                    passed += 1;
                } else {
                    failed.push(format!(
                        "{name}: {}\n{}",
                        resolved.text,
                        again.unwrap_or_else(|refused| refused)
                    ));
                }
            }
        }
    }
    report("corpus_assemblies_are_resolved", passed, &failed, &excluded);
}

fn go(text: &str) -> Option<Result<Resolved, String>> {
    let read = read(&Source::new("a.yaml", text));
    let Some(Descriptor::Assembly(assembly)) = read.descriptor else { return None };
    if read.diagnostics.has_errors() {
        return Some(Err(read.diagnostics.to_string()));
    }
    let name = assembly.name.as_ref().map_or_else(|| "test".parse().unwrap(), |name| name.value.name.clone());
    let (parameters, catalog) = (std::collections::BTreeMap::new(), MemoryCatalog::new());
    Some(
        resolve(&assembly, Request::new(&name, &parameters, &catalog))
            .map_err(|diagnostics| diagnostics.to_string()),
    )
}

#[test]
fn a_reason_names_the_part_of_a_part() {
    let shop = "name: assembly::shop::1.0
properties: {url: {value: '${part.web-base}'}}
composition: {part: {type: 'assembly::inner::1.0'}, web: {type: 'resource::web::1.0'}}
";
    let inner = "name: assembly::inner::1.0
properties: {web-base: {value: '${web.url}'}}
composition: {web: {type: 'resource::web::1.0'}}
";
    assert_snapshot!(text(World::of(&[WEB, inner]).resolve(shop)), @r#"
    name: assembly::shop::1.0
    properties:
      url:
        value: "${part.web-base}"  # known once `part__web` is Installed
    composition:
      part:
        type: assembly::inner::1.0
      web:
        type: resource::web::1.0
    "#);
}
