//! Call records from a seed: calls of a day with its hours, callers of all kinds, and dirt at stated rates.
//!
//! Figures are those of published call-record studies: calls come as a Poisson process whose rate follows the hour; calls of a
//! caller are double Pareto lognormal (Seshadri et al., KDD 2008); durations are truncated log-logistic (Vaz de Melo et al.,
//! ECML PKDD 2010). Hours and ways that calls end are guesses, and said to be.

mod record;

use evenkeel_core::random::{Random, Seed};
use record::{Call, Callers, Dirty};
pub use record::{Dirt, LAYOUT, Planted};
use std::io;
use std::io::Write;

#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Records without those that come twice.
    pub records: u64,
    pub day: u32,
    pub first: u64,
    pub dirt: Dirt,
    pub seed: Seed,
}

/// Writes the records, and says what is wrong with how many of them. `tell` gets the number of records after every few thousand, and
/// ends it by saying false.
pub fn generate(spec: &Spec, out: &mut dyn Write, tell: &mut dyn FnMut(u64) -> bool) -> io::Result<Planted> {
    let mut random = Random::new(spec.seed.child("calls"));
    let callers = Callers::new(spec.records, spec.seed.child("callers"));
    let mut instants = Instants::new(spec.records, spec.seed.child("instants"));
    let mut dirty = Dirty::new(spec.dirt.clone(), spec.day, spec.seed.child("dirt"));
    let mut line = Vec::new();
    for number in 0..spec.records {
        let call = Call { seq: spec.first + number, start_s: instants.next_s(), day: spec.day };
        line.clear();
        call.write(&callers, &mut random, &mut line);
        dirty.spoil(&mut line, number + 1 == spec.records);
        out.write_all(&line)?;
        if number % 4096 == 4095 && !tell(number + 1) {
            break;
        }
    }
    out.flush()?;
    Ok(dirty.planted)
}

/// Share of a day's calls by hour, percent: a guess at a working day, since no published table was at hand.
const HOURS: [f64; 24] = [
    1.0, 0.6, 0.4, 0.3, 0.3, 0.5, 1.2, 2.6, 4.6, 5.8, 6.4, 6.6, 6.3, 5.6, 5.4, 5.6, 6.0, 6.6, 7.2, 7.4, 6.8,
    5.6, 4.2, 3.0,
];

/// Instants of so many calls, in their order: those of a Poisson process whose rate follows the hour, given their number.
struct Instants {
    left: u64,
    /// Share of the day's calls that had begun by the last one.
    share: f64,
    random: Random,
}

impl Instants {
    pub fn new(calls: u64, seed: Seed) -> Self {
        Self { left: calls, share: 0.0, random: Random::new(seed) }
    }

    /// Seconds of the day at which the next call begins.
    ///
    /// The least of n uniform numbers in (s, 1) is 1 - (1 - s) U^(1/n).
    pub fn next_s(&mut self) -> u32 {
        let least = (1.0 - self.random.unit()).powf(1.0 / self.left.max(1) as f64);
        self.share = 1.0 - (1.0 - self.share) * least;
        self.left = self.left.saturating_sub(1);
        let mut percent = self.share * HOURS.iter().sum::<f64>();
        for (hour, share) in (0_u32..).zip(HOURS) {
            if percent < share {
                return 3600 * hour + (3600.0 * percent / share) as u32;
            }
            percent -= share;
        }
        86_399
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;

    fn made(spec: &Spec) -> (Vec<u8>, Planted) {
        let mut bytes = Vec::new();
        let planted = generate(spec, &mut bytes, &mut |_| true).unwrap();
        (bytes, planted)
    }

    fn spec(records: u64) -> Spec {
        Spec { records, day: 20260801, first: 1, dirt: Dirt::none(), seed: Seed(7) }
    }

    fn lines(bytes: &[u8]) -> (usize, usize) {
        let (file, mut out, mut rejects) = (layout::parse(LAYOUT).unwrap(), Vec::new(), 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            rejects += usize::from(file.layout.delimit(line, &mut out).is_err());
        }
        (out.iter().filter(|byte| **byte == b'\n').count(), rejects)
    }

    #[test]
    fn a_seed_gives_the_same_records_and_another_one_others() {
        let (first, again) = (made(&spec(1000)).0, made(&spec(1000)).0);
        assert!(first == again && first.len() == 200_000);
        assert!(made(&Spec { seed: Seed(8), ..spec(1000) }).0 != first);
        assert_eq!(
            lines(&made(&spec(20_000)).0),
            (20_000, 0),
            "clean records fit the layout that is shipped"
        );
    }

    #[test]
    fn what_is_planted_is_what_is_refused() {
        let dirt =
            Dirt::parse("nul=0.01,non-ascii=0.01,delimiter=0.02,crlf=0.05,late=0.1,short-last").unwrap();
        let (bytes, planted) = made(&Spec { dirt, ..spec(20_000) });
        let (stored, refused) = lines(&bytes);
        assert_eq!(refused as u64, planted["nul"] + planted["non_ascii"] + planted["short"]);
        assert_eq!(stored + refused, 20_000);
        assert!(
            planted["nul"] > 100 && planted["crlf"] > 800 && planted["late"] > 1_500 && planted["short"] == 1,
            "{planted:?}"
        );
    }

    #[test]
    fn records_that_come_twice_are_counted_beside_the_others() {
        let dirt = Dirt::parse("duplicate=0.05,contradiction=0.02").unwrap();
        let (bytes, planted) = made(&Spec { dirt, ..spec(20_000) });
        assert_eq!(bytes.len() as u64, 200 * (20_000 + planted["duplicate"] + planted["contradiction"]));
        assert!(planted["duplicate"] > 800 && planted["contradiction"] > 300, "{planted:?}");
    }
}
