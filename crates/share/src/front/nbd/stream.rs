//! The bytes of a client: as they are, or by TLS.

use evenkeel_os::Socket;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;

/// A client's socket, with TLS once that was agreed on.
pub(super) struct Stream {
    socket: Socket,
    tls: Option<Box<ServerConnection>>,
}

/// A socket as rustls takes it.
struct Wire<'a>(&'a Socket);

impl Read for Wire<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.receive(bytes)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_parts(&[IoSlice::new(bytes)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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

    /// From here on by TLS. `first` came already: whatever a client sent behind its wish is taken for TLS and for nothing else,
    /// so that nobody in between can put words in front of what is secured.
    pub fn secure(&mut self, config: &Arc<ServerConfig>, mut first: &[u8]) -> io::Result<()> {
        let mut tls = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        while !first.is_empty() {
            if tls.read_tls(&mut first)? == 0 {
                return Err(ErrorKind::InvalidData.into());
            }
            tls.process_new_packets().map_err(io::Error::other)?;
        }
        self.tls = Some(Box::new(tls));
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
        loop {
            match tls.reader().read_vectored(parts) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Who goes without a word has sent nothing that is worth more.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            // The next look at what came finds the end of the socket.
            tls.read_tls(&mut Wire(&self.socket))?;
            if let Err(error) = tls.process_new_packets() {
                // The client gets the reason, if it still listens.
                let _ = tls.write_tls(&mut Wire(&self.socket));
                return Err(io::Error::other(error));
            }
        }
    }

    /// Sends what fits, one part after the other; `WouldBlock` where nothing does.
    pub fn send_parts(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.send_parts(parts) };
        while tls.wants_write() {
            tls.write_tls(&mut Wire(&self.socket))?;
        }
        let taken = tls.writer().write_vectored(parts)?;
        if taken == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        match self.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends what TLS itself has to say; `WouldBlock` where not all of it fits.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while tls.wants_write() {
            tls.write_tls(&mut Wire(&self.socket))?;
        }
        Ok(())
    }

    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }
}
