//! What the storage of the disks failed at, as listeners hear of it: once of what was lost, and now and then of I/O errors.

use crate::event::{Event, Listener};
use crate::{Counts, Crowd, DiskCounts};
use evenkeel_core::Nanos;

/// Listeners hear of the errors of a disk at most this often.
const NOTIFIED_EVERY: Nanos = Nanos::from_secs(10);

/// How many of something listeners have heard of, and when they did last.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    count: u64,
    at: Option<Nanos>,
}

impl Told {
    /// How many are to be told of now.
    fn news(&mut self, count: u64, now: Nanos) -> Option<u64> {
        let more = count.saturating_sub(self.count);
        let is_due = self.at.is_none_or(|at| now - at >= NOTIFIED_EVERY);
        (more > 0 && is_due).then(|| {
            *self = Self { count, at: Some(now) };
            more
        })
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Failures that were counted so far.
    failures: u64,
    failed_at: Option<Nanos>,
    told: Told,
    is_lost: bool,
}

/// Clients without room.
#[derive(Debug, Default)]
pub(super) struct Crowded(Told);

impl Crowded {
    /// Notifies of clients that found no room since the last time.
    pub fn notify(&mut self, crowd: &Crowd, now: Nanos, listener: &Listener) {
        if let Some(count) = self.0.news(crowd.times, now) {
            listener(&Event::Crowded { count, last: crowd.last.clone() });
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Storage {
    disks: Vec<Known>,
}

impl Storage {
    pub fn notify(&mut self, names: &[String], counts: &Counts, now: Nanos, listener: &Listener) {
        self.disks.resize(names.len(), Known::default());
        for ((known, name), counts) in self.disks.iter_mut().zip(names).zip(&counts.disks) {
            known.notify(name, counts, now, listener);
        }
    }

    /// When an I/O of this disk failed last, as far as it was seen.
    pub fn failed_at(&self, disk: usize) -> Option<Nanos> {
        self.disks.get(disk)?.failed_at
    }
}

impl Known {
    fn notify(&mut self, name: &str, counts: &DiskCounts, now: Nanos, listener: &Listener) {
        if let Some(errno) = counts.lost
            && !std::mem::replace(&mut self.is_lost, true)
        {
            listener(&Event::Lost { disk: name.to_owned(), errno });
        }
        if counts.failures > self.failures {
            (self.failures, self.failed_at) = (counts.failures, Some(now));
        }
        if let Some(last) = counts.last_failure
            && let Some(count) = self.told.news(counts.failures, now)
        {
            listener(&Event::Failed { disk: name.to_owned(), count, last });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Errno, Failure};
    use std::sync::Mutex;

    #[test]
    fn clients_without_room_are_told_of_at_once_and_then_now_and_then() {
        let told = std::sync::Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let listener = move |event: &Event| heard.lock().unwrap().push(event.clone());
        let mut crowded = Crowded::default();
        let mut look = |second, times| {
            let crowd = Crowd { times, last: "/b: 16 clients are connected".to_owned() };
            crowded.notify(&crowd, Nanos::from_secs(second), &listener);
            let counts = std::mem::take(&mut *told.lock().unwrap()).into_iter().map(|event| match event {
                Event::Crowded { count, .. } => count,
                _ => 0,
            });
            counts.collect::<Vec<u64>>()
        };
        assert_eq!(
            [look(1, 0), look(2, 3), look(4, 9), look(12, 9), look(30, 9)],
            [vec![], vec![3], vec![], vec![6], vec![]]
        );
    }

    #[test]
    fn errors_are_told_at_once_and_then_now_and_then_and_what_is_lost_once() {
        let told = Mutex::new(Vec::new());
        let told = std::sync::Arc::new(told);
        let heard = told.clone();
        let listener = move |event: &Event| heard.lock().unwrap().push(event.clone());
        let mut storage = Storage::default();
        let last = Failure { what: "read", errno: Errno::IO };
        let mut look = |second, failures, lost| {
            let failed = DiskCounts { failures, last_failure: Some(last), lost, ..DiskCounts::default() };
            let counts = Counts { disks: vec![failed], ..Counts::default() };
            storage.notify(&["d".to_owned()], &counts, Nanos::from_secs(second), &listener);
            (std::mem::take(&mut *told.lock().unwrap()), storage.failed_at(0))
        };
        let failed = |count| Event::Failed { disk: "d".to_owned(), count, last };
        let at = |second| Some(Nanos::from_secs(second));
        assert_eq!(look(1, 0, None), (vec![], None));
        assert_eq!(look(2, 3, None), (vec![failed(3)], at(2)));
        assert_eq!(look(4, 9, None), (vec![], at(4)), "it was told just now");
        let lost = Event::Lost { disk: "d".to_owned(), errno: Errno::IO };
        assert_eq!(look(12, 9, Some(Errno::IO)), (vec![lost, failed(6)], at(4)));
        assert_eq!(look(30, 9, Some(Errno::IO)), (vec![], at(4)));
    }
}
