//! Offsets of a time zone from UTC.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// From which second since 1970 on the clock is so many seconds ahead of UTC.
pub type Offsets = Arc<[(i64, i64)]>;

/// Years of which the offsets are known.
const YEARS: i64 = 80;

/// Of a zone as Europe/Berlin, by the zone files of this machine.
/// Errors: it has none of this name.
pub fn offsets(name: &str) -> Result<Offsets, String> {
    let zone = TimeZone::get(name).map_err(|error| format!("zone = \"{name}\": {error}"))?;
    let end = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(YEARS * 8_766);
    let first = (0, i64::from(zone.to_offset(Timestamp::UNIX_EPOCH).seconds()));
    let later = zone.following(Timestamp::UNIX_EPOCH).take_while(|next| next.timestamp() < end);
    let later = later.map(|next| (next.timestamp().as_second(), i64::from(next.offset().seconds())));
    Ok(std::iter::once(first).chain(later).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summer_time_begins_and_ends_by_the_zone() {
        let berlin = offsets("Europe/Berlin").unwrap();
        for change in [(1_774_746_000, 7_200), (1_792_890_000, 3_600)] {
            assert!(berlin.contains(&change), "{change:?}");
        }
        assert_eq!(*offsets("UTC").unwrap(), [(0, 0)]);
        assert!(offsets("Europe/Nowhere").unwrap_err().contains("Europe/Nowhere"));
    }
}
