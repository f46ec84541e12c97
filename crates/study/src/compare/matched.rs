//! Which series of one side is compared with which of the other.

use super::error::CompareError;
use super::side::Side;
use crate::format::listed;

/// The series of both: of whole studies those with the same label, whatever their order; where no label is in both, as between two
/// levels of a factor, those at the same place. With a label where there are several. What has no partner is left out by its name.
pub(super) fn series(
    first: &Side,
    second: &Side,
    left_out: &mut Vec<String>,
) -> Result<Vec<(String, usize, usize)>, CompareError> {
    let by_label = by_label(first, second);
    if by_label.is_empty() || first.series().len() == 1 && second.series().len() == 1 {
        return by_place(first, second);
    }
    let alone = |side: &Side, paired: fn(&(usize, usize)) -> usize, which: &str| {
        let partnered: Vec<usize> = by_label.iter().map(paired).collect();
        let strangers = side.series().iter().filter(|series| !partnered.contains(series));
        strangers.map(|series| format!("{}: of the {which} alone", side.label(*series))).collect::<Vec<_>>()
    };
    left_out.extend(alone(first, |pair| pair.0, "first"));
    left_out.extend(alone(second, |pair| pair.1, "second"));
    Ok(by_label.into_iter().map(|(one, other)| (first.label(one).to_owned(), one, other)).collect())
}

fn by_label(first: &Side, second: &Side) -> Vec<(usize, usize)> {
    let mut free = second.series().to_vec();
    let mut partner = |label: &str| {
        let at = free.iter().position(|other| second.label(*other) == label)?;
        Some(free.remove(at))
    };
    first.series().iter().filter_map(|one| Some((*one, partner(first.label(*one))?))).collect()
}

fn by_place(first: &Side, second: &Side) -> Result<Vec<(String, usize, usize)>, CompareError> {
    let (ones, others) = (first.series(), second.series());
    if ones.len() != others.len() {
        return Err(CompareError::Series { first: ones.len(), second: others.len() });
    }
    let is_one_study = first.name() == second.name();
    let label = |one: usize, other: usize| match ones.len() {
        1 => String::new(),
        // Levels of a factor, which are named above.
        _ if is_one_study => first.label(one).to_owned(),
        _ => format!("{} against {}", second.label(other), first.label(one)),
    };
    Ok(ones.iter().zip(others).map(|(one, other)| (label(*one, *other), *one, *other)).collect())
}

/// Shares of the CPUs that neighbours take are alike up to so many percentage points.
const TAKEN_ALIKE: f64 = 5.0;
/// Numbers of connections nearer than this, as a logarithm of their ratio, are alike: those that are free vary.
const SESSIONS_ALIKE: f64 = 0.2;

/// What differs between two studies beside the server, in words. Levels of one study may differ in just that.
pub(super) fn unlike(first: &Side, second: &Side) -> Vec<String> {
    let (one, other) = (first.name(), second.name());
    if one == other {
        return Vec::new();
    }
    let [ran, then_ran] = [first, second].map(|side| listed(&Vec::from_iter(side.workloads())));
    let is_other_file = ran == then_ran && first.plan().file_crc32 != second.plan().file_crc32;
    let file = is_other_file.then(|| "the workload file has other statements".to_owned());
    let workload = (ran != then_ran).then(|| format!("{one} ran {ran}, {other} ran {then_ran}"));
    let taken = first.taken_percent().zip(second.taken_percent());
    let taken = taken.filter(|(taken, then)| (taken - then).abs() > TAKEN_ALIKE).map(|(taken, then)| {
        format!("neighbours took {taken:.0} % of the CPUs in {one}, {then:.0} % in {other}")
    });
    let [sessions, then] = [first, second].map(|side| side.plan().settings.sessions.replace("pooled:", ""));
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    let is_far = (number(&sessions) / number(&then)).ln().abs() > SESSIONS_ALIKE;
    let sessions = is_far.then(|| format!("{sessions} connections, then {then}"));
    [file, workload, taken, sessions].into_iter().flatten().collect()
}
