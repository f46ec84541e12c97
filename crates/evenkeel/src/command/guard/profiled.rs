//! The limit to begin with, from a profile of the server behind the guard.

use super::super::Session;
use crate::config::guard::GuardConfig;
use crate::failure::WithHint;
use crate::format;
use crate::study::stored;
use anyhow::{Result, anyhow};
use evenkeel_guard::event::Event;
use evenkeel_study::published::kind as published_kind;
use evenkeel_study::size::{Start, start};
use evenkeel_study::store::StudyFolder;

/// What to do where a profile says nothing.
const HINT: &str = "name a profile whose rates are trusted, or a limit by --initial-limit";

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
        return Err(anyhow!("{name} is the published study of {kind}, and no profile of a server"))
            .hint(HINT);
    }
    let folder = StudyFolder::open(&path)?;
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    let found = start(&plan, &runs).hint(HINT)?;
    config.initial_limit = found.limit.clamp(1, config.max_limit);
    Ok(Some(Event::Begins {
        limit: config.initial_limit,
        reason: reason(&plan.id, &found, config.max_limit),
    }))
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
    if let Some(cpus) = found.cpus.filter(|cpus| *cpus > found.in_flight) {
        reason.push_str(&format!(
            ", and fewer than its {} CPUs would leave some idle",
            format::significant(cpus, 1)
        ));
    }
    if found.limit > most {
        reason.push_str(&format!(", and `max_limit` allows no more than {most}"));
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: Start = Start { limit: 3, rate: 175.0, tau: 0.0133, in_flight: 2.33, cpus: Some(1.0) };

    #[test]
    fn the_reason_names_the_profile_and_what_bounds_the_limit() {
        let why = reason("20261121", &FOUND, 1_024);
        assert_eq!(
            why,
            "2.33 requests are under way at 175/s and 13.3 ms, the highest rate that 20261121 trusts (Little's law)"
        );
        assert!(
            reason("a", &Start { cpus: Some(8.0), limit: 8, ..FOUND }, 1_024)
                .ends_with("its 8 CPUs would leave some idle")
        );
        assert!(
            reason("a", &Start { limit: 99, ..FOUND }, 64).ends_with("`max_limit` allows no more than 64")
        );
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
