//! A command speaks as `evenkeel sense` does, mostly by ssh; it is started once for a study and ended with it.
//!
//! Three threads: one keeps the process and reads what it says, one sends it a line now and then whose answer tells how far
//! its clock is from ours, and one keeps the last words of its error stream.

use super::child::{Group, Tail};
use super::clocks::{Clocks, next_line, plain};
use super::error::ElsewhereError;
use super::line::{Header, LINE_BYTES_MAX, LINES, Line};
use super::readings::Readings;
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_sense::far::FarReading;
use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

/// Within this it speaks, a login by ssh included.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// Time to end, for a process whose standard input was closed, and again after it was told to.
const DEADLINE: Duration = Duration::from_secs(2);
/// Lines that say nothing: a greeting of the far shell, and no stream of them.
const STRAY_MAX: usize = 200;
/// Lines in a second that are read at most: sensing must cost the generator nothing that counts.
const LINES_PER_S_MAX: u32 = 2_000;
/// The first lines that ask for the clock come quickly, so that a short study knows it too.
const QUICK: (u64, Duration) = (8, Duration::from_millis(50));
const SLOW: Duration = Duration::from_secs(2);
/// Readings by which one that answers nothing shows that it goes on.
const READINGS_MIN: u64 = 5;
/// Lines whose answers are awaited at once.
const AWAITED_MAX: usize = 64;

#[derive(Debug, Default)]
struct State {
    header: Option<Header>,
    clocks: Clocks,
    /// Readings of the run under way, by the far clock; `None` between runs.
    run: Option<Readings>,
    awaited: VecDeque<(u64, Nanos)>,
    strays: usize,
    stray: String,
    last: Option<Nanos>,
    /// Readings heard in all.
    readings: u64,
    ended: Option<String>,
}

/// A command at work; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    state: Arc<Mutex<State>>,
    header: Header,
    tail: Tail,
    group: Group,
    /// Dropped, it ends the thread that asks, and closes the standard input of the process with it.
    asks: Option<Sender<()>>,
    reader: Option<JoinHandle<()>>,
}

pub(super) struct Heard {
    pub readings: Readings,
    /// By how much the clocks' offset may be wrong.
    pub bound: Option<Nanos>,
    pub ended: Option<String>,
}

impl Running {
    /// Starts it and waits until it speaks.
    pub(super) fn start(command: &str, stop: &Stop) -> Result<Self, ElsewhereError> {
        let text = command.to_owned();
        let (state, tail) = (Arc::new(Mutex::new(State::default())), Tail::default());
        let (born, births) = mpsc::sync_channel(1);
        let (kept, last_words) = (Arc::clone(&state), tail.clone());
        let keep = move || keep(&text, &kept, &last_words, &born);
        let failed = |source| ElsewhereError::Start { command: command.to_owned(), source };
        let reader = thread::Builder::new().name("far".into()).spawn(keep).map_err(failed)?;
        let born = births.recv().unwrap_or_else(|_| Err(std::io::ErrorKind::BrokenPipe.into()));
        let (group, stdin) = born.map_err(failed)?;
        let (asks, asked) = mpsc::channel();
        let mut running = Self {
            state,
            header: Header::default(),
            tail: tail.clone(),
            group,
            asks: Some(asks),
            reader: Some(reader),
        };
        let state = Arc::clone(&running.state);
        let asker = thread::Builder::new().name("far-clock".into());
        asker.spawn(move || ask(stdin, &state, &asked)).map_err(failed)?;
        running.header = running.first_words(command, &tail, stop)?;
        Ok(running)
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// From now on readings are kept.
    pub(super) fn begin(&self) {
        lock(&self.state).run = Some(Readings::default());
    }

    pub(super) fn latest(&self) -> Option<f64> {
        lock(&self.state).run.as_ref()?.latest()
    }

    pub(super) fn finish(&self) -> Heard {
        let mut state = lock(&self.state);
        let readings = state.run.take().unwrap_or_default();
        let silent = state.last.map(|last| monotonic() - last).filter(|silence| self.is_long(*silence));
        let silent = silent.map(|silence| format!("has sent nothing for {:.1} s", silence.as_secs_f64()));
        Heard {
            readings: readings.by(|at| state.clocks.ours(at)),
            bound: state.clocks.bound(),
            ended: state.ended.as_ref().map(|how| format!("{how}{}", last_words(&self.tail))).or(silent),
        }
    }

    fn is_long(&self, silence: Nanos) -> bool {
        silence > Nanos::from_secs(2) + Nanos(self.header.every_ns.saturating_mul(3))
    }

    fn first_words(&self, command: &str, tail: &Tail, stop: &Stop) -> Result<Header, ElsewhereError> {
        let refused = |how: String, said| ElsewhereError::Command { command: command.to_owned(), how, said };
        let begun = monotonic();
        loop {
            let state = lock(&self.state);
            if let Some(header) = state.header.as_ref().filter(|header| header.lines != LINES) {
                let how = format!("uses version {} of the sense protocol, not {LINES}", header.lines);
                return Err(refused(how, format!("it is Evenkeel {}", plain(&header.tool))));
            }
            match (&state.header, &state.ended) {
                (header, Some(how)) => {
                    let when = if header.is_some() { "right after" } else { "before" };
                    let how = format!("{how} {when} its first line");
                    return Err(refused(how, with_stray(&tail.now(), &state.stray)));
                }
                (Some(header), None) if state.goes_on() => return Ok(header.clone()),
                _ => {}
            }
            if stop.is_set() {
                return Err(ElsewhereError::Stopped);
            }
            if Duration::from(monotonic() - begun) > PATIENCE {
                let how = format!("has sent nothing within {} s", PATIENCE.as_secs());
                return Err(refused(how, with_stray(&tail.now(), &state.stray)));
            }
            drop(state);
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.asks = None;
        // Closing its standard input is enough for one that is well, also on the other side of ssh.
        if self.group.wait(DEADLINE).is_none() {
            self.group.end(DEADLINE);
        }
        // Somebody may have left the group with the other end of its output; who waits for him waits for ever.
        let looks = DEADLINE.as_millis() / LOOK.as_millis();
        for _ in 0..looks {
            if self.reader.as_ref().is_none_or(JoinHandle::is_finished) {
                break;
            }
            thread::sleep(LOOK);
        }
    }
}

fn with_stray(said: &str, stray: &str) -> String {
    if stray.is_empty() { said.to_owned() } else { format!("{said}; on standard output {stray:?}") }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

type Born = std::io::Result<(Group, ChildStdin)>;

/// Starts the process, reads it to its end, and waits for it.
fn keep(command: &str, state: &Mutex<State>, tail: &Tail, born: &mpsc::SyncSender<Born>) {
    let (group, stdin, stdout) = match Group::spawn(command, tail) {
        Ok(spawned) => spawned,
        Err(error) => {
            // Whoever asked hears of it, or is gone.
            let _ = born.send(Err(error));
            return;
        }
    };
    let _ = born.send(Ok((group.clone(), stdin)));
    let because = read(stdout, state);
    let how = match because {
        Some(because) => {
            group.end(DEADLINE);
            because
        }
        None => group.wait(DEADLINE).unwrap_or_else(|| {
            group.end(DEADLINE);
            "has closed its output".to_owned()
        }),
    };
    // Its last words are there before anybody hears of its end.
    tail.settled();
    lock(state).ended = Some(how);
}

fn last_words(tail: &Tail) -> String {
    match tail.now() {
        said if said.starts_with("it printed nothing") => String::new(),
        said => format!(": {said}"),
    }
}

/// Reads to the end of the stream; `Some` where it is left before, with the reason.
fn read(stdout: ChildStdout, state: &Mutex<State>) -> Option<String> {
    let mut stream = BufReader::new(stdout);
    let (mut since, mut count) = (monotonic(), 0);
    loop {
        let text = match next_line(&mut stream, LINE_BYTES_MAX) {
            Ok(Some(text)) => text,
            Ok(None) => return None,
            Err(error) => return Some(format!("cannot be read ({error})")),
        };
        let received = monotonic();
        count += 1;
        if received > since + Nanos::from_secs(1) {
            (since, count) = (received, 0);
        }
        if count > LINES_PER_S_MAX {
            return Some(format!("sends more than {LINES_PER_S_MAX} lines in a second"));
        }
        let mut state = lock(state);
        state.take(&text, received);
        if state.strays > STRAY_MAX {
            return Some("sends lines that are not readings".to_owned());
        }
    }
}

impl State {
    fn take(&mut self, text: &str, received: Nanos) {
        match Line::parse(text) {
            Some(Line::Sense(header)) if self.header.is_none() => self.header = Some(*header),
            Some(Line::Reading(reading)) if self.header.is_some() => {
                let reading = FarReading::from(&*reading);
                self.last = Some(received);
                self.readings += 1;
                self.clocks.heard(reading.at, received);
                if let Some(run) = &mut self.run {
                    run.push(reading);
                }
            }
            Some(Line::Pong { ping, at_ns }) => self.answered(ping, Nanos(at_ns), received),
            _ => {
                self.strays += 1;
                if self.stray.is_empty() {
                    self.stray = text.chars().take(100).collect();
                }
            }
        }
    }

    /// Whether it hears us, so that it does not take us for gone; one that answers nothing has to go on speaking.
    fn goes_on(&self) -> bool {
        self.clocks.bound().is_some() || self.readings >= READINGS_MIN
    }

    fn asked(&mut self, ping: u64, sent: Nanos) {
        if self.awaited.len() == AWAITED_MAX {
            self.awaited.pop_front();
        }
        self.awaited.push_back((ping, sent));
    }

    /// An answer to what was not asked is left.
    fn answered(&mut self, ping: u64, far: Nanos, received: Nanos) {
        let Some(place) = self.awaited.iter().position(|(number, _)| *number == ping) else { return };
        let sent = self.awaited[place].1;
        self.awaited.drain(..=place);
        self.clocks.answered(sent, far, received);
    }
}

/// Asks for the far clock again and again. Returning closes the standard input of the process.
fn ask(mut stdin: ChildStdin, state: &Mutex<State>, asked: &mpsc::Receiver<()>) {
    let mut ping = 0_u64;
    loop {
        let pause = if ping < QUICK.0 { QUICK.1 } else { SLOW };
        if !matches!(asked.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) || lock(state).ended.is_some()
        {
            return;
        }
        if lock(state).header.is_none() {
            continue;
        }
        ping += 1;
        lock(state).asked(ping, monotonic());
        if stdin.write_all(format!("ping {ping}\n").as_bytes()).is_err() {
            return;
        }
    }
}
