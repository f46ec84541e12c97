//! The levels of the factors of one study, against one another.

use crate::store::format::SeriesRecord;
use std::collections::BTreeMap;

/// A level of a factor against the factor's first one, with the series of both under the same levels of all other factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelPair {
    pub factor: String,
    /// Its first level, which the other one is compared with.
    pub first: String,
    pub second: String,
    /// Series with the first, and with the second in the same order.
    pub series: (Vec<usize>, Vec<usize>),
}

/// Every level but the first of every factor, in the order of the series of a plan.
pub fn level_pairs(all: &[SeriesRecord]) -> Vec<LevelPair> {
    let factors: Vec<&String> = all.first().iter().flat_map(|series| series.levels.keys()).collect();
    factors.into_iter().flat_map(|factor| pairs_of(all, factor)).collect()
}

fn pairs_of(all: &[SeriesRecord], factor: &str) -> Vec<LevelPair> {
    let mut levels: Vec<&String> = Vec::new();
    for level in all.iter().filter_map(|series| series.levels.get(factor)) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let Some((first, others)) = levels.split_first() else { return Vec::new() };
    let pair = |second: &&String| LevelPair {
        factor: factor.to_owned(),
        first: (*first).clone(),
        second: (*second).clone(),
        series: matched(all, factor, first, second),
    };
    others.iter().map(pair).collect()
}

fn matched(all: &[SeriesRecord], factor: &str, first: &str, second: &str) -> (Vec<usize>, Vec<usize>) {
    let with = |level: &str| {
        let has = move |series: &(usize, &BTreeMap<String, String>)| {
            series.1.get(factor).is_some_and(|own| own == level)
        };
        all.iter().map(|series| &series.levels).enumerate().filter(has).collect::<Vec<_>>()
    };
    let others = |levels: &BTreeMap<String, String>| {
        let mut others = levels.clone();
        others.remove(factor);
        others
    };
    let seconds = with(second);
    let both = with(first).into_iter().filter_map(|(at, levels)| {
        let twin = seconds.iter().find(|(_, own)| others(own) == others(levels))?;
        Some((at, twin.0))
    });
    both.unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(levels: &[(&str, &str)]) -> SeriesRecord {
        let levels = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
        SeriesRecord { levels, ..crate::compare::tests::plan("p").series.remove(0) }
    }

    #[test]
    fn a_level_is_held_against_the_first_where_all_else_is_the_same() {
        let all = [["no", "1"], ["no", "2"], ["yes", "1"], ["yes", "2"]];
        let plan: Vec<SeriesRecord> =
            all.iter().map(|[index, flush]| series(&[("index", index), ("flush", flush)])).collect();
        let found = level_pairs(&plan);
        let of = |factor: &str| found.iter().find(|pair| pair.factor == factor).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((of("index").second.as_str(), &of("index").series), ("yes", &(vec![0, 1], vec![2, 3])));
        assert_eq!(of("flush").series, (vec![0, 2], vec![1, 3]));
        assert_eq!(level_pairs(&[series(&[])]), []);
    }
}
