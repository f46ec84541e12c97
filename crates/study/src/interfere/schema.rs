//! A schema on a server of the user's, for the tables of the jobs.

use super::tables::COMMENT;
use crate::published::{PublishedError, Result, While};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TargetError, literal, quoted};

/// Codes of a statement that a server does not know, and that an account may not ask.
const SYNTAX: u16 = 1064;
const DENIED: u16 = 1227;
const NO_REPLICA: &str = "rows of interfere would break a replica: name its source or another server, and GRANT REPLICA MONITOR ON *.* to \
                          the account (REPLICATION CLIENT for MySQL, and MariaDB before 10.5)";

/// Holds the schema for us; it goes when this is dropped.
pub struct Schema {
    name: String,
    is_ours: bool,
    server: Target,
    stop: Stop,
    control: Control,
}

impl Schema {
    /// Makes it; one with tables of a study that was killed is made anew.
    /// Errors: another study works in it, or there is one that is not ours.
    pub fn make(target: &Target, name: &str, stop: &Stop) -> Result<Self> {
        let nowhere = Target { database: None, ..target.clone() };
        // Goes on after a stop, to take away what it made.
        let control = Control::connect_to_finish(&nowhere, stop)?;
        let (server, stop) = (nowhere.clone(), stop.clone());
        let mut schema = Self { name: name.to_owned(), is_ours: false, server, stop, control };
        schema.check_stands_alone(&nowhere)?;
        let text = literal(name.as_bytes());
        if !schema.lock()? {
            let what = format!("another study or --server works in the schema {name} of {nowhere}");
            let hint = "wait for its end, or name another schema by --scratch";
            return Err(PublishedError::with_hint(what, hint));
        }
        let empty = schema.control.query_value(&format!(
            "SELECT 'no table' FROM information_schema.schemata WHERE schema_name = {text} \
             AND NOT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = {text})"
        ))?;
        if let Some(found) = empty.or(schema.foreign()?) {
            let what =
                format!("the schema {name} of {nowhere} is there, and not made by interfere: it has {found}");
            let hint = "--scratch names a schema that is made and dropped: name one that does not exist";
            return Err(PublishedError::with_hint(what, hint));
        }
        // Its first table marks it as ours, should this process be killed before the jobs have theirs.
        let (name_of, mark) = (quoted(name), format!("(made_by INT PRIMARY KEY) COMMENT = '{COMMENT}'"));
        for sql in [
            format!("DROP DATABASE IF EXISTS {name_of}"),
            format!("CREATE DATABASE {name_of}"),
            format!("CREATE TABLE {name_of}.interfere {mark}"),
        ] {
            let made = schema.control.exec(&sql);
            made.doing(|| format!("making the schema {name}; the account needs all privileges on it"))?;
        }
        schema.is_ours = true;
        Ok(schema)
    }

    /// What is written to a replica breaks it, at the latest when the same comes from its source.
    fn check_stands_alone(&mut self, server: &Target) -> Result<()> {
        let set = self.control.query_value(
            "SHOW GLOBAL VARIABLES WHERE variable_name IN ('read_only', 'super_read_only', 'wsrep_on') AND value <> 'OFF'",
        )?;
        let mut why = set.map(|variable| format!("{server} has {variable} on"));
        // Not every line of servers knows each.
        for sql in ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"] {
            match self.control.query(sql) {
                Err(TargetError::Statement { code: SYNTAX, .. }) => continue,
                Err(TargetError::Statement { code: DENIED, .. }) => {
                    why.get_or_insert(format!("cannot see whether {server} is a replica"));
                }
                Ok(channels) if channels.rows.is_empty() => {}
                Ok(_) => why = Some(format!("{server} is a replica")),
                Err(error) => return Err(error.into()),
            }
            break;
        }
        why.map_or(Ok(()), |what| Err(PublishedError::with_hint(what, NO_REPLICA)))
    }

    /// As long as the connection is there, which has nothing to do until the end.
    fn lock(&mut self) -> Result<bool, TargetError> {
        self.control.exec("SET SESSION wait_timeout = 31536000")?;
        let sql = format!("SELECT GET_LOCK({}, 5)", literal(self.name.as_bytes()));
        Ok(self.control.query_value(&sql)?.as_deref() == Some("1"))
    }

    /// Drops it, but for what others put into it.
    fn remove(&mut self) -> Result<(), TargetError> {
        match self.foreign()? {
            None => self.control.exec(&format!("DROP DATABASE {}", quoted(&self.name))).map(drop),
            Some(_) => Ok(()),
        }
    }

    /// The same where the idle connection was cut, unless another study has the schema by now.
    fn remove_anew(&mut self) -> Result<(), TargetError> {
        self.control = Control::connect_to_finish(&self.server, &self.stop)?;
        if self.lock()? { self.remove() } else { Ok(()) }
    }

    /// What there is in it that interfere did not make.
    fn foreign(&mut self) -> Result<Option<String>, TargetError> {
        let text = literal(self.name.as_bytes());
        self.control.query_value(&format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {text} AND table_comment <> '{COMMENT}' \
             UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = {text} \
             UNION ALL SELECT event_name FROM information_schema.events WHERE event_schema = {text} LIMIT 1"
        ))
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // Where the server is gone, the next study with this schema drops it.
        if self.is_ours && self.remove().is_err() {
            let _ = self.remove_anew();
        }
    }
}
