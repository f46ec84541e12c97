//! What the runs come to, beside what was published.

use super::record::{FAILOVER, REACH, RECOVERY, Setting};
use crate::format;
use crate::harness::{Cell, Finding, Judgement, Plan, Run, cells, direction, doubts, standing};

const PUBLISHED: &str = "When the master is shut down, running statements get an error and new connections are served by the slave \
                         (a list of hosts in the client). Restoring a full backup, then an incremental, raised duplicate rows: events \
                         older than the full backup were applied again. The cure was to begin a new binary log before the full backup \
                         and to drop older events; binary logs belong on a volume of their own.";
const SOURCE: &str = "telecom study: MySQL 5.1.41, master and slave, ZRM with snapshots of a volume";
const RULE: &str =
    "A finding holds where every run of its cells shows it, and does not where one run shows the contrary.";

/// How a finding of ours begins.
const OURS: &str = "not published";

const STANDING: [(&str, &str); 3] = [
    (
        "one-machine",
        "All servers and clients run on this machine and share its CPUs and its disk: between machines detection and the way to the \
         new primary take longer.",
    ),
    (
        "no-tool-of-others",
        "Promotion is our own, by a script's rules (three failed writes, relay logs applied first). `evenkeel drill failover --promote` \
         measures yours.",
    ),
    ("no-figures-published", "The published study gives no times and counts no lost writes."),
];

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let findings = findings(&cells);
    Judgement {
        headline: headline(runs, &findings),
        published: PUBLISHED,
        source: SOURCE,
        rule: RULE.to_owned(),
        setting: format!("{} writes per second, {} MiB, seed {}", setting.rate, setting.megabytes, plan.seed),
        caveats: doubts(plan.parts.iter(), runs).chain(standing(STANDING)).collect(),
        place: setting.place.known(),
        findings,
        ..Judgement::default()
    }
}

fn headline(runs: &[Run], findings: &[Finding]) -> String {
    let published: Vec<Finding> =
        findings.iter().filter(|finding| !finding.published.starts_with(OURS)).cloned().collect();
    let sum = |figure: &str| runs.iter().filter_map(|run| run.figure(figure)).sum::<f64>();
    format!(
        "{} Of {} acknowledged writes {} were lost and {} doubled.",
        direction(&published),
        format::count(sum("acknowledged") as u64),
        format::count(sum("lost") as u64),
        format::count(sum("doubled") as u64)
    )
}

/// Whether all runs of some cells show a thing; not known where there are none.
fn all<'a>(cells: impl Iterator<Item = &'a Cell<'a>>, shows: impl Fn(&Run) -> Option<bool>) -> Option<bool> {
    let shown: Vec<bool> = cells.flat_map(|cell| &cell.runs).filter_map(|run| shows(run)).collect();
    (!shown.is_empty()).then(|| shown.into_iter().all(|shows| shows))
}

fn findings(cells: &[Cell<'_>]) -> Vec<Finding> {
    let recoveries = || cells.iter().filter(|cell| cell.part.name == RECOVERY);
    let failovers = || cells.iter().filter(|cell| cell.part.name == FAILOVER);
    let reached = || cells.iter().filter(|cell| [FAILOVER, REACH].contains(&cell.part.name.as_str()));
    let range = |figure: &str, of: &mut dyn Iterator<Item = &Cell<'_>>| -> Vec<f64> {
        let mut values: Vec<f64> = of.flat_map(|cell| cell.values(figure)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let served = |run: &Run| Some(run.figure("errors")? > 0.0 && run.figure("outage_s").is_some());
    let stopped = || reached().filter(|cell| cell.level("fault") == "stop");
    let exact =
        |run: &Run| Some(run.figure("exact")? == 1.0 && run.figure("lost")? + run.figure("doubled")? == 0.0);
    let kept = |run: &Run| Some(run.figure("lost")? + run.figure("doubled")? == 0.0);
    let semi_sync = || failovers().filter(|cell| cell.level("mode") == "after-sync");
    let lagging = || failovers().filter(|cell| cell.level("mode") == "async" && cell.level("fault") == "lag");
    vec![
        Finding::of(
            "new-connections-are-served",
            FAILOVER,
            "running statements get an error, new connections are served by the slave (clean stop)",
            all(stopped(), served),
            seconds("no write was acknowledged for", &range("outage_s", &mut stopped())),
        ),
        Finding::of(
            "nothing-older-is-applied",
            RECOVERY,
            "the cure of duplicate rows: nothing older than the full backup is applied",
            all(recoveries(), exact),
            seconds(
                "every row is that of the source; recovery took",
                &range("recovery_s", &mut recoveries()),
            ),
        ),
        Finding::of(
            "after-sync-loses-nothing",
            FAILOVER,
            "not published: semi-synchronous replication with AFTER_SYNC loses no acknowledged write",
            all(semi_sync(), kept),
            seconds("no write was acknowledged for", &range("outage_s", &mut semi_sync())),
        ),
        Finding::of(
            "a-lagging-replica-loses",
            FAILOVER,
            "not published: an asynchronous replica that lags loses what it has not received",
            all(lagging(), |run| Some(run.figure("lost")? > 0.0)),
            counts("acknowledged writes were lost", &range("lost", &mut lagging())),
        ),
    ]
}

/// The least and the largest of sorted values.
fn span(values: &[f64]) -> Option<(f64, f64)> {
    values.first().copied().zip(values.last().copied())
}

fn seconds(words: &str, values: &[f64]) -> String {
    span(values).map_or("It was not measured.".to_owned(), |(low, high)| {
        format!("Here {words} {low:.2} to {high:.2} s ({}).", format::counted(values.len(), "run"))
    })
}

fn counts(words: &str, values: &[f64]) -> String {
    span(values).map_or("It was not measured.".to_owned(), |(low, high)| {
        format!("Here {low:.0} to {high:.0} {words} ({}).", format::counted(values.len(), "run"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::record::parts;
    use super::*;
    use crate::harness::{FORMAT, Outcome};

    fn run(part: &str, levels: &[&str], figures: &[(&'static str, f64)]) -> Run {
        let levels = levels.iter().map(|level| (*level).to_owned()).collect();
        let mut run = Run { part: part.to_owned(), levels, repeat: 1, ..Run::default() };
        figures.iter().for_each(|(name, value)| run.set(name, *value));
        run
    }

    fn outcomes(runs: &[Run]) -> Vec<Outcome> {
        let setting = Setting { rate: 200.0, megabytes: 64, ..Setting::default() };
        let plan = Plan {
            format: FORMAT,
            id: "recovery-1".to_owned(),
            kind: super::super::NAME.to_owned(),
            parts: parts(&setting, 1, false),
            ..Plan::default()
        };
        judge(&plan, &setting, runs).findings.into_iter().map(|finding| finding.outcome).collect()
    }

    fn failover(fault: &str, mode: &str, lost: f64) -> Run {
        let figures = [("errors", 3.0), ("outage_s", 0.4), ("lost", lost), ("doubled", 0.0)];
        run(FAILOVER, &[fault, mode], &figures)
    }

    fn recovery(exact: f64) -> Run {
        run(RECOVERY, &["full"], &[("exact", exact), ("lost", 0.0), ("doubled", 0.0), ("recovery_s", 3.0)])
    }

    #[test]
    fn findings_hold_where_every_run_shows_them() {
        let good = [recovery(1.0), failover("stop", "after-sync", 0.0), failover("lag", "async", 90.0)];
        assert_eq!(outcomes(&good), [Outcome::Holds; 4]);
    }

    #[test]
    fn one_run_that_shows_the_contrary_is_enough_and_what_was_not_measured_is_not_known() {
        let bad = [
            recovery(1.0),
            recovery(0.0),
            failover("kill", "after-sync", 1.0),
            failover("lag", "async", 0.0),
        ];
        let no = Outcome::DoesNotHold;
        assert_eq!(outcomes(&bad), [Outcome::NotTestable, no, no, no]);
        assert_eq!(outcomes(&[]), [Outcome::NotTestable; 4]);
    }
}
