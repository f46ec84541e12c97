//! TLS on the sockets of the load.

use super::error::{LoadError, show};
use super::socket::Socket;
use crate::target::{Address, Target, TlsMode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
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
                let roots = roots(path)
                    .map_err(|source| LoadError::Tls { what: path.display().to_string(), source })?;
                builder.with_root_certificates(roots)
            }
            _ => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer(provider))),
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

fn roots(path: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(io::Error::other)? {
        roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    match roots.is_empty() {
        true => Err(io::Error::other("no certificate in it")),
        false => Ok(roots),
    }
}

/// Takes every certificate, as the modes `preferred` and `required` of MySQL's own clients do: they keep
/// out who listens, not who pretends to be the server.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
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

    pub fn is_plain(&self) -> bool {
        self.tls.is_none()
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
        while tls.wants_write() {
            tls.write_tls(&mut Raw(&self.socket))?;
        }
        Ok(taken)
    }

    /// Sends what TLS itself still has to say; `WouldBlock` where the kernel takes no more.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(_) => self.send(&[]).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Receives plain bytes: how many, and whether the socket was emptied. `WouldBlock` where there are
    /// none, 0 at the end.
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
            tls.process_new_packets().map_err(io::Error::other)?;
            while tls.wants_write() {
                tls.write_tls(&mut Raw(&self.socket))?;
            }
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
