//! A session with a server waits for each answer; it speaks the protocol of `wire` on a channel of `os`.
//!
//! One statement at a time, whose answer is read to its end before the next; a session that cannot be trusted to be at such an
//! end is hung up, so that whatever is asked of it afterwards fails. Memory is bounded whatever a server sends: rows are
//! handed out one by one, and a row has a largest size.

mod answer;
mod error;
mod execute;
mod open;
mod prepared;

pub(super) use answer::EachRow;
pub use answer::Outcome;
pub(super) use error::SessionError;

use answer::Taking;
use evenkeel_os::{Cable, Channel};
use evenkeel_wire::{Expect, ResponseReader, Row, command, packet};
use prepared::Prepared;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// Bytes read, and bytes of a file sent, at once.
const PIECE: usize = 64 << 10;
/// Largest row that is taken: four times the largest that MariaDB sends by default, and what MySQL does.
const ROW_MAX: usize = 64 << 20;
/// A server that takes no farewell within this time does not need one.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) struct Session {
    channel: Channel,
    id: u32,
    reader: ResponseReader,
    inbox: Box<[u8]>,
    out: Vec<u8>,
    prepared: Prepared,
    warnings: u16,
    /// Whether it was hung up.
    is_over: bool,
}

impl Session {
    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn warnings(&self) -> u16 {
        self.warnings
    }

    pub fn names(&self) -> &[String] {
        self.reader.names()
    }

    pub fn cable(&self) -> io::Result<Cable> {
        self.channel.cable()
    }

    /// How long each read and each write may wait; `None` for as long as it takes.
    pub fn limit_waits(&self, limit: Option<Duration>) -> io::Result<()> {
        self.channel.limit_waits(limit)
    }

    pub fn query(&mut self, sql: &str, each: Option<EachRow<'_>>) -> Result<Outcome, SessionError> {
        let sequence = command::query(&mut self.out, sql.as_bytes());
        self.ask(Expect::Text, sequence, Taking::new(each))
    }

    pub fn value(&mut self, sql: &str) -> Result<Option<String>, SessionError> {
        let mut first = None;
        let mut take = |row: &Row<'_>| {
            if first.is_none() {
                first = Some(row.texts().next().transpose()?.flatten().map(Vec::from));
            }
            Ok(())
        };
        self.query(sql, Some(&mut take))?;
        Ok(first.flatten().map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    pub fn ping(&mut self) -> Result<(), SessionError> {
        let sequence = command::ping(&mut self.out);
        self.ask(Expect::Text, sequence, Taking::new(None)).map(drop)
    }

    /// Makes a statement that asks for a file, which is `file`. An error of its own ends the session: only that tells the
    /// server that the rest will not come.
    pub fn load(&mut self, sql: &str, file: &mut dyn Read) -> Result<Outcome, SessionError> {
        let sequence = command::query(&mut self.out, sql.as_bytes());
        self.ask(Expect::Text, sequence, Taking::of_file(file))
    }

    /// Sends the command that was written, and takes its answer.
    fn ask(&mut self, expect: Expect, sequence: u8, taking: Taking<'_>) -> Result<Outcome, SessionError> {
        self.reader.begin(expect, sequence, taking.wants_rows());
        if taking.file.is_some() {
            self.reader.offer_file();
        }
        let sent = send(&mut self.channel, &mut self.out);
        let outcome = sent.map_err(SessionError::from).and_then(|()| self.take(taking));
        self.warnings = outcome.as_ref().map_or(0, |outcome| outcome.warnings);
        if outcome.as_ref().is_err_and(SessionError::ends_session) {
            self.hang_up();
        }
        outcome
    }

    fn take(&mut self, mut taking: Taking<'_>) -> Result<Outcome, SessionError> {
        while !self.reader.is_done() {
            let count = receive(&mut self.channel, &mut self.inbox)?;
            let mut input = &self.inbox[..count];
            while let Some(event) = self.reader.next(&mut input)? {
                taking.take(event)?;
                if !taking.wants_rows() {
                    self.reader.skip_rows();
                }
            }
            if let (Some(sequence), Some(file)) = (taking.wanted.take(), &mut taking.file) {
                let next = self.send_file(sequence, &mut **file)?;
                self.reader.file_sent(next);
            }
        }
        taking.end()
    }

    /// Sends a file in packets from this number on; the number behind the empty one, which ends it.
    fn send_file(&mut self, mut sequence: u8, file: &mut dyn Read) -> Result<u8, SessionError> {
        let mut piece = vec![0; PIECE];
        loop {
            let count = read(file, &mut piece).map_err(SessionError::File)?;
            packet::put(&mut self.out, &mut sequence, |out| out.extend_from_slice(&piece[..count]));
            send(&mut self.channel, &mut self.out)?;
            if count == 0 {
                return Ok(sequence);
            }
        }
    }

    fn hang_up(&mut self) {
        self.is_over = true;
        self.channel.hang_up();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.is_over {
            self.out.clear();
            command::quit(&mut self.out);
            let _ = self.channel.limit_waits(Some(FAREWELL));
            let _ = send(&mut self.channel, &mut self.out);
        }
    }
}

/// Sends all of `out`, which is empty afterwards, and small again after a large statement.
fn send(channel: &mut Channel, out: &mut Vec<u8>) -> io::Result<()> {
    let sent = channel.write_all(out).and_then(|()| channel.flush());
    out.clear();
    out.shrink_to(2 * PIECE);
    sent
}

/// At least one byte.
fn receive(channel: &mut Channel, inbox: &mut [u8]) -> io::Result<usize> {
    match read(channel, inbox)? {
        0 => Err(io::Error::new(ErrorKind::BrokenPipe, "server disconnected")),
        count => Ok(count),
    }
}

fn read(source: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            count => return count,
        }
    }
}

#[cfg(test)]
mod tests;
