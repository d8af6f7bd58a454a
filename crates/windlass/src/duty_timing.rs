//! The times of the repeated duties of applications, for the daemon and for simulations. A duty is a health
//! check or a discovery.

use std::time::Duration;

use windlass_cron::{CronExpression, Zone};
use windlass_engine::schedule::Timing;

/// Returns the times of health checks. The checks of many assemblies are spread over the period.
pub(crate) fn of_checks(period: Duration) -> Timing {
    Timing::Every { period, jitter: period }
}

/// Returns the times of a discovery. The expression is evaluated in UTC.
pub(crate) fn of_discovery(expression: CronExpression) -> Timing {
    Timing::Cron { expression, zone: Zone::UTC }
}
