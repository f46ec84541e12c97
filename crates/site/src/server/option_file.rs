//! An option file in the style of my.cnf says in its [client] groups how to reach a server and log in to it.

use super::TargetError;
use std::path::{Path, PathBuf};

/// Groups that MariaDB's and MySQL's own clients read.
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "mysql"];

#[derive(Default, Debug, PartialEq)]
pub(super) struct ClientOptions {
    pub user: Option<String>,
    pub password: Option<String>,
    pub host: Option<String>,
    pub port: Option<u16>,
    pub socket: Option<PathBuf>,
}

impl ClientOptions {
    pub(super) fn read(path: &Path) -> Result<Self, TargetError> {
        let fail = |reason: String| TargetError::OptionFile { path: path.into(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        Self::parse(&text).map_err(fail)
    }

    /// Later lines win, as with the servers' own clients. Other groups and options are not ours to judge.
    fn parse(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        let mut inside = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(group) = line.strip_prefix('[') {
                let group = group.split_once(']').ok_or(format!("line {}: '[' without ']'", index + 1))?.0;
                inside = GROUPS.contains(&group.trim());
            } else if inside && !line.starts_with(['#', ';', '!']) {
                options.set(line).map_err(|reason| format!("line {}: {reason}", index + 1))?;
            }
        }
        Ok(options)
    }

    fn set(&mut self, line: &str) -> Result<(), String> {
        let Some((name, value)) = line.split_once('=') else { return Ok(()) };
        let value = unquote(value);
        match name.trim() {
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "host" => self.host = Some(value),
            "port" => self.port = Some(port_number(&value)?),
            "socket" => self.socket = Some(value.into()),
            _ => {}
        }
        Ok(())
    }
}

pub(super) fn port_number(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("port {text:?} is not between 1 and 65535")),
        Ok(port) => Ok(port),
    }
}

/// Quotes hold blanks and '#'; outside of them '#' after a blank begins a comment.
fn unquote(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return inner.into();
        }
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_group_is_read_and_others_are_not() {
        let text = "# mine\n[mysqld]\nuser=mysql\nport=1\n[client]\nuser = ann\npassword=\"p #1\"\n\
                    host=db # where\nssl\n[mysqldump]\nuser=x\n[client-mariadb]\nport=3310\nsocket=/s\n";
        let options = ClientOptions::parse(text).unwrap();
        let expected = ClientOptions {
            user: Some("ann".into()),
            password: Some("p #1".into()),
            host: Some("db".into()),
            port: Some(3310),
            socket: Some("/s".into()),
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn a_wrong_line_is_named_by_its_number() {
        assert!(ClientOptions::parse("[client]\nport=x").unwrap_err().starts_with("line 2: port"));
        assert!(ClientOptions::parse("\n\n[client").unwrap_err().starts_with("line 3"));
    }
}
