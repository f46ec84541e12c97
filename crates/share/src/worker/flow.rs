//! The way of a request: checked, held back, let go, ended, answered.

use super::{Flying, Kind, LAST, Worker};
use crate::request::check;
use crate::{Answer, Errno, Failure, Reply, Request, Work};
use evenkeel_core::Nanos;
use evenkeel_core::share::{Io, Sent};
use std::io;

/// Bytes that a change counts for at most: zeroes are not moved one by one.
const CHANGE_BYTES: u64 = 1 << 20;

/// I/Os let go before those that have ended are answered: many may be done while they are handed over, and their clients
/// can go on meanwhile.
const AT_ONCE: usize = 8;

impl Worker {
    /// Puts what was asked into the queue; a flush goes at once, it does not wait behind the window.
    pub(super) fn take_requests(&mut self) {
        let now = self.clock.now();
        let mut requests = std::mem::take(&mut self.requests);
        self.moved += requests.len();
        for request in requests.drain(..) {
            match self.refusal(&request) {
                Some(errno) => self.refuse(request, errno),
                None if matches!(request.work, Work::Flush) => self.start(None, request, now),
                None => {
                    let cost = self.costs.of(io(&request.work));
                    let whose = (request.disk, client(&request.reply));
                    self.admission.want(whose, cost, (request, now), now.as_secs_f64());
                }
            }
        }
        self.requests = requests;
    }

    /// What clients have asked for that are gone is no longer held back for them: their disk's other clients would wait
    /// for it, and so would a stop.
    pub(super) fn withdraw_gone(&mut self) {
        let gone = self.front.as_mut().map_or_else(Vec::new, |front| front.gone());
        for (disk, connection) in gone {
            let held_back = self.admission.withdraw(disk, connection, self.clock.now().as_secs_f64());
            self.give_up(held_back);
        }
    }

    /// What a stop has found held back, and the window has not let go since, is answered as not done.
    pub(super) fn shed_if_late(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let is_late = self.stopping.is_some_and(|until| now >= until);
        if !is_late || self.admission.waiting() == 0 {
            return Ok(());
        }
        let held_back = self.admission.withdraw_all(now.as_secs_f64());
        self.give_up(held_back);
        self.stopping = Some(now + LAST);
        self.turn()
    }

    fn give_up(&mut self, held_back: Vec<(Request, Nanos)>) {
        held_back.into_iter().for_each(|(request, _)| self.answer(request.reply, Err(Errno::SHUTDOWN)));
    }

    fn refusal(&self, request: &Request) -> Option<Errno> {
        let Some(disk) = self.disks.get(request.disk) else { return Some(Errno::INVALID) };
        // What was written before a flush that failed may be gone: to say "done" now would be a lie.
        let lost = disk.counts.lost.filter(|_| request.work.is_durable());
        lost.or_else(|| check(&request.work, disk.backing.bytes(), disk.backing.is_read_only()).err())
    }

    fn refuse(&mut self, request: Request, errno: Errno) {
        if let Some(disk) = self.disks.get_mut(request.disk) {
            disk.counts.errors += 1;
        }
        self.answer(request.reply, Err(errno));
    }

    /// Lets go what the window has room for, a few at a time; whether there may be more.
    pub(super) fn let_go(&mut self) -> bool {
        let now = self.clock.now();
        self.let_go_at = Nanos::MAX;
        for _ in 0..AT_ONCE {
            match self.admission.next(now.as_secs_f64()) {
                Ok((sent, (request, asked))) => {
                    self.counts.held.record(now - asked);
                    self.start(Some(sent), request, now);
                }
                Err(Some(wait_s)) => {
                    // A nanosecond more, so that rounding does not wake it too early for ever.
                    self.let_go_at = now + Nanos::from_secs_f64(wait_s) + Nanos(1);
                    return false;
                }
                Err(None) => return false,
            }
        }
        true
    }

    fn start(&mut self, sent: Option<Sent>, request: Request, now: Nanos) {
        let Request { disk, work, reply } = request;
        let kind = match &work {
            Work::Read { .. } => Kind::Read,
            Work::Flush => Kind::Flush,
            _ => Kind::Change,
        };
        let bytes = work.range().map_or(0, |(_, bytes)| bytes);
        let flying = Some(Flying { disk, sent, kind, bytes, reply });
        let id = match self.free.pop() {
            Some(id) => {
                self.flying[id] = flying;
                id
            }
            None => {
                self.flying.push(flying);
                self.flying.len() - 1
            }
        };
        self.disks[disk].backing.start(id as u64, work, now);
    }

    /// Answers what has ended; whether anything has.
    pub(super) fn collect(&mut self) -> bool {
        let now = self.clock.now();
        let mut ended = std::mem::take(&mut self.ended);
        self.disks.iter_mut().for_each(|disk| disk.backing.collect(now, &mut ended));
        let any = !ended.is_empty();
        self.moved += ended.len();
        for one in ended.drain(..) {
            let id = one.id as usize;
            let Some(flying) = self.flying.get_mut(id).and_then(Option::take) else { continue };
            self.free.push(id);
            self.end(flying, one.answer, now);
        }
        self.ended = ended;
        any
    }

    fn end(&mut self, flying: Flying, answer: Answer, now: Nanos) {
        if let Some(sent) = flying.sent {
            self.admission.complete(sent, now.as_secs_f64());
            self.counts.latency.record(now - Nanos::from_secs_f64(sent.at_s));
        }
        let disk = &mut self.disks[flying.disk];
        let counts = &mut disk.counts;
        counts.cost += flying.sent.map_or(0.0, |sent| sent.cost);
        match (&answer, flying.kind) {
            (Ok(_), Kind::Read) => {
                (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + flying.bytes)
            }
            (Ok(_), Kind::Change) => {
                (counts.writes, counts.written_bytes) =
                    (counts.writes + 1, counts.written_bytes + flying.bytes);
            }
            (Ok(_), Kind::Flush) => counts.flushes += 1,
            (Err(errno), kind) => {
                counts.errors += 1;
                // A change that failed has been answered with its error and takes nothing with it: what was answered before is as safe as
                // it was, as long as it could be brought to the disk.
                let flush = Some(*errno).filter(|_| kind == Kind::Flush);
                counts.lost = counts.lost.or(disk.backing.lost()).or(flush);
                // Not to be able to trim is no failure.
                if *errno != Errno::UNSUPPORTED {
                    counts.failures += 1;
                    counts.last_failure = Some(Failure { what: kind.name(), errno: *errno });
                }
            }
        }
        self.answer(flying.reply, answer);
    }

    pub(super) fn answer(&mut self, reply: Reply, answer: Answer) {
        match (reply, &mut self.front) {
            (Reply::Call(call), _) => call(answer),
            (Reply::Nbd { connection, cookie }, Some(front)) => front.answer(connection, cookie, answer),
            (Reply::Nbd { .. }, None) => {}
        }
    }
}

/// Who takes turns with others: a connection; all that does not come by one is one client.
fn client(reply: &Reply) -> u64 {
    match reply {
        Reply::Nbd { connection, .. } => *connection,
        Reply::Call(_) => u64::MAX,
    }
}

/// As the cost of an I/O sees it.
fn io(work: &Work) -> Io {
    let bytes = work.range().map_or(0, |(_, bytes)| bytes);
    let bytes = match work {
        Work::Trim { .. } | Work::Zero { .. } => bytes.min(CHANGE_BYTES),
        _ => bytes,
    };
    Io { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), write: work.changes() }
}
