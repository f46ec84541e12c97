//! Up to sixteen letters in one number, the first in its lowest byte: all of them are judged at once.
//!
//! Each function is for printable ASCII, and may say no to what would fit: [`Field::judge`](super::Field::judge) has the last word.

/// A blank in every byte.
pub(super) const BLANKS: u128 = every(b' ');
/// The highest bit of every byte.
const HIGH: u128 = every(0x80);

const fn every(byte: u8) -> u128 {
    u128::from_le_bytes([byte; 16])
}

/// All bits of the first so many bytes, at most sixteen: looked up, since shifts of two registers cost more.
#[inline]
pub(super) fn first(bytes: usize) -> u128 {
    FIRST[bytes & 31]
}

const FIRST: [u128; 32] = {
    let (mut masks, mut bytes) = ([u128::MAX; 32], 0);
    while bytes < 16 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// Sixteen bytes from a place on; zeros behind the last one.
#[inline]
pub(super) fn load(bytes: &[u8], at: usize) -> u128 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u128::from_le_bytes(*word),
        None => load_last(bytes.get(at..).unwrap_or_default()),
    }
}

/// Eight bytes from a place on; zeros behind the last one.
#[inline]
pub(super) fn load_half(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word),
        None => load_last(bytes.get(at..).unwrap_or_default()) as u64,
    }
}

#[cold]
fn load_last(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(word)
}

/// Whether all bytes are printable ASCII, and none is the delimiter or a backslash. Sixteen lanes without a branch, which the compiler
/// has a register for; the last bytes are looked at twice rather than one by one.
pub(super) fn is_plain(record: &[u8], delimiter: u8) -> bool {
    let odd = |byte: u8| {
        u8::from(byte == delimiter)
            | u8::from(byte == b'\\')
            | u8::from(byte.wrapping_sub(b' ') > b'~' - b' ')
    };
    let Some(last) = record.last_chunk::<16>() else { return record.iter().all(|byte| odd(*byte) == 0) };
    let mut lanes = [0; 16];
    for bytes in record.as_chunks::<16>().0.iter().chain([last]) {
        for (lane, byte) in lanes.iter_mut().zip(bytes) {
            *lane |= odd(*byte);
        }
    }
    lanes == [0; 16]
}

/// The highest bit of each byte that is no digit: above 9 once the digit zero is taken off, which no printable letter escapes.
#[inline]
fn no_digits(value: u128, length: usize) -> u128 {
    // No byte reaches 256, so that none spills into the next.
    ((value ^ every(b'0')) + every(0x80 - 10)) & HIGH & first(length)
}

#[inline]
pub(super) fn is_digits(value: u128, length: usize) -> bool {
    no_digits(value, length) == 0
}

/// The same of at most eight letters.
#[inline]
pub(super) fn is_digits_half(value: u64, length: usize) -> bool {
    ((value ^ every(b'0') as u64) + every(0x80 - 10) as u64) & HIGH as u64 & first(length) as u64 == 0
}

/// Digits, with a point among them or without.
#[inline]
pub(super) fn is_decimal(value: u128, length: usize) -> bool {
    let odd = no_digits(value, length);
    // At most one byte: what is left of it after the lowest bit is taken away is nothing.
    let point = value >> (odd.trailing_zeros() & 0x78) & 0xff;
    odd == 0 || (odd & (odd - 1) == 0 && point == u128::from(b'.') && length > 1)
}

/// The number that at most eight digits are.
#[inline]
pub(super) fn number(value: u64, length: usize) -> Option<i64> {
    if length == 0 || !is_digits_half(value, length) {
        return None;
    }
    // Digits to the end of the word, zeros before them; then pairs, fours and all eight become one number.
    let digits = value ^ every(b'0') as u64;
    let digits = digits << (8 * (8 - length));
    let pairs = pairs(digits);
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some(((fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff) as i64)
}

/// Four numbers of two digits, each in sixteen bits.
#[inline]
fn pairs(digits: u64) -> u64 {
    (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff
}

/// Days of each month; the last of a leap year's February is looked at elsewhere.
const DAYS: [u8; 16] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0, 0, 0];

/// Whether this is `yyyymmdd` or `yyyymmddhhmmss`, but for the 29th of February.
#[inline]
pub(super) fn is_time(value: u128, length: usize) -> bool {
    if !(length == 8 || length == 14) || !is_digits(value, length) {
        return false;
    }
    let digits = value ^ (every(b'0') & first(length));
    let (day, clock) = (pairs(digits as u64), pairs((digits >> 64) as u64));
    let number = |pairs: u64, place: u32| (pairs >> (16 * place)) as u8;
    let days = DAYS.get(usize::from(number(day, 2))).copied().unwrap_or(0);
    let is_day = number(day, 0) >= 10 && number(day, 3).wrapping_sub(1) < days;
    is_day && number(clock, 0) < 24 && number(clock, 1) < 60 && number(clock, 2) < 60
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Check, Field, Kind};
    use proptest::prelude::*;

    fn judged(kind: Kind, value: &str) -> bool {
        Field { kind, check: Check::None, ..Field::text("a", 0, 16) }.judge(value.as_bytes()).is_ok()
    }

    fn of(value: &str) -> (u128, usize) {
        (load(value.as_bytes(), 0), value.len())
    }

    proptest! {
        #[test]
        fn a_word_is_never_taken_for_what_its_bytes_are_not(value in "[0-9]{0,14}[ -~]?[0-9.]{0,14}[ -~]?") {
            let value = &value[..value.len().min(16)];
            prop_assume!(!value.is_empty());
            let (word, length) = of(value);
            let digits = value.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(is_digits(word, length), digits);
            let expected = judged(Kind::Decimal, value) && !value.starts_with(['-', '+']);
            prop_assert_eq!(is_decimal(word, length), expected, "{}", value);
            if length <= 8 {
                prop_assert_eq!(is_digits_half(word as u64, length), digits);
                prop_assert_eq!(number(word as u64, length), value.parse().ok().filter(|_| digits));
            }
        }

        #[test]
        fn an_instant_is_the_same_by_words_and_by_bytes(
            date in "(09|10|20)[0-9]{2}[01][0-9][0-3][0-9]", clock in "([0-2][0-9][0-6][0-9][0-6][0-9])?",
        ) {
            let value = format!("{date}{clock}");
            let (word, length) = of(&value);
            let expected = judged(Kind::Time, &value) && &value[4..8] != "0229";
            prop_assert_eq!(is_time(word, length), expected, "{}", value);
        }

        #[test]
        fn a_record_is_plain_if_each_of_its_bytes_is(bytes in "[ -~]{0,40}", odd in any::<u8>(), place in 0_usize..80) {
            let mut bytes = bytes.into_bytes();
            if let Some(byte) = bytes.get_mut(place) { *byte = odd; }
            let expected = bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && !b";\\".contains(byte));
            prop_assert_eq!(is_plain(&bytes, b';'), expected);
        }
    }
}
