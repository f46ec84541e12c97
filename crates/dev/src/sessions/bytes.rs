//! Histories of one session between two sides that say what bytes dictate: those of a fuzzer, or of a seed.

use super::harness::Harness;
use super::{Violation, caught};
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_guard::proxy::session::{Event, Side};

/// Things that happen in the history of a seed.
const THINGS: u64 = 60;
/// Which of them, the more frequent ones more than once.
const OFTEN: [u8; 24] = [0, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 8, 10, 10, 10, 11, 12, 13, 14];

/// Plays what the bytes say: choices, then one thing after the other.
///
/// # Panics
/// Where something happens that must not.
pub fn play(data: &[u8]) {
    let Some((choices, mut rest)) = data.split_first() else { return };
    let mut harness = Harness::new(*choices);
    if choices & 1 << 6 != 0 {
        let user = if choices & 1 << 7 != 0 { "boss" } else { "app" };
        harness.log_in(user, 0x000a_a288);
        harness.tell_account(user, "%", HOWS[0]);
    }
    while let [what, many, more @ ..] = rest {
        let (bytes, after) = more.split_at(more.len().min(taken_by(*what, *many)));
        rest = after;
        let side = if what & 1 == 0 { Side::Client } else { Side::Server };
        let number = many & 3;
        match what >> 1 & 15 {
            0 | 1 => harness.says(side, bytes),
            2 | 3 => harness.says_packet(side, number, bytes),
            4 => harness.says_packet(Side::Client, 0, b"\x02nowhere"),
            5 => harness.tell_account(
                USERS[usize::from(*many) % USERS.len()],
                if *many < 200 { "%" } else { "10.1.2.3" },
                HOWS[usize::from(*many >> 2) % HOWS.len()],
            ),
            6 => harness.says_packet(
                side,
                number,
                &[&b"\x03"[..], TEXTS[usize::from(*many) % TEXTS.len()]].concat(),
            ),
            7 => harness.says_packet(Side::Server, number, &[0, 0, 0, many >> 2 & 11, 0, 0, 0]),
            8 => harness.says_packet(Side::Server, number, b"\xff\x19\x04#42000unknown"),
            9 if *many > 127 => harness.log_in_in_vain("app", 0x000a_a288),
            9 => harness.log_in(if *many == 0 { "boss" } else { "app" }, 0x000a_a288),
            10 => {
                let user = USERS[usize::from(*many) % USERS.len()];
                let change = format!("\x11{user}\0\0shop\0\x2d\0mysql_native_password\0");
                harness.says_packet(side, 0, change.as_bytes());
            }
            11 => harness.waits(Nanos::from_millis(u64::from(*many) * 8)),
            12 => harness.toggle_other(),
            13 => harness.happens(Event::Blocked(*many > 127)),
            14 if *many > 200 => harness.ends(side, *many > 227),
            14 => harness.happens(Event::Leaving(side)),
            _ => harness.happens(if *many > 250 { Event::GiveWay } else { Event::AllSent }),
        }
        harness.hear();
    }
    harness.drop_session();
}

/// Bytes behind these two that belong to them.
fn taken_by(what: u8, many: u8) -> usize {
    match what >> 1 & 15 {
        0..=3 => usize::from(many),
        _ => 0,
    }
}

const USERS: [&str; 3] = ["root", "app", "boss"];
/// How accounts authenticate, as the server tells it.
const HOWS: [&str; 3] = ["IDENTIFIED BY ''", "VIA unix_socket", "VIA mysql_native_password USING ''"];
const TEXTS: [&[u8]; 8] = [
    b"SELECT 1",
    b"BEGIN",
    b"COMMIT",
    b"SELECT GET_LOCK('a', 1)",
    b"DO RELEASE_ALL_LOCKS()",
    b"SELECT SLEEP(1)",
    b"KILL 7",
    b"LOCK TABLES t WRITE",
];

/// Plays what a seed makes of it: mostly what sides that know the protocol would say, in any order.
pub fn play_seed(seed: u64) -> Result<u64, Violation> {
    let data = dictated(seed);
    // Judges of the harness panic with what they have to say.
    caught(|| play(&data)).map(|()| THINGS).map_err(|what| Violation { seed, step: THINGS, what })
}

fn dictated(seed: u64) -> Vec<u8> {
    let mut random = Random::new(Seed(seed).child("bytes"));
    let mut any = |low: u64, high: u64| random.uniform(low, high) as u8;
    // Most are in from the beginning; of some it is up to the server.
    let mut data = match any(0, 19) {
        0 => vec![any(0, 255) & !(1 << 6), 9 << 1, any(0, 255)],
        _ => vec![any(0, 255) | 1 << 6],
    };
    for _ in 0..THINGS {
        let code = OFTEN[usize::from(any(0, OFTEN.len() as u64 - 1))];
        let (side, many) = (any(0, 1), any(0, 255));
        // Only a little of what stands for nothing in particular.
        let many = if code <= 3 { many & 15 } else { many };
        data.extend([code << 1 | side, many]);
        data.extend((0..taken_by(code << 1, many)).map(|_| any(0, 255)));
    }
    data
}
