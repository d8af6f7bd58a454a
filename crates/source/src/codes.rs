//! The codes of this crate. They are for problems that any YAML or JSON document can have, such as wrong indentation or
//! an unknown key.
//!
//! `windlass explain` shows the page of a code. The first YAML block of a page is an example: a text that causes only
//! this code. A test loads each example. If windlass offers a fix for the example, the test applies the fix and loads
//! the fixed text. The code must then no longer occur.

crate::codes! {
    SYNTAX = "WL0001", "not YAML",
        r"The text violates the syntax of YAML, and no other code describes the cause. The message shows the place where reading
failed. The mistake is there or shortly before.

```yaml
properties:
  host: a
  ...
```

Three dots end a document. To show that something was left out, write a comment: `# …`.";
    NOT_UTF8 = "WL0002", "not UTF-8",
        r"The bytes are not text in UTF-8. The message gives the offset of the first byte that isn't.

Save the file as UTF-8. Files that begin with `ff fe` or `fe ff` are UTF-16, as some editors on Windows write. Binary
data goes into YAML as base64: `icon: !!binary iVBORw0…`.";
    LIMIT = "WL0003", "limit met",
        r"The document exceeds a limit: the number of its bytes, the number of its nodes, the depth of its nesting, its growth by
aliases, or the number of its problems. The limits protect the machine from broken and hostile documents. Documents that
people write are far below the limits.";
    EXTRA_DOCUMENT = "WL0004", "more than one document",
        r"A line `---` starts a new document, and a file of this kind holds one. A `---` before the first document is fine.

```yaml
name: assembly::shop::1.0
---
name: assembly::depot::1.0
```

Put each document into a file of its own.";
    INVISIBLE_CHARACTER = "WL0005", "invisible character",
        "The text contains an invisible character, such as the zero-width space U+200B, or a character that only looks like\n\
         a space, such as the no-break space U+00A0. Such characters come from copied text of web pages and word\n\
         processors. In front of a key, such a character is a part of the key. Indentation by such characters is invalid.\n\n\
         ```yaml\n\u{200b}name: assembly::shop::1.0\n```\n\n\
         Before `name` there is a zero-width space. The fix removes such characters, or replaces them by spaces.";
    TAB_INDENTATION = "WL0006", "tab as indentation",
        "YAML takes spaces for indentation, never tabs, since a tab has no fixed width.\n\n\
         ```yaml\nproperties:\n\thost: a\n```\n\n\
         The fix replaces the tabs by spaces if the number of spaces is clear.";
    INDENTATION = "WL0007", "indentation that fits nowhere",
        r"A line is indented by an amount that no line around it has, so it belongs to nothing, or it is indented below a key
that has its value already.

```yaml
Delete: {}
  drivers: a
```

`drivers` is below `Delete`, which is `{}` already. Remove the braces, or the indentation.";
    MISSING_COLON = "WL0008", "missing colon",
        r"In a mapping each line is `key: value`, or `key:` with its value below. Here the colon is missing, or the space after
it.

```yaml
name: resource::web::1.0
lifecycle
- Install
```

The fix writes `lifecycle:`.";
    COLON_IN_TEXT = "WL0009", "colon and space inside text",
        r"A colon followed by a space separates a key from its value, so text without quotes can't contain it.

```yaml
type: resource:: c_streamer::1.0
```

Right are `type: resource::c_streamer::1.0`, and, where the space is meant, quotes:
`description: 'Note: not yet tested'`.";
    DUPLICATE_KEY = "WL0010", "key given twice",
        r"A mapping contains the same key twice. Some YAML libraries use the first value, and others the second. Remove or rename
one of the keys; the message shows both places.

```yaml
host: a
host: b
```

Keys are compared as text: `1` and `'1'` are the same key.";
    KEY_NOT_TEXT = "WL0011", "key is not text",
        r"A key must be a scalar, but this key is a list or a mapping. Often the intended key is a text that begins with `{` or
`[`, which must be quoted: `'{{ item }}': a`.

```yaml
? [a, b]
: c
```";
    MERGE_KEY = "WL0012", "merge key",
        r"The value of the key `<<` is an alias of a mapping, or a list of such aliases: `<<: *defaults`. The mapping that
contains `<<` takes over the entries of these mappings. Here `<<` has another value, or this kind of document does not
allow the key `<<`.

```yaml
web:
  <<: defaults
  host: a
```";
    UNKNOWN_ANCHOR = "WL0013", "unknown anchor",
        r"An alias (`*name`) stands for the node with the anchor `&name` further up in the same document. This document has no
such anchor. Text that begins with `*` must be quoted: `'*.example.com'`.

```yaml
host: *default
```";
    REDEFINED_ANCHOR = "WL0014", "anchor defined again",
        r"Two nodes have the same anchor. YAML allows this: an alias then stands for the nearest of these nodes above it. But
this is seldom intended.

```yaml
a: &host one
b: &host two
c: *host
```";
    RECURSIVE_ALIAS = "WL0015", "alias inside itself",
        r"An alias stands inside the node that it refers to, so the document would have no end.

```yaml
a: &a
  b: *a
```";
    ESCAPED_COMMENT = "WL0016", "escaped comment",
        r"A line begins with `\#`, as Markdown writes a `#` that is no heading. In YAML that is text, not a comment.

```yaml
properties:
  host: a
  \# not shown
```

The fix removes the backslash.";
    REFERENCE_IN_FLOW = "WL0017", "reference without quotes in `{…}` or `[…]`",
        r"Inside of `{…}` and `[…]`, braces have a meaning of their own, so a `${reference}` must be quoted there. Elsewhere it
needs no quotes.

```yaml
ports: [${http.port}]
```

Right are `ports: ['${http.port}']` and `port: ${http.port}`.";
    UNCLOSED_QUOTE = "WL0018", "quote that is not closed",
        r"A quoted text has no closing quote, or more text follows the closing quote. In single quotes, write a quote twice
(`'it''s'`). In double quotes, write a backslash before the quote.

```yaml
description: 'the front
host: a
```";
    UNCLOSED_BRACKET = "WL0019", "bracket that is not closed",
        r"A `[` or `{` has no closing bracket, or a closing bracket of the other kind. Text that begins with a bracket must be
quoted.

```yaml
lifecycle: [Install, Start
host: a
```";
    RESERVED_CHARACTER = "WL0020", "text that must be quoted",
        r"Text without quotes can't begin with `@`, `` ` ``, `%`, `*`, `&`, `!`, `|`, `>`, `{`, `[`, `,` and some other
characters, because they have a meaning in YAML, or are reserved.

```yaml
owner: @team
```";
    ESCAPE = "WL0021", "unknown escape",
        "In double quotes, a backslash begins an escape such as `\\n` or `\\u00e9`. Write a backslash itself twice. In\n\
         single quotes and without quotes, a backslash is an ordinary character: `pattern: '\\d+'`.\n\n\
         ```yaml\npattern: \"\\d+\"\n```";
    INVALID_JSON = "WL0030", "not JSON",
        r"The document must be JSON as RFC 8259 defines it. JSON does not allow comments, single quotes, bare words and a comma
after the last item, although YAML or JavaScript allow some of these.

```yaml
{'name': 'web',}
```";
    UNKNOWN_KEY = "WL0040", "unknown key",
        r"The document can't have this key at this place. If a known key is similar, the message names it.

```yaml
name: web
prot: 80
```

Known here are `name` and `port`.";
    WRONG_TYPE = "WL0041", "value of the wrong type",
        r"The value is not of the kind that is expected at its place. Examples are text instead of a number, a list instead of a
mapping, and a mapping that lacks a key.

```yaml
name: web
port: many
```";
    NOT_FORMATTED = "WL0042", "layout that can't be changed",
        r"`windlass fmt` changes blanks at the begin and the end of lines only, and reads the result again. In this file, that
would change the data, so the file stays as it is. A frequent reason is a block scalar with `|+` or `>+` at the end of
the file, because blank lines there are data. End it with `|` or `|-`:

```yaml
note: |+
  all of it

```";
}
