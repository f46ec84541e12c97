//! Which servers the study measures.

use crate::command::Session;
use crate::failure::WithHint;
use crate::server::place;
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_site::sandbox;
use evenkeel_site::server::{Target, without_password};
use evenkeel_study::variation::record::{PRIVATE, TargetRecord};

/// Private servers unless others are named.
const SERVERS: usize = 2;

/// Servers in their order.
pub fn targets(session: &Session, urls: &[String], resets: &[String]) -> Result<Vec<TargetRecord>> {
    if let Some(stranger) = resets.iter().find(|text| !urls.iter().any(|url| is_of(text, url))) {
        return Err(anyhow!("reset={stranger:?} belongs to none of the servers"))
            .hint("it begins with a URL as url= has it, followed by = and the command");
    }
    let private = vec![PRIVATE.to_owned(); SERVERS];
    let urls = if urls.is_empty() { &private } else { urls };
    let mut found = Vec::new();
    for (at, url) in urls.iter().enumerate() {
        if url != PRIVATE {
            check(session, url)?;
        }
        let reset = reset_of(resets, url)?;
        found.push(TargetRecord { name: format!("t{}", at + 1), url: url.clone(), reset });
    }
    Ok(found)
}

/// A server that is not there, or a password that would be kept, is told before anything starts.
fn check(session: &Session, text: &str) -> Result<()> {
    if let Some((name, _)) = place::named(text, "") {
        let found = sandbox::find(&session.home, name);
        found.map(drop).with_context(|| format!("looking for sandbox {name}"))?;
        return Ok(());
    }
    Target::parse(text)?;
    let without = without_password(text);
    if without != *text {
        return Err(anyhow!("the URL of {without} has a password in it, which the study would keep"))
            .hint("give it by EVENKEEL_PASSWORD, or by ?defaults-file=FILE in the URL");
    }
    Ok(())
}

/// Refuses a workload of the user's own that writes or locks on servers that may have other users, unless that is allowed.
pub fn check_writes(session: &Session, urls: &[String], workload: &str, is_allowed: bool) -> Result<()> {
    for url in urls.iter().filter(|url| place::is_of_others(url) && !is_allowed) {
        let target = place::target(session, url, workload)?;
        let asked = (url.as_str(), workload, is_allowed);
        let workload = place::remote_workload(session, workload, &target)?;
        place::check_writes(session, asked, &target, workload.as_ref())?;
    }
    Ok(())
}

/// Whether a reset is that of this server.
fn is_of(reset: &str, url: &str) -> bool {
    reset.strip_prefix(url).is_some_and(|rest| rest.starts_with('='))
}

/// The command behind a server's URL.
fn reset_of(resets: &[String], url: &str) -> Result<Option<String>> {
    let own: Vec<&String> = resets.iter().filter(|reset| is_of(reset, url)).collect();
    match own.as_slice() {
        [] => Ok(None),
        _ if url.starts_with("sandbox:") => bail!("reset= for {url}: sandboxes are restarted anyway"),
        [one] if !one[url.len() + 1..].trim().is_empty() => Ok(Some(one[url.len() + 1..].to_owned())),
        [_] => Err(anyhow!("reset= for {url} has no command")).hint("write it as reset='URL=COMMAND'"),
        _ => Err(anyhow!("there are several reset= for {url}")).hint("give one command for each server"),
    }
}
