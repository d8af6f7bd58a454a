//! The processing of a node in a pass, as the code for lists and maps calls it.

use crate::eval::Env;
use crate::value::Node;

/// The interface by which the code for a list or map processes the nodes below it.
///
/// The code for nodes is a layer above the code for lists and maps. So the latter gets the interface as a
/// parameter, whose type is known at compile time.
pub(super) trait Visit: Copy {
    /// Processes a node in one pass. If the node is completely evaluated, adds its tag. If `overriding` is
    /// true, values of stubs take precedence. If `as_template` is true, a map, list or expression becomes a
    /// template, whose content is evaluated later.
    fn visit(self, node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node;

    /// Processes a node in one pass. Adds no tag, and lets no stub override the node.
    fn untagged(self, node: &Node, env: &Env) -> Node;
}
