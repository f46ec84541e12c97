//! Server status is read again and again, in a way that can be told from the load.

use super::{Control, Flavor, TargetError};
use std::collections::BTreeMap;

/// Whose status is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusOf {
    /// The whole server's.
    Server,
    /// That of the session that asks. Variables that a server keeps only as a whole are the whole's here too.
    Session,
}

impl Control {
    /// Status by name, in any case of letters; of these names alone, where there are some: a third of the price.
    ///
    /// A server does not count SHOW STATUS in the status of the session that asks, only in the whole. MariaDB is
    /// therefore asked by a SELECT, which it does count; MySQL keeps such tables where its performance schema is on,
    /// so that there it is SHOW STATUS, a few of whose own temporary tables stay in the whole.
    pub fn status_of(
        &mut self,
        whose: StatusOf,
        names: &[&str],
    ) -> Result<BTreeMap<String, String>, TargetError> {
        let names = match names {
            [] => String::new(),
            names => format!(" WHERE VARIABLE_NAME IN ('{}')", names.join("', '")),
        };
        let scope = match whose {
            StatusOf::Server => "GLOBAL",
            StatusOf::Session => "SESSION",
        };
        let sql = match self.version().flavor {
            Flavor::MariaDb => {
                format!("SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.{scope}_STATUS{names}")
            }
            Flavor::MySql => format!("SHOW {scope} STATUS{names}"),
        };
        Ok(self.query(&sql)?.pairs().collect())
    }
}
