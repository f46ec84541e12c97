//! A schema on a server of the user's, for the tables of the jobs.

use super::tables::COMMENT;
use crate::published::{PublishedError, Result, While};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, literal, quoted};

/// Holds the schema for us; it goes when this is dropped.
pub struct Schema {
    name: String,
    control: Control,
}

impl Schema {
    /// Makes it. One that a killed study left is made anew.
    ///
    /// # Errors
    /// Another study works in it, or it has something that is not ours.
    pub fn make(target: &Target, name: &str, stop: &Stop) -> Result<Self> {
        let nowhere = Target { database: None, ..target.clone() };
        // Goes on after a stop, to take away what it made.
        let mut control = Control::connect_to_finish(&nowhere, stop)?;
        let text = literal(name.as_bytes());
        let refuse = |what: String, hint: &str| Err(PublishedError::with_hint(what, hint));
        // As long as the connection is there, which has nothing to do until the end.
        control.exec("SET SESSION wait_timeout = 31536000")?;
        if control.query_value(&format!("SELECT GET_LOCK({text}, 5)"))?.as_deref() != Some("1") {
            let what = format!("another study works in the schema {name} of {nowhere}");
            return refuse(what, "wait for its end, or name another schema by --scratch");
        }
        let foreign = control.query_value(&format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {text} AND table_comment <> '{COMMENT}' \
             UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = {text} \
             UNION ALL SELECT event_name FROM information_schema.events WHERE event_schema = {text} LIMIT 1"
        ))?;
        if let Some(foreign) = foreign {
            let what = format!("the schema {name} of {nowhere} has {foreign}, which interfere did not make");
            return refuse(
                what,
                "--scratch names a schema that is made and dropped: name one that does not exist",
            );
        }
        let mut schema = Self { name: name.to_owned(), control };
        schema.drop_all().doing(|| format!("dropping what was left of the schema {name}"))?;
        let made = schema.control.exec(&format!("CREATE DATABASE {}", quoted(name)));
        made.doing(|| format!("making the schema {name}; the account needs all privileges on it"))?;
        Ok(schema)
    }

    fn drop_all(&mut self) -> Result<()> {
        self.control.exec(&format!("DROP DATABASE IF EXISTS {}", quoted(&self.name)))?;
        Ok(())
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // Where the server is gone, the next study with this schema drops it.
        let _ = self.drop_all();
    }
}
