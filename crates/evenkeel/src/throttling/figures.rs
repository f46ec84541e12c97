//! The figures of a point by name: one list for the table, the report and JSON.

use super::record::Figures;

/// A figure.
pub struct Figure {
    /// Name in JSON.
    pub key: &'static str,
    /// Head of its column, and the unit below it.
    pub head: [&'static str; 2],
    /// Its value in a run.
    pub of: fn(&Figures) -> Option<f64>,
}

const fn figure(key: &'static str, head: [&'static str; 2], of: fn(&Figures) -> Option<f64>) -> Figure {
    Figure { key, head, of }
}

/// All of them, in the order of columns.
pub const FIGURES: [Figure; 17] = [
    figure("throughput_per_s", ["throughput", "1/s"], |f| Some(f.throughput_per_s)),
    figure("response_mean_ms", ["response", "ms"], |f| Some(f.response_mean_ms)),
    figure("response_p95_ms", ["p95", "ms"], |f| Some(f.response_p95_ms)),
    figure("dtlb_misses_per_commit", ["DTLB misses", "per commit"], |f| f.dtlb_misses),
    figure("cache_misses_per_commit", ["cache misses", "per commit"], |f| f.cache_misses),
    figure("cycles_per_commit", ["cycles", "per commit"], |f| f.cycles),
    figure("cpu_ms_per_commit", ["CPU", "ms/commit"], |f| f.cpu_ms),
    figure("pages_read_per_commit", ["pages read", "per commit"], |f| f.pages_read),
    figure("lock_wait_percent", ["lock waits", "% in flight"], |f| f.lock_wait_percent),
    figure("deadlock_percent", ["deadlocks", "% of commits"], |f| Some(f.deadlock_percent)),
    figure("limit_mean", ["limit", "mean"], |f| f.limit_mean),
    figure("limit_last", ["limit", "at the end"], |f| f.limit_last),
    figure("theta_percent", ["server CPU", "%"], |f| f.theta_percent),
    figure("switches_per_commit", ["switches", "per commit"], |f| f.switches),
    figure("generator_percent", ["load CPU", "%"], |f| Some(f.generator_percent)),
    figure("other_percent", ["other CPU", "%"], |f| f.other_percent),
    figure("steal_percent", ["steal", "%"], |f| f.steal_percent),
];

/// The figure of this name.
pub fn named(key: &str) -> &'static Figure {
    // Names are constants of this crate; a wrong one is caught by the test below, and shows the throughput.
    FIGURES.iter().find(|figure| figure.key == key).unwrap_or(&FIGURES[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_name_of_its_own_and_is_found_by_it() {
        for figure in &FIGURES {
            assert_eq!(named(figure.key).key, figure.key);
        }
    }
}
