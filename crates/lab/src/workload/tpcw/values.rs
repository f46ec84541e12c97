//! Values by the rules of the TPC-W population, written without allocating.

use evenkeel_core::distribution::NuRand;
use evenkeel_core::random::Random;

/// Countries that customers type in: some of those that the population has.
pub const COUNTRY_NAMES: [&str; 4] = ["United States", "United Kingdom", "Canada", "Germany"];

/// `A` of the choice of a search text.
pub fn search_a(items: u64) -> u64 {
    match items {
        0..10_000 => 63,
        10_000..100_000 => 511,
        100_000..1_000_000 => 4_095,
        1_000_000..10_000_000 => 32_767,
        _ => 524_287,
    }
}

/// Appends a search pattern: a prefix that is as long as lets one of `words` equally likely words be meant.
///
/// The specification hides one of `words` known words in the title (or name) of every item and searches for
/// one of them. Titles of this population are random texts in which such a word never stands, so a search
/// for it would find nothing at any size. A prefix of n letters has the likelihood (2/79)^n in a collation
/// that takes upper and lower case for the same; n is the one nearest to 1 / `words`, at least one.
pub fn search_prefix(buffer: &mut Vec<u8>, random: &mut Random, a: u64, words: u64) {
    let letters = ((words.max(1) as f64).ln() / 39.5_f64.ln()).round().max(1.0) as u32;
    let mut word = NuRand { a, x: 0, y: words }.draw(random);
    for _ in 0..letters {
        buffer.push(b'a' + (word % 26) as u8);
        word /= 26;
    }
    buffer.push(b'%');
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut buffer = Vec::new();
        write(&mut buffer);
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn the_skew_of_searches_follows_the_items() {
        for (items, a) in
            [(1_000, 63), (10_000, 511), (100_000, 4_095), (1_000_000, 32_767), (10_000_000, 524_287)]
        {
            assert_eq!(search_a(items), a);
        }
    }

    #[test]
    fn search_prefixes_grow_with_the_words() {
        let mut random = Random::new(Seed(4));
        for (words, length) in [(1, 2), (200, 2), (2_000, 3), (20_000, 4), (200_000, 4)] {
            assert_eq!(
                text(|buffer| search_prefix(buffer, &mut random, 511, words)).len(),
                length,
                "{words}"
            );
        }
    }
}
