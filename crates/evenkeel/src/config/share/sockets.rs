//! Who may connect to the disks of a host: sockets, and TLS.

use anyhow::{Result, bail};
use std::path::PathBuf;

/// Who may use a socket, as the mode of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u32);

types! {
    "a mode, as \"0660\"": Mode = |value| value.as_str().map(mode);
}

fn mode(text: &str) -> Result<Mode> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(Mode(mode)),
        _ => bail!("the mode of a socket is in octal digits, as 0660, not {text:?}"),
    }
}

keys! {
    /// TLS for clients that come over TCP.
    TlsConfig in "" {
        /// The certificate, and those that lead from it to an authority (PEM).
        certificate: Option<PathBuf> = None,
        key: Option<PathBuf> = None,
        /// Authorities of which one must have signed the certificate of a client (PEM).
        clients: Option<PathBuf> = None,
    }
}

impl TlsConfig {
    /// Refuses one without the other.
    pub(super) fn check(&self) -> Result<()> {
        match (&self.certificate, &self.key, &self.clients) {
            (Some(_), Some(_), _) | (None, None, None) => Ok(()),
            _ => bail!("TLS needs a certificate and its key; authorities of clients need both"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::share::{DiskConfig, ShareConfig};
    use evenkeel_share::Access;

    #[test]
    fn a_disk_says_what_its_socket_is_like_and_its_host_the_rest() {
        let (socket_mode, socket_group) = (Some(Mode(0o600)), Some("root".to_owned()));
        let host = ShareConfig { socket_mode, socket_group, ..ShareConfig::default() };
        let own = DiskConfig { socket_mode: Some(mode("0660").unwrap()), ..DiskConfig::new("a", "/a") };
        assert_eq!(host.access(Some(&own)).unwrap(), Access { mode: Some(0o660), group: Some(0) });
        assert_eq!(host.access(None).unwrap(), Access { mode: Some(0o600), group: Some(0) });
        for wrong in ["", "rw", "888", "1777"] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
        let unknown = DiskConfig { socket_group: Some("nobody at all".to_owned()), ..own };
        assert!(host.access(Some(&unknown)).unwrap_err().to_string().contains("\"nobody at all\""));
    }
}
