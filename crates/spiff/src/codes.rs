//! The codes of the messages of this crate: `WL0700` to `WL0749`.

windlass_source::codes! {
    UNRESOLVED = "WL0700", "nodes without a value",
        r"Some expressions of the template have no value. The report has a line for each: the expression, its document, its path,
and the reason. `*` marks an error of the expression itself, `@` a cycle, and `-` a node that depends on one with an
error. Nothing was printed.

```yaml
a: (( b + 1 ))
b: (( c ))
```

Correct the lines with `*` first; those with `-` follow from them. `--trace PATH` shows the steps of one node, and
`--partial` prints the document with its open expressions.";
    DOCUMENT = "WL0701", "text that is no document",
        r"The text is not YAML, or not the kind of document that templates can use: keys are text, and a stub is one document. The
message names the line.

```yaml
a: [1, 2
```

`windlass spiff convert FILE` reads a file without processing it.";
    EXPRESSION = "WL0702", "text that is no expression",
        r"The text violates the grammar of expressions. The message names the last part that could be read. The mistake is after
this part.

```console
$ windlass spiff parse 'a +'
```

`windlass spiff parse EXPRESSION` checks an expression and prints its canonical form.";
    TOO_LARGE = "WL0703", "result above the limit",
        "The result is larger than the limit on output, which protects the machine from templates that grow \
         without end. Nothing was printed.\n\n\
         Look for lists that double in a loop or in a recursive template. A program that embeds the crate sets \
         `Limits`.";
    NO_NODE = "WL0704", "path without a node",
        "`--path` or `--select` names a node that the result does not have. A path has the keys from the root, \
         with dots between them, and `[0]` for the first entry of a list. Nothing was printed.\n\n\
         Process the template without the option to see its nodes.";
    NO_MAP = "WL0705", "expression over a result that is no map",
        "`--evaluate` computes an expression over the fields of the result, and the result is a list or a \
         single value. Nothing was printed.\n\n\
         Select a map with `--path` first, or leave `--evaluate` out.";
    NO_JSON = "WL0706", "value without a JSON form",
        "The result has an infinity or NaN, and JSON has no number for them. Nothing was printed.\n\n\
         Print YAML, without `--json`, or replace the value in the template.";
    DEFINITION = "WL0707", "bad definition of a value",
        "`-D` defines a value as `NAME=VALUE`. A dot in the name makes a nested map, and `\\.` is a dot in a key. \
         No part of the name may be empty, and no field on the way may have a value that is not a map. Nothing \
         was processed.\n\n\
         Write `-D db.host=example.org`.";
    LIMIT = "WL0708", "template above a limit",
        "The processing of the template has exceeded a limit, such as the number of steps or of calls within each other. \
         The limits protect the machine from templates that never end. The message names the limit. Nothing was \
         printed.\n\n\
         Look for a lambda or a template that calls itself without end, and for lists that double in a loop. A program \
         that embeds the crate sets `Limits`, and reads the exceeded limit from `Unresolved::exceeded`.";
}

#[cfg(test)]
mod tests {
    use windlass_source::{Code, Source};

    use super::*;
    use crate::{Engine, Limits};

    #[test]
    fn an_error_has_the_code_of_its_kind() {
        let code = |engine: Engine, text: &str| -> Code {
            engine.process_texts(&Source::new("t.yaml", text), &[]).unwrap_err().code()
        };
        assert_eq!(code(Engine::new(), "a: (( b ))\n"), UNRESOLVED);
        assert_eq!(code(Engine::new(), "a: [1\n"), DOCUMENT);
        let small = Engine::new().with_limits(Limits { output: 3, ..Limits::default() });
        assert_eq!(code(small, "a: long\n"), TOO_LARGE);
        let few = Engine::new().with_limits(Limits { steps: 3, ..Limits::default() });
        assert_eq!(code(few, "a: (( 1 + 2 + 3 + 4 + 5 ))\n"), LIMIT);
        let document = crate::value::Node::new(crate::value::Map::new());
        assert_eq!(Engine::new().evaluate("a +", &document).unwrap_err().code(), EXPRESSION);
    }

    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(CODES, 700..=749), Vec::<String>::new());
    }
}
