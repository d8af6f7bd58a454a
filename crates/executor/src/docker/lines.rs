//! Parses the lines that a container's first process writes, and collects the outcome of the job from them.
//! The program `docker/init` documents the format of the lines.

use std::collections::{BTreeMap, VecDeque};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    Captured, End, Outcome, Output, StartFailure, Stream, Timestamp, docker::labels::Record, left_behind,
};

/// One line from the first process of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// All input of the job was stored.
    Accepted,
    /// The input could not be stored, for this reason.
    Refused(String),
    /// The job was started at this time, by the clock of the container's host.
    Started(Timestamp),
    /// The next bytes that the job wrote to this stream, up to the storage limit.
    Written(Stream, Vec<u8>),
    /// Last bytes of a stream that is longer than the storage limit. Any bytes between the `Written` lines and these
    /// bytes are lost.
    Last(Stream, Vec<u8>),
    /// Result of reading a requested output. The number is the index of the request in [`Record::outputs`]. If the
    /// output could be read, its content follows in lines of the kind [`Piece`](Self::Piece).
    Output(usize, Output),
    /// Names of the processes that the job left running.
    LeftBehind(Vec<String>),
    /// Next piece of the content of the last [`Output`](Self::Output).
    Piece(Vec<u8>),
    /// The last line. The job has ended, or could not be started.
    Ended(Ended),
}

/// The content of the line `X`, the last line about a job (see `docker/init`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Start of the job; `None` if the job could not be started.
    pub(crate) started: Option<Timestamp>,
    /// End of the job: the time when the container's first process wrote the line `X`. The process reads the outputs of
    /// the job before it writes this line.
    pub(crate) at: Timestamp,
    /// Numbers of bytes that the job wrote to stdout and to stderr.
    pub(crate) totals: [u64; 2],
    pub(crate) how: How,
}

/// The way a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
    /// The client's connection was closed.
    Orphaned,
    /// The container engine stopped the container.
    Stopped,
    OutOfMemory,
    NotFound,
    NoInterpreter(String),
    NotExecutable(String),
    Other(String),
}

/// A buffer that assembles lines from pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    /// Appends a piece of the container's log, and returns the lines that are now complete. Malformed lines
    /// are skipped, since other programs in the container may write to the log, too.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Vec<Line> {
        self.0.extend(piece);
        let Some(end) = self.0.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.0.split_off(end + 1);
        let whole = std::mem::replace(&mut self.0, rest);
        whole
            .split(|byte| *byte == b'\n')
            .filter_map(|line| parsed(std::str::from_utf8(line).ok()?))
            .collect()
    }
}

fn parsed(line: &str) -> Option<Line> {
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    Some(match kind {
        "A" => Line::Accepted,
        "R" => Line::Refused(text(rest)?),
        "S" => Line::Started(moment(rest)?),
        "o" => Line::Written(Stream::Stdout, STANDARD.decode(rest).ok()?),
        "e" => Line::Written(Stream::Stderr, STANDARD.decode(rest).ok()?),
        "O" => Line::Last(Stream::Stdout, STANDARD.decode(rest).ok()?),
        "E" => Line::Last(Stream::Stderr, STANDARD.decode(rest).ok()?),
        "F" => {
            let (number, state) = rest.split_once(' ')?;
            Line::Output(number.parse().ok()?, output(state)?)
        }
        "L" => Line::LeftBehind(left_behind::reported(text(rest)?.lines().map(str::to_owned))),
        "f" => Line::Piece(STANDARD.decode(rest).ok()?),
        "X" => Line::Ended(ended(rest)?),
        _ => return None,
    })
}

fn output(state: &str) -> Option<Output> {
    Some(match state.split_once(' ').unwrap_or((state, "")) {
        ("content", _) => Output::Content(Vec::new()),
        ("missing", _) => Output::Missing,
        ("outside", _) => Output::Outside,
        ("notafile", _) => Output::NotAFile,
        ("large", bytes) => Output::TooLarge { bytes: bytes.parse().ok()? },
        ("unreadable", why) => Output::Unreadable(text(why)?),
        _ => return None,
    })
}

fn ended(rest: &str) -> Option<Ended> {
    let mut words = rest.splitn(5, ' ');
    let started = words.next()?;
    let at = moment(words.next()?)?;
    let totals = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let how = words.next()?;
    let how = match how.split_once(' ').unwrap_or((how, "")) {
        ("exit", code) => How::Exited(code.parse().ok()?),
        ("signal", signal) => How::Signalled(signal.parse().ok()?),
        ("timeout", _) => How::TimedOut,
        ("cancelled", _) => How::Cancelled,
        ("orphaned", _) => How::Orphaned,
        ("stopped", _) => How::Stopped,
        ("memory", _) => How::OutOfMemory,
        ("notfound", _) => How::NotFound,
        ("interpreter", name) => How::NoInterpreter(text(name)?),
        ("notexec", why) => How::NotExecutable(text(why)?),
        ("other", why) => How::Other(text(why)?),
        _ => return None,
    };
    Some(Ended { started: moment(started), at, totals, how })
}

fn moment(word: &str) -> Option<Timestamp> {
    word.parse().ok().map(Timestamp::from_millis)
}

fn text(base64: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&STANDARD.decode(base64).ok()?).into_owned())
}

/// The collected lines of a job, from which the outcome is built. The collector keeps only those bytes of each
/// stream that the outcome needs.
#[derive(Debug)]
pub(crate) struct Collector {
    record: Record,
    accepted: bool,
    started: Option<Timestamp>,
    streams: [CollectedStream; 2],
    outputs: BTreeMap<String, Output>,
    left_behind: Vec<String>,
    /// Name of the output to which the next piece belongs.
    current: Option<String>,
}

impl Collector {
    pub(crate) fn new(record: Record) -> Self {
        let streams = [
            CollectedStream::new(record.limits.stdout_bytes),
            CollectedStream::new(record.limits.stderr_bytes),
        ];
        let (outputs, left_behind) = (BTreeMap::new(), Vec::new());
        Self { record, accepted: false, started: None, streams, outputs, left_behind, current: None }
    }

    /// Tells whether the first process of the container has confirmed that it has stored all input.
    pub(crate) fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// Takes the next line. Returns the outcome after the last line.
    pub(crate) fn take(&mut self, line: Line) -> Option<Outcome> {
        match line {
            Line::Accepted => self.accepted = true,
            Line::Refused(_) => {}
            Line::Started(at) => self.started = Some(at),
            Line::LeftBehind(names) => self.left_behind = names,
            Line::Written(stream, bytes) => self.streams[index(stream)].written(&bytes),
            Line::Last(stream, bytes) => self.streams[index(stream)].last.extend(bytes),
            Line::Output(number, output) => {
                let name = self.record.outputs.get(number).map(|output| output.name.clone());
                if let Some(name) = name {
                    self.outputs.insert(name.clone(), output);
                    self.current = Some(name);
                }
            }
            Line::Piece(bytes) => {
                if let Some(Output::Content(content)) =
                    self.current.as_ref().and_then(|name| self.outputs.get_mut(name))
                {
                    content.extend(bytes);
                }
            }
            Line::Ended(ended) => return Some(self.outcome(&ended)),
        }
        None
    }

    fn outcome(&mut self, ended: &Ended) -> Outcome {
        let mut outcome = self.remains(self.end(&ended.how), ended.at, Some(ended.totals));
        outcome.started = ended.started;
        outcome
    }

    /// Builds the outcome of a job from the lines so far, if the line [`Ended`](Line::Ended) is missing. `end` is the
    /// end of the job, as the caller has determined it. The end time in the outcome is the current time.
    pub(crate) fn broken_off(&mut self, end: End) -> Outcome {
        self.remains(end, Timestamp::now(), None)
    }

    fn remains(&mut self, end: End, at: Timestamp, totals: Option<[u64; 2]>) -> Outcome {
        let mut outcome = Outcome::new(end, at);
        outcome.started = self.started;
        outcome.image_digest.clone_from(&self.record.digest);
        let [stdout, stderr] = &mut self.streams;
        outcome.stdout = stdout.captured(totals.map(|totals| totals[0]));
        outcome.stderr = stderr.captured(totals.map(|totals| totals[1]));
        outcome.outputs = std::mem::take(&mut self.outputs);
        for request in &self.record.outputs {
            let output = outcome.outputs.remove(&request.name).unwrap_or(Output::Missing);
            outcome.outputs.insert(request.name.clone(), output.received(request.kind));
        }
        outcome.left_behind = std::mem::take(&mut self.left_behind);
        outcome
    }

    fn end(&self, how: &How) -> End {
        let program = || self.record.program.clone();
        match how {
            How::Exited(code) => End::Exited(*code),
            How::Signalled(signal) => End::Signalled(*signal),
            How::TimedOut => End::TimedOut,
            How::Cancelled | How::Orphaned => End::Cancelled,
            How::Stopped => End::Lost("the engine stopped its container".to_owned()),
            How::OutOfMemory => End::OutOfMemory,
            How::NotFound => End::NotStarted(StartFailure::NotFound { program: program() }),
            How::NoInterpreter(interpreter) => End::NotStarted(StartFailure::InterpreterNotFound {
                program: program(),
                interpreter: interpreter.clone(),
            }),
            How::NotExecutable(why) => {
                End::NotStarted(StartFailure::NotExecutable { program: program(), why: why.clone() })
            }
            How::Other(why) => End::NotStarted(StartFailure::Other(why.clone())),
        }
    }
}

pub(crate) fn index(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}

/// The bytes of one stream that are kept for the outcome.
#[derive(Debug)]
struct CollectedStream {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    /// The last bytes from the lines of the kind [`Written`](Line::Written), without the bytes in `head`.
    tail: VecDeque<u8>,
    /// The bytes from the lines of the kind [`Last`](Line::Last): the end of a stream that is longer than the storage
    /// limit.
    last: Vec<u8>,
    /// Number of bytes in all lines of the kind [`Written`](Line::Written).
    stored: u64,
}

impl CollectedStream {
    fn new(keep: u64) -> Self {
        let limit = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let tail_limit = keep.div_ceil(2);
        Self {
            head_limit: limit(keep - tail_limit),
            tail_limit: limit(tail_limit),
            head: Vec::new(),
            tail: VecDeque::new(),
            last: Vec::new(),
            stored: 0,
        }
    }

    fn written(&mut self, bytes: &[u8]) {
        self.stored += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend(head);
        self.tail.extend(&rest[rest.len().saturating_sub(self.tail_limit)..]);
        self.tail.drain(..self.tail.len().saturating_sub(self.tail_limit));
    }

    fn captured(&mut self, total: Option<u64>) -> Captured {
        let total = total.unwrap_or(self.stored);
        // If bytes are missing between the lines `Written` and the lines `Last`, only `last` belongs to the end of
        // the stream.
        let meets = total == self.stored + self.last.len() as u64;
        let mut tail = if meets { Vec::from(std::mem::take(&mut self.tail)) } else { Vec::new() };
        tail.append(&mut self.last);
        let tail = tail.split_off(tail.len().saturating_sub(self.tail_limit));
        Captured::new(std::mem::take(&mut self.head), tail, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, captured::tests::CUTS};

    fn collected(keep: u64, text: &str) -> Outcome {
        let mut job =
            Job::command("./run").output("a", "a".parse().unwrap(), 9).output("b", "b".parse().unwrap(), 9);
        job.limits.stdout_bytes = keep;
        let mut collector = Collector::new(Record::new(&job, Some("sha256:1".to_owned())));
        let mut lines = Lines::default();
        // The pieces have arbitrary boundaries.
        let taken: Vec<Line> = text.as_bytes().chunks(3).flat_map(|piece| lines.take(piece)).collect();
        let mut outcome = taken.into_iter().filter_map(|line| collector.take(line));
        outcome.next().unwrap()
    }

    #[test]
    fn lines_become_an_outcome() {
        let text = "A\nS 5\no aGkK\ne bm8=\nnonsense\nF 0 content\nf NDI=\nF 1 large 12\nX 5 9 3 2 exit 7\n";
        let outcome = collected(100, text);
        assert_eq!(outcome.end, End::Exited(7));
        assert_eq!([outcome.stdout.text(), outcome.stderr.text()], ["hi\n", "no"]);
        assert_eq!(outcome.outputs["a"], Output::Content(b"42".to_vec()));
        assert_eq!(outcome.outputs["b"], Output::TooLarge { bytes: 12 });
        assert_eq!((outcome.started, outcome.ended.as_millis()), (Some(Timestamp::from_millis(5)), 9));
        assert_eq!(outcome.image_digest.as_deref(), Some("sha256:1"));
    }

    /// If an output can't be read to its end, it has no content.
    #[test]
    fn an_error_replaces_the_content_before() {
        let text = "A\nS 5\nF 0 content\nf NDI=\nF 0 unreadable bm8=\nX 5 9 0 0 exit 0\n";
        assert_eq!(collected(100, text).outputs["a"], Output::Unreadable("no".to_owned()));
    }

    #[test]
    fn head_and_tail_come_from_wherever_they_are() {
        let line = |letter: char, text: &str| {
            if text.is_empty() { String::new() } else { format!("{letter} {}\n", STANDARD.encode(text)) }
        };
        for (stored, rest, total, keep, expected) in CUTS {
            let text = format!("A\nS 1\n{}{}X 1 2 {total} 0 exit 0\n", line('o', stored), line('O', rest));
            assert_eq!(collected(keep, &text).stdout.text(), expected, "{stored} {rest} {keep}");
        }
    }

    #[test]
    fn every_end_is_understood() {
        for (word, end) in [
            ("signal 9", End::Signalled(9)),
            ("timeout", End::TimedOut),
            ("cancelled", End::Cancelled),
            ("orphaned", End::Cancelled),
            ("memory", End::OutOfMemory),
            ("notfound", End::NotStarted(StartFailure::NotFound { program: "./run".into() })),
            ("other b29wcw==", End::NotStarted(StartFailure::Other("oops".into()))),
        ] {
            assert_eq!(collected(9, &format!("A\nX - 2 0 0 {word}\n")).end, end, "{word}");
        }
    }
}
