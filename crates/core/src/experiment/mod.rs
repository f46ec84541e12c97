//! What experiments come to, whatever was measured, and in which order their runs are made.

mod comparison;

use crate::random::{Random, Seed};
pub use comparison::{Better, Comparison, Margin, MarginError, Pair, Side, Verdict};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
