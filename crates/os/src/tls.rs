//! TLS is set up for the side of the clients and for that of the server, each by itself.

mod certificate;
#[cfg(test)]
mod tests;
mod verify;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether a side uses TLS, in the clients' own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// No TLS, also where the other side offers it.
    Disabled,
    /// Where the other side can and wants to.
    #[default]
    Preferred,
    /// Yes; who cannot is refused.
    Required,
}

/// What the guard shows to its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// What lies in PEM files.
    Files {
        /// The certificate, and those that lead from it to an authority.
        certificate: PathBuf,
        /// Private key of the certificate.
        key: PathBuf,
    },
    /// A key and a certificate of its own, made at the start and kept in memory.
    SelfSigned,
}

/// TLS that the guard offers to its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// Whether clients have to use it.
    pub mode: TlsMode,
    /// Without one there is no TLS.
    pub identity: Option<Identity>,
}

/// What the guard asks of its server, in the clients' own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendMode {
    /// No TLS, also where the server offers it.
    Disabled,
    /// TLS where the client has it too and the server offers it; any certificate. Whoever sits between guard and server
    /// can take the offer away.
    Preferred,
    /// TLS; the certificate is not checked, except for its signature where there are authorities.
    Required,
    /// TLS, and an authority has signed the certificate, for whatever name.
    VerifyCa,
    /// TLS, and an authority has signed the certificate for the name or the address by which the server is known here.
    VerifyIdentity,
}

impl BackendMode {
    /// All of them by their names.
    pub const NAMES: [(&str, Self); 5] = [
        ("disabled", Self::Disabled),
        ("preferred", Self::Preferred),
        ("required", Self::Required),
        ("verify-ca", Self::VerifyCa),
        ("verify-identity", Self::VerifyIdentity),
    ];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// TLS that the guard asks of its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendTls {
    /// What is asked; where nobody says, [`BackendMode::VerifyIdentity`] with authorities and
    /// [`BackendMode::Preferred`] without.
    pub mode: Option<BackendMode>,
    /// Authorities of which one has to have signed the server's certificate. Without them any certificate is taken,
    /// which keeps out who listens, not who pretends to be the server; only [`BackendMode::VerifyIdentity`] asks the
    /// system's then.
    pub authorities: Option<PathBuf>,
}

impl BackendTls {
    /// What is asked of the server.
    ///
    /// # Errors
    /// Mode and authorities contradict each other.
    pub fn mode(&self) -> Result<BackendMode, TlsError> {
        use BackendMode::{Disabled, Preferred, VerifyCa, VerifyIdentity};
        match (self.mode, &self.authorities) {
            (None, Some(_)) => Ok(VerifyIdentity),
            (None, None) => Ok(Preferred),
            (Some(mode @ (Disabled | Preferred)), Some(_)) => Err(TlsError::Unchecked(mode.name())),
            (Some(VerifyCa), None) => Err(TlsError::NoAuthorities),
            (Some(mode), _) => Ok(mode),
        }
    }
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or has not what is needed in it.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file that was to be read.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// Clients must use TLS, and there is no certificate to show them.
    #[error("TLS is required of clients, and no certificate is given")]
    NoCertificate,
    /// A certificate is to be checked, and there are no authorities to check it by.
    #[error("verify-ca towards the server, and no authorities are given")]
    NoAuthorities,
    /// Authorities are given, and a mode in which whoever is in between can do without a certificate.
    #[error(
        "authorities for the server's certificate, and mode {0}, which does without one; hint: verify-identity or \
         verify-ca"
    )]
    Unchecked(&'static str),
    /// The server's certificate is to be checked for a name that none can have.
    #[error("no certificate can be for the server's name {0:?}; hint: verify-ca")]
    Name(String),
    /// The system gives no random numbers for a key.
    #[error("cannot make a certificate")]
    NotMade,
    /// Certificate and key do not go together, and the like.
    #[error("TLS: {0}")]
    Setup(#[from] rustls::Error),
}

/// What both sides need, made once.
#[derive(Clone)]
pub struct TlsSetup {
    server: Option<Arc<ServerConfig>>,
    client: Arc<ClientConfig>,
    /// Whether TLS is asked of the server; what is asked of its certificate is in `client`.
    pub backend: TlsMode,
    name: ServerName<'static>,
    fingerprint: Option<String>,
}

impl TlsSetup {
    /// From what each side is to use; `host` is the server's name for its certificate.
    ///
    /// # Errors
    /// A file cannot be read, or certificate and key do not go together.
    pub fn new(clients: &ClientTls, backend: &BackendTls, host: &str) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let identity = match (&clients.identity, clients.mode) {
            (_, TlsMode::Disabled) | (None, TlsMode::Preferred) => None,
            (None, TlsMode::Required) => return Err(TlsError::NoCertificate),
            (Some(identity), _) => Some(shown(identity)?),
        };
        let fingerprint =
            identity.as_ref().and_then(|(chain, _)| chain.first()).map(|own| certificate::fingerprint(own));
        let server = identity.map(|identity| server_config(provider.clone(), identity)).transpose()?;
        let (client, name) = verify::client_config(provider, backend, host)?;
        let backend = match backend.mode()? {
            BackendMode::Disabled => TlsMode::Disabled,
            BackendMode::Preferred => TlsMode::Preferred,
            BackendMode::Required | BackendMode::VerifyCa | BackendMode::VerifyIdentity => TlsMode::Required,
        };
        let (server, client) = (server.map(Arc::new), Arc::new(client));
        Ok(Self { server, client, backend, name, fingerprint })
    }

    /// Whether clients are offered TLS.
    pub fn is_offered(&self) -> bool {
        self.server.is_some()
    }

    /// SHA-256 of the certificate that clients are shown, as openssl writes it.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
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
        self.dial().map(Connection::Client)
    }

    /// The same, known to be that of a client.
    pub fn dial(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.client.clone(), self.name.clone())
    }
}

/// For disks: what clients are shown, and the authorities of which one must have signed what they show.
pub fn disk_tls(identity: &Identity, clients: Option<&Path>) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let Some(authorities) = clients else { return Ok(Arc::new(server_config(provider, shown(identity)?)?)) };
    let roots = Arc::new(verify::read_roots(authorities)?);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build();
    let verifier = verifier.map_err(|error| file(authorities, io::Error::other(error)))?;
    let (chain, key) = shown(identity)?;
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(builder.with_client_cert_verifier(verifier).with_single_cert(chain, key)?))
}

type Shown = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn shown(identity: &Identity) -> Result<Shown, TlsError> {
    match identity {
        Identity::Files { certificate, key } => {
            let failed = |error| file(key, io::Error::other(error));
            Ok((read_chain(certificate)?, PrivateKeyDer::from_pem_file(key).map_err(failed)?))
        }
        Identity::SelfSigned => {
            let (own, key) = certificate::own().map_err(|_| TlsError::NotMade)?;
            Ok((vec![own], key))
        }
    }
}

fn server_config(provider: Arc<CryptoProvider>, (chain, key): Shown) -> Result<ServerConfig, rustls::Error> {
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
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
