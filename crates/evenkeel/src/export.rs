//! Studies for other programs: CSV tables of cells and runs, and JSON with the records as they are stored.
//!
//! Columns of both begin with what cell it is. Of a mean over runs there are `X_mean, X_se, X_low, X_high`: the ends of its 95 %
//! interval; a low without a high is a lower bound of 99 %. Of a run's distribution there are `X_mean_ms, X_p50_ms` and so on;
//! `status_NAME` is how much a counter rose in `status_stretch_s` seconds, in which the server was asked
//! `status_stretch_requests` requests, give or take `status_slack_s` seconds; `gauge_NAME_mean, gauge_NAME_max` are of what was
//! looked at meanwhile, `sense_NAME` further measures of a run.
//!
//! An absent value is an empty field. Names do not change within a format version; new columns come at the end, before `sense_`.

use evenkeel_core::caveat::Caveat;
use evenkeel_lab::csv::field;
use evenkeel_study::profile::{COUNTERS_PER_REQUEST, server_measures};
use evenkeel_study::store::format::{
    CellSummary, CountsRecord, ManifestFile, PlanFile, RunFile, SummaryFile,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One object `{plan, manifest, summary, runs}`, each as its file has it, ending in a line feed.
pub fn json(
    plan: &PlanFile,
    manifest: &ManifestFile,
    summary: &SummaryFile,
    runs: &[RunFile],
) -> Result<String, serde_json::Error> {
    #[derive(serde::Serialize)]
    struct Study<'a> {
        plan: &'a PlanFile,
        manifest: &'a ManifestFile,
        summary: &'a SummaryFile,
        runs: &'a [RunFile],
    }
    let mut text = serde_json::to_string_pretty(&Study { plan, manifest, summary, runs })?;
    text.push('\n');
    Ok(text)
}

/// A line for each cell, below a line of column names.
pub fn cells(plan: &PlanFile, summary: &SummaryFile) -> String {
    let mut columns = identity();
    columns.own(&["runs", "stability", "lower_bound", "valid"]);
    let means = ["tau_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms"];
    let further = ["throughput_per_s", "theta_percent", "lag_p99_ms", "pool_reads_per_request"];
    means.iter().chain(&further).for_each(|name| columns.estimate(name, &[name]));
    columns.own(&["target_spread_ms"]);
    counts(&mut columns);
    columns.own(&["caveats"]);
    columns.estimate("mu_ms", &["mu_ms"]);
    // The reads of the buffer pool have their columns above.
    let names: BTreeSet<&String> = summary.cells.iter().flat_map(|cell| cell.server.keys()).collect();
    for name in names.into_iter().filter(|name| *name != "pool_reads_per_request") {
        columns.estimate(name, &["server", name]);
    }
    columns.own(&["attempts_set_aside"]);
    columns.estimate("session_wait_ms", &["session_wait_ms"]);
    columns.estimate("probe_wait_ms", &["probe_wait_ms"]);
    columns.estimate("tau_undisturbed_ms", &["undisturbed", "tau_ms"]);
    columns.at("undisturbed_percent", &["undisturbed", "coverage_percent"]);
    let row = |cell: &CellSummary| row(plan, cell, Some(cell.series), &cell.counts, &cell.caveats);
    columns.table(summary.cells.iter().map(row))
}

pub fn runs(plan: &PlanFile, runs: &[RunFile]) -> String {
    let mut columns = identity();
    columns.own(&["repeat", "order", "started_unix_s", "seed", "measured_s", "stability", "lower_bound"]);
    columns.own(&["throughput_per_s"]);
    counts(&mut columns);
    columns.own(&["backlog_at_end", "sessions_max", "reconnects"]);
    ["response", "service", "first_byte", "lag", "session_wait"].iter().for_each(|name| columns.times(name));
    columns.own(&["tau_batch_se_ms", "batch_autocorrelation"]);
    columns.at("theta_percent", &["theta", "total_percent"]);
    for name in ["user_percent", "system_percent", "iowait_percent", "steal_percent"] {
        columns.at(name, &["theta", name]);
    }
    columns.at("sensed_by", &["sensed", "by"]);
    columns.own(&["generator_cpu_percent", "other_load_percent", "generator_switches_per_request"]);
    columns.own(&["caveats"]);
    for (name, part) in [("mu_ms_mean", "mean"), ("mu_ms_se", "se"), ("mu_probes", "n")] {
        columns.at(name, &["mu_ms", part]);
    }
    // What the server did per request, the counters behind it, and gauges.
    COUNTERS_PER_REQUEST.iter().for_each(|(name, _)| columns.at(*name, &["measures", name]));
    for name in COUNTERS_PER_REQUEST.iter().flat_map(|(_, counters)| *counters) {
        columns.at(format!("status_{name}"), &["status", name]);
    }
    for name in runs.iter().flat_map(|run| run.gauges.keys()).collect::<BTreeSet<_>>() {
        columns.at(format!("gauge_{name}_mean"), &["gauges", name, "mean"]);
        columns.at(format!("gauge_{name}_max"), &["gauges", name, "max"]);
    }
    columns.own(&["attempt", "attempts_set_aside"]);
    columns.at("probe_wait_ms_mean", &["probe_wait_ms", "mean"]);
    for (name, part) in [("stretch_s", "seconds"), ("stretch_requests", "requests"), ("slack_s", "slack_s")] {
        columns.at(format!("status_{name}"), &["status_stretch", part]);
    }
    further(runs).into_iter().for_each(|name| columns.at(name, &["measures", name]));
    for name in runs.iter().flat_map(|run| run.sense.keys()).collect::<BTreeSet<_>>() {
        columns.at(format!("sense_{name}"), &["sense", name]);
    }
    columns.table(runs.iter().map(|run| {
        let cell = plan.cells.iter().find(|cell| cell.id == run.cell);
        let mut row = row(plan, run, cell.map(|cell| cell.series), &run.counts, &run.caveats);
        row["rate_per_s"] = json!(cell.map(|cell| cell.rate_per_s));
        row["attempts_set_aside"] = json!(run.set_aside.len());
        row["measures"] = json!(server_measures(run));
        row
    }))
}

/// Figures that some run has besides those of every table: of the disk, and of the parts of response times.
fn further(runs: &[RunFile]) -> BTreeSet<&'static str> {
    let all: BTreeSet<&str> = runs.iter().flat_map(|run| server_measures(run).into_keys()).collect();
    let is_told = |name: &&str| {
        COUNTERS_PER_REQUEST.iter().any(|(known, _)| known == name) || name.starts_with("threads_running")
    };
    all.into_iter().filter(|name| !is_told(name)).collect()
}

/// What tells a cell from the others.
fn identity() -> Columns {
    let mut columns = Columns::default();
    columns.own(&["study", "series", "target", "workload", "layout", "pool_bytes", "pool_percent"]);
    columns.own(&["cell", "rate_per_s"]);
    columns
}

fn counts(columns: &mut Columns) {
    for name in ["arrivals", "completed", "failed", "timed_out", "unsent"] {
        columns.at(name, &["counts", name]);
    }
}

/// A record with what it is of.
fn row(
    plan: &PlanFile,
    record: &impl Serialize,
    series: Option<usize>,
    counts: &CountsRecord,
    caveats: &[Caveat],
) -> Value {
    let mut row = json!(record);
    let series = series.and_then(|at| plan.series.get(at));
    row["study"] = json!(plan.id);
    row["series"] = json!(series.map(|series| &series.label));
    row["target"] = json!(series.and_then(|series| Some(&plan.targets.get(series.target)?.label)));
    row["workload"] = json!(series.map(|series| &series.workload));
    row["layout"] = json!(series.map(|series| series.layout.clone()));
    row["pool_bytes"] = json!(series.and_then(|series| series.pool_bytes));
    row["pool_percent"] = json!(series.and_then(|series| series.pool_percent));
    row["counts"]["failed"] = json!(counts.failed.values().sum::<u64>());
    let codes: BTreeSet<&str> = caveats.iter().map(|caveat| &*caveat.code).collect();
    row["caveats"] = json!(codes.into_iter().collect::<Vec<_>>().join(" "));
    row
}

/// Columns in their order: the name of each, and the keys that lead to its value.
#[derive(Default)]
pub struct Columns(Vec<(String, Vec<String>)>);

impl Columns {
    pub fn at(&mut self, name: impl Into<String>, keys: &[&str]) {
        self.0.push((name.into(), keys.iter().map(|key| (*key).to_owned()).collect()));
    }

    /// Columns whose names are the keys of a row.
    pub fn own(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.at(*name, &[name]));
    }

    /// Four columns of a mean over runs.
    pub fn estimate(&mut self, name: &str, keys: &[&str]) {
        for part in ["mean", "se", "low", "high"] {
            self.at(format!("{name}_{part}"), &[keys, &[part]].concat());
        }
    }

    /// Seven columns of a distribution.
    pub fn times(&mut self, name: &str) {
        for statistic in ["mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms"] {
            self.at(format!("{name}_{statistic}"), &[name, statistic]);
        }
    }

    /// The line of names, some of which are from the run's own file, then a line for each row.
    pub fn table(&self, rows: impl Iterator<Item = Value>) -> String {
        let line = |fields: Vec<String>| fields.join(",") + "\n";
        let mut out = line(self.0.iter().map(|(name, _)| field(name)).collect());
        out.extend(rows.map(|row| line(self.0.iter().map(|(_, keys)| value(&row, keys)).collect())));
        out
    }
}

/// A text is quoted where it must be, and no formula for a spreadsheet; what is absent, or no number, is an empty field.
fn value(row: &Value, keys: &[String]) -> String {
    match keys.iter().try_fold(row, |value, key| value.get(key)) {
        Some(Value::String(text)) => field(text),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, number) => number.map_or_else(String::new, |number| number.to_string()),
        },
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Fixture};

    fn of_cells(fixture: &Fixture) -> String {
        cells(&fixture.plan, &fixture.summary)
    }

    fn of_runs(fixture: &Fixture) -> String {
        runs(&fixture.plan, &fixture.runs)
    }

    /// The field of a column in a row from 1; fields of the fixtures here hold no commas.
    fn field<'a>(text: &'a str, name: &str, row: usize) -> &'a str {
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let at = names.iter().position(|column| *column == name).unwrap_or_else(|| panic!("no {name}"));
        text.lines().nth(row).unwrap().split(',').nth(at).unwrap()
    }

    #[test]
    fn each_cell_has_a_line_with_its_interval() {
        let fixture = fixture::demo();
        let text = of_cells(&fixture);
        assert_eq!(text.lines().count(), 7);
        assert!(
            text.starts_with("study,series,target,workload,layout,pool_bytes,pool_percent,cell,rate_per_s,")
        );
        assert_eq!(field(&text, "rate_per_s", 1), "10");
        let mean: f64 = field(&text, "tau_ms_mean", 1).parse().unwrap();
        assert!((mean - fixture.summary.cells[0].tau_ms.mean).abs() < 1e-12);
        assert_eq!(field(&text, "lower_bound", 6), "true");
        assert_eq!(field(&text, "caveats", 6), "queue-unstable");
    }

    #[test]
    fn each_run_has_a_line_and_outcomes_add_up() {
        let text = of_runs(&fixture::demo());
        assert_eq!(text.lines().count(), 19);
        for row in 1..19 {
            let number = |name| field(&text, name, row).parse::<u64>().unwrap();
            let ends = number("completed") + number("failed") + number("timed_out") + number("unsent");
            assert_eq!(ends, number("arrivals"));
        }
        assert_eq!(field(&text, "sense_psi_cpu_some_percent", 1), "3.5");
    }

    #[test]
    fn what_the_server_did_is_told_by_run_and_per_request() {
        let fixture = fixture::demo();
        let text = of_runs(&fixture);
        let number = |name| field(&text, name, 1).parse::<f64>().unwrap();
        assert_eq!(number("status_Innodb_buffer_pool_reads"), 812.0);
        let per_request = number("status_Innodb_buffer_pool_reads") / number("status_stretch_requests");
        assert!(number("status_stretch_s") > 15.0);
        assert!((number("pool_reads_per_request") - per_request).abs() < 1e-12);
        assert!(number("gauge_Threads_running_max") >= number("gauge_Threads_running_mean"));
        assert!(number("mu_ms_mean") > 0.0 && number("mu_probes") == 3.0);
        assert!((0.0..number("mu_ms_mean")).contains(&number("probe_wait_ms_mean")));
        assert_eq!(field(&text, "row_lock_waits_per_request", 1), "", "the server did not tell");
        let cells = of_cells(&fixture);
        let names: Vec<&str> = cells.lines().next().unwrap().split(',').collect();
        assert_eq!(names.iter().filter(|name| **name == "pool_reads_per_request_mean").count(), 1);
        assert!(!field(&cells, "tmp_tables_per_request_mean", 1).is_empty());
        assert!(!field(&cells, "threads_running_max_mean", 1).is_empty());
        assert_eq!(field(&of_runs(&fixture::single()), "mu_ms_mean", 1), "");
    }

    #[test]
    fn what_is_absent_or_no_number_is_an_empty_field() {
        let mut fixture = fixture::single();
        fixture.runs[0].throughput_per_s = f64::NAN;
        assert_eq!(field(&of_cells(&fixture), "theta_percent_mean", 1), "");
        assert_eq!(field(&of_runs(&fixture), "theta_percent", 1), "");
        assert_eq!(field(&of_runs(&fixture), "throughput_per_s", 1), "");
    }

    #[test]
    fn no_text_is_a_formula_and_no_number_is_changed() {
        let mut fixture = fixture::demo();
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)"] {
            fixture.plan.series[0].label = formula.to_owned();
            assert_eq!(field(&of_cells(&fixture), "series", 1), format!("'{formula}"));
        }
        fixture.summary.cells[0].tau_ms.mean = -2.5;
        assert_eq!(field(&of_cells(&fixture), "tau_ms_mean", 1), "-2.5");
    }

    #[test]
    fn no_name_of_a_column_is_a_formula_or_more_than_one_field() {
        let mut fixture = fixture::demo();
        fixture.runs[0].sense.insert("=1,\n@evil".to_owned(), 1.0);
        let runs = of_runs(&fixture);
        assert!(runs.contains(",\"sense_=1,\n@evil\""), "{runs}");
        let server = &mut fixture.summary.cells[0].server;
        let figure = server.values().next().expect("the server told something").clone();
        server.insert("=1+1".to_owned(), figure);
        let cells = of_cells(&fixture);
        let names: Vec<&str> = cells.lines().next().unwrap().split(',').collect();
        assert!(names.contains(&"'=1+1_mean") && !names.contains(&"=1+1_mean"), "{names:?}");
    }

    #[test]
    fn lines_have_as_many_fields_as_names_and_an_empty_study_has_names() {
        let mut fixture = fixture::demo();
        fixture.plan.series[0].label = "a, \"b\"".to_owned();
        assert!(of_cells(&fixture).contains(",\"a, \"\"b\"\"\","));
        for of in [of_cells, of_runs] {
            let text = of(&fixture::demo());
            let fields = |line: &str| line.split(',').count();
            let names = fields(text.lines().next().unwrap());
            assert!(text.lines().all(|line| fields(line) == names));
            assert_eq!(of(&fixture::empty()).lines().count(), 1);
        }
    }
}
