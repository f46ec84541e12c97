//! The kinds of value that TPC-W rows are made of, written as text into a byte buffer.
//!
//! No value ever holds a tab, a line end, a backslash or a single quote, so a row is the same bytes in a
//! LOAD DATA file and, between quotes, in an INSERT statement. Numbers are written as the server prints
//! them back, which is what lets both sides compute the same checksum.

use super::date::Date;
use evenkeel_core::random::Random;
use std::fmt;
use std::io::Write;

/// The alphabet of [`astring`]: 79 symbols, no digits.
pub const ALPHABET: &[u8; 79] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!@#$%^&*()_-=+{}[]|:;,.?/~ ";

/// Eight symbols from 64 random bits.
///
/// The bits are read as a fraction; each step multiplies by 79 and takes the whole part as the next symbol. Its
/// probability differs from 1/79 by less than 79^8 / 2^64 = 8.2e-5 of itself.
fn symbols(mut bits: u64) -> [u8; 8] {
    std::array::from_fn(|_| {
        let product = u128::from(bits) * ALPHABET.len() as u128;
        bits = product as u64;
        ALPHABET[(product >> 64) as usize]
    })
}

/// A string of `shortest..=longest` symbols of [`ALPHABET`], its length and each symbol uniform.
pub fn astring(out: &mut Vec<u8>, random: &mut Random, shortest: u64, longest: u64) {
    let length = random.uniform(shortest, longest) as usize;
    let end = out.len() + length;
    for _ in 0..length.div_ceil(8) {
        out.extend_from_slice(&symbols(random.bits()));
    }
    out.truncate(end);
}

/// So many random decimal digits, as text: a number of 16 digits would not fit 32 bits.
pub fn nstring(out: &mut Vec<u8>, random: &mut Random, shortest: u64, longest: u64) {
    let length = random.uniform(shortest, longest) as usize;
    let mut bits = 0;
    for index in 0..length {
        // Sixteen digits from 64 bits by the same steps as in `symbols`; the bias is below 10^16 / 2^64.
        if index % 16 == 0 {
            bits = random.bits();
        }
        let product = u128::from(bits) * 10;
        out.push(b'0' + (product >> 64) as u8);
        bits = product as u64;
    }
}

/// The decimal digits of `number` as syllables, without padding: 17 is OGUL. User names are made so.
pub fn digsyl(out: &mut Vec<u8>, number: u64) {
    const SYLLABLES: [&[u8; 2]; 10] = [b"BA", b"OG", b"AL", b"RI", b"RE", b"SE", b"AT", b"UL", b"IN", b"NG"];
    let mut unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0));
    while unit > 0 {
        out.extend_from_slice(SYLLABLES[(number / unit % 10) as usize]);
        unit /= 10;
    }
}

pub fn whole(out: &mut Vec<u8>, number: u64) {
    write(out, format_args!("{number}"));
}

/// Writing to memory cannot fail.
fn write(out: &mut Vec<u8>, what: fmt::Arguments<'_>) {
    let _ = out.write_fmt(what);
}

/// An amount of money, always with two decimals, as the server prints a DECIMAL.
pub fn cents(out: &mut Vec<u8>, cents: u64) {
    write(out, format_args!("{}.{:02}", cents / 100, cents % 100));
}

/// Path of a picture, as `img17/image_417.gif`.
pub fn picture(out: &mut Vec<u8>, kind: &str, number: u64) {
    write(out, format_args!("img{}/{kind}_{number}.gif", number % 100));
}

/// A month as `yyyy/mm`.
pub fn month(out: &mut Vec<u8>, year: u64, month: u64) {
    write(out, format_args!("{year}/{month:02}"));
}

/// `units` divided by ten to the power of `places`, without zeros at the end: 410 cents are 4.1, as the
/// server prints a DOUBLE. Fewer than 15 digits, so that a DOUBLE holds them.
pub fn decimal(out: &mut Vec<u8>, mut units: u64, mut places: u32) {
    while places > 0 && units.is_multiple_of(10) {
        units /= 10;
        places -= 1;
    }
    let scale = 10_u64.pow(places);
    whole(out, units / scale);
    if places > 0 {
        write(out, format_args!(".{:0places$}", units % scale, places = places as usize));
    }
}

/// A date as `YYYY-MM-DD`.
pub fn date(out: &mut Vec<u8>, date: Date) {
    write(out, format_args!("{date}"));
}

/// One of several, uniform.
pub fn choice<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.uniform(0, values.len() as u64 - 1) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_alphabet_has_79_different_symbols_and_no_digit() {
        let mut sorted = ALPHABET.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 79);
        assert!(ALPHABET.iter().all(|symbol| !symbol.is_ascii_digit() && !b"\t\n\\'".contains(symbol)));
    }

    #[test]
    fn astring_draws_lengths_and_symbols_evenly() {
        let mut random = Random::new(Seed(1));
        let mut symbols = [0_u32; 256];
        let mut lengths = [0_u32; 41];
        for _ in 0..20_000 {
            let string = text(|out| astring(out, &mut random, 15, 40));
            lengths[string.len()] += 1;
            string.bytes().for_each(|symbol| symbols[usize::from(symbol)] += 1);
        }
        // 20,000 strings over 26 lengths: 769 each, standard deviation 27; 550,000 symbols over 79: 6,962
        // each, standard deviation 83.
        assert!(lengths[15..].iter().all(|count| (620..920).contains(count)), "{lengths:?}");
        let counts = ALPHABET.map(|symbol| symbols[usize::from(symbol)]);
        assert!(counts.iter().all(|count| (6_500..7_420).contains(count)), "{counts:?}");
        assert_eq!(counts.iter().sum::<u32>(), symbols.iter().sum::<u32>());
    }

    #[test]
    fn digits_become_syllables() {
        for (number, spelled) in [
            (0, "BA"),
            (1, "OG"),
            (17, "OGUL"),
            (90, "NGBA"),
            (1_234_567_890, "OGALRIRESEATULINNGBA"),
            (u64::MAX, "OGINREREATULREREBAULRIULBANGSESEOGATOGSE"),
        ] {
            assert_eq!(text(|out| digsyl(out, number)), spelled, "{number}");
        }
    }

    #[test]
    fn decimals_are_written_as_the_server_prints_doubles() {
        for (units, places, written) in [
            (410, 2, "4.1"),
            (400, 2, "4"),
            (5, 2, "0.05"),
            (0, 2, "0"),
            (101_851_200, 6, "101.8512"),
            (1_000_001, 6, "1.000001"),
            (99_999, 2, "999.99"),
        ] {
            assert_eq!(text(|out| decimal(out, units, places)), written);
        }
    }
}
