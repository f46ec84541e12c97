use super::difference::Difference;
use super::{Better, Margin, Pair, Side};

/// By Holm's procedure: of `k` pairs the one that differs most surely has a `k`th of the risk, the next one a `k - 1`th, and so on
/// until one does not differ. So any of them is wrong with the whole risk at most.
pub(super) fn sides(pairs: &[Pair], risk: f64, margin: Margin, better: Better) -> Option<Vec<Option<Side>>> {
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
