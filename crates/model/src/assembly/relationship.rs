//! The relationships of an assembly, with the operations that create and cease them.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::property::{Origin, Property};
use crate::name::{ComponentName, ElementName, OperationName, PropertyName, RelationshipName};
use crate::state::{Modifier, State};
use crate::template::End;

/// A relationship between two lists of elements. For example, the web servers in `sources` are the backends of the
/// load balancer in `targets`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relationship {
    /// The name of the relationship in its assembly.
    pub name: RelationshipName,
    /// The assembly element that declares the relationship.
    pub assembly: ElementName,
    /// The sources: the elements that the descriptor lists as `source-capabilities`. They are resources, groups,
    /// assemblies or references.
    pub sources: Vec<Endpoint>,
    /// The targets: the elements that the descriptor lists as `target-requirements`. They are resources, groups or
    /// assemblies.
    pub targets: Vec<Endpoint>,
    /// The state to which `source_modifier` refers. Example: `Active` with `Post` means that windlass creates the
    /// relationship after the source is Active.
    pub source_state: State,
    /// Whether the relationship is created before or after the source reaches `source_state`.
    pub source_modifier: Modifier,
    /// The state to which `target_modifier` refers. Example: `Active` with `Pre` means that windlass creates the
    /// relationship before the target is Active.
    pub target_state: State,
    /// Whether the relationship is created before or after the target reaches `target_state`.
    pub target_modifier: Modifier,
    /// The values that the operations of the relationship receive.
    pub properties: IndexMap<PropertyName, Property>,
    /// The operations that create the relationship, in call order.
    pub create: Vec<OperationCall>,
    /// The operations that cease (remove) the relationship, in call order.
    pub cease: Vec<OperationCall>,
    /// The place of the relationship's declaration.
    pub origin: Option<Origin>,
}

impl Relationship {
    /// Tells whether the relationship has no operations. Such a relationship only orders the transitions of
    /// its sources and targets.
    pub fn is_order_only(&self) -> bool {
        self.create.is_empty() && self.cease.is_empty()
    }

    /// Creates the relationship for an entry of the key `depends-on`: the component `dependent` depends on the
    /// component `on`. The component `on` must be Active before the first transition of `dependent`, and must not
    /// stop before `dependent` has stopped. The relationship has no operations.
    #[expect(clippy::missing_panics_doc, reason = "two words with words between them are a name")]
    pub fn dependency(
        assembly: ElementName,
        dependent: &ComponentName,
        on: &ComponentName,
        origin: Origin,
    ) -> Self {
        let end = |component| vec![Endpoint { element: assembly.child(component), capability: None }];
        let name = format!("{dependent}-depends-on-{on}");
        Self {
            name: name.parse().expect("names of components have no blanks"),
            sources: end(on),
            targets: end(dependent),
            source_state: State::Active,
            source_modifier: Modifier::Post,
            target_state: State::Created,
            target_modifier: Modifier::Pre,
            properties: IndexMap::new(),
            create: Vec::new(),
            cease: Vec::new(),
            origin: Some(origin),
            assembly,
        }
    }

    /// Tells whether the key `depends-on` of a component declares the relationship. Only such a relationship has the
    /// `target_state` Created. In the section `relationships` of a descriptor, this state is invalid.
    pub fn is_dependency(&self) -> bool {
        self.target_state == State::Created
    }

    /// Returns the operations of `cease` that undo the operation `create[at]`.
    ///
    /// The method compares the operations on the source in `create` with the operations on the source in `cease`.
    /// In the same way, it compares the operations on the target in `create` with the operations on the target in
    /// `cease`. These rules apply to the two lists of each comparison:
    ///
    /// - If the two lists have the same length, each operation of the `cease` list undoes the operation at the same
    ///   position of the `create` list.
    /// - If both lists contain operations, but their lengths differ, all operations of the `cease` list undo the
    ///   first operation of the `create` list. Nothing undoes the later operations of the `create` list.
    /// - If only the `cease` list contains operations, they undo the first operation of the whole relationship
    ///   (`create[0]`), which is on the other end. For example, the operations of the `cease` list are on the
    ///   target, and `create[0]` is on the source.
    pub fn undo_of(&self, at: usize) -> Vec<OperationCall> {
        let of_end = |list: &[OperationCall], end: End| -> Vec<usize> {
            list.iter().enumerate().filter(|(_, call)| call.end == end).map(|(at, _)| at).collect()
        };
        let first_undone = |place: usize| {
            let end = self.cease[place].end;
            let (made, ended) = (of_end(&self.create, end), of_end(&self.cease, end));
            if made.len() == ended.len() {
                ended.iter().position(|ended| *ended == place).map_or(0, |nth| made[nth])
            } else {
                made.first().copied().unwrap_or(0)
            }
        };
        let own = (0..self.cease.len()).filter(|place| first_undone(*place) == at);
        own.map(|place| self.cease[place].clone()).collect()
    }
}

/// A source or a target of a relationship, as the descriptor names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The name of the element that is the source or the target.
    pub element: ElementName,
    /// The name of a connection point of the element: a capability of the source, or a requirement of the target.
    /// Example: `Http` in `web.Http`. None if the descriptor names only the element, as in `web`. If the descriptor
    /// names several capabilities of the element, the field contains the first one.
    pub capability: Option<String>,
}

/// An operation that a relationship calls on its source or on its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCall {
    /// Whether the operation is called on the source or on the target.
    pub end: End,
    /// The name of the operation.
    pub operation: OperationName,
}

impl fmt::Display for OperationCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.end, self.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(list: &[&str]) -> Vec<OperationCall> {
        let call = |text: &&str| {
            let (end, operation) = text.split_once('.').unwrap();
            let end = if end == "source" { End::Source } else { End::Target };
            OperationCall { end, operation: operation.parse().unwrap() }
        };
        list.iter().map(call).collect()
    }

    fn undo(create: &[&str], cease: &[&str]) -> Vec<String> {
        let relationship = Relationship {
            name: "r".parse().unwrap(),
            assembly: "t".parse().unwrap(),
            sources: Vec::new(),
            targets: Vec::new(),
            source_state: State::Active,
            source_modifier: Modifier::Post,
            target_state: State::Active,
            target_modifier: Modifier::Pre,
            properties: IndexMap::new(),
            create: calls(create),
            cease: calls(cease),
            origin: None,
        };
        let of = |at| -> Vec<String> { relationship.undo_of(at).iter().map(ToString::to_string).collect() };
        (0..create.len()).map(|at| of(at).join(" ")).collect()
    }

    #[test]
    fn undo_operations_keep_their_end_and_their_index() {
        assert_eq!(
            undo(&["target.Add", "source.Add"], &["target.Remove", "source.Remove"]),
            ["target.Remove", "source.Remove"]
        );
        assert_eq!(undo(&["target.A", "target.B"], &["target.X", "target.Y"]), ["target.X", "target.Y"]);
        assert_eq!(undo(&["source.A", "target.B"], &["target.Y"]), ["", "target.Y"]);
        assert_eq!(undo(&["source.A", "target.B"], &["target.X", "target.Y"]), ["", "target.X target.Y"]);
        assert_eq!(undo(&["target.A", "target.B"], &["target.Z"]), ["target.Z", ""]);
        assert_eq!(undo(&["source.A"], &["target.Z"]), ["target.Z"]);
        assert_eq!(undo(&["source.A"], &[]), [""]);
    }
}
