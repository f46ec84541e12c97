//! TLS on the sockets of the load.

use super::schedule::{LoadError, Result};
use evenkeel_core::Nanos;
use evenkeel_os::Socket;
use evenkeel_os::tls::{TlsError, TlsSetup};
use evenkeel_site::server::{Target, TlsMode};
use rustls::ClientConnection;
use std::io;
use std::io::{Read, Write};

/// How to start TLS with one target; `None` where the plan wants none.
pub(super) fn setup(target: &Target) -> Result<Option<TlsSetup>> {
    match target.tls {
        TlsMode::Disabled => Ok(None),
        _ => target.tls_setup().map(Some).map_err(|error| failed(target, error)),
    }
}

fn failed(target: &Target, error: TlsError) -> LoadError {
    let (what, source) = match error {
        TlsError::File { path, source } => (path.display().to_string(), source),
        TlsError::Name(_) => {
            (target.address.to_string(), io::Error::other("no certificate can be for that name"))
        }
        other => (target.address.to_string(), io::Error::other(other)),
    };
    LoadError::cannot(format!("use TLS with {what}"))(source)
}

/// A socket, and what encrypts on it if anything does.
pub(super) struct Link {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    /// Whether the kernel notes when bytes come in, and how long those that were read last had been there.
    stamps: bool,
    age: Option<Nanos>,
}

impl Link {
    pub fn new(socket: Socket) -> Self {
        Self { socket, tls: None, stamps: false, age: None }
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Has the kernel note when bytes come in, where it does that for such a socket.
    pub fn stamp_arrivals(&mut self) {
        self.stamps = self.socket.stamp_arrivals().is_ok();
    }

    /// How long the bytes that were read last had been there, where that is known.
    pub fn age(&self) -> Option<Nanos> {
        self.age
    }

    /// Begins the TLS handshake, which goes on in [`Link::send`] and [`Link::receive`].
    pub fn start_tls(&mut self, connection: ClientConnection) {
        self.tls = Some(Box::new(connection));
    }

    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Hands bytes to the kernel, or to TLS and what comes of it to the kernel; says how many were taken.
    /// `WouldBlock` where the kernel takes no more.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.send(bytes) };
        let taken = tls.writer().write(bytes)?;
        match self.flush() {
            // TLS keeps what it took until there is room again; it must not be given the same bytes twice.
            Err(error) if taken > 0 && error.kind() == io::ErrorKind::WouldBlock => Ok(taken),
            flushed => flushed.map(|()| taken),
        }
    }

    /// Sends what TLS itself still has to say; `WouldBlock` where the kernel takes no more.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        while tls.wants_write() {
            tls.write_tls(&mut &self.socket)?;
        }
        Ok(())
    }

    /// Whether TLS holds bytes that the kernel has not taken yet.
    pub fn wants_flush(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Receives plain bytes: how many, and whether the socket was emptied. `WouldBlock` where there are
    /// none, 0 at the end. Afterwards TLS may want a flush.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        let Some(tls) = &mut self.tls else {
            let count = received(&self.socket, self.stamps, &mut self.age, buffer)?;
            return Ok((count, count < buffer.len()));
        };
        loop {
            match tls.reader().read(buffer) {
                Ok(count) => return Ok((count, false)),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
            let mut raw = Stamped { socket: &self.socket, stamps: self.stamps, age: &mut self.age };
            if tls.read_tls(&mut raw)? == 0 {
                return Ok((0, true));
            }
            // What TLS now wants to say is for the caller to flush: room to write says nothing of what there
            // is to read.
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

/// Reads what is there, and notes how long that had been there.
fn received(socket: &Socket, stamps: bool, age: &mut Option<Nanos>, buffer: &mut [u8]) -> io::Result<usize> {
    if !stamps {
        return socket.receive(buffer);
    }
    let (count, noted) = socket.receive_stamped(buffer)?;
    *age = noted;
    Ok(count)
}

/// The socket as what rustls reads from.
struct Stamped<'a> {
    socket: &'a Socket,
    stamps: bool,
    age: &'a mut Option<Nanos>,
}

impl Read for Stamped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        received(self.socket, self.stamps, self.age, buffer)
    }
}
