use crate::format;
use evenkeel_core::caveat::threshold::{NEIGHBOURS_MUCH, RUNS_MIN_COUNT};
use evenkeel_core::size::{Measured, Server, Statistic};
use evenkeel_study::size::Sized;

/// Rates are equal up to this factor.
pub const ALIKE: f64 = 1.001;

/// What makes the answer a guess.
pub fn doubts(sized: &Sized, server: &Server, rate: f64) -> Vec<String> {
    let highest = server.mean.range().1;
    let runs: usize = server.mean.points().iter().map(|point| point.responses.len()).sum();
    let beside = sized.bounds.taken_percent.filter(|taken| *taken >= NEIGHBOURS_MUCH);
    [
        beside.map(|taken| {
            format!(
                "other load took {taken:.0} % of the CPUs during the profile, and may take more or less later"
            )
        }),
        server.misfit().map(|(figure, rate)| misfit(figure, &rate)),
        (runs < RUNS_MIN_COUNT).then(|| format!("it has {} in all", format::counted(runs, "run"))),
        sized
            .misses_stalls
            .then(|| "runs this short miss the flushes and checkpoints of a workload that writes".to_owned()),
        (rate > ALIKE * highest).then(|| {
            format!(
                "{} is above {}, the highest rate that settled",
                format::rate(rate),
                format::rate(highest)
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn misfit(figure: Statistic, measured: &Measured) -> String {
    let runs: Vec<String> = measured.responses.iter().map(|one| format::time(1e3 * one)).collect();
    let rate = format::rate(measured.rate);
    format!(
        "{rate} does not fit the other rates: its runs had a {} of {}",
        figure.word(),
        format::listed(&runs)
    )
}
