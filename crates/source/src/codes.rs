//! This crate's codes: what can be wrong with a text before anyone asks what it means.

crate::codes! {
    SYNTAX = "WL0001", "not YAML", "The text does not follow YAML's syntax.";
    NOT_UTF8 = "WL0002", "not UTF-8", "The bytes are not text in UTF-8.";
    LIMIT = "WL0003", "limit met", "The document is larger than is allowed.";
    EXTRA_DOCUMENT = "WL0004", "more than one document", "A file of this kind holds one document.";
    DUPLICATE_KEY = "WL0010", "key given twice", "A mapping has the same key twice.";
    KEY_NOT_TEXT = "WL0011", "key is not text", "A key must be a scalar.";
    MERGE_KEY = "WL0012", "merge key", "A merge key that can't be used.";
    UNKNOWN_ANCHOR = "WL0013", "unknown anchor", "An alias without an anchor before it.";
    REDEFINED_ANCHOR = "WL0014", "anchor defined again", "Two anchors of a document have the same name.";
    RECURSIVE_ALIAS = "WL0015", "alias inside itself", "An alias refers to a node that it is part of.";
    INVALID_JSON = "WL0020", "not JSON", "The text does not follow JSON's syntax.";
    UNKNOWN_KEY = "WL0030", "unknown key", "A key that means nothing here.";
    WRONG_TYPE = "WL0031", "wrong type", "A value of another kind than is expected here.";
}
