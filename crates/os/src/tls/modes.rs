//! What an operator asks of TLS on either side.

use super::error::TlsError;
use std::path::PathBuf;

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
