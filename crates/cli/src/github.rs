//! Diagnostics as workflow commands, which GitHub shows next to the lines of a change.

use std::fmt::Write as _;

use windlass::source::{Diagnostic, Severity};

/// Formats a diagnostic as a workflow command, which is one line: `::error file=a.yaml,line=1,title=WL0103::text`.
pub(crate) fn command(found: &Diagnostic) -> String {
    let level = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut line = format!("::{level} ");
    if let Some(place) = found.place() {
        let (start, end) = (place.start(), place.end());
        let _ = write!(line, "file={},line={},", property(place.source().name()), start.line);
        // Columns are meaningful only if the place begins and ends in the same line.
        if start.line == end.line {
            let last = end.column.max(start.column + 1) - 1;
            let _ = write!(line, "col={},endColumn={last},", start.column);
        } else {
            let _ = write!(line, "endLine={},", end.line);
        }
    }
    let mut message = found.message.clone();
    if let Some(help) = &found.help {
        let _ = write!(message, "\nhelp: {help}");
    }
    let _ = write!(line, "title={}::{}", property(found.code.as_str()), data(&message));
    line
}

/// Escapes the text at the end of a workflow command, after the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property in a workflow command, such as the file name after `file=`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use windlass::descriptor::codes;
    use windlass::source::{Source, Span};

    use super::*;

    #[test]
    fn everything_is_escaped() {
        let source = Source::new("a,b: 100%.yaml", "é: x\ny: z\n");
        let found = Diagnostic::warning(codes::UNKNOWN_KEY, "50% of\r\na: b, c")
            .at(source.place(Span::new(4, 5)))
            .help("::error::no");
        assert_eq!(
            command(&found),
            "::warning file=a%2Cb%3A 100%25.yaml,line=1,col=4,endColumn=4,title=WL0103::50%25 of%0D%0Aa: b, c%0Ahelp: ::error::no"
        );
        let found = Diagnostic::error(codes::UNKNOWN_KEY, "over lines").at(source.place(Span::new(0, 8)));
        assert_eq!(
            command(&found),
            "::error file=a%2Cb%3A 100%25.yaml,line=1,endLine=2,title=WL0103::over lines"
        );
        let found = Diagnostic::note(codes::UNKNOWN_KEY, "without a place");
        assert_eq!(command(&found), "::notice title=WL0103::without a place");
    }
}
