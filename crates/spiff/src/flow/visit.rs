//! The interface by which the modules `list` and `map` call the module `node`.

use crate::eval::Env;
use crate::value::Node;

/// The interface by which the modules `list` and `map` process the nodes in a list or map.
///
/// The module `node` implements this interface. The module `node` is a layer above `list` and `map`, so `list` and
/// `map` do not use it directly. Instead, their functions get the implementation as a parameter. The type of the
/// parameter is known at compile time.
pub(super) trait Visit: Copy {
    /// Processes a node in one pass.
    ///
    /// If `overriding` is true, and a stub contains a value for the node, the value in the stub replaces the value
    /// of the node. If `as_template` is true, a map, list or expression becomes a template, whose content is
    /// evaluated later. If the node has the marker `&tag:`, and is completely evaluated, other expressions can then
    /// refer to the node by its tag.
    fn visit(self, node: &Node, env: &Env, overriding: bool, as_template: bool) -> Node;

    /// Processes a node in one pass, like [`visit`](Self::visit) with the arguments `overriding` and `as_template` set to
    /// `false`. Unlike `visit`, this method does not register the node under its tag.
    fn untagged(self, node: &Node, env: &Env) -> Node;
}
