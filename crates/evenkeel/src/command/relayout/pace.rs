//! How long a relayout takes, by what it has done: the tables before, and the part of this one.

use crate::format;
use crate::progress::ProgressEvent;
use evenkeel_site::relayout::Progress;

/// Below this share, and this time, a part says little of the whole.
const SHARE_LEAST: f64 = 0.05;
const SECONDS_LEAST: f64 = 0.5;
/// A smaller table takes what any takes, and tells no pace.
const BYTES_LEAST: u64 = 16 << 20;

/// Bytes of new files, and the time that they took.
#[derive(Debug)]
pub struct Pace {
    left_bytes: u64,
    done_bytes: u64,
    took_s: f64,
}

impl Pace {
    /// Before tables of so many bytes.
    pub fn new(left_bytes: u64) -> Self {
        Self { left_bytes, done_bytes: 0, took_s: 0.0 }
    }

    pub fn add(&mut self, bytes: u64, took_s: f64) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        if bytes >= BYTES_LEAST {
            self.done_bytes += bytes;
            self.took_s += took_s;
        }
    }

    /// What so many bytes take; `None` before the first table of some size is done.
    fn seconds_of(&self, bytes: u64) -> Option<f64> {
        (self.done_bytes > 0).then(|| bytes as f64 * self.took_s / self.done_bytes as f64)
    }

    /// What is said before a table.
    pub fn told(&self, table: &str, bytes: u64) -> String {
        let seconds = |bytes| self.seconds_of(bytes).map(|seconds| format::seconds(seconds.ceil()));
        let left = format!("{table}: {} to build", format::bytes(bytes));
        match (seconds(bytes), seconds(self.left_bytes)) {
            (Some(own), Some(all)) if self.left_bytes > bytes => {
                format!("{left}, about {own}; all that is left: about {all}")
            }
            (Some(own), _) => format!("{left}, about {own}"),
            (None, _) => format!("{left}; time left is shown once it is running"),
        }
    }

    /// A table under way.
    pub fn event(&self, table: &str, bytes: u64, progress: Progress) -> ProgressEvent {
        let Progress { elapsed_s, built_bytes, share } = progress;
        let known = share.filter(|share| *share >= SHARE_LEAST && elapsed_s >= SECONDS_LEAST);
        let whole_s = known.map(|share| elapsed_s / share).or_else(|| self.seconds_of(bytes));
        let others = self.left_bytes.saturating_sub(bytes) as f64 / bytes.max(1) as f64;
        let left_s = whole_s.map(|whole_s| (whole_s - elapsed_s).max(0.0) + others * whole_s);
        ProgressEvent::Rebuilding { table: table.to_owned(), share, elapsed_s, built_bytes, left_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_table_tells_the_time_of_it_and_of_those_behind_it() {
        const MIB: u64 = 1 << 20;
        let mut pace = Pace::new(400 * MIB);
        let at = |share, elapsed_s| Progress { elapsed_s, built_bytes: None, share };
        let left = |pace: &Pace, progress| match pace.event("a", 100 * MIB, progress) {
            ProgressEvent::Rebuilding { left_s, .. } => left_s,
            _ => None,
        };
        assert_eq!(left(&pace, at(None, 9.0)), None);
        assert_eq!(left(&pace, at(Some(0.01), 9.0)), None);
        assert_eq!(left(&pace, at(Some(0.25), 1.0)), Some(15.0));
        pace.add(MIB, 9.0);
        assert_eq!(pace.seconds_of(MIB), None);
        pace.add(99 * MIB, 99.0 / 25.0);
        assert_eq!(left(&pace, at(None, 1.0)), Some(11.0));
        assert!(pace.told("b", 100 * MIB).contains("about 4 s; all that is left: about 12 s"));
    }
}
