//! TLS is set up for the side of the clients and for that of the server, each by itself.

mod certificate;
mod error;
mod modes;
mod pem;
#[cfg(test)]
mod tests;
mod verify;

pub use error::TlsError;
pub use modes::{BackendMode, BackendTls, ClientTls, Identity, TlsMode};

use error::file;
use pem::read_chain;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

    pub fn is_offered(&self) -> bool {
        self.server.is_some()
    }

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
///
/// # Errors
/// A file cannot be read, or certificate and key do not go together.
pub fn disk_tls(
    certificate: PathBuf,
    key: PathBuf,
    clients: Option<&Path>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let shown = shown(&Identity::Files { certificate, key })?;
    let provider = Arc::new(ring::default_provider());
    let Some(authorities) = clients else { return Ok(Arc::new(server_config(provider, shown)?)) };
    let roots = Arc::new(verify::read_roots(authorities)?);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build();
    let verifier = verifier.map_err(|error| file(authorities, io::Error::other(error)))?;
    let (chain, key) = shown;
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
