//! Tests of the protocol: frames survive encoding and decoding, and invalid bytes only cause errors.

use super::protocol::{
    CHUNK, Ending, FileSpec, Frames, How, MAX_FRAME, Malformed, OutputSpec, OutputState, Reply, Request,
    Spec, VERSION,
};
use crate::left_behind::{LEFT_BEHIND, MAX_NAME};

fn spec() -> Spec {
    Spec {
        mark: "job-1".into(),
        program: "sh".into(),
        args: vec!["-c".into(), String::new()],
        env: vec![("A".into(), "é".into())],
        path_env: vec![("B".into(), "a/b".into())],
        files: vec![FileSpec { path: "a/b".into(), mode: 0o755, length: u64::MAX }],
        stdin: 3,
        outputs: vec![
            OutputSpec { path: "out".into(), max_bytes: 7, is_folder: false },
            OutputSpec { path: "folder".into(), max_bytes: 8, is_folder: true },
        ],
        timeout_ms: 1,
        grace_ms: 2,
        spill: [3, 6],
        keep: [4, 5],
    }
}

fn endings() -> Vec<Ending> {
    let hows = [
        How::Exited(255),
        How::Signalled(9),
        How::TimedOut,
        How::Cancelled,
        How::OutOfMemory,
        How::NotFound,
        How::InterpreterNotFound("/x".into()),
        How::NotExecutable("why".into()),
        How::NotStarted(String::new()),
    ];
    let outputs = vec![
        OutputState::Content(1),
        OutputState::Missing,
        OutputState::TooLarge(2),
        OutputState::Outside,
        OutputState::NotAFile,
        OutputState::Unreadable("why".into()),
    ];
    let ending = |how| Ending {
        how,
        started_ms: None,
        ended_ms: 7,
        totals: [1, 2],
        outputs: outputs.clone(),
        left_behind: Vec::new(),
    };
    let mut endings: Vec<_> = hows.into_iter().map(ending).collect();
    endings[0].started_ms = Some(0);
    endings[1].left_behind = vec!["a\n b".into(), "é".into()];
    endings[2].left_behind = vec!["x".repeat(MAX_NAME); LEFT_BEHIND];
    endings
}

fn requests() -> Vec<Request> {
    vec![
        Request::Hello { version: VERSION, lease_ms: 30_000 },
        Request::Start { job: 7, spec: Box::new(spec()) },
        Request::Data { job: 7, bytes: vec![0, 255] },
        Request::Data { job: 7, bytes: Vec::new() },
        Request::Cancel { job: 7, grace_ms: u64::MAX },
        Request::Ping { number: u32::MAX },
    ]
}

fn replies() -> Vec<Reply> {
    let mut replies = vec![
        Reply::Hello { version: VERSION, pid: 1 },
        Reply::Started { job: 7, at_ms: 1 },
        Reply::Output { job: 7, stream: 1, bytes: vec![b'x'; CHUNK] },
        Reply::Tail { job: 7, stream: 0, bytes: vec![1] },
        Reply::File { job: 7, index: 3, bytes: vec![2] },
        Reply::Pong { number: 0 },
    ];
    replies.extend(endings().into_iter().map(|ending| Reply::Ended { job: 7, ending: Box::new(ending) }));
    replies
}

/// Encodes all requests and all replies.
fn encoded() -> (Vec<u8>, Vec<u8>) {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for request in requests() {
        request.encode(&mut asked);
    }
    for reply in replies() {
        reply.encode(&mut answered);
    }
    (asked, answered)
}

fn frames(bytes: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, Malformed> {
    let (mut frames, mut found) = (Frames::default(), Vec::new());
    for piece in bytes.chunks(piece) {
        frames.push(piece);
        while let Some(frame) = frames.next_frame()? {
            found.push(frame.to_vec());
        }
    }
    Ok(found)
}

#[test]
fn what_is_said_is_heard_however_it_is_cut() {
    let (asked, answered) = encoded();
    for piece in [1, 3, 100, 1 << 20] {
        let decoded = frames(&asked, piece).unwrap();
        let decoded: Vec<_> = decoded.iter().map(|frame| Request::decode(frame).unwrap()).collect();
        assert_eq!(decoded, requests());
        let decoded = frames(&answered, piece).unwrap();
        let decoded: Vec<_> = decoded.iter().map(|frame| Reply::decode(frame).unwrap()).collect();
        assert_eq!(decoded, replies());
    }
}

/// Checks the bytes of two frames of version 3. If these bytes change, the protocol needs a new version number.
#[test]
fn version_3_is_this() {
    let spec = Spec { mark: "m".into(), program: "p".into(), stdin: 1, ..Spec::default() };
    let expected = "01 07000000 010000006d 0100000070 00000000 00000000 00000000 00000000 0100000000000000 00000000 \
        0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 \
        0000000000000000";
    let mut bytes = Vec::new();
    Request::Start { job: 7, spec: Box::new(spec) }.encode(&mut bytes);
    assert_eq!(hex::encode(&frames(&bytes, 100).unwrap()[0]), expected.replace(' ', ""));
    let ending = Ending {
        how: How::NotExecutable("w".into()),
        started_ms: Some(1),
        ended_ms: 2,
        totals: [3, 4],
        outputs: vec![OutputState::TooLarge(5)],
        left_behind: vec!["n".into()],
    };
    let expected = "05 07000000 07 00000000 0100000077 0200000000000000 0200000000000000 0300000000000000 \
        0400000000000000 01000000 02 0500000000000000 00000000 01000000 010000006e";
    let mut bytes = Vec::new();
    Reply::Ended { job: 7, ending: Box::new(ending) }.encode(&mut bytes);
    assert_eq!(hex::encode(&frames(&bytes, 100).unwrap()[0]), expected.replace(' ', ""));
}

#[test]
fn every_frame_that_is_cut_or_longer_is_an_error() {
    let (asked, answered) = encoded();
    for frame in frames(&asked, 100).unwrap().into_iter().filter(|frame| frame[0] != 2) {
        for length in 0..frame.len() {
            assert!(Request::decode(&frame[..length]).is_err());
        }
        assert!(Request::decode(&[&frame[..], b"x"].concat()).is_err());
    }
    for frame in frames(&answered, 100).unwrap().into_iter().filter(|frame| !(2..=4).contains(&frame[0])) {
        for length in 0..frame.len() {
            assert!(Reply::decode(&frame[..length]).is_err());
        }
        assert!(Reply::decode(&[&frame[..], b"x"].concat()).is_err());
    }
    assert!(Request::decode(&[9]).is_err() && Reply::decode(&[9]).is_err());
}

#[test]
fn names_of_leftover_processes_are_few_and_short() {
    for names in [vec!["x".to_owned(); LEFT_BEHIND + 1], vec!["x".repeat(MAX_NAME + 1)]] {
        let ending = Box::new(Ending { left_behind: names, ..endings().remove(0) });
        let mut bytes = Vec::new();
        Reply::Ended { job: 7, ending }.encode(&mut bytes);
        let refused = Reply::decode(&frames(&bytes, 1000).unwrap()[0]);
        assert_eq!(refused, Err(Malformed("the names of leftover processes are too many or too long")));
    }
}

/// Checks that random bytes cause neither a panic nor an allocation larger than the input.
#[test]
fn noise_is_an_error() {
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..40)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56).to_le_bytes()[0] & if state & 64 == 0 { 3 } else { 255 }
            })
            .collect();
        let _any = (Request::decode(&bytes), Reply::decode(&bytes));
    }
    let too_long = u32::try_from(MAX_FRAME + 1).unwrap().to_le_bytes();
    assert!(frames(&too_long, 4).is_err());
    assert!(frames(&[0; 4], 4).is_err());
}
