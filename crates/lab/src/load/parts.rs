//! What a response time is made of, for a share of the requests: the server is asked how long their statements took it.
//!
//! Requests are drawn by chance, so that those without are the control: the difference of both is what being asked about
//! costs a request. The question itself comes when the request is over, and is no part of its response time.

use crate::workload::Value;
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::statistics::Sample;
use evenkeel_sense::waits::WaitsFile;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartsPlan {
    /// Share of the requests, from 0 to 1.
    pub share: f64,
    /// The server's process, where it runs on this machine: what its threads wait for a CPU can then be told apart.
    pub server_pid: Option<u32>,
}

/// Who says when bytes came in that the load's thread read later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Answers of which the kernel noted when they came in.
    pub by_kernel: u64,
    /// Answers of which only the thread's own wait for a CPU is known.
    pub by_thread: u64,
}

/// The parts of the response times of those requests, ms. They add up: response = before + network + waking + waking of
/// the server + execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartsResult {
    /// Requests that were drawn and completed.
    pub drawn: u64,
    pub response: Sample,
    /// What is no statement: own lag, wait for a session, connecting, preparing, getting the session to keep book.
    pub before: Sample,
    /// What is left of the statements' times: the way, both directions, and what nobody tells apart from it.
    pub network: Sample,
    /// From when an answer was there to when the load's thread read it.
    pub waking: Sample,
    /// What the server's thread could have run and waited for a CPU; empty where that is not known.
    pub server_waking: Sample,
    pub execution: Sample,
    /// Response times of all that were drawn, and of all others.
    pub compared: (Sample, Sample),
    /// What the question took, from its sending to its answer.
    pub question: Sample,
    pub noted: Noted,
}

/// One request as its session saw it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watched {
    pub response: Nanos,
    pub statements: u64,
    pub asked: Nanos,
    /// Sum of what their answers lay there.
    pub waking: Nanos,
    /// Wait of the server's thread for a CPU, where known.
    pub server_waking: Option<Nanos>,
    pub noted: Noted,
}

impl PartsResult {
    /// A completed request; whether it was drawn.
    pub(super) fn compare(&mut self, drawn: bool, response: Nanos) {
        self.drawn += u64::from(drawn);
        let side = if drawn { &mut self.compared.0 } else { &mut self.compared.1 };
        side.push(response.as_millis_f64());
    }

    /// The server told how long it worked on a request.
    pub(super) fn told(&mut self, request: &Watched, execution_ms: f64, question: Nanos) {
        let way = request.asked.as_millis_f64() - request.waking.as_millis_f64() - execution_ms;
        self.response.push(request.response.as_millis_f64());
        self.before.push((request.response - request.asked).as_millis_f64());
        self.waking.push(request.waking.as_millis_f64());
        self.execution.push(execution_ms);
        let mut network = way;
        if let Some(waited) = request.server_waking {
            // What it waited in the middle of its work is in the execution, and more than there is cannot be taken away.
            let waited = waited.as_millis_f64().min(way.max(0.0));
            self.server_waking.push(waited);
            network -= waited;
        }
        self.network.push(network);
        self.question.push(question.as_millis_f64());
        self.noted.by_kernel += request.noted.by_kernel;
        self.noted.by_thread += request.noted.by_thread;
    }

    pub(super) fn add(&mut self, part: &Self) {
        self.drawn += part.drawn;
        let samples = [
            (&mut self.response, &part.response),
            (&mut self.before, &part.before),
            (&mut self.network, &part.network),
            (&mut self.waking, &part.waking),
            (&mut self.server_waking, &part.server_waking),
            (&mut self.execution, &part.execution),
            (&mut self.compared.0, &part.compared.0),
            (&mut self.compared.1, &part.compared.1),
            (&mut self.question, &part.question),
        ];
        samples.into_iter().for_each(|(total, part)| total.merge(part));
        self.noted.by_kernel += part.noted.by_kernel;
        self.noted.by_thread += part.noted.by_thread;
    }
}

/// What is said to a server so that it tells: any account may ask its session (SHOW PROFILES), and the server keeps book for
/// these sessions alone.
pub(super) struct Questions {
    /// Profiles that a session keeps: the statements of one request.
    kept: u32,
}

/// Most profiles that a server keeps for a session.
const KEPT_MAX: u32 = 100;

/// Stages in which a server sends the answer and cleans up behind it, while the client has long read it: MariaDB's and MySQL's. That
/// takes some 20 us, and far longer where the client is woken on the server's own CPU.
const BEHIND: [&str; 3] = ["Updating status", "Reset for next command", "cleaning up"];

impl Questions {
    /// For requests of so many different statements at most.
    pub fn new(statements: usize) -> Self {
        Self { kept: if statements == 1 { 1 } else { KEPT_MAX } }
    }

    /// What a session is told once, before its first request of which the parts are to be known.
    pub fn begin(&self) -> String {
        format!("SET profiling_history_size = {}, profiling = 1", self.kept)
    }

    /// What is asked after a request: of one statement the stages are told, of several no more than the sums.
    pub fn ask(&self) -> &'static str {
        if self.kept == 1 { "SHOW PROFILE" } else { "SHOW PROFILES" }
    }

    /// Execution time of the last so many statements, in milliseconds; `None` where the server kept fewer than those, or more came
    /// since `last`, the number of the last that is known. That is moved on.
    pub fn read(&self, rows: &[Vec<Value>], statements: u64, last: &mut u64) -> Option<f64> {
        if self.kept == 1 {
            return stages(rows).filter(|_| statements == 1);
        }
        let told: Vec<(u64, f64)> = rows.iter().map(|row| told(row)).collect::<Option<_>>()?;
        let new: Vec<(u64, f64)> = told.into_iter().filter(|(number, _)| number > last).collect();
        *last = new.iter().map(|(number, _)| *number).max().unwrap_or(*last);
        (new.len() as u64 == statements).then(|| new.iter().map(|(_, seconds)| 1e3 * seconds).sum())
    }
}

fn told(row: &[Value]) -> Option<(u64, f64)> {
    Some((row.first()?.as_id()?, seconds(row)?))
}

/// Milliseconds of the stages of a statement up to its answer.
fn stages(rows: &[Vec<Value>]) -> Option<f64> {
    let mut sum = 0.0;
    for row in rows {
        let Value::Text(name) = row.first()? else { return None };
        if !BEHIND.iter().any(|behind| name.eq_ignore_ascii_case(behind.as_bytes())) {
            sum += seconds(row)?;
        }
    }
    (!rows.is_empty()).then_some(1e3 * sum)
}

fn seconds(row: &[Value]) -> Option<f64> {
    row.get(1)?.as_double()
}

/// The thread of the server that answers a session, by its number at the kernel. MySQL has no such column, and what its
/// threads wait then stays a part of the network.
const SERVER_THREAD: &str = "SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()";

/// What a thread of load needs to know the parts of some response times.
pub(super) struct Asking {
    pub plan: PartsPlan,
    pub questions: Questions,
    /// What a session is told once.
    pub begin: Vec<String>,
    /// Decides by chance which requests are asked about.
    pub random: Random,
    own: Option<WaitsFile>,
    /// Requests under way that were drawn.
    pub under_way: usize,
    /// When the last wait for sockets ended.
    pub woke: Nanos,
    /// What of that wait the thread waited for a CPU.
    pub waited: Nanos,
}

impl Asking {
    pub fn new(plan: PartsPlan, statements: usize, seed: Seed) -> Self {
        let questions = Questions::new(statements);
        let tells_thread = plan.server_pid.map(|_| SERVER_THREAD.to_owned());
        Self {
            // Keeping book comes last: otherwise the first request's statements would be one too many.
            begin: tells_thread.into_iter().chain([questions.begin()]).collect(),
            plan,
            questions,
            random: Random::new(seed),
            own: WaitsFile::own(),
            under_way: 0,
            woke: Nanos::ZERO,
            waited: Nanos::ZERO,
        }
    }

    /// What the thread has waited for a CPU since it began.
    pub fn waited_until_now(&self) -> Option<Nanos> {
        Some(self.own.as_ref()?.read()?.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(u64, &str)]) -> Vec<Vec<Value>> {
        let text = |text: &str| Value::Text(text.into());
        rows.iter()
            .map(|(number, seconds)| vec![Value::Int(*number as i64), text(seconds), text("SELECT")])
            .collect()
    }

    #[test]
    fn what_a_server_does_behind_the_answer_of_a_single_statement_is_no_execution() {
        let questions = Questions::new(1);
        let stage = |name: &str, seconds| vec![Value::Text(name.as_bytes().into()), Value::Double(seconds)];
        let rows = [stage("Starting", 0.001), stage("Sending data", 0.004), stage("Updating status", 0.5)];
        assert_eq!(questions.read(&rows, 1, &mut 0), Some(5.0));
        assert_eq!(questions.read(&rows, 2, &mut 0), None, "the stages are those of the last statement");
        assert_eq!(questions.read(&[], 1, &mut 0), None);
    }

    #[test]
    fn the_profiles_since_the_last_question_are_those_of_the_request() {
        let questions = Questions::new(4);
        let mut last = 0;
        assert_eq!(questions.read(&rows(&[(1, "0.00100000"), (2, "0.00025000")]), 2, &mut last), Some(1.25));
        let then = rows(&[(2, "0.00025000"), (3, "0.00200000")]);
        assert_eq!(questions.read(&then, 1, &mut last), Some(2.0));
        assert_eq!(last, 3);
    }

    #[test]
    fn a_server_that_kept_fewer_or_more_statements_than_were_asked_tells_nothing() {
        let questions = Questions::new(4);
        for asked in [1, 3] {
            let mut last = 7;
            assert_eq!(questions.read(&rows(&[(8, "0.1"), (9, "0.1")]), asked, &mut last), None);
            assert_eq!(last, 9, "the next request is told all the same");
        }
        assert_eq!(questions.read(&rows(&[(10, "soon")]), 1, &mut 9), None);
    }

    #[test]
    fn the_parts_of_a_request_add_up_to_its_response() {
        let mut parts = PartsResult::default();
        let ms = Nanos::from_millis;
        let request = Watched {
            response: ms(20),
            statements: 2,
            asked: ms(17),
            waking: ms(1),
            server_waking: Some(ms(2)),
            noted: Noted { by_kernel: 2, by_thread: 0 },
        };
        parts.told(&request, 9.0, Nanos::from_micros(30));
        let mean = |sample: &Sample| sample.mean().unwrap();
        assert_eq!((mean(&parts.before), mean(&parts.network), mean(&parts.execution)), (3.0, 5.0, 9.0));
        let sum =
            mean(&parts.before) + mean(&parts.network) + mean(&parts.waking) + mean(&parts.server_waking);
        assert_eq!(sum + mean(&parts.execution), mean(&parts.response));
    }

    #[test]
    fn a_server_thread_that_waited_longer_than_the_way_took_waited_while_it_worked() {
        let mut parts = PartsResult::default();
        let request = Watched {
            response: Nanos::from_millis(10),
            asked: Nanos::from_millis(10),
            server_waking: Some(Nanos::from_millis(5)),
            ..Watched::default()
        };
        parts.told(&request, 8.0, Nanos::ZERO);
        assert_eq!((parts.server_waking.mean(), parts.network.mean()), (Some(2.0), Some(0.0)));
    }
}
