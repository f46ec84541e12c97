//! One client of the server: what it has said, what is left to tell it, and until when.

use super::bounds::Bounds;
use super::page::Page;
use evenkeel_core::Nanos;
use evenkeel_os::Awaited;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

/// Longest request that is read; what a scraper sends has some hundred bytes.
pub const REQUEST_MAX: usize = 8 << 10;
/// Time for a client to close after its answer: who closes first while bytes of the other are unread takes away the
/// answer's last bytes too.
const FAREWELL: Nanos = Nanos::from_secs(1);

/// A client, and how far its request and its answer are.
pub struct Connection {
    stream: TcpStream,
    state: State,
    since: Nanos,
}

enum State {
    /// Its request is not whole.
    Asking(Vec<u8>),
    /// It is being told.
    Answering { bytes: Vec<u8>, sent: usize },
    /// It has its answer.
    Leaving,
}

pub enum Step {
    /// Nothing can be done for it yet.
    Wait,
    /// It asks for this path; a request that is no GET has none.
    Asks(Option<String>),
    /// It is over.
    Done,
}

impl Connection {
    pub fn new(stream: TcpStream, now: Nanos) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, state: State::Asking(Vec::new()), since: now })
    }

    /// What to wait for.
    pub fn awaited(&self) -> Awaited<'_> {
        match self.state {
            State::Answering { .. } => Awaited::Write(self.stream.as_fd()),
            State::Asking(_) | State::Leaving => Awaited::Read(self.stream.as_fd()),
        }
    }

    /// Bytes of an answer that it has not taken.
    pub fn held(&self) -> usize {
        if let State::Answering { bytes, .. } = &self.state { bytes.len() } else { 0 }
    }

    /// Who goes first where there are too many: the least is who has its answer, then who has kept us waiting longest.
    pub fn claim(&self) -> (bool, Nanos) {
        (!matches!(self.state, State::Leaving), self.since)
    }

    /// Whether it had its time.
    pub fn is_late(&self, now: Nanos, bounds: &Bounds) -> bool {
        let patience = match self.state {
            State::Asking(_) => bounds.request,
            State::Answering { .. } => bounds.answer,
            State::Leaving => FAREWELL,
        };
        now - self.since > patience
    }

    /// Gives it its answer, which is sent from now on.
    pub fn tell(&mut self, page: &Page, now: Nanos) {
        let mut bytes = page.head().into_bytes();
        bytes.extend_from_slice(page.body.as_bytes());
        (self.state, self.since) = (State::Answering { bytes, sent: 0 }, now);
    }

    pub fn advance(&mut self, now: Nanos) -> Step {
        let step = match &mut self.state {
            State::Asking(request) => read(&mut self.stream, request),
            State::Answering { bytes, sent } => write(&mut self.stream, bytes, sent),
            State::Leaving => discard(&mut self.stream),
        };
        match step {
            Ok(Step::Done) if matches!(self.state, State::Answering { .. }) => self.leave(now),
            Ok(step) => step,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Step::Wait,
            // A client that fails or goes away is its own affair.
            Err(_) => Step::Done,
        }
    }

    fn leave(&mut self, now: Nanos) -> Step {
        (self.state, self.since) = (State::Leaving, now);
        if self.stream.shutdown(Shutdown::Write).is_ok() { Step::Wait } else { Step::Done }
    }
}

/// Reads a request until it is whole, or too long to be one.
fn read(stream: &mut TcpStream, request: &mut Vec<u8>) -> std::io::Result<Step> {
    let mut piece = [0; 1024];
    while request.len() < REQUEST_MAX {
        match stream.read(&mut piece) {
            Ok(0) => return Ok(Step::Done),
            Ok(count) => request.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if is_whole(request) {
            return Ok(Step::Asks(path(request).map(str::to_owned)));
        }
    }
    Ok(Step::Asks(None))
}

fn write(stream: &mut TcpStream, bytes: &[u8], sent: &mut usize) -> std::io::Result<Step> {
    while *sent < bytes.len() {
        match stream.write(&bytes[*sent..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => *sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Step::Done)
}

/// Takes what a client says after its request, some of it at a time, until it closes.
fn discard(stream: &mut TcpStream) -> std::io::Result<Step> {
    match stream.read(&mut [0; 4096]) {
        Ok(0) => Ok(Step::Done),
        Ok(_) => Ok(Step::Wait),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Step::Wait),
        Err(error) => Err(error),
    }
}

fn is_whole(request: &[u8]) -> bool {
    request.windows(4).any(|four| four == b"\r\n\r\n") || request.windows(2).any(|two| two == b"\n\n")
}

fn path(request: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(request.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.split_ascii_whitespace();
    (words.next()? == "GET").then_some(())?;
    words.next()?.split('?').next()
}
