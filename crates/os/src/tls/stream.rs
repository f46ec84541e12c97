//! TLS on a socket that never waits. Whoever owns the socket lends it.

use rustls::Connection;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};

pub struct Tls(Box<Connection>);

impl Tls {
    /// Begins the handshake, which goes on in what follows. Whatever came behind the request for TLS is taken for TLS and for nothing
    /// else, so that nobody in between can put words in front of what is secured.
    /// Errors: what came early is no TLS.
    pub fn start(connection: Connection, mut early: &[u8]) -> io::Result<Self> {
        let mut tls = Box::new(connection);
        while !early.is_empty() {
            if tls.read_tls(&mut early)? == 0 {
                return Err(ErrorKind::InvalidData.into());
            }
            tls.process_new_packets().map_err(io::Error::other)?;
        }
        Ok(Self(tls))
    }

    pub fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Whether it holds bytes that the socket has not taken yet.
    pub fn wants_flush(&self) -> bool {
        self.0.wants_write()
    }

    /// Sends what it holds.
    /// Errors: `WouldBlock` where the socket takes no more.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(socket)?;
        }
        Ok(())
    }

    /// Sends bytes; says how many it took, which it must not be given again. What the socket does not take it holds.
    /// Errors: `WouldBlock` where it takes none.
    pub fn send(&mut self, socket: &mut impl Write, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.flush(socket)?;
        let taken = self.0.writer().write_vectored(parts)?;
        match self.flush(socket) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            // Before the end of its handshake TLS keeps a few bytes and takes no more.
            _ if taken == 0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(taken),
        }
    }

    /// Receives what is there; 0 at the end, also at one without TLS's own goodbye. Afterwards it may want a flush: after an error to
    /// tell the other side what was wrong.
    /// Errors: `WouldBlock` where nothing is there.
    pub fn receive(&mut self, socket: &mut impl Read, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        loop {
            match self.0.reader().read_vectored(parts) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if self.0.read_tls(socket)? == 0 {
                return Ok(0);
            }
            self.0.process_new_packets().map_err(io::Error::other)?;
        }
    }

    /// What is said last.
    pub fn end(&mut self) {
        self.0.send_close_notify();
    }
}
