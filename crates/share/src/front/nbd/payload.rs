//! The bytes that a write carries, on their way in.

use super::memory::{Held, Memory};
use crate::{Buffer, Work};
use evenkeel_os::Socket;
use evenkeel_os::tls::Tls;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::Arc;

/// What is due before the next head of a request.
pub(super) enum Payload {
    None,
    Write {
        buffer: Buffer,
        filled: usize,
        held: Held,
        cookie: u64,
        offset: u64,
        durable: bool,
    },
    /// Bytes of a request that is refused go by.
    Skip {
        left: usize,
        cookie: u64,
    },
}

/// The name of a request whose payload is all there, and what is to be done with which memory; nothing where it was skipped.
pub(super) type Filled = (u64, Option<(Work, Held)>);

/// Bytes received: into the payload, and behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    payload: usize,
    pub scratch: usize,
}

impl Received {
    pub fn total(self) -> usize {
        self.payload + self.scratch
    }
}

impl Payload {
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub fn moved(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Write { filled, .. } => *filled as u64,
            Self::Skip { left, .. } => u64::from(u32::MAX) - *left as u64,
        }
    }

    /// Bytes that the socket can write where they belong.
    pub fn left(&self) -> usize {
        match self {
            Self::Write { buffer, filled, .. } => buffer.len() - filled,
            _ => 0,
        }
    }

    /// Receives what is due into its place, and what is behind it into `scratch`.
    pub fn receive(&mut self, stream: &mut Stream, scratch: &mut [u8]) -> io::Result<Received> {
        let Self::Write { buffer, filled, .. } = self else {
            return stream.receive(scratch).map(|scratch| Received { payload: 0, scratch });
        };
        let due = &mut buffer.as_mut_slice()[*filled..];
        let left = due.len();
        let received = stream.receive_parts(&mut [IoSliceMut::new(due), IoSliceMut::new(scratch)])?;
        let payload = received.min(left);
        *filled += payload;
        Ok(Received { payload, scratch: received - payload })
    }

    /// Takes what is due from bytes received before.
    pub fn fill(&mut self, input: &mut &[u8]) {
        match self {
            Self::None => {}
            Self::Write { buffer, filled, .. } => {
                let due = &mut buffer.as_mut_slice()[*filled..];
                let (taken, rest) = input.split_at(input.len().min(due.len()));
                due[..taken.len()].copy_from_slice(taken);
                *filled += taken.len();
                *input = rest;
            }
            Self::Skip { left, .. } => {
                let count = input.len().min(*left);
                *left -= count;
                *input = &input[count..];
            }
        }
    }

    /// What was due, once it is all there.
    pub fn finish(&mut self) -> Option<Filled> {
        let done = match self {
            Self::None => false,
            Self::Write { buffer, filled, .. } => *filled == buffer.len(),
            Self::Skip { left, .. } => *left == 0,
        };
        match done.then(|| std::mem::replace(self, Self::None))? {
            Self::Write { buffer, held, cookie, offset, durable, .. } => {
                Some((cookie, Some((Work::Write { offset, buffer, durable }, held))))
            }
            Self::Skip { cookie, .. } => Some((cookie, None)),
            Self::None => None,
        }
    }

    /// Gives it up; memory that it was counted with.
    pub fn drop(&mut self, memory: &mut Memory) -> usize {
        match std::mem::replace(self, Self::None) {
            Self::Write { buffer, held, .. } => {
                memory.give(buffer, held);
                held.bytes
            }
            _ => 0,
        }
    }
}

/// A client's socket, with TLS once that was agreed on.
pub(super) struct Stream {
    socket: Socket,
    tls: Option<Tls>,
}

impl Stream {
    pub fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Whether more may be there though less came than was asked for.
    pub fn keeps(&self) -> bool {
        self.tls.is_some()
    }

    /// From here on by TLS, as what came already has to be.
    pub fn secure(&mut self, config: &Arc<ServerConfig>, first: &[u8]) -> io::Result<()> {
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        self.tls = Some(Tls::start(connection.into(), first)?);
        Ok(())
    }

    /// Receives what is there; `WouldBlock` where nothing is, 0 at the end.
    pub fn receive(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.tls {
            None => self.socket.receive(bytes),
            Some(_) => self.receive_parts(&mut [IoSliceMut::new(bytes)]),
        }
    }

    /// Receives what is there, one part after the other; `WouldBlock` where nothing is, 0 at the end.
    pub fn receive_parts(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.receive_parts(parts) };
        let received = tls.receive(&mut self.socket, parts);
        if received.is_err() {
            // The client gets the reason, if it still listens.
            let _ = tls.flush(&mut self.socket);
        }
        received
    }

    /// Sends what fits, one part after the other; `WouldBlock` where nothing does.
    pub fn send_parts(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => tls.send(&mut self.socket, parts),
            None => self.socket.send_parts(parts),
        }
    }

    /// Sends what TLS itself has to say; `WouldBlock` where not all of it fits.
    pub fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.flush(&mut self.socket))
    }

    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::wants_flush)
    }
}
