//! Requests that mostly fail, or of which none is answered: a finding that is told before any figure, since what was measured
//! is errors or nothing.

use crate::caveats::cell_name;
use crate::format;
use evenkeel_core::Nanos;
use evenkeel_core::caveat::{FailedBy, most_failed};
use evenkeel_lab::load::LoadResult;
use evenkeel_study::profile::Unanswered;
use evenkeel_study::store::format::{CellSummary, PlanFile, RunFile, SummaryFile};
use std::collections::BTreeMap;

/// Too many connections, of the server and of a user: a sweep ends where the server lets nobody more in, which is found
/// on purpose.
const FULL: [u16; 2] = [1040, 1203];

/// More names than this are counted only.
const NAMED: usize = 6;

/// What a load found whose requests were given up after `timeout`; `None` where at least half were answered or failed at once, and most did
/// not fail.
pub fn of_load(result: &LoadResult, timeout: Nanos) -> Option<String> {
    let (counts, texts) = (&result.counts, &result.error_texts);
    let failed = counts.failed.values().sum();
    if most_failed(failed, counts.arrivals) {
        return Some(sentence(failed, counts.arrivals, "", &counts.failed, texts));
    }
    // Who stops a load did not wait for its answers.
    let late = 2 * (counts.timed_out + counts.unsent) > counts.arrivals;
    let none = counts.arrivals > 0 && counts.completed == 0;
    ((late || none) && !result.stopped).then(|| unanswered(result, timeout))
}

/// That few requests were answered or none, what became of the others, and whether the server answers at all.
fn unanswered(result: &LoadResult, timeout: Nanos) -> String {
    let counts = &result.counts;
    let (timed_out, unsent) = (format::count(counts.timed_out), format::count(counts.unsent));
    let errors = FailedBy::words(&FailedBy::all(&counts.failed, &result.error_texts));
    let ends = [
        (counts.timed_out > 0).then(|| format!("{timed_out} timed out")),
        (counts.unsent > 0).then(|| format!("{unsent} were never sent, since no session became free")),
        (!errors.is_empty()).then_some(errors),
    ];
    let why = match result.heard {
        0 => {
            "the server does not answer: no session got a byte from it; see whether it runs, and what its log says"
        }
        _ => {
            "the server answers, but later: lower the rate, or raise --timeout above the time that a request takes"
        }
    };
    let answered = match counts.completed {
        0 => format!("none of {} requests was", format::count(counts.arrivals)),
        few => format!("only {} of {} requests were", format::count(few), format::count(counts.arrivals)),
    };
    format!(
        "{answered} answered within the timeout of {} ({}); {why}",
        format::time(timeout.as_millis_f64()),
        ends.into_iter().flatten().collect::<Vec<_>>().join(", ")
    )
}

/// That no request of a study was answered at any rate.
fn of_unanswered(plan: &PlanFile, found: &Unanswered) -> String {
    let (used, remedy) = match found.theta_percent {
        Some(theta) if found.is_unused() => (
            format!("was nearly idle ({theta:.1} % CPU)"),
            "requests wait for something else longer than the timeout: see SHOW PROCESSLIST, or raise --timeout",
        ),
        Some(theta) => {
            (format!("used {theta:.1} % of its CPUs"), "raise --timeout, or measure lower rates (--rate)")
        }
        None => (
            "used an unknown share of its CPUs".to_owned(),
            "raise --timeout above the time that a request takes, or measure lower rates (--rate)",
        ),
    };
    format!(
        "none of {} requests was answered within the timeout of {} at any rate; the server {used}; {remedy}",
        format::count(found.arrivals),
        format::time(1e3 * plan.settings.timeout_s)
    )
}

/// In two words how it stands with the requests of a study about which [`of_study`] has something to say.
pub fn state(plan: &PlanFile, summary: &SummaryFile) -> Option<&'static str> {
    of_study(plan, summary, &[])?;
    Some(if Unanswered::of(&summary.cells).is_some() { "no answers" } else { "requests failed" })
}

/// What a study found: the cells in which most requests failed, by what the server said; or that nothing was answered at any rate.
pub fn of_study(plan: &PlanFile, summary: &SummaryFile, runs: &[RunFile]) -> Option<String> {
    let cells: Vec<&CellSummary> = summary.cells.iter().filter(|cell| has_failed(cell)).collect();
    if cells.is_empty() {
        return Unanswered::of(&summary.cells).map(|found| of_unanswered(plan, &found));
    }
    let mut failed: BTreeMap<u16, u64> = BTreeMap::new();
    for (code, count) in cells.iter().flat_map(|cell| &cell.counts.failed) {
        *failed.entry(*code).or_default() += count;
    }
    let texts = runs.iter().flat_map(|run| run.error_texts.clone()).collect();
    let arrivals = cells.iter().map(|cell| cell.counts.arrivals).sum();
    let kind = if plan.series.len() > 1 { "cell" } else { "rate" };
    let places = match (cells.len(), summary.cells.len()) {
        (few, all) if few == all => String::new(),
        (few, all) if few <= NAMED => {
            let names: Vec<String> = cells.iter().map(|cell| cell_name(plan, cell)).collect();
            format!(" at {few} of {} ({})", format::counted(all, kind), names.join(", "))
        }
        (few, all) => format!(" at {few} of {}", format::counted(all, kind)),
    };
    Some(sentence(failed.values().sum(), arrivals, &places, &failed, &texts))
}

fn has_failed(cell: &CellSummary) -> bool {
    let failed = cell.counts.failed.iter().filter(|(code, _)| !FULL.contains(code));
    most_failed(failed.map(|(_, count)| count).sum(), cell.counts.arrivals)
}

fn sentence(
    failed: u64,
    arrivals: u64,
    places: &str,
    by: &BTreeMap<u16, u64>,
    texts: &BTreeMap<u16, String>,
) -> String {
    let errors = FailedBy::words(&FailedBy::all(by, texts));
    let requests = match failed == arrivals {
        true => format!("all {} requests", format::count(arrivals)),
        false => format!("{} of {} requests", format::count(failed), format::count(arrivals)),
    };
    format!("{requests} failed{places}, {errors}; response times of errors say nothing about the statements")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use evenkeel_lab::load::{Counts, nothing_measured};

    fn load(completed: u64, failed: &[(u16, u64)]) -> LoadResult {
        let arrivals = completed + failed.iter().map(|(_, count)| count).sum::<u64>();
        let counts =
            Counts { arrivals, completed, failed: failed.iter().copied().collect(), ..Counts::default() };
        LoadResult { counts, ..nothing_measured() }
    }

    fn found(load: &LoadResult) -> Option<String> {
        of_load(load, Nanos::from_millis(250))
    }

    #[test]
    fn a_load_none_of_whose_requests_is_answered_is_a_finding_that_names_the_timeout() {
        let unanswered = |timed_out, unsent, heard| {
            let arrivals = timed_out + unsent;
            let counts = Counts { arrivals, timed_out, unsent, ..Counts::default() };
            LoadResult { counts, heard, ..nothing_measured() }
        };
        assert_eq!(
            found(&unanswered(1_200, 0, 40)).as_deref(),
            Some(
                "none of 1,200 requests was answered within the timeout of 250 ms (1,200 timed out); the server \
                 answers, but later: lower the rate, or raise --timeout above the time that a request takes"
            )
        );
        let most = unanswered(800, 30, 40);
        let some = |completed| {
            let counts =
                Counts { completed, arrivals: most.counts.arrivals + completed, ..most.counts.clone() };
            found(&LoadResult { counts, ..unanswered(0, 0, 40) })
        };
        assert!(
            some(170).is_some_and(|text| text.starts_with("only 170 of 1,000 requests were answered within"))
        );
        assert_eq!(some(830), None, "half of them were answered");
        let silent = found(&unanswered(16, 244, 0)).unwrap();
        assert!(
            silent.contains("(16 timed out, 244 were never sent, since no session became free)"),
            "{silent}"
        );
        assert!(silent.contains("the server does not answer") && !silent.contains("--timeout"), "{silent}");
        assert_eq!(found(&LoadResult { stopped: true, ..unanswered(16, 244, 0) }), None);
    }

    #[test]
    fn a_load_most_of_whose_requests_fail_is_a_finding_with_the_servers_words() {
        let texts = BTreeMap::from([(1146, "Table 'shop.item' doesn't exist".to_owned())]);
        assert_eq!(found(&load(50, &[(1146, 50)])), None);
        assert_eq!(found(&load(0, &[])), None);
        assert_eq!(
            found(&LoadResult { error_texts: texts, ..load(0, &[(1146, 1_500)]) }).as_deref(),
            Some(
                "all 1,500 requests failed, 1500 times error 1146 “Table 'shop.item' doesn't exist”; \
                 response times of errors say nothing about the statements"
            )
        );
        let most = found(&load(1, &[(1213, 2)])).unwrap();
        assert!(most.starts_with("2 of 3 requests failed, 2 times error 1213;"), "{most}");
    }

    #[test]
    fn a_study_without_any_answer_is_a_finding_that_names_the_timeout_and_no_lower_rate_beside_an_unused_server()
     {
        let mut fixture = fixture::demo();
        fixture.plan.settings.timeout_s = 0.05;
        for cell in &mut fixture.summary.cells {
            (cell.counts.completed, cell.counts.timed_out) = (0, cell.counts.arrivals);
            (cell.counts.unsent, cell.theta_percent.mean) = (0, 0.4);
        }
        let found = |fixture: &fixture::Fixture| of_study(&fixture.plan, &fixture.summary, &fixture.runs);
        let text = found(&fixture).unwrap();
        assert!(
            text.contains(
                "within the timeout of 50.0 ms at any rate; the server was nearly idle (0.4 % CPU)"
            ),
            "{text}"
        );
        assert!(text.contains("or raise --timeout") && !text.contains("lower rates"), "{text}");
        assert_eq!(state(&fixture.plan, &fixture.summary), Some("no answers"));
        fixture.summary.cells[5].theta_percent.mean = 97.0;
        assert!(found(&fixture).unwrap().contains("lower rates"));
        fixture.summary.cells[0].counts.completed = 1;
        assert_eq!(found(&fixture), None);
    }

    #[test]
    fn a_study_names_the_rates_at_which_most_failed_and_not_those_that_were_full() {
        let mut fixture = fixture::demo();
        let found = |fixture: &fixture::Fixture| of_study(&fixture.plan, &fixture.summary, &fixture.runs);
        assert_eq!(found(&fixture), None);
        let arrivals = fixture.summary.cells[1].counts.arrivals;
        fixture.summary.cells[1].counts.failed = BTreeMap::from([(1040, arrivals)]);
        assert_eq!(found(&fixture), None, "a server that is full is where a sweep ends");
        fixture.summary.cells[1].counts.failed = BTreeMap::from([(1305, arrivals)]);
        fixture.runs[0].error_texts.insert(1305, "PROCEDURE shop.buy does not exist".to_owned());
        let text = found(&fixture).unwrap();
        assert!(text.contains(" requests failed at 1 of 6 rates (20/s), "), "{text}");
        assert!(text.contains("error 1305 “PROCEDURE shop.buy does not exist”"), "{text}");
    }
}
