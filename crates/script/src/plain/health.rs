//! Interprets the exit code of a health check that is a plain script: a script whose exit code states its result. The
//! health check runs to find out whether an action has succeeded.

use windlass_driver::{Call, Observation};
use windlass_model::instance::InstanceView;

use super::exit::Exit;
use super::status::Status;
use crate::observe::{Goal, with_message};
use crate::role::Role;

/// Interprets the exit code of a health check, and returns an observation and a status of the instance.
///
/// The observation tells whether the action of `call` has succeeded. `role` is the role of the script for this
/// action.
///
/// Each column of the tables applies to the actions in its heading. The headings "destroy" and "launch" are roles
/// of scripts: the column applies to all actions whose script has this role. For example, the column "launch"
/// applies to Create.
///
/// Each cell is a variant of [`Observation`]. For example, "reached" means that the instance is in the state that the
/// action requests. "Differs" means that the instance exists, but is in another state.
///
/// If the recorded status of the instance is not converging, this table applies:
///
/// | exit code | Start, Integrity | Stop | destroy | launch | any other action |
/// |---|---|---|---|---|---|
/// | 0 | reached | differs | differs | reached | can't tell |
/// | 75 | converging | converging | converging | converging | converging |
/// | 104 | absent | reached | reached | absent | absent |
/// | 1 to 125, except 75 and 104 | differs | reached | can't tell | can't tell | can't tell |
///
/// If the recorded status of the instance is converging, the two rows for 75 and 104 of the table above apply. For
/// all other exit codes, this table applies:
///
/// | exit code | Integrity | Stop, destroy | any other action |
/// |---|---|---|---|
/// | 0 | reached | converging | reached |
/// | 1 to 125, except 75 and 104 | differs, and the status is `failed` | reached | converging |
pub(crate) fn observation(
    role: Option<&Role>,
    call: &Call,
    exit: Exit,
    message: Option<&str>,
) -> (Observation, Status) {
    let goal = Goal::of(role, &call.action);
    let awaited = InstanceView::new(&call.document).status().converging;
    let is_check = role == Some(&Role::HealthCheck);
    let active = exit == Exit::Success;
    let wants_active = !matches!(goal, Goal::Resting | Goal::Gone);
    let observation = match goal {
        _ if exit == Exit::Converging => Observation::Converging,
        Goal::Resting | Goal::Gone if exit == Exit::Gone => Observation::Reached,
        _ if exit == Exit::Gone => Observation::Absent,
        _ if awaited && active == wants_active => Observation::Reached,
        _ if awaited && !is_check => Observation::Converging,
        Goal::Active | Goal::There if active => Observation::Reached,
        Goal::Active => Observation::Differs(with_message("it is not active", message)),
        Goal::Resting if active => Observation::Differs("it is still active".to_owned()),
        Goal::Resting => Observation::Reached,
        Goal::Gone if active => Observation::Differs("it is still there".to_owned()),
        Goal::Gone | Goal::There => cannot_tell("whether the instance exists"),
        Goal::Unseen => cannot_tell(&format!("whether {} was done", call.action)),
    };
    let message = message.filter(|_| !active).map(str::to_owned);
    let status = if observation == Observation::Converging {
        Status::converging(message)
    } else if exit == Exit::Gone {
        Status::gone(message)
    } else {
        let failed = (awaited && is_check && matches!(observation, Observation::Differs(_))).then_some(true);
        Status { active: Some(active), converging: false, failed, message }
    };
    (observation, status)
}

fn cannot_tell(what: &str) -> Observation {
    Observation::CannotTell(format!("the exit code of a health check doesn't show {what}"))
}
