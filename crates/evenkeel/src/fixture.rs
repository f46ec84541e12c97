//! Studies for tests: a server that queues like M/M/1, measured without a server.

use evenkeel_core::random::{Random, Seed};
use evenkeel_lab::store::format::*;
use std::collections::BTreeMap;

/// All records of one study.
#[derive(Clone, Debug)]
pub struct Fixture {
    pub plan: PlanFile,
    pub manifest: ManifestFile,
    pub summary: SummaryFile,
    pub runs: Vec<RunFile>,
}

/// What a made-up server can do, and how it is asked.
struct Server {
    series: SeriesRecord,
    /// Service rate, 1/s.
    mu: f64,
    /// Relative spread of tau over runs.
    spread: f64,
}

/// What `make demo` gives: one series, 6 rates x 3 repeats, the last cell beyond saturation.
pub fn demo() -> Fixture {
    let series = series("tpcw.complex", 0, None, "insert");
    study(&[Server { series, mu: 66.0, spread: 0.02 }], &[10.0, 20.0, 32.0, 44.0, 56.0, 72.0], 3)
}

/// Two pools x two layouts x two targets, five repeats.
pub fn factors() -> Fixture {
    let mut servers = Vec::new();
    for (layout, gain) in [("insert", 1.0), ("dump", 1.35)] {
        for (pool, factor) in [(20.0, 1.0), (100.0, 1.6)] {
            for (target, label) in ["a", "b"].into_iter().enumerate() {
                let text = format!("pool {pool} %, {layout} layout, {label}");
                let mu = 42.0 * gain * factor * (1.0 - 0.03 * target as f64);
                servers.push(Server { series: series(&text, target, Some(pool), layout), mu, spread: 0.04 });
            }
        }
    }
    study(&servers, &[10.0, 20.0, 30.0, 40.0, 50.0], 5)
}

/// Twelve series whose response times span four decades.
pub fn twelve() -> Fixture {
    let server = |index: usize| Server {
        series: series(&format!("workload-{index}"), 0, Some(index as f64), "load"),
        mu: 20.0 * 2.2_f64.powi(index as i32),
        spread: 0.05,
    };
    study(&(0..12).map(server).collect::<Vec<_>>(), &[5.0, 10.0, 15.0, 19.0], 2)
}

/// A plan whose first run has not ended.
pub fn empty() -> Fixture {
    let mut fixture = demo();
    fixture.runs.clear();
    fixture.manifest = ManifestFile::default();
    fixture.summary.headlines.clear();
    fixture.summary.cells.clear();
    fixture.summary.caveats.clear();
    fixture.summary.runs_done = 0;
    fixture.summary.complete = false;
    fixture
}

/// One cell, one run, nothing that the machine would tell.
pub fn single() -> Fixture {
    let server = Server { series: series("tpcw.simple", 0, None, "as-is"), mu: 900.0, spread: 0.0 };
    let mut fixture = study(&[server], &[20.0], 1);
    fixture.runs[0].theta = None;
    fixture.summary.cells[0].theta_percent = EstimateRecord::default();
    fixture.summary.headlines[0].capacity_per_s = None;
    fixture.summary.headlines[0].trust_theta_percent = None;
    fixture
}

fn series(label: &str, target: usize, pool: Option<f64>, layout: &str) -> SeriesRecord {
    SeriesRecord {
        label: label.to_owned(),
        target,
        workload: "tpcw.complex".to_owned(),
        pool_bytes: pool.map(|percent| (percent * 400_000.0) as u64),
        pool_percent: pool,
        layout: layout.to_owned(),
    }
}

fn study(servers: &[Server], rates: &[f64], repeats: u32) -> Fixture {
    let mut plan = plan(servers, repeats);
    let (mut runs, mut cells) = (Vec::new(), Vec::new());
    for (index, server) in servers.iter().enumerate() {
        for &rate in rates.iter().filter(|&&rate| rate < server.mu * 1.3) {
            let cell = CellRecord { id: plan.cells.len() as u32, series: index, rate_per_s: rate };
            let of_cell: Vec<RunFile> =
                (1..=repeats).map(|repeat| run(server, &cell, repeat, runs.len() as u32 + repeat)).collect();
            cells.push(summarise(&cell, &of_cell));
            runs.extend(of_cell);
            plan.cells.push(cell);
        }
    }
    let summary = summary(&plan, cells, runs.len() as u32);
    let targets = plan.targets.len();
    Fixture { plan, manifest: manifest(targets), summary, runs }
}

fn plan(servers: &[Server], repeats: u32) -> PlanFile {
    let targets = 1 + servers.iter().map(|server| server.series.target).max().unwrap_or(0);
    PlanFile {
        format: FORMAT,
        id: "2026-11-21-demo".to_owned(),
        kind: "profile".to_owned(),
        created_unix_s: 1_795_296_640,
        tool: "0.1.0".to_owned(),
        command: ["evenkeel", "profile", "--workload", "tpcw.complex", "--rate", "auto:6"]
            .map(str::to_owned)
            .to_vec(),
        seed: 42,
        settings: settings(repeats),
        targets: ["a", "b"][..targets].iter().map(|label| target(label)).collect(),
        series: servers.iter().map(|server| server.series.clone()).collect(),
        rate: "auto:6".to_owned(),
        cells: Vec::new(),
        rates_known: true,
        probes: vec![ProbeRecord {
            series: 0,
            rate_per_s: None,
            throughput_per_s: 66.4,
            theta_percent: Some(99.1),
            settled: true,
        }],
    }
}

fn target(label: &str) -> TargetRecord {
    TargetRecord {
        label: label.to_owned(),
        url: format!("sandbox:{label}"),
        cpus: vec![1],
        memory_bytes: Some(512 << 20),
    }
}

fn settings(repeats: u32) -> SettingsRecord {
    SettingsRecord {
        arrivals: "poisson".to_owned(),
        repeats,
        duration_s: 15.0,
        warm_up_s: 3.0,
        timeout_s: 10.0,
        sessions: "pooled:512".to_owned(),
        protocol: "prepared".to_owned(),
        reset: "restart".to_owned(),
        theta_ceiling_percent: 99.0,
        objective_p95_ms: Some(150.0),
        tolerance_se_percent: 10.0,
        tolerance_spread_percent: 20.0,
        generator_cpus: vec![0],
        request_log: false,
    }
}

fn run(server: &Server, cell: &CellRecord, repeat: u32, order: u32) -> RunFile {
    let mut random = Random::new(Seed(7).numbered(u64::from(cell.id)).numbered(u64::from(repeat)));
    let load = cell.rate_per_s / server.mu;
    let noise = 1.0 + (random.unit() - 0.5) * 4.0 * server.spread * (1.0 + 4.0 * load.powi(6));
    let unstable = load >= 0.999;
    let tau = if unstable { 2_400.0 * load * noise } else { 1e3 / server.mu / (1.0 - load) * noise };
    let arrivals = (cell.rate_per_s * 15.0 * (1.0 + (random.unit() - 0.5) * 0.04)) as u64;
    let lost = if unstable { arrivals / 7 } else { 0 };
    let throughput = if unstable { server.mu * 0.985 } else { arrivals as f64 / 15.0 };
    RunFile {
        format: FORMAT,
        cell: cell.id,
        repeat,
        order,
        started_unix_s: 1_795_296_700 + u64::from(order) * 20,
        seed: 1000 + u64::from(order),
        measured_s: 15.0,
        counts: counts(arrivals, lost),
        throughput_per_s: throughput,
        response: times(arrivals, tau),
        lower_bound: unstable,
        service: times(arrivals, tau * 0.9),
        first_byte: times(arrivals, tau * 0.85),
        lag: times(arrivals, 0.012 + 0.01 * random.unit()),
        session_wait: TimesRecord::default(),
        tau_batch_se_ms: Some(tau * 0.02),
        batch_autocorrelation: Some(0.1),
        stability: if unstable { "unstable" } else { "settled" }.to_owned(),
        backlog_at_end: if unstable { 190 } else { 2 },
        sessions_max: 12,
        reconnects: 0,
        theta: Some(cpu((load.min(1.0) * 96.0 + random.unit() * 2.0).min(99.4))),
        generator_cpu_percent: Some(1.4),
        other_load_percent: Some(2.0),
        generator_switches_per_request: Some(1.1),
        sense: BTreeMap::from([("psi_cpu_some_percent".to_owned(), 3.5)]),
        status: BTreeMap::from([("Innodb_buffer_pool_reads".to_owned(), 812.0)]),
        kinds: Vec::new(),
        statements: Vec::new(),
        error_texts: BTreeMap::new(),
        caveats: Vec::new(),
    }
}

fn counts(arrivals: u64, lost: u64) -> CountsRecord {
    let failed = if lost > 0 { BTreeMap::from([(1205, 3)]) } else { BTreeMap::new() };
    let failures: u64 = failed.values().sum();
    let timed_out = lost * 2 / 3;
    let unsent = lost - timed_out;
    CountsRecord { arrivals, completed: arrivals - lost - failures, failed, timed_out, unsent }
}

/// Exponential times: the quantile q lies at mean x ln(1 / (1 - q)).
fn times(count: u64, mean: f64) -> TimesRecord {
    let quantile = |q: f64| mean * (1.0 / (1.0 - q)).ln();
    TimesRecord {
        count,
        mean_ms: mean,
        p50_ms: quantile(0.5),
        p90_ms: quantile(0.9),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        p999_ms: quantile(0.999),
        max_ms: quantile(0.9999),
    }
}

fn cpu(total: f64) -> CpuRecord {
    CpuRecord {
        domain: "cgroup".to_owned(),
        cpus: 1.0,
        total_percent: total,
        user_percent: total * 0.8,
        system_percent: total * 0.2,
        iowait_percent: Some(0.4),
        steal_percent: None,
        samples: 4,
    }
}

fn summarise(cell: &CellRecord, runs: &[RunFile]) -> CellSummary {
    let of = |value: fn(&RunFile) -> f64| estimate(&runs.iter().map(value).collect::<Vec<_>>());
    let unstable = runs.iter().all(|run| run.stability == "unstable");
    CellSummary {
        cell: cell.id,
        series: cell.series,
        rate_per_s: cell.rate_per_s,
        runs: runs.len() as u32,
        stability: if unstable { "unstable" } else { "settled" }.to_owned(),
        lower_bound: unstable,
        tau_ms: of(|run| run.response.mean_ms),
        p50_ms: of(|run| run.response.p50_ms),
        p90_ms: of(|run| run.response.p90_ms),
        p95_ms: of(|run| run.response.p95_ms),
        p99_ms: of(|run| run.response.p99_ms),
        p999_ms: of(|run| run.response.p999_ms),
        throughput_per_s: of(|run| run.throughput_per_s),
        theta_percent: of(|run| run.theta.as_ref().map_or(f64::NAN, |theta| theta.total_percent)),
        lag_p99_ms: of(|run| run.lag.p99_ms),
        pool_reads_per_request: Some(of(|run| 20.0 / run.cell.max(1) as f64)),
        target_spread_ms: None,
        counts: runs.iter().fold(CountsRecord::default(), add),
        valid: true,
        caveats: if unstable { vec![unstable_caveat(cell)] } else { Vec::new() },
    }
}

fn unstable_caveat(cell: &CellRecord) -> CaveatRecord {
    CaveatRecord {
        code: "queue-unstable".to_owned(),
        severity: "note".to_owned(),
        text: format!("The queue grew to the end at {}/s: its times are lower bounds.", cell.rate_per_s),
    }
}

fn add(mut sum: CountsRecord, run: &RunFile) -> CountsRecord {
    sum.arrivals += run.counts.arrivals;
    sum.completed += run.counts.completed;
    sum.timed_out += run.counts.timed_out;
    sum.unsent += run.counts.unsent;
    for (code, count) in &run.counts.failed {
        *sum.failed.entry(*code).or_default() += count;
    }
    sum
}

/// Mean and interval over runs; Student's t at 97.5 % for up to six runs.
pub fn estimate(values: &[f64]) -> EstimateRecord {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let quantile = [12.71, 4.303, 3.182, 2.776, 2.571][values.len().saturating_sub(2).min(4)];
    let se = (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt());
    let half = se.map(|se| se * quantile);
    EstimateRecord {
        n: values.len() as u32,
        mean,
        se,
        low: half.map(|half| mean - half),
        high: half.map(|half| mean + half),
    }
}

fn summary(plan: &PlanFile, mut cells: Vec<CellSummary>, runs: u32) -> SummaryFile {
    spread_between_targets(plan, &mut cells);
    let mut headlines: Vec<HeadlineRecord> = Vec::new();
    for (index, series) in plan.series.iter().enumerate() {
        let same = |headline: &&mut HeadlineRecord| plan.series[headline.series[0]].same_but_target(series);
        match headlines.iter_mut().find(same) {
            Some(headline) => headline.series.push(index),
            None => headlines.push(headline(plan, index, &cells)),
        }
    }
    SummaryFile {
        format: FORMAT,
        headlines,
        cells,
        caveats: vec![CaveatRecord {
            code: "few-runs".to_owned(),
            severity: "doubt".to_owned(),
            text: format!(
                "{} runs of a cell give a wide interval; 20 were used by the study.",
                plan.settings.repeats
            ),
        }],
        runs_done: runs,
        runs_planned: runs,
        complete: true,
        valid: true,
    }
}

fn spread_between_targets(plan: &PlanFile, cells: &mut [CellSummary]) {
    let before = cells.to_vec();
    for cell in cells {
        let alike = before.iter().filter(|other| {
            other.rate_per_s == cell.rate_per_s
                && plan.series[other.series].same_but_target(&plan.series[cell.series])
        });
        let taus: Vec<f64> = alike.map(|other| other.tau_ms.mean).collect();
        let (low, high) = taus.iter().fold((f64::MAX, f64::MIN), |(l, h), tau| (l.min(*tau), h.max(*tau)));
        cell.target_spread_ms = (taus.len() > 1).then_some(high - low);
    }
}

fn headline(plan: &PlanFile, index: usize, cells: &[CellSummary]) -> HeadlineRecord {
    let settled = |cell: &&CellSummary| cell.series == index && cell.stability == "settled";
    let last = cells.iter().rfind(settled);
    let label = plan.series[index].label.trim_end_matches(", a").to_owned();
    let rate = last.map_or(0.0, |cell| cell.throughput_per_s.mean);
    HeadlineRecord {
        series: vec![index],
        text: format!(
            "This server carries {rate:.1} requests per second with 95 % of them below {:.0} ms, and the figure can be trusted up to a CPU utilisation of 70 %.",
            last.map_or(0.0, |cell| cell.p95_ms.mean)
        ),
        label: if plan.series.len() > 1 { label } else { String::new() },
        capacity_per_s: last.map(|cell| cell.throughput_per_s.clone()),
        p95_ms: last.map(|cell| cell.p95_ms.clone()),
        capacity_theta_percent: last.map(|cell| cell.theta_percent.mean),
        trust_theta_percent: last.map(|cell| cell.theta_percent.mean.min(70.0)),
        trust_ended: last.is_some_and(|cell| cell.theta_percent.mean > 70.0),
        trust_reason: "the standard error over runs is 11 % of tau at 56/s".to_owned(),
    }
}

fn manifest(targets: usize) -> ManifestFile {
    let text = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let server = ServerRecord {
        version: "10.11.14-MariaDB-0+deb12u2".to_owned(),
        variables: text(&[
            ("innodb_buffer_pool_size", "67108864"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("max_connections", "2000"),
            ("query_cache_type", "OFF"),
            ("version_comment", "Debian 12"),
        ]),
        data: text(&[("schema", "tpcw"), ("num_ebs", "10"), ("num_items", "10000"), ("seed", "1")]),
        tables_bytes: Some(41 << 20),
    };
    ManifestFile {
        format: FORMAT,
        machine: text(&[
            ("cpu", "AMD EPYC 7R13, 2 CPUs"),
            ("kernel", "Linux 6.1.0-18-amd64"),
            ("memory", "4 GiB"),
        ]),
        servers: vec![server; targets],
        plans: vec![complex_plan()],
    }
}

/// The plan of the demonstration's statement.
pub fn complex_plan() -> StatementPlanRecord {
    StatementPlanRecord {
        statement: "complex".to_owned(),
        class: "complex".to_owned(),
        reason: "sorts 417 rows in a temporary table".to_owned(),
        sql: "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON i_a_id = a_id WHERE i_subject = ? ORDER BY i_pub_date DESC, i_title LIMIT 50".to_owned(),
        plan: "1  SIMPLE  item    ref     i_subject  417  Using where; Using filesort\n1  SIMPLE  author  eq_ref  PRIMARY    1".to_owned(),
        work_share_percent: Some(100.0),
    }
}
