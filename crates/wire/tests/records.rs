//! The fuzz target `records` without a fuzzer: the same checks, on bytes that are changed from a seed.

use evenkeel_core::random::{Random, Seed};

#[path = "../../../fuzz/shared/records.rs"]
mod records;

/// Cases of an ordinary run.
const CASES: u64 = 30_000;

fn below(numbers: &mut Random, bound: usize) -> usize {
    numbers.uniform(0, bound.max(1) as u64 - 1) as usize
}

/// What is often in records, and what should not be.
const PIECES: &[u8] = b" |        |0|17|-5|+|.|3.14|20260229|20240229|20260801235959|19991301|;|\\\
    |\\N|\n|\r|\0|\t|\x7f|\xc3\xa9|\xe9|abc|1|99999999|999999999999999999999";

fn piece(numbers: &mut Random) -> &'static [u8] {
    let pieces: Vec<&[u8]> = PIECES.split(|byte| *byte == b'|').collect();
    pieces[below(numbers, pieces.len())]
}

/// Heads of layouts: so many fields, the delimiter, the character set, three bytes for each field.
fn fresh(numbers: &mut Random) -> Vec<u8> {
    let count = 1 + below(numbers, 7);
    let mut data = vec![count as u8, b";|,\t"[below(numbers, 4)], numbers.bits() as u8];
    (0..3 * count).for_each(|_| data.push(numbers.bits() as u8));
    if below(numbers, 2) == 0 {
        // Fields side by side that are all kept.
        (0..count).for_each(|field| data[3 + 3 * field + 2] &= 0x21);
    }
    let widths: Vec<usize> = (0..count).map(|field| 1 + usize::from(data[3 + 3 * field] % 20)).collect();
    for _ in 0..1 + below(numbers, 4) {
        for width in &widths {
            let mut value = Vec::new();
            while value.len() < *width && below(numbers, 4) > 0 {
                value.extend(piece(numbers));
            }
            value.truncate(*width);
            let at = if below(numbers, 3) == 0 { 0 } else { value.len() };
            (value.len()..*width).for_each(|_| value.insert(at, b' '));
            data.extend(value);
        }
        data.push(b'\n');
    }
    data
}

fn changed(mut data: Vec<u8>, numbers: &mut Random) -> Vec<u8> {
    for _ in 0..below(numbers, 4) {
        let at = below(numbers, data.len());
        match below(numbers, 4) {
            0 => data[at] = numbers.bits() as u8,
            1 => drop(data.remove(at)),
            2 => data.insert(at, numbers.bits() as u8),
            _ => drop(data.splice(at..at, piece(numbers).iter().copied())),
        }
    }
    data
}

#[test]
fn every_record_of_every_layout_is_a_line_or_a_reject_with_its_values() {
    let mut numbers = Random::new(Seed(1));
    for case in 0..CASES {
        let fresh = fresh(&mut numbers);
        let data = changed(fresh, &mut numbers);
        let checked = std::panic::catch_unwind(|| records::check(&data));
        assert!(checked.is_ok(), "case {case}: {}", data.escape_ascii());
    }
}
