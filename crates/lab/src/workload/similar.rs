//! What somebody may have meant by a name that does not exist.

/// The candidates near `name`, nearest first: few letters apart, or one part of the other (also behind the
/// last dot, so that `simple` finds `tpcw.simple`). At most five, about as near as the nearest.
pub fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (distance(&name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .collect();
    near.sort();
    let farthest = near.first().map_or(0, |(distance, _)| distance + 1);
    near.into_iter()
        .take_while(|(distance, _)| *distance <= farthest)
        .take(5)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Letters apart; one where one name holds the other.
fn distance(name: &str, candidate: &str) -> usize {
    let last = candidate.rsplit('.').next().unwrap_or(candidate);
    let inside = name.len() >= 3 && (candidate.contains(name) || name.contains(candidate));
    let apart = edits(name, candidate).min(edits(name, last) + 1);
    if inside { apart.min(1) } else { apart }
}

/// Insertions, deletions and replacements between two words (Levenshtein).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["tpcw.simple", "tpcw.complex", "tpcw.browsing", "weight", "name"];
        for (wrong, meant) in [
            ("tpcw.simpel", Some("tpcw.simple")),
            ("simple", Some("tpcw.simple")),
            ("browsing", Some("tpcw.browsing")),
            ("wieght", Some("weight")),
            ("nam", Some("name")),
            ("zzzzzz", None),
        ] {
            assert_eq!(similar(wrong, names).first().copied(), meant, "{wrong}");
        }
    }
}
