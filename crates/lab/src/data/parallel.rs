//! Jobs over several connections, with progress, cancellation and an early end.

use super::session::{DataError, DataProgress, Result, Tally, Workplace};
use evenkeel_site::server::Control;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time between two reports, and between two looks at the stop switch.
const TICK: Duration = Duration::from_millis(100);

/// Does all jobs, at most `threads` at a time and the first ones first, each with a connection. Results
/// come in the order in which jobs end. The first failure ends the other jobs and is returned.
///
/// The calling thread reports progress and, when somebody asks to stop, kills the connections:
/// an index build would otherwise hold a stop up for as long as it takes.
pub(super) fn run<J: Send, R: Send>(
    place: &Workplace,
    threads: usize,
    jobs: Vec<J>,
    tally: &Tally,
    progress: &mut dyn FnMut(DataProgress),
    work: &(dyn Fn(&mut Control, J) -> Result<R> + Sync),
) -> Result<Vec<R>> {
    let threads = threads.clamp(1, jobs.len().max(1));
    let jobs = Mutex::new(VecDeque::from(jobs));
    let connections = Mutex::new(Vec::new());
    let (sender, results) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, jobs, connections) = (sender.clone(), &jobs, &connections);
            scope.spawn(move || work_off(place, jobs, connections, tally, &sender, work));
        }
        drop(sender);
        let mut done = Vec::new();
        let mut failure = None;
        loop {
            match results.recv_timeout(TICK) {
                Ok(Ok(result)) => done.push(result),
                // The failure that came first is the cause of the others.
                Ok(Err(error)) => drop(failure.get_or_insert(error)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    if tally.proceed().is_err() {
                        kill(place, &connections);
                    }
                }
            }
            progress(tally.progress());
        }
        match failure {
            None => Ok(done),
            // What a stop cuts short fails in many ways, all of them the stop's.
            Some(_) if tally.stop.is_set() => Err(DataError::Stopped),
            Some(error) => Err(error),
        }
    })
}

fn work_off<J, R>(
    place: &Workplace,
    jobs: &Mutex<VecDeque<J>>,
    connections: &Mutex<Vec<u32>>,
    tally: &Tally,
    results: &Sender<Result<R>>,
    work: &(dyn Fn(&mut Control, J) -> Result<R> + Sync),
) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let send = |result: Result<R>| {
        let failed = result.is_err();
        // The receiver lives until all senders are gone.
        let _ = results.send(result);
        // Only now: who saw the flag earlier would say that it was stopped before the cause was said.
        if failed {
            tally.failed.store(true, Ordering::Release);
        }
    };
    let mut connection = match place.connect() {
        Ok(connection) => connection,
        Err(error) => return send(Err(error)),
    };
    connections.lock().unwrap_or_else(PoisonError::into_inner).push(connection.id());
    while let Some(job) = next() {
        let result = tally.proceed().and_then(|()| work(&mut connection, job));
        let failed = result.is_err();
        send(result);
        if failed {
            return;
        }
    }
}

/// Ends our connections and what runs on them, as far as the server lets us.
fn kill(place: &Workplace, connections: &Mutex<Vec<u32>>) {
    let Ok(mut control) = Control::connect_until(&place.target, &place.stop) else { return };
    for id in connections.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // A connection that has ended meanwhile is an error here, and no loss.
        let _ = control.kill(*id);
    }
}
