//! Servers of the user's: which they are, and that they may be written to.

use crate::command::Session;
use crate::failure::WithHint;
use crate::server::place;
use anyhow::{Result, anyhow};
use evenkeel_site::server::{Control, Target};

/// A server with the database of the ledger's table.
pub fn target(session: &Session, text: &str) -> Result<Target> {
    let target = match text.starts_with("sandbox:") {
        true if !text.contains('/') => {
            return Err(anyhow!("{text} names no database")).hint(format!("name it: {text}/DATABASE"));
        }
        true => place::target(session, text, "")?,
        false => Target::parse(text)?,
    };
    place::named_database(&target)?;
    Ok(target)
}

/// The same of each; a server that is no sandbox is written to where it is confirmed by the name of its host.
pub fn targets(session: &Session, texts: &[String], names: &[String]) -> Result<Vec<Target>> {
    let confirmed = |text: &String| {
        let target = target(session, text)?;
        if !text.starts_with("sandbox:") {
            confirm(session, &target, names)?;
        }
        Ok(target)
    };
    texts.iter().map(confirmed).collect()
}

fn confirm(session: &Session, target: &Target, names: &[String]) -> Result<()> {
    let mut control = Control::connect_until(target, &session.stop)?;
    let host = control.query_value("SELECT @@hostname")?.unwrap_or_default();
    match names.contains(&host) {
        true => Ok(()),
        false => Err(anyhow!("{target} is on {host}, and writers would write to it"))
            .hint(format!("if that is no production server, say so by its name: --staging {host}")),
    }
}
