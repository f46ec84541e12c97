//! What is wrong with some records, at stated rates, and how often it was planted.

use crate::dispatch::Day;
use evenkeel_core::random::{Random, Seed};

/// Shares of the records with each kind of dirt, from 0 to 1. A record has one kind at most, line ends aside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dirt {
    pub late: f64,
    /// Sent once more, a few records later.
    pub duplicate: f64,
    /// Sent once more with another called number.
    pub contradiction: f64,
    pub delimiter: f64,
    pub backslash: f64,
    /// Bytes of zero in place of blanks in a field.
    pub nul: f64,
    pub non_ascii: f64,
    pub crlf: f64,
    /// Whether the last record ends in its middle.
    pub short_last: bool,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DirtError {
    #[error("`{0}` is no kind of dirt with a share: as late=0.01; there are {KINDS}, and short-last")]
    Word(String),
    #[error("the shares come to more than 1 together")]
    Sum,
}

const KINDS: &str = "late, duplicate, contradiction, delimiter, backslash, nul, non-ascii, crlf";

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Planted {
    pub late: u64,
    pub duplicate: u64,
    pub contradiction: u64,
    pub delimiter: u64,
    pub backslash: u64,
    pub nul: u64,
    pub non_ascii: u64,
    pub crlf: u64,
    pub short: u64,
}

impl Dirt {
    pub fn none() -> Self {
        Self::default()
    }

    /// A thousandth of each kind, a hundredth of late records, and a last record that is short.
    pub fn all() -> Self {
        let each = 0.001;
        Self {
            late: 0.01,
            duplicate: each,
            contradiction: each,
            delimiter: each,
            backslash: each,
            nul: each,
            non_ascii: each,
            crlf: each,
            short_last: true,
        }
    }

    /// `none`, `all`, or kinds with their shares: `late=0.01,nul=0.001,short-last`.
    pub fn parse(text: &str) -> Result<Self, DirtError> {
        match text {
            "none" => return Ok(Self::none()),
            "all" => return Ok(Self::all()),
            _ => {}
        }
        let mut dirt = Self::none();
        for word in text.split(',').map(str::trim) {
            let wrong = || DirtError::Word(word.to_owned());
            if word == "short-last" {
                dirt.short_last = true;
                continue;
            }
            let (kind, share) = word.split_once('=').ok_or_else(wrong)?;
            let share: f64 = share.parse().map_err(|_| wrong())?;
            let place = dirt.share(kind).filter(|_| (0.0..=1.0).contains(&share)).ok_or_else(wrong)?;
            *place = share;
        }
        let sum = dirt.late + dirt.duplicate + dirt.contradiction + dirt.delimiter + dirt.backslash;
        if sum + dirt.nul + dirt.non_ascii > 1.0 { Err(DirtError::Sum) } else { Ok(dirt) }
    }

    fn share(&mut self, kind: &str) -> Option<&mut f64> {
        Some(match kind {
            "late" => &mut self.late,
            "duplicate" => &mut self.duplicate,
            "contradiction" => &mut self.contradiction,
            "delimiter" => &mut self.delimiter,
            "backslash" => &mut self.backslash,
            "nul" => &mut self.nul,
            "non-ascii" => &mut self.non_ascii,
            "crlf" => &mut self.crlf,
            _ => return None,
        })
    }
}

pub(super) struct Dirty {
    dirt: Dirt,
    day: u32,
    random: Random,
    pub planted: Planted,
}

/// Places of fields in a record.
const CALLED: usize = 27;
const START: std::ops::Range<usize> = 72..80;
const CELL: usize = 120;

impl Dirty {
    pub fn new(dirt: Dirt, day: u32, seed: Seed) -> Self {
        Self { dirt, day, random: Random::new(seed), planted: Planted::default() }
    }

    /// Spoils a record with its line feed in place, or adds one that comes again.
    pub fn spoil(&mut self, line: &mut Vec<u8>, is_last: bool) {
        if is_last && self.dirt.short_last {
            line.truncate(120);
            self.planted.short += 1;
            return;
        }
        let (chance, dirt) = (self.random.unit(), self.dirt.clone());
        let mut sum = 0.0;
        let mut hit = |share: f64| {
            sum += share;
            chance < sum
        };
        if hit(dirt.late) {
            let day = day_after(self.day, -(self.random.uniform(1, 2) as i64));
            line[START].copy_from_slice(format!("{day:08}").as_bytes());
            self.planted.late += 1;
        } else if hit(dirt.duplicate) {
            line.extend_from_within(..);
            self.planted.duplicate += 1;
        } else if hit(dirt.contradiction) {
            let length = line.len();
            line.extend_from_within(..);
            line[length + CALLED + 4] = b'*';
            self.planted.contradiction += 1;
        } else if hit(dirt.delimiter) {
            line[CELL + 1] = b';';
            self.planted.delimiter += 1;
        } else if hit(dirt.backslash) {
            line[CELL + 1] = b'\\';
            self.planted.backslash += 1;
        } else if hit(dirt.nul) {
            line[CELL + 6] = 0;
            self.planted.nul += 1;
        } else if hit(dirt.non_ascii) {
            line[CELL + 1] = 0xe9;
            self.planted.non_ascii += 1;
        }
        if self.random.unit() < dirt.crlf && line.len() == 200 {
            line.insert(199, b'\r');
            self.planted.crlf += 1;
        }
    }
}

pub(super) fn day_after(day: u32, days: i64) -> u32 {
    let after = |known: Day| Day::of_number(known.number() + days).compact().parse().ok();
    match days {
        0 => day,
        _ => Day::parse(&day.to_string()).and_then(after).unwrap_or(day),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirt_is_named_with_its_share() {
        let dirt = Dirt::parse("late=0.01, nul=0.5,short-last").unwrap();
        assert_eq!(dirt, Dirt { late: 0.01, nul: 0.5, short_last: true, ..Dirt::none() });
        assert_eq!(Dirt::parse("all").unwrap(), Dirt::all());
        for wrong in ["", "late", "late=2", "late=NaN", "mud=0.1"] {
            assert!(matches!(Dirt::parse(wrong), Err(DirtError::Word(_))), "{wrong}");
        }
        assert_eq!(Dirt::parse("late=0.6,nul=0.6"), Err(DirtError::Sum));
    }
}
