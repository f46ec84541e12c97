//! A target's words on TLS become the setup of its connections.

use super::{Address, Target, TlsMode};
use evenkeel_os::tls::{BackendMode, BackendTls, ClientTls, TlsError, TlsSetup};

impl Target {
    /// How to start TLS with it. Who names a certificate authority wants at least its signature checked, also where he does
    /// without TLS if need be.
    ///
    /// # Errors
    /// Authorities cannot be read, or the host has a name that no certificate can be for.
    pub fn tls_setup(&self) -> Result<TlsSetup, TlsError> {
        let mode = match self.tls {
            TlsMode::VerifyIdentity => BackendMode::VerifyIdentity,
            TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => BackendMode::Required,
        };
        let host = match &self.address {
            Address::Tcp { host, .. } => host,
            Address::Unix(_) => "localhost",
        };
        let backend = BackendTls { mode: Some(mode), authorities: self.tls_ca.clone() };
        TlsSetup::new(&ClientTls::default(), &backend, host)
    }
}
