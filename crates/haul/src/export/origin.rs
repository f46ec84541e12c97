//! Which database of which server tables were exported from.

use evenkeel_site::server::{Control, TargetError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A database and its server, as far as a server can be known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Host and port, or the path of the socket, as the client named it.
    pub address: String,
    /// MySQL's name of the server, which no other one has.
    pub uuid: Option<String>,
    /// MariaDB's number of the server: the same for all servers of one machine that have the same port.
    pub uid: Option<String>,
    /// Name of the database.
    pub database: String,
}

impl Origin {
    /// Of what a connection sees.
    pub(super) fn of(control: &mut Control) -> Result<Self, TargetError> {
        let names = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')";
        let rows = control.query(names)?.rows;
        let value = |name: &str| {
            let row = rows.iter().find(|row| row[0].as_deref() == Some(name))?;
            row.get(1)?.clone().filter(|value| !value.is_empty())
        };
        Ok(Self {
            address: control.target().address.to_string(),
            uuid: value("server_uuid"),
            uid: value("server_uid"),
            database: control.query_value("SELECT DATABASE()")?.unwrap_or_default(),
        })
    }

    /// Whether both are one database. A server with a name of its own is the same one by whatever address; of another one the
    /// address has to be the same, too.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_server = match (&self.uuid, &other.uuid) {
            (Some(one), Some(other)) => one == other,
            (None, None) => self.address == other.address && self.uid == other.uid,
            _ => false,
        };
        is_server && self.database == other.database
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database {} at {}", self.database, self.address)?;
        match self.uuid.as_ref().or(self.uid.as_ref()) {
            Some(id) => write!(f, " (server {id})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(address: &str, uuid: Option<&str>, uid: Option<&str>, database: &str) -> Origin {
        let text = |id: Option<&str>| id.map(str::to_owned);
        Origin { address: address.into(), uuid: text(uuid), uid: text(uid), database: database.into() }
    }

    #[test]
    fn a_server_is_known_by_its_own_name_or_else_by_its_address() {
        let mysql = origin("db1:3306", Some("u"), None, "calls");
        assert!(mysql.is_same(&origin("10.0.0.1:3306", Some("u"), None, "calls")));
        assert!(!mysql.is_same(&origin("db1:3306", Some("v"), None, "calls")));
        assert!(!mysql.is_same(&origin("db1:3306", Some("u"), None, "billing")));
        let maria = origin("db1:3306", None, Some("n"), "calls");
        assert!(maria.is_same(&maria.clone()) && !maria.is_same(&mysql));
        assert!(!maria.is_same(&origin("db2:3306", None, Some("n"), "calls")));
        assert!(!maria.is_same(&origin("db1:3306", None, Some("m"), "calls")));
    }
}
