//! Schedules of discovery, by their text: Quartz expressions of six or seven fields.

/// The finding about a schedule that its text alone shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// It is not of the form of a Quartz expression; holds the number of fields.
    Malformed(usize),
    /// It may fire twice within a minute.
    UnderMinute,
    /// It fires at one second of a minute.
    Fine,
}

impl Schedule {
    /// Inspects the text of a schedule.
    ///
    /// Only the first field, the seconds, decides whether it fires twice within a minute: with one second, two
    /// fires are a minute apart or more. The crate of Quartz expressions validates the other fields.
    pub(crate) fn of(text: &str) -> Self {
        let fields: Vec<&str> = text.split_whitespace().collect();
        if !matches!(fields.len(), 6 | 7) {
            return Self::Malformed(fields.len());
        }
        let is_one = |seconds: &str| seconds.parse::<u8>().is_ok();
        // A step of zero is ignored, so `5/0` is `5`.
        let seconds = fields[0].strip_suffix("/0").unwrap_or(fields[0]);
        if is_one(seconds) { Self::Fine } else { Self::UnderMinute }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::of_the_examples("0/30 * * * * ? *", Schedule::UnderMinute)]
    #[case::each_second("* * * * * ? *", Schedule::UnderMinute)]
    #[case::two_seconds("0,30 * * * * ?", Schedule::UnderMinute)]
    #[case::range("0-5 0 0 * * ?", Schedule::UnderMinute)]
    #[case::five_minutes("0 0/5 * * * ? *", Schedule::Fine)]
    #[case::no_step("0/0 * * * * ? *", Schedule::Fine)]
    #[case::unix("*/5 * * * *", Schedule::Malformed(5))]
    #[case::empty("", Schedule::Malformed(0))]
    fn seconds_decide(#[case] text: &str, #[case] found: Schedule) {
        assert_eq!(Schedule::of(text), found);
    }
}
