//! The certificate of a server is checked as the setup asks: not at all, by its authority, or by its name too.

use super::error::{TlsError, file};
use super::modes::{BackendMode, BackendTls};
use super::pem::read_chain;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io;
use std::path::Path;
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
