//! TLS on the sockets of the load.

use super::error::{LoadError, show};
use super::socket::Socket;
use evenkeel_site::server::{Address, Target, TlsMode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Certificates that Debian and its relatives trust.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// How to start TLS with one target.
#[derive(Clone)]
pub(super) struct TlsSettings {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsSettings {
    /// `None` where the plan wants no TLS.
    pub fn new(target: &Target) -> Result<Option<Self>, LoadError> {
        if target.tls == TlsMode::Disabled {
            return Ok(None);
        }
        let failed = |source| LoadError::Tls { what: show(&target.address), source };
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(io::Error::other(error)))?;
        let config = match target.tls {
            TlsMode::VerifyIdentity => {
                let path = target.tls_ca.as_deref().unwrap_or(Path::new(SYSTEM_ROOTS));
                builder.with_root_certificates(roots(path)?)
            }
            _ => {
                let roots = target.tls_ca.as_deref().map(roots).transpose()?;
                let verifier = Arc::new(AnyName { provider, roots });
                builder.dangerous().with_custom_certificate_verifier(verifier)
            }
        };
        let host = match &target.address {
            Address::Tcp { host, .. } => host.clone(),
            Address::Unix(_) => "localhost".to_owned(),
        };
        let name = ServerName::try_from(host).map_err(|error| failed(io::Error::other(error)))?;
        Ok(Some(Self { config: Arc::new(config.with_no_client_auth()), name }))
    }

    /// A connection before its handshake.
    pub fn start(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }
}

fn roots(path: &Path) -> Result<RootCertStore, LoadError> {
    read_roots(path).map_err(|source| LoadError::Tls { what: path.display().to_string(), source })
}

fn read_roots(path: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(io::Error::other)? {
        roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    match roots.is_empty() {
        true => Err(io::Error::other("no certificate in it")),
        false => Ok(roots),
    }
}

/// Takes a certificate for any name, as the modes `preferred` and `required` of MySQL's own clients do: one
/// that an authority among `roots` signed, or any at all without roots, which keeps out who listens, not who
/// pretends to be the server.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(certificate)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A socket, and what encrypts on it if anything does.
pub(super) struct Link {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl Link {
    pub fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
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
            tls.write_tls(&mut Raw(&self.socket))?;
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
            let count = self.socket.receive(buffer)?;
            return Ok((count, count < buffer.len()));
        };
        loop {
            match tls.reader().read(buffer) {
                Ok(count) => return Ok((count, false)),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
            if tls.read_tls(&mut Raw(&self.socket))? == 0 {
                return Ok((0, true));
            }
            // What TLS now wants to say is for the caller to flush: room to write says nothing of what there
            // is to read.
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

/// The socket as what rustls reads from and writes to.
struct Raw<'a>(&'a Socket);

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
