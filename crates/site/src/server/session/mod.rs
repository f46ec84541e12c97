//! A session with a server waits for each answer; it speaks the protocol of `wire` on a channel of `os`.
//!
//! One statement at a time, whose answer is read to its end before the next; a session that cannot be trusted to be at such an
//! end is hung up, so that whatever is asked of it afterwards fails. Memory is bounded whatever a server sends: rows are
//! handed out one by one, and a row has a largest size.

mod answer;

use crate::server::{Address, Target, TlsMode};
pub use answer::Outcome;
pub(super) use answer::{EachRow, SessionError};
use answer::{Handle, Prepared, Taking};
use evenkeel_os::{Cable, Channel};
use evenkeel_wire::{
    Account, CapabilityFlags, Encryption, Expect, Login, LoginStep, Parameter, ProtocolError, ResponseReader,
    Row, command, login, packet,
};
use std::io;
use std::io::{ErrorKind, Read, Write};
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

    /// Sends a command as a client sent it, its number first; `each` gets the rows of all its results.
    pub fn command(&mut self, bytes: &[u8], each: Option<EachRow<'_>>) -> Result<Outcome, SessionError> {
        use evenkeel_wire::relay::{CommandKind, Expect as Due};
        let kind = CommandKind::of(bytes.first().copied().unwrap_or_default());
        let sequence = command::recorded(&mut self.out, bytes);
        let expect = match kind.expect() {
            Due::Nothing => {
                send(&mut self.channel, &mut self.out)?;
                return Ok(Outcome::default());
            }
            Due::Prepared => Expect::Prepared,
            _ if matches!(kind, CommandKind::Execute | CommandKind::BulkExecute) => Expect::Binary,
            _ => Expect::Text,
        };
        self.ask(expect, sequence, Taking::of_all(each))
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

impl Session {
    /// Prepares a statement, unless it is; the one that was used longest ago goes where there are many.
    pub fn prepare(&mut self, sql: &str) -> Result<Handle, SessionError> {
        if let Some(handle) = self.prepared.find(sql) {
            return Ok(handle);
        }
        if let Some(oldest) = self.prepared.make_room() {
            command::close(&mut self.out, oldest.statement);
        }
        let sequence = command::prepare(&mut self.out, sql.as_bytes());
        let outcome = self.ask(Expect::Prepared, sequence, Taking::new(None))?;
        let handle = outcome.prepared.ok_or(ProtocolError::Malformed("answer to a preparation"))?;
        self.prepared.keep(sql, handle);
        Ok(handle)
    }

    /// Makes a prepared statement; `each` gets the rows of its first result.
    pub fn execute(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
        each: Option<EachRow<'_>>,
    ) -> Result<Outcome, SessionError> {
        let handle = self.prepare(sql)?;
        let (expected, found) = (usize::from(handle.parameters), parameters.len());
        if expected != found {
            return Err(SessionError::Parameters { expected, found });
        }
        let sequence = command::execute(&mut self.out, handle.statement, parameters.iter().copied());
        self.ask(Expect::Binary, sequence, Taking::new(each))
    }
}

impl Session {
    /// Logs in over a channel that is connected.
    pub fn open(mut channel: Channel, target: &Target) -> Result<Self, SessionError> {
        let mut login = Login::new(account(target), reach(target), encryption(target)).with_local_files();
        let (mut inbox, mut out) = (vec![0; PIECE].into_boxed_slice(), Vec::new());
        loop {
            let count = receive(&mut channel, &mut inbox)?;
            match login.feed(&mut &inbox[..count], &mut out)? {
                LoginStep::Done => return Ok(Self::of(channel, inbox, &login)),
                LoginStep::Continue => {}
                LoginStep::StartTls => {
                    send(&mut channel, &mut out)?;
                    channel.start_tls(&target.tls_setup()?)?;
                    login.tls_started(&mut out)?;
                }
            }
            send(&mut channel, &mut out)?;
        }
    }

    fn of(channel: Channel, inbox: Box<[u8]>, login: &Login) -> Self {
        let deprecate_eof = login.capabilities().contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        Self {
            channel,
            id: login.greeting().connection,
            reader: ResponseReader::new(deprecate_eof, ROW_MAX).with_names(),
            inbox,
            out: Vec::new(),
            prepared: Prepared::default(),
            warnings: 0,
            is_over: false,
        }
    }
}

fn account(target: &Target) -> Account {
    Account {
        user: target.user.clone(),
        password: target.password.clone().unwrap_or_default(),
        database: target.database.clone(),
    }
}

fn reach(target: &Target) -> login::Channel {
    match target.address {
        Address::Tcp { .. } => login::Channel::Network,
        Address::Unix(_) => login::Channel::Local,
    }
}

fn encryption(target: &Target) -> Encryption {
    match (&target.address, target.tls) {
        (Address::Unix(_), _) | (_, TlsMode::Disabled) => Encryption::Never,
        (_, TlsMode::Preferred) => Encryption::IfOffered,
        (_, TlsMode::Required | TlsMode::VerifyIdentity) => Encryption::Always,
    }
}
