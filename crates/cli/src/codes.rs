//! The codes that belong to the command line: `WL0800` to `WL0849`. The function [`all`] also returns the codes of
//! all other parts of the program.

use windlass::source::CodeInfo;

windlass::source::codes! {
    COMMAND_LINE = "WL0800", "wrong command line",
        "The arguments of the command can't be understood, or exclude each other. The message names the \
         argument and, where it is known, the right one. Nothing was done.\n\n\
         `windlass COMMAND --help` describes the arguments and has examples. `windlass completions` makes a \
         shell complete them.";
    INPUT = "WL0801", "input that can't be read",
        "A file that the command line names, or standard input, can't be read. The message gives the reason of \
         the system. Nothing was done.\n\n\
         Check the path and its permissions. For a document of more than 16 MiB, add `--max-size`.";
    OUTPUT = "WL0802", "output that can't be written",
        "Standard output, or a file that the command writes, does not accept the output. The message gives the \
         reason of the system, such as a full disk. The work of the command itself may be complete: \
         `windlass status` and `windlass log` show what is recorded.\n\n\
         Correct the problem, and run the command again if its output is needed.";
    START = "WL0803", "program that can't start",
        "The system refuses a thread or a file descriptor that the program needs before it does anything. \
         Nothing was done.\n\n\
         Check the limits of the user: `ulimit -u` (processes) and `ulimit -n` (open files).";
    UNKNOWN_CODE = "WL0804", "unknown code",
        "No error of windlass has this code.\n\n\
         A code follows the word `error`, `warning` or `note` in brackets, such as `WL0112`. Its number alone \
         is sufficient: `windlass explain 112`.";
    UNKNOWN_OUTPUT = "WL0805", "unknown output",
        "The assembly has no output of this name, or the output has no value yet. Nothing was changed.\n\n\
         `windlass output NAME` lists the outputs with their values. An output gets its value when the part \
         that publishes it is installed.";
    UNKNOWN_STEP = "WL0806", "unknown step",
        "The plan has no step with this number. Nothing was changed.\n\n\
         `windlass plan FILE` shows the steps with their numbers. The numbers are valid for one plan only: \
         after a change, another step may have the same number.";
    CRON = "WL0807", "bad schedule",
        "The text is no Quartz cron expression. A Quartz expression has six or seven fields: second, minute, \
         hour, day of the month, month, day of the week, and optionally the year. One of the two fields for days \
         is `?`. The message names the wrong field and the values that it accepts.\n\n\
         A Quartz expression begins with the second, and expressions of other cron programs begin with the \
         minute. For example, `0 0/5 * * * ?` is every five minutes.";
    TIME = "WL0808", "bad time or time zone",
        "A time has the form of RFC 3339, with or without an offset, and a zone is a name of the IANA database. \
         Nothing was computed.\n\n\
         Write `--zone Europe/Berlin --from 2030-01-31T08:00:00`.";
    UPDATE = "WL0809", "bad update or document",
        "The file is no update, or the update breaks the rules of its document: a path that the document can't \
         have, a value of another type, or a value that may not be changed. Nothing was printed.\n\n\
         `--trusted` allows the changes that only windlass makes, and `--untyped` accepts any document. See \
         `windlass update --help`.";
    NO_IMAGE_FOLDER = "WL0810", "no folder for images",
        "Images are kept in `windlass/images` of the user's cache, and neither `XDG_CACHE_HOME` nor `HOME` says \
         where that is. Nothing was done.\n\n\
         Set `XDG_CACHE_HOME` to an absolute path.";
    FORGET = "WL0811", "forgetting without a consent",
        "`windlass forget` removes the records of components, and calls nothing. The components keep running, \
         and windlass knows nothing of them afterwards. On a terminal, it asks; elsewhere it needs `--yes`. \
         Nothing was changed.\n\n\
         `windlass forget NAME --dry-run` lists the components. To stop and remove them, run `windlass down \
         NAME` instead.";
    JOB = "WL0812", "job that did not succeed",
        "The job of `windlass exec` did not start, was stopped, or exited with another code than 0. The message \
         states how it ended. The output of the job is complete up to then.\n\n\
         Correct the command, or raise the limit that it exceeded: `--timeout` sets the time of the job.";
    SECRET_OUTPUT = "WL0813", "output that is a secret",
        "`windlass output NAME KEY --raw` prints the value of an output for other programs. This output is a \
         secret, and windlass prints no secrets: a program would get `***` in place of the value. Nothing was \
         changed.\n\n\
         To use the secret in another component, pass it to a property of the component by `${…}`. To give it \
         to a person or a program, let a script write it to the place where they expect it, such as a file or \
         a secret store. Without `--raw`, the command prints `***`.";
}

/// Returns all codes that `windlass explain` explains, sorted.
pub(crate) fn all() -> Vec<&'static CodeInfo> {
    let mut all = windlass::explain::codes();
    all.extend(windlass_spiff::codes::CODES.iter().chain(CODES));
    all.sort_by_key(|info| info.code.as_str());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass::source::code_problems(CODES, 800..=849), Vec::<String>::new());
    }

    #[test]
    fn every_code_is_there_once() {
        let codes: Vec<&str> = all().iter().map(|info| info.code.as_str()).collect();
        let mut unique = codes.clone();
        unique.dedup();
        assert_eq!(codes, unique);
    }

    /// Each table of codes in the source files of the workspace is part of [`all`].
    #[test]
    fn no_table_is_missing() {
        let mut open = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))];
        let known: Vec<&str> = all().iter().map(|info| info.code.as_str()).collect();
        let mut tables = 0;
        while let Some(folder) = open.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    open.push(path);
                } else if path.ends_with("codes.rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let codes = text.split(" = \"").skip(1).map(|rest| &rest[..6]);
                    let codes: Vec<&str> = codes.filter(|code| code.starts_with("WL")).collect();
                    tables += usize::from(!codes.is_empty());
                    let missing: Vec<&&str> = codes.iter().filter(|code| !known.contains(code)).collect();
                    assert!(missing.is_empty(), "{}: {missing:?}", path.display());
                }
            }
        }
        assert!(tables > 10, "{tables}");
    }
}
