//! Decides from the answer of a health check whether an action has succeeded. For example, Stop has succeeded if the
//! health check reports that the instance is not active.

use windlass_driver::{Call, Observation, Observed, Question};
use windlass_model::instance::InstanceView;
use windlass_model::{Action, Transition};

use crate::answer::Answer;
use crate::role::Role;

/// Returns the observation for the action of a call. The observation follows from the answer of the health check.
/// `role` is the role of the script for this action.
///
/// A status has three flags: `active`, `converging` and `failed`. A flag that the health check does not set keeps its
/// recorded value. If the health check sets all three flags to false, the instance is gone: it no longer exists. The
/// first row that fits the reported status applies:
///
/// | reported status | Start, Integrity | Stop | destroy | launch | any other action |
/// |---|---|---|---|---|---|
/// | `converging` is true | converging | converging | converging | converging | converging |
/// | the instance is gone | absent | reached | reached | absent | absent |
/// | `failed` is true | differs | differs | differs | differs | can't tell |
/// | `active` is true | reached | differs | differs | reached | can't tell |
/// | no flag is true, but the health check did not set all three | differs | reached | differs | reached | can't tell |
///
/// Each column applies to the actions in its heading. The headings "destroy" and "launch" are roles of scripts: the
/// column applies to all actions whose script has this role. For example, the column "launch" applies to Create.
/// Each cell is a variant of [`Observation`].
///
/// The entry "can't tell" has this reason: a status does not show whether an instance was configured, or whether an
/// operation was performed.
///
/// The table has three exceptions:
///
/// - The instance was converging, and the job of the action was not lost ([`Question::Settled`]). Then the last two
///   rows give "reached" for all actions, except that an active instance still differs after Stop and destroy.
/// - An application is destroyed, and the job of the destroy script was not lost. The observation is converging until
///   the health check reports that the instance is gone or that `failed` is true.
/// - The health check reports no status, and the second exception does not apply. If the recorded status is converging,
///   the observation is converging. Otherwise, the observation is "can't tell", or "unanswered" if the output has no
///   entry for the instance.
pub(crate) fn observation(role: Option<&Role>, call: &Call, answer: &Answer) -> Observation {
    // An application is destroyed only when a script reports that the instance no longer exists or has failed.
    let is_destroy = matches!(role, Some(Role::Destroy)) && call.package.pins().is_some();
    let is_awaited = call.question == Question::Settled;
    if is_destroy && is_awaited && !answer.status.as_ref().is_some_and(|said| said.gone || said.status.failed)
    {
        return Observation::Converging;
    }
    let Some(said) = &answer.status else {
        return match unchanged(call, "the health check reports no status") {
            Observation::CannotTell(_) if answer.is_missing => Observation::Unanswered,
            observation => observation,
        };
    };
    let action = &call.action;
    let goal = Goal::of(role, action);
    let status = &said.status;
    let differs = |what: &str| Observation::Differs(with_message(what, status.message.as_deref()));
    match goal {
        _ if status.converging => Observation::Converging,
        Goal::Resting | Goal::Gone if said.gone => Observation::Reached,
        _ if said.gone => Observation::Absent,
        Goal::Unseen if status.failed => {
            let what = format!("it reports a failure, which doesn't show whether {action} was done");
            Observation::CannotTell(with_message(&what, status.message.as_deref()))
        }
        _ if status.failed => differs("it reports a failure"),
        Goal::Active if status.active => Observation::Reached,
        Goal::Resting if status.active => differs("it is still active"),
        Goal::Gone if status.active => differs("it is still there"),
        Goal::Resting | Goal::There => Observation::Reached,
        _ if is_awaited => Observation::Reached,
        Goal::Active => differs("it is not active"),
        Goal::Gone => differs("it is still there"),
        Goal::Unseen => {
            Observation::CannotTell(format!("a health check doesn't show whether {action} was done"))
        }
    }
}

/// Returns the observation for the action of a call, together with the report that `answer` contains. `answer` is the
/// answer of the health check.
pub(crate) fn observed(call: &Call, answer: Answer) -> Observed {
    let asked = Role::of(&call.package, &call.action);
    let observation = observation(asked.as_ref(), call, &answer);
    Observed { observation, report: answer.report }
}

/// Returns the observation for an instance whose status was not reported. If the recorded status of the instance is
/// converging, the observation is converging. Otherwise, the state of the instance is unknown, and `why` is the
/// reason.
pub(crate) fn unchanged(call: &Call, why: &str) -> Observation {
    if InstanceView::new(&call.document).status().converging {
        Observation::Converging
    } else {
        Observation::CannotTell(why.to_owned())
    }
}

/// The state that an action should reach, as far as a health check can observe it.
pub(crate) enum Goal {
    Active,
    Resting,
    Gone,
    There,
    Unseen,
}

impl Goal {
    pub(crate) fn of(role: Option<&Role>, action: &Action) -> Self {
        match (role, action) {
            (Some(Role::Launch), _) => Self::There,
            (Some(Role::Destroy), _) => Self::Gone,
            (_, Action::Transition(Transition::Start | Transition::Integrity)) => Self::Active,
            (_, Action::Transition(Transition::Stop)) => Self::Resting,
            _ => Self::Unseen,
        }
    }
}

pub(crate) fn with_message(what: &str, message: Option<&str>) -> String {
    match message {
        Some(message) => format!("{what}: {message}"),
        None => what.to_owned(),
    }
}
