use super::verdict::{Gap, Observation, Unit};
use crate::reads::mixed;
use crate::statistics::Sample;

/// Of a difference in time spent on reads, what their latency makes and what their number does: with `n` reads that take `t`
/// each, `n t` differs by `(t - t') (n + n') / 2 + (n - n') (t + t') / 2`.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    /// Without what threads waited for a CPU.
    pub by_latency: Option<Gap>,
    pub with_waits: Option<Gap>,
    pub by_number: Option<Gap>,
    pub number: Option<Gap>,
    pub latency: Option<Gap>,
    /// What was taken off of the time of reads, since threads waited for a CPU, ms of a request.
    pub waits_ms: f64,
    /// By how much pages and plan predict the number to differ.
    pub predicted: Option<f64>,
}

const READS_MIN: f64 = 0.01;

impl Reads {
    /// Of servers whose pools differ nothing is predicted: that would be in it too.
    pub fn of(units: &[Unit<'_>], pairs: usize, pools_differ: bool) -> Self {
        let (mut by_latency, mut by_number) = (Vec::new(), Vec::new());
        let reads: Option<Vec<(f64, f64)>> =
            units.iter().map(|unit| unit.means(|run| run.seen.reads)).collect();
        let Some(reads) = reads else { return Self::default() };
        let numbers: Vec<f64> = reads.iter().map(|(slow, fast)| slow - fast).collect();
        let (mut latencies, mut waits, mut with_waits) = (Vec::new(), Sample::new(), Vec::new());
        for ((unit, reads), wait) in units.iter().zip(reads).zip(cpu_waits(units, pairs)) {
            if reads.0.max(reads.1) < READS_MIN {
                by_latency.push(0.0);
                with_waits.push(0.0);
                by_number.push(0.0);
                continue;
            }
            let Some(latency) = latency(unit, reads) else {
                return Self { number: Gap::of(&numbers, pairs), ..Self::default() };
            };
            latencies.push(latency.0 - latency.1);
            let later = (latency.0 - latency.1) * f64::midpoint(reads.0, reads.1);
            let waited = wait.clamp(0.0, later.max(0.0));
            by_latency.push(later - waited);
            with_waits.push(later);
            waits.push(waited);
            by_number.push((reads.0 - reads.1) * f64::midpoint(latency.0, latency.1));
        }
        let gap = |differences: &[f64]| Gap::of(differences, pairs);
        Self {
            by_latency: gap(&by_latency),
            with_waits: gap(&with_waits),
            by_number: gap(&by_number),
            number: gap(&numbers),
            latency: gap(&latencies),
            waits_ms: waits.mean().unwrap_or_default(),
            predicted: if pools_differ { None } else { predicted(units) },
        }
    }

    /// Which share of the reads that are more for sure pages and plan predict; `None` where they do not tell.
    pub fn share_predicted(&self) -> Option<f64> {
        Some(self.predicted? / self.number.filter(|number| number.low > 0.0)?.mean)
    }

    /// What the pages account for of the number of reads, with its interval; empty where they do not tell, or nothing differs for sure.
    pub fn accounted(&self) -> String {
        let (Some(predicted), Some(number)) = (self.predicted, self.number) else { return String::new() };
        let share = |reads: f64| 100.0 * predicted / reads;
        let (one, other) = (share(number.high), share(number.low));
        match number.low > 0.0 {
            true => format!(
                "; pages and plan predict {} more, {} % ({} to {}) of them",
                super::number(predicted),
                super::number(share(number.mean)),
                super::number(one.min(other)),
                super::number(one.max(other))
            ),
            false => String::new(),
        }
    }
}

/// What a read takes on each side. A side that reads next to nothing has no latency, and takes that of the other; of one that reads and lets
/// nobody see how long that takes it is not known.
fn latency(unit: &Unit<'_>, reads: (f64, f64)) -> Option<(f64, f64)> {
    let mean =
        |runs: &[&Observation]| runs.iter().filter_map(|run| run.seen.read_ms).collect::<Sample>().mean();
    match (mean(&unit.slow), mean(&unit.fast)) {
        (Some(slow), Some(fast)) => Some((slow, fast)),
        (Some(ms), None) if reads.1 < READS_MIN => Some((ms, ms)),
        (None, Some(ms)) if reads.0 < READS_MIN => Some((ms, ms)),
        _ => None,
    }
}

/// By how much the numbers are predicted to differ where both sides have as many requests under way, so that nothing but pages and plan differs.
fn predicted(units: &[Unit<'_>]) -> Option<f64> {
    let of = |figure: fn(&Observation) -> Option<f64>| -> Option<Vec<(f64, f64)>> {
        units.iter().map(|unit| unit.means(figure)).collect()
    };
    let mean = |all: Vec<f64>| all.into_iter().collect::<Sample>().mean();
    let more = |all: Vec<(f64, f64)>| mean(all.into_iter().map(|(slow, fast)| slow - fast).collect());
    let under_way = of(|run| run.seen.under_way)?;
    let under_way = mean(under_way.into_iter().map(|(slow, fast)| f64::midpoint(slow, fast)).collect())?;
    let at_once = more(of(|run| Some(run.seen.predicted?.0))?)?;
    let one_by_one = more(of(|run| Some(run.seen.predicted?.1))?)?;
    Some(mixed(at_once, one_by_one, under_way))
}

/// What threads waited more for a CPU at the slow one, unit by unit, ms; nothing where that is not clear. Whoever was woken waits for a CPU
/// within the read or the sync that woke it.
pub(super) fn cpu_waits(units: &[Unit<'_>], pairs: usize) -> Vec<f64> {
    let each: Option<Vec<f64>> = units
        .iter()
        .map(|unit| unit.means(|run| run.seen.cpu_wait_ms).map(|(slow, fast)| slow - fast))
        .collect();
    let clear = each.filter(|all| Gap::of(all, pairs).is_some_and(|gap| gap.low > 0.0));
    clear.unwrap_or_else(|| vec![0.0; units.len()])
}
