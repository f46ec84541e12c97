use super::Severity::{Doubt, Note};
use super::threshold::CPU_VARIES_MAX;
use super::{Caveat, FIRST_REPEAT_SHARE, RUNS_MIN, plural};
use crate::disturbance::Disturbance;
use crate::statistics::{Sample, student_quantile};
use crate::time::Nanos;

impl Caveat {
    pub fn runs(runs: u64) -> Option<Self> {
        let text = format!(
            "With {} the figures have {}. Repeat the cell more often.",
            plural(runs, "run", "runs"),
            if runs < 2 { "no interval" } else { "an interval too wide to be of use" }
        );
        (runs < RUNS_MIN).then(|| {
            Self::new("too-few-runs", Doubt, text)
                .with("runs", runs as f64)
                .with("least_runs", RUNS_MIN as f64)
        })
    }

    /// The first repeat differs from the later ones: from the mean response times in seconds of the repeats of a cell, in the
    /// order they were run.
    ///
    /// With `m` and `s` the mean and standard deviation of the `n` later ones, the first differs where
    /// `|x - m| > t s sqrt(1 + 1/n)`, `t` the 99.5 % point of Student's t with `n - 1` degrees of freedom
    /// (prediction interval of one more value: one false alarm in a hundred cells), and by more than
    /// [`FIRST_REPEAT_SHARE`] of `m`. At least three later ones are needed.
    pub fn first_repeat(taus: &[f64]) -> Option<Self> {
        let (&first, later) = taus.split_first()?;
        if later.len() < 3 {
            return None;
        }
        let sample: Sample = later.iter().copied().collect();
        let (mean, deviation) = (sample.mean()?, sample.standard_deviation()?);
        let n = later.len() as f64;
        let half = student_quantile(0.995, n - 1.0) * deviation * (1.0 + 1.0 / n).sqrt();
        let tolerated = half.max(FIRST_REPEAT_SHARE * mean);
        ((first - mean).abs() > tolerated).then(|| first_repeat_differs(first, mean, tolerated))
    }

    /// Runs whose generator failed take no part in the figures of their cell: from their names in the study's folder and the
    /// number of all runs of the cell.
    pub fn runs_left_out(runs: &[String], of: usize) -> Option<Self> {
        let text = format!("Left out of {of} runs, since the generator failed: {}.", runs.join(", "));
        (!runs.is_empty()).then(|| {
            Self::new("runs-left-out", Doubt, text)
                .with("left_out", runs.len() as f64)
                .with("runs", of as f64)
        })
    }

    pub fn measured_again(set_aside: &[Disturbance]) -> Option<Self> {
        let worst = set_aside.iter().max_by(|one, other| one.weight().total_cmp(&other.weight()))?;
        let attempts = if set_aside.len() == 1 { "attempt was" } else { "attempts were" };
        let text = format!(
            "{} {attempts} set aside after measuring again ({worst} in the worst run). Of the attempts at a \
             run the least disturbed one counts, whatever its response time. The others are kept beside it.",
            set_aside.len()
        );
        Some(
            Self::new("measured-again", Note, text)
                .with("set_aside", set_aside.len() as f64)
                .with("worst_steal_percent", worst.steal)
                .with("worst_other_load_percent", worst.other_load),
        )
    }

    /// Rates above the end of a sweep were not measured: from the series (empty where there is one kind only), these rates per
    /// second, and why the sweep ended below them.
    pub fn rates_not_measured(series: &str, rates: &[f64], reason: &str) -> Option<Self> {
        let named = rates.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        let of = if series.is_empty() { String::new() } else { format!(" of {series}") };
        let text = format!(
            "{}{of} above the end of the sweep {} not measured ({named} per second): {reason}. Measure every rate by \
             --whole-sweep.",
            plural(rates.len() as u64, "rate", "rates"),
            if rates.len() == 1 { "was" } else { "were" }
        );
        let lowest = rates.iter().copied().reduce(f64::min)?;
        Some(
            Self::new("rates-not-measured", Note, text)
                .with("rates", rates.len() as f64)
                .with("lowest_rate_per_s", lowest)
                .with("highest_rate_per_s", rates.iter().copied().reduce(f64::max)),
        )
    }

    pub fn first_block_rises() -> Self {
        Self::new(
            "first-block-rises",
            Note,
            "The first block of runs took the rates in rising order, to find where they end, and later \
             blocks in random order. In the first block a drift over time looks like an effect of the rate. \
             With --whole-sweep a list of rates is measured in random order from the start.",
        )
    }

    pub fn cpu_varies(percent: f64) -> Option<Self> {
        let text = format!(
            "The CPU time of a request differed by {percent:.0} % (standard deviation) between runs of the same rate, limit {CPU_VARIES_MAX:.0} %."
        );
        (percent > CPU_VARIES_MAX).then(|| Self::new("cpu-varies", Doubt, text).with("percent", percent))
    }

    pub fn not_reset() -> Self {
        Self::new(
            "no-reset",
            Note,
            "The server is not restarted between runs, so a run may inherit the buffer pool of the previous \
             one. Restart it by --reset-command; for a private server omit --no-reset.",
        )
    }

    /// Runs of a study are still to be measured: fewer are finished than planned, or not all cells are known. It goes on with this
    /// command.
    pub fn incomplete(done: u32, planned: u32, rates_known: bool, command: &str) -> Option<Self> {
        let text = format!(
            "Of {} {done} {} finished. Continue with `{command}`.",
            plural(u64::from(planned), "run", "runs"),
            if done == 1 { "is" } else { "are" }
        );
        (!rates_known || done < planned).then(|| {
            Self::new("incomplete", Note, text)
                .with("runs_done", f64::from(done))
                .with("runs_planned", f64::from(planned))
        })
    }
}

/// All three in seconds.
fn first_repeat_differs(first: f64, later: f64, tolerated: f64) -> Caveat {
    let ms = |seconds: f64| Nanos::from_secs_f64(seconds).as_millis_f64();
    let text = format!(
        "The first repeat took {:.3} ms in the mean and the later ones {:.3} ms; they may not have started \
         from the same state. Lengthen the warm-up, or see what the first one left behind.",
        ms(first),
        ms(later)
    );
    Caveat::new("first-repeat-differs", Doubt, text)
        .with("first_s", first)
        .with("later_s", later)
        .with("tolerated_difference_s", tolerated)
}
