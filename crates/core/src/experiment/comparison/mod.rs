//! Whether one thing is better than another, worse, or the same for all that matters.
//!
//! A difference is judged on the scale of logarithms, as a ratio with its 95 % interval and a margin within which two things count
//! as the same:
//!
//! - *same* where the whole interval lies inside the margin (Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657, with 95 % in
//!   place of 90 %, so that *same* is wrong in at most 2.5 % of cases);
//! - *better* or *worse* where a wider interval leaves out 1 and the 95 % interval does not lie inside the margin;
//! - else *not known yet*, with the number of runs that would most likely tell.
//!
//! Whoever is told how many runs would tell makes them and asks again, with the first runs among the second ones. So the question has
//! two looks, and a 95 % interval would be wrong more often over both than at either. Each look has half of the 5 % that may be wrong
//! over both (Bonferroni; Pocock, Biometrika 64 (1977) 191, would allow 2.9 % to each of two looks of which the second has twice the
//! runs, and the ones asked for here are mostly more than that, so that both looks hardly depend on one another). That makes it a
//! 97.5 % interval that has to leave out 1. *Same* needs no more, for 2.5 % at each look are 5 % over both.
//!
//! Several pairs (arrival rates, say) are judged together, by the geometric mean of their ratios, and each by itself, so that a rate
//! that is worse is not hidden by another that is better. Each of both has half of what a look may be wrong, and the pairs share
//! theirs as Holm has it (Scand. J. Statist. 6 (1979) 65).

mod difference;
mod direction;
mod each;
mod margin;
mod pair;
mod request;

pub use direction::{Better, Side};
pub use margin::{Margin, MarginError};
pub use pair::Pair;

use crate::statistics::{CONFIDENCE, Ratio};
use difference::Difference;

/// How often the question is asked: at first, and once more with the runs that were asked for.
const LOOKS: f64 = 2.0;

/// What the second is. Where that is not known yet, with the runs that would most likely tell, more on each side and under each
/// condition; `None` where one run does not tell how much runs differ, or where more than 10,000 would be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    Better,
    Worse,
    NotKnown { runs_more: Option<u64> },
}

/// The second as a multiple of the first, over all pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub ratio: Ratio,
    /// Confidence of the interval that has to leave out 1 for *better* and *worse*, 0.975 for 97.5 %; more where there are several
    /// pairs.
    pub confidence: f64,
    /// Of several pairs those that are better or worse by themselves, whatever the others are; of a single one none, for the verdict
    /// says it.
    pub each: Vec<Option<Side>>,
    /// What follows: *worse* where the whole is or any pair by itself, else *better* likewise.
    pub verdict: Verdict,
}

impl Comparison {
    /// Every pair weighs the same. `None` without a pair, or where a figure is not above zero and finite.
    pub fn of(pairs: &[Pair], margin: Margin, better: Better) -> Option<Self> {
        Self::one_of(1, pairs, margin, better)
    }

    /// The same of one of so many questions, which share the risk of a false *better* or *worse* (Bonferroni).
    pub fn one_of(questions: usize, pairs: &[Pair], margin: Margin, better: Better) -> Option<Self> {
        let difference = Difference::of(pairs)?;
        let risk = (1.0 - CONFIDENCE) / LOOKS / questions.max(1) as f64;
        let (whole, each) = match pairs {
            [_] => (risk, vec![None]),
            _ => (risk / 2.0, each::sides(pairs, risk / 2.0, margin, better)?),
        };
        let verdict = verdict(&difference, &each, whole, margin, better);
        let ends = difference.interval(1.0 - CONFIDENCE);
        let interval = ends.map(|(low, high)| (low.exp(), high.exp()));
        let ratio = Ratio { n: difference.runs, ratio: difference.mean.exp(), interval };
        Some(Self { ratio, confidence: 1.0 - whole, each, verdict })
    }
}

fn verdict(whole: &Difference, each: &[Option<Side>], risk: f64, margin: Margin, better: Better) -> Verdict {
    let found = whole.side(risk, margin, better);
    let is = |side: Side| found == Some(side) || each.contains(&Some(side));
    match () {
        () if is(Side::Worse) => Verdict::Worse,
        () if is(Side::Better) => Verdict::Better,
        () if whole.is_within(margin) => Verdict::Same,
        () => Verdict::NotKnown { runs_more: request::runs_more(whole, margin, risk) },
    }
}

#[cfg(test)]
mod tests;
