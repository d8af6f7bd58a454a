//! Selects process names for the outcome of a job. The outcome names the processes that the job has left running.
//!
//! The build script also compiles this file into the programs that run inside containers. These programs have
//! only the standard library.

use std::collections::BTreeSet;

/// Maximum number of process names in one outcome. The named processes are those that a job has left running.
pub(crate) const LEFT_BEHIND: usize = 8;

/// Maximum length of a process name in an outcome, in bytes. The kernel keeps 15 bytes of a process name. Each of these
/// bytes may be invalid UTF-8 and then becomes `�`, which has three bytes.
pub(crate) const MAX_NAME: usize = 45;

/// Selects the process names to report: sorts `names`, and removes duplicates. Returns at most [`LEFT_BEHIND`] names,
/// each cut to [`MAX_NAME`] bytes.
pub(crate) fn reported(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let cut = |mut name: String| {
        while name.len() > MAX_NAME {
            name.pop();
        }
        name
    };
    let names: BTreeSet<String> = names.into_iter().map(cut).collect();
    names.into_iter().take(LEFT_BEHIND).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_different_few_and_short() {
        let names = |text: &str| reported(text.split(' ').map(str::to_owned));
        assert_eq!(names("sleep cat sleep"), ["cat", "sleep"]);
        assert_eq!(names("9 8 7 6 5 4 3 2 1"), ["1", "2", "3", "4", "5", "6", "7", "8"]);
        assert_eq!(names(&"é".repeat(30)), ["é".repeat(22)]);
    }
}
