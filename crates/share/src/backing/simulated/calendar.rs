//! The file of a simulated array: what it is like, and until when its spindles have work, for all processes that use it.

use evenkeel_core::share::{ArrayPlan, Cache, Calendar, Cost, Service};
use evenkeel_os::clock::monotonic;
use evenkeel_os::{SharedWords, replace};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// First word of the file: its kind and version.
const MAGIC: u64 = u64::from_le_bytes(*b"EVKARR02");
/// Words: magic, and as f64 spindles, mean, kind of service, its spread, cost per byte, cost of a write, and of the cache whether
/// there is one, its answer, how far it may be behind, its flush.
const HEADER: usize = 11;
/// Word of the instant until which something is owed; those of the spindles follow.
const OWED: usize = 16;
/// Most spindles of an array.
const SPINDLES_MAX: usize = 4_096;
/// Work further ahead than this is of before a restart of the machine, when its clock began anew.
const AHEAD_NS: u64 = 600 * 1_000_000_000;

#[derive(Debug, thiserror::Error)]
pub enum ArrayError {
    #[error("simulated array {path}: {source}")]
    File { path: String, source: io::Error },
    #[error("{0} is not a simulated array of this version")]
    Format(String),
    #[error("simulated array: {0}")]
    Plan(&'static str),
}

/// Makes the file of an array in place of what is there; who uses an array that was there goes on with it.
pub fn create(path: &Path, plan: &ArrayPlan) -> Result<(), ArrayError> {
    check(plan)?;
    let file = |source| ArrayError::File { path: path.display().to_string(), source };
    let mut words = header(plan);
    words.resize(OWED + 1 + plan.spindles, 0);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    replace(path, &bytes).map_err(file)
}

/// What the array of a file is like, and its calendar.
pub fn open(path: &Path) -> Result<(ArrayPlan, SharedCalendar), ArrayError> {
    let name = || path.display().to_string();
    let failed = |source| ArrayError::File { path: name(), source };
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    // A pipe would be waited for.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(ArrayError::Format(name()));
    }
    let mut bytes = [0_u8; HEADER * 8];
    file.read_exact(&mut bytes).map_err(|_| ArrayError::Format(name()))?;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let words: [u64; HEADER] = std::array::from_fn(|place| word(&bytes[8 * place..][..8]));
    let plan = plan(words).filter(|plan| check(plan).is_ok()).ok_or_else(|| ArrayError::Format(name()))?;
    let words = SharedWords::map(file, OWED + 1 + plan.spindles).map_err(|_| ArrayError::Format(name()))?;
    Ok((plan, SharedCalendar { words: Arc::new(words) }))
}

fn check(plan: &ArrayPlan) -> Result<(), ArrayError> {
    let cache = plan.cache.map_or([0.0; 3], |cache| [cache.answer_s, cache.behind_s, cache.flush_s]);
    let spread = if let Service::Uniform(half) = plan.service { half } else { 0.0 };
    let limits = [
        ((1..=SPINDLES_MAX).contains(&plan.spindles), "1 to 4,096 spindles are possible"),
        ((1e-6..=10.0).contains(&plan.mean_s), "a mean service time between 1 us and 10 s is possible"),
        ((0.0..=1.0).contains(&spread), "service times spread by 0 to 1 of their mean"),
        (
            (0.0..=1.0).contains(&plan.cost.per_byte) && (0.01..=100.0).contains(&plan.cost.write),
            "a write costs 0.01 to 100 reads, and a byte 0 or more",
        ),
        (
            cache.iter().all(|seconds| (0.0..=60.0).contains(seconds)),
            "times of a cache lie between 0 and 60 s",
        ),
    ];
    let broken = limits.into_iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |(_, limit)| Err(ArrayError::Plan(limit)))
}

fn header(plan: &ArrayPlan) -> Vec<u64> {
    let (kind, spread) = match plan.service {
        Service::Exponential => (0.0, 0.0),
        Service::Uniform(half) => (1.0, half),
    };
    let Cost { per_byte, write } = plan.cost;
    let cache = plan.cache.unwrap_or(Cache { answer_s: 0.0, behind_s: 0.0, flush_s: 0.0 });
    let Cache { answer_s, behind_s, flush_s } = cache;
    let (spindles, cached) = (plan.spindles as f64, f64::from(u8::from(plan.cache.is_some())));
    let numbers = [spindles, plan.mean_s, kind, spread, per_byte, write, cached, answer_s, behind_s, flush_s];
    [&[MAGIC][..], &numbers.map(f64::to_bits)].concat()
}

fn plan(words: [u64; HEADER]) -> Option<ArrayPlan> {
    let [_, spindles, mean_s, kind, spread, per_byte, write, cached, answer_s, behind_s, flush_s] =
        words.map(f64::from_bits);
    (words[0] == MAGIC).then_some(ArrayPlan {
        spindles: spindles as usize,
        mean_s,
        service: if kind == 0.0 { Service::Exponential } else { Service::Uniform(spread) },
        cost: Cost { per_byte, write },
        cache: (cached != 0.0).then_some(Cache { answer_s, behind_s, flush_s }),
    })
}

/// A calendar in the memory of all processes that use an array, on the clock that they share.
#[derive(Clone, Debug)]
pub struct SharedCalendar {
    words: Arc<SharedWords>,
}

impl SharedCalendar {
    /// The present instant, in seconds by the clock that processes share.
    pub fn now_s() -> f64 {
        monotonic().as_secs_f64()
    }

    /// Whether its file still has it all.
    pub fn is_whole(&self) -> bool {
        self.words.are_whole()
    }

    fn word(&self, place: usize) -> &AtomicU64 {
        &self.words.words()[place]
    }
}

/// What a word says, unless it is of before a restart.
fn sane(until: u64, now: u64) -> u64 {
    if until > now.saturating_add(AHEAD_NS) { now } else { until }
}

impl Calendar for SharedCalendar {
    fn add(&mut self, spindle: usize, now_s: f64, service_s: f64) -> (f64, f64) {
        let (now, service) = ((now_s * 1e9) as u64, (service_s * 1e9) as u64);
        let begin = |until: u64| sane(until, now).max(now);
        let word = self.word(OWED + 1 + spindle);
        // The closure always gives a value, so the old one is given in either case.
        let old =
            word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| Some(begin(until) + service));
        let begun = begin(old.unwrap_or_else(|old| old));
        (begun as f64 / 1e9, (begun + service) as f64 / 1e9)
    }

    fn owe(&mut self, until_s: f64) {
        let now = monotonic().0;
        let until = (until_s * 1e9) as u64;
        let _ = self
            .word(OWED)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(sane(old, now).max(until)));
    }

    fn owed_until_s(&self) -> f64 {
        sane(self.word(OWED).load(Ordering::Relaxed), monotonic().0) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: ArrayPlan = ArrayPlan {
        spindles: 10,
        mean_s: 0.0029,
        service: Service::Uniform(0.6),
        cost: Cost { per_byte: 0.0, write: 4.0 },
        cache: Some(Cache { answer_s: 0.0002, behind_s: 0.1, flush_s: 0.001 }),
    };

    #[test]
    fn an_array_is_read_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array");
        for plan in [PLAN, ArrayPlan { service: Service::Exponential, cache: None, ..PLAN }] {
            create(&path, &plan).unwrap();
            assert_eq!(open(&path).unwrap().0, plan);
        }
        std::fs::write(
            &path,
            b"something else that is long enough to have a header of eleven words of eight bytes",
        )
        .unwrap();
        assert!(matches!(open(&path), Err(ArrayError::Format(_))));
        assert!(matches!(open(&folder.path().join("none")), Err(ArrayError::File { .. })));
        assert!(matches!(create(&path, &ArrayPlan { spindles: 0, ..PLAN }), Err(ArrayError::Plan(_))));
        assert!(matches!(create(&path, &ArrayPlan { mean_s: f64::NAN, ..PLAN }), Err(ArrayError::Plan(_))));
    }

    #[test]
    fn who_opens_the_same_array_queues_behind_the_work_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array");
        create(&path, &PLAN).unwrap();
        let (mut one, mut other) = (open(&path).unwrap().1, open(&path).unwrap().1);
        let now_s = SharedCalendar::now_s();
        let (_, first) = one.add(3, now_s, 0.5);
        let (begun, done) = other.add(3, now_s, 0.25);
        assert!(
            (begun - first).abs() < 1e-6 && (done - first - 0.25).abs() < 1e-6,
            "{begun} {done} after {first}"
        );
        assert!(other.add(4, now_s, 0.25).0 < first, "another spindle is free");
        one.owe(done);
        assert!((other.owed_until_s() - done).abs() < 1e-6);
    }

    #[test]
    fn work_of_before_a_restart_of_the_machine_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array");
        create(&path, &PLAN).unwrap();
        let mut calendar = open(&path).unwrap().1;
        let now_s = SharedCalendar::now_s();
        calendar.add(0, now_s + 86_400.0, 0.1);
        assert!((calendar.add(0, now_s, 0.1).0 - now_s).abs() < 1e-6);
    }
}
