//! What is wrong with some records, at stated rates, and how often it was planted.

use crate::dispatch::Day;
use evenkeel_core::random::{Random, Seed};
use std::collections::BTreeMap;

/// Kinds of dirt. A record has one of them at most, line ends aside, which are the last.
const KINDS: [&str; 8] =
    ["late", "duplicate", "contradiction", "delimiter", "backslash", "nul", "non_ascii", "crlf"];
const CRLF: usize = KINDS.len() - 1;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dirt {
    /// Share of the records with each of the kinds, from 0 to 1.
    shares: [f64; KINDS.len()],
    /// Whether the last record ends in its middle.
    short_last: bool,
}

/// How often each kind was planted.
pub type Planted = BTreeMap<&'static str, u64>;

impl Dirt {
    pub fn none() -> Self {
        Self::default()
    }

    /// A thousandth of each kind, a hundredth of late records, and a last record that is short.
    pub fn all() -> Self {
        let mut shares = [0.001; KINDS.len()];
        shares[0] = 0.01;
        Self { shares, short_last: true }
    }

    /// `none`, `all`, or kinds with their shares: `late=0.01,nul=0.001,short-last`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => return Ok(Self::none()),
            "all" => return Ok(Self::all()),
            _ => {}
        }
        let mut dirt = Self::none();
        for word in text.split(',').map(str::trim) {
            let kinds = KINDS.join(", ").replace('_', "-");
            let wrong = || {
                format!(
                    "`{word}` is no kind of dirt with a share: as late=0.01; there are {kinds}, and short-last"
                )
            };
            if word == "short-last" {
                dirt.short_last = true;
                continue;
            }
            let (kind, share) = word.split_once('=').ok_or_else(wrong)?;
            let place = KINDS.iter().position(|known| known.replace('_', "-") == kind).ok_or_else(wrong)?;
            let share = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
            dirt.shares[place] = share.ok_or_else(wrong)?;
        }
        match dirt.shares[..CRLF].iter().sum::<f64>() > 1.0 {
            true => Err("the shares come to more than 1 together".to_owned()),
            false => Ok(dirt),
        }
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
        let planted = KINDS.into_iter().chain(["short"]).map(|kind| (kind, 0)).collect();
        Self { dirt, day, random: Random::new(seed), planted }
    }

    /// Spoils a record with its line feed in place, or adds one that comes again.
    pub fn spoil(&mut self, line: &mut Vec<u8>, is_last: bool) {
        if is_last && self.dirt.short_last {
            line.truncate(120);
            return self.count("short");
        }
        let (chance, mut sum) = (self.random.unit(), 0.0);
        let hit = (0..CRLF).find(|kind| {
            sum += self.dirt.shares[*kind];
            chance < sum
        });
        if let Some(kind) = hit.map(|kind| KINDS[kind]) {
            self.count(kind);
            match kind {
                "late" => {
                    let day = day_after(self.day, -(self.random.uniform(1, 2) as i64));
                    line[START].copy_from_slice(format!("{day:08}").as_bytes());
                }
                "duplicate" => line.extend_from_within(..),
                "contradiction" => {
                    let length = line.len();
                    line.extend_from_within(..);
                    line[length + CALLED + 4] = b'*';
                }
                "delimiter" => line[CELL + 1] = b';',
                "backslash" => line[CELL + 1] = b'\\',
                "nul" => line[CELL + 6] = 0,
                _ => line[CELL + 1] = 0xe9,
            }
        }
        if self.random.unit() < self.dirt.shares[CRLF] && line.len() == 200 {
            line.insert(199, b'\r');
            self.count("crlf");
        }
    }

    fn count(&mut self, kind: &'static str) {
        *self.planted.entry(kind).or_default() += 1;
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
        assert_eq!(dirt, Dirt { shares: [0.01, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0], short_last: true });
        assert_eq!(Dirt::parse("all").unwrap(), Dirt::all());
        for wrong in ["", "late", "late=2", "late=NaN", "mud=0.1"] {
            assert!(Dirt::parse(wrong).unwrap_err().contains("is no kind of dirt"), "{wrong}");
        }
        assert!(Dirt::parse("late=0.6,nul=0.6").unwrap_err().contains("more than 1"));
    }
}
