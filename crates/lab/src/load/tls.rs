//! TLS on the sockets of the load.

use super::schedule::{LoadError, Result};
use evenkeel_core::Nanos;
use evenkeel_os::Socket;
use evenkeel_os::tls::{Tls, TlsError, TlsSetup};
use evenkeel_site::server::{Target, TlsMode};
use std::io::{self, IoSlice, IoSliceMut, Read};

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
    socket: Stamped,
    tls: Option<Tls>,
}

impl Link {
    pub fn new(socket: Socket) -> Self {
        Self { socket: Stamped { socket, stamps: false, age: None }, tls: None }
    }

    pub fn socket(&self) -> &Socket {
        &self.socket.socket
    }

    /// Has the kernel note when bytes come in, where it does that for such a socket.
    pub fn stamp_arrivals(&mut self) {
        self.socket.stamps = self.socket().stamp_arrivals().is_ok();
    }

    /// How long the bytes that were read last had been there, where that is known.
    pub fn age(&self) -> Option<Nanos> {
        self.socket.age
    }

    /// Begins the TLS handshake, which goes on in [`Link::send`] and [`Link::receive`].
    pub fn start_tls(&mut self, setup: &TlsSetup) -> io::Result<()> {
        self.tls = Some(Tls::start(setup.connect().map_err(io::Error::other)?, &[])?);
        Ok(())
    }

    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::is_handshaking)
    }

    /// Hands bytes to the kernel, or to TLS and what comes of it to the kernel; says how many were taken.
    /// `WouldBlock` where the kernel takes no more.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let socket = &mut self.socket.socket;
        match &mut self.tls {
            Some(tls) => tls.send(socket, &[IoSlice::new(bytes)]),
            None => socket.send(bytes),
        }
    }

    /// Sends what TLS itself still has to say; `WouldBlock` where the kernel takes no more.
    pub fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.flush(&mut self.socket.socket))
    }

    /// Whether TLS holds bytes that the kernel has not taken yet.
    pub fn wants_flush(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::wants_flush)
    }

    /// Receives plain bytes: how many, and whether the socket was emptied. `WouldBlock` where there are
    /// none, 0 at the end. Afterwards TLS may want a flush, which is for the caller: room to write says nothing of what there is to read.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        if let Some(tls) = &mut self.tls {
            return Ok((tls.receive(&mut self.socket, &mut [IoSliceMut::new(buffer)])?, false));
        }
        let count = self.socket.read(buffer)?;
        Ok((count, count < buffer.len()))
    }
}

/// A socket that notes how long what it read last had been there.
struct Stamped {
    socket: Socket,
    /// Whether the kernel notes when bytes come in.
    stamps: bool,
    age: Option<Nanos>,
}

impl Read for Stamped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.stamps {
            return self.socket.receive(buffer);
        }
        let (count, noted) = self.socket.receive_stamped(buffer)?;
        self.age = noted;
        Ok(count)
    }
}
