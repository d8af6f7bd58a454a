//! Two assemblies, each with a lease of its own. One assembly references the other, and calls operations on the other's
//! parts.

use proptest::prelude::*;
use windlass_engine::{EngineError, Request};
use windlass_lifecycle::testing::{Spec, few, has_order, versions};
use windlass_model::assembly::{
    Element, ElementKind, Endpoint, Operation, OperationCall, Property, Referent, Relationship,
};
use windlass_model::record::{Intent, ProcessStatus};
use windlass_model::template::End;
use windlass_model::{Modifier, OperationName, Part, State, Template, Topology};
use windlass_store::StoreError;

use super::session::{Fate, Interruption, Session};
use super::{interruption, on_virtual_time, trouble};
use crate::support::{assembly_name, element};

/// The number of cases that CI tests.
const CASES: u32 = 30;

/// Returns an assembly `t` that references the assembly `other`.
///
/// A relationship connects the reference with the first component of `t`. If `pre` is true, windlass creates the
/// relationship before this component is Active; otherwise, after.
fn linked(spec: &Spec, other: &Topology, pre: bool) -> Option<Topology> {
    let own = spec.topology();
    let called = other.elements().iter().find(|element| element.kind == ElementKind::Resource)?;
    let target = own.elements().get(1)?.name.clone();
    let mut reference = Element { kind: ElementKind::Reference, ..own.root()?.clone() };
    reference.name = element("t__other");
    reference.parent = Some(element("t"));
    reference.referent = Some(Referent::Assembly(other.name().clone()));
    for operation in ["Join1", "Leave1"] {
        let operation: OperationName = operation.parse().expect("valid");
        let leads_to = Operation { element: called.name.clone(), operation: operation.clone() };
        reference.operations.insert(operation, leads_to);
    }
    let end = |element| vec![Endpoint { element, capability: None }];
    let call = |operation: &str| {
        vec![OperationCall { end: End::Source, operation: operation.parse().expect("valid") }]
    };
    let read = Part::End { end: End::Target, property: "in".parse().expect("valid") };
    let peer = Property { value: Some(Template::Text(vec![read])), ..Property::default() };
    let link = Relationship {
        name: "link".parse().expect("valid"),
        assembly: element("t"),
        sources: end(reference.name.clone()),
        targets: end(target),
        source_state: State::Active,
        source_modifier: Modifier::Post,
        target_state: State::Active,
        target_modifier: if pre { Modifier::Pre } else { Modifier::Post },
        properties: [("peer".parse().expect("valid"), peer)].into_iter().collect(),
        create: call("Join1"),
        cease: call("Leave1"),
        origin: None,
    };
    let elements = own.elements().iter().cloned().chain([reference]).collect();
    let relationships = own.relationships().iter().cloned().chain([link]).collect();
    Some(Topology::new(assembly_name("t"), elements, relationships))
}

/// Two concurrent intents, one for each assembly, and the interruptions of their processes.
#[derive(Debug, Clone)]
struct Round {
    one: u8,
    other: u8,
    which: u8,
    cuts: (Option<Interruption>, Option<Interruption>),
}

fn round() -> impl Strategy<Value = Round> {
    (0..4_u8, 0..4_u8, any::<u8>(), (interruption(), interruption()))
        .prop_map(|(one, other, which, cuts)| Round { one, other, which, cuts })
}

/// Returns the intent with a given number.
fn ask(session: &Session, what: u8, which: u8, topology: &Topology) -> Request {
    let resources = topology.elements().iter().filter(|element| element.kind == ElementKind::Resource);
    let resources: Vec<_> = resources.map(|element| element.name.clone()).collect();
    match what {
        0 => Intent::Down.into(),
        1 => Intent::Heal(resources[usize::from(which) % resources.len()].clone()).into(),
        2 => Intent::SetState(State::Inactive).into(),
        _ => Request::up(session.desired(topology)),
    }
}

/// Tells whether windlass refuses an intent for one of three reasons: the other assembly must change first, the assembly
/// of the intent does not exist, or a heal would have to replace another part.
fn is_told_to_wait(error: &EngineError) -> bool {
    use EngineError as E;
    matches!(
        error,
        E::Referenced { .. }
            | E::Entangled { .. }
            | E::Interrupted(_)
            | E::Converging { .. }
            | E::ReferenceGone { .. }
            | E::Unknown { .. }
            | E::GoingDown(_)
            | E::NotPermitted(_)
            | E::Stopped
            | E::Store(StoreError::Held { .. })
    )
}

/// Brings both assemblies up without faults, each as soon as the other permits it.
async fn both_arrive(session: &mut Session, order: [&Topology; 2]) {
    for round in 0..6 {
        // An operator overrides a refusal that does not end.
        session.rig.options.force = round >= 3;
        let mut arrived = 0;
        for topology in order {
            let ask = Request::up(session.desired(topology));
            match session.ask_and_answer(topology.name().as_str(), &ask, None).await {
                Fate::Ended(ProcessStatus::Completed, _) => arrived += 1,
                Fate::Refused(error) if is_told_to_wait(&error) || !session.lost.is_empty() => {}
                Fate::Ended(..) if !session.lost.is_empty() => {}
                // Operations cannot be called on missing parts of the other assembly, which must be brought
                // up first. That may be refused until the operator overrides it.
                Fate::Ended(ProcessStatus::Failed, _) if round <= 3 => {}
                other => panic!("{other:?}"),
            }
        }
        if arrived == 2 && session.replaced_all() {
            session.rig.options.force = false;
            return;
        }
    }
    panic!("they wait for each other");
}

proptest! {
    #![proptest_config(few(CASES))]

    /// After any crashes, and in any order of resumption, both assemblies reach their desired states.
    #[test]
    fn two_assemblies_under_two_leases(
        (a, b) in versions(),
        (trouble, _) in trouble(),
        rounds in proptest::collection::vec(round(), 1..4),
        pre in any::<bool>(),
        other_first in any::<bool>(),
    ) {
        let other = b.topology_of("o");
        let one = linked(&a, &other, pre);
        prop_assume!(one.is_some());
        let one = one.expect("it is there");
        prop_assume!(has_order(&one) && has_order(&other));
        on_virtual_time(async {
            let mut session = Session::new(trouble, false);
            session.world.allow_more_jobs();
            session.settles(&other).await;
            for round in &rounds {
                session.luck(false);
                let asks = (ask(&session, round.one, round.which, &one), ask(&session, round.other, round.which, &other));
                let fates = futures::join!(
                    session.ask("t", asks.0, round.cuts.0),
                    session.ask("o", asks.1, round.cuts.1)
                );
                for fate in [fates.0, fates.1] {
                    match fate {
                        Fate::Refused(error) if !is_told_to_wait(&error) && session.lost.is_empty() => panic!("{error}"),
                        _ => {}
                    }
                }
            }
            session.luck(true);
            both_arrive(&mut session, if other_first { [&other, &one] } else { [&one, &other] }).await;
            session.is_as_asked(&one).await;
            session.is_as_asked(&other).await;
            session.goes("t").await;
            session.goes("o").await;
        });
    }
}
