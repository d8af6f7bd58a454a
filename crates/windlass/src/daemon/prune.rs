//! Daily removal of old processes and versions.

use std::time::Duration;

use super::Notice;
use crate::open::Windlass;

/// Interval between two prunes of the daemon.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// Prunes all assemblies at once and then once a day; never returns. A failure is reported, and pruning
/// is retried the next day.
pub async fn keep_pruned(
    windlass: &Windlass,
    tell: &(dyn Fn(Notice) + Send + Sync),
) -> std::convert::Infallible {
    let mut day = tokio::time::interval(EVERY);
    day.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        day.tick().await;
        if let Err(error) = windlass.upkeep().prune(None, windlass.project.retention(), false).await {
            tell(Notice::Trouble(format!("old processes can't be removed: {error}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::open::Settings;

    #[tokio::test(start_paused = true)]
    async fn the_daemon_prunes_at_once_and_then_once_a_day() {
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("windlass.yaml"), "version: 1\n").unwrap();
        std::fs::create_dir(project.path().join(".windlass")).unwrap();
        // Pruning fails each time, and the failure is reported.
        std::fs::write(project.path().join(".windlass/state.db"), "this is no database").unwrap();
        let windlass = Windlass::open(Settings::new(project.path())).unwrap();
        let (begun, told) = (tokio::time::Instant::now(), Mutex::new(Vec::new()));
        let tell = |_| told.lock().unwrap().push(begun.elapsed().as_secs() / 3600);
        let three_days = Duration::from_secs(3 * 24 * 3600 + 1);
        tokio::time::timeout(three_days, keep_pruned(&windlass, &tell)).await.unwrap_err();
        assert_eq!(*told.lock().unwrap(), [0, 24, 48, 72]);
    }
}
