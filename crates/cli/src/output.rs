//! Printing to standard output and standard error, and formatting of values for people.

use std::borrow::Cow;
use std::fmt::{Arguments, Write as _};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, IsTerminal as _, Stdout, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use windlass::model::record::{Event, EventRecord, StepEnd};
use windlass::model::{State, Timestamp};

/// Prints a line to standard output.
macro_rules! say {
    () => { $crate::output::print_line(format_args!("")) };
    ($($part:tt)*) => { $crate::output::print_line(format_args!($($part)*)) };
}

/// Prints a line to standard error.
macro_rules! tell {
    ($($part:tt)*) => { $crate::output::tell_line(format_args!($($part)*)) };
}

pub(crate) use {say, tell};

/// The first error that occurred while printing.
static TROUBLE: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Whether printing has failed because the program that reads standard output has closed it.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Tells whether the program that reads standard output has closed it.
pub(crate) fn is_closed() -> bool {
    let stdout = std::io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    // The kernel reports a closed pipe even if no events are requested.
    let is_gone = poll(&mut polled, Some(&Timespec::default())).is_ok()
        && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP);
    is_gone || CLOSED.load(Ordering::Relaxed)
}

/// Returns a stream that writes to standard output. If standard output does not show colours, the stream removes
/// them. Only the first call finds out whether standard output shows colours.
fn stdout() -> AutoStream<Stdout> {
    static CHOICE: OnceLock<ColorChoice> = OnceLock::new();
    let stdout = std::io::stdout();
    let choice = *CHOICE.get_or_init(|| AutoStream::choice(&stdout));
    AutoStream::new(stdout, choice)
}

/// Prints a line to standard output.
pub(crate) fn print_line(line: Arguments<'_>) {
    note(writeln!(stdout(), "{}", drawn(&line.to_string())));
}

/// Prints several lines to standard output by one system call. With [`say!`], each line would be a system
/// call.
pub(crate) fn print_lines(lines: impl IntoIterator<Item = String>) {
    let text: String = lines.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect();
    print(&text);
}

/// Prints text to standard output, and adds no line break.
pub(crate) fn print(text: &str) {
    note(stdout().write_all(drawn(text).as_bytes()));
}

/// Prints a question to standard output. The answer follows it on the same line.
pub(crate) fn print_prompt(question: &str) {
    print(question);
    note(std::io::stdout().flush());
}

/// Prints a document to standard output. Control characters are escaped only on a terminal.
pub(crate) fn print_document(text: &str) {
    if std::io::stdout().is_terminal() {
        print(text);
    } else {
        note(std::io::stdout().write_all(text.as_bytes()));
    }
}

/// Clears the screen. Standard output must be a terminal.
pub(crate) fn clear_screen() {
    note(std::io::stdout().write_all(b"\x1b[H\x1b[2J"));
}

/// Prints a line to standard error. A failure is ignored, because the program can't report it.
pub(crate) fn tell_line(line: Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{}", drawn(&line.to_string()));
}

/// Tells whether a terminal may interpret a character as a control sequence or a text direction mark.
fn is_control(c: char) -> bool {
    let is_bidi =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_bidi || (c.is_control() && c != '\t' && c != '\n')
}

/// Escapes control characters and direction marks as JSON does: `\u001b`. Tabs and line breaks stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push_str("\\r"),
            c if is_control(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Escapes the line breaks of a text that comes from a script or a document, so that the text can't add lines to
/// the output. The print functions escape all other control characters.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace('\n', "\\n")) } else { Cow::Borrowed(text) }
}

/// The number of characters to which [`brief`] shortens a text.
const BRIEF: usize = 300;

/// Formats the message of a status in one line. If the message is long, the line contains only the beginning and the
/// total length of the message.
pub(crate) fn brief(message: &str) -> String {
    let message = message.trim();
    let length = message.chars().count();
    if length <= BRIEF {
        return one_line(message).into_owned();
    }
    let start: String = message.chars().take(BRIEF).collect();
    format!("{}… ({length} characters; `--format json` shows all)", one_line(start.trim_end()))
}

/// Indents all lines of a text except the first, so that they can't be mistaken for lines that windlass
/// itself prints.
pub(crate) fn continued(text: &str) -> String {
    text.trim_end().replace('\n', "\n          | ")
}

/// An escaper for a byte stream that is printed on a terminal. It receives the stream in pieces, and escapes the
/// same characters as [visible]. Bytes that are not UTF-8 become escapes such as `\x9b`.
#[derive(Debug, Default)]
pub(crate) struct VisibleStream {
    /// The last bytes of the previous piece, if the next piece determines their meaning: an incomplete character, or
    /// a carriage return that a line feed may follow.
    pending: Vec<u8>,
}

impl VisibleStream {
    /// Returns the escaped text of the next piece.
    pub(crate) fn next(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(piece);
        let mut out = String::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        loop {
            let (text, wrong, is_begun) = match std::str::from_utf8(rest) {
                Ok(text) => (text, 0, false),
                Err(error) => {
                    let (text, after) = rest.split_at(error.valid_up_to());
                    let text = std::str::from_utf8(text).unwrap_or_default();
                    (text, error.error_len().unwrap_or(after.len()), error.error_len().is_none())
                }
            };
            let after = &rest[text.len()..];
            if after.is_empty() || is_begun {
                let shown = text.strip_suffix('\r').filter(|_| after.is_empty()).unwrap_or(text);
                out.push_str(&visible(shown));
                self.pending = rest[shown.len()..].to_vec();
                return out;
            }
            out.push_str(&visible(text));
            push_bytes(&mut out, &after[..wrong]);
            rest = &after[wrong..];
        }
    }

    /// Ends the stream, and returns the escaped text of the bytes that are still pending.
    pub(crate) fn end(self) -> String {
        let mut out = String::new();
        match self.pending.as_slice() {
            b"\r" => out.push_str("\\r"),
            bytes => push_bytes(&mut out, bytes),
        }
        out
    }
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Returns the placeholder for `ESC [` in windlass's own texts. The print functions replace the placeholder
/// by `ESC [`, and escape all other control characters. The placeholder is random, so that a script or
/// document can't contain it.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\u{1b}{:016x}[", RandomState::new().hash_one(0_u8)))
}

/// Replaces each `ESC [` of a text by the placeholder that [`mark`] returns. The print functions replace the
/// placeholder by `ESC [`, and escape all other control characters. All escape sequences of the text must come
/// from windlass itself.
pub(crate) fn marked(text: &str) -> String {
    text.replace("\u{1b}[", mark())
}

/// Returns the text to print. Control characters are [escaped](visible), and each placeholder from [`mark`] becomes
/// `ESC [`.
fn drawn(text: &str) -> String {
    let mut parts = text.split(mark());
    let mut out = parts.next().map(visible).unwrap_or_default().into_owned();
    for part in parts {
        let (codes, rest) = part.split_once('m').unwrap_or(("0", part));
        let _ = write!(out, "\u{1b}[{codes}m{}", visible(rest));
    }
    out
}

/// Remembers an error of printing, which the program reports when it exits. A closed pipe is not an error.
fn note(result: std::io::Result<()>) {
    if let Err(error) = &result
        && error.kind() == ErrorKind::BrokenPipe
    {
        CLOSED.store(true, Ordering::Relaxed);
    } else if let Err(error) = result {
        TROUBLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
    }
}

/// Returns the first error of printing, if any.
pub(crate) fn trouble() -> Option<std::io::Error> {
    let flushed = std::io::stdout().flush();
    note(flushed);
    TROUBLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// Applies a style to a text. The print functions remove the style if the output is not a terminal.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{}{text}{}", marked(&style.to_string()), marked(&format!("{style:#}")))
}

/// Formats a duration.
pub(crate) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
        _ => format!("{} h {} min", millis / 3_600_000, millis % 3_600_000 / 60_000),
    }
}

/// Formats the time since a start, without fractions of a second: `12 s`, `1 min 15 s`, `2 h 5 min`.
pub(crate) fn elapsed(now: Timestamp, since: Timestamp) -> String {
    match now.millis_since(since) {
        millis @ 0..60_000 => format!("{} s", millis / 1_000),
        millis => duration(millis),
    }
}

/// Formats an age, in at most two units.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.millis_since(then) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h{}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Returns the style of a state.
pub(crate) fn state_style(state: State) -> Style {
    match state {
        State::Active => GOOD,
        State::Failed | State::Broken => BAD,
        State::Absent => DIM,
        State::Created | State::Installed | State::Inactive => ODD,
    }
}

/// Puts `by` before every line of a text. Whitespace at the end of the text is removed.
pub(crate) fn indent(text: &str, by: &str) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        let _ = writeln!(out, "{by}{line}");
    }
    out
}

/// Prints an event of a running process, such as the end of a step.
pub(crate) fn print_event(event: &EventRecord) {
    match &event.draft.body {
        Event::StepEnded { title, end, millis, .. } => print_step_end(title, end, *millis),
        Event::Logged { element, severity, message, data } => {
            // An element of another assembly is shown by its full name.
            let own = element.assembly() == event.draft.assembly;
            let name = if own { element.local() } else { element.as_str() };
            let mut lines = message.trim_end().lines();
            let first = lines.next().unwrap_or_default();
            let data = with_data(data.as_ref());
            let line = format!("{:<9} {name}: {first}{data}", severity.as_str().to_lowercase());
            say!("{}", styled(DIM, line.trim_end()));
            for line in lines {
                say!("{}", styled(DIM, format!("          | {line}")));
            }
        }
        _ => {}
    }
}

/// Formats the data of a log entry as compact text after the entry's message. Long data is cut;
/// `log --format json` shows all of it.
pub(crate) fn with_data(data: Option<&Value>) -> String {
    const MOST_CHARS: usize = 160;
    let Some(data) = data else { return String::new() };
    let text = data.to_string();
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!(" {}…", &text[..end]),
        None => format!(" {text}"),
    }
}

fn print_step_end(title: &str, end: &StepEnd, millis: u64) {
    match end {
        StepEnd::Succeeded => {
            say!("{:<9} {title} {}", styled(GOOD, "ok       "), styled(DIM, duration(millis)));
        }
        StepEnd::Failed(failure) => {
            say!("{} {title}: {}", styled(BAD, "failed   "), one_line(&failure.to_string()));
            if let Some(detail) = &failure.detail {
                crate::output::print(&indent(&ending(detail), "          | "));
            }
        }
        StepEnd::Skipped { because } => {
            say!("{} {title}: {because}", styled(ODD, "skipped  "));
        }
        StepEnd::Cancelled => say!("{} {title}", styled(ODD, "stopped  ")),
        StepEnd::NeedsDecision { .. } => {
            say!("{} {title}: its outcome is unknown", styled(BAD, "undecided"));
        }
        _ => {}
    }
}

/// Returns the last lines of a script's output, as many as fit on a screen. `windlass log` shows the complete
/// stored output.
pub(crate) fn ending(detail: &str) -> String {
    const LINES: usize = 20;
    let lines: Vec<&str> = detail.lines().collect();
    match lines.len().checked_sub(LINES) {
        None | Some(0) => detail.to_owned(),
        Some(left_out) => format!("[…]\n{}", lines[left_out..].join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        for (text, shown) in [
            ("a\tb\r\nc\n", "a\tb\nc\n"),
            ("50 %\rdone", "50 %\\rdone"),
            ("\u{1b}[2Jx\u{7f}", "\\u001b[2Jx\\u007f"),
            ("\u{9b}31mx\u{85}", "\\u009b31mx\\u0085"),
            ("user\u{202e}nimda\u{2069}\u{200f}\u{61c}", "user\\u202enimda\\u2069\\u200f\\u061c"),
            ("né 日本 👩‍🚀", "né 日本 👩‍🚀"),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(drawn(text), shown);
        }
    }

    #[test]
    fn a_text_of_a_script_adds_no_lines() {
        for (text, shown) in [("a", "a"), ("a\nb\r\n", "a\\nb\\r\\n"), ("\n\u{1b}[2J", "\\n\\u001b[2J")] {
            assert_eq!(drawn(&one_line(text)), shown);
        }
        assert_eq!(continued("a\nb\n"), "a\n          | b");
    }

    #[test]
    fn a_stream_is_shown_alike_however_it_is_cut() {
        let stream = b"a\tb\r\n50 %\rdone \x1b[2J \xc2\x9b31m \x9b31m n\xc3\xa9 \xe6\x97\xa5 \xe2\x80\xae \xff\xe6\x97\r";
        let shown = "a\tb\n50 %\\rdone \\u001b[2J \\u009b31m \\x9b31m né 日 \\u202e \\xff\\xe6\\x97\\r";
        for size in 1..=stream.len() {
            let mut visible = VisibleStream::default();
            let mut out: String = stream.chunks(size).map(|piece| visible.next(piece)).collect();
            out += &visible.end();
            assert_eq!(out, shown, "in pieces of {size}");
        }
        let mut begun = VisibleStream::default();
        assert_eq!((begun.next(b"x\xe6\x97"), begun.end()), ("x".to_owned(), "\\xe6\\x97".to_owned()));
    }

    #[test]
    fn our_styles_are_obeyed_alone() {
        let text = styled(GOOD, "ok \u{1b}[31mred");
        assert_eq!(drawn(&text), "\u{1b}[32mok \\u001b[31mred\u{1b}[0m");
        assert_eq!(drawn(&styled(STRONG, styled(BAD, "x"))).matches("\u{1b}[0m").count(), 2);
    }

    #[test]
    fn shown_json_is_the_same_json() {
        let value = serde_json::json!({"a": "\u{1b}\u{9b}\u{202e}\r\n\t"});
        let shown = drawn(&serde_json::to_string_pretty(&value).unwrap());
        assert!(shown.is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
