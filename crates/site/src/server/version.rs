//! A server is of a line, MariaDB or MySQL, and of a version.

use super::TargetError;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavor {
    MariaDb,
    /// Oracle's MySQL, Percona Server and others of that line.
    MySql,
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    pub flavor: Flavor,
    pub numbers: (u16, u16, u16),
    /// As the server says it.
    pub text: String,
}

impl ServerVersion {
    /// Reads what `SELECT VERSION()` answers; `None` where no number leads it.
    pub fn parse(text: &str) -> Option<Self> {
        let flavor = match text.to_ascii_lowercase().contains("mariadb") {
            true => Flavor::MariaDb,
            false => Flavor::MySql,
        };
        // MariaDB's handshake may carry "5.5.5-" in front for the sake of old replicas.
        let bare = match flavor {
            Flavor::MariaDb => text.strip_prefix("5.5.5-").unwrap_or(text),
            Flavor::MySql => text,
        };
        let mut numbers = bare.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u16>);
        let major = numbers.next()?.ok()?;
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
        Some(Self { flavor, numbers: (major, next(), next()), text: text.into() })
    }

    /// Refuses what is older than MariaDB 10.3 or MySQL 5.7; `address` is for the error.
    pub(super) fn check(&self, address: &str) -> Result<(), TargetError> {
        let oldest = match self.flavor {
            Flavor::MariaDb => (10, 3, 0),
            Flavor::MySql => (5, 7, 0),
        };
        match self.numbers >= oldest {
            true => Ok(()),
            false => Err(TargetError::TooOld { address: address.to_owned(), version: self.text.clone() }),
        }
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.numbers;
        write!(f, "{} {major}.{minor}.{patch}", self.flavor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_both_lines_are_read() {
        for (text, printed, supported) in [
            ("10.11.19-MariaDB-0+deb12u1", "MariaDB 10.11.19", true),
            ("5.5.5-10.3.39-MariaDB-log", "MariaDB 10.3.39", true),
            ("10.2.44-MariaDB", "MariaDB 10.2.44", false),
            ("11.4.2-MariaDB-ubu2404", "MariaDB 11.4.2", true),
            ("5.7.44", "MySQL 5.7.44", true),
            ("8.0.35-27", "MySQL 8.0.35", true),
            ("5.6.51-log", "MySQL 5.6.51", false),
            ("9.1", "MySQL 9.1.0", true),
        ] {
            let version = ServerVersion::parse(text).unwrap();
            let words = "the server at db is 5.6.51-log, which is too old: need MariaDB 10.3 or MySQL 5.7";
            let refused = version.check("db").err().map(|error| error.to_string());
            assert_eq!(refused, (!supported).then(|| words.replace("5.6.51-log", text)));
            assert_eq!((version.to_string().as_str(), version.text.as_str()), (printed, text));
        }
    }
}
