//! The failures of calls. A call fails if its job did not succeed, or if the output of its script can't be used.

use serde_json::Value;
use windlass_driver::{Call, Failure, FailureKind};
use windlass_executor::{Captured, End, Limits, Outcome, StartFailure};
use windlass_secret::Redactor;
use windlass_source::{Diagnostic, Place};

/// Maximum number of bytes of a stream that a failure contains.
const TAIL_BYTES: usize = 4 << 10;

/// Maximum number of characters of a plain script's message about the status.
const MESSAGE_CHARS: usize = 400;

/// Maximum number of characters shown of a line of output.
const LINE_CHARS: usize = 120;

/// Creates the failures for a script, and masks the secrets in them.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    script: String,
    redactor: Redactor,
}

impl Reporter {
    /// Creates a reporter that masks the given secrets. `script` is the name of the script in messages.
    pub(crate) fn new(script: &str, secrets: &[String]) -> Self {
        Self { script: script.to_owned(), redactor: Redactor::new(secrets) }
    }

    /// Creates a reporter for the script of some calls. The reporter masks the secrets of the calls, and the
    /// secrets that the script published.
    pub(crate) fn of(script: &str, calls: &[&Call], published: &[String]) -> Self {
        let given = calls.iter().flat_map(|call| call.secrets());
        Self::new(script, &given.chain(published.iter().cloned()).collect::<Vec<_>>())
    }

    /// Replaces the secrets of this reporter in a text by `***`.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.redactor.mask_str(text)
    }

    /// Replaces the secrets of this reporter in the texts, keys and numbers of JSON data by `***`.
    pub(crate) fn mask_value(&self, value: &mut Value) {
        self.redactor.mask_value(value);
    }

    /// Checks that a job has succeeded: that its exit code is 0. If the job has not succeeded, returns a failure.
    /// The end of the job determines the kind of the failure:
    ///
    /// | end of the job | kind of the failure |
    /// |---|---|
    /// | another exit code, a signal, a cancellation | failed |
    /// | time limit exceeded | timeout |
    /// | out of memory | capacity |
    /// | not executable: no executable bit for the user, or an unknown format | refused |
    /// | no interpreter, no working folder, or another problem before the start | infrastructure |
    /// | unknown | lost |
    pub(crate) fn check(&self, outcome: &Outcome, limits: &Limits) -> Result<(), Failure> {
        let kind = match &outcome.end {
            End::Exited(0) => return Ok(()),
            End::TimedOut => FailureKind::Timeout,
            End::OutOfMemory => FailureKind::Capacity,
            End::NotStarted(StartFailure::NotExecutable { .. }) => FailureKind::Refused,
            End::NotStarted(_) => FailureKind::Infrastructure,
            End::Lost(_) => FailureKind::Lost,
            _ => FailureKind::Failed,
        };
        Err(self.failed(kind, &outcome.end.under(limits), &self.tail(&outcome.stderr)))
    }

    /// Returns the failure of the script. `what` continues a sentence that begins with the name of the
    /// script.
    pub(crate) fn failed(&self, kind: FailureKind, what: &str, detail: &str) -> Failure {
        self.failure(kind, &format!("`{}` {what}", self.script), detail)
    }

    /// Returns a failure with the texts `message` and `detail`, in which secrets are masked.
    pub(crate) fn failure(&self, kind: FailureKind, message: &str, detail: &str) -> Failure {
        Failure::new(kind, self.mask(message)).with_detail(self.mask(detail))
    }

    /// Returns the failure for an output that violates the protocol: the problems with their places, then the
    /// end of stderr.
    pub(crate) fn protocol(&self, problems: &[Diagnostic], stderr: &Captured) -> Failure {
        let first = problems.first().map_or("it breaks the protocol", |problem| problem.message.as_str());
        let message = match problems.len() {
            0 | 1 => format!("the output of `{}` can't be used: {first}", self.script),
            n => format!("the output of `{}` can't be used: {first} (and {} more)", self.script, n - 1),
        };
        let mut detail: String = problems.iter().map(|problem| self.described(problem)).collect();
        let stderr = self.tail(stderr);
        if !stderr.trim().is_empty() {
            detail.push_str("stderr:\n");
            detail.push_str(&stderr);
        }
        self.failure(FailureKind::Protocol, &message, detail.trim_end())
    }
}

impl Reporter {
    /// Formats a problem of a script's output as text. The text begins with the problem's message. Below the message,
    /// the text shows the affected line of the output, the related places, and the help.
    fn described(&self, problem: &Diagnostic) -> String {
        let line = problem.place().and_then(|place| self.line_of(place)).map(|line| format!("| {line}"));
        let related = problem.related.iter().map(|label| format!("{}: {}", label.place, label.text));
        let help = problem.help.iter().map(|help| format!("help: {help}"));
        let more: Vec<_> =
            line.into_iter().chain(related).chain(help).map(|line| format!("    {line}\n")).collect();
        format!("{problem}\n{}", more.concat())
    }

    /// Returns the line at a place in the output of a script, shortened to [`LINE_CHARS`] characters. Returns
    /// `None` if the line is blank.
    ///
    /// Secrets are masked before the line is shortened. Otherwise, a part of a secret could stay at the end of the
    /// shortened line, and the masking would not find this part.
    fn line_of(&self, place: &Place) -> Option<String> {
        let line = place.source().line(place.start().line)?;
        let text = self.mask(place.source().slice(line));
        let shown: String = text.chars().take(LINE_CHARS).collect();
        (!shown.trim().is_empty()).then(|| if shown.len() < text.len() { format!("{shown}…") } else { shown })
    }

    /// Returns the last line that a plain script wrote on stderr, shortened to [`MESSAGE_CHARS`] characters. Blank
    /// lines are ignored. Returns `None` if all lines are blank. The caller uses the line as the message of the status
    /// that the exit code of the script reports.
    ///
    /// Secrets are masked before the line is shortened, for the reason that [`line_of`](Self::line_of) gives.
    pub(crate) fn message(&self, stderr: &Captured) -> Option<String> {
        let text = stderr.masked(&self.redactor);
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(last.chars().take(MESSAGE_CHARS).collect())
    }

    /// Returns the last [`TAIL_BYTES`] bytes of a stream, from the beginning of a line if possible. If the stream
    /// is longer, the returned text begins with the line `[…]`.
    ///
    /// Secrets are masked before the stream is cut. Otherwise, a part of a secret could stay at the beginning of
    /// the returned text, and the masking would not find this part.
    fn tail(&self, stream: &Captured) -> String {
        let text = stream.masked(&self.redactor);
        let text = text.trim_end();
        let cut = text.len().saturating_sub(TAIL_BYTES);
        if cut == 0 {
            return text.to_owned();
        }
        let start = (cut..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
        let rest = &text[start..];
        let rest = rest.split_once('\n').map_or(rest, |(_, lines)| lines);
        format!("[…]\n{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_begins_with_a_line() {
        let lines: Vec<_> = (0..2000).map(|n| format!("line {n}\n")).collect();
        let tail = Reporter::new("x", &[]).tail(&Captured::whole(lines.concat()));
        assert!(tail.starts_with("[…]\nline "), "{tail}");
        assert!(tail.ends_with("line 1999"));
        assert!(tail.len() <= TAIL_BYTES + 8);
    }

    #[test]
    fn a_tail_of_one_long_line_is_cut_between_characters() {
        let tail = Reporter::new("x", &[]).tail(&Captured::whole("é".repeat(TAIL_BYTES)));
        assert!(tail.ends_with('é') && tail.len() <= TAIL_BYTES + 8);
    }

    #[test]
    fn a_secret_across_a_cut_is_masked() {
        let secret = "hunter2-Tr0ub4dor&3".to_owned();
        let reporter = Reporter::new("x", std::slice::from_ref(&secret));
        for left in 0..=secret.len() {
            let rest = "x".repeat(TAIL_BYTES - left);
            let tail = reporter.tail(&Captured::whole(format!("{rest}{secret}{rest}")));
            assert!(!tail.contains(|c: char| !"[…]\n*x".contains(c)), "{left}: {tail}");

            let line = format!("{}{secret}", "x".repeat(LINE_CHARS - left));
            let source = windlass_source::Source::new("stdout", line);
            let shown = reporter.line_of(&source.place(windlass_source::Span::empty(0))).unwrap();
            assert!(!shown.contains(|c: char| !"…*x".contains(c)), "{left}: {shown}");

            let stderr = Captured::whole(format!("{}{secret}\n", "x".repeat(MESSAGE_CHARS - left)));
            let message = reporter.message(&stderr).unwrap();
            assert!(!message.contains(|c: char| !"*x".contains(c)), "{left}: {message}");
        }
    }
}
