//! Whether two targets are one server under two names.

use crate::published::{PublishedError, Result};
use crate::store::format::ServerRecord;
use evenkeel_os::clock::unix_time;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target, TargetError};

/// Where a server says that it is. Machines that were cloned may say the same, so that this alone settles nothing.
const PLACE: [&str; 4] = ["hostname", "port", "datadir", "socket"];

/// Refuses targets that are one server; `is_one` is asked of pairs that say that they are in the same place.
pub(super) fn each_once(
    targets: &[(String, &ServerRecord)],
    is_one: &dyn Fn(usize, usize) -> Result<bool>,
) -> Result<()> {
    for (at, (one, record)) in targets.iter().enumerate() {
        for (before, (other, against)) in targets[..at].iter().enumerate() {
            if in_one_place(record, against) && is_one(before, at)? {
                return Err(PublishedError::with_hint(
                    format!("{other} and {one} are one server"),
                    "name each server once; its starts and runs show how a server differs from itself",
                ));
            }
        }
    }
    Ok(())
}

/// One that does not tell where it is may be anywhere.
fn in_one_place(one: &ServerRecord, other: &ServerRecord) -> bool {
    PLACE.iter().all(|name| {
        let (one, other) = (one.variables.get(*name), other.variables.get(*name));
        one.is_some_and(|value| !value.is_empty()) && one == other
    })
}

/// Whether a lock that is taken by one name is seen as taken by the other. Where locks are refused, as by some proxies, the place
/// that both tell has to do.
pub(super) fn share_locks(one: &Target, other: &Target, stop: &Stop) -> Result<bool> {
    let lock = format!("evenkeel_{}_{}", std::process::id(), unix_time().as_nanos());
    let mut holder = Control::connect_until(one, stop)?;
    let mut observer = Control::connect_until(other, stop)?;
    let taken = holder.query_value(&format!("SELECT GET_LOCK('{lock}', 0)"));
    match taken.and_then(|_| observer.query_value(&format!("SELECT IS_USED_LOCK('{lock}')"))) {
        Ok(holder) => Ok(holder.is_some()),
        Err(TargetError::Statement { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_under_two_names_is_no_pair_and_clones_in_like_places_are() {
        let at = |port: &str| {
            let place = [("hostname", "db"), ("port", port), ("datadir", "/data/"), ("socket", "/run/s")];
            let variables = place.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            ServerRecord { variables, ..ServerRecord::default() }
        };
        let (one, other, unknown) = (at("3306"), at("3307"), ServerRecord::default());
        let pair = |one, other, found: bool| {
            each_once(&[("t1".to_owned(), one), ("t2".to_owned(), other)], &|_, _| Ok(found))
        };
        let text = pair(&one, &one, true).unwrap_err().to_string();
        assert!(text.contains("t1 and t2 are one server"), "{text}");
        pair(&one, &one, false).unwrap();
        pair(&one, &other, true).unwrap();
        pair(&unknown, &unknown, true).unwrap();
    }
}
