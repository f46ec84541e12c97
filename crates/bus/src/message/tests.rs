//! Messages are sent and heard, and those that cannot be right are dropped.

use super::*;
use proptest::prelude::*;

/// A report with as many disks.
pub fn message(member: &str, incarnation: u64, sequence: u64, disks: usize) -> Message {
    let disk = |place: usize| DiskUse { shares: 1.0 + place as f64, wanted: 0.5 * place as f64 };
    Message {
        member: member.to_owned(),
        incarnation,
        sequence,
        period: Nanos::from_secs(2),
        leaves: false,
        window: 17.25,
        costs: 0xfeed,
        report: Report {
            disks: (0..disks).map(disk).collect(),
            most: 256.0,
            outstanding: 12.5,
            latency: 0.0151,
            completions: 6_400,
            total: 64.5,
            rate: 3_200.0,
            cost_latency: 0.0162,
            grain: 1.5,
        },
    }
}

#[test]
fn what_is_told_is_heard() {
    for disks in [0, 1, DISKS_MAX] {
        let message = message("host-1.example", 7, 9, disks);
        let mut bytes = message.encode();
        assert!(bytes.len() <= BYTES_MAX);
        bytes.resize(4_096, 0);
        assert_eq!(Message::decode(&bytes), Ok(message));
    }
}

#[test]
fn a_crowd_of_disks_is_told_by_its_sums() {
    let many = message("a", 1, 1, 100);
    let heard = Message::decode(&many.encode()).unwrap();
    let sums = |message: &Message| {
        let disks = &message.report.disks;
        (disks.iter().map(|d| d.shares).sum::<f64>(), disks.iter().map(|d| d.wanted).sum::<f64>())
    };
    assert_eq!((heard.report.disks.len(), sums(&heard)), (DISKS_MAX, sums(&many)));
}

#[test]
fn what_cannot_be_is_dropped_with_its_reason() {
    let good = message("a", 1, 1, 2);
    let with = |change: fn(&mut Message)| {
        let mut message = good.clone();
        change(&mut message);
        Message::decode(&message.bytes()).unwrap_err()
    };
    let lies: [fn(&mut Message); 14] = [
        |message| message.window = f64::NAN,
        |message| message.report.outstanding = -1.0,
        |message| message.report.latency = f64::INFINITY,
        |message| message.report.latency = 1e5,
        |message| message.report.total = 1e9,
        |message| message.report.rate = -1.0,
        |message| message.report.cost_latency = 1e5,
        |message| message.report.grain = f64::NAN,
        |message| message.report.latency = f64::MIN_POSITIVE,
        |message| message.report.grain = f64::MIN_POSITIVE,
        |message| message.report.disks[1].shares = f64::NAN,
        |message| message.report.completions = u64::MAX,
        |message| message.sequence = 0,
        |message| message.period = Nanos::from_secs(3_600),
    ];
    for lie in lies {
        assert_eq!(with(lie), Dropped::Figures);
    }
    assert_eq!(with(|message| message.member = "a b".into()), Dropped::Malformed);
    let mut later = good.encode();
    later[4] += 1;
    assert_eq!(Message::decode(&later), Err(Dropped::Version));
    let mut torn = good.encode();
    let last = torn.len() - 1;
    torn[last] ^= 1;
    assert_eq!(Message::decode(&torn), Err(Dropped::Checksum));
    assert_eq!(Message::decode(&good.encode()[..100]), Err(Dropped::Malformed));
    assert_eq!(Message::decode(&[0; 4_096]), Err(Dropped::Malformed));
}

/// Any figure at all: also none, one without end, and the smallest there is.
fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![any::<u64>().prop_map(f64::from_bits), Just(1e6), Just(1e6 + 1.0), Just(f64::INFINITY)]
}

proptest! {
    /// A host that measures what nobody thought of is heard by itself and by the others, or its law is not asked again.
    #[test]
    fn whatever_a_host_measures_its_report_is_heard(
        figures in proptest::collection::vec(figure(), 8),
        disks in proptest::collection::vec((figure(), figure()), 0..100),
        (completions, sequence, period) in any::<(u64, u64, u64)>(),
    ) {
        let disks = disks.into_iter().map(|(shares, wanted)| DiskUse { shares, wanted }).collect();
        let report = Report {
            disks,
            most: figures[0],
            outstanding: figures[1],
            latency: figures[2],
            completions,
            total: figures[3],
            rate: figures[4],
            cost_latency: figures[5],
            grain: figures[6],
        };
        let (period, window) = (Nanos(period), figures[7]);
        let message = Message { sequence, period, window, report, ..message("abc", 1, 2, 0) };
        let heard = Message::decode(&message.encode());
        prop_assert!(heard.is_ok(), "{:?} of {:?}", heard, message);
        prop_assert_eq!(Message::decode(&heard.clone().unwrap().encode()), heard, "what was received goes out again as it is");
    }

    /// Bytes that begin well and have a checksum that fits get as far as they can.
    #[test]
    fn nor_do_bytes_that_look_right_harm(
        tail in proptest::collection::vec(any::<u8>(), 0..200),
        place in 12_usize..152,
        byte in any::<u8>(),
    ) {
        let mut bytes = message("abc", 1, 2, 2).encode();
        bytes.extend(&tail);
        let length = (bytes.len() as u16).to_le_bytes();
        bytes[6..8].copy_from_slice(&length);
        bytes[place] = byte;
        let sum = checksum(&bytes).to_le_bytes();
        bytes[CHECKSUM].copy_from_slice(&sum);
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert!(is_name(&message.member) && message.is_sane());
            let again = Message::decode(&message.encode());
            prop_assert_eq!(again, Ok(message));
        }
    }

    #[test]
    fn a_flipped_bit_is_never_taken_for_another_report(bit in 0_usize..(HEAD + 3 + 32) * 8) {
        let good = message("abc", 1, 2, 2);
        let mut bytes = good.encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Message::decode(&bytes).is_err());
    }
}
