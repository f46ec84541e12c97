//! An address says where somebody listens: at a TCP port of a machine, or at a unix socket.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A TCP port of a machine, or the file of a unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

impl Address {
    /// Whether it is a socket that nobody else can listen to.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// Addresses with the ports that the system chose, where port 0 was asked for.
    pub fn with_ports<'a>(asked: impl IntoIterator<Item = &'a Self>, ports: &[u16]) -> Vec<Self> {
        let mut ports = ports.iter();
        let told = |address: &Self| match address {
            Self::Tcp { host, port } => Self::Tcp { host: host.clone(), port: *ports.next().unwrap_or(port) },
            Self::Unix(path) => Self::Unix(path.clone()),
        };
        asked.into_iter().map(told).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not an address: write host:port, [::1]:port, or the path of a socket with a slash in it")]
pub struct NoAddress(String);

impl NoAddress {
    /// What looks like a URL or a login may hold a password, which is not repeated.
    fn of(text: &str) -> Self {
        match text.contains('@') || text.contains("://") {
            true => Self("a URL, or what holds a login,".to_owned()),
            false => Self(format!("{text:?}")),
        }
    }
}

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        if text.contains("://") {
            return Err(NoAddress::of(text));
        }
        if text.contains('/') {
            return Ok(Self::Unix(text.strip_prefix("unix:").unwrap_or(text).into()));
        }
        let parsed = text.rsplit_once(':').and_then(|(host, port)| {
            let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let ambiguous = bare.is_none() && host.contains(':');
            let host = bare.unwrap_or(host);
            (!host.is_empty() && !ambiguous).then_some(())?;
            Some(Self::Tcp { host: host.to_owned(), port: port.parse().ok()? })
        });
        parsed.ok_or_else(|| NoAddress::of(text))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for text in ["127.0.0.1:3306", "db1:3307", "[::1]:3306", "/run/mysqld/mysqld.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("unix:/a/b".parse(), Ok(Address::Unix("/a/b".into())));
        for text in ["", "3306", "db1", "db1:", ":3306", "db1:70000", "::1:3306", "socket"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_url_is_no_address_and_its_password_is_not_repeated() {
        for text in ["mysql://u:PW1@127.0.0.1:1", "nats://u:PW1@h:4222/x", "u:PW1@127.0.0.1:1"] {
            let told = text.parse::<Address>().unwrap_err().to_string();
            assert!(told.contains("is not an address: write host:port") && !told.contains("PW1"), "{told}");
        }
    }
}
