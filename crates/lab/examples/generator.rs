//! Drives the load engine from a shell: prepared point selects, plain flags, one JSON object at the end.
//!
//! `generator --socket /run/s --rate 2000 --seconds 5 --sessions 8`; see `Flags` for all of them. The benches
//! use it; people use `evenkeel profile`.

use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_lab::clock::monotonic;
use evenkeel_lab::load::{ArrivalPlan, LoadPhase, LoadPlan, LoadResult, Protocol, SessionPolicy, run};
use evenkeel_lab::stop::Stop;
use evenkeel_lab::target::{Address, Target, TlsMode};
use evenkeel_lab::workload::{Client, Parameters, Reply, Statement, Value, Workload};
use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// `SELECT c FROM table WHERE id = ?` with uniform ids.
struct PointSelect {
    statements: Vec<Statement>,
    kinds: Vec<String>,
    rows: u64,
}

struct PointClient {
    rows: u64,
}

impl Workload for PointSelect {
    fn name(&self) -> &str {
        "point_select"
    }
    fn statements(&self) -> &[Statement] {
        &self.statements
    }
    fn kinds(&self) -> &[String] {
        &self.kinds
    }
    fn client(&self, _number: u64) -> Box<dyn Client> {
        Box::new(PointClient { rows: self.rows })
    }
}

impl Client for PointClient {
    fn begin(&mut self, _random: &mut Random) -> usize {
        0
    }
    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize> {
        if reply.is_some() {
            return None;
        }
        parameters.clear();
        parameters.push(Value::Int(random.uniform(1, self.rows) as i64));
        Some(0)
    }
}

/// `--name value` pairs.
struct Flags(HashMap<String, String>);

impl Flags {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut flags = HashMap::new();
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let name = name.strip_prefix("--").ok_or_else(|| format!("{name} is no flag"))?.to_owned();
            let value = arguments.next().ok_or_else(|| format!("--{name} needs a value"))?;
            flags.insert(name, value);
        }
        Ok(Self(flags))
    }

    fn get<T: FromStr<Err: Error + 'static>>(&self, name: &str, default: T) -> Result<T, Box<dyn Error>> {
        self.0.get(name).map_or(Ok(default), |value| Ok(value.parse()?))
    }

    fn text(&self, name: &str) -> Option<&String> {
        self.0.get(name)
    }
}

fn plan(flags: &Flags) -> Result<LoadPlan, Box<dyn Error>> {
    let address = match flags.text("socket") {
        Some(path) => Address::Unix(PathBuf::from(path)),
        None => {
            Address::Tcp { host: flags.get("host", "127.0.0.1".to_owned())?, port: flags.get("port", 3306)? }
        }
    };
    let target = Target {
        address,
        user: flags.get("user", "root".to_owned())?,
        password: flags.text("password").cloned(),
        database: Some(flags.get("database", "sbtest".to_owned())?),
        tls: TlsMode::Disabled,
        tls_ca: None,
    };
    let sql = format!("SELECT c FROM {} WHERE id=?", flags.get("table", "sbtest1".to_owned())?);
    let statement =
        Statement { name: "point_select".to_owned(), sql, captures: false, prepared: true, tables: vec![] };
    let workload = PointSelect {
        statements: vec![statement],
        kinds: vec!["point_select".to_owned()],
        rows: flags.get("rows", 100_000)?,
    };
    let seconds = |name, default| Ok::<_, Box<dyn Error>>(Nanos::from_secs_f64(flags.get(name, default)?));
    let sessions: u32 = flags.get("sessions", 1)?;
    let arrivals = match (flags.text("rate"), flags.text("process").map(String::as_str)) {
        (None, _) => ArrivalPlan::Closed { clients: flags.get("clients", sessions)?, think: Nanos::ZERO },
        (Some(rate), Some("constant")) => ArrivalPlan::Constant(rate.parse()?),
        (Some(rate), _) => ArrivalPlan::Poisson(rate.parse()?),
    };
    let cpus = flags.text("cpus").map_or(Ok(vec![]), |cpus| cpus.split(',').map(str::parse).collect())?;
    Ok(LoadPlan {
        target,
        workload: Arc::new(workload),
        arrivals,
        warm_up: seconds("warm-up", 0.5)?,
        measure: seconds("seconds", 3.0)?,
        drain: seconds("drain", 5.0)?,
        timeout: seconds("timeout", 30.0)?,
        seed: Seed(flags.get("seed", 1)?),
        sessions: match flags.text("per-request") {
            Some(_) => SessionPolicy::PerRequest { max: sessions },
            None => SessionPolicy::Pooled { max: sessions },
        },
        protocol: if flags.text("text").is_some() { Protocol::Text } else { Protocol::Prepared },
        threads: flags.get("threads", 1)?,
        cpus,
        busy_poll: flags.text("busy-poll").is_some(),
        request_log: flags.text("log").map(PathBuf::from),
    })
}

fn show(result: &LoadResult) -> serde_json::Value {
    let micros = |histogram: &hdrhistogram::Histogram<u64>, quantile| {
        histogram.value_at_quantile(quantile) as f64 / 1e3
    };
    let counts = &result.counts;
    let late = |nanos: u64| {
        result
            .response
            .iter_recorded()
            .filter(|v| v.value_iterated_to() > nanos)
            .map(|v| v.count_at_value())
            .sum::<u64>()
    };
    serde_json::json!({
        "arrivals": counts.arrivals,
        "completed": counts.completed,
        "failed": counts.failed,
        "timed_out": counts.timed_out,
        "unsent": counts.unsent,
        "seconds": result.measured.as_secs_f64(),
        "cpu_us": result.cpu.as_micros_f64(),
        "context_switches": result.context_switches,
        "sessions_max": result.sessions_max,
        "reconnects": result.reconnects,
        "response_mean_us": result.response_sum.as_micros_f64() / result.response.len().max(1) as f64,
        "response_us_p50": micros(&result.response, 0.5),
        "response_us_p99": micros(&result.response, 0.99),
        "response_us_max": micros(&result.response, 1.0),
        "service_us_p50": micros(&result.service, 0.5),
        "first_byte_us_p50": micros(&result.first_byte, 0.5),
        "lag_us_p50": micros(&result.lag, 0.5),
        "lag_us_p99": micros(&result.lag, 0.99),
        "lag_us_p999": micros(&result.lag, 0.999),
        "lag_count": result.lag.len(),
        "session_wait_count": result.session_wait.len(),
        "later_than_10_ms": late(10_000_000),
        "error_texts": result.error_texts,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let flags = Flags::read()?;
    let plan = plan(&flags)?;
    let verbose = flags.text("progress").is_some();
    // The start is known to about a microsecond: a look carries the time since then.
    let mut start = Nanos::MAX;
    let result = run(&plan, &Stop::default(), &mut |look| {
        if look.phase != LoadPhase::Opening {
            start = start.min(monotonic() - look.elapsed);
        }
        if verbose {
            eprintln!("{look:?}");
        }
    })?;
    let mut shown = show(&result);
    shown["measure_start_ns"] = (start + plan.warm_up).0.into();
    println!("{shown}");
    Ok(())
}
