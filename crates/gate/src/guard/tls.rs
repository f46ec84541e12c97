//! TLS on either side, each by itself.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether a side uses TLS, in the clients' own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// No.
    Disabled,
    /// Where the other side can and wants to.
    #[default]
    Preferred,
    /// Yes; who cannot is refused.
    Required,
}

/// TLS that the guard offers to its clients.
#[derive(Clone, Debug, Default)]
pub struct ClientTls {
    /// Whether clients have to use it.
    pub mode: TlsMode,
    /// Certificate chain and key in PEM files; without them there is no TLS.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// TLS that the guard asks of its server.
#[derive(Clone, Debug, Default)]
pub struct BackendTls {
    /// Whether it has to be there.
    pub mode: TlsMode,
    /// Authorities that have to have signed the server's certificate; without them any is taken, which
    /// keeps out who listens, not who pretends to be the server.
    pub authorities: Option<PathBuf>,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or has not what is needed in it.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// Clients must use TLS, and there is no certificate to show them.
    #[error("TLS is required of clients, and no certificate is given")]
    NoCertificate,
    /// Certificate and key do not go together, and the like.
    #[error("TLS: {0}")]
    Setup(#[from] rustls::Error),
}

/// What both sides need, made once.
#[derive(Clone)]
pub(super) struct TlsSetup {
    server: Option<Arc<ServerConfig>>,
    client: Arc<ClientConfig>,
    pub clients: TlsMode,
    pub backend: TlsMode,
    name: ServerName<'static>,
}

impl TlsSetup {
    pub fn new(clients: &ClientTls, backend: &BackendTls, host: &str) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let server = match (&clients.identity, clients.mode) {
            (_, TlsMode::Disabled) => None,
            (Some((chain, key)), _) => Some(Arc::new(server_config(provider.clone(), chain, key)?)),
            (None, TlsMode::Required) => return Err(TlsError::NoCertificate),
            (None, TlsMode::Preferred) => None,
        };
        let roots = backend.authorities.as_deref().map(read_roots).transpose()?;
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyName { provider, roots }))
            .with_no_client_auth();
        // A name that is none only leaves out the hint which certificate is wanted.
        let name = ServerName::try_from(host.to_owned())
            .or_else(|_| ServerName::try_from("localhost"))
            .map_err(|_| rustls::Error::General("no name for the server".to_owned()))?;
        Ok(Self { server, client: Arc::new(client), clients: clients.mode, backend: backend.mode, name })
    }

    /// Whether clients are offered TLS.
    pub fn is_offered(&self) -> bool {
        self.server.is_some()
    }

    /// The guard's end towards a client.
    pub fn accept(&self) -> Result<Connection, rustls::Error> {
        match &self.server {
            Some(config) => Ok(Connection::Server(ServerConnection::new(config.clone())?)),
            None => Err(rustls::Error::General("TLS was not offered".to_owned())),
        }
    }

    /// The guard's end towards its server.
    pub fn connect(&self) -> Result<Connection, rustls::Error> {
        Ok(Connection::Client(ClientConnection::new(self.client.clone(), self.name.clone())?))
    }
}

fn server_config(provider: Arc<CryptoProvider>, chain: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let certificates = read_chain(chain)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| file(key, io::Error::other(error)))?;
    Ok(ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?)
}

fn file(path: &Path, source: io::Error) -> TlsError {
    TlsError::File { path: path.to_owned(), source }
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    match read() {
        Ok(chain) if chain.is_empty() => Err(file(path, io::Error::other("no certificate in it"))),
        Ok(chain) => Ok(chain),
        Err(error) => Err(file(path, io::Error::other(error))),
    }
}

fn read_roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_chain(path)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

/// Takes a certificate for any name: one that an authority among `roots` signed, or any without roots.
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
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
