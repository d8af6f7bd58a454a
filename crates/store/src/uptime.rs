//! Monotonic time that all programs of one machine share.
//!
//! The wall clock may jump, because of NTP, a person, or the resume of a virtual machine. A lease that is measured
//! by the wall clock may then expire early, or never. The kernel's monotonic clock never jumps. It stops while the
//! machine sleeps. So a lease does not expire while the holder on this machine sleeps.

use windlass_model::Timestamp;

/// A point in time on the monotonic clock of one boot of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// The boot id and the time namespace. Ticks of different boots can't be compared.
    pub boot: String,
    /// Milliseconds since a fixed point in time. All values of the type `Tick` from one boot have the same fixed
    /// point.
    pub millis: i64,
}

/// A source of monotonic time.
pub trait Uptime: Send + Sync {
    /// Returns the current tick; `None` if the system does not report its boot id.
    fn now(&self) -> Option<Tick>;
}

/// The monotonic clock of this machine's kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemUptime;

impl Uptime for SystemUptime {
    fn now(&self) -> Option<Tick> {
        system::tick()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::sync::LazyLock;

    use rustix::time::{ClockId, clock_gettime};

    use super::Tick;

    /// The boot id and the time namespace of this program, which do not change.
    static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        // Kernels before 5.6 have no time namespaces.
        let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
        Some(format!("{} {}", boot.trim(), namespace.display()).trim().to_owned())
    });

    pub(super) fn tick() -> Option<Tick> {
        let time = clock_gettime(ClockId::Monotonic);
        let millis = time.tv_sec.checked_mul(1000)?.checked_add(time.tv_nsec / 1_000_000)?;
        Some(Tick { boot: BOOT.clone()?, millis })
    }
}

/// The clock of systems other than Linux. It returns no ticks, because windlass can't read a boot id on these systems.
/// Without a boot id, windlass could not tell the ticks of different boots apart.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::Tick;

    pub(super) fn tick() -> Option<Tick> {
        None
    }
}

/// A point in time, by a clock that all programs with the same store share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The time on the store's wall clock.
    pub(crate) at: Timestamp,
    /// The time on the monotonic clock; `None` if several machines share the store, or if the boot id is not known.
    pub(crate) tick: Option<Tick>,
}

impl Moment {
    /// Creates a moment without a monotonic tick. `at` is the time of a clock that all programs share, such as the
    /// clock of a database server.
    #[cfg(any(feature = "postgres", feature = "testing", test))]
    pub(crate) fn by_clock(at: Timestamp) -> Self {
        Self { at, tick: None }
    }

    /// Returns the milliseconds since an earlier moment.
    ///
    /// After a reboot, only the times of the wall clock can be compared. If this clock was fast at the
    /// earlier moment and has been corrected since, the difference of the times may be negative. If a
    /// negative difference counted as zero, a lease would expire too late. So the absolute difference counts.
    pub(crate) fn millis_since(&self, earlier: &Self) -> u64 {
        match (&self.tick, &earlier.tick) {
            (Some(now), Some(then)) if now.boot == then.boot => {
                u64::try_from(now.millis.saturating_sub(then.millis)).unwrap_or(0)
            }
            (None, None) => self.at.millis_since(earlier.at),
            _ => self.at.as_millis().abs_diff(earlier.at.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at: i64, tick: Option<(&str, i64)>) -> Moment {
        let tick = tick.map(|(boot, millis)| Tick { boot: boot.to_owned(), millis });
        Moment { at: Timestamp::from_millis(at), tick }
    }

    #[test]
    fn a_clock_that_is_set_counts_only_across_boots() {
        let then = moment(100_000, Some(("one", 5)));
        let cases = [
            ("set forwards", moment(900_000, Some(("one", 7))), 2),
            ("set backwards", moment(100, Some(("one", 7))), 2),
            ("another boot", moment(100_002, Some(("two", 900))), 2),
            ("another boot, and set backwards", moment(50_000, Some(("two", 900))), 50_000),
            ("no boot", moment(100_003, None), 3),
        ];
        for (case, now, passed) in cases {
            assert_eq!(now.millis_since(&then), passed, "{case}");
        }
        assert_eq!(moment(100, None).millis_since(&moment(200, None)), 0, "a server's clock is believed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_counts() {
        let (first, second) = (SystemUptime.now().unwrap(), SystemUptime.now().unwrap());
        assert_eq!(first.boot, second.boot);
        assert!(first.millis <= second.millis && !first.boot.is_empty());
    }
}
