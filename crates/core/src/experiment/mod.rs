//! What experiments come to, whatever was measured, and in which order their runs are made.
//!
//! *Comparison.* A difference is judged on the scale of logarithms, as a ratio with its 95 % interval and a margin within which two things count
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

mod request;

use crate::random::{Random, Seed};
use crate::statistics::{CONFIDENCE, Ratio};
use request::Difference;
pub use request::{Better, Margin, MarginError, Pair, Side};

/// The items in random order (Fisher and Yates, from the end), so that what drifts with time meets all of them alike. The same
/// seed gives the same order, also after a resume.
pub fn shuffled<T>(mut items: Vec<T>, seed: Seed) -> Vec<T> {
    let mut random = Random::new(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, random.uniform(0, last as u64) as usize);
    }
    items
}

/// Every combination of one level of each factor, by their places; the last factor changes fastest. One empty combination
/// without factors, and none where a factor has no level.
pub fn combinations(levels: &[usize]) -> Vec<Vec<usize>> {
    levels.iter().fold(vec![Vec::new()], |found, count| {
        let with = |start: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..*count).map(|level| start.iter().copied().chain([level]).collect()).collect()
        };
        found.iter().flat_map(with).collect()
    })
}

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
            _ => (risk / 2.0, sides(pairs, risk / 2.0, margin, better)?),
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

/// By Holm's procedure: of `k` pairs the one that differs most surely has a `k`th of the risk, the next one a `k - 1`th, and so on
/// until one does not differ. So any of them is wrong with the whole risk at most.
fn sides(pairs: &[Pair], risk: f64, margin: Margin, better: Better) -> Option<Vec<Option<Side>>> {
    let own = |pair: &Pair| Difference::of(std::slice::from_ref(pair));
    let all: Vec<Difference> = pairs.iter().map(own).collect::<Option<_>>()?;
    let mut surest: Vec<usize> = (0..all.len()).collect();
    let least = |at: usize| all[at].least_risk().unwrap_or(1.0);
    surest.sort_by(|one, other| least(*one).total_cmp(&least(*other)));
    let mut found = vec![None; all.len()];
    for (place, at) in surest.into_iter().enumerate() {
        let own_risk = risk / (all.len() - place) as f64;
        if least(at) > own_risk {
            break;
        }
        found[at] = all[at].side(own_risk, margin, better);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn a_shuffled_list_holds_every_item_once_and_can_be_repeated() {
        let items: Vec<u32> = (0..20).collect();
        let mut shuffled_once = shuffled(items.clone(), Seed(1));
        assert_eq!(shuffled_once, shuffled(items.clone(), Seed(1)));
        assert_ne!(shuffled_once, shuffled(items.clone(), Seed(2)));
        shuffled_once.sort_unstable();
        assert_eq!(shuffled_once, items);
    }

    #[test]
    fn combinations_are_all_levels_of_all_factors() {
        assert_eq!(combinations(&[2, 3]).len(), 6);
        assert_eq!(combinations(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(combinations(&[]), [Vec::<usize>::new()]);
        assert!(combinations(&[3, 0]).is_empty());
    }

    fn margin() -> Margin {
        Margin::new(0.05).unwrap()
    }

    fn one(first: &[f64], second: &[f64]) -> Option<Comparison> {
        Comparison::of(&[Pair { first: first.to_vec(), second: second.to_vec() }], margin(), Better::Higher)
    }

    #[test]
    fn more_throughput_is_better_and_more_response_time_is_worse() {
        let pairs = [Pair { first: vec![100.0, 101.0, 99.0], second: vec![120.0, 121.0, 119.0] }];
        let of = |better| Comparison::of(&pairs, margin(), better).unwrap().verdict;
        assert_eq!((of(Better::Higher), of(Better::Lower)), (Verdict::Better, Verdict::Worse));
    }

    #[test]
    fn a_difference_that_is_certain_and_too_small_to_matter_is_none() {
        let found = one(&[100.0, 100.1, 99.9, 100.0], &[101.0, 101.1, 100.9, 101.0]).unwrap();
        assert!(found.ratio.differs());
        assert_eq!(found.verdict, Verdict::Same);
    }

    #[test]
    fn runs_that_differ_too_much_ask_for_more_of_them() {
        let found = one(&[100.0, 120.0, 80.0], &[104.0, 90.0, 121.0]).unwrap();
        let Verdict::NotKnown { runs_more: Some(more) } = found.verdict else { panic!("{found:?}") };
        assert!((20..5_000).contains(&more), "{more}");
        let wide = Margin::new(1.0).unwrap();
        let pairs = [Pair { first: vec![100.0, 120.0, 80.0], second: vec![104.0, 90.0, 121.0] }];
        let found = Comparison::of(&pairs, wide, Better::Higher).unwrap();
        assert!(found.verdict == Verdict::Same, "{found:?}");
    }

    #[test]
    fn one_run_tells_a_ratio_and_nothing_of_its_spread() {
        let found = one(&[100.0], &[150.0, 151.0]).unwrap();
        assert!((found.ratio.interval, found.verdict) == (None, Verdict::NotKnown { runs_more: None }));
        assert_eq!(one(&[], &[1.0]), None);
        assert_eq!(one(&[1.0, 0.0], &[1.0]), None);
        assert_eq!(Comparison::of(&[], margin(), Better::Lower), None);
    }

    #[test]
    fn what_has_no_spread_at_all_is_known() {
        assert_eq!(one(&[5.0, 5.0], &[5.0, 5.0]).unwrap().verdict, Verdict::Same);
        assert_eq!(one(&[5.0, 5.0], &[6.0, 6.0]).unwrap().verdict, Verdict::Better);
    }

    #[test]
    fn several_conditions_are_one_comparison() {
        let pair = |scale: f64| Pair {
            first: [1.0, 1.05, 0.95].map(|value| scale * value).to_vec(),
            second: [1.1, 1.15, 1.05].map(|value| scale * value).to_vec(),
        };
        let single = Comparison::of(&[pair(3.0)], margin(), Better::Lower).unwrap();
        let three = [pair(3.0), pair(10.0), pair(40.0)];
        let all = Comparison::of(&three, margin(), Better::Lower).unwrap();
        assert!((single.ratio.ratio - all.ratio.ratio).abs() < 1e-12);
        let width = |found: &Comparison| found.ratio.interval.map(|(low, high)| high - low).unwrap();
        assert!(width(&all) < 0.6 * width(&single) && all.verdict == Verdict::Worse, "{all:?}");
    }

    #[test]
    fn verdicts_are_wrong_as_rarely_as_they_say() {
        let mut random = Random::new(Seed(11));
        let mut draw = |true_ratio: f64, spread: f64, runs: usize| -> Vec<f64> {
            (0..runs).map(|_| true_ratio * (spread * random.normal()).exp()).collect()
        };
        let (mut false_verdicts, mut false_same) = (0, 0);
        for number in 0..2_000 {
            let (spread, runs) = ([0.02, 0.05, 0.1][number % 3], 3 + number % 5);
            let alike = one(&draw(1.0, spread, runs), &draw(1.0, spread, runs)).unwrap();
            false_verdicts += u32::from(matches!(alike.verdict, Verdict::Better | Verdict::Worse));
            let apart = one(&draw(1.0, spread, runs), &draw(1.1, spread, runs)).unwrap();
            false_same += u32::from(apart.verdict == Verdict::Same);
        }
        assert!(false_verdicts <= 110 && false_same <= 60, "{false_verdicts} {false_same}");
    }

    /// Follows the request as a user does: asks, makes the runs that would tell, and asks again. The verdicts of both looks, the second
    /// where runs were asked for.
    fn followed(
        random: &mut Random,
        rates: usize,
        ratio: f64,
        spread: f64,
        runs: u64,
    ) -> (Verdict, Option<Verdict>) {
        let mut pairs = vec![Pair::default(); rates];
        let mut look = |runs: u64| {
            for pair in &mut pairs {
                pair.first.extend((0..runs).map(|_| (spread * random.normal()).exp()));
                pair.second.extend((0..runs).map(|_| ratio * (spread * random.normal()).exp()));
            }
            Comparison::of(&pairs, margin(), Better::Lower).unwrap().verdict
        };
        let first = look(runs);
        let Verdict::NotKnown { runs_more: Some(more) } = first else { return (first, None) };
        (first, Some(look(more)))
    }

    /// Shares of the pairs that are called better or worse at either look, and of the requests after which the right thing is known.
    fn shares(rates: usize, ratio: f64, right: Verdict) -> (f64, f64) {
        let mut random = Random::new(Seed(7));
        let (mut differ, mut asked, mut known, pairs) = (0, 0, 0, 1_000);
        for number in 0..pairs {
            let (spread, runs) = ([0.05, 0.1][number % 2], 3 + number as u64 % 6);
            let (first, second) = followed(&mut random, rates, ratio, spread, runs);
            let differs = |verdict: Verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
            differ += u32::from(differs(first) || second.is_some_and(differs));
            asked += u32::from(second.is_some());
            known += u32::from(second == Some(right));
        }
        (f64::from(differ) / pairs as f64, f64::from(known) / f64::from(asked))
    }

    #[test]
    fn who_makes_the_runs_that_were_asked_for_and_asks_again_is_misled_in_one_case_of_twenty_at_most() {
        for rates in [1, 4] {
            let (misled, enough) = shares(rates, 1.0, Verdict::Same);
            assert!(misled <= 0.045 && misled > 0.01, "{rates} rates: {misled}");
            assert!(enough >= 0.8, "{rates} rates: {enough}");
        }
    }

    #[test]
    fn a_rate_that_is_worse_is_not_hidden_by_another_that_is_better() {
        let around = |middle: f64| [0.99, 1.0, 1.01, 1.0].map(|part| part * middle).to_vec();
        let pair = |ratio: f64| Pair { first: around(10.0), second: around(10.0 * ratio) };
        let found = |ratios: &[f64]| {
            let pairs: Vec<Pair> = ratios.iter().map(|ratio| pair(*ratio)).collect();
            Comparison::of(&pairs, margin(), Better::Lower).unwrap()
        };
        let cancels = found(&[1.25, 0.8, 1.0]);
        assert!((cancels.ratio.ratio - 1.0).abs() < 1e-9);
        assert_eq!(cancels.each, [Some(Side::Worse), Some(Side::Better), None]);
        assert_eq!(cancels.verdict, Verdict::Worse);
        assert_eq!(found(&[1.0, 0.8, 1.0]).verdict, Verdict::Better);
        // Certain, and too small to matter.
        assert_eq!(found(&[1.02, 0.98, 1.0]).verdict, Verdict::Same);
        assert_eq!(found(&[1.25]).each, [None], "of a single one the verdict says it");
    }

    #[test]
    fn of_many_pairs_the_surest_has_the_least_of_the_risk() {
        // A difference that a single pair would show, and one of twenty does not.
        let odd = Pair { first: vec![10.0, 10.2, 9.8, 10.1], second: vec![10.6, 11.2, 10.8, 11.4] };
        let plain = Pair { first: vec![10.0, 10.9, 9.2, 10.1], second: vec![10.1, 9.3, 10.8, 10.0] };
        let of = |many: usize| {
            let pairs: Vec<Pair> =
                std::iter::once(odd.clone()).chain(std::iter::repeat_n(plain.clone(), many)).collect();
            Comparison::of(&pairs, margin(), Better::Lower).unwrap().each[0]
        };
        assert_eq!((of(1), of(60)), (Some(Side::Worse), None));
    }
}
