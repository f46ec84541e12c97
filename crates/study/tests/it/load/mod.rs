//! The load engine against real servers: accounting in every kind of end, logins, protocols, reconnects.

mod clients;
mod ends;
mod logins;
mod protocols;

use crate::sandbox::{settings, spec, up};
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::statistics::pooled::Batch;
use evenkeel_lab::load::{
    ArrivalPlan, LoadPhase, LoadPlan, LoadProgress, LoadResult, Protocol, SessionPolicy, run,
};
use evenkeel_lab::workload::{Client, Parameters, Reply, Statement, Value, Workload};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::{Control, Target};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/load/certificates");

/// A server of its own, for tests that kill it or change it.
struct Server {
    // Before its home, so that it is down before its files go.
    sandbox: Sandbox,
    _home: tempfile::TempDir,
}

impl Server {
    fn up() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut spec = spec(home.path(), "load");
        let certificates = Path::new(CERTIFICATES);
        for (name, file) in [("ssl_cert", "server.pem"), ("ssl_key", "server-key.pem"), ("ssl_ca", "ca.pem")]
        {
            let path = certificates.join(file);
            spec.settings.extend(settings(&[(name, path.to_str().unwrap())]));
        }
        let server = Self { sandbox: up(&spec).unwrap(), _home: home };
        server.exec(&["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, c INT) ENGINE=InnoDB"]);
        server.exec(&["INSERT INTO d.t SELECT seq, 0 FROM d.seq_1_to_1000"]);
        server
    }

    /// One server for all tests of a moment; gone when the last that holds it ends.
    fn shared() -> Arc<Self> {
        static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::up());
            *shared = Arc::downgrade(&server);
            server
        })
    }

    fn target(&self) -> Target {
        Target { database: Some("d".to_owned()), ..self.sandbox.target() }
    }

    fn tcp_target(&self) -> Target {
        Target { database: Some("d".to_owned()), ..self.sandbox.tcp_target() }
    }

    fn exec(&self, statements: &[&str]) {
        let mut control = Control::connect(&self.sandbox.target()).unwrap();
        for sql in statements {
            control.exec(sql).unwrap();
        }
    }

    fn value(&self, sql: &str) -> String {
        Control::connect(&self.sandbox.target()).unwrap().query_value(sql).unwrap().unwrap()
    }
}

/// Requests of fixed statements in turn; the parameters of each, if any, are drawn from 1 to 1,000.
#[derive(Clone)]
pub struct Script {
    statements: Vec<Statement>,
    kinds: Vec<String>,
    replies: Arc<Mutex<Vec<Reply>>>,
    /// Each parameter, instead of a number.
    text: Option<Arc<[u8]>>,
    /// Its client keeps the whole thread of load from its work before every 25th request.
    hinders: bool,
}

struct ScriptClient {
    script: Script,
    next: usize,
    begun: u32,
}

impl Script {
    pub fn new(statements: &[&str]) -> Self {
        let statement = |sql: &&str| Statement {
            name: sql.split(' ').next().unwrap_or_default().to_owned(),
            sql: sql.to_string(),
            captures: false,
            prepared: !matches!(*sql, "BEGIN" | "COMMIT"),
            tables: vec![],
            calls_stored: false,
        };
        let statements = statements.iter().map(statement).collect();
        Self {
            statements,
            kinds: vec!["request".to_owned()],
            replies: Arc::default(),
            text: None,
            hinders: false,
        }
    }

    /// The answers are captured.
    fn capturing(mut self) -> Self {
        self.statements.iter_mut().for_each(|statement| statement.captures = true);
        self
    }
}

impl Workload for Script {
    fn name(&self) -> &str {
        "script"
    }
    fn statements(&self) -> &[Statement] {
        &self.statements
    }
    fn kinds(&self) -> &[String] {
        &self.kinds
    }
    fn client(&self, _number: u64) -> Box<dyn Client> {
        Box::new(ScriptClient { script: self.clone(), next: 0, begun: 0 })
    }
}

impl Client for ScriptClient {
    fn begin(&mut self, _random: &mut Random) -> usize {
        self.next = 0;
        self.begun += 1;
        if self.script.hinders && self.begun.is_multiple_of(25) {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        0
    }

    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize> {
        let script = &self.script;
        if let Some(reply) = reply.filter(|_| script.statements[0].captures) {
            script.replies.lock().unwrap().push(reply.clone());
        }
        let count = script.statements.get(self.next)?.sql.matches('?').count();
        parameters.clear();
        parameters.extend((0..count).map(|_| match &script.text {
            Some(text) => Value::Text(text.to_vec()),
            None => Value::Int(random.uniform(1, 1_000) as i64),
        }));
        self.next += 1;
        Some(self.next - 1)
    }
}

/// Longer than any machine stands still.
const PATIENCE: Nanos = Nanos::from_secs(60);

const SELECT: &str = "SELECT c FROM t WHERE id = ?";

/// Nothing is given up in it unless a test says so: a machine that stands still for seconds is no timeout.
pub fn plan(target: Target, workload: Script, arrivals: ArrivalPlan) -> LoadPlan {
    LoadPlan {
        target,
        workload: Arc::new(workload),
        arrivals,
        warm_up: Nanos::from_millis(100),
        warm_up_max: None,
        measure: Nanos::from_millis(1_500),
        drain: PATIENCE,
        timeout: PATIENCE,
        seed: Seed(1),
        sessions: SessionPolicy::Pooled { max: 16 },
        protocol: Protocol::Prepared,
        threads: 1,
        cpus: vec![],
        busy_poll: false,
        request_log: None,
        parts: None,
    }
}

fn load(plan: &LoadPlan) -> LoadResult {
    let result = run(plan, &Stop::default(), &mut |_| {}).unwrap();
    check_accounts(&result);
    result
}

/// Loads until it has come as far as the test needs, however long the machine takes for that.
fn load_until(plan: &LoadPlan, mut enough: impl FnMut(LoadProgress) -> bool) -> LoadResult {
    let stop = Stop::default();
    let mut plan = plan.clone();
    // Below the length from which on intervals are seconds.
    plan.measure = plan.measure.max(Nanos::from_secs(39));
    let result = run(&plan, &stop, &mut |progress| {
        if !stop.is_set() && enough(progress) {
            stop.set();
        }
    });
    let result = result.unwrap();
    check_accounts(&result);
    assert!(result.stopped, "not far enough after {:?}: {:?}", result.measured, result.counts);
    result
}

/// The four ends add up to the arrivals, and every other count agrees with them.
fn check_accounts(result: &LoadResult) {
    let counts = &result.counts;
    let failed: u64 = counts.failed.values().sum();
    assert_eq!(counts.arrivals, counts.completed + failed + counts.timed_out + counts.unsent, "{counts:?}");
    assert_eq!(result.response.len(), counts.arrivals - failed);
    assert_eq!(result.service.len(), counts.completed);
    assert!((counts.completed..=counts.arrivals - counts.unsent).contains(&result.lag.len()));
    assert!((counts.unsent..=counts.arrivals).contains(&result.session_wait.len()));
    let arrivals: u64 = result.intervals.iter().map(|interval| interval.arrivals).sum();
    assert_eq!(arrivals, counts.arrivals);
    let ended: u64 = result.intervals.iter().map(|interval| interval.completed + interval.lost).sum();
    assert_eq!(result.carried_over + arrivals, ended + result.backlog_at_end);
    let mut in_flight = result.carried_over;
    for interval in &result.intervals {
        in_flight = (in_flight + interval.arrivals)
            .checked_sub(interval.completed + interval.lost)
            .expect("no more requests end than are there");
        assert_eq!(interval.in_flight, in_flight, "{interval:?}");
    }
    let sum: Nanos = result.intervals.iter().fold(Nanos::ZERO, |sum, interval| sum + interval.response_sum);
    assert_eq!(sum, result.response_sum);
    let batches = |of: fn(&Batch) -> u64| result.batches.iter().map(of).sum::<u64>();
    assert_eq!(batches(|batch| batch.arrivals), counts.arrivals);
    assert_eq!(batches(|batch| batch.completed), counts.completed);
    assert_eq!(batches(|batch| batch.completed + batch.lost), counts.arrivals);
    assert_eq!(batches(|batch| batch.spectrum.count()), result.response.len());
    assert_eq!(batches(|batch| batch.response_sum.0), result.response_sum.0);
    let of_kinds: u64 = result.kinds.iter().map(|kind| kind.completed + kind.lost).sum();
    assert_eq!(of_kinds, counts.arrivals);
    assert_eq!(result.kinds.iter().map(|kind| kind.completed).sum::<u64>(), counts.completed);
    for code in counts.failed.keys() {
        assert!(result.error_texts.contains_key(code), "{code} has no text");
    }
}
