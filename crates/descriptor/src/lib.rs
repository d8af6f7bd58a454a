//! Assembly and resource descriptors: parse, check, resolve.
