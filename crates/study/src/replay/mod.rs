//! What a replay says: by kind of statement, whether answers differ and whether they take longer.
//!
//! `answers` finds where two answers differ, `times` judges response times, `report` puts both into words. Memory is bounded however
//! many statements are replayed.

mod answers;
mod report;
#[cfg(test)]
mod tests;
mod times;

use answers::Known;
pub use answers::{Difference, Kind};
use evenkeel_core::Nanos;
use evenkeel_lab::replay::Played;
pub use report::{Line, Plans, Report};
use serde::Serialize;
use std::collections::HashMap;
use times::Times;
pub use times::{Speed, Timing};

/// Kinds of statements that are told apart; what comes beyond is judged as one.
pub const DIGESTS_MAX: usize = 2_000;
/// Bytes of a statement that are kept as the example of its kind.
const SQL_MAX: usize = 8 << 10;

/// What the answers of a replay are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Those in the recording.
    Recorded,
    /// Those of another server that is asked at the same time.
    Servers,
}

/// Takes one replayed command after the other and says in the end what they come to.
#[derive(Clone, Debug)]
pub struct Comparison {
    mode: Mode,
    /// Of the first and the second side.
    names: [String; 2],
    /// 0.1 for 10 %.
    tolerance: f64,
    by_digest: HashMap<u64, usize>,
    digests: Vec<Digest>,
    /// Statements of kinds beyond [`DIGESTS_MAX`].
    others: Option<Digest>,
    /// Of all statements.
    times: Times,
    unanswered: u64,
    /// Executions of which the recording does not say what they answered.
    unrecorded: u64,
}

/// Statements that differ in their literals alone.
#[derive(Clone, Debug, Default)]
struct Digest {
    /// Number of the first in the recording.
    example: u64,
    /// Absent of what is no single kind.
    digest: Option<u64>,
    sql: String,
    is_cut: bool,
    executions: u64,
    /// The first server itself did not answer the same twice.
    set_aside: u64,
    failed: u64,
    /// With the same error on both sides.
    failed_twice: u64,
    /// Of which the first side's answer is known, and the same when it is asked again.
    compared: u64,
    rows: u64,
    differences: Vec<Difference>,
    times: Times,
    /// Of each side, where it gave no error.
    responses: [Responses; 2],
}

/// Response times of one side.
#[derive(Clone, Copy, Debug, Default)]
struct Responses {
    count: u64,
    sum_ms: f64,
    longest_ms: f64,
}

impl Responses {
    fn add(&mut self, known: &Known) {
        let Some(time) = known.time.filter(|_| known.error.is_none()) else { return };
        let ms = time.as_millis_f64();
        (self.count, self.sum_ms) = (self.count + 1, self.sum_ms + ms);
        self.longest_ms = self.longest_ms.max(ms);
    }

    fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ms / self.count as f64)
    }

    fn longest_ms(&self) -> Option<f64> {
        (self.count > 0).then_some(self.longest_ms)
    }
}

impl Comparison {
    /// `names` are those of the first side, which is the recording or the present server, and of the second.
    pub fn new(mode: Mode, names: [String; 2], tolerance: f64) -> Self {
        let (by_digest, digests, times) = (HashMap::new(), Vec::new(), Times::default());
        let (others, unanswered, unrecorded) = (None, 0, 0);
        Self { mode, names, tolerance, by_digest, digests, others, times, unanswered, unrecorded }
    }

    pub fn take(&mut self, played: &Played, sql: &str) {
        let answers = played.answers.each_ref().map(|answer| answer.as_ref().map(Known::from));
        let (first, second) = match (self.mode, answers) {
            (Mode::Recorded, [Some(second), _]) => (Known::recorded(played), second),
            (Mode::Servers, [Some(first), Some(second)]) => (first, second),
            _ => {
                self.unanswered += 1;
                return;
            }
        };
        self.unrecorded += u64::from(!first.is_answer());
        if let Some(times) = timed(&first, &second) {
            self.times.add(times);
        }
        let again = played.again.as_ref().filter(|_| self.mode == Mode::Servers).map(Known::from);
        self.digest((played.digest, played.number), sql).add(
            played.number,
            [&first, &second],
            again.as_ref(),
        );
    }

    fn digest(&mut self, (digest, number): (u64, u64), sql: &str) -> &mut Digest {
        let count = self.digests.len();
        match self.by_digest.get(&digest) {
            Some(at) => &mut self.digests[*at],
            None if count == DIGESTS_MAX => self.others.get_or_insert_with(|| Digest::new(None, number, sql)),
            None => {
                self.by_digest.insert(digest, count);
                self.digests.push(Digest::new(Some(digest), number, sql));
                &mut self.digests[count]
            }
        }
    }
}

impl Digest {
    fn new(digest: Option<u64>, example: u64, sql: &str) -> Self {
        let ends = |at: &usize| sql.is_char_boundary(*at);
        let cut = (0..=sql.len().min(SQL_MAX)).rev().find(ends).unwrap_or(0);
        Self { digest, example, sql: sql[..cut].to_owned(), is_cut: cut < sql.len(), ..Self::default() }
    }

    fn add(&mut self, number: u64, [first, second]: [&Known; 2], again: Option<&Known>) {
        self.executions += 1;
        self.failed += u64::from(second.error.is_some());
        self.failed_twice += u64::from(first.error.is_some() && first.error == second.error);
        self.rows += second.rows.unwrap_or(0);
        if let Some(times) = timed(first, second) {
            self.times.add(times);
        }
        // Means of both sides are of the same executions.
        if first.time.is_none() || timed(first, second).is_some() {
            self.responses[0].add(first);
            self.responses[1].add(second);
        }
        // What the first server itself answers in another way when asked again is no difference of the second one.
        let unsteady = again.map(|again| again.differences(first)).unwrap_or_default();
        let is_unsteady = |kind: Kind| unsteady.iter().any(|(other, _)| kind.follows(*other));
        let (unsteady, differences): (Vec<_>, Vec<_>) =
            second.differences(first).into_iter().partition(|(kind, _)| is_unsteady(*kind));
        if unsteady.iter().any(|(kind, _)| kind.is_result()) {
            self.set_aside += 1;
        } else {
            self.compared += u64::from(first.is_answer());
        }
        for (kind, example) in differences {
            match self.differences.iter_mut().find(|known| known.kind == kind) {
                Some(known) => known.executions += 1,
                None => self.differences.push(Difference { kind, executions: 1, statement: number, example }),
            }
        }
    }
}

/// An error takes another time than an answer.
fn timed(first: &Known, second: &Known) -> Option<[Nanos; 2]> {
    let is_answered = first.error.is_none() && second.error.is_none();
    first.time.zip(second.time).filter(|_| is_answered).map(|(first, second)| [first, second])
}
