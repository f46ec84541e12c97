//! The limit to begin with, from a profile of the server behind the guard.

use super::super::Session;
use crate::config::guard::{GuardConfig, is_same};
use crate::failure::WithHint;
use crate::format;
use crate::study::stored;
use anyhow::{Result, anyhow};
use evenkeel_guard::event::Event;
use evenkeel_guard::proxy::Address;
use evenkeel_site::server::Target;
use evenkeel_study::published::kind as published_kind;
use evenkeel_study::size::{Start, start};
use evenkeel_study::store::StudyFolder;

/// What to do where a profile says nothing.
const HINT: &str = "name a profile whose rates are trusted, or a limit by `initial_limit`";

/// Puts the limit that the profile implies in the place of the configured one, and says why; nothing without a profile.
///
/// # Errors
/// There is no such profile, it cannot be read, or it trusts no rate.
pub fn set_out(session: &Session, config: &mut GuardConfig) -> Result<Option<Event>> {
    let Some(name) = config.profile.clone() else { return Ok(None) };
    // A guard needs no home for anything else.
    let home = match session.home.as_os_str().is_empty() {
        true => evenkeel_site::sandbox::default_home().hint("name a folder by --home or EVENKEEL_HOME")?,
        false => session.home.clone(),
    };
    let path = stored::path(session, Some(&home.join("runs")), &name)?;
    if let Some(kind) = published_kind(&path)? {
        return Err(anyhow!("{name} is the published study of {kind}, not a profile of a server")).hint(HINT);
    }
    let folder = StudyFolder::open(&path)?;
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    let found = start(&plan, &runs).hint(HINT)?;
    config.initial_limit = found.limit.clamp(1, config.max_limit);
    let mut reason = reason(&plan.id, &found, config.max_limit);
    if let Some(place) =
        elsewhere(plan.targets.iter().map(|target| target.url.as_str()), &config.plan.backend)
    {
        reason.push_str(&format!(
            "; the profile is of {place} and not of {}: it applies only if both are alike",
            config.plan.backend
        ));
    }
    Ok(Some(Event::Begins { limit: config.initial_limit, reason }))
}

/// What a configuration that is read again begins with: the profile is read at the start alone.
pub fn stays(old: &GuardConfig, new: GuardConfig) -> GuardConfig {
    match &new.profile {
        Some(_) => GuardConfig { initial_limit: old.initial_limit.min(new.max_limit), ..new },
        None => new,
    }
}

fn reason(study: &str, found: &Start, most: u32) -> String {
    let mut reason = format!(
        "{} requests are under way at {} and {}, the highest rate that {study} trusts (Little's law)",
        format::significant(found.in_flight, 3),
        format::rate(found.rate),
        format::time(1e3 * found.tau)
    );
    if let Some(busy) = found.busy.filter(|_| f64::from(found.limit) > found.in_flight.ceil()) {
        reason.push_str(&format!(
            "; {} at once would fill its CPUs ({} each when little is under way, full at {}), and the limit is twice that",
            format::significant(busy.saturates_at(), 3),
            format::time(1e3 * busy.alone),
            format::rate(busy.full_at)
        ));
    }
    if found.limit > most {
        reason.push_str(&format!(", and `max_limit` allows no more than {most}"));
    }
    reason
}

/// Where the profiled servers are, when it is known that none of them is the guard's: a private server has another port at each
/// start, and one socket may lead to the same server as another.
fn elsewhere<'a>(urls: impl Iterator<Item = &'a str>, backend: &Address) -> Option<String> {
    let places: Option<Vec<Address>> = urls.map(listens).collect();
    let places = places.filter(|_| !backend.is_local())?;
    let is_other = !places.iter().any(|place| place.is_local() || is_same(place, backend));
    is_other.then(|| places.first().map(Address::to_string)).flatten()
}

/// Where a server listens, from the URL that the plan has of it, in which no login matters.
fn listens(url: &str) -> Option<Address> {
    let somebody = |name: &str| (name == "USER").then(|| "somebody".to_owned());
    Some(Target::parse_with(url, &somebody).ok()?.address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_another_server_is_told_where_that_is_known() {
        let told = |urls: &[&str], backend: &str| elsewhere(urls.iter().copied(), &backend.parse().unwrap());
        let (here, there) = ("mysql://root@127.0.0.1:3307/shop", "mysql://127.0.0.1:3308/shop");
        assert_eq!(told(&[here], "127.0.0.1:3306").unwrap(), "127.0.0.1:3307");
        assert_eq!(told(&[here, there], "localhost:3308"), None);
        assert_eq!(told(&["sandbox:a"], "127.0.0.1:3306"), None);
        assert_eq!(told(&[here], "/run/mysqld.sock"), None);
        assert_eq!(told(&["mysql://root@/shop?socket=/run/a.sock"], "127.0.0.1:3306"), None);
        assert_eq!(told(&[], "127.0.0.1:3306"), None);
    }

    #[test]
    fn a_configuration_that_is_read_again_keeps_the_limit_that_the_profile_gave() {
        let new = || GuardConfig::new("127.0.0.1:3307".parse().unwrap(), "127.0.0.1:3306".parse().unwrap());
        let old = GuardConfig { initial_limit: 40, profile: Some("last".to_owned()), ..new() };
        let read = |profile: Option<&str>| GuardConfig { profile: profile.map(str::to_owned), ..new() };
        assert_eq!(stays(&old, read(Some("last"))).initial_limit, 40);
        assert_eq!(stays(&old, read(None)).initial_limit, 8);
        assert_eq!(stays(&old, GuardConfig { max_limit: 9, ..read(Some("last")) }).initial_limit, 9);
    }
}
