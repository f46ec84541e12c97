//! The sentences of the study.

use super::parts::{CRASH, DAYS, LOAD, cell};
use super::record::{PUBLISHED_RECORDS, Setting, Tuning};
use crate::format;
use crate::harness::{Cell, Finding, Outcome, Plan, Run, doubts};
use evenkeel_core::caveat::{Caveat, Severity};

pub(super) const PUBLISHED: &str = "Call records of a day (22 GB) are loaded into MySQL in 2.5 h instead of \
                                    12.5 h with the InnoDB plugin, and in 79 min with MyISAM. Three days go \
                                    through the whole chain in less time than one did before.";
/// Where it was published.
pub(super) const SOURCE: &str = "telecom study: MySQL 5.1.41 with the InnoDB plugin 1.0.6, a master of 32 cores and 32 GB, storage by channels of 1 Gb/s";

/// Times that differ by less than this share differ little.
pub(super) const LITTLE: f64 = 0.2;

pub(super) fn rule() -> String {
    format!(
        "One way takes longer than another where the whole 95 % interval of the ratio of their times (over runs, Student's t) is above 1; that is the \
         direction of a finding. Times differ little where the whole interval is within {:.0} %. Every load is audited, record by record; one that lost or doubled a record \
         would have ended the study.",
        100.0 * LITTLE
    )
}

pub(super) fn setting(plan: &Plan, setting: &Setting) -> String {
    let (records, part) = (setting.records, setting.records as f64 / PUBLISHED_RECORDS as f64);
    let repeats = plan.parts.first().map_or(0, |part| part.repeats);
    format!(
        "{} days of {} synthetic records (200 bytes of fixed width; {} of a published day), {} of each, seed {}",
        setting.days,
        format::count(records),
        if part < 0.01 { format!("1/{:.0}", 1.0 / part) } else { format::percent(100.0 * part) },
        format::counted(repeats as usize, "run"),
        plan.seed
    )
}

pub(super) fn headline(cells: &[Cell<'_>], findings: &[Finding]) -> String {
    let audited: f64 = cells.iter().flat_map(|cell| cell.values("records")).sum();
    if audited == 0.0 {
        return "Nothing has been measured yet.".to_owned();
    }
    let count = |outcome| findings.iter().filter(|finding| finding.outcome == outcome).count();
    format!(
        "Of {} published findings the direction holds here for {}, does not for {}, and is undecided for {}. \
         Every load was audited, {} records in all; one that lost or doubled a record would have ended the study.",
        findings.len(),
        count(Outcome::Holds),
        count(Outcome::DoesNotHold),
        count(Outcome::NotTestable),
        format::count(audited as u64)
    )
}

/// Further sentences, by part; the last one of a part stands on the first screen too.
pub(super) fn sentences(plan: &Plan, setting: &Setting, cells: &[Cell<'_>]) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for (tuning, name) in [(Tuning::Untuned, "Untuned"), (Tuning::Tuned, "Tuned")] {
        said.push((LOAD.to_owned(), format!("{name} is {}.", tuning.words(setting.pool_mib))));
    }
    said.extend(loads(cells).map(|text| (LOAD.to_owned(), text)));
    let ways = plan.part(CRASH).into_iter().flat_map(|part| &part.factors[0].levels);
    let crashes: Vec<String> = ways.filter_map(|way| crash(cells, &way.name, way.words())).collect();
    if !crashes.is_empty() {
        let text =
            format!("Cost of a server that is killed in the middle of a load: {}.", crashes.join("; "));
        said.push((CRASH.to_owned(), text));
    }
    said.extend(direct(cells).map(|text| (DAYS.to_owned(), text)));
    said
}

/// The fastest and the slowest way.
fn loads(cells: &[Cell<'_>]) -> Option<String> {
    let known = cells.iter().filter(|cell| cell.part.name == LOAD);
    let mut known: Vec<(f64, &Cell<'_>)> =
        known.filter_map(|cell| Some((cell.mean("rows_per_s")?, cell))).collect();
    known.sort_by(|one, other| other.0.total_cmp(&one.0));
    let words = |(rate, cell): &(f64, &Cell<'_>)| {
        format!("{}, {} ({} rows/s)", cell.words("way"), cell.words("indexes"), format::count(*rate as u64))
    };
    let (fastest, slowest) = (known.first()?, known.last()?);
    Some(format!("The fastest way is {}, the slowest {}.", words(fastest), words(slowest)))
}

fn crash(cells: &[Cell<'_>], way: &str, words: &str) -> Option<String> {
    let cell = cell(cells, CRASH, &[way])?;
    Some(format!(
        "{words}, killed when {} of the bytes were sent, {} s, {} s of them until the server is back, and {} of the bytes sent twice",
        format::percent(cell.mean("killed_at_percent")?),
        format::short(cell.mean("seconds_lost")?),
        format::short(cell.mean("recovery_s")?),
        format::percent(cell.mean("sent_twice_percent")?),
    ))
}

/// What the published study did not have.
fn direct(cells: &[Cell<'_>]) -> Option<String> {
    let steps = |source: &str| {
        let cell = cell(cells, DAYS, &[source])?;
        Some(cell.mean("convert_s").unwrap_or(0.0) + cell.mean("load_s")?)
    };
    Some(format!(
        "To convert and load takes {} s by a file between, {} s without one, and {} s where the source has the separators; dispatch and audit are the \
         same for all three.",
        format::short(steps("widths")?),
        format::short(steps("direct")?),
        format::short(steps("delimited")?)
    ))
}

pub(super) fn caveats(plan: &Plan, setting: &Setting, runs: &[Run]) -> Vec<Caveat> {
    let mut found = doubts(&plan.parts.iter().collect::<Vec<_>>(), runs);
    found.extend(standing(setting));
    found
}

/// Doubts that do not depend on what was measured.
fn standing(setting: &Setting) -> Vec<Caveat> {
    let mut found = Vec::new();
    if setting.records < PUBLISHED_RECORDS {
        let text = "Data are smaller than the published ones and fit into memory, so that indexes cost less \
                    here: compare which way is faster, and not the rates themselves (`records=70000000`).";
        found.push(Caveat::new("smaller-data", Severity::Note, text));
    }
    for (code, text) in [
        (
            "settings-not-published",
            "The published study does not say which settings it tuned. Ours are the usual ones of its time \
             that still exist; \
             innodb_additional_mem_pool_size and innodb_thread_concurrency are gone.",
        ),
        (
            "tuned-gives-up-durability",
            "Tuned gives up durability: with innodb_doublewrite=OFF and innodb_flush_log_at_trx_commit=2 a loss of power may cost the last second of \
             commits, or tear a page. Part of its lead over untuned comes from that. The killed servers \
             show no loss, since a kill does not lose what the kernel has.",
        ),
        (
            "clean-records",
            "The records are clean and none is late, and no load looks for repeated records (`--duplicates \
             keep`): a daily job with dirty data takes longer.",
        ),
        (
            "published-figures-contradict",
            "The published figures contradict each other: dispatch took 57 min or 3 h 20 min, the chain without separators \u{201c}1 h 20 min\u{201d} or 12 h; \
             both are shown here. \u{201c}6 times faster\u{201d} is not checked.",
        ),
        (
            "plugin-is-todays-innodb",
            "The InnoDB plugin of the study made indexes after the load without copying the table; all of today's InnoDB does.",
        ),
    ] {
        found.push(Caveat::new(code, Severity::Note, text));
    }
    found
}

/// Where it was measured.
pub(super) fn place(setting: &Setting) -> Vec<(&'static str, String)> {
    let pool = ("pool of the tuned server", format!("{} MiB", setting.pool_mib));
    setting.place.known().into_iter().chain([pool]).collect()
}
