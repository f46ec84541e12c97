//! A member logs in by a file, so that no secret stands in a command line, a log or an error.

use super::super::BusError;
use async_nats::ConnectOptions;
use std::fmt;
use std::io::{Error, ErrorKind};
use std::path::Path;

#[derive(Clone, Default)]
pub enum Login {
    /// No login is needed.
    #[default]
    Open,
    /// The text of a credentials file: a token signed by the operator, and a key.
    Credentials(String),
    /// The seed of a key.
    Key(String),
    User(String, String),
    Token(String),
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "Open",
            Self::Credentials(_) => "Credentials(..)",
            Self::Key(_) => "Key(..)",
            Self::User(..) => "User(..)",
            Self::Token(_) => "Token(..)",
        })
    }
}

impl Login {
    /// From a file, which says by its form what it is: a credentials file as `nsc` writes it, the seed of a user's key
    /// (`SU...`), `user:password`, or a token.
    ///
    /// # Errors
    /// It cannot be read, or is empty.
    pub fn read(path: &Path) -> Result<Self, BusError> {
        let failed = |error| BusError::Login { path: path.to_owned(), error };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text).ok_or_else(|| failed(Error::new(ErrorKind::InvalidData, "it is empty")))
    }

    fn parse(text: &str) -> Option<Self> {
        if text.contains("-----BEGIN NATS USER JWT-----") {
            return Some(Self::Credentials(text.to_owned()));
        }
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        let is_key = line.len() == 58 && line.starts_with("SU");
        Some(match line.split_once(':') {
            _ if is_key => Self::Key(line.to_owned()),
            Some((user, password)) => Self::User(user.to_owned(), password.to_owned()),
            None => Self::Token(line.to_owned()),
        })
    }

    pub(super) fn apply(&self, options: ConnectOptions) -> Result<ConnectOptions, BusError> {
        let wrong = |_| BusError::Down("the credentials of NATS have an unknown form".to_owned());
        Ok(match self.clone() {
            Self::Open => options,
            Self::Credentials(text) => options.credentials(&text).map_err(wrong)?,
            Self::Key(seed) => options.nkey(seed),
            Self::User(user, password) => options.user_and_password(user, password),
            Self::Token(token) => options.token(token),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_by_its_form_what_it_is_and_nothing_shows_its_secret() {
        let seed = format!("SU{}", "A".repeat(56));
        let creds = "-----BEGIN NATS USER JWT-----\nsecret\n------END NATS USER JWT------\n";
        for (text, form) in [
            ("\nsecret\n", "Token(..)"),
            ("me:secret:er\n", "User(..)"),
            (seed.as_str(), "Key(..)"),
            (creds, "Credentials(..)"),
        ] {
            let login = Login::parse(text).expect("a form");
            assert_eq!(format!("{login:?}"), form);
        }
        assert!(
            matches!(Login::parse("me:secret:er"), Some(Login::User(_, secret)) if secret == "secret:er")
        );
        assert!(Login::parse(" \n").is_none());
    }
}
