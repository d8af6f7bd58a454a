//! Changes of a group in batches: failed relationships, and nodes that leave the group.

use windlass_engine::{Desired, Ended, EngineError};
use windlass_model::assembly::{Cluster, MaxUnavailable, OnFailure, Property, Update};
use windlass_model::record::{Effect, Intent, ProcessStatus};
use windlass_model::{State, Template};

use crate::support::puppet::Act;
use crate::support::{Rig, Sketch, element};

/// Returns a group of nodes that change one by one, related to a balancer.
fn nodes(count: u32, value: &str, update: Update) -> Desired {
    let update = Update { max_unavailable: Some(MaxUnavailable::ONE), ..update };
    let cluster = Cluster { minimum: 1, maximum: Some(3), increment: 1 };
    let group = Sketch::new(&["lb"]).group("g", count, cluster).updated("g", update);
    let group = group.relate("g", "lb").made_at(State::Active);
    let value = || Property { value: Some(Template::literal(value)), ..Property::default() };
    (1..=count).fold(group, |group, node| group.property(&format!("g__{node}"), "in", value())).desired()
}

fn rolls_back() -> Update {
    Update { on_failure: OnFailure::Rollback, ..Update::default() }
}

#[tokio::test(start_paused = true)]
async fn a_failed_relationship_is_a_failure_of_its_batch() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", rolls_back())).await.unwrap();
    rig.strings.act("lb Join", Act::Fail);
    let ended = rig.up(nodes(3, "b", rolls_back())).await.unwrap();
    assert_eq!(ended.process.status, ProcessStatus::Failed);
    assert_eq!(ended.failed_group, Some(element("t__g")));
    let stopped = rig.strings.calls().iter().filter(|call| call.ends_with("Stop")).count();
    assert_eq!(stopped, 1, "the next batch does not begin");
}

/// A node that is no longer desired can be left out again and again.
#[tokio::test(start_paused = true)]
async fn a_node_that_has_left_the_group_can_be_excepted_again() {
    let rig = Rig::new(Effect::Once);
    rig.up(nodes(3, "a", Update::default())).await.unwrap();
    let up = async |value: &str| -> Result<Ended, EngineError> {
        let mut desired = nodes(2, value, Update::default());
        desired.options.except = [element("t__g__3")].into();
        rig.up(desired).await
    };
    for value in ["a", "a", "b", "b"] {
        let ended = up(value).await.unwrap();
        assert_eq!(ended.process.status, ProcessStatus::Completed);
        assert_eq!(rig.look("t").await.elements[&element("t__g__3")].state, State::Active);
    }
    let error = rig.ask("t", Intent::Heal(element("t__g__3"))).await.unwrap_err().to_string();
    let told = "`g__3` is no longer a part of the assembly; `windlass up` removes it, or keeps it if the descriptor has it again";
    assert_eq!(error, told);
    rig.up(nodes(2, "b", Update::default())).await.unwrap();
    assert!(!rig.look("t").await.elements.contains_key(&element("t__g__3")));
}
