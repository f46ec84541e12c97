//! Who may connect to the disks of a host: sockets, and TLS.

use crate::config::fields::Fields;
use anyhow::{Context, Result, bail};
use evenkeel_share::{Access, group_id};
use std::path::PathBuf;

/// Mode and group of the file of a unix socket; by default as the umask has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketConfig {
    pub mode: Option<u32>,
    pub group: Option<String>,
}

impl SocketConfig {
    pub(super) fn of(fields: &mut Fields) -> Result<Self> {
        Ok(Self { mode: fields.text("socket_mode", mode_of)?, group: fields.optional("socket_group")? })
    }

    /// The same in the terms of the system. What is not set here comes from `host`.
    ///
    /// # Errors
    /// There is no such group.
    pub fn access(&self, host: &Self) -> Result<Access> {
        let group = self.group.as_ref().or(host.group.as_ref());
        let number =
            |name: &String| group_id(name).with_context(|| format!("the group of a socket, {name:?}"));
        Ok(Access { mode: self.mode.or(host.mode), group: group.map(number).transpose()? })
    }
}

fn mode_of(text: &str) -> Result<u32> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => bail!("the mode of a socket is in octal digits, as 0660, not {text:?}"),
    }
}

/// TLS for clients that come over TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate, and those that lead from it to an authority (PEM).
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Authorities of which one must have signed the certificate of a client (PEM).
    pub clients: Option<PathBuf>,
}

impl TlsConfig {
    /// That of the table `tls`.
    ///
    /// # Errors
    /// One is there without the other.
    pub(super) fn of(mut tls: Fields) -> Result<Self> {
        let (certificate, key, clients) =
            (tls.optional("certificate")?, tls.optional("key")?, tls.optional("clients")?);
        tls.finish()?;
        match (&certificate, &key, &clients) {
            (Some(_), Some(_), _) | (None, None, None) => Ok(Self { certificate, key, clients }),
            _ => bail!("TLS needs a certificate and its key; authorities of clients need both"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_says_what_its_socket_is_like_and_its_host_the_rest() {
        let host = SocketConfig { mode: Some(0o600), group: Some("root".to_owned()) };
        let disk = SocketConfig { mode: Some(mode_of("0660").unwrap()), group: None };
        assert_eq!(disk.access(&host).unwrap(), Access { mode: Some(0o660), group: Some(0) });
        for wrong in ["", "rw", "888", "1777"] {
            assert!(mode_of(wrong).is_err(), "{wrong}");
        }
        let unknown = SocketConfig { group: Some("nobody at all".to_owned()), mode: None };
        assert!(unknown.access(&host).unwrap_err().to_string().contains("\"nobody at all\""));
    }
}
