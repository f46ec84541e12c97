//! Tables of cells and runs (RFC 4180, lines ended by a line feed). The columns are listed in the parent.

use super::columns::Columns;
use evenkeel_study::profile::{COUNTERS_PER_REQUEST, server_measures};
use evenkeel_study::store::format::{CellSummary, PlanFile, RunFile, SeriesRecord, SummaryFile};
use std::collections::BTreeSet;

/// A line for each cell, below a line of column names.
pub fn cells(plan: &PlanFile, summary: &SummaryFile) -> String {
    cell_columns(plan, &summary.cells).table(&summary.cells)
}

pub fn runs(plan: &PlanFile, runs: &[RunFile]) -> String {
    run_columns(plan, runs).table(runs)
}

fn cell_columns<'a>(plan: &'a PlanFile, cells: &'a [CellSummary]) -> Columns<'a, CellSummary> {
    let mut columns = Columns::default();
    identity(&mut columns, plan, |_, cell: &CellSummary| {
        (cell.cell, Some(cell.series), Some(cell.rate_per_s))
    });
    columns.text("runs", |cell| cell.runs.to_string());
    columns.text("stability", |cell| cell.stability.to_string());
    columns.text("lower_bound", |cell| cell.lower_bound.to_string());
    columns.text("valid", |cell| cell.valid.to_string());
    columns.estimate("tau_ms", |cell| Some(&cell.tau_ms));
    columns.estimate("p50_ms", |cell| Some(&cell.p50_ms));
    columns.estimate("p90_ms", |cell| Some(&cell.p90_ms));
    columns.estimate("p95_ms", |cell| Some(&cell.p95_ms));
    columns.estimate("p99_ms", |cell| Some(&cell.p99_ms));
    columns.estimate("p999_ms", |cell| Some(&cell.p999_ms));
    columns.estimate("throughput_per_s", |cell| Some(&cell.throughput_per_s));
    columns.estimate("theta_percent", |cell| Some(&cell.theta_percent));
    columns.estimate("lag_p99_ms", |cell| Some(&cell.lag_p99_ms));
    columns.estimate("pool_reads_per_request", |cell| cell.pool_reads_per_request.as_ref());
    columns.number("target_spread_ms", |cell| cell.target_spread_ms);
    columns.counts(|cell| &cell.counts);
    columns.caveats(|cell| &cell.caveats);
    columns.estimate("mu_ms", |cell| Some(&cell.mu_ms));
    // The reads of the buffer pool have their columns above.
    let names: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.server.keys()).collect();
    for name in names.into_iter().filter(|name| *name != "pool_reads_per_request") {
        columns.estimate(name, move |cell| cell.server.get(name));
    }
    columns.text("attempts_set_aside", |cell| cell.attempts_set_aside.to_string());
    columns.estimate("session_wait_ms", |cell| Some(&cell.session_wait_ms));
    columns.estimate("probe_wait_ms", |cell| Some(&cell.probe_wait_ms));
    columns.estimate("tau_undisturbed_ms", |cell| Some(&cell.undisturbed.as_ref()?.tau_ms));
    columns.number("undisturbed_percent", |cell| Some(cell.undisturbed.as_ref()?.coverage_percent));
    columns
}

fn run_columns<'a>(plan: &'a PlanFile, runs: &'a [RunFile]) -> Columns<'a, RunFile> {
    let mut columns = Columns::default();
    identity(&mut columns, plan, |plan, run: &RunFile| {
        let cell = plan.cells.iter().find(|cell| cell.id == run.cell);
        (run.cell, cell.map(|cell| cell.series), cell.map(|cell| cell.rate_per_s))
    });
    columns.text("repeat", |run| run.repeat.to_string());
    columns.text("order", |run| run.order.to_string());
    columns.text("started_unix_s", |run| run.started_unix_s.to_string());
    columns.text("seed", |run| run.seed.to_string());
    columns.number("measured_s", |run| Some(run.measured_s));
    columns.text("stability", |run| run.stability.to_string());
    columns.text("lower_bound", |run| run.lower_bound.to_string());
    columns.number("throughput_per_s", |run| Some(run.throughput_per_s));
    columns.counts(|run| &run.counts);
    columns.text("backlog_at_end", |run| run.backlog_at_end.to_string());
    columns.text("sessions_max", |run| run.sessions_max.to_string());
    columns.text("reconnects", |run| run.reconnects.to_string());
    columns.times("response", |run| &run.response);
    columns.times("service", |run| &run.service);
    columns.times("first_byte", |run| &run.first_byte);
    columns.times("lag", |run| &run.lag);
    columns.times("session_wait", |run| &run.session_wait);
    columns.number("tau_batch_se_ms", |run| run.tau_batch_se_ms);
    columns.number("batch_autocorrelation", |run| run.batch_autocorrelation);
    machine(&mut columns);
    columns.caveats(|run| &run.caveats);
    server(&mut columns, runs);
    columns.text("attempt", |run| run.attempt.to_string());
    columns.text("attempts_set_aside", |run| run.set_aside.len().to_string());
    columns.number("probe_wait_ms_mean", |run| Some(run.probe_wait_ms.as_ref()?.mean));
    columns.number("status_stretch_s", |run| Some(run.status_stretch.as_ref()?.seconds));
    columns.number("status_stretch_requests", |run| run.status_stretch.as_ref()?.requests);
    columns.number("status_slack_s", |run| Some(run.status_stretch.as_ref()?.slack_s));
    for name in further(runs) {
        columns.number(name, move |run| server_measures(run).get(name).copied());
    }
    for name in runs.iter().flat_map(|run| run.sense.keys()).collect::<BTreeSet<_>>() {
        columns.number(&format!("sense_{name}"), move |run| run.sense.get(name).copied());
    }
    columns
}

/// Probe delay, what the server did per request, the counters behind it, and gauges.
fn server<'a>(columns: &mut Columns<'a, RunFile>, runs: &'a [RunFile]) {
    columns.number("mu_ms_mean", |run| Some(run.mu_ms.as_ref()?.mean));
    columns.number("mu_ms_se", |run| run.mu_ms.as_ref()?.se);
    columns.number("mu_probes", |run| Some(f64::from(run.mu_ms.as_ref()?.n)));
    for (name, _) in COUNTERS_PER_REQUEST {
        columns.number(name, move |run| server_measures(run).get(name).copied());
    }
    for name in COUNTERS_PER_REQUEST.iter().flat_map(|(_, counters)| *counters) {
        columns.number(&format!("status_{name}"), move |run| run.status.get(*name).copied());
    }
    for name in runs.iter().flat_map(|run| run.gauges.keys()).collect::<BTreeSet<_>>() {
        columns.number(&format!("gauge_{name}_mean"), move |run| Some(run.gauges.get(name)?.mean));
        columns.number(&format!("gauge_{name}_max"), move |run| Some(run.gauges.get(name)?.max));
    }
}

/// Figures that some run has besides those of every table: of the disk, and of the parts of response times.
fn further(runs: &[RunFile]) -> BTreeSet<&'static str> {
    let all: BTreeSet<&str> = runs.iter().flat_map(|run| server_measures(run).into_keys()).collect();
    let is_told = |name: &&str| {
        COUNTERS_PER_REQUEST.iter().any(|(known, _)| known == name) || name.starts_with("threads_running")
    };
    all.into_iter().filter(|name| !is_told(name)).collect()
}

fn machine(columns: &mut Columns<'_, RunFile>) {
    columns.number("theta_percent", |run| Some(run.theta.as_ref()?.total_percent));
    columns.number("user_percent", |run| Some(run.theta.as_ref()?.user_percent));
    columns.number("system_percent", |run| Some(run.theta.as_ref()?.system_percent));
    columns.number("iowait_percent", |run| run.theta.as_ref()?.iowait_percent);
    columns.number("steal_percent", |run| run.theta.as_ref()?.steal_percent);
    columns.text("sensed_by", |run| run.sensed.as_ref().map_or_else(String::new, |seen| seen.by.to_string()));
    columns.number("generator_cpu_percent", |run| run.generator_cpu_percent);
    columns.number("other_load_percent", |run| run.other_load_percent);
    columns.number("generator_switches_per_request", |run| run.generator_switches_per_request);
}

/// Number, series and rate of what a line is about.
type Place<T> = fn(&PlanFile, &T) -> (u32, Option<usize>, Option<f64>);

/// What tells a cell from the others.
fn identity<'a, T: 'a>(columns: &mut Columns<'a, T>, plan: &'a PlanFile, place: Place<T>) {
    let series = move |row: &T| plan.series.get(place(plan, row).1?);
    let label = move |row: &T| Some(plan.targets.get(series(row)?.target)?.label.clone());
    let word = move |of: fn(&SeriesRecord) -> &String| {
        move |row: &T| series(row).map_or_else(String::new, |series| of(series).clone())
    };
    columns.text("study", move |_| plan.id.clone());
    columns.text("series", word(|series| &series.label));
    columns.text("target", move |row| label(row).unwrap_or_default());
    columns.text("workload", word(|series| &series.workload));
    columns
        .text("layout", move |row| series(row).map_or_else(String::new, |series| series.layout.to_string()));
    columns.text("pool_bytes", move |row| {
        series(row).and_then(|series| series.pool_bytes).map_or_else(String::new, |bytes| bytes.to_string())
    });
    columns.number("pool_percent", move |row| series(row)?.pool_percent);
    columns.text("cell", move |row| place(plan, row).0.to_string());
    columns.number("rate_per_s", move |row| place(plan, row).2);
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
