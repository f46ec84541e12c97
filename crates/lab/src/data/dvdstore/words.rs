//! The words that titles and names are made of. All are our own, and made of syllables.
//!
//! None is shorter than three letters or a common English word, which full-text indexes leave out.

use evenkeel_core::random::Random;

const TITLE_WORDS: u64 = 1_000;
/// First names of actors, and as many last names.
const ACTOR_NAMES: u64 = 200;

const FIRST: [&str; 10] = ["BA", "DE", "FI", "GO", "KU", "LA", "ME", "NI", "PO", "RU"];
const SECOND: [&str; 10] = ["VA", "LE", "RI", "TO", "NU", "SA", "PE", "MI", "DO", "KU"];
const THIRD: [&str; 10] = ["DAN", "REL", "SIN", "TOR", "MUS", "LAN", "VEK", "KIR", "POL", "GUS"];
const NAME_HEADS: [&str; 20] = [
    "AL", "BER", "CAR", "DOR", "EL", "FRE", "GIN", "HAL", "IR", "JO", "KAR", "LU", "MAR", "NOR", "OT", "PAU",
    "RO", "SIL", "TOM", "VIK",
];
const FIRST_NAME_ENDS: [&str; 10] =
    ["ANA", "BERT", "DINE", "ETTA", "FRED", "INA", "LIND", "MUND", "NARD", "OSE"];
const LAST_NAME_ENDS: [&str; 10] =
    ["ACKER", "BECK", "DALE", "FORD", "GREN", "HOLM", "LUND", "MANN", "STEIN", "WICK"];

/// Appends a title's word, from 0 to [`TITLE_WORDS`] - 1.
fn title_word(out: &mut Vec<u8>, word: u64) {
    let part = |list: &[&'static str; 10], unit: u64| list[(word / unit % 10) as usize].as_bytes();
    out.extend_from_slice(part(&FIRST, 100));
    out.extend_from_slice(part(&SECOND, 10));
    out.extend_from_slice(part(&THIRD, 1));
}

/// Appends the title of a product: two words.
pub fn title(out: &mut Vec<u8>, product: u64) {
    title_word(out, product / TITLE_WORDS % TITLE_WORDS);
    out.push(b' ');
    title_word(out, product % TITLE_WORDS);
}

/// Appends an actor's name: any first name with any last name.
pub fn actor(out: &mut Vec<u8>, random: &mut Random) {
    two(out, &FIRST_NAME_ENDS, random.uniform(0, ACTOR_NAMES - 1));
    out.push(b' ');
    two(out, &LAST_NAME_ENDS, random.uniform(0, ACTOR_NAMES - 1));
}

fn two(out: &mut Vec<u8>, ends: &[&str; 10], name: u64) {
    out.extend_from_slice(NAME_HEADS[(name / 10 % 20) as usize].as_bytes());
    out.extend_from_slice(ends[(name % 10) as usize].as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Seed;
    use std::collections::BTreeSet;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn there_are_as_many_words_and_names_as_published() {
        let words: BTreeSet<_> = (0..TITLE_WORDS).map(|word| text(|out| title_word(out, word))).collect();
        let names: BTreeSet<_> =
            (0..ACTOR_NAMES).map(|name| text(|out| two(out, &FIRST_NAME_ENDS, name))).collect();
        let last: BTreeSet<_> =
            (0..ACTOR_NAMES).map(|name| text(|out| two(out, &LAST_NAME_ENDS, name))).collect();
        assert_eq!((words.len(), names.len(), last.len()), (1_000, 200, 200));
        assert!(words.iter().chain(&names).chain(&last).all(|word| word.len() >= 4));
        let mut random = Random::new(Seed(1));
        let actors: BTreeSet<_> = (0..10_000).map(|_| text(|out| actor(out, &mut random))).collect();
        assert!(actors.len() > 8_000, "{}", actors.len());
    }

    #[test]
    fn a_title_has_two_words_by_the_number_of_its_product() {
        assert_eq!(text(|out| title(out, 1)), "BAVADAN BAVAREL");
        assert_eq!(text(|out| title(out, 12_345)), "BALESIN GONULAN");
    }
}
