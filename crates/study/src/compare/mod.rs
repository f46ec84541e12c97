//! One study against another: is the second better, worse, or the same?
//!
//! What is compared is runs with runs under the same conditions: throughput in overload, where a server does all that it can, or
//! response times at the rates that both were asked for. A rate that one side carried and the other did not has no response time to
//! compare, and says more than any: it is a finding of its own. What else differs between the two is not judged here; that they
//! were asked different things is told.

mod found;
mod judged;
mod side;
mod studies;

use evenkeel_core::caveat::Caveat;
use evenkeel_core::caveat::threshold::NEIGHBOURS_MUCH;
use evenkeel_core::experiment::{Margin, Verdict};
pub use found::{Carried, Condition, Parted, Statement};
pub use judged::{CompareError, Compared};
use side::Count;
pub use side::{Criterion, More, Side};
pub use studies::{LevelPair, level_pairs, unlike};

/// Much other load changes what a request costs by up to this factor.
const CACHES: f64 = 2.0;

/// Compares the second side to the first. Runs whose generator was late count, unless the verdict is another one with responses that
/// count from the sending: then they are set aside.
pub fn compare(
    first: &Side,
    second: &Side,
    figure: Criterion,
    margin: Margin,
) -> Result<Compared, CompareError> {
    let mut found = punctual(first, second, figure, margin)?;
    found.statements = studies::statements(first, second, figure, margin);
    Ok(found)
}

fn punctual(
    first: &Side,
    second: &Side,
    figure: Criterion,
    margin: Margin,
) -> Result<Compared, CompareError> {
    let by = |count: Count| counted(&first.counted(count), &second.counted(count), figure, margin);
    let due = by(Count::Due)?;
    let late = first.late() + second.late();
    if late == 0 || !figure.is_response() {
        return Ok(due);
    }
    let kind = |found: &Compared| std::mem::discriminant(&found.verdict);
    if by(Count::Sent).is_ok_and(|sent| kind(&sent) == kind(&due)) {
        return Ok(due);
    }
    let unknown = Compared { verdict: Verdict::NotKnown { runs_more: None }, ..due };
    let mut found = by(Count::Punctual).unwrap_or(unknown);
    let runs = if late == 1 { "1 run".to_owned() } else { format!("{late} runs") };
    found.left_out.push(format!(
        "{runs} in which the generator was late: the verdict depends on it (give it CPUs of its own by --generator-cpus)"
    ));
    Ok(found)
}

fn counted(first: &Side, second: &Side, figure: Criterion, margin: Margin) -> Result<Compared, CompareError> {
    let found = match figure {
        Criterion::Throughput => studies::in_overload(first, second)?,
        Criterion::Cpu => studies::cpu(first, second)?,
        Criterion::Response | Criterion::P95 => studies::at_common_rates(first, second, figure)?,
    };
    let found =
        judged::of(found, figure, margin, (studies::unlike(first, second), unfinished(first, second)))?;
    beside_other_load(first, second, &found).map_or(Ok(found), Err)
}

/// A program that shares the caches changes what a request costs, by less than [`CACHES`].
fn beside_other_load(first: &Side, second: &Side, found: &Compared) -> Option<CompareError> {
    let taken = [first, second].into_iter().filter_map(Side::taken_percent).reduce(f64::max)?;
    let (low, high) = found.comparison.as_ref()?.ratio.interval.unwrap_or((0.0, f64::INFINITY));
    let is_open =
        found.figure == Criterion::Cpu && taken >= NEIGHBOURS_MUCH && high > 1.0 / CACHES && low < CACHES;
    is_open.then_some(CompareError::Neighbours { taken_percent: taken })
}

/// The sides of which runs are still to come, each study once.
pub fn unfinished(first: &Side, second: &Side) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> =
        [first, second].into_iter().filter_map(Side::unfinished).cloned().collect();
    caveats.dedup();
    caveats
}

#[cfg(test)]
pub(crate) mod tests;
