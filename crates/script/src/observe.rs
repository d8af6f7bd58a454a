//! What a health check tells of an action.

use windlass_driver::{Call, Observation};
use windlass_model::instance::InstanceView;
use windlass_model::{Action, Transition};

use crate::answer::Answer;
use crate::role::Role;

/// Returns what the health check's answer says of an action that should have been done.
///
/// | it says | Start, Integrity | Stop | destroy | launch | all else |
/// |---|---|---|---|---|---|
/// | nothing | as before | as before | as before | as before | as before |
/// | converging | converging | converging | converging | converging | converging |
/// | all flags false | absent | reached | reached | absent | absent |
/// | failed | differs | differs | differs | differs | differs |
/// | active | reached | differs | differs | reached | can't tell |
/// | not active | differs | reached | differs | reached | can't tell |
///
/// That an instance is there and well doesn't say whether it was configured, or what an operation did to it.
pub(crate) fn observation(role: Option<&Role>, call: &Call, answer: &Answer) -> Observation {
    let Some(said) = &answer.status else {
        return unchanged(call, "the health check says nothing of its status");
    };
    let action = &call.action;
    let goal = Goal::of(role, action);
    let status = &said.status;
    let differs = |what: &str| Observation::Differs(with_message(what, status.message.as_deref()));
    match goal {
        _ if status.converging => Observation::Converging,
        Goal::Resting | Goal::Gone if said.gone => Observation::Reached,
        _ if said.gone => Observation::Absent,
        _ if status.failed => differs("it reports a failure"),
        Goal::Active if status.active => Observation::Reached,
        Goal::Active => differs("it is not active"),
        Goal::Resting if status.active => differs("it is still active"),
        Goal::Resting | Goal::There => Observation::Reached,
        Goal::Gone => differs("it is still there"),
        Goal::Unseen => {
            Observation::CannotTell(format!("a health check doesn't show whether {action} was done"))
        }
    }
}

/// What is seen of an instance of which nobody says anything: what was converging still is, until its time is over.
pub(crate) fn unchanged(call: &Call, why: &str) -> Observation {
    if InstanceView::new(&call.document).status().converging {
        Observation::Converging
    } else {
        Observation::CannotTell(why.to_owned())
    }
}

/// What an action should bring about, as far as a health check can see it.
enum Goal {
    Active,
    Resting,
    Gone,
    There,
    Unseen,
}

impl Goal {
    fn of(role: Option<&Role>, action: &Action) -> Self {
        match (role, action) {
            (Some(Role::Launch), _) => Self::There,
            (Some(Role::Destroy), _) => Self::Gone,
            (_, Action::Transition(Transition::Start | Transition::Integrity)) => Self::Active,
            (_, Action::Transition(Transition::Stop)) => Self::Resting,
            _ => Self::Unseen,
        }
    }
}

fn with_message(what: &str, message: Option<&str>) -> String {
    match message {
        Some(message) => format!("{what}: {message}"),
        None => what.to_owned(),
    }
}
