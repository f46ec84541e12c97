//! How long a disk takes to say that a small append is on it.

use super::inside::{Question, ask};
use super::place::Place;
use crate::published::{Result, While};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flush {
    pub flushes: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// Bytes that are appended before each flush, as a log has them.
const APPENDED: [u8; 512] = [b'x'; 512];

/// Appends to a file, and flushes it by fdatasync, for so long.
///
/// # Errors
/// The file cannot be written.
pub fn flush(place: &Place, time: Duration, stop: &Stop) -> Result<Option<Flush>> {
    let file = place.file("flush.probe");
    ask(place, &Question::Flush { file: file.path().to_owned(), time }, time, stop)
}

/// Measures in this process.
pub(super) fn measure(path: &Path, time: Duration) -> Result<Flush> {
    let mut file = File::create(path).doing(|| format!("making {}", path.display()))?;
    let (until, mut took_ms) = (monotonic() + Nanos::from(time), Vec::new());
    while monotonic() < until || took_ms.is_empty() {
        file.write_all(&APPENDED).doing(|| format!("writing to {}", path.display()))?;
        let began = monotonic();
        file.sync_data().doing(|| format!("flushing {}", path.display()))?;
        took_ms.push((monotonic() - began).as_secs_f64() * 1e3);
    }
    took_ms.sort_by(f64::total_cmp);
    let quantile = |part: f64| took_ms[((took_ms.len() - 1) as f64 * part).round() as usize];
    Ok(Flush { flushes: took_ms.len() as u64, p50_ms: quantile(0.5), p99_ms: quantile(0.99) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_are_counted_and_the_slow_ones_are_no_faster_than_the_middle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let flush = measure(&path, Duration::from_millis(50)).unwrap();
        assert!(flush.flushes >= 1 && flush.p50_ms <= flush.p99_ms, "{flush:?}");
        assert_eq!(path.metadata().unwrap().len(), flush.flushes * 512);
    }
}
