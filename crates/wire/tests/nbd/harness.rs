//! A client's bytes played to the server's side of the protocol, as the tests and the fuzzer do it.

use evenkeel_wire::ProtocolError;
use evenkeel_wire::nbd::{Command, Export, Handshake, Request, RequestReader, Step};

/// The greeting and the answer to an option with all exports: what one step may write at most.
pub const STEP_MAX: usize = 4_096;

pub fn exports() -> Vec<Export> {
    let export = |name: &str, read_only| Export { name: name.to_owned(), bytes: 1 << 30, read_only };
    vec![export("orders", false), export("archive", true)]
}

/// What a client's bytes came to.
#[derive(Debug, Default, PartialEq)]
pub struct Played {
    pub answers: Vec<u8>,
    /// How many of those bytes were said before TLS.
    pub open: Option<usize>,
    pub steps: Vec<Step>,
    pub requests: Vec<Request>,
    /// Bytes of writes, and of those refused.
    pub payload: u64,
    /// Bytes behind the end of the connection.
    pub unread: usize,
    pub error: Option<ProtocolError>,
}

enum Side {
    Choosing(Box<Handshake>),
    Serving { reader: RequestReader, left: u64 },
    Ended,
}

/// Plays the bytes in pieces as long as `piece` says, to the end of the connection.
pub fn play(bytes: &[u8], piece: impl FnMut() -> usize) -> Played {
    play_from(Handshake::start, bytes, piece)
}

/// As [`play`], where TLS is a must. What it protects is here as it is: the bytes behind the client's wish for it are taken for
/// what came out of it.
pub fn play_tls(bytes: &[u8], piece: impl FnMut() -> usize) -> Played {
    let played = play_from(Handshake::start_tls, bytes, piece);
    let secured = played.steps.iter().position(|step| *step == Step::Secures);
    let before = &played.steps[..secured.unwrap_or(played.steps.len())];
    assert!(
        !before.iter().any(|step| matches!(step, Step::Chosen { .. })),
        "served in the clear: {played:?}"
    );
    assert!(secured.is_some() || played.requests.is_empty(), "asked in the clear: {played:?}");
    let open = &played.answers[..played.open.unwrap_or(played.answers.len())];
    for export in exports() {
        let is_told = open.windows(export.name.len()).any(|bytes| bytes == export.name.as_bytes());
        assert!(!is_told, "{} is told in the clear", export.name);
    }
    let secures = played.steps.iter().filter(|step| **step == Step::Secures).count();
    assert!(secures <= 1, "it begins once");
    played
}

fn play_from(
    start: impl Fn(&mut Vec<u8>) -> Handshake,
    bytes: &[u8],
    mut piece: impl FnMut() -> usize,
) -> Played {
    let (mut played, exports) = (Played::default(), exports());
    let mut side = Side::Choosing(Box::new(start(&mut played.answers)));
    let mut rest = bytes;
    while !rest.is_empty() {
        let (mut input, later) = rest.split_at(piece().clamp(1, rest.len()));
        rest = later;
        while !input.is_empty() {
            if let Err(error) = advance(&mut side, &mut input, &exports, &mut played) {
                played.error = Some(error);
                side = Side::Ended;
            }
        }
    }
    played
}

fn advance(
    side: &mut Side,
    input: &mut &[u8],
    exports: &[Export],
    played: &mut Played,
) -> Result<(), ProtocolError> {
    match side {
        Side::Choosing(handshake) => {
            let before = played.answers.len();
            let step = handshake.take(input, exports, &mut played.answers)?;
            assert!(played.answers.len() - before < STEP_MAX, "one option has an answer of a bounded size");
            match step {
                Step::Wants => {
                    assert!(input.is_empty(), "who wants more has used what there was");
                    return Ok(());
                }
                Step::Answered => {}
                Step::Chosen { export } => {
                    assert!(export < exports.len());
                    *side = Side::Serving { reader: RequestReader::default(), left: 0 };
                }
                Step::Secures => {
                    assert_eq!(handshake.held(), 0, "of what came in the clear nothing is kept");
                    played.open = Some(played.answers.len());
                }
                Step::Ended => *side = Side::Ended,
            }
            played.steps.push(step);
        }
        Side::Serving { left, .. } if *left > 0 => {
            let count = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            *input = &input[count..];
            *left -= count as u64;
            played.payload += count as u64;
        }
        Side::Serving { reader, left } => {
            let Some(request) = reader.take(input)? else { return Ok(()) };
            *left = match request.command {
                Command::Write { .. } => u64::from(request.length),
                Command::Refused { payload } => u64::from(payload),
                _ => 0,
            };
            played.requests.push(request);
            if request.command == Command::Disconnect {
                *side = Side::Ended;
            }
        }
        Side::Ended => {
            played.unread += input.len();
            *input = &[];
        }
    }
    Ok(())
}
