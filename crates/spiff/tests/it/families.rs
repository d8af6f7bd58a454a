//! Random documents by family: templates, markers, merges, lists by key, control structures, lambdas, scopes.
//! Their evaluation ends and is deterministic, and its result is a fixed point.

use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;
use windlass_source::Source;
use windlass_spiff::{Engine, Features, Limits, Preserve};

/// A pseudo-random generator; the number is its state.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        usize::try_from(bits % sides as u64).expect("a small number")
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

const KEYS: [&str; 6] = ["a", "b", "c", "d", "foo", "bar"];
const SCALARS: [&str; 8] = ["1", "-4", "true", "~", "x", "2.5", "\"5\"", "10.0.0.1"];

/// Generates an expression for a value.
fn expression(dice: &mut Dice, depth: usize) -> String {
    let inner = |dice: &mut Dice| expression(dice, depth.saturating_sub(1));
    match dice.roll(if depth == 0 { 4 } else { 16 }) {
        0 => dice.one(&["v", "w", "w.x", "l.[0]", "a", "foo"]).to_owned(),
        1 => dice.one(&["w.v", "l", "w.nope", "b.c"]).to_owned(),
        2 => dice.one(&["1", "\"x\"", "~", "~~", "[]", "{}", "2.5", "__ctx.PATHNAME"]).to_owned(),
        3 => dice.one(&[".v", ".w", "v", ".bar"]).to_owned(),
        4 => format!("{} || {}", inner(dice), inner(dice)),
        5 => format!("{} // {}", inner(dice), inner(dice)),
        6 => format!(
            "( {} ) {} ( {} )",
            inner(dice),
            dice.one(&["+", "-", "*", "==", "-and", "%"]),
            inner(dice)
        ),
        7 => format!("{} {}", inner(dice), inner(dice)),
        8 => format!("map[[1, 2]|x|->( {} ) x]", inner(dice)),
        9 => format!("( {} ) ? {} :( {} )", inner(dice), inner(dice), inner(dice)),
        10 => format!("( $scope = {} ) scope", inner(dice)),
        11 => format!("catch( {} )", inner(dice)),
        12 => format!("[ {}, {} ]", inner(dice), inner(dice)),
        13 => format!("merge(w, {})", dice.one(&["w", "{}", "{$x=1}", "foo"])),
        14 => format!(".f( {} )", inner(dice)),
        _ => "*t".to_owned(),
    }
}

fn merge(dice: &mut Dice) -> &'static str {
    dice.one(&[
        "merge",
        "merge || {}",
        "merge // 5",
        "merge none",
        "merge replace",
        "merge on id",
        "merge foo",
        "merge required",
        "merge foo.bar || []",
    ])
}

const MARKERS: [&str; 6] = ["&temporary", "&local", "&inject", "&default", "&state", "&dynamic &template"];

fn markers(dice: &mut Dice) -> String {
    let names = [
        "&temporary",
        "&local",
        "&inject",
        "&default",
        "&state",
        "&dynamic &template",
        "&tag:t1",
        "&tag:*t2",
        "&template",
    ];
    match dice.roll(3) {
        0 => format!("{} {}", dice.one(&names[..5]), dice.one(&names[..5])),
        _ => dice.one(&names).to_owned(),
    }
}

/// Generates the expression of a merge key.
fn insertion(dice: &mut Dice) -> String {
    match dice.roll(4) {
        0 => markers(dice),
        1 => format!("{}({})", markers(dice), merge(dice)),
        2 => expression(dice, 1),
        _ => merge(dice).to_owned(),
    }
}

/// Generates a document in YAML's flow form.
fn node(dice: &mut Dice, depth: usize, control: bool) -> String {
    match dice.roll(if depth == 0 { 3 } else { 9 }) {
        0 | 1 => dice.one(&SCALARS).to_owned(),
        2 => format!("'(( ( {} ) || 1 ))'", expression(dice, 2)),
        3 => format!("'(( {}(( {} ) || 2) ))'", dice.one(&MARKERS), expression(dice, 1)),
        4 => format!("'(( {} || 3 ))'", merge(dice)),
        5 if control => structure(dice, depth - 1),
        5 | 6 => list(dice, depth - 1, control),
        _ => map(dice, depth - 1, control),
    }
}

fn map(dice: &mut Dice, depth: usize, control: bool) -> String {
    let mut text = "{".to_owned();
    if dice.roll(3) == 0 {
        let _ = write!(text, "{}: '(( {} ))', ", dice.one(&["<<", "<<<"]), insertion(dice));
    }
    let first = dice.roll(KEYS.len());
    for at in 0..dice.roll(4) {
        let _ = write!(text, "{}: {}, ", KEYS[(first + at) % KEYS.len()], node(dice, depth, control));
    }
    text + "}"
}

fn list(dice: &mut Dice, depth: usize, control: bool) -> String {
    let mut text = "[".to_owned();
    let key = dice.one(&["name", "id", "'key:id'", "'key:!name'"]);
    for at in 0..dice.roll(4) {
        let entry = match dice.roll(4) {
            0 => format!("{{<<: '(( {} ))'}}", insertion(dice)),
            1 => node(dice, depth, control),
            _ => format!("{{{key}: n{at}, age: {}}}", node(dice, depth, control)),
        };
        let _ = write!(text, "{entry}, ");
    }
    text + "]"
}

/// Generates a control structure.
fn structure(dice: &mut Dice, depth: usize) -> String {
    let value = node(dice, 0, true);
    let part = |dice: &mut Dice| node(dice, depth, true);
    match dice.roll(5) {
        0 => format!("{{<<if: {value}, <<then: {}, <<else: {}}}", part(dice), part(dice)),
        1 => format!("{{<<switch: {value}, x: {}, <<default: {}}}", part(dice), part(dice)),
        2 => format!("{{<<type: {value}, int: {}, <<default: {}}}", part(dice), part(dice)),
        3 => format!("{{<<merge: [{}, {}], a: {}}}", part(dice), part(dice), part(dice)),
        _ => format!("{{<<for: {{u: [1, 2]}}, <<do: {{v: '(( u ))', w: {}}}}}", part(dice)),
    }
}

/// Generates a document and its stubs. The document has a lambda and a template, to which other fields refer.
fn document(dice: &mut Dice, control: bool) -> String {
    let mut text = "v: 5\nw: {x: foo, v: 7}\nl: [1, 2]\n".to_owned();
    for key in KEYS {
        if dice.roll(3) == 0 {
            let _ = writeln!(text, "{key}: {}", node(dice, 3, control));
        }
    }
    let body = expression(dice, 1);
    let _ = writeln!(text, "f: '(( &temporary(|x,y={}|->{body}) ))'", dice.one(&["1", "a", "scope || 2"]));
    let _ =
        writeln!(text, "t: {{<<: '(( &temporary &template ))', k: 1, r: '(( {} ))'}}", expression(dice, 1));
    text
}

fn run(engine: &Engine, template: &str, stubs: &[String]) -> Result<String, String> {
    let template = Source::new("t.yml", template);
    let stubs: Vec<_> =
        stubs.iter().enumerate().map(|(at, stub)| Source::new(format!("s{at}.yml"), stub.as_str())).collect();
    let result = engine.process_texts(&template, &stubs).map_err(|error| error.to_string())?;
    Ok(result.to_yaml())
}

/// Generates a document with fields that refer to each other. A few fields also depend on failures of other fields,
/// need another pass, or read from the stubs.
fn chains(dice: &mut Dice) -> String {
    let count = 3 + dice.roll(12);
    let mut text = String::new();
    let mut maps = Vec::new();
    for at in 0..count {
        // Chains follow the order of the names, or any order.
        let before = if dice.roll(2) == 0 { at.saturating_sub(1) } else { dice.roll(count) };
        let owner =
            |at: usize| if at.is_multiple_of(3) { format!("n{at:02}") } else { format!("m.n{at:02}") };
        let (before, other) = (owner(before), owner(dice.roll(count)));
        let value = match dice.roll(14) {
            0 => dice.one(&["1", "x", "[1, 2]", "{k: 1, l: '(( k + 1 ))'}", "~"]).to_owned(),
            1 => format!("'(( {before} || {other} ))'"),
            2 => format!("'(( {other} // {before} ))'"),
            3 => format!("'(( catch({before}).valid ? {other} :{before} ))'"),
            4 => format!("'(( defined({before}) ? 1 :{other} ))'"),
            5 => format!("'(( [ {before}, {other} ] ))'"),
            6 => format!("'(( .{before} == 2 ? ~~ :{other} ))'"),
            7 => "'(( m ))'".to_owned(),
            8 => dice.one(&["'(( merge || 3 ))'", "'(( nowhere ))'", "'(( \"(( n00 ))\" ))'"]).to_owned(),
            9 => format!("'(( length({before}) ))'"),
            _ => format!("'(( {before} + 1 ))'"),
        };
        if at.is_multiple_of(3) {
            let _ = writeln!(text, "n{at:02}: {value}");
        } else {
            maps.push(format!("n{at:02}: {value}"));
        }
    }
    format!("{text}m: {{ {} }}\n", maps.join(", "))
}

#[test]
fn many_of_the_documents_have_results() {
    let with_result = |seed: &u64| {
        let mut dice = Dice(*seed);
        let template = document(&mut dice, false);
        let stub = document(&mut dice, false);
        run(&Engine::new(), &template, &[stub]).is_ok()
    };
    let found = (0..300).filter(with_result).count();
    assert!(found > 30, "{found} of 300");
}

/// Returns a configuration of 400 cases, or more with `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(400), failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn documents_end_are_deterministic_and_their_results_are_fixed_points(seed: u64) {
        let mut dice = Dice(seed);
        let control = dice.roll(3) == 0;
        let features = Features { control, ..Features::NONE };
        let limits =
            Limits { passes: 1000, depth: 100, time: Duration::from_secs(20), ..Limits::default() };
        let engine = Engine::new().with_features(features).with_limits(limits);
        let template = document(&mut dice, control);
        let stubs: Vec<String> = (0..dice.roll(3)).map(|_| document(&mut dice, control)).collect();
        let first = run(&engine, &template, &stubs);
        prop_assert_eq!(&first, &run(&engine, &template, &stubs), "{}\n{:?}", template, stubs);
        match first {
            // Only endless recursion makes such a document exceed a limit.
            Err(message) if message.contains("limit of ") => {
                prop_assert!(
                    message.contains("within each other") || message.contains("steps"),
                    "{}\n{}\n{:?}", message, template, stubs
                );
            }
            // A result without expressions has nothing left to evaluate.
            Ok(result) if !result.contains("((") && !result.contains("<<") && !result.contains("key:") => {
                prop_assert_eq!(run(&engine, &result, &[]), Ok(result), "{}\n{:?}", template, stubs);
            }
            _ => {}
        }
    }

    /// With a trace, each pass visits the whole document. Without a trace, passes visit only nodes that can
    /// change, and the result is the same.
    #[test]
    fn passes_that_visit_less_give_the_same(seed: u64) {
        let mut dice = Dice(seed);
        let template = chains(&mut dice);
        let stubs: Vec<String> = (0..dice.roll(3)).map(|_| chains(&mut dice)).collect();
        let limits = Limits { depth: 100, passes: 300, ..Limits::default() };
        for partial in [false, true] {
            let preserve = Preserve { partial, ..Preserve::default() };
            let engine = Engine::new().with_limits(limits).with_preserved(preserve);
            let whole = run(&engine.clone().with_trace("nowhere"), &template, &stubs);
            prop_assert_eq!(run(&engine, &template, &stubs), whole, "{}\n{:?}", template, stubs);
        }
    }
}
