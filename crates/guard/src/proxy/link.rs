//! One side of a session: a socket, TLS on it if there is any, and what waits to be sent.

use evenkeel_core::Nanos;
use evenkeel_os::Socket;
use evenkeel_os::tls::Tls;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    Bytes(usize),
    Nothing,
    End,
}

/// A socket that never waits: it says `WouldBlock`.
pub trait Transport: Read + Write {
    /// Sends the end: the other side sees that nothing more comes.
    fn end(&self);
    /// Whether the other machine owes an answer for so long that it must be gone.
    fn is_lost(&self, silence: Nanos) -> bool;
    /// Who is at the other end, for the log.
    fn name(&self) -> String {
        String::new()
    }
}

impl Transport for Socket {
    fn end(&self) {
        Socket::end(self);
    }

    fn is_lost(&self, silence: Nanos) -> bool {
        Socket::is_lost(self, silence)
    }

    fn name(&self) -> String {
        self.peer().map_or_else(|| "a unix socket, or gone".into(), |peer| peer.to_string())
    }
}

/// The connection to one side: what is still to be sent, and whether it has ended.
pub struct Link<T> {
    socket: T,
    tls: Option<Tls>,
    /// What was to be sent and did not fit, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// Something may be there to read.
    readable: bool,
    /// The end was announced: short reads do not mean that nothing more is there.
    ending: bool,
    /// The end is to be sent once all is sent, and was sent.
    end_wanted: bool,
    ended: bool,
}

impl AsRawFd for Link<Socket> {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl<T: Transport> Link<T> {
    pub fn new(socket: T) -> Self {
        Self {
            socket,
            tls: None,
            unsent: Vec::new(),
            sent: 0,
            readable: false,
            ending: false,
            end_wanted: false,
            ended: false,
        }
    }

    pub fn socket(&self) -> &T {
        &self.socket
    }

    /// Goes on with TLS, whose handshake goes on by itself in what follows.
    pub fn start_tls(&mut self, tls: Tls) -> io::Result<()> {
        self.tls = Some(tls);
        self.flush().map(|_| ())
    }

    /// The kernel said that something is there to read, or the end.
    pub fn set_readable(&mut self, ending: bool) {
        self.readable = true;
        self.ending |= ending;
    }

    /// Whether the other side has announced its end, perhaps behind bytes that were not read yet.
    pub fn is_ending(&self) -> bool {
        self.ending
    }

    pub fn is_readable(&self) -> bool {
        self.readable
    }

    pub fn is_blocked(&self) -> bool {
        self.sent < self.unsent.len() || self.tls.as_ref().is_some_and(Tls::wants_flush)
    }

    pub fn unsent(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Sends bytes, or keeps those that do not fit. The caller stops reading the other side while
    /// [`Link::is_blocked`], so that what is kept stays below two reads.
    pub fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !self.is_blocked() {
            match self.send_some(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.unsent.extend_from_slice(bytes);
        Ok(())
    }

    /// Sends what was kept; true when nothing is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        let flushed = self.flush_all();
        match flushed {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn flush_all(&mut self) -> io::Result<()> {
        self.flush_tls()?;
        while self.sent < self.unsent.len() {
            let unsent = std::mem::take(&mut self.unsent);
            let taken = self.send_some(&unsent[self.sent..]);
            self.unsent = unsent;
            self.sent += taken?;
        }
        // Idle sessions own no buffer.
        (self.unsent, self.sent) = (Vec::new(), 0);
        if self.end_wanted {
            self.send_end();
        }
        Ok(())
    }

    /// Hands bytes to the kernel, or to TLS and what comes of it to the kernel; says how many were taken.
    fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => tls.send(&mut self.socket, &[IoSlice::new(bytes)]),
            None => self.socket.write(bytes),
        }
    }

    fn flush_tls(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.flush(&mut self.socket))
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let received = loop {
            match self.receive_some(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => break received,
            }
        };
        match received {
            Ok(0) => {
                self.readable = false;
                Ok(Received::End)
            }
            Ok(count) => {
                // Edge-triggered: after a short read the kernel has a new event when more is there.
                self.readable = self.tls.is_some() || self.ending || count == buffer.len();
                Ok(Received::Bytes(count))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(Received::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(buffer) };
        let received = tls.receive(&mut self.socket, &mut [IoSliceMut::new(buffer)]);
        // An alert says to the other side what was wrong; the answers of a handshake have to go out, and what waited for its end.
        let flushed = self.flush();
        match received {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            received => flushed.and(received),
        }
    }

    /// Sends the end to the other side, once all is sent.
    pub fn end(&mut self) {
        self.end_wanted = true;
        if !self.is_blocked() {
            self.send_end();
        }
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn send_end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(tls) = &mut self.tls {
            tls.end();
            // Whoever is gone needs no goodbye.
            let _ = self.flush_tls();
        }
        self.socket.end();
    }
}
