//! The fuzz target `records` without a fuzzer: the same checks, on bytes that are changed from a seed.
//!
//! `EVENKEEL_FUZZ_CASES=5000000 cargo test -p evenkeel-wire --release --test records` goes on for minutes.

#[path = "../../../fuzz/shared/records.rs"]
mod records;

/// Cases of an ordinary run.
const CASES: u64 = 30_000;

/// Numbers from a seed (xorshift*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound.max(1)
    }
}

/// What is often in records, and what should not be.
const PIECES: &[&[u8]] = &[
    b" ",
    b"        ",
    b"0",
    b"17",
    b"-5",
    b"+",
    b".",
    b"3.14",
    b"20260229",
    b"20240229",
    b"20260801235959",
    b"19991301",
    b";",
    b"\\",
    b"\\N",
    b"\n",
    b"\r",
    b"\0",
    b"\t",
    b"\x7f",
    b"\xc3\xa9",
    b"\xe9",
    b"abc",
    b"1",
    b"99999999",
    b"999999999999999999999",
];

/// Heads of layouts: so many fields, the delimiter, the character set, three bytes for each field.
fn fresh(numbers: &mut Numbers) -> Vec<u8> {
    let count = 1 + numbers.below(7);
    let mut data = vec![count as u8, b";|,\t"[numbers.below(4)], numbers.next() as u8];
    (0..3 * count).for_each(|_| data.push(numbers.next() as u8));
    if numbers.below(2) == 0 {
        // Fields side by side that are all kept.
        (0..count).for_each(|field| data[3 + 3 * field + 2] &= 0x21);
    }
    let widths: Vec<usize> = (0..count).map(|field| 1 + usize::from(data[3 + 3 * field] % 20)).collect();
    for _ in 0..1 + numbers.below(4) {
        for width in &widths {
            let mut value = Vec::new();
            while value.len() < *width && numbers.below(4) > 0 {
                value.extend(PIECES[numbers.below(PIECES.len())]);
            }
            value.truncate(*width);
            let at = if numbers.below(3) == 0 { 0 } else { value.len() };
            (value.len()..*width).for_each(|_| value.insert(at, b' '));
            data.extend(value);
        }
        data.push(b'\n');
    }
    data
}

fn changed(mut data: Vec<u8>, numbers: &mut Numbers) -> Vec<u8> {
    for _ in 0..numbers.below(4) {
        let at = numbers.below(data.len());
        match numbers.below(4) {
            0 => data[at] = numbers.next() as u8,
            1 => drop(data.remove(at)),
            2 => data.insert(at, numbers.next() as u8),
            _ => drop(data.splice(at..at, PIECES[numbers.below(PIECES.len())].iter().copied())),
        }
    }
    data
}

#[test]
fn every_record_of_every_layout_is_a_line_or_a_reject_with_its_values() {
    let cases =
        std::env::var("EVENKEEL_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let seed = std::env::var("EVENKEEL_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut numbers = Numbers(seed);
    for case in 0..cases {
        let fresh = fresh(&mut numbers);
        let data = changed(fresh, &mut numbers);
        let checked = std::panic::catch_unwind(|| records::check(&data));
        assert!(checked.is_ok(), "case {case} of seed {seed}: {}", data.escape_ascii());
    }
}
