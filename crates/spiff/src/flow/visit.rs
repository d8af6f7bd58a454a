//! The visit of a node in a pass, as lists and maps see it.

use crate::eval::Env;
use crate::value::Node;

/// The visit of a node, by which a list or a map processes the nodes below it.
///
/// Nodes are a layer above lists and maps, which get the visit as a parameter of static type.
pub(super) trait Visit: Copy {
    /// Processes a node and, if it is then complete, adds its tag. With `overriding`, values of stubs take
    /// precedence. With `as_template`, a map, list or expression becomes a template, whose content is
    /// evaluated later.
    fn visit(self, node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node;

    /// Processes a node without its tag; no stub overrides it.
    fn untagged(self, node: &Node, env: &Env) -> Node;
}
