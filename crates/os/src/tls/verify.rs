//! The certificate of a server is checked as the setup asks: not at all, by its authority, or by its name too.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Authorities that a system trusts: where Debian, Red Hat, SUSE and Alpine, and their relatives, keep them.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What the guard's end towards its server needs, and the server's name in it.
pub(super) fn client_config(
    provider: Arc<CryptoProvider>,
    backend: &BackendTls,
    host: &str,
) -> Result<(ClientConfig, ServerName<'static>), TlsError> {
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let mode = backend.mode()?;
    let name = ServerName::try_from(host.to_owned());
    if mode == BackendMode::VerifyIdentity {
        let roots = match &backend.authorities {
            Some(path) => read_roots(path)?,
            None => system_roots()?,
        };
        let name = name.map_err(|_| TlsError::Name(host.to_owned()))?;
        return Ok((builder.with_root_certificates(roots).with_no_client_auth(), name));
    }
    let roots = backend.authorities.as_deref().map(read_roots).transpose()?;
    let verifier = Arc::new(AnyName { provider, roots });
    let config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    // Here a name that is none only leaves out the hint which certificate is wanted.
    let name =
        name.or_else(|_| ServerName::try_from("localhost")).map_err(|_| TlsError::Name(host.to_owned()))?;
    Ok((config, name))
}

pub(super) fn read_roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_chain(path)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

/// Of many authorities one that cannot be read is no reason to trust none.
fn system_roots() -> Result<RootCertStore, TlsError> {
    let [first, ..] = SYSTEM_ROOTS.map(Path::new);
    let path = SYSTEM_ROOTS.map(Path::new).into_iter().find(|path| path.exists()).unwrap_or(first);
    let found = CertificateDer::pem_file_iter(path).map_err(|error| file(path, io::Error::other(error)))?;
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.flatten());
    if added == 0 { Err(file(path, io::Error::other("no certificate in it"))) } else { Ok(roots) }
}

/// Takes a certificate for any name: one that an authority among `roots` signed, or any without roots. There the signature of
/// the handshake is not looked at either: whoever pretends to be the server signs with a key of his own, and old servers made
/// themselves certificates that cannot be read here.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

/// What servers sign with that is not among what is verified here.
const UNVERIFIED: [SignatureScheme; 4] = [
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ED448,
    SignatureScheme::RSA_PKCS1_SHA1,
    SignatureScheme::ECDSA_SHA1_Legacy,
];

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
        if self.roots.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.roots.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let mut schemes = self.provider.signature_verification_algorithms.supported_schemes();
        if self.roots.is_none() {
            schemes.extend(UNVERIFIED);
        }
        schemes
    }
}

/// The certificates of a file, of which there is at least one.
pub(super) fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    match read() {
        Ok(chain) if chain.is_empty() => Err(file(path, io::Error::other("no certificate in it"))),
        Ok(chain) => Ok(chain),
        Err(error) => Err(file(path, io::Error::other(error))),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    Disabled,
    /// Where the other side can and wants to.
    #[default]
    Preferred,
    Required,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    Files {
        certificate: PathBuf,
        key: PathBuf,
    },
    /// A key and a certificate of its own, made at the start and kept in memory.
    SelfSigned,
}

/// TLS that the guard offers to its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    pub mode: TlsMode,
    /// Without one there is no TLS.
    pub identity: Option<Identity>,
}

/// What the guard asks of its server, in the clients' own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendMode {
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
    /// Errors: mode and authorities contradict each other.
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

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("TLS is required of clients, and no certificate is given")]
    NoCertificate,
    #[error("verify-ca towards the server, and no authorities are given")]
    NoAuthorities,
    #[error(
        "authorities for the server's certificate are given, but mode {0} does not check it; hint: verify-identity or \
         verify-ca"
    )]
    Unchecked(&'static str),
    #[error("no certificate can be for the server's name {0:?}; hint: verify-ca")]
    Name(String),
    #[error("cannot make a certificate")]
    NotMade,
    #[error("TLS: {0}")]
    Setup(#[from] rustls::Error),
}

pub(super) fn file(path: &Path, source: io::Error) -> TlsError {
    TlsError::File { path: path.to_owned(), source }
}
