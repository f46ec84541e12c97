//! TLS is set up for the side of the clients and for that of the server, each by itself.

mod certificate;
mod stream;
mod verify;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use stream::Tls;
pub use verify::{BackendMode, BackendTls, ClientTls, Identity, TlsError, TlsMode};
use verify::{file, read_chain};

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
    /// Errors: a file cannot be read, or certificate and key do not go together.
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
/// Errors: a file cannot be read, or certificate and key do not go together.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Lets both ends talk until each has finished its handshake, or one has failed.
    fn shake(client: &mut Connection, server: &mut Connection) -> Result<(), rustls::Error> {
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut &wire[..]).unwrap();
            server.process_new_packets()?;
            wire.clear();
            server.write_tls(&mut wire).unwrap();
            client.read_tls(&mut &wire[..]).unwrap();
            client.process_new_packets()?;
        }
        Ok(())
    }

    fn with_its_own() -> TlsSetup {
        let clients = ClientTls { mode: TlsMode::Preferred, identity: Some(Identity::SelfSigned) };
        TlsSetup::new(&clients, &BackendTls::default(), "localhost").unwrap()
    }

    /// What comes of a guard that asks `backend` of a server with `certificate`, known here as `host`.
    fn handshake(server: &TlsSetup, backend: &BackendTls, host: &str) -> Result<(), String> {
        let guard = TlsSetup::new(&ClientTls::default(), backend, host).map_err(|error| error.to_string())?;
        shake(&mut guard.connect().unwrap(), &mut server.accept().unwrap()).map_err(|error| error.to_string())
    }

    fn certificate_of(server: &TlsSetup) -> Vec<u8> {
        let any = TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "any").unwrap();
        let mut client = any.connect().unwrap();
        shake(&mut client, &mut server.accept().unwrap()).unwrap();
        client.peer_certificates().unwrap()[0].to_vec()
    }

    /// A PEM file of a certificate.
    fn file_of(certificate: &[u8], home: &tempfile::TempDir) -> PathBuf {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let letters = |bytes: &[u8]| {
            let number = bytes.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
            let number = number << (8 * (3 - bytes.len()));
            let letter = |at: usize| match at <= bytes.len() {
                true => char::from(LETTERS[(number >> (18 - 6 * at)) as usize & 63]),
                false => '=',
            };
            (0..4).map(letter).collect::<String>()
        };
        let text: String = certificate
            .chunks(48)
            .map(|line| line.chunks(3).map(letters).collect::<String>() + "\n")
            .collect();
        let path = home.path().join("authority.pem");
        std::fs::write(&path, format!("-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"))
            .unwrap();
        path
    }

    fn asks(mode: Option<BackendMode>, authorities: Option<&PathBuf>) -> BackendTls {
        BackendTls { mode, authorities: authorities.cloned() }
    }

    #[test]
    fn a_certificate_of_its_own_is_one_that_others_can_check_by_name_and_by_address() {
        let (server, home) = (with_its_own(), tempfile::tempdir().unwrap());
        assert!(server.is_offered());
        let certificate = certificate_of(&server);
        assert_eq!(server.fingerprint(), Some(&*certificate::fingerprint(&certificate)));
        let authority = file_of(&certificate, &home);
        for host in ["localhost", "127.0.0.1", "::1"] {
            assert_eq!(handshake(&server, &asks(None, Some(&authority)), host), Ok(()), "{host}");
        }
        assert_ne!(server.fingerprint(), with_its_own().fingerprint(), "each has a key of its own");
        assert_eq!(
            TlsSetup::new(&ClientTls::default(), &BackendTls::default(), "x").unwrap().fingerprint(),
            None
        );
    }

    #[test]
    fn a_fingerprint_is_written_as_openssl_writes_it() {
        let empty =
            "E3:B0:C4:42:98:FC:1C:14:9A:FB:F4:C8:99:6F:B9:24:27:AE:41:E4:64:9B:93:4C:A4:95:99:1B:78:52:B8:55";
        assert_eq!(certificate::fingerprint(b""), empty);
    }

    #[test]
    fn a_certificate_is_checked_as_the_mode_says() {
        use BackendMode::{Preferred, Required, VerifyCa, VerifyIdentity};
        let (server, other, home) = (with_its_own(), with_its_own(), tempfile::tempdir().unwrap());
        let authority = file_of(&certificate_of(&server), &home);
        for (mode, authorities, host, good) in [
            (None, None, "db.example", true),
            (Some(Preferred), None, "db.example", true),
            (Some(Required), None, "db.example", true),
            (Some(Required), Some(&authority), "db.example", true),
            (Some(VerifyCa), Some(&authority), "db.example", true),
            (Some(VerifyIdentity), Some(&authority), "localhost", true),
            (Some(VerifyIdentity), Some(&authority), "db.example", false),
            (Some(VerifyIdentity), Some(&authority), "192.0.2.1", false),
            (None, Some(&authority), "db.example", false),
        ] {
            let case = format!("{mode:?} {authorities:?} {host}");
            let found = handshake(&server, &asks(mode, authorities), host);
            assert_eq!(found.is_ok(), good, "{case}: {found:?}");
            // Somebody else's certificate is taken only where none is asked for.
            let found = handshake(&other, &asks(mode, authorities), host);
            assert_eq!(found.is_ok(), authorities.is_none(), "{case}: {found:?}");
        }
    }

    #[test]
    fn authorities_make_tls_a_must() {
        use BackendMode::{Disabled, Preferred, Required, VerifyCa, VerifyIdentity};
        let (server, home) = (with_its_own(), tempfile::tempdir().unwrap());
        let authority = file_of(&certificate_of(&server), &home);
        let backend = |mode, authorities| {
            let setup = TlsSetup::new(&ClientTls::default(), &asks(mode, authorities), "localhost");
            setup.map(|setup| setup.backend).map_err(|error| error.to_string())
        };
        assert_eq!(backend(None, None), Ok(TlsMode::Preferred));
        assert_eq!(backend(Some(Disabled), None), Ok(TlsMode::Disabled));
        assert_eq!(backend(Some(Required), None), Ok(TlsMode::Required));
        for mode in [None, Some(Required), Some(VerifyCa), Some(VerifyIdentity)] {
            assert_eq!(backend(mode, Some(&authority)), Ok(TlsMode::Required), "{mode:?}");
        }
        for (mode, name) in [(Disabled, "disabled"), (Preferred, "preferred")] {
            let refused = backend(Some(mode), Some(&authority)).unwrap_err();
            assert!(refused.contains(&format!("mode {name}")), "{refused}");
        }
        assert!(backend(Some(VerifyCa), None).unwrap_err().contains("no authorities"));
    }

    #[test]
    fn a_name_that_no_certificate_can_have_is_told_at_the_start() {
        let (server, home) = (with_its_own(), tempfile::tempdir().unwrap());
        let authority = file_of(&certificate_of(&server), &home);
        let refused = handshake(&server, &asks(None, Some(&authority)), "no name").unwrap_err();
        assert!(refused.contains("\"no name\""), "{refused}");
        assert_eq!(
            handshake(&server, &asks(Some(BackendMode::VerifyCa), Some(&authority)), "no name"),
            Ok(())
        );
    }
}
