//! Tests the reports about invalid YAML: the actual cause, its place, the fix, and the data that could be
//! read.

use insta::assert_snapshot;

use crate::render::report;

#[test]
fn colon_and_blank_in_a_value() {
    assert_snapshot!(report("A:\n  type: resource:: c_streamer::1.0\n  quantity: 3\n"), @r#"
    f.yaml:2:18: error[WL0009]: colon and space inside the text `resource:: c_streamer::1.0`
      ^ 2:18 `: ` this separates a key from its value
      = write `resource::c_streamer::1.0`
    read: {"A":{"quantity":"3","type":"resource::c_streamer::1.0"}}
    fixed: "A:\n  type: resource::c_streamer::1.0\n  quantity: 3\n"
    "#);
    assert_snapshot!(report("description: Note: it's not tested # yet\n"), @r#"
    f.yaml:1:18: error[WL0009]: colon and space inside the text `Note: it's not tested`
      ^ 1:18 `: ` this separates a key from its value
      = quote the text
    read: {"description":"Note: it's not tested"}
    fixed: "description: \"Note: it's not tested\" # yet\n"
    "#);
}

#[test]
fn zero_width_spaces() {
    assert_snapshot!(report("lifecycle:\n\u{200b}  Create:\n\u{200b}\n\u{200b}  - target.Create\n"), @r#"
    f.yaml:2:1: error[WL0005]: zero-width space (U+200B) in the text, 3 times in all
      ^ 2:1 `\u{200b}` here, though it can't be seen
      = remove them; they come with text copied from web pages
    read: {"lifecycle":{"Create":["target.Create"]}}
    fixed: "lifecycle:\n  Create:\n\n  - target.Create\n"
    "#);
    assert_snapshot!(report("name\u{200b}: web\ntext: zero\u{200b}width\n# \u{200b} in a comment\n"), @r#"
    f.yaml:1:5: error[WL0005]: zero-width space (U+200B) in the text
      ^ 1:5 `\u{200b}` here, though it can't be seen
      = remove them; they come with text copied from web pages
    f.yaml:2:11: warning[WL0005]: zero-width space (U+200B) in the text
      ^ 2:11 `\u{200b}` here, though it can't be seen
      = remove them; they come with text copied from web pages
    read: {"name":"web","text":"zero\u200bwidth"}
    fixed: "name: web\ntext: zerowidth\n# \u{200b} in a comment\n"
    "#);
}

#[test]
fn no_break_spaces_as_indentation_and_separator() {
    assert_snapshot!(report("web:\n\u{a0} name:\u{a0}a\u{a0}b\n"), @r#"
    f.yaml:2:1: error[WL0005]: no-break space (U+00A0) instead of a space, 2 times in all
      ^ 2:1 `\u{a0}` here, though it can't be seen
      = put spaces in their place
    read: {"web":{"name":"a b"}}
    fixed: "web:\n  name: a\u{a0}b\n"
    "#);
}

#[test]
fn invisible_characters_in_quotes_and_blocks_are_the_author_s() {
    let text =
        "a: \"\u{200b}x: \u{a0}y\"\nb: |\n  \u{a0}z:\u{a0}\n# \u{200b}\nc: d\u{a0}e, \u{2764}\u{200d}x\n";
    let (_, root) = crate::render::document(text);
    assert_eq!(root.get("a").and_then(windlass_source::Node::as_str), Some("\u{200b}x: \u{a0}y"));
    assert_eq!(root.get("b").and_then(windlass_source::Node::as_str), Some("\u{a0}z:\u{a0}\n"));
}

#[test]
fn escaped_comments() {
    assert_snapshot!(report("a: 1\n\\# a comment\nproperties:\n  \\#not shown\n\nb: 2\n"), @r#"
    f.yaml:2:1: error[WL0016]: `\#` does not begin a comment
      ^ 2:1 `\\#` read as text
      = remove the backslash
    f.yaml:4:3: error[WL0016]: `\#` does not begin a comment
      ^ 4:3 `\\#` read as text
      = remove the backslash
    read: {"a":"1","b":"2","properties":null}
    fixed: "a: 1\n# a comment\nproperties:\n  #not shown\n\nb: 2\n"
    "#);
    assert_snapshot!(report("a: 1\n\\# with: a colon\n"), @r#"
    f.yaml:2:1: error[WL0016]: `\#` does not begin a comment
      ^ 2:1 `\\#` read as text
      = remove the backslash
    read: {"a":"1"}
    fixed: "a: 1\n# with: a colon\n"
    "#);
}

#[test]
fn tabs() {
    assert_snapshot!(report("a:\n\tb: 1\n\tc:\n\t\td: 2\n"), @r#"
    f.yaml:2:1: error[WL0006]: a tab is used as indentation
      ^ 2:1 `\t` a tab, where YAML takes spaces only
      = put 2 spaces in place of each tab
    read: {"a":{"b":"1","c":{"d":"2"}}}
    fixed: "a:\n  b: 1\n  c:\n    d: 2\n"
    "#);
    assert_snapshot!(report("a:\n    b:\n        c: 1\n\td: 2\n"), @r#"
    f.yaml:4:1: error[WL0006]: a tab is used as indentation
      ^ 4:1 `\t` a tab, where YAML takes spaces only
      = put as many spaces as the lines beside it have
    read: {"a":{"b":{"c":"1"},"d":"2"}}
    "#);
    assert_snapshot!(report("script: |\n\techo\n"), @r#"
    f.yaml:2:1: error[WL0006]: a tab is used as indentation
      ^ 2:1 `\t` a tab, where YAML takes spaces only
      = put 2 spaces in place of each tab
    read: {"script":"echo\n"}
    fixed: "script: |\n  echo\n"
    "#);
}

#[test]
fn missing_colons() {
    assert_snapshot!(report("name: x\nlifecycle\n- Create\n- Install\n"), @r#"
    f.yaml:2:1: error[WL0008]: no colon after the key `lifecycle`
      ^ 2:1 `lifecycle` 
      = write `lifecycle:`
    read: {"lifecycle":["Create","Install"],"name":"x"}
    fixed: "name: x\nlifecycle:\n- Create\n- Install\n"
    "#);
    assert_snapshot!(report("composition\n  A:\n    type: t\n"), @r#"
    f.yaml:1:1: error[WL0008]: no colon after the key `composition`
      ^ 1:1 `composition` 
      - 2:3 `A:` so this can't be below it
      = write `composition:`
    read: {"composition":{"A":{"type":"t"}}}
    fixed: "composition:\n  A:\n    type: t\n"
    "#);
    assert_snapshot!(report("a: 1\nstray\nb: 2\n"), @r#"
    f.yaml:2:1: error[WL0008]: no colon after the key `stray`
      ^ 2:1 `stray` expected `key: value`
      = each line of a mapping is `key: value`
    read: {"a":"1","b":"2"}
    "#);
    assert_snapshot!(report("a: 1\nname:web\nb: 2\n"), @r#"
    f.yaml:2:1: error[WL0008]: no space after the colon of `name`
      ^ 2:1 `name:` read as text, not as a key
      = write `name: web`
    read: {"a":"1","b":"2","name":"web"}
    fixed: "a: 1\nname: web\nb: 2\n"
    "#);
    assert_snapshot!(report("name:web\nb: 2\n"), @r#"
    f.yaml:1:1: error[WL0008]: no space after the colon of `name`
      ^ 1:1 `name:` read as text, not as a key
      = write `name: web`
    read: {"b":"2","name":"web"}
    fixed: "name: web\nb: 2\n"
    "#);
}

#[test]
fn references_in_flow_collections() {
    assert_snapshot!(report("a: {b: ${x.y}}\nc: [1, net-${z}, ${w}]\n"), @r#"
    f.yaml:1:8: error[WL0017]: `${x.y}` must be quoted inside brackets
      ^ 1:8 `${x.y}` 
      = write `"${x.y}"`, or a block without brackets
    f.yaml:2:8: error[WL0017]: `net-${z}` must be quoted inside brackets
      ^ 2:8 `net-${z}` 
      = write `"net-${z}"`, or a block without brackets
    f.yaml:2:18: error[WL0017]: `${w}` must be quoted inside brackets
      ^ 2:18 `${w}` 
      = write `"${w}"`, or a block without brackets
    read: {"a":{"b":"${x.y}"},"c":["1","net-${z}","${w}"]}
    fixed: "a: {b: \"${x.y}\"}\nc: [1, \"net-${z}\", \"${w}\"]\n"
    "#);
}

#[test]
fn unclosed_quotes() {
    assert_snapshot!(report("a: \"never closed\nb: 2\n"), @r#"
    f.yaml:1:4: error[WL0018]: the quote `"` is never closed
      ^ 1:4 `\"never closed` opened here
      - 2:1 `b: 2` this was read as part of it
      = close it
    read: {"b":"2"}
    "#);
    assert_snapshot!(report("a: 'it's here'\nb: 2\n"), @r#"
    f.yaml:1:8: error[WL0018]: text after the closing quote
      ^ 1:8 `s here\'` 
      - 1:4 `\'` the text begins here
      = write a quote inside single quotes twice
    read: {"a":"it's here","b":"2"}
    fixed: "a: 'it''s here'\nb: 2\n"
    "#);
    assert_snapshot!(report("a: \"x\" y\nb: 2\n"), @r#"
    f.yaml:1:8: error[WL0018]: text after the closing quote
      ^ 1:8 `y` 
      - 1:4 `\"` the text begins here
      = write a quote inside double quotes as `\"`
    read: {"b":"2"}
    "#);
    assert_snapshot!(report("a: 'to the end"), @r#"
    f.yaml:1:4: error[WL0018]: the quote `'` is never closed
      ^ 1:4 `\'to the end` opened here
      = close it, or write an apostrophe inside single quotes twice
    "#);
}

#[test]
fn unclosed_brackets() {
    assert_snapshot!(report("a: [1, {b: 2 # why\nc: 3\n"), @r#"
    f.yaml:1:4: error[WL0019]: `[` is never closed
      ^ 1:4 `[` opened here
      - 2:1 `c: 3` this was read as part of it
      = close it with `}]`, or quote the text
    read: {"a":["1",{"b":"2"}],"c":"3"}
    fixed: "a: [1, {b: 2}] # why\nc: 3\n"
    "#);
    assert_snapshot!(report("a: [1,\n  2,\nb: 3\n"), @r#"
    f.yaml:1:4: error[WL0019]: `[` is never closed
      ^ 1:4 `[` opened here
      - 3:1 `b: 3` this was read as part of it
      = close it with `]`, or quote the text
    read: {"a":["1","2"],"b":"3"}
    fixed: "a: [1,\n  2,]\nb: 3\n"
    "#);
    assert_snapshot!(report("a: [\"x # y\", b # why\n"), @r#"
    f.yaml:1:4: error[WL0019]: `[` is never closed
      ^ 1:4 `[` opened here
      = close it with `]`, or quote the text
    read: {"a":["x # y","b"]}
    fixed: "a: [\"x # y\", b] # why\n"
    "#);
    assert_snapshot!(report("a: [1}\n"), @r#"
    f.yaml:1:6: error[WL0019]: `[` is closed by `}`
      ^ 1:6 `}` 
      - 1:4 `[` opened here
      = write `]`, or quote the text
    "#);
    assert_snapshot!(report("a: {b: c"), @r#"
    f.yaml:1:4: error[WL0019]: `{` is never closed
      ^ 1:4 `{` opened here
      = close it with `}`, or quote the text
    read: {"a":{"b":"c"}}
    fixed: "a: {b: c}"
    "#);
    assert_snapshot!(report("{a: b: c}\n"), @r#"
    f.yaml:1:6: error[WL0009]: a second colon in one entry
      ^ 1:6 `:` expected `,` or the closing bracket
      = quote the text, or separate the entries by `,`
    "#);
}

#[test]
fn indentation() {
    assert_snapshot!(report("Delete: {}\n  drivers: a\n"), @r#"
    f.yaml:2:3: error[WL0007]: this line is indented below `Delete`, which has a value already
      ^ 2:3 `drivers: a` indented by 2 spaces, `Delete` by 0
      - 1:9 `{}` the value of `Delete`
      = give it the indentation of `Delete`, or remove the value
    read: {"Delete":{},"drivers":"a"}
    "#);
    assert_snapshot!(report("a:\n    b: 1\n  c: 2\n"), @r#"
    f.yaml:3:3: error[WL0007]: indented by 2 spaces, as no line above
      ^ 3:3 `c: 2` expected 0 or 4
      = lines of one mapping or list have the same indentation
    read: {"a":{"b":"1"}}
    "#);
    assert_snapshot!(report("a: 1\n- b\n"), @r#"
    f.yaml:2:1: error[WL0001]: a list item between the keys of a mapping
      ^ 2:1 `- b` 
      = give the list a key, and put its items below it
    read: {"a":"1"}
    "#);
    assert_snapshot!(report("a: - b\n"), @r#"
    f.yaml:1:4: error[WL0001]: a list item on the line of its key
      ^ 1:4 `- b` 
      = put `- …` on lines of its own, below the key
    "#);
    assert_snapshot!(report("  a: 1\nb: 2\n"), @r#"
    f.yaml:2:1: error[WL0007]: the document has ended before this line
      ^ 2:1 `b: 2` 
      = a document is one mapping, one list or one value, with the indentation of its first line
    read: {"a":"1"}
    "#);
}

#[test]
fn text_that_must_be_quoted() {
    assert_snapshot!(report("user: @admin\nshare: 100%\nrate: %5\n"), @r#"
    f.yaml:1:7: error[WL0020]: text can't begin with `@`
      ^ 1:7 `@admin` 
      = quote the text
    f.yaml:3:7: error[WL0020]: text can't begin with `%`
      ^ 3:7 `%5` 
      = quote the text
    read: {"rate":"%5","share":"100%","user":"@admin"}
    fixed: "user: '@admin'\nshare: 100%\nrate: '%5'\n"
    "#);
    assert_snapshot!(report("pattern: \"\\d+\\.\\d\"\n"), @r#"
    f.yaml:1:11: error[WL0021]: `\d` is no escape
      ^ 1:11 `\\d` 
      = write `\\d` if a backslash is meant, or use single quotes
    f.yaml:1:14: error[WL0021]: `\.` is no escape
      ^ 1:14 `\\.` 
      = write `\\.` if a backslash is meant, or use single quotes
    f.yaml:1:16: error[WL0021]: `\d` is no escape
      ^ 1:16 `\\d` 
      = write `\\d` if a backslash is meant, or use single quotes
    read: {"pattern":"\\d+\\.\\d"}
    fixed: "pattern: \"\\\\d+\\\\.\\\\d\"\n"
    "#);
    assert_snapshot!(report("a: | text\n  more\n"), @r#"
    f.yaml:1:4: error[WL0001]: text on the line of `|`
      ^ 1:4 `| text` 
      = put the text on the lines below, or quote it if `|` belongs to it
    read: "more"
    "#);
}

#[test]
fn dots_in_place_of_omitted_lines() {
    assert_snapshot!(report("a:\n  b: 1\n  ...\n  c: 2\n"), @r#"
    f.yaml:3:3: error[WL0001]: `...` is neither a key nor a comment
      ^ 3:3 `...` 
      = make it a comment, or write what it stands for
    read: {"a":{"b":"1","c":"2"}}
    fixed: "a:\n  b: 1\n  # ...\n  c: 2\n"
    "#);
}

#[test]
fn several_mistakes_are_reported_at_once() {
    assert_snapshot!(report("a: @b\ntype: resource:: x\n\\# note\nlist: [${x}]\nlifecycle\n- Create\nok: true\n"), @r#"
    f.yaml:1:4: error[WL0020]: text can't begin with `@`
      ^ 1:4 `@b` 
      = quote the text
    f.yaml:2:16: error[WL0009]: colon and space inside the text `resource:: x`
      ^ 2:16 `: ` this separates a key from its value
      = write `resource::x`
    f.yaml:3:1: error[WL0016]: `\#` does not begin a comment
      ^ 3:1 `\\#` read as text
      = remove the backslash
    f.yaml:4:8: error[WL0017]: `${x}` must be quoted inside brackets
      ^ 4:8 `${x}` 
      = write `"${x}"`, or a block without brackets
    f.yaml:5:1: error[WL0008]: no colon after the key `lifecycle`
      ^ 5:1 `lifecycle` 
      = write `lifecycle:`
    read: {"a":"@b","lifecycle":["Create"],"list":["${x}"],"ok":"true","type":"resource::x"}
    fixed: "a: '@b'\ntype: resource::x\n# note\nlist: [\"${x}\"]\nlifecycle:\n- Create\nok: true\n"
    "#);
}

#[test]
fn an_error_without_a_known_cause_has_the_parser_s_message() {
    assert_snapshot!(report("a: !<x y\nb: 1\n"), @r#"
    f.yaml:1:4: error[WL0001]: while scanning a verbatim tag, did not find the expected '>'
      ^ 1:4 `!` 
    read: {"b":"1"}
    "#);
}

#[test]
fn an_open_bracket_of_several_lines_gives_one_error() {
    assert_snapshot!(report("lifecycle: [Install,\n  Start,\n\nproperties:\n  a:\n    default: x\n"), @r#"
    f.yaml:1:12: error[WL0019]: `[` is never closed
      ^ 1:12 `[` opened here
      - 4:1 `properties:` this was read as part of it
      = close it with `]`, or quote the text
    read: {"lifecycle":["Install","Start"],"properties":{"a":{"default":"x"}}}
    fixed: "lifecycle: [Install,\n  Start,]\n\nproperties:\n  a:\n    default: x\n"
    "#);
}

#[test]
fn a_key_and_its_value_without_a_colon() {
    assert_snapshot!(report("web:\n  type: a\n  quantity 2\n"), @r#"
    f.yaml:3:3: error[WL0008]: no colon after the key `quantity`
      ^ 3:3 `quantity` 
      = write `quantity: 2`
    read: {"web":{"quantity":"2","type":"a"}}
    fixed: "web:\n  type: a\n  quantity: 2\n"
    "#);
    assert_snapshot!(report("web:\n  type: a\n  not shown for brevity\n"), @r#"
    f.yaml:3:3: error[WL0008]: no colon on this line
      ^ 3:3 `not shown for brevity` expected `key: value`
      = each line of a mapping is `key: value`; a comment begins with `#`
    read: {"web":{"type":"a"}}
    "#);
}

#[test]
fn an_escaped_comment_above_a_key() {
    assert_snapshot!(report("web:\n  \\#not shown\n  \\#for brevity\n  type: a\n"), @r#"
    f.yaml:2:3: error[WL0016]: `\#` does not begin a comment, 2 times in all
      ^ 2:3 `\\#` read as text
      = remove the backslash
    read: {"web":{"type":"a"}}
    fixed: "web:\n  #not shown\n  #for brevity\n  type: a\n"
    "#);
}

#[test]
fn a_conflict_of_a_merge() {
    let text = "<<<<<<< ours\nname: a\n=======\nname: b\n>>>>>>> theirs\nport: 1\n";
    assert_snapshot!(report(text), @r#"
    f.yaml:1:1: error[WL0001]: a conflict of a merge is left in the text
      ^ 1:1 `<<<<<<< ours` 
      - 5:1 `>>>>>>> theirs` it ends here
      = keep one of the two sides, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`
    read: {"name":"a","port":"1"}
    "#);
}

#[test]
fn a_placeholder_of_a_template() {
    assert_snapshot!(report("port: {{ port }}\n"), @r#"
    f.yaml:1:8: error[WL0011]: a key must be text, found a mapping
      ^ 1:8 `{ port }` 
      = `{{ … }}` is a placeholder of a template: fill the template in first, or quote the text
    read: {"port":{}}
    "#);
}
