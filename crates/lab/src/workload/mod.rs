//! What is asked of a server: statements, and the clients that choose among them.
//!
//! A *request* is what one arrival stands for: one statement, or for a web interaction several in
//! turn. A workload is shared by all threads; a client belongs to one session slot at a time.
//!
//! `tpcw` has the statements and mixes of TPC-W, `dvdstore` the order of DVD Store, `user` what a user wrote in a file, `capture` makes such a workload
//! of what a server was asked, `catalog` finds one by name.

pub mod capture;
mod catalog;
mod dvdstore;
pub mod sql;
pub mod tpcw;
pub mod user;

pub use catalog::{Database, WorkloadError, catalog, check_name, find, similar};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_site::words;

/// A workload of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    pub help: &'static str,
}

words! {
    /// What a statement does to the server, by its plan.
    Class {
        /// A read answered by indexes alone.
        Simple = "simple",
        /// A read that sorts or builds a temporary table.
        Complex = "complex",
        /// It changes rows, whatever its plan.
        Write = "write",
    }
}

/// One SQL statement with `?` for each parameter.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// Name in reports, for example `tpcw.complex`.
    pub name: String,
    /// Text with placeholders.
    pub sql: String,
    /// Whether the client needs the rows of the answer ([`Reply::rows`]); otherwise they are only counted.
    pub captures: bool,
    /// Whether it can be prepared; transaction control and the like go as text.
    pub prepared: bool,
    /// Tables it touches, for sizing the buffer pool.
    pub tables: Vec<String>,
    /// Whether it calls a stored function of the server, which may write whatever the statement's own text says.
    pub calls_stored: bool,
}

impl Statement {
    /// Whether it changes rows or the server, as far as is known: a stored function may do so.
    pub fn may_write(&self) -> bool {
        self.calls_stored || sql::may_write(&self.sql)
    }
}

/// Parameters of the next statement, in the order of its placeholders. Reused between requests, so that
/// the hot path allocates nothing: see [`Fill`].
pub type Parameters = Vec<Value>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Captured rows, empty unless the statement captures.
    pub rows: Vec<Vec<Value>>,
    /// Rows that came back, captured or not.
    pub row_count: u64,
    pub affected_rows: u64,
    pub last_insert_id: u64,
}

impl Reply {
    /// What the first row has in a column.
    pub fn first(&self, column: usize) -> Option<&Value> {
        self.rows.first()?.get(column)
    }

    pub fn first_id(&self, column: usize) -> Option<u64> {
        self.first(column)?.as_id()
    }
}

/// How a step of a request ended: what a customer does in several statements, such as to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// As it should; an index into [`Workload::steps`].
    Done(usize),
    /// By the workload's own rule its work was rolled back, which is no failure: nothing is in stock.
    RolledBack(usize),
    /// The statements so far belong to no step.
    Untimed,
}

/// Decides what is asked next. A closed load has one client for each of its clients; an open load has one
/// for each request under way, used again for later arrivals.
///
/// A request may be abandoned at any step (an error, a timeout): [`Client::begin`] then starts the next one.
/// Whoever abandons it inside a transaction rolls that back first, or takes another connection.
pub trait Client: Send {
    /// Begins the next request and returns its kind, an index into [`Workload::kinds`].
    fn begin(&mut self, random: &mut Random) -> usize;

    /// The next statement of the request, an index into [`Workload::statements`], with its parameters
    /// written over whatever `parameters` holds (best the values of the statement before, whose buffers are
    /// then used again); `None` when the request is done. `reply` is that of the statement before it, `None`
    /// at the first.
    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize>;

    /// How long the client waits before it asks the statement that [`Client::step`] named last, which is not the first
    /// of its request: an application that works inside a transaction.
    fn pause(&self) -> Nanos {
        Nanos::ZERO
    }

    /// The step that the answer given to [`Client::step`] last has ended. Asked once after each call; the next step
    /// begins with the next statement.
    fn step_ended(&mut self) -> Option<StepEnd> {
        None
    }

    /// Whether the client goes on after this error code instead of giving the request up; it is then asked for its next
    /// statement, without a reply. A transaction that the server left open is the client's to roll back.
    fn tries_again(&mut self, _code: u16, _random: &mut Random) -> bool {
        false
    }

    /// Think time of its own before the next request of a closed load, for which the plan may have another.
    fn think(&mut self, _random: &mut Random) -> Option<Nanos> {
        None
    }

    /// Time to the first request, as if the closed load had run for ever: what is left of a think time that began
    /// before.
    fn first_think(&mut self, _random: &mut Random) -> Option<Nanos> {
        None
    }
}

pub trait Workload: Send + Sync {
    fn name(&self) -> &str;
    fn statements(&self) -> &[Statement];
    /// Kinds of request, for statistics: one for a single statement, fourteen for the TPC-W mixes.
    fn kinds(&self) -> &[String];
    /// Steps of a request, for statistics; none where requests are not made of steps.
    fn steps(&self) -> &[String] {
        &[]
    }
    /// Whether the plan's think time is uniform from nothing to twice its mean, and not exponential.
    fn uniform_think(&self) -> bool {
        false
    }
    /// A client of an open load; `number` is its own, so that clients never collide on keys they create.
    fn client(&self, number: u64) -> Box<dyn Client>;

    /// A client of a closed load, which remembers what it did before: a browser that walks from page to page.
    fn closed_client(&self, number: u64) -> Box<dyn Client> {
        self.client(number)
    }

    /// Writes parameters as the statement with this index might have them, outside of any request, to read
    /// its plan; false where the statement has no plan (transaction control) or nobody knows.
    fn sample(&self, _statement: usize, _random: &mut Random, _parameters: &mut Parameters) -> bool {
        false
    }

    /// Mean executions per request of each statement, where they are known without asking a server; `None`
    /// where what a client asks depends on the answers.
    fn weights(&self) -> Option<Vec<f64>> {
        None
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Double(f64),
    /// Text or bytes; dates and decimals travel as text.
    Text(Vec<u8>),
}

impl Value {
    /// As a whole number, also from text: text statements bring numbers back as text. `None` for what is no
    /// whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
            Self::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            Self::Null | Self::Double(_) => None,
        }
    }

    /// As an id or a count, of which none is negative.
    pub fn as_id(&self) -> Option<u64> {
        u64::try_from(self.as_int()?).ok()
    }

    /// As a floating-point number, also from text; `None` for what is no number.
    pub fn as_double(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
            Self::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            Self::Null => None,
        }
    }
}

/// Writes the parameters of one statement over those of the statement before: a text takes over the buffer
/// of the text that stood in its place. What was there beyond the last one written is cut off at the end.
#[derive(Debug)]
pub struct Fill<'a> {
    parameters: &'a mut Parameters,
    written: usize,
}

impl<'a> Fill<'a> {
    pub fn over(parameters: &'a mut Parameters) -> Self {
        Self { parameters, written: 0 }
    }

    /// The next parameter, holding whatever stood there before.
    pub fn slot(&mut self) -> &mut Value {
        if self.written == self.parameters.len() {
            self.parameters.push(Value::Null);
        }
        self.written += 1;
        &mut self.parameters[self.written - 1]
    }

    pub fn int(&mut self, number: i64) -> &mut Self {
        *self.slot() = Value::Int(number);
        self
    }

    /// Ids are those of INT columns, so that the bound is never met.
    pub fn ints<const COUNT: usize>(&mut self, numbers: [u64; COUNT]) {
        for number in numbers {
            self.int(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    pub fn double(&mut self, number: f64) -> &mut Self {
        *self.slot() = Value::Double(number);
        self
    }

    /// A text that `write` appends to an empty buffer.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        set_text(self.slot(), write);
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.text(|buffer| buffer.extend_from_slice(bytes))
    }

    pub fn again(&mut self, place: usize) {
        self.slot();
        let (before, here) = self.parameters.split_at_mut(self.written - 1);
        set_value(&mut here[0], &before[place]);
    }
}

impl Drop for Fill<'_> {
    fn drop(&mut self) {
        self.parameters.truncate(self.written);
    }
}

/// Makes `slot` the text that `write` appends, in the buffer that is there.
fn set_text(slot: &mut Value, write: impl FnOnce(&mut Vec<u8>)) {
    if let Value::Text(buffer) = slot {
        buffer.clear();
        write(buffer);
    } else {
        let mut buffer = Vec::new();
        write(&mut buffer);
        *slot = Value::Text(buffer);
    }
}

/// Makes `slot` a copy of `value`, a text in the buffer that is there.
fn set_value(slot: &mut Value, value: &Value) {
    match value {
        Value::Text(text) => set_text(slot, |buffer| buffer.extend_from_slice(text)),
        Value::Int(number) => *slot = Value::Int(*number),
        Value::Double(number) => *slot = Value::Double(*number),
        Value::Null => *slot = Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_either_protocol() {
        let text = |text: &str| Value::Text(text.into());
        for (value, int, double) in [
            (Value::Int(-3), Some(-3), Some(-3.0)),
            (Value::Double(2.0), Some(2), Some(2.0)),
            (Value::Double(2.5), None, Some(2.5)),
            (text("17"), Some(17), Some(17.0)),
            (text("0.25"), None, Some(0.25)),
            (text("x"), None, None),
            (Value::Null, None, None),
        ] {
            assert_eq!((value.as_int(), value.as_double()), (int, double), "{value:?}");
        }
    }

    #[test]
    fn a_text_takes_over_the_buffer_in_its_place() {
        let mut parameters = vec![Value::Int(1), Value::Text(Vec::with_capacity(64)), Value::Null];
        let Value::Text(before) = &parameters[1] else { unreachable!() };
        let address = before.as_ptr();
        Fill::over(&mut parameters).int(2).bytes(b"two");
        assert_eq!(parameters, [Value::Int(2), Value::Text(b"two".to_vec())]);
        let Value::Text(after) = &parameters[1] else { unreachable!() };
        assert_eq!(after.as_ptr(), address);
    }

    #[test]
    fn an_empty_list_grows_and_a_long_one_is_cut() {
        let mut parameters = Parameters::new();
        Fill::over(&mut parameters).int(1).double(0.5).slot();
        assert_eq!(parameters, [Value::Int(1), Value::Double(0.5), Value::Null]);
        drop(Fill::over(&mut parameters));
        assert!(parameters.is_empty());
    }
}
