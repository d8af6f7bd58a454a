//! Tables of tests for every function. Each row contains the name of a function, the arguments as a YAML list, and
//! the result as YAML or as an error.

use super::testing::{call, lambda, yaml};
use crate::value::Value;

fn check(cases: &[(&str, &str, &str)]) {
    for (name, arguments, expected) in cases {
        let arguments = yaml(arguments);
        let found = call(name, arguments.as_list().expect("a list of arguments"));
        assert_eq!(&found, expected, "{name}({})", crate::yaml::to_json(&arguments).expect("JSON"));
    }
}

#[test]
fn strings() {
    check(&[
        ("join", "[',', a, [b, 1, true], ~, x]", "a,b,1,true,x"),
        ("join", "[',']", "\"\""),
        ("join", "[',', {a: 1}]", "error: argument 1 to join must be simple value or list"),
        ("join", "[',', [~]]", "error: elements of list(arg 1) to join must be simple values"),
        ("join", "[]", "error: "),
        ("split", "[',', 'a,b,c', 2]", "- a\n- b,c"),
        ("split", "['', abc, 2]", "- a\n- bc"),
        ("split", "[2, abcde, 2]", "- ab\n- cde"),
        ("split", "[2, abcde]", "- ab\n- cd\n- e"),
        ("split", "[0, abc]", "error: max line length argument must be positive"),
        ("split", "[',', 1]", "error: second argument for split must be a string"),
        ("split_match", "['[,;]', 'a,b;c']", "- a\n- b\n- c"),
        ("split_match", "['[', a]", "error: split_match: error parsing regexp: missing closing ]: `[`"),
        ("split_match", "['b', '']", "- \"\""),
        ("trim", "[xxaxx, x]", "a"),
        ("trim", "[[' a', 'b ']]", "- a\n- b"),
        ("trim", "[5]", "error: trim accepts only a string or list"),
        ("replace", "[foobar, o, u, 1]", "fuobar"),
        ("replace", "[foobar, '', '-']", "-f-o-o-b-a-r-"),
        ("replace", "[foobar, o, 1]", "error: replace: replace substitution must be string or lambda"),
        ("replace_match", "[foobar, '(o+)b', '<${1}x>']", "f<oox>ar"),
        ("replace_match", "[foobar, 'o*', '-']", "-f-b-a-r-"),
        ("replace_match", "[aaa, '^a', b]", "bbb"),
        ("replace_match", "[foobar, o, u, 1]", "fuobar"),
        ("match", "['(f.*)(b.*)', xxxfoobar]", "- foobar\n- foo\n- bar"),
        ("match", "[z, a]", "[]"),
        ("match", "['o.', foobaok, true]", "- - oo\n- - ok"),
        ("match", "[a, ~]", "false"),
        ("match", "[a, a, 0]", "error: repetition count may not be zero"),
        ("substr", "[foobar, -3, -1]", "ba"),
        ("substr", "[foobar, 3, 1]", "error: substr start index (3) aftsre end index (1) "),
        ("substr", "[äb, 1]", "error: substr would cut a character in two"),
        ("upper", "[aB]", "AB"),
        ("lower", "[1]", "error: first argument for lower must be a string"),
        ("format", "['%s is %d%%', a, 5]", "a is 5%"),
        ("format", "['%v', [1, a]]", "|+\n  - 1\n  - a"),
        ("error", "['bad %s', x]", "error: bad x"),
        ("basename", "[http://x.y/a/b?c]", "b"),
        ("basename", "[http://x.y]", "/"),
        ("dirname", "[/a/b/c.txt]", "/a/b"),
        ("dirname", "[a]", "."),
    ]);
}

#[test]
fn lambdas_replace_and_sort() {
    let doubled = lambda("doubled", 1, |arguments| {
        let groups = arguments[0].as_list().expect("groups");
        Value::from(groups[0].as_str().expect("text").repeat(2))
    });
    assert_eq!(call("replace", &[yaml("abcb"), yaml("b"), doubled.clone()]), "abbcbb");
    assert_eq!(call("replace_match", &[yaml("a1b22"), yaml("'[0-9]+'"), doubled]), "a11b2222");
    let descending = lambda("descending", 2, |a| Value::Int(a[1].as_int().unwrap() - a[0].as_int().unwrap()));
    assert_eq!(call("sort", &[yaml("[1, 3, 2]"), descending]), "- 3\n- 2\n- 1");
    let nonsense = lambda("nonsense", 2, |_| Value::from("x"));
    assert_eq!(call("sort", &[yaml("[1, 3]"), nonsense]), "error: sort failed");
}

#[test]
fn a_list_is_not_changed_by_sorting_or_reversing() {
    let list = yaml("[2, 1]");
    assert_eq!(call("sort", std::slice::from_ref(&list)), "- 1\n- 2");
    assert_eq!(call("reverse", std::slice::from_ref(&list)), "- 1\n- 2");
    assert_eq!(list.value(), yaml("[2, 1]").value());
}

#[test]
fn lists_and_maps() {
    check(&[
        ("length", "[[1, 2]]", "2"),
        ("length", "[ä]", "2"),
        ("length", "[1]", "error: invalid type for function length"),
        ("uniq", "[[1, '1', 2, 1, true]]", "- 1\n- 2\n- true"),
        ("compact", "[['a', '', ~, [], {}, 0, false]]", "- a\n- 0\n- false"),
        ("element", "[[a, b], '1']", "b"),
        ("element", "[[a], 1]", "error: index greater or equal list size"),
        ("element", "[{a: 1}, 1]", "error: map key (1) must be of type string"),
        ("contains", "[[1, 2], '1']", "true"),
        ("contains", "[abc, bc]", "true"),
        ("contains", "[{a: 1}, a]", "true"),
        ("contains", "[1, 1]", "error: list or string expected for argument one of function contains"),
        ("index", "[[a, b, a], a]", "0"),
        ("lastindex", "[[a, b, a], a]", "2"),
        ("lastindex", "[foobar, z]", "-1"),
        ("sort", "[[b, a, c]]", "- a\n- b\n- c"),
        ("sort", "[[b, 1]]", "error: sort failed"),
        ("reverse", "[abc]", "error: argument for reverse must be a list"),
        ("intersect", "[[1, 2, a], ['2', a]]", "- 2\n- a"),
        ("intersect", "[]", "[]"),
        ("keys", "[{b: 1, a: 2}]", "- a\n- b"),
        ("makemap", "[a, 1, true, 2]", "a: 1\n\"true\": 2"),
        ("makemap", "[[{key: a, value: 1}]]", "a: 1"),
        ("makemap", "[[{key: a}]]", "error: entry 0 has no entry 'value'"),
        ("list_to_map", "[[{name: a, v: 1}]]", "a:\n  v: 1"),
        ("list_to_map", "[[{id: a, v: 1}], id]", "a:\n  v: 1"),
        ("list_to_map", "[[{v: 1}]]", "error: key field 'name' not found"),
        ("merge", "[1]", "error: merge: argument 1: no map or map template, but int"),
        ("merge", "[[]]", "error: merge: no map found for merge"),
        ("deepmerge", "[{a: {b: 1, c: 2}, d: 3}, {a: {c: 4}}]", "a:\n  b: 1\n  c: 4\nd: 3"),
    ]);
}

#[test]
fn conversions() {
    check(&[
        ("type", "[1.0]", "float"),
        ("type", "[~]", "nil"),
        ("string", "[255, 16]", "ff"),
        ("string", "[-5, 2]", "\"-101\""),
        ("string", "[1.5e+21]", "\"1.5e+21\""),
        ("string", "[[]]", "error: cannot convert []yaml.Node to string"),
        ("integer", "[-2.9]", "-2"),
        ("integer", "[x]", "error: \"x\" is no integer value"),
        ("float", "['1.5']", "1.5"),
        ("bool", "['true']", "true"),
        ("bool", "[0]", "false"),
        ("bool", "[[]]", "error: cannot convert []yaml.Node to bool"),
        ("asjson", "[{b: [1, 2.5], a: <x>}]", "'{\"a\":\"\\u003cx\\u003e\",\"b\":[1,2.5]}'"),
        ("asyaml", "[{a: 1}]", "|+\n  a: 1"),
        ("parse", "['{a: 1}']", "a: 1"),
        ("parse", "[\"a: 1\\n---\\nb: 2\\n---\\n\", importmulti]", "- a: 1\n- b: 2"),
        ("parse", "['a: 1', template]", "template:\n  <<<: (( &template ))\n  a: 1"),
        ("parse", "[x, foo]", "error: invalid file type [result] foo"),
        ("base64", "[abcdefghij, 4]", "|-\n  YWJj\n  ZGVm\n  Z2hp\n  ag=="),
        ("base64_decode", "['dGVz\ndA==']", "error: cannot decode string"),
        ("base64", "[alice+bob, '5']", "|-\n  YWxpY\n  2UrYm\n  9i"),
        ("base64", "[a, x]", "error: second argument for base64 must be an integer"),
        ("base64_decode", "[dGVzdA==]", "test"),
        ("base64_decode", "['!!']", "error: cannot decode string"),
    ]);
}

#[test]
fn numbers_and_addresses() {
    check(&[
        ("floor", "[1.5]", "1"),
        ("round", "[-2.5]", "-3"),
        ("roundtoeven", "[2.5]", "2"),
        ("abs", "[-3]", "3"),
        ("sqrt", "[2]", "1.4142135623730951"),
        ("log", "[-1]", "error: log: NaN"),
        ("floor", "[x]", "error: invalid argument type for floor: string"),
        ("min_ip", "[10.1.2.3/24]", "10.1.2.0"),
        ("max_ip", "[10.1.2.3/24]", "10.1.2.255"),
        ("max_ip", "['2001:db8::/126']", "2001:db8::3"),
        ("num_ip", "[10.1.2.3/24]", "256"),
        ("num_ip", "[10.1.2.3]", "error: CIDR argument required"),
        ("contains_ip", "[192.168.1.1/24, 192.168.1.200]", "true"),
        ("contains_ip", "[192.168.1.1/24, 192.168.2.0]", "false"),
        (
            "ipset",
            "[['10.0.0.0 - 10.0.0.1', 10.0.2.0/30], 3, [1, 2, 3]]",
            "- 10.0.0.1\n- 10.0.2.0\n- 10.0.2.1",
        ),
        ("ipset", "[10.0.0.1, 2]", "error: ip index 1 (1) out of range (1 IP(s) available in ranges)"),
        ("ipset", "[10.0.0.0/24, 3, 1, 2]", "error: too many required entries (3 > 2 available indices)"),
        ("static_ips", "[0, [4, 5]]", "- 10.0.0.5\n- 10.0.0.9"),
        ("static_ips", "[0]", "error: too less static IPs for 2 instances"),
        (
            "parseurl",
            "['http://u:p@h:80/p?x=1&x=2#f']",
            "fragment: f\nhost: h\npath: /p\nport: 80\nquery: x=1&x=2\nscheme: http\nuserinfo:\n  password: p\n  username: u\nvalues:\n  x:\n  - \"1\"\n  - \"2\"",
        ),
        (
            "parseurl",
            "['%zz']",
            "error: invalid argument for parseurl: parse \"%zz\": invalid URL escape \"%zz\"",
        ),
    ]);
}

#[test]
fn versions() {
    check(&[
        ("semver", "[v1.2-beta.1+demo]", "1.2.0-beta.1+demo"),
        ("semver", "[1]", "error: semverprerelease requires one string argument, but got int"),
        ("semvermajor", "['1.2.3']", "1"),
        ("semverprerelease", "['1.2.3', b.2]", "1.2.3-b.2"),
        (
            "semverprerelease",
            "['1.2.3', 'b!']",
            "error: semverprerelease: invalid prerelease \"b!\": invalid prerelease string",
        ),
        ("semvermetadata", "[1.2.3+x]", "x"),
        ("semverrelease", "[v1.2.3-b.1+m]", "v1.2.3"),
        ("semverrelease", "[1.2.3-b.1+m, '2.0.0']", "2.0.0-b.1+m"),
        ("semverincpatch", "[1.2.3-b]", "1.2.3"),
        ("semverincminor", "[v1.2.3]", "v1.3.0"),
        ("semvercmp", "['1.2', '1.10']", "-1"),
        ("semversort", "[['1.2.3', '1.10', 1.9-rc]]", "- 1.2.3\n- 1.9-rc\n- \"1.10\""),
        ("semvermatch", "['1.2.3', '>=1.0, <2.0 || 3']", "true"),
        (
            "semvermatch",
            "['1.2.3', 'x!']",
            "error: semvermatch: invalid constraint \"x!\"[0]: improper constraint: x!",
        ),
        ("semvervalidate", "['1.2.3', ~1.3]", "error: semvervalidate: \"1.2.3\": [1.2.3 is less than 1.3]"),
        (
            "semvervalidate",
            "['1.2.x']",
            "error: semvervalidate: \"1.2.x\": semvervalidate: \"1.2.x\": invalid semantic version",
        ),
    ]);
}

#[test]
fn conditions() {
    check(&[
        ("validate", "[1.2.3.4, ip]", "1.2.3.4"),
        ("validate", "[1.2.3, ip]", "error: condition 1 failed: is no ip address: 1.2.3"),
        ("validate", "[c, [valueset, [a, b]]]", "error: condition 1 failed: invalid value \"c\""),
        ("validate", "[5, ['>', 7]]", "error: condition 1 failed: less or equal to 7"),
        ("validate", "[[1], empty]", "error: condition 1 failed: is not empty"),
        ("validate", "[1, empty]", "error: condition 1 has problem: invalid type for empty: int"),
        (
            "validate",
            "[[1, x], [list, [type, int]]]",
            "error: condition 1 failed: entry 1 condition 0 is not of type int",
        ),
        ("validate", "[{a: 1}, [mapfield, x]]", "error: condition 1 failed: has no field \"x\""),
        ("validate", "[{a: 1}, [optionalfield, x]]", "a: 1"),
        (
            "validate",
            "[{a: 1, b: x}, [map, [type, int]]]",
            "error: condition 1 failed: map entry \"b\" is not of type int",
        ),
        ("validate", "[x, [not, ip]]", "x"),
        ("validate", "[x, '!ip']", "x"),
        (
            "validate",
            "[x, unknown]",
            "error: condition 1 has problem: unknown validation operator \"unknown\"",
        ),
        (
            "validate",
            "[x, [and, [type, string], [match, '^y']]]",
            "error: condition 1 failed: invalid value \"x\"",
        ),
        (
            "validate",
            "[x, [or, ip, [type, int]]]",
            "error: condition 1 failed: (is no ip address: x and is not of type int)",
        ),
        ("validate", "[x.y, dnsdomain]", "x.y"),
        ("check", "['*.x.y', dnsname]", "true"),
        ("check", "[A, dnslabel]", "false"),
        ("check", "[10.0.0.0/8, cidr]", "true"),
        ("check", "[5, ['=', '5']]", "true"),
        ("check", "['5', ['=', x]]", "false"),
        ("check", "['5', ['=', '5']]", "true"),
        ("check", "['1.2.3', [semver, ~1.2]]", "true"),
        ("check", "[5, [gt, x]]", "error: condition 1 has problem: must be string to compare to string"),
        ("check", "[5]", "error: at least two arguments required for check"),
    ]);
    let positive = lambda("positive", 1, |arguments| {
        Value::list([Value::Bool(arguments[0].as_int() > Some(0)), "fine".into(), "too small".into()])
    });
    assert_eq!(call("validate", &[yaml("5"), positive.clone()]), "5");
    assert_eq!(call("validate", &[yaml("-5"), positive]), "error: condition 1 failed: too small");
}

#[test]
fn hashes() {
    check(&[
        ("md5", "[test]", "098f6bcd4621d373cade4e832627b4f6"),
        ("hash", "[test, sha1]", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"),
        ("hash", "[test]", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("hash", "[test, md4]", "7465737431d6cfe0d16ae931b73c59d7e0c089c0"),
        ("hash", "[test, foo]", "error: invalid hash type 'foo'"),
        ("md5crypt_check", "[password, $1$3Qc1aanY$x]", "false"),
        ("md5crypt_check", "[password, $1$3Qc1aanY$iad9zxEMtoA1WSkbefK4u/]", "true"),
        (
            "md5crypt_check",
            "[password, xx]",
            "error: invalid md5crypt hash: must contain three '$' characters",
        ),
        ("bcrypt_check", "[test, xx]", "false"),
        (
            "bcrypt",
            "[test, 32]",
            "error: bcrypt error: crypto/bcrypt: cost 32 is outside allowed inclusive range 4..31",
        ),
    ]);
    let hash = call("bcrypt", &[yaml("test"), yaml("4")]);
    assert!(hash.starts_with("$2a$04$"), "{hash}");
    assert_eq!(call("bcrypt_check", &[yaml("test"), Value::from(hash).into()]), "true");
    let hash = call("md5crypt", &[yaml("test")]);
    assert_eq!(call("md5crypt_check", &[yaml("test"), Value::from(hash).into()]), "true");
}

#[test]
fn secrets_and_lots() {
    let sealed = call("encrypt", &[yaml("{a: [1, x]}"), yaml("key")]);
    assert_eq!(call("decrypt", &[Value::from(sealed).into(), yaml("key")]), "a:\n- 1\n- x");
    check(&[
        ("encrypt", "[x]", "error: invalid empty encyption key"),
        ("encrypt", "[x, k, AES]", "error: invalid encyption method \"AES\""),
        ("decrypt", "['00', k]", "error: invalid key: ciphertext too short"),
        ("rand", "[0]", "error: zero range not possible for integer random values"),
        ("rand", "[a, 0]", "error: rand length must be positive, found 0"),
        ("wggenkey", "[preshared]", "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="),
        (
            "wgpublickey",
            "[kGsMhjzP2+6n+DhucUlzVqL7y54evS4QIJEUYcm7uVI=]",
            "6gBvu0FOC32UNPscYwvGqaVTr9lRlsIrvaGDsdmAWW4=",
        ),
        (
            "wgpublickey",
            "[x]",
            "error: error parsing key \"x\": failed to parse base64-encoded key: illegal base64 data at input byte 0",
        ),
    ]);
    let number: i64 = call("rand", &[yaml("10")]).parse().unwrap();
    assert!((0..10).contains(&number));
}

#[test]
fn archives() {
    check(&[
        ("archive", "[~, zip]", "error: invalid archive type 'zip'"),
        ("archive", "[5]", "error: first argument for hash must be a file map or list, found int"),
        ("archive", "[[5]]", "error: invalid file content type int"),
        ("archive", "[[{data: x}]]", "error: path field required"),
        ("archive", "[{a: {mode: []}}]", "error: mode field must be an integer, found list"),
        ("archive", "[{a: {data: ~}}]", "error: data field must not be nil"),
        ("archive", "[{a: {base64: 1}}]", "error: base64 field must be string, found int"),
    ]);
    let file = |name: &str, mode, content: &str| (name.to_owned(), mode, content.to_owned());
    assert_eq!(
        archived("{a: x, '*b': [1], '#-*c': eA==, d: ~}"),
        [file("*c", 0o644, "x"), file("b", 0o744, "---\n- 1\n"), file("a", 0o644, "x")]
    );
    assert_eq!(
        archived("{a: {data: x, mode: 0600}, '*b': {path: c/d, base64: eA==}, e: {}}"),
        [file("c/d", 0o744, "x"), file("a", 0o600, "x"), file("e", 0o644, "")]
    );
    assert_eq!(
        archived("[{path: a, data: {b: 1}}, {path: c, mode: '0700', data: 1.5}]"),
        [file("a", 0o644, "---\nb: 1\n"), file("c", 0o700, &format!("1.5{}e+00", "0".repeat(63)))]
    );
    assert_eq!(archived("[]"), []);
}

/// Returns the files in the archive that `archive` makes from a document: name, permissions and content of
/// each.
fn archived(document: &str) -> Vec<(String, u32, String)> {
    let text = yaml(&call("archive", &[yaml(document)]));
    let bytes = super::convert::decode(text.as_str().expect("text")).unwrap();
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = String::new();
        std::io::Read::read_to_string(&mut entry, &mut content).unwrap();
        let path = entry.path().unwrap().display().to_string();
        found.push((path, entry.header().mode().unwrap(), content));
    }
    found
}

#[test]
fn nothing_outside_is_reached_without_a_grant() {
    let denied =
        |name: &str| format!("error: {name}: no OS operations supported in this execution environment");
    check(&[
        ("exec", "[echo, x]", &denied("exec")),
        ("pipe", "[x, cat]", &denied("pipe")),
        ("read", "[/etc/passwd]", &denied("read")),
        ("write", "[/tmp/x, y]", &denied("write")),
        (
            "write",
            "[/tmp/x, y, '0999']",
            "error: permissions must be given as int or int string: \"0999\" is none: invalid digit found in string",
        ),
        ("tempfile", "[x]", &denied("tempfile")),
        ("mkdir", "[x]", &denied("mkdir")),
        ("lookup_file", "[x, .]", &denied("lookup")),
        ("list_dirs", "[.]", &denied("listFiles")),
        ("env", "[HOME]", "/home/me"),
        ("env", "[HOME, NONE]", "HOME: /home/me"),
        ("env", "[NONE]", "error: environment variable 'NONE' not set"),
    ]);
}

#[test]
fn the_document() {
    check(&[
        ("eval", "[1 + 2]", "evaluated 1 + 2"),
        ("eval", "[1]", "error: string argument required for 'eval'"),
        ("tagdef", "['a:b', 1, global]", "1"),
        (
            "tagdef",
            "[1t, 1]",
            "error: invalid tag name \"1t\" for tagdef: tag component must start with alnum rune",
        ),
        (
            "tagdef",
            "['*t', 1, global]",
            "error: invalid tag name \"*t\" for tagdef: invalid character \"*\" in tag component",
        ),
        ("features", "[control]", "true"),
        ("features", "[]", "- control"),
        ("features", "[1]", "error: features: argument must be a string"),
    ]);
}

#[test]
fn without_a_source_of_randomness_nothing_is_drawn() {
    let functions = [
        ("rand", "[]"),
        ("rand", "[a-z, 20]"),
        ("bcrypt", "[x, 4]"),
        ("md5crypt", "[x]"),
        ("encrypt", "[x, key]"),
        ("wggenkey", "[]"),
        ("x509genkey", "[P256]"),
        ("x509genkey", "[2048]"),
    ];
    for (name, arguments) in functions {
        let arguments = yaml(arguments);
        let found = super::testing::call_without_randomness(name, arguments.as_list().expect("a list"));
        assert_eq!(found, "error: no source of randomness is given", "{name}");
    }
}
