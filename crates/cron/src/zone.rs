//! Time zones, and fire times in them.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};

use crate::expression::CronExpression;

/// A time zone: UTC, or a time zone of the IANA database, such as `Europe/Berlin`.
///
/// A zone is parsed from its name, in any letter case. It is also parsed from rules in the form of the POSIX
/// variable `TZ`, such as `CET-1CEST,M3.5.0,M10.5.0/3`. Names are looked up in the database of the system.
/// With the feature `bundled-zones`, the program contains a database for systems without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// The error for the name of a zone that the database lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no time zone `{0}`: expected a name of the IANA database, such as `UTC` or `Europe/Berlin`"
)]
pub struct UnknownZone(String);

/// The error for a text that is no point in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no time: expected one such as `2026-01-31T08:15:30Z`, `2026-01-31T09:15:30+01:00` or `2026-01-31T08:15`"
)]
pub struct TimeError(String);

impl Zone {
    /// The time zone UTC.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Reads a point in time: a text of RFC 3339, or a date with an optional time of day in this zone.
    ///
    /// If the clocks of the zone skip this time of day, the length of the gap is added: if 02:00 to 03:00 is
    /// skipped, `02:30` is read as `03:30`. If this time of day occurs twice, the result is the first
    /// occurrence.
    ///
    /// # Errors
    /// Returns an error if the text has none of these forms, or if the time is outside of the years -9999 to
    /// 9999.
    pub fn time(&self, text: &str) -> Result<SystemTime, TimeError> {
        let local = || Some(text.parse::<DateTime>().ok()?.to_zoned(self.0.clone()).ok()?.timestamp());
        let time = text.parse::<Timestamp>().ok().or_else(local);
        time.map(SystemTime::from).ok_or_else(|| TimeError(text.to_owned()))
    }

    /// Displays a point in time as RFC 3339 to the second, with the offset of this zone:
    /// `2026-01-31T09:15:30+01:00`; `Z` in UTC.
    pub fn display(&self, time: SystemTime) -> impl fmt::Display {
        let time = timestamp(time);
        if self.0 == TimeZone::UTC {
            format!("{time:.0}")
        } else {
            format!("{:.0}", time.display_with_offset(self.0.to_offset(time)))
        }
    }

    /// Returns the local time at which the search for the next fire time begins. In most cases, this is the first
    /// full second after `after`.
    ///
    /// The exception is an hour that occurs twice because the clocks go back. If `after` is in the first occurrence of
    /// this hour, the search begins at the start of the second occurrence.
    ///
    /// Returns `None` if the result is after the year 9999.
    fn start(&self, after: Timestamp) -> Option<DateTime> {
        let local = self.0.to_datetime(after);
        if let AmbiguousOffset::Fold { before, after: second } = self.0.to_ambiguous_timestamp(local).offset()
            && before == self.0.to_offset(after)
        {
            // `after` is in a repeated hour, before the clocks go back. The search continues at the start of the
            // repetition.
            let fold = self.0.following(after).next()?.timestamp();
            return Some(second.to_datetime(fold));
        }
        let second = local.with().subsec_nanosecond(0).build().ok()?;
        second.checked_add(1.second()).ok()
    }
}

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(name: &str) -> Result<Self, UnknownZone> {
        if name.eq_ignore_ascii_case("UTC") || name == "Z" {
            return Ok(Self::UTC);
        }
        let zone = TimeZone::get(name).or_else(|_| TimeZone::posix(name));
        zone.map(Self).map_err(|_| UnknownZone(name.to_owned()))
    }
}

/// Converts a time to a timestamp. A time outside of the range of timestamps becomes the nearest timestamp.
fn timestamp(time: SystemTime) -> Timestamp {
    let limit = if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(limit)
}

impl CronExpression {
    /// Returns the first fire time after `after`, in UTC. Returns `None` if no selected year is left, or if
    /// the selected date never occurs, such as 30 February.
    ///
    /// ```
    /// use windlass_cron::{CronExpression, Zone};
    ///
    /// let expression: CronExpression = "0 0 12 L 2 ?".parse()?;
    /// let next = expression.next(Zone::UTC.time("2026-03-01")?).expect("there is a next one");
    /// assert_eq!(Zone::UTC.display(next).to_string(), "2027-02-28T12:00:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next(&self, after: SystemTime) -> Option<SystemTime> {
        self.next_in(&Zone::UTC, after)
    }

    /// Returns the first fire time after `after`, in a zone.
    ///
    /// A local time that the zone skips is no fire time: `0 30 2 * * ?` does not fire on the day on which
    /// clocks go from 02:00 to 03:00. If a local time occurs twice, only the second occurrence is a fire
    /// time.
    pub fn next_in(&self, zone: &Zone, after: SystemTime) -> Option<SystemTime> {
        let after = timestamp(after);
        let mut from = zone.start(after)?;
        loop {
            let local = self.first_from(from)?;
            let offset = match zone.0.to_ambiguous_timestamp(local).offset() {
                AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { after: offset, .. } => {
                    offset
                }
                AmbiguousOffset::Gap { before, .. } => {
                    // `local` lies in a gap, because the clocks of the zone skip this time. The search continues
                    // with the first local time after the gap. The gap ends at the last change of the zone's
                    // offset before `inside`.
                    let inside = before.to_timestamp(local).ok()?.checked_add(1.second()).ok()?;
                    let gap = zone.0.preceding(inside).next()?;
                    from = gap.offset().to_datetime(gap.timestamp());
                    continue;
                }
            };
            let time = offset.to_timestamp(local).ok()?;
            if time > after {
                return Some(time.into());
            }
            from = local.checked_add(1.second()).ok()?;
        }
    }
}
