//! Writers insert numbered rows by an open load, whatever becomes of the servers.

use super::file::{Fate, LedgerWriter, Line};
use super::{TABLE, Write};
use crate::{HaulError, locked, refused};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{Arrivals, Poisson};
use evenkeel_core::random::Seed;
use evenkeel_os::Stop;
use evenkeel_os::clock::{Clock, unix_time};
use evenkeel_site::server::{Control, Target, TargetError};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Lines of the ledger are on the disk after so long.
const SYNC: Duration = Duration::from_millis(100);
/// Between two rounds of asking all servers.
const PAUSE: Duration = Duration::from_millis(20);
/// Errors of a server that takes no writes, as a replica.
const TAKES_NO_WRITES: [u16; 4] = [1290, 1792, 1836, 3100];

/// Errors after which a write may be stored: a commit that failed on its way, a statement or a connection that was killed while it
/// waited for a replica, and a proxy that lost its server.
const MAY_BE_STORED: [u16; 8] = [1026, 1053, 1180, 1317, 1927, 2003, 2006, 2013];

/// What writers do.
#[derive(Clone)]
pub struct Plan {
    /// Servers in the order in which a writer tries them; each with the database of the table.
    pub targets: Vec<Target>,
    /// Writes per second that arrive, whether or not the servers keep up.
    pub rate: f64,
    pub writers: u32,
    pub seed: Seed,
    /// Names of hosts (@@hostname) that may be written to; `None` any.
    pub hosts: Option<Vec<String>>,
    /// The longest wait for a login or an answer; then the connection counts as lost.
    pub timeout: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        let timeout = Duration::from_secs(2);
        Self { targets: Vec::new(), rate: 200.0, writers: 8, seed: Seed(1), hosts: None, timeout }
    }
}

/// Counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    pub sent: u64,
    pub acknowledged: u64,
    pub refused: u64,
    pub unknown: u64,
    /// Connections that could not be made.
    pub down: u64,
    /// Acknowledged writes that their writer, when it reconnected, did not find.
    pub stale: u64,
}

impl Plan {
    fn check(&self, target: &Target, control: &mut Control) -> Result<(), HaulError> {
        let Some(host) = self.forbidden(control)? else { return Ok(()) };
        let what = format!("{target} is on {host}, and writers would write to it");
        let hint = "if that is no production server, confirm its name: --staging NAME";
        Err(refused(what, hint).into())
    }

    /// The host of a server that is not to be written to.
    fn forbidden(&self, control: &mut Control) -> Result<Option<String>, TargetError> {
        let Some(hosts) = &self.hosts else { return Ok(None) };
        let host = control.query_value("SELECT @@hostname")?.unwrap_or_default();
        Ok((!hosts.contains(&host)).then_some(host))
    }
}

impl Written {
    pub fn failures(&self) -> u64 {
        self.refused + self.unknown + self.down
    }
}

struct Shared {
    plan: Plan,
    book: LedgerWriter,
    arrivals: Mutex<Poisson>,
    clock: Clock,
    end: Stop,
    counts: [AtomicU64; 6],
}

/// Writers at work.
pub struct Writing {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), HaulError>>>,
}

impl Writing {
    /// Makes the table at the first server, in the place of one of an earlier ledger, and starts.
    /// Errors: the server refuses, the table is somebody else's, or there is a ledger file already.
    pub fn start(plan: &Plan, ledger: &Path, stop: &Stop) -> Result<Self, HaulError> {
        let id = format!("{:08x}", unix_time().as_nanos() as u64 ^ u64::from(std::process::id()) << 32);
        let arrivals = Poisson::new(plan.rate, plan.seed)
            .map_err(|error| refused(error.to_string(), "choose another --rate"))?;
        let first =
            plan.targets.first().ok_or_else(|| refused("no server is named", "name one by its URL"))?;
        let mut control = Control::connect_until(first, stop)?;
        plan.check(first, &mut control)?;
        // One that is down now is asked when it is up.
        for target in &plan.targets[1..] {
            if let Ok(mut control) = Control::connect_within(target, plan.timeout) {
                plan.check(target, &mut control)?;
            }
        }
        // Before the table of an earlier ledger goes.
        let book = LedgerWriter::create(ledger, &id)?;
        if let Err(error) = make_table(&mut control, &id) {
            let _ = std::fs::remove_file(ledger);
            return Err(error);
        }
        let shared = Arc::new(Shared {
            plan: plan.clone(),
            book,
            arrivals: Mutex::new(arrivals),
            clock: Clock::start(),
            end: Stop::default(),
            counts: Default::default(),
        });
        let mut writing = Self { shared, threads: Vec::new() };
        for writer in 0..plan.writers {
            let shared = Arc::clone(&writing.shared);
            writing.thread(&format!("writer-{writer}"), move || Writer::new(&shared, writer).run())?;
        }
        let shared = Arc::clone(&writing.shared);
        writing.thread("ledger", move || shared.keep())?;
        Ok(writing)
    }

    fn thread(
        &mut self,
        name: &str,
        act: impl FnOnce() -> Result<(), HaulError> + Send + 'static,
    ) -> Result<(), HaulError> {
        let begun = thread::Builder::new().name(name.to_owned()).spawn(act);
        self.threads.push(begun.map_err(HaulError::io("start a thread for", Path::new(name)))?);
        Ok(())
    }

    pub fn written(&self) -> Written {
        self.shared.written()
    }

    /// Time since the start, which is that of the ledger.
    pub fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// Whether a writer gave up: the ledger could not be written.
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Nothing more is begun; [`Writing::end`] waits for what is under way.
    pub fn halt(&self) {
        self.shared.end.set();
    }

    /// Waits for the answers that are under way.
    /// Errors: the ledger could not be written.
    pub fn end(mut self) -> Result<Written, HaulError> {
        self.shared.end.set();
        let outcomes: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        for outcome in outcomes {
            outcome.map_err(|_| refused("a writer failed within this program", "please report it"))??;
        }
        self.shared.book.sync()?;
        Ok(self.shared.written())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.shared.end.set();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Shared {
    fn written(&self) -> Written {
        let [sent, acknowledged, refused, unknown, down, stale] =
            self.counts.each_ref().map(|count| count.load(Relaxed));
        Written { sent, acknowledged, refused, unknown, down, stale }
    }

    fn keep(&self) -> Result<(), HaulError> {
        while !self.end.is_set() {
            self.book.sync()?;
            thread::sleep(SYNC);
        }
        Ok(())
    }

    fn line(&self, line: &Line) -> Result<(), HaulError> {
        let count = match line {
            Line::Sent { .. } => 0,
            Line::Ended { fate: Fate::Acknowledged, .. } => 1,
            Line::Ended { fate: Fate::Refused(_), .. } => 2,
            Line::Ended { fate: Fate::Unknown, .. } => 3,
            Line::Down { .. } => 4,
        };
        self.counts[count].fetch_add(1, Relaxed);
        self.book.line(line)
    }

    /// Waits until the instant; false where the end comes first.
    fn wait_until(&self, instant: Nanos) -> bool {
        while self.clock.now() < instant {
            if self.end.is_set() {
                return false;
            }
            thread::sleep(Duration::from(instant - self.clock.now()).min(SYNC));
        }
        !self.end.is_set()
    }
}

struct Writer<'a> {
    shared: &'a Shared,
    writer: u32,
    number: u64,
    /// Its last write that was acknowledged, and the last that it did not find.
    acknowledged: u64,
    missed: u64,
    /// The server that it writes to, or tries next.
    at: usize,
    control: Option<Control>,
}

impl<'a> Writer<'a> {
    fn new(shared: &'a Shared, writer: u32) -> Self {
        Self { shared, writer, number: 0, acknowledged: 0, missed: 0, at: 0, control: None }
    }

    fn run(mut self) -> Result<(), HaulError> {
        loop {
            // Whoever is free takes the next arrival, however late: an open load.
            let Some(arrival) = locked(&self.shared.arrivals).next_arrival() else { return Ok(()) };
            if !self.shared.wait_until(arrival) || !self.connect()? {
                return Ok(());
            }
            self.write(arrival)?;
        }
    }

    /// Tries the servers in turn until one lets it in; false where the end comes first.
    fn connect(&mut self) -> Result<bool, HaulError> {
        let targets = &self.shared.plan.targets;
        let mut tried = 0;
        while self.control.is_none() {
            if self.shared.end.is_set() {
                return Ok(false);
            }
            let target = &targets[self.at];
            let (plan, address) = (&self.shared.plan, &target.address);
            let connected = Control::connect_within(target, plan.timeout).and_then(|mut control| {
                let host = plan.forbidden(&mut control)?;
                Ok(host.map_or(Ok(control), |host| {
                    Err(format!("{address} is on {host}, which --staging does not name"))
                }))
            });
            // An address may lead to another server than before.
            match connected.unwrap_or_else(|error| Err(format!("{address} {error}"))) {
                Ok(control) => {
                    self.control = Some(control);
                    self.look();
                }
                Err(reason) => {
                    self.shared.line(&Line::Down {
                        writer: self.writer,
                        at: self.shared.clock.now(),
                        reason,
                    })?;
                    self.go_on();
                    tried += 1;
                    if tried % targets.len() == 0 {
                        thread::sleep(PAUSE);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Whether its last acknowledged write is where it has come to. A server that does not answer shows it at the next write.
    fn look(&mut self) {
        let is_new = self.acknowledged > self.missed;
        let Some(control) = self.control.as_mut().filter(|_| is_new) else { return };
        let (writer, number) = (self.writer, self.acknowledged);
        let sql = format!(
            "SELECT 1 FROM {TABLE} WHERE writer = {writer} AND number = {number} ORDER BY place DESC LIMIT 1"
        );
        if let Ok(None) = control.query_value(&sql) {
            self.missed = number;
            self.shared.counts[5].fetch_add(1, Relaxed);
        }
    }

    /// The next server's turn.
    fn go_on(&mut self) {
        self.control = None;
        self.at = (self.at + 1) % self.shared.plan.targets.len();
    }

    fn write(&mut self, arrival: Nanos) -> Result<(), HaulError> {
        let Some(control) = &mut self.control else { return Ok(()) };
        self.number += 1;
        let write = Write { writer: self.writer, number: self.number };
        let clock = &self.shared.clock;
        self.shared.line(&Line::Sent { write, arrival, at: clock.now() })?;
        let (writer, number, body) = (write.writer, write.number, write.body());
        let sql = format!("INSERT INTO {TABLE} (writer, number, body) VALUES ({writer}, {number}, '{body}')");
        let (fate, stays) = match control.exec(&sql) {
            Ok(_) => (Fate::Acknowledged, true),
            Err(TargetError::Statement { code, .. }) if MAY_BE_STORED.contains(&code) => {
                (Fate::Unknown, false)
            }
            Err(TargetError::Statement { code, .. }) => {
                (Fate::Refused(code), !TAKES_NO_WRITES.contains(&code))
            }
            Err(_) => (Fate::Unknown, false),
        };
        self.shared.line(&Line::Ended { write, at: clock.now(), fate })?;
        if fate == Fate::Acknowledged {
            self.acknowledged = number;
        }
        if !stays {
            self.go_on();
        }
        Ok(())
    }
}

fn make_table(control: &mut Control, id: &str) -> Result<(), HaulError> {
    let ours = control.query_value(&format!(
        "SELECT table_comment LIKE 'evenkeel ledger %' FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name = '{TABLE}'"
    ))?;
    if ours.as_deref() == Some("0") {
        let what = format!("table {TABLE} was not made by a ledger; it was not changed");
        return Err(refused(what, "name another database").into());
    }
    control.exec(&format!("DROP TABLE IF EXISTS {TABLE}"))?;
    // No key keeps a number from coming twice: that is what is looked for.
    control.exec(&format!(
        "CREATE TABLE {TABLE} (place BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, writer INT UNSIGNED NOT NULL, \
         number BIGINT UNSIGNED NOT NULL, body VARCHAR(32) NOT NULL) ENGINE=InnoDB COMMENT='evenkeel ledger {id}'"
    ))?;
    Ok(())
}
