//! Threads that wait for calls in the engine's place.

use super::Ended;
use crate::{Answer, Errno, Work};
use evenkeel_os::Wake;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Does works by calls that wait.
pub(super) trait Perform: Send + Sync {
    /// Does one piece of work, and waits until it has ended.
    fn perform(&self, work: Work) -> Answer;
}

#[derive(Default)]
struct State {
    jobs: VecDeque<(u64, Work)>,
    ended: Vec<Ended>,
    idle: usize,
    closing: bool,
}

struct Common {
    state: Mutex<State>,
    more: Condvar,
    worker: Arc<dyn Perform>,
    wake: Arc<Wake>,
}

/// As many threads as there was ever use for, up to a bound.
pub(super) struct Pool {
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
    most: usize,
}

impl Pool {
    /// The first thread starts at once, so that there always is one.
    pub fn new(worker: Arc<dyn Perform>, wake: Arc<Wake>, most: usize) -> io::Result<Self> {
        let (state, more) = (Mutex::default(), Condvar::new());
        let common = Arc::new(Common { state, more, worker, wake });
        let mut pool = Self { common, threads: Vec::new(), most };
        pool.grow()?;
        Ok(pool)
    }

    fn grow(&mut self) -> io::Result<()> {
        let common = self.common.clone();
        let builder = std::thread::Builder::new().name("disk-io".to_owned());
        self.threads.push(builder.spawn(move || common.run())?);
        Ok(())
    }

    pub fn start(&mut self, id: u64, work: Work) {
        let mut state = self.common.state();
        state.jobs.push_back((id, work));
        let short = state.jobs.len() > state.idle;
        drop(state);
        self.common.more.notify_one();
        if short && self.threads.len() < self.most {
            // Where the system gives no more threads, those that there are do it.
            let _ = self.grow();
        }
    }

    pub fn collect(&self, ended: &mut Vec<Ended>) {
        ended.append(&mut self.common.state().ended);
    }
}

impl Common {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while let Some((id, work)) = self.next() {
            // A thread that panics owes an answer all the same, and does the next work.
            let done = panic::catch_unwind(AssertUnwindSafe(|| self.worker.perform(work)));
            let answer = done.unwrap_or(Err(Errno::IO));
            self.state().ended.push(Ended { id, answer });
            self.wake.wake();
        }
    }

    fn next(&self) -> Option<(u64, Work)> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closing {
                return None;
            }
            state.idle += 1;
            state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.common.state().closing = true;
        self.common.more.notify_all();
        for thread in mem::take(&mut self.threads) {
            // A thread that panicked has nothing to give back.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;
    use evenkeel_core::Nanos;
    use evenkeel_os::clock::Clock;

    /// Panics at every flush.
    struct Clumsy;

    impl Perform for Clumsy {
        fn perform(&self, work: Work) -> Answer {
            assert!(!matches!(work, Work::Flush), "a flush");
            Ok(Buffer::default())
        }
    }

    #[test]
    fn a_thread_that_panics_answers_and_does_the_next_work() {
        let wake = Arc::new(Wake::new().unwrap());
        let mut pool = Pool::new(Arc::new(Clumsy), wake, 1).unwrap();
        let (mut ended, clock) = (Vec::new(), Clock::start());
        for id in 0..6 {
            pool.start(id, if id % 2 == 0 { Work::Flush } else { Work::Trim { offset: 0, bytes: 1 } });
        }
        while ended.len() < 6 {
            assert!(clock.now() < Nanos::from_secs(60), "{ended:?}");
            pool.collect(&mut ended);
            std::thread::yield_now();
        }
        for Ended { id, answer } in ended {
            assert_eq!(answer.map(drop), if id % 2 == 0 { Err(Errno::IO) } else { Ok(()) });
        }
    }
}
