//! Call records from a seed: calls of a day with its hours, callers of all kinds, and dirt at stated rates.
//!
//! Figures are those of published call-record studies: calls come as a Poisson process whose rate follows the hour; calls of a
//! caller are double Pareto lognormal (Seshadri et al., KDD 2008); durations are truncated log-logistic (Vaz de Melo et al.,
//! ECML PKDD 2010). Hours and ways that calls end are guesses, and said to be.

mod callers;
mod dirt;
mod duration;
mod hours;
mod record;

pub use dirt::{Dirt, Planted};
pub use record::LAYOUT;

use callers::Callers;
use dirt::Dirty;
use evenkeel_core::random::{Random, Seed};
use hours::Instants;
use record::Call;
use std::io::{self, Write};

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

    fn file() -> layout::LayoutFile {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("calls.toml");
        std::fs::write(&path, LAYOUT).unwrap();
        layout::read(&path).unwrap()
    }

    fn lines(bytes: &[u8]) -> (usize, usize) {
        let (file, mut out, mut rejects) = (file(), Vec::new(), 0);
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
    }

    #[test]
    fn clean_records_all_fit_the_layout_that_is_shipped() {
        assert_eq!(lines(&made(&spec(20_000)).0), (20_000, 0));
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
