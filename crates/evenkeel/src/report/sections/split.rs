//! Of what the mean response time is made: waiting for the generator, for a session, and service.

use super::{section, table};
use crate::format;
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_study::store::format::{CellSummary, RunFile, TimesRecord};

/// Parts of a mean response time, ms per request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Dispatch lag: sent late by the generator itself.
    pub lag: f64,
    /// Session wait: sent late because no session was free.
    pub session: f64,
    /// From the send to the answer.
    pub service: f64,
    /// What is left: requests that were given up before they were sent or answered.
    pub rest: f64,
}

/// Names and classes of the style sheet, in the order of the parts.
const PARTS: [(&str, &str); 4] =
    [("generator's wait", "w0"), ("session wait", "w1"), ("service", "w2"), ("given up", "w3")];

impl Parts {
    /// Over the runs of a cell; every request weighs the same. `None` without a request, and where more than 1 % failed: their
    /// waits are counted, and their responses are not.
    pub fn of(runs: &[&RunFile]) -> Option<Self> {
        if runs.iter().any(|run| has_failures(run)) {
            return None;
        }
        let requests: f64 = runs.iter().map(|run| run.response.count as f64).sum();
        let sum = |of: fn(&RunFile) -> &TimesRecord| {
            let sums = runs.iter().map(|run| of(run).mean_ms * of(run).count as f64);
            sums.filter(|sum| sum.is_finite()).sum::<f64>() / requests
        };
        let (lag, session, service) =
            (sum(|run| &run.lag), sum(|run| &run.session_wait), sum(|run| &run.service));
        let rest = (sum(|run| &run.response) - lag - session - service).max(0.0);
        (requests > 0.0).then_some(Self { lag, session, service, rest })
    }

    fn all(self) -> [f64; 4] {
        [self.lag, self.session, self.service, self.rest]
    }

    /// Sum of the parts, which is the mean response time.
    pub fn whole(self) -> f64 {
        self.all().iter().sum()
    }
}

/// Share of the arrivals that may fail before it shows in a bar.
const FAILURES_UNSEEN: f64 = 0.01;

fn has_failures(run: &RunFile) -> bool {
    let failed: u64 = run.counts.failed.values().sum();
    failed as f64 > FAILURES_UNSEEN * run.counts.arrivals as f64
}

/// A bar for each cell; all are of the same length, so that small rates are not hidden by large ones.
pub fn split(study: &Study<'_>) -> String {
    let cells: Vec<&CellSummary> =
        (0..study.plan.series.len()).flat_map(|series| study.cells_of(series)).collect();
    let parted: Vec<(&CellSummary, Parts)> =
        cells.iter().filter_map(|cell| Some((*cell, Parts::of(&study.standing_of(cell.cell))?))).collect();
    if parted.is_empty() {
        return String::new();
    }
    // Under a thousandth of every bar there is nothing to see.
    let shown: Vec<usize> = (0..PARTS.len())
        .filter(|part| *part < 3 || parted.iter().any(|(_, parts)| parts.all()[*part] > 1e-3 * parts.whole()))
        .collect();
    let heads = shown.iter().map(|part| {
        let (name, class) = PARTS[*part];
        format!("<th scope=\"col\"><span class=\"key {class}\"></span>{name}</th>")
    });
    let head = format!(
        "<th scope=\"col\">cell</th><th scope=\"col\" class=\"bars\">share of the mean</th>{}<th scope=\"col\">mean</th>",
        heads.collect::<String>()
    );
    let rows: String =
        parted.iter().map(|(cell, parts)| row(&study.cell_name(cell), *parts, &shown)).collect();
    let table = table("What the response time is made of", &head, &format!("<tbody>\n{rows}</tbody>"));
    let words = "The mean response time in parts, over all requests of a cell. The generator's wait is our \
                 own error; a session wait says that more sessions were needed than there were; the rest is \
                 the server and the network.";
    let failed = cells.iter().any(|cell| study.standing_of(cell.cell).iter().any(|run| has_failures(run)));
    let left = if failed {
        " Rates at which more than 1 % of the requests failed are left out: an error has waits and no response time."
    } else {
        ""
    };
    section("split", "What the response time is made of", &format!("{words}{left}"), &table)
}

fn row(name: &str, parts: Parts, shown: &[usize]) -> String {
    let whole = parts.whole().max(f64::MIN_POSITIVE);
    let piece = |part: &usize| {
        let percent = 100.0 * parts.all()[*part] / whole;
        let class = PARTS[*part].1;
        if percent < 0.05 {
            String::new()
        } else {
            format!("<i class=\"{class}\" style=\"width:{percent:.2}%\"></i>")
        }
    };
    let value = |part: &usize| format!("<td>{}</td>", Text(&format::time(parts.all()[*part])));
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"bars\"><span class=\"bar\">{}</span></td>{}<td>{}</td></tr>\n",
        Text(name),
        shown.iter().map(piece).collect::<String>(),
        shown.iter().map(value).collect::<String>(),
        Text(&format::time(parts.whole()))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(count: u64, mean_ms: f64) -> TimesRecord {
        TimesRecord { count, mean_ms, ..TimesRecord::default() }
    }

    #[test]
    fn parts_are_weighted_by_requests_and_add_up_to_tau() {
        let run = |requests: u64, scale: f64| RunFile {
            response: times(requests, 10.0 * scale),
            lag: times(requests / 2, 1.0 * scale),
            session_wait: times(requests / 2, 3.0 * scale),
            service: times(requests, 8.0 * scale),
            ..RunFile::default()
        };
        let (one, other) = (run(100, 1.0), run(300, 2.0));
        let parts = Parts::of(&[&one, &other]).unwrap();
        assert!((parts.lag - 0.875).abs() < 1e-9 && (parts.session - 2.625).abs() < 1e-9, "{parts:?}");
        assert!((parts.whole() - 17.5).abs() < 1e-9 && parts.rest.abs() < 1e-9, "{parts:?}");
        assert_eq!(Parts::of(&[&RunFile::default()]), None);
    }

    #[test]
    fn where_requests_failed_waits_and_responses_are_of_different_requests_and_nothing_is_parted() {
        let mut run = RunFile {
            response: times(10, 10.0),
            session_wait: times(100, 200.0),
            service: times(10, 10.0),
            ..RunFile::default()
        };
        assert!(Parts::of(&[&run]).is_some());
        run.counts.arrivals = 100;
        run.counts.failed.insert(1205, 90);
        assert_eq!(Parts::of(&[&run]), None);
    }

    #[test]
    fn what_was_given_up_before_it_was_sent_is_a_part_of_its_own() {
        let run = RunFile {
            response: times(100, 10.0),
            lag: times(50, 1.0),
            service: times(50, 3.0),
            ..RunFile::default()
        };
        let parts = Parts::of(&[&run]).unwrap();
        assert_eq!((parts.lag, parts.service, parts.rest), (0.5, 1.5, 8.0));
        assert!(row("20/s", parts, &[0, 1, 2, 3]).contains("class=\"w3\" style=\"width:80.00%\""));
    }
}
