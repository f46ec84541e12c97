//! The telecom study: call records exported, converted, loaded, dispatched and audited, each beside the published figure.
//!
//! `study` is what the harness makes: `files` are the records, `bench` is the private server with what all runs do; `runs`, `crash` and
//! `days` are runs. All else is pure: `record` is the setting in its plan, `parts` which runs there are, `figures` which figures a run
//! has, `judge` what the runs say of the published claims, `references` the published figures themselves.

mod bench;
mod crash;
mod days;
pub mod figures;
mod judge;
pub mod record;
mod runs;

pub use figures::Telecom;
pub use judge::judge;

/// The study's name in plans and on the command line.
pub const NAME: &str = "telecom";

pub const QUESTION: &str =
    "how long do call records take from files to day tables, and is one lost when the server is killed?";

#[cfg(test)]
mod tests {
    use super::NAME;
    use super::judge::judge;
    use super::record::Setting;
    use super::record::{DAYS, LOAD, parts};
    use crate::harness::{FORMAT, Finding, Judgement, Outcome, Plan, Run};

    fn setting() -> Setting {
        Setting { records: 100_000, days: 3, pool_mib: 64, ..Setting::default() }
    }

    fn plan() -> Plan {
        let parts = parts(&setting(), 3);
        Plan {
            format: FORMAT,
            id: "telecom-1".to_owned(),
            kind: NAME.to_owned(),
            seed: 1,
            parts,
            ..Plan::default()
        }
    }

    /// Three runs of about so many seconds.
    fn runs(part: &str, levels: &[&str], seconds: f64) -> Vec<Run> {
        let run = |repeat: u32| {
            let mut run = Run {
                part: part.to_owned(),
                levels: levels.iter().map(|level| (*level).to_owned()).collect(),
                repeat,
                ..Run::default()
            };
            run.set("seconds", seconds * (1.0 + 0.01 * f64::from(repeat)));
            run.set("rows_per_s", 1e5 / seconds);
            run.set("records", 1e5);
            run
        };
        (1..=3).map(run).collect()
    }

    fn said(of: &[(&str, &[&str], f64)]) -> Judgement {
        let all: Vec<Run> =
            of.iter().flat_map(|(part, levels, seconds)| runs(part, levels, *seconds)).collect();
        judge(&plan(), &setting(), &all)
    }

    fn finding(said: &Judgement, name: &str) -> Finding {
        said.findings.iter().find(|finding| finding.name == name).cloned().expect("a finding")
    }

    const AS_PUBLISHED: [(&str, &[&str], f64); 6] = [
        (LOAD, &["untuned", "before"], 48.0),
        (LOAD, &["tuned", "before"], 12.5),
        (LOAD, &["tuned", "after"], 12.0),
        (LOAD, &["myisam", "after"], 6.0),
        (DAYS, &["widths"], 15.3),
        (DAYS, &["delimited"], 12.0),
    ];

    #[test]
    fn what_was_published_holds_where_the_same_is_measured() {
        let said = said(&AS_PUBLISHED);
        for name in [
            "tuning-shortens-the-load",
            "myisam-is-faster",
            "order-matters-little-innodb",
            "separators-from-the-source-save-time",
        ] {
            assert_eq!(finding(&said, name).outcome, Outcome::Holds, "{name}");
        }
        let ratio = &finding(&said, "tuning-shortens-the-load").numbers[0];
        assert!((ratio.value - 3.84).abs() < 0.01 && ratio.interval.is_some(), "{ratio:?}");
        assert!(
            said.headline.contains("direction holds here for 4")
                && said.headline.contains("1,800,000 records")
                && said.headline.contains("would have ended the study"),
            "{}",
            said.headline
        );
    }

    #[test]
    fn what_is_the_other_way_round_does_not_hold_and_what_was_not_measured_cannot_be_told() {
        let said = said(&[
            (LOAD, &["untuned", "before"], 10.0),
            (LOAD, &["tuned", "before"], 12.5),
            (LOAD, &["tuned", "after"], 5.0),
            (LOAD, &["myisam", "after"], 6.0),
        ]);
        for name in ["tuning-shortens-the-load", "myisam-is-faster", "order-matters-little-innodb"] {
            assert_eq!(finding(&said, name).outcome, Outcome::DoesNotHold, "{name}");
        }
        for name in ["order-matters-little-myisam", "separators-from-the-source-save-time"] {
            assert_eq!(finding(&said, name).outcome, Outcome::NotTestable, "{name}");
        }
    }

    #[test]
    fn one_run_of_each_shows_nothing() {
        let once: Vec<Run> = AS_PUBLISHED
            .iter()
            .map(|(part, levels, seconds)| runs(part, levels, *seconds).remove(0))
            .collect();
        let said = judge(&plan(), &setting(), &once);
        assert!(
            said.findings.iter().all(|finding| finding.outcome == Outcome::NotTestable),
            "{:?}",
            said.findings
        );
    }
}
