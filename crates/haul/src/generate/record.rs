//! One call as a record of fixed width.

use crate::dispatch::Day;
use evenkeel_core::distribution::WeightedChoice;
use evenkeel_core::random::{Random, Seed};
use std::collections::BTreeMap;
use std::io::Write;

/// The layout of the records, as `evenkeel cdr convert` reads it: 199 bytes and a line feed.
pub const LAYOUT: &str = include_str!("calls.toml");

/// What of a call does not depend on chance, or is drawn before it.
pub(super) struct Call {
    pub seq: u64,
    /// Second of the day at which it begins.
    pub start_s: u32,
    pub day: u32,
}

impl Call {
    pub fn write(&self, callers: &Callers, random: &mut Random, out: &mut Vec<u8>) {
        let (caller, called) = (callers.caller(random), callers.called(random));
        // Answered, nobody answers, busy, failed: a guess at the mix.
        let ends = random.unit();
        let (answered, cause) = match ends {
            _ if ends < 0.68 => (true, 16),
            _ if ends < 0.88 => (false, 19),
            _ if ends < 0.96 => (false, 17),
            _ => (false, 41),
        };
        let rang_s = random.uniform(2, 25);
        let seconds = if answered { draw(random) } else { 0 };
        let start = self.at(0);
        let answer = if answered { self.at(rang_s) } else { String::new() };
        let end = self.at(rang_s + seconds);
        let cell = random.uniform(0, 9_999);
        let (trunk_in, trunk_out) = (random.uniform(1, 99), random.uniform(1, 99));
        let (service, roams) = (random.uniform(1, 5), random.unit() < 0.02);
        let amount =
            if answered { format!("{}.{:02}", seconds / 60, seconds % 60) } else { "0.00".to_owned() };
        // A vector takes all that is written to it.
        let _ = writeln!(
            out,
            "01{:>10}{:<15}{:<15}{:<15}{:<15}{start:<14}{answer:<14}{end:<14}{seconds:>6}{:<10}{:<12}{:<7}{:<7}{cause:<3}{service:<2}{amount:>10}{}{:27}",
            self.seq,
            format!("3468{:08}", caller % 100_000_000),
            format!("3469{:08}", called % 100_000_000),
            format!("21407{caller:010}"),
            format!("35{caller:013}"),
            format!("C{cell:05}"),
            format!("MSC{:02}", cell % 20),
            format!("TI{trunk_in:02}"),
            format!("TO{trunk_out:02}"),
            u8::from(roams),
            "",
        );
    }

    /// The instant so many seconds after it began; a call may end on the next day.
    fn at(&self, after_s: u64) -> String {
        let second = u64::from(self.start_s) + after_s;
        let day = day_after(self.day, i64::try_from(second / 86_400).unwrap_or(0));
        let second = second % 86_400;
        format!("{day:08}{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60)
    }
}

/// Calls of a caller in a day, about.
const CALLS: u64 = 25;
/// Callers at most: a number and a weight each are kept in memory.
const MOST: u64 = 1_000_000;

pub(super) struct Callers {
    weighted: Option<WeightedChoice>,
    count: u64,
}

impl Callers {
    /// As many as so many calls need. A caller's calls are double Pareto lognormal: exp(N(nu, tau^2) + E1/alpha - E2/beta) with
    /// exponential E1 and E2 (Seshadri et al., KDD 2008); nu = ln 2, tau = 1, alpha = 2.5, beta = 1.5 are guesses.
    pub fn new(calls: u64, seed: Seed) -> Self {
        let count = (calls / CALLS).clamp(100, MOST);
        let mut random = Random::new(seed);
        let mut weight = || {
            let body = 2.0_f64.ln() + random.normal();
            (body + random.exponential(1.0 / 2.5) - random.exponential(1.0 / 1.5)).exp()
        };
        let weights: Vec<f64> = (0..count).map(|_| weight()).collect();
        Self { weighted: WeightedChoice::new(&weights).ok(), count }
    }

    pub fn caller(&self, random: &mut Random) -> u64 {
        match &self.weighted {
            Some(weighted) => weighted.draw(random) as u64,
            None => random.uniform(0, self.count - 1),
        }
    }

    /// Number of somebody who is called: anybody.
    pub fn called(&self, random: &mut Random) -> u64 {
        random.uniform(0, 4 * self.count)
    }
}

// How long calls last: log-logistic with a median of 60 s and a shape of 1.6, at most 4 h, as the calls of most callers.

const LONGEST_S: f64 = 14_400.0;
const MEDIAN_S: f64 = 60.0;
const SHAPE: f64 = 1.6;

fn draw(random: &mut Random) -> u64 {
    // The inverse of F(x) = 1 / (1 + (x/a)^-b), up to where F reaches the longest call.
    let most = 1.0 / (1.0 + (LONGEST_S / MEDIAN_S).powf(-SHAPE));
    let share = random.unit() * most;
    (MEDIAN_S * (share / (1.0 - share)).powf(1.0 / SHAPE)).max(1.0) as u64
}

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

fn day_after(day: u32, days: i64) -> u32 {
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
