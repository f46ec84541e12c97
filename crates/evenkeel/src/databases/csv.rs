//! Every period of every host, for programs that draw.

use super::NAMES;
use super::record::Run;
use std::fmt::Write as _;

/// With a head.
pub fn periods(runs: &[Run]) -> String {
    let mut text =
        String::from("way,most_window,round,at_s,host,window,outstanding,wanted,beta,ios_per_s,latency_s\n");
    for run in runs {
        for period in &run.periods {
            let latency = period.latency_s.map_or_else(String::new, |seconds| format!("{seconds:.6}"));
            let _ = writeln!(
                text,
                "{},{},{},{:.3},{},{:.3},{:.3},{:.3},{:.3},{:.1},{latency}",
                run.key.way.name(),
                run.key.most,
                run.key.round,
                period.at_s,
                NAMES[period.host],
                period.window,
                period.outstanding,
                period.wanted,
                period.beta,
                period.ios_per_s,
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::run;
    use super::*;
    use evenkeel_core::share::experiment::Treatment as Way;

    #[test]
    fn a_period_without_io_has_no_latency() {
        let text = periods(&[run(Way::Parda, 32, 1, [1.0, 1.0])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 49);
        assert_eq!(lines[1], "parda,32,1,0.500,a,8.000,7.500,12.000,1.000,600.0,");
        assert!(lines[6].ends_with(",b,13.000,7.500,12.000,1.000,600.0,0.014500"), "{}", lines[6]);
    }
}
