//! What the runs come to, beside the published claims.

use super::record::{
    APART, CHANNELS, DAYS, DISPATCH, EXPORT, LOAD, LOGGED, MIXED, PUBLISHED_RECORDS, REPLAY, SPREAD, Setting,
    WATCHED, WITH_DATA,
};
use crate::format;
use crate::harness::{
    Claim, Finding, Judgement, Plan, Reference, Rule, Run, cells, direction, doubts, findings, standing,
};

const PUBLISHED: &str = "Call records of a day (22 GB) are loaded into MySQL in 2.5 h instead of 12.5 h with the InnoDB \
                         plugin, and in 79 min with MyISAM. Three days go through the whole chain in less time than \
                         one did before.";
const SOURCE: &str = "telecom study: MySQL 5.1.41 with the InnoDB plugin 1.0.6, a master of 32 cores and 32 GB, storage \
                      by channels of 1 Gb/s";
const RULE: &str = "One way takes longer than another where the whole 95 % interval of the ratio of their times (over runs, \
                    Student's t) is above 1. Times differ little where it is within 20 % (watching: 5 %).";

const CLAIMS: [Claim; 11] = [
    Claim::longer("tuning-shortens-the-load", LOAD, [&["untuned", "before"], &["tuned", "before"]])
        .published("InnoDB untuned takes more than 24 h for a day, tuned 12 h 32 min")
        .here("untuned_over_tuned", "untuned takes {} times as long"),
    Claim::longer("myisam-is-faster", LOAD, [&["tuned", "after"], &["myisam", "after"]])
        .published("MyISAM takes 79 min for a day with its indexes, InnoDB 149 min")
        .here("innodb_over_myisam", "InnoDB takes {} times as long"),
    Claim::longer("order-matters-little-innodb", LOAD, [&["tuned", "before"], &["tuned", "after"]])
        .rule(Rule::Near(0.2))
        .published("InnoDB: indexes before or after the load make little difference")
        .here("tuned_before_over_after", "with the indexes before it takes {} times as long"),
    Claim::longer("order-matters-little-myisam", LOAD, [&["myisam", "before"], &["myisam", "after"]])
        .rule(Rule::Near(0.2))
        .published("MyISAM: indexes before or after the load make little difference")
        .here("myisam_before_over_after", "with the indexes before it takes {} times as long"),
    Claim::longer("separators-from-the-source-save-time", DAYS, [&["widths"], &["delimited"]])
        .published("separators from the source save 3 h 20 min of 15 h 20 min (1.28 times as long without)")
        .here("added_over_from_source", "adding them by a file between takes {} times as long"),
    Claim::longer("more-clients-take-longer", REPLAY, [&["8", LOGGED], &["1", LOGGED]])
        .published("the log takes one client 11,082 s, and eight clients, of whom each sends it, 11 h 21 min (3.7 times as long)")
        .here("eight_over_one", "eight clients take {} times as long"),
    Claim::longer("spreading-changes-little", REPLAY, [&["8", LOGGED], &["8", SPREAD]])
        .rule(Rule::Near(0.2))
        .published("with the statements of large results far apart little changes")
        .here("logged_over_spread", "eight clients take {} times as long with the log as it is"),
    Claim::above("large-ones-slow-each-other", Some(MIXED), "large_s", &["28"], Some(&["12"]))
        .published("the longest statement takes 640 s with 12 clients, 1,138 s with 28")
        .here("large_28_over_12", "the longest statement with a large result takes {} times as long"),
    Claim::above("small-ones-are-unaffected", Some(MIXED), "small_s", &["28"], Some(&["12"]))
        .rule(Rule::Near(0.2))
        .published("statements with small results take as long with 28 clients as with 12")
        .here("small_28_over_12", "the longest statement with a small result takes {} times as long"),
    Claim::longer("tmpdir-apart-helps", CHANNELS, [&[WITH_DATA], &[APART]])
        .published("with more than 20 clients, tmpdir on a storage channel of its own removes the bottleneck")
        .here("with_data_over_apart", "28 clients take {} times as long with tmpdir on the disk of the data"),
    Claim::longer("watching-costs-little", WATCHED, [&[WATCHED], &["alone"]])
        .rule(Rule::Near(0.05))
        .published("watching by nmon cost too much, and by sar it did not")
        .here("watched_over_alone", "eight clients take {} times as long while Evenkeel watches"),
];

const STANDING: [(&str, &str); 5] = [
    (
        "smaller-data",
        "Data that fit into memory make indexes cost less than those of 70 million records a day: compare which way is \
         faster, and not the rates themselves.",
    ),
    (
        "settings-not-published",
        "Which settings were tuned is not published: ours are usual ones of that time.",
    ),
    (
        "tuned-gives-up-durability",
        "With innodb_doublewrite=OFF and innodb_flush_log_at_trx_commit=2 a loss of power may cost the last second of \
         commits, or tear a page: a part of the lead of tuned. A kill does not lose what the kernel has.",
    ),
    (
        "clean-records",
        "The records are clean and in time, and no load looks for repeats: others take longer.",
    ),
    (
        "published-figures-contradict",
        "The published figures contradict each other: dispatch took 57 min or 3 h 20 min, the chain without separators \
         \u{201c}1 h 20 min\u{201d} or 12 h. \u{201c}6 times faster\u{201d} is not checked.",
    ),
];

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let findings = findings(&CLAIMS, plan, &cells(plan, runs));
    Judgement {
        headline: headline(runs, &findings),
        published: PUBLISHED,
        source: SOURCE,
        rule: RULE.to_owned(),
        setting: what(plan, setting),
        caveats: doubts(plan.parts.iter(), runs).chain(standing(STANDING)).collect(),
        place: place(setting),
        references: references(),
        findings,
        ..Judgement::default()
    }
}

fn headline(runs: &[Run], findings: &[Finding]) -> String {
    let audited: f64 = runs.iter().filter_map(|run| run.figure("records")).sum();
    format!(
        "{} Every load was audited, {} records in all; one that lost or doubled a record would have ended the study.",
        direction(findings),
        format::count(audited as u64)
    )
}

fn what(plan: &Plan, setting: &Setting) -> String {
    let (days, records, seed) = (setting.days, format::count(setting.records), plan.seed);
    let part = PUBLISHED_RECORDS as f64 / setting.records as f64;
    format!(
        "{days} days of {records} synthetic records (200 bytes; 1/{part:.0} of a published day), seed {seed}"
    )
}

/// Where it was measured, and on which servers.
fn place(setting: &Setting) -> Vec<(&'static str, String)> {
    let server = |is_tuned| setting.server(is_tuned).map(|(name, value)| format!("{name}={value}")).join(" ");
    let servers = [("untuned", server(false)), ("tuned", server(true))];
    setting.place.known().into_iter().chain(servers).collect()
}

/// Part, words, days of records, minutes, and further figures.
type Row = (&'static str, &'static str, f64, f64, &'static [(&'static str, f64)]);

const ROWS: [Row; 10] = [
    (EXPORT, "one thread, from the old database", 1.0, 105.0, &[("mb_per_s", 22_000.0 / (105.0 * 60.0))]),
    (LOAD, "InnoDB untuned, more than a day, so that rows per second are fewer", 1.0, 1_440.0, &[]),
    (LOAD, "InnoDB tuned", 1.0, 752.0, &[]),
    (LOAD, "InnoDB plugin, indexes after", 1.0, 149.0, &[("load_s", 42.0 * 60.0), ("index_s", 107.0 * 60.0)]),
    (LOAD, "MyISAM, indexes after", 1.0, 79.0, &[("load_s", 51.0 * 60.0), ("index_s", 28.0 * 60.0)]),
    (LOAD, "the old database", 1.0, 480.0, &[]),
    (DISPATCH, "stored procedures, by one of its figures", 3.0, 57.0, &[]),
    (DISPATCH, "stored procedures, by the other one", 3.0, 200.0, &[]),
    (DAYS, "three days, separators added", 3.0, 920.0, &[]),
    (DAYS, "three days, separators from the source (3 h 20 min less)", 3.0, 720.0, &[]),
];

fn references() -> Vec<Reference> {
    let reference = |(part, words, days, minutes, more): Row| {
        let rows = days * PUBLISHED_RECORDS as f64;
        let times = [("seconds", 60.0 * minutes), ("rows_per_s", rows / (60.0 * minutes))];
        Reference::of(part, words, times.into_iter().chain(more.iter().copied()))
    };
    ROWS.into_iter().map(reference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{FORMAT, Outcome};
    use crate::telecom::NAME;
    use crate::telecom::record::parts;

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
